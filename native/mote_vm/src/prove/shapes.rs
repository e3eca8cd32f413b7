//! Shapes: values without the actors that they name. Actors of one behaviour that hold the same but for whom they know have one
//! shape, and so have messages. Each shape is there once, so a situation is a few small numbers.
//!
//! Invariants:
//! 1. Two values have the same shape exactly if they differ in nothing but the actors and timers that they name.
//! 2. The words of a shape are as in a parcel (boundary/parcel.rs): the n-th actor that it names is the n-th of its making. No
//!    word refers to a heap.
use super::deeds::Sketch;
use super::digest::digest;
use super::number_set::NumberSet;
use super::parts::{Component, Components, TooLarge};
use crate::base::ids::{ThreadNumber, TimerId};
use crate::boundary::parcel;
use crate::boundary::parcel::{unpack_all, MadeOnce};
use crate::code::op::Op;
use crate::code::program::Program;
use crate::heap::Heap;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;
use crate::watching::reach::captures;
use rustc_hash::FxHashMap;

/// Properties of a shape that are asked for again and again.
#[derive(Clone, Copy, Default)]
pub(super) struct ShapeKind {
    /// Number of actors that it names.
    pub(super) count: u32,
    /// It is one of an actor that never becomes: its turns have no order.
    pub(super) is_safe: bool,
    /// It is one of an actor that has stashed something: it gives back what it captures last, and that is not empty.
    pub(super) keeps: bool,
    /// It is one of an actor that takes no messages at all.
    pub(super) is_sink: bool,
    /// It is one of a timer and its message: the shape of that; and the process whose end the timer waits for, if it does.
    pub(super) timed: u32,
    pub(super) process: Option<u32>,
    /// It is one of a timer's reference.
    pub(super) is_timer: bool,
}

/// The rest of a shape.
struct KnownShape {
    words: Box<[Value]>,
    /// The foreign values in it.
    tells: NumberSet,
}

/// All shapes of a search.
pub(super) struct Shapes {
    all: Vec<KnownShape>,
    kinds: Vec<ShapeKind>,
    by_digest: FxHashMap<u128, u32>,
    words: usize,
}

impl Default for Shapes {
    fn default() -> Shapes {
        let mut shapes = Shapes {
            all: Vec::new(),
            kinds: Vec::new(),
            by_digest: FxHashMap::default(),
            words: 0,
        };
        let gap = vec![Value::from_word(GAP)];
        shapes.number(gap, NumberSet::default(), ShapeKind::default());
        shapes
    }
}

impl Shapes {
    /// The shape of what is no actor (situation.rs, invariant 1).
    pub(super) const GAP: u32 = 0;

    #[inline]
    pub(super) fn of(&self, shape: u32) -> ShapeKind {
        self.kinds[shape as usize]
    }

    /// Returns whether that foreign value is in it.
    pub(super) fn tells(&self, shape: u32, foreign: u32) -> bool {
        self.all[shape as usize].tells.has(foreign)
    }

    /// The behaviour of the actors of that shape.
    pub(super) fn behaviour(&self, shape: u32) -> BehaviourId {
        let words = &self.all[shape as usize].words;
        BehaviourId(words[0].word() as u32)
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        let each = size_of::<KnownShape>() + size_of::<ShapeKind>() + size_of::<(u128, u32)>();
        self.all.len() * each + self.words * size_of::<Value>()
    }

    /// The number of a shape.
    pub(super) fn number(&mut self, words: Vec<Value>, tells: NumberSet, kind: ShapeKind) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.by_digest.entry(digest(&words)).or_insert(next);
        if number == next {
            self.words += words.len();
            let words = words.into();
            self.all.push(KnownShape { words, tells });
            self.kinds.push(kind);
        }
        number
    }

    /// Makes a value of that shape, or what an actor of that shape holds: on the stack, what comes first on top. Returns whether
    /// there was memory for it.
    pub(super) fn make(
        &self,
        shape: u32,
        names: &[Value],
        foreigns: &[ForeignRef],
        heap: &mut Heap,
        stack: &mut Vec<Value>,
    ) -> bool {
        let words = &self.all[shape as usize].words;
        let foreign = |at: usize| foreigns.get(at).cloned();
        let mut once = MadeOnce::default();
        // The first word says what it is.
        unpack_all(
            words,
            1..words.len(),
            foreign,
            names,
            &mut once,
            heap,
            stack,
        )
    }
}

/// The first word of a message, of a timer's reference, of a timer with its message, and of what is no actor.
const MESSAGE: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const TIMED: u64 = u64::MAX - 2;
const GAP: u64 = u64::MAX - 3;

/// A referent of values: an actor, or a timer by its thread and its serial number. A situation takes timers for actors that
/// do nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Referent {
    Actor(*const Actor),
    Timer(ThreadNumber, u64),
}

impl Referent {
    pub(super) fn timer(id: TimerId) -> Referent {
        Referent::Timer(id.thread, id.serial)
    }
}

/// Takes values apart: into shapes, and the numbers of the actors that they name.
pub(super) struct Sketching<'s> {
    pub(super) program: &'s Program,
    pub(super) shapes: &'s mut Shapes,
    pub(super) parts: &'s mut Components,
    /// The numbers of actors that were known before.
    known: FxHashMap<Referent, u32>,
    /// The referents that were not known, and have got the next numbers.
    found: Vec<Referent>,
    next: u32,
}

