//! Writes cells and actors: each cell after what it refers to, each actor when its captures are there.
//!
//! Invariants:
//! 1. It reads only, and it does not recurse: nesting takes memory, never native stack.
//! 2. A cell has a number once it is written. A binary outside of all heaps that several cells refer to is written once, and so
//!    is any other value of the outside.
mod actors;

use super::blocks::BlockWriter;
use super::chunks::MetActors;
use super::held_by_a_move;
use super::numbers::Numbers;
use super::record::{
    zigzag, Record, ACTOR, ATOM, CELL, OTHER, OTHERS, OWN_BEHAVIOURS, SMALL, SMALLEST_LARGE,
    VALUE_BITS,
};
use super::tables::{ImageLost, NumberedNames};
use crate::base::atom::Atom;
use crate::base::ids::{BehaviourName, TimerId};
use crate::base::work::Work;
use crate::code::program::Program;
use crate::heap::cell::cell_of;
use crate::look::holders::HeldIn;
use crate::terms::map::{entries, Node};
use crate::terms::prim::weight::place;
use crate::terms::view::{FunctionTerm, View};
use crate::turns::marking::moment::MomentReader;
use crate::turns::queue::Event;
use crate::values::actor::{BehaviourId, SponsorId};
use crate::values::foreign::{Class, ForeignRef};
use crate::values::term::Term;
use crate::values::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A value of the outside, as an embedder writes it.
pub enum WrittenForeign {
    /// All of it: it can be read again.
    Whole(Vec<u8>),
    /// A trace that identifies the value; may be empty.
    Trace(Vec<u8>),
}

/// Writes a value of the outside.
pub type WriteForeign<'w> = &'w dyn Fn(&ForeignRef) -> WrittenForeign;

/// The holder of the value that is being written.
#[derive(Clone, Copy)]
pub(crate) enum HolderOf {
    Nobody,
    /// An actor that was written, or is.
    Known(BehaviourId),
    /// An actor for which something waits.
    Target(Value),
}

/// A cell that is to be written, and what it refers to that was not looked at yet.
enum OpenCell<'h> {
    /// A list from its first cell on, the cell that comes next, and how many are before that.
    List(Value, Value, usize),
    Boxed(Value, &'h [Value]),
    Map(Value, std::vec::IntoIter<Value>),
}

/// The part of an image that is written so far.
pub(crate) struct ImageWalk<'w> {
    program: &'w Program,
    /// Says what actors held, if turns run beside it.
    moment: Option<MomentReader<'w>>,
    pub(crate) out: BlockWriter<'w>,
    numbers: Numbers,
    pub(crate) cells: u32,
    pub(crate) captures: u32,
    /// The actors by number, and how many of them are written.
    pub(crate) actors: MetActors,
    written: usize,
    pub(crate) atoms: NumberedNames<Atom>,
    pub(crate) sponsors: NumberedNames<SponsorId>,
    pub(crate) behaviours: NumberedNames<BehaviourId>,
    /// The behaviour of the last actor, with its number: most have the same as their neighbours.
    last: (BehaviourId, u32),
    /// Number of actors of each behaviour.
    pub(crate) populations: Vec<u64>,
    /// The units whose functions are values.
    pub(crate) functions: FxHashSet<(Atom, u64)>,
    /// Numbers of the timers that wait.
    pub(crate) timers: FxHashMap<(u16, u64), u32>,
    foreigns: FxHashMap<*const (), u32>,
    write_foreign: WriteForeign<'w>,
    pub(crate) lost: NumberedNames<ImageLost>,
    /// Each value that was not written: the number of the above, and its trace.
    pub(crate) traces: Vec<(u32, Vec<u8>)>,
    /// The holder of the value that is being written.
    pub(crate) holder: (HolderOf, HeldIn),
    /// Messages that actors have kept which are about to move, and what these are: they come before all that wait.
    pub(crate) kept: Vec<(Event, BehaviourId)>,
    /// The behaviour of actors that are about to move.
    held: BehaviourName,
    /// The cost, for the reader of the image, of comparing the keys of all maps (restore.rs, invariant 4).
    pub(crate) work: Work,
    /// True if there are more cells than can have numbers.
    pub(crate) is_too_large: bool,
    frames: Vec<OpenCell<'w>>,
}

