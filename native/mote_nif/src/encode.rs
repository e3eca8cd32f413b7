//! Terms of the BEAM on the way into a machine.
//!
//! The term is walked with a stack of its own, in the order of a parcel: a tuple before its elements. The walk counts
//! what it visits; on a normal scheduler it gives up after [`NORMAL`] and is done again on a dirty one.
use crate::atoms::{self, names, Known};
use crate::foreign::{Abroad, Elsewhere, LongBinary, Opaque, Process, TimerElsewhere, Waiting};
use crate::outbox::Writable;
use crate::own_term::OwnTerm;
use crate::question::Customer;
use crate::read::{is_modest, is_ours, known_struct, list_cell, map_size, tuple, Struct};
use crate::resources::MachineResource;
use mote_vm::atom::Atom;
use mote_vm::foreign::{Class, Wide};
use mote_vm::handles::Held;
use mote_vm::machine::Machine;
use mote_vm::parcel::Builder;
use rustler::sys::{enif_get_int64, ErlNifTerm};
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Binary, LocalPid, MapIterator, ResourceArc, Term, TermType};
use std::sync::Arc;

/// The work that may be done on a normal scheduler: about a tenth of a millisecond.
pub const NORMAL: usize = 4_000;
/// No budget at all.
pub const NO_LIMIT: usize = usize::MAX;
/// Bytes of a binary that cost as much as one term.
const BYTES_PER_NODE: usize = 64;
/// Longer binaries are shared, not copied.
const SHARED_BYTES: usize = 4_096;
/// What a term costs that shares an environment.
const FEW: usize = 5;
/// What a term costs that gets an environment of its own, or that the machine has to look up.
const OPAQUE: usize = 20;

/// The term is too much for the budget.
pub struct Big;

impl From<Big> for BeamAtom {
    fn from(_: Big) -> BeamAtom {
        names::big()
    }
}

/// Writes terms for one machine.
pub struct Encoder<'m, 'a> {
    resource: &'m MachineResource,
    machine: &'m Machine,
    budget: usize,
    atoms: Known,
    stack: Vec<Term<'a>>,
    /// What was written so far.
    pub builder: Builder,
}

impl<'m, 'a> Encoder<'m, 'a> {
    /// An encoder that may visit `budget` terms.
    pub fn new(
        resource: &'m MachineResource,
        machine: &'m Machine,
        budget: usize,
    ) -> Encoder<'m, 'a> {
        Encoder {
            resource,
            machine,
            budget,
            atoms: Known::here(),
            stack: Vec::new(),
            builder: Builder::new(),
        }
    }

    fn spend(&mut self, nodes: usize) -> Result<(), Big> {
        self.budget = self.budget.checked_sub(nodes).ok_or(Big)?;
        Ok(())
    }

    /// Begins `{customer, request}`; the request must follow.
    pub fn request_of(&mut self, customer: &ResourceArc<Customer>) {
        self.builder.tuple(2);
        self.builder.foreign(Arc::new(Waiting(customer.clone())));
    }

    /// Writes a term.
    #[inline]
    pub fn term(&mut self, term: Term<'a>) -> Result<(), Big> {
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
        }
        Ok(())
    }

    fn one(&mut self, term: Term<'a>) -> Result<(), Big> {
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
                // How much a function has captured cannot be seen from here.
                self.spend(NORMAL)?;
                return self.opaque(term, Class::Function);
            }
            TermType::Port => return self.small(term, Class::Port),
            TermType::Ref => return self.reference(term),
            TermType::Unknown => return self.opaque(term, Class::Reference),
        }
        Ok(())
    }

    fn opaque(&mut self, term: Term<'a>, class: Class) -> Result<(), Big> {
        self.spend(OPAQUE)?;
        let own = Opaque::alone(OwnTerm::copy(term), class);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    /// As `opaque`, for terms that are small and hold on to nothing.
    fn small(&mut self, term: Term<'a>, class: Class) -> Result<(), Big> {
        self.spend(FEW)?;
        let own = Opaque::small(self.resource.nursery.copy(term), class);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    fn reference(&mut self, term: Term<'a>) -> Result<(), Big> {
        if is_ours(term) {
            return self.opaque(term, Class::Reference);
        }
        self.spend(FEW)?;
        let own = Opaque::small(self.resource.references.copy(term), Class::Reference);
        self.builder.foreign(Arc::new(own));
        Ok(())
    }

    /// An integer that is no leaf.
    fn large_integer(&mut self, term: Term<'a>) -> Result<(), Big> {
        if let Some(wide) = wide(term) {
            self.builder.foreign(Arc::new(wide));
            Ok(())
        } else if is_modest(term) {
            self.small(term, Class::BigInteger)
        } else {
            self.opaque(term, Class::BigInteger)
        }
    }

    #[inline]
    fn tuple(&mut self, term: Term<'a>, elements: &'a [ErlNifTerm]) -> Result<(), Big> {
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

    fn list(&mut self, term: Term<'a>) -> Result<(), Big> {
        let from = self.stack.len();
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
        self.builder.list(count);
        self.stack.push(rest);
        self.stack[from..].reverse();
        Ok(())
    }

    fn binary(&mut self, term: Term<'a>) -> Result<(), Big> {
        match Binary::from_term(term) {
            Ok(binary) if binary.len() <= SHARED_BYTES => {
                self.spend(binary.len() / BYTES_PER_NODE)?;
                self.builder.bytes(&binary);
                Ok(())
            }
            _ => match LongBinary::new(term) {
                Some(binary) => {
                    self.builder.foreign(Arc::new(binary));
                    self.spend(OPAQUE)
                }
                None => self.opaque(term, Class::Bitstring),
            },
        }
    }

    fn map(&mut self, term: Term<'a>) -> Result<(), Big> {
        match known_struct(term) {
            Some(Struct::Customer(customer)) => {
                self.spend(FEW)?;
                self.builder.foreign(Arc::new(Waiting(customer)));
            }
            Some(Struct::Address(machine, key, sponsor)) => {
                self.spend(OPAQUE)?;
                if !std::ptr::eq(&*machine, self.resource) {
                    let term = OwnTerm::copy(term);
                    let elsewhere = Elsewhere::new(term, machine, key, sponsor);
                    self.builder.foreign(Arc::new(elsewhere));
                } else if let Some(held) = self.machine.hold(key) {
                    self.address(held, sponsor);
                } else {
                    self.opaque(term, Class::Map)?;
                }
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
            None => return self.entries(term),
        }
        Ok(())
    }

    fn address(&mut self, held: Held, sponsor: Option<Atom>) {
        if let Some(sponsor) = sponsor {
            self.builder.on();
            self.builder.atom(sponsor);
        }
        self.builder.address(held);
    }

    fn entries(&mut self, map: Term<'a>) -> Result<(), Big> {
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

/// An integer of 64 bits that is outside of the fixnum range.
pub fn wide(term: Term<'_>) -> Option<Wide> {
    let n = small_integer(term).map(i128::from);
    let n = n.or_else(|| term.decode::<u64>().ok().map(i128::from));
    n.and_then(Wide::new)
}

/// An integer of 64 bits.
fn small_integer(term: Term<'_>) -> Option<i64> {
    let mut n = 0;
    // SAFETY: `n` is written when the integer fits.
    let fits = unsafe { enif_get_int64(term.get_env().as_c_arg(), term.as_c_arg(), &mut n) };
    (fits != 0).then_some(n)
}
