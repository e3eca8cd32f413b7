//! Terms of the BEAM on the way into a machine.
//!
//! The term is walked with a stack of its own, in the order of a parcel: a tuple before its elements. The walk counts
//! what it visits; on a normal scheduler it gives up after [`NORMAL`] and is done again on a dirty one.
use crate::atoms::{self, names};
use crate::foreign::{Elsewhere, Opaque, Process, Waiting};
use crate::own_term::OwnTerm;
use crate::resources::{parse_key, Customer, MachineResource};
use crate::terms;
use mote_vm::atom::Atom;
use mote_vm::foreign::Class;
use mote_vm::handles::Key;
use mote_vm::machine::Machine;
use mote_vm::parcel::Builder;
use rustler::sys::{
    enif_get_int64, enif_get_list_cell, enif_get_map_size, enif_get_tuple, ErlNifTerm,
};
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Binary, LocalPid, ResourceArc, Term, TermType};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The work that may be done on a normal scheduler: about a tenth of a millisecond.
pub const NORMAL: usize = 4_000;
/// No budget at all.
pub const NO_LIMIT: usize = usize::MAX;
/// Bytes of a binary that cost as much as one term.
const BYTES_PER_NODE: usize = 128;

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
    stack: Vec<Term<'a>>,
    /// What was written so far.
    pub builder: Builder,
}

/// What a map says it is.
enum Struct {
    Address(ResourceArc<MachineResource>, Key, Option<Atom>),
    Customer(ResourceArc<Customer>),
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
    pub fn term(&mut self, term: Term<'a>) -> Result<(), Big> {
        self.one(term)?;
        while let Some(term) = self.stack.pop() {
            self.one(term)?;
        }
        Ok(())
    }

    fn one(&mut self, term: Term<'a>) -> Result<(), Big> {
        self.spend(1)?;
        match term.get_type() {
            TermType::Atom => self.builder.atom(atoms::number(term)),
            TermType::Integer => self.integer(term),
            TermType::Float => match term.decode() {
                Ok(f) => self.builder.float(f),
                Err(_) => self.opaque(term, Class::BigInteger),
            },
            TermType::Tuple => self.tuple(term)?,
            TermType::List => self.list(term)?,
            TermType::Binary => self.binary(term)?,
            TermType::Pid => match term.decode::<LocalPid>() {
                Ok(pid) => self.builder.foreign(Arc::new(Process(pid))),
                Err(_) => self.opaque(term, Class::Pid),
            },
            TermType::Map => self.map(term)?,
            TermType::Fun => {
                // How much a function has captured cannot be seen from here.
                self.spend(NORMAL)?;
                self.opaque(term, Class::Function);
            }
            TermType::Port => self.opaque(term, Class::Port),
            TermType::Ref | TermType::Unknown => self.opaque(term, Class::Reference),
        }
        Ok(())
    }

    fn opaque(&mut self, term: Term<'a>, class: Class) {
        self.builder.foreign(Arc::new(Opaque::copy(term, class)));
    }

    fn integer(&mut self, term: Term<'a>) {
        let mut n = 0;
        // SAFETY: `n` is written when the integer fits.
        let fits =
            unsafe { enif_get_int64(term.get_env().as_c_arg(), term.as_c_arg(), &mut n) } != 0;
        if !fits || !self.builder.integer(n) {
            self.opaque(term, Class::BigInteger);
        }
    }

