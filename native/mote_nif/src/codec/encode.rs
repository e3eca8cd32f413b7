//! Terms of the BEAM on the way into a machine.
//!
//! The term is walked with a stack of its own, in the order of a parcel: a tuple before its elements. The walk counts
//! what it visits; on a normal scheduler it gives up after [`NORMAL`] and is done again on a dirty one.
//!
//! A long binary is shared with the BEAM, not copied. But it may be part of a longer one that it keeps alive, and a NIF cannot
//! see that. So the walk gives up at the first one, and is repeated with what the calling process has found out: for each long
//! binary, the length of the binary that it keeps alive.
//!
//! Invariants:
//! 1. Nothing is walked or built on a normal scheduler for longer than that, and the work counts as work of the process: so a
//!    process that goes on and on is interrupted like any other.
//! 2. A binary is shared only if the length that it keeps alive is known, and at most [`MOST_KEPT`] times its own; it is charged
//!    for all of that. Any other is copied, including one that does not begin at a byte, or whose last byte is not whole.
//! 3. A function is charged with everything that the binaries it has captured keep alive.
//! 4. Little of a term is copied if the machine has no memory for it: that is checked now and then, and before a long binary is
//!    copied. Small parts that are shared are written once for each place, so the size of the term does not tell in advance.
//! 5. A part of at least [`LARGE_PART`] elements that is there again, in this term or in another one of the same call, is written
//!    once (large_parts.rs).
//! 6. A long binary is carried once for a machine ([`binaries`](crate::held::binaries)), and charged once.
use crate::codec::budget::{place, spent, Kept, Unwritten, WriteMode, LOOK, MOST_KEPT, NORMAL};
use crate::codec::large_parts::{LargeParts, LARGE_PART};
use crate::codec::made::Made;
use crate::held::far::{Far, FarKind};
use crate::held::foreign::{Abroad, Awaiting, Elsewhere, Opaque, Process, TimerElsewhere};
use crate::held::machine::MachineResource;
use crate::held::outbox::Writable;
use crate::held::question::FarQuestion;
use crate::held::structs::{is_ours, known_struct, FunctionFields, Struct};
use crate::term::atoms::{self, AtomCache};
use crate::term::external;
use crate::term::own_term::OwnTerm;
use crate::term::read::{integer, list_cell, map_size, small_integer, tuple, tuple_elements};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::boundary::parcel::{Builder, BuilderPosition, CHARGED};
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Class, LongBytes};
use mote_vm::values::handles::Held;
use rustler::sys::ErlNifTerm;
use rustler::{Binary, Env, LocalPid, MapIterator, Term, TermType};
use std::sync::Arc;

/// Bytes of a binary that cost as much as one term.
const BYTES_PER_NODE: usize = 64;

/// Bytes above which a binary is shared, not copied.
const SHARED_BYTES: usize = 4_096;

/// Cost of a term that shares an environment, or that the machine has to look up.
const FEW: usize = 5;

/// Cost of a term that gets an environment of its own.
const OPAQUE: usize = 20;

/// Writes terms for one machine.
pub struct Writer<'m, 'a> {
    resource: &'m MachineResource,
    machine: &'m Machine,
    budget: usize,
    /// True if the budget is renewed as long as there is memory.
    goes_on: bool,
    /// Bytes that the machine takes for a word at least. There must be memory for them.
    bytes_a_word: usize,
    /// Bytes that long binaries and functions keep alive, if known.
    kept: Option<Kept>,
    atoms: AtomCache,
    stack: Vec<Term<'a>>,
    large: LargeParts,
    /// True if a term that does not fit is tried again by itself, and counted then (lib/mote/machine/batch.ex).
    pub is_tried_again: bool,
    /// The turn's new actors and timers, if the terms are of a turn.
    pub made: Made<'a>,
    /// The terms written so far.
    pub builder: Builder,
}

impl<'m, 'a> Writer<'m, 'a> {
    /// Creates a writer in that mode.
    pub fn new(
        resource: &'m MachineResource,
        machine: &'m Machine,
        mode: WriteMode<'a>,
    ) -> Writer<'m, 'a> {
        Writer {
            resource,
            machine,
            budget: mode.budget.min(LOOK),
            goes_on: mode.budget > LOOK,
            bytes_a_word: CHARGED,
            kept: mode.known(),
            atoms: AtomCache::here(),
            stack: Vec::new(),
            large: LargeParts::default(),
            is_tried_again: false,
            made: Made::default(),
            builder: Builder::new(),
        }
    }

    /// Writes what goes to a heap at once, and is not charged while it waits.
    pub fn is_for_heap(&mut self) {
        self.bytes_a_word = size_of::<ErlNifTerm>();
    }