impl<'s> Sketching<'s> {
    /// `next`: the number of the first actor that is not known.
    pub(super) fn new(
        program: &'s Program,
        shapes: &'s mut Shapes,
        parts: &'s mut Components,
        known: FxHashMap<Referent, u32>,
        next: u32,
    ) -> Sketching<'s> {
        parts.begin();
        Sketching {
            program,
            shapes,
            parts,
            known,
            found: Vec::new(),
            next,
        }
    }

    /// The number of an actor.
    pub(super) fn name(&mut self, actor: *const Actor) -> u32 {
        self.name_of(Referent::Actor(actor))
    }

    /// The number of an actor or a timer.
    pub(super) fn name_of(&mut self, named: Referent) -> u32 {
        *self.known.entry(named).or_insert_with(|| {
            self.found.push(named);
            self.next += 1;
            self.next - 1
        })
    }

    pub(super) fn message(&mut self, value: Value) -> Result<Sketch, TooLarge> {
        let first = Value::from_word(MESSAGE);
        self.sketch(first, [value].into_iter(), ShapeKind::default())
    }

    /// A timer's message, behind the timer and the process for whose end that waits.
    pub(super) fn timed(
        &mut self,
        timer: Value,
        process: Option<Value>,
        message: Value,
    ) -> Result<Sketch, TooLarge> {
        let kind = ShapeKind {
            timed: self.message(message)?.shape,
            process: process.map(|process| self.parts.foreign(process)),
            ..ShapeKind::default()
        };
        let first = Value::from_word(TIMED);
        let values = std::iter::once(timer).chain(process);
        self.sketch(first, values.chain([message]), kind)
    }

    /// Returns the sketch of an actor.
    pub(super) fn actor(&mut self, actor: *const Actor) -> Result<Sketch, TooLarge> {
        // SAFETY: actors of a situation are live.
        let actor = unsafe { &*actor };
        let id = actor.header().behaviour();
        let program = self.program;
        let behaviour = program.behaviour(id);
        let ops = &behaviour.code.ops;
        let kept = captures(program, actor).last();
        let keeps = behaviour.stashes && kept.is_some_and(|kept| kept.is_cons());
        let first = Value::from_word(id.0.into());
        let kind = ShapeKind {
            is_safe: behaviour.safe,
            is_sink: matches!(ops.first(), Some(Op::Ignore)),
            keeps,
            ..ShapeKind::default()
        };
        self.sketch(first, captures(program, actor), kind)
    }

    /// Returns the sketches of actors that were not known before, and of those that these hold.
    pub(super) fn all_found(&mut self) -> Result<Vec<Sketch>, TooLarge> {
        let mut sketches = Vec::new();
        while let Some(found) = self.found.get(sketches.len()) {
            sketches.push(match *found {
                Referent::Actor(actor) => self.actor(actor)?,
                Referent::Timer(..) => self.timer()?,
            });
        }
        Ok(sketches)
    }

    /// Returns the sketch of a timer's reference. The waiting events show whether it is armed.
    fn timer(&mut self) -> Result<Sketch, TooLarge> {
        let kind = ShapeKind {
            is_timer: true,
            ..ShapeKind::default()
        };
        self.sketch(Value::from_word(TIMER), std::iter::empty(), kind)
    }

    fn sketch(
        &mut self,
        first: Value,
        values: impl Iterator<Item = Value>,
        kind: ShapeKind,
    ) -> Result<Sketch, TooLarge> {
        let mut sketch = Sketch::default();
        let (mut words, mut tells) = (vec![first], NumberSet::default());
        for value in values {
            let mut named = Vec::new();
            self.parts.each(value, |part| {
                match part {
                    Component::Address(actor) => named.push(Referent::Actor(actor)),
                    Component::Timer(id) => named.push(Referent::timer(id)),
                    Component::Foreign(number) => tells.add(number),
                    _ => {}
                }
                write(part, &mut words, sketch.names.len() + named.len());
            })?;
            let names = named.into_iter().map(|named| self.name_of(named));
            sketch.names.extend(names);
        }
        let count = sketch.names.len() as u32;
        sketch.shape = self
            .shapes
            .number(words, tells, ShapeKind { count, ..kind });
        Ok(sketch)
    }
}

fn write_bytes(bytes: &[u8], words: &mut Vec<Value>) {
    words.extend(bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        Value::from_word(u64::from_ne_bytes(word))
    }));
}

/// Writes a part of a value; `named`: how many actors were named up to it.
fn write(part: Component<'_>, words: &mut Vec<Value>, named: usize) {
    let (kind, count) = match part {
        Component::Word(value) => return words.push(value),
        Component::Address(_) | Component::Timer(_) => (parcel::MADE, named - 1),
        Component::Tuple(n) => (parcel::TUPLE, n),
        Component::Function(what, n) => {
            words.push(what);
            (parcel::FUNCTION, n)
        }
        Component::List(n) => (parcel::LIST, n),
        Component::Map(n) => (parcel::MAP, n),
        Component::On => (parcel::ON, 0),
        Component::Foreign(number) => (parcel::FOREIGN, number as usize),
        Component::Float(bits) => {
            words.push(Value::from_word(bits));
            (parcel::FLOAT, 0)
        }
        Component::Bytes(bytes) => {
            write_bytes(bytes, words);
            (parcel::BYTES, bytes.len())
        }
        Component::Bits(bits) => {
            // The binary that it is of follows.
            words.push(parcel::command(parcel::BITSTRING, bits.unused()));
            let bytes = bits.padded();
            write_bytes(&bytes, words);
            (parcel::BYTES, bytes.len())
        }
        Component::Integer(big) => {
            words.extend(big.limbs().iter().map(|limb| Value::from_word(*limb)));
            let sign = usize::from(big.is_negative());
            (parcel::INTEGER, 2 * big.limbs().len() + sign)
        }
    };
    words.push(parcel::command(kind, count));
}