impl<'w> ImageWalk<'w> {
    pub(crate) fn new(
        program: &'w Program,
        moment: Option<MomentReader<'w>>,
        out: BlockWriter<'w>,
        write_foreign: WriteForeign<'w>,
    ) -> ImageWalk<'w> {
        ImageWalk {
            program,
            moment,
            out,
            numbers: Numbers::default(),
            cells: 0,
            captures: 0,
            actors: MetActors::default(),
            written: 0,
            atoms: NumberedNames::default(),
            sponsors: NumberedNames::default(),
            behaviours: NumberedNames::default(),
            last: (BehaviourId::SINK, 0),
            populations: Vec::new(),
            functions: FxHashSet::default(),
            timers: FxHashMap::default(),
            foreigns: FxHashMap::default(),
            write_foreign,
            lost: NumberedNames::default(),
            traces: Vec::new(),
            holder: (HolderOf::Nobody, HeldIn::State),
            kept: Vec::new(),
            held: held_by_a_move(),
            work: Work::free(),
            is_too_large: false,
            frames: Vec::new(),
        }
    }

    /// Writes them up to the first that is missing. Returns whether none is.
    #[inline]
    fn write_values(&mut self, record: Record, values: &[Value]) -> bool {
        self.begin(record, values.len());
        values.iter().all(|value| self.value(*value))
    }

    fn behaviour(&mut self, id: BehaviourId) -> u64 {
        if u64::from(id.0) < OWN_BEHAVIOURS {
            return id.0.into();
        }
        let number = match self.last {
            (last, number) if last == id => number,
            _ => self.behaviours.number(id),
        };
        self.last = (id, number);
        if self.populations.len() == number as usize {
            self.populations.push(0);
        }
        self.populations[number as usize] += 1;
        u64::from(number) + OWN_BEHAVIOURS
    }

    /// Writes all cells that an event refers to.
    pub(crate) fn event_behind(&mut self, event: Event, holder: (HolderOf, HeldIn)) {
        self.holder = holder;
        self.behind(Value::address(event.target));
        self.behind(event.message);
    }

    /// Writes all cells that a value refers to.
    #[inline]
    pub(crate) fn behind(&mut self, value: Value) {
        if self.is_missing(value) {
            self.walk(value);
        }
    }

    fn walk(&mut self, value: Value) {
        self.open(value);
        while let Some(frame) = self.frames.pop() {
            if self.out.refused {
                return self.frames.clear();
            }
            match frame {
                OpenCell::List(first, next, n) => self.walk_list(first, next, n),
                OpenCell::Boxed(cell, parts) => {
                    match parts.iter().position(|part| self.is_missing(*part)) {
                        Some(at) => {
                            self.frames.push(OpenCell::Boxed(cell, &parts[at + 1..]));
                            self.open(parts[at]);
                        }
                        None => self.write_boxed(cell),
                    }
                }
                OpenCell::Map(cell, mut parts) => match parts.find(|part| self.is_missing(*part)) {
                    Some(part) => {
                        self.frames.push(OpenCell::Map(cell, parts));
                        self.open(part);
                    }
                    None => self.write_boxed(cell),
                },
            }
        }
    }

    fn open(&mut self, value: Value) {
        self.frames.push(if value.is_cons() {
            OpenCell::List(value, value, 0)
        } else if let Some(map) = Node::of(value) {
            let mut parts: Vec<Value> = Vec::new();
            for (key, item) in entries(map) {
                // When it is more than can be counted, no image is made.
                let _ = place(key, &mut self.work);
                parts.extend([key, item]);
            }
            OpenCell::Map(value, parts.into_iter())
        } else {
            let captured = value.as_captured();
            OpenCell::Boxed(value, captured.unwrap_or_else(|| value.boxed_parts()))
        });
    }

    /// Goes along a list until something in it has to be written before, or up to a cell that is written. `n` cells are done.
    fn walk_list(&mut self, first: Value, mut next: Value, mut n: usize) {
        while let Some((head, tail)) = next.as_cons().filter(|_| self.is_missing(next)) {
            if self.is_missing(head) {
                self.frames.push(OpenCell::List(first, next, n));
                return self.open(head);
            }
            (next, n) = (tail, n + 1);
        }
        if !next.is_cons() && self.is_missing(next) {
            self.frames.push(OpenCell::List(first, next, n));
            return self.open(next);
        }
        self.write_list(first, next, n);
    }

    /// Returns whether a cell has still to be written. An actor is met, and written later.
    #[inline]
    fn is_missing(&mut self, value: Value) -> bool {
        !value.is_immediate() && !value.is_none() && self.number(value) == 0
    }

    /// The number of a cell, or of an actor, which is met; 0 for a cell that has still to be written.
    #[inline(always)]
    fn number(&mut self, value: Value) -> u32 {
        let number = self.numbers.of(value.word() as *const u8);
        if *number == 0 {
            if value.is_address() {
                self.actors.push(value.address_pointer());
                *number = self.actors.len() as u32;
            } else if let Some(foreign) = value.as_foreign() {
                let known = self.foreigns.get(&Arc::as_ptr(foreign).cast::<()>());
                *number = known.copied().unwrap_or(0);
            }
        }
        *number
    }

    #[inline(always)]
    fn begin(&mut self, record: Record, n: usize) {
        self.out.byte(record as u8);
        self.out.varint(n as u64);
    }

    /// Numbers that many cells more.
    fn count(&mut self, n: usize) {
        match u32::try_from(n)
            .ok()
            .and_then(|n| self.cells.checked_add(n))
        {
            Some(cells) => self.cells = cells,
            None => (self.is_too_large, self.out.refused) = (true, true),
        }
    }

    /// Writes a list of `n` cells up to the cell `end`, or to what is there instead of one.
    fn write_list(&mut self, first: Value, end: Value, n: usize) {
        let rest = |cell: &Value| cell.as_cons().map(|(_, tail)| tail);
        let cells = std::iter::successors(Some(first), rest).take(n);
        self.begin(Record::List, n);
        self.value(end);
        for (before, cell) in cells.enumerate() {
            self.value(cell.cons_cell()[0]);
            self.out.settle();
            // Its head refers to no cell of this list. If there are more than can be counted, no image is made.
            *self.numbers.of(cell_of(cell)) = self.cells.wrapping_add((n - before) as u32);
        }
        self.count(n);
        self.out.settle();
    }

    fn write_boxed(&mut self, cell: Value) {
        if let Some(elements) = cell.as_tuple() {
            self.write_values(Record::Tuple, elements);
        } else if let Some(map) = Node::of(cell) {
            self.begin(Record::Map, map.size);
            for (key, item) in entries(map) {
                self.value(key);
                self.value(item);
            }
        } else if let Some(f) = cell.as_float() {
            self.out.byte(Record::Float as u8);
            self.out.word(f.to_bits());
        } else if let Some(big) = cell.as_big() {
            self.begin(Record::Integer, big.is_negative().into());
            self.out.varint(big.limbs().len() as u64);
            big.limbs().iter().for_each(|limb| self.out.word(*limb));
        } else if let Some(whole) = cell.sliced() {
            self.write_slice(cell, whole);
        } else if let Some((binary, before, behind)) = cell.bitstring_of() {
            self.out.byte(Record::Bitstring as u8);
            self.out.varint(before as u64);
            self.out.varint(behind as u64);
            self.value(binary);
        } else if let Some(bytes) = cell.as_binary() {
            self.out.byte(Record::Bytes as u8);
            self.out.text(bytes);
        } else if let Some((sponsor, address)) = cell.as_on() {
            self.out.byte(Record::On as u8);
            self.value(sponsor);
            self.value(address);
        } else if let Some(TimerId { thread, serial, .. }) = cell.as_timer() {
            let number = self.timers.get(&(thread, serial));
            self.begin(Record::Timer, number.copied().unwrap_or(0) as usize);
        } else if let View::Function(function) = Term::new(cell).view() {
            self.write_function(cell, &function);
        } else if let Some(foreign) = cell.as_foreign() {
            self.write_foreign(foreign);
        }
        self.count(1);
        *self.numbers.of(cell_of(cell)) = self.cells;
        if let Some(foreign) = cell.as_foreign() {
            let shared = Arc::as_ptr(foreign).cast();
            self.foreigns.insert(shared, self.cells);
        }
        self.out.settle();
    }

    /// Writes which function it is, for which the other machine finds the code.
    fn write_function(&mut self, cell: Value, function: &FunctionTerm<'_>) {
        let captures = cell.as_captured().unwrap_or(&[]);
        self.functions.insert((function.module, function.version));
        self.begin(Record::Function, captures.len());
        self.value(Value::atom(function.module));
        self.value(Value::atom(function.name));
        self.out.varint(function.arity.into());
        self.out.word(function.version);
        for value in captures {
            self.value(*value);
        }
    }

    fn write_slice(&mut self, cell: Value, whole: Value) {
        let (all, part) = (whole.as_binary().unwrap_or(&[]), cell.as_binary());
        let part = part.unwrap_or(&[]);
        self.out.byte(Record::Slice as u8);
        self.value(whole);
        let from = part.as_ptr().addr() - all.as_ptr().addr();
        self.out.varint(from as u64);
        self.out.varint(part.len() as u64);
    }

    fn write_foreign(&mut self, foreign: &ForeignRef) {
        let class = foreign.class();
        match (self.write_foreign)(foreign) {
            WrittenForeign::Whole(bytes) => {
                self.begin(Record::Foreign, class as usize);
                self.out.text(&bytes);
            }
            WrittenForeign::Trace(trace) => {
                self.begin(Record::Lost, self.traces.len());
                self.lose(class, trace);
            }
        }
    }

    fn lose(&mut self, class: Class, trace: Vec<u8>) {
        let (holder, held) = self.holder;
        let lost = ImageLost {
            class,
            behaviour: self.behaviour_of(holder).map(|id| self.program.name(id)),
            held,
        };
        self.traces.push((self.lost.number(lost), trace));
    }

    fn behaviour_of(&self, holder: HolderOf) -> Option<BehaviourId> {
        match holder {
            HolderOf::Nobody => None,
            HolderOf::Known(id) => Some(id),
            HolderOf::Target(target) => target.is_address().then(|| {
                // SAFETY: what something waits for is reached from the roots, as above.
                let actor = unsafe { &*target.address_pointer() };
                let header = |moment: &MomentReader<'_>| moment.header(actor);
                let header = self.moment.as_ref().map_or_else(|| actor.header(), header);
                header.behaviour()
            }),
        }
    }

    /// Writes a value, unless it is a cell that has still to be written. Returns whether it was.
    #[inline]
    pub(crate) fn value(&mut self, value: Value) -> bool {
        if value.is_immediate() || value.is_none() {
            self.immediate(value);
            return true;
        }
        let number = self.number(value);
        if number == 0 {
            return false;
        }
        let (what, n) = match value.is_address() {
            true => (ACTOR, number - 1),
            false => (CELL, self.cells - number),
        };
        self.out.varint(u64::from(n) << VALUE_BITS | what);
        true
    }

    #[inline]
    fn immediate(&mut self, value: Value) {
        let (what, n) = if let Some(n) = value.as_fixnum() {
            match zigzag(n) {
                n if n < SMALLEST_LARGE => (SMALL, n),
                _ => (OTHER, OTHERS[1]),
            }
        } else if value.is_flonum() {
            (OTHER, OTHERS[2])
        } else if let Some(atom) = value.as_atom() {
            (ATOM, self.atoms.number(atom).into())
        } else {
            (OTHER, OTHERS[0])
        };
        self.out.varint(n << VALUE_BITS | what);
        match (what, n) {
            (OTHER, 1) => self.out.word(value.fixnum_value() as u64),
            (OTHER, 2) => self.out.word(value.flonum_value().to_bits()),
            _ => {}
        }
    }
}