    /// Charges the calling process for what writing with the budget of a normal scheduler has taken so far.
    pub fn count_spent(&self, env: Env<'_>) {
        if !self.goes_on {
            spent(env, NORMAL - self.budget.min(NORMAL));
        }
    }

    #[inline]
    fn spend(&mut self, nodes: usize) -> Result<(), Unwritten> {
        match self.budget.checked_sub(nodes) {
            Some(left) => self.budget = left,
            None => self.renew()?,
        }
        Ok(())
    }

    /// Renews the budget if there is memory. The excess of the last step is forgotten, since it does not matter exactly when to check.
    #[cold]
    fn renew(&mut self) -> Result<(), Unwritten> {
        if !self.goes_on {
            return Err(Unwritten::Big);
        }
        self.budget = LOOK;
        self.look_for_memory(0)
    }

    /// Checks that there is memory for everything written so far, for everything still to be written, and for `bytes` bytes.
    fn look_for_memory(&self, bytes: usize) -> Result<(), Unwritten> {
        // At least a word for each term.
        let words = self.builder.len() + self.stack.len();
        let all = words * self.bytes_a_word + self.builder.external_bytes() + bytes;
        match self.machine.has_room(all) {
            true => Ok(()),
            false => Err(self.lacks_memory()),
        }
    }

    fn lacks_memory(&self) -> Unwritten {
        if !self.is_tried_again {
            self.machine.lacked_memory(1);
        }
        Unwritten::NoMemory
    }

    /// Begins `{customer, request}`; the request must follow.
    pub fn request_of(&mut self, customer: Arc<Awaiting>) {
        self.builder.tuple(2);
        self.builder.foreign(customer);
    }

    /// Writes a term.
    #[inline]
    pub fn term(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        // Most messages are tuples: to ask for the type first would be a call more.
        match tuple(term) {
            Some(elements) => {
                self.spend(1)?;
                self.tuple(term, elements)?;
            }
            None => self.one(term)?,
        }
        while let Some(term) = self.stack.pop() {
            self.one(term)?;
            self.large.close(self.stack.len(), &mut self.builder);
        }
        self.large.close(0, &mut self.builder);
        Ok(())
    }

    /// Forgets what was written since, the latest terms.
    pub fn rewind(&mut self, position: BuilderPosition) {
        self.builder.rewind(position);
        self.stack.clear();
        self.large.clear();
    }