    fn tuple(&mut self, term: Term<'a>) -> Result<(), Big> {
        let elements = tuple_elements(term);
        self.spend(elements.len())?;
        self.builder.tuple(elements.len());
        let env = term.get_env();
        // SAFETY: elements belong to the environment of their tuple.
        let terms = elements
            .iter()
            .rev()
            .map(|element| unsafe { Term::new(env, *element) });
        self.stack.extend(terms);
        Ok(())
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
            Ok(binary) => {
                self.spend(binary.len() / BYTES_PER_NODE)?;
                self.builder.bytes(&binary);
            }
            Err(_) => self.opaque(term, Class::Bitstring),
        }
        Ok(())
    }

    fn map(&mut self, term: Term<'a>) -> Result<(), Big> {
        match known_struct(term) {
            Some(Struct::Customer(customer)) => self.builder.foreign(Arc::new(Waiting(customer))),
            Some(Struct::Address(machine, key, sponsor))
                if !std::ptr::eq(&*machine, self.resource) =>
            {
                let term = OwnTerm::copy(term);
                self.builder
                    .foreign(Arc::new(Elsewhere::new(term, machine, key, sponsor)));
            }
            Some(Struct::Address(_, key, sponsor)) if self.machine.knows(key) => {
                if let Some(sponsor) = sponsor {
                    self.builder.on();
                    self.builder.atom(sponsor);
                }
                if !self.machine.write_address(key, &mut self.builder) {
                    // Released since the look above: the sender did not hold it.
                    self.builder.atom(Atom::UNDEFINED);
                }
            }
            _ => {
                self.measure(term)?;
                self.opaque(term, Class::Map);
            }
        }
        Ok(())
    }

    /// Spends what copying a map will cost.
    fn measure(&mut self, map: Term<'a>) -> Result<(), Big> {
        if self.budget > NORMAL {
            return Ok(());
        }
        let mut rest = vec![map];
        while let Some(term) = rest.pop() {
            self.spend(1)?;
            match term.get_type() {
                TermType::Fun => self.spend(NORMAL)?,
                TermType::Tuple => {
                    let elements = tuple_elements(term);
                    self.spend(elements.len())?;
                    let env = term.get_env();
                    // SAFETY: elements belong to the environment of their tuple.
                    rest.extend(
                        elements
                            .iter()
                            .map(|element| unsafe { Term::new(env, *element) }),
                    );
                }
                TermType::List => {
                    let mut list = term;
                    while let Some((head, tail)) = list_cell(list) {
                        self.spend(1)?;
                        rest.push(head);
                        list = tail;
                    }
                    rest.push(list);
                    rest.retain(|term| !term.is_empty_list());
                }
                TermType::Map => {
                    self.spend(2 * map_size(term))?;
                    if let Ok(entries) = term.decode::<rustler::MapIterator>() {
                        rest.extend(entries.flat_map(|(key, value)| [key, value]));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The elements of a tuple; none of anything else.
pub fn tuple_elements(term: Term<'_>) -> &[ErlNifTerm] {
    let mut arity = 0;
    let mut elements = MaybeUninit::uninit();
    // SAFETY: on success both are written, and the elements live as long as the term.
    unsafe {
        match enif_get_tuple(
            term.get_env().as_c_arg(),
            term.as_c_arg(),
            &mut arity,
            elements.as_mut_ptr(),
        ) {
            0 => &[],
            _ if arity == 0 => &[],
            _ => std::slice::from_raw_parts(elements.assume_init(), arity as usize),
        }
    }
}

fn list_cell<'a>(term: Term<'a>) -> Option<(Term<'a>, Term<'a>)> {
    let env = term.get_env();
    let (mut head, mut tail) = (term.as_c_arg(), term.as_c_arg());
    // SAFETY: on success both are written, and belong to the environment of the list.
    unsafe {
        match enif_get_list_cell(env.as_c_arg(), term.as_c_arg(), &mut head, &mut tail) {
            0 => None,
            _ => Some((Term::new(env, head), Term::new(env, tail))),
        }
    }
}

fn map_size(map: Term<'_>) -> usize {
    let mut size = 0;
    // SAFETY: `size` is written when the term is a map, and stays 0 otherwise.
    unsafe { enif_get_map_size(map.get_env().as_c_arg(), map.as_c_arg(), &mut size) };
    size
}

/// Looks only at maps that have the size of our structs.
fn known_struct(map: Term<'_>) -> Option<Struct> {
    match map_size(map) {
        4 if is_struct(map, names::address()) => {
            let machine = terms::get(map, names::machine())?.decode().ok()?;
            let key = parse_key(terms::get(map, names::key())?)?;
            let sponsor = terms::get(map, names::sponsor())?;
            let sponsor = match sponsor.is_atom() {
                true => Some(atoms::number(sponsor)).filter(|name| *name != Atom::NIL),
                false => return None,
            };
            Some(Struct::Address(machine, key, sponsor))
        }
        2 if is_struct(map, names::customer()) => {
            let customer = terms::get(map, names::reference())?.decode().ok()?;
            Some(Struct::Customer(customer))
        }
        _ => None,
    }
}

fn is_struct(map: Term<'_>, name: BeamAtom) -> bool {
    terms::get(map, names::__struct__()).is_some_and(|found| found.as_c_arg() == name.as_c_arg())
}
