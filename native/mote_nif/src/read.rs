//! Looking into terms, one level at a time.
use crate::atoms::{self, names};
use crate::outbox::OutboxResource;
use crate::own_term::OwnTerm;
use crate::question::Customer;
use crate::resources::{parse_key, parse_timer, MachineResource};
use crate::terms;
use mote_vm::base::atom::Atom;
use mote_vm::base::ids::TimerId;
use mote_vm::values::handles::Key;
use rustler::sys::{
    enif_compare, enif_get_list_cell, enif_get_map_size, enif_get_tuple, enif_is_identical,
    ErlNifTerm,
};
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Encoder, Env, ResourceArc, Term};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// What a map says it is.
pub enum Struct {
    /// The address of an actor, and the sponsor that it carries.
    Address(ResourceArc<MachineResource>, Key, Option<Atom>),
    /// Somebody who waits for an answer.
    Customer(ResourceArc<Customer>),
    /// Where a process takes messages in batches.
    Outbox(ResourceArc<OutboxResource>),
    /// A timer of a machine.
    Timer(ResourceArc<MachineResource>, TimerId),
}

/// The elements of a tuple; none of anything else.
pub fn tuple_elements(term: Term<'_>) -> &[ErlNifTerm] {
    tuple(term).unwrap_or(&[])
}

/// The elements of a tuple.
pub fn tuple(term: Term<'_>) -> Option<&[ErlNifTerm]> {
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
            0 => None,
            _ if arity == 0 => Some(&[]),
            _ => Some(std::slice::from_raw_parts(
                elements.assume_init(),
                arity as usize,
            )),
        }
    }
}

/// Head and tail of a non-empty list.
pub fn list_cell<'a>(term: Term<'a>) -> Option<(Term<'a>, Term<'a>)> {
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

/// How many keys a map has; 0 for anything else.
pub fn map_size(map: Term<'_>) -> usize {
    let mut size = 0;
    // SAFETY: `size` is written when the term is a map, and stays 0 otherwise.
    unsafe { enif_get_map_size(map.get_env().as_c_arg(), map.as_c_arg(), &mut size) };
    size
}

/// Looks only at maps that have the size of our structs.
pub fn known_struct(map: Term<'_>) -> Option<Struct> {
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
        3 if is_struct(map, names::timer()) => {
            let machine = terms::get(map, names::machine())?.decode().ok()?;
            let timer = parse_timer(terms::get(map, names::key())?)?;
            Some(Struct::Timer(machine, timer))
        }
        3 if is_struct(map, names::outbox()) => {
            let outbox = terms::get(map, names::reference())?.decode().ok()?;
            Some(Struct::Outbox(outbox))
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

/// Whether an integer takes little room: a thousand bits at most.
pub fn is_modest(integer: Term<'_>) -> bool {
    static LIMITS: OnceLock<[Option<OwnTerm>; 2]> = OnceLock::new();
    let limit = |f: f64| OwnTerm::make(|env| Some(f.encode(env)));
    let limits = LIMITS.get_or_init(|| [limit(-1.0e300), limit(1.0e300)]);
    let [Some(low), Some(high)] = limits else {
        return false;
    };
    let n = integer.as_c_arg();
    // SAFETY: all three terms are alive.
    unsafe { enif_compare(low.raw(), n) < 0 && enif_compare(n, high.raw()) < 0 }
}

/// Whether 0.0 and -0.0 are different terms on this release.
pub fn two_zeros(env: Env<'_>) -> bool {
    let [plus, minus] = [0.0, -0.0].map(|zero: f64| zero.encode(env));
    // SAFETY: both terms are alive.
    unsafe { enif_is_identical(plus.as_c_arg(), minus.as_c_arg()) == 0 }
}

/// Whether a reference is one of our own resources, which must not be kept longer than needed.
pub fn is_ours(reference: Term<'_>) -> bool {
    reference.try_get_resource::<Customer>().is_some()
        || reference.try_get_resource::<MachineResource>().is_some()
        || reference.try_get_resource::<OutboxResource>().is_some()
}

/// The word that a term is: the same term of one environment has the same.
pub fn word_of(term: ErlNifTerm) -> usize {
    // SAFETY: ErlNifTerm is a transparent wrapper of one word.
    unsafe { std::mem::transmute::<ErlNifTerm, usize>(term) }
}