    /// Writes a tuple of them.
    pub fn all(&mut self, terms: &[Term<'a>]) -> Result<(), Unwritten> {
        self.builder.tuple(terms.len());
        terms.iter().try_for_each(|term| self.term(*term))
    }

    fn one(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        self.spend(1)?;
        if self.leaf(term) {
            return Ok(());
        }
        match term.get_type() {
            TermType::Atom => self.builder.atom(atoms::number(term)),
            TermType::Integer => return self.large_integer(term),
            TermType::Float => match term.decode() {
                Ok(f) => self.builder.float(f),
                // Not reached: a float is one.
                Err(_) => return self.opaque(term, Class::BigInteger),
            },
            TermType::Tuple => return self.tuple(term, tuple(term).unwrap_or(&[])),
            TermType::List => return self.list(term),
            TermType::Binary => return self.binary(term),
            TermType::Map => return self.map(term),
            TermType::Pid => match term.decode::<LocalPid>() {
                Ok(pid) => self.builder.foreign(Arc::new(Process(pid))),
                Err(_) => {
                    self.spend(FEW)?;
                    let pid = self.resource.nursery.copy(term);
                    self.builder.foreign(Arc::new(Abroad(pid)));
                }
            },
            TermType::Fun => {
                return self.function(term);
            }
            TermType::Port => return self.small(term, Class::Port),
            TermType::Ref => return self.reference(term),
            TermType::Unknown => return self.opaque(term, Class::Reference),
        }
        Ok(())
    }

    fn opaque(&mut self, term: Term<'a>, class: Class) -> Result<(), Unwritten> {
        self.spend(OPAQUE)?;
        let own = Opaque::alone(OwnTerm::copy(term), class);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    /// A function, with all that it keeps. How large it is cannot be seen from here.
    fn function(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        let known = self.kept.as_ref().ok_or(Unwritten::Long)?;
        let kept = known.get(&place(term)).copied().unwrap_or(0);
        self.spend(NORMAL)?;
        let own = Opaque::keeping(OwnTerm::copy(term), Class::Function, kept);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    /// A bitstring that is not a binary, from its external form: its size cannot be seen before, either.
    fn bits(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        self.spend(NORMAL)?;
        let external = term.to_binary();
        let Some((unused, bytes)) = external::bitstring(&external) else {
            return self.opaque(term, Class::Reference);
        };
        self.spend(bytes.len() / BYTES_PER_NODE)?;
        self.builder.bitstring(unused);
        self.copied(bytes)
    }

    /// A binary of these bytes, copied.
    fn copied(&mut self, bytes: &[u8]) -> Result<(), Unwritten> {
        if bytes.len() <= SHARED_BYTES {
            self.builder.bytes(bytes);
            return Ok(());
        }
        self.look_for_memory(bytes.len())?;
        self.builder.foreign(Arc::new(LongBytes(bytes.into())));
        Ok(())
    }

    /// Writes a small term that holds on to nothing. Otherwise like `opaque`.
    fn small(&mut self, term: Term<'a>, class: Class) -> Result<(), Unwritten> {
        self.spend(FEW)?;
        let own = Opaque::small(self.resource.nursery.copy(term), class);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    fn reference(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        if let Some(place) = self.made.timer(term) {
            self.builder.made(place);
            return Ok(());
        }
        if is_ours(term) {
            return self.opaque(term, Class::Reference);
        }
        self.spend(FEW)?;
        let own = Opaque::small(self.resource.references.copy(term), Class::Reference);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    /// An integer that is not a leaf. The size of one that nobody calculates with cannot be seen from here.
    fn large_integer(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        self.spend(FEW)?;
        match integer(term) {
            Some((negative, limbs)) => {
                self.spend(size_of_val(&*limbs) / BYTES_PER_NODE)?;
                self.builder.any_integer(negative, &limbs);
                Ok(())
            }
            None => {
                self.spend(NORMAL)?;
                self.opaque(term, Class::BigInteger)
            }
        }
    }

    #[inline]
    fn tuple(&mut self, term: Term<'a>, elements: &'a [ErlNifTerm]) -> Result<(), Unwritten> {
        if elements.len() >= LARGE_PART && self.large.again(term, &mut self.builder) {
            return Ok(());
        }
        let below = self.stack.len();
        self.large.open(term, elements.len(), &self.builder, below);
        self.spend(elements.len())?;
        self.builder.tuple(elements.len());
        let env = term.get_env();
        // SAFETY: elements belong to the environment of their tuple.
        let term = |element: &ErlNifTerm| unsafe { Term::new(env, *element) };
        let mut rest = elements;
        // What is one word needs no stack: most messages are that and no more.
        while let Some((first, others)) = rest.split_first() {
            if !self.leaf(term(first)) {
                break;
            }
            rest = others;
        }
        self.spend(elements.len() - rest.len())?;
        if !rest.is_empty() {
            self.stack.extend(rest.iter().rev().map(term));
        }
        Ok(())
    }

    /// Writes a small integer or an atom that was met lately; `false` for anything else. With as few calls as can be: each
    /// takes as long as all the rest.
    #[inline(always)]
    fn leaf(&mut self, term: Term<'a>) -> bool {
        if let Some(atom) = self.atoms.number(term) {
            self.builder.atom(atom);
            return true;
        }
        small_integer(term).is_some_and(|n| self.builder.integer(n))
    }

    fn list(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        let from = self.stack.len();
        if self.large.again(term, &mut self.builder) {
            return Ok(());
        }
        let mut rest = term;
        while let Some((head, tail)) = list_cell(rest) {
            self.spend(1)?;
            self.stack.push(head);
            rest = tail;
        }
        let count = self.stack.len() - from;
        if count == 0 {
            self.builder.empty_list();
            return Ok(());
        }
        self.large.open(term, count, &self.builder, from);
        self.builder.list(count);
        self.stack.push(rest);
        self.stack[from..].reverse();
        Ok(())
    }

    fn binary(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        let Ok(binary) = Binary::from_term(term) else {
            return self.bits(term);
        };
        if binary.len() <= SHARED_BYTES {
            self.spend(binary.len() / BYTES_PER_NODE)?;
            self.builder.bytes(&binary);
            return Ok(());
        }
        if let Some(carried) = self.resource.binaries.get(&binary) {
            self.builder.foreign(carried);
            return self.spend(FEW);
        }
        let known = self.kept.as_ref().ok_or(Unwritten::Long)?;
        // One whose bytes were just put together for us is not there.
        let kept = known.get(&place(term)).copied();
        match kept.filter(|kept| *kept <= MOST_KEPT * binary.len()) {
            Some(kept) => {
                let carried = self.resource.binaries.carry(term, kept, self.machine);
                self.builder
                    .foreign(carried.ok_or_else(|| self.lacks_memory())?);
                self.spend(OPAQUE)
            }
            None => {
                self.spend(binary.len() / BYTES_PER_NODE)?;
                self.copied(&binary)
            }
        }
    }

    fn map(&mut self, term: Term<'a>) -> Result<(), Unwritten> {
        match known_struct(term) {
            Some(Struct::Customer(customer)) => {
                self.spend(FEW)?;
                self.builder.foreign(Arc::new(Awaiting::Known(customer)));
            }
            Some(Struct::Address(machine, key, sponsor)) => {
                self.spend(FEW)?;
                if !std::ptr::eq(&*machine, self.resource) {
                    self.spend(OPAQUE)?;
                    let term = OwnTerm::copy(term);
                    let elsewhere = Elsewhere::new(term, machine, key, sponsor);
                    self.builder.foreign(Arc::new(elsewhere));
                } else if let Some(held) = self.machine.hold(key) {
                    self.address(held, sponsor);
                } else {
                    self.opaque(term, Class::Map)?;
                }
            }
            Some(Struct::Far(kind)) => {
                self.spend(OPAQUE)?;
                let term = OwnTerm::copy(term);
                let question = matches!(kind, FarKind::Customer)
                    .then(|| FarQuestion::new(&self.resource.questions));
                self.builder.foreign(Arc::new(Far { term, question }));
            }
            Some(Struct::Outbox(outbox)) => {
                self.spend(FEW)?;
                self.builder.foreign(Arc::new(Writable(outbox)));
            }
            Some(Struct::Timer(machine, timer)) => match std::ptr::eq(&*machine, self.resource) {
                true => self.builder.timer(timer),
                false => {
                    self.spend(FEW)?;
                    let elsewhere = TimerElsewhere { machine, timer };
                    self.builder.foreign(Arc::new(elsewhere));
                }
            },
            Some(Struct::Shared(machine, key, value)) => {
                self.spend(OPAQUE)?;
                let held = match machine.is_some_and(|machine| std::ptr::eq(machine, self.resource))
                {
                    true => key.and_then(|key| self.machine.hold_shared(key)),
                    false => None,
                };
                match held {
                    Some(held) => self.builder.constant(held),
                    // For another machine it is only what it stands for.
                    None => self.stack.push(value),
                }
            }
            Some(Struct::Function(fields)) => return self.own_function(term, fields),
            None => return self.made_or_entries(term),
        }
        Ok(())
    }

    /// A function, where the machine has that version of its module; else a map like others.
    fn own_function(&mut self, map: Term<'a>, fields: FunctionFields<'a>) -> Result<(), Unwritten> {
        let captures = tuple_elements(fields.captures);
        let known = self
            .machine
            .function(fields.name, fields.version, captures.len());
        let Some(known) = known else {
            return self.entries(map);
        };
        self.spend(FEW + captures.len())?;
        // SAFETY: the parcel is one for this machine.
        unsafe { self.builder.function(known, captures.len()) };
        let terms = captures.iter().rev();
        // SAFETY: elements belong to the environment of their tuple.
        self.stack
            .extend(terms.map(|term| unsafe { Term::new(map.get_env(), *term) }));
        Ok(())
    }

    fn address(&mut self, held: Held, sponsor: Option<VmAtom>) {
        if let Some(sponsor) = sponsor {
            self.builder.on();
            self.builder.atom(sponsor);
        }
        self.builder.address(held);
    }

    /// Writes the placeholder of an actor that the turn has made, on its own sponsor or another; or a map of any kind.
    fn made_or_entries(&mut self, map: Term<'a>) -> Result<(), Unwritten> {
        let on = self.made.on(map);
        let Some(place) = self.made.actor(on.map_or(map, |(_, actor)| actor)) else {
            return self.entries(map);
        };
        if let Some((sponsor, _)) = on {
            self.builder.on();
            self.builder.atom(sponsor);
        }
        self.builder.made(place);
        Ok(())
    }

    fn entries(&mut self, map: Term<'a>) -> Result<(), Unwritten> {
        if map_size(map) >= LARGE_PART && self.large.again(map, &mut self.builder) {
            return Ok(());
        }
        let below = self.stack.len();
        self.large.open(map, map_size(map), &self.builder, below);
        self.spend(2 * map_size(map))?;
        let from = self.stack.len();
        match map.decode::<MapIterator>() {
            Ok(entries) => self
                .stack
                .extend(entries.flat_map(|(key, value)| [key, value])),
            // Not reached: a map is one.
            Err(_) => return self.opaque(map, Class::Map),
        }
        self.builder.map((self.stack.len() - from) / 2);
        self.stack[from..].reverse();
        Ok(())
    }
}
