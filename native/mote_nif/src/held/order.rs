//! The order of foreign values of one class.
use crate::held::far::Far;
use crate::held::foreign::{Abroad, Awaiting, Elsewhere, Opaque, Process, TimerElsewhere};
use crate::held::outbox::Writable;
use crate::term::own_term::OwnTerm;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::TimerId;
use mote_vm::values::foreign::Foreign;
use rustler::sys::{
    enif_compare, enif_is_identical, enif_make_pid, enif_term_to_binary, ErlNifTerm,
};
use rustler::OwnedBinary;
use std::cmp::Ordering;
use std::mem::MaybeUninit;

/// The identity of a foreign value; values of different kinds are ordered by kind.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Elsewhere(Option<u32>, usize, u32, u128),
    Customer(usize),
    Outbox(usize),
    Timer(TimerId, usize),
    Other,
}

fn identity(value: &dyn Foreign) -> Result<ErlNifTerm, Identity> {
    let any = value.as_any();
    if let Some(Process(pid)) = any.downcast_ref() {
        // SAFETY: pids of this node are immediate words, so the environment is not used.
        Ok(unsafe { enif_make_pid(std::ptr::null_mut(), *pid.as_c_arg()) })
    } else if let Some(Abroad(pid)) = any.downcast_ref() {
        Ok(pid.raw())
    } else if let Some(Far { term, .. }) = any.downcast_ref() {
        Ok(term.raw())
    } else if let Some(opaque) = any.downcast_ref::<Opaque>() {
        Ok(opaque.raw())
    } else if let Some(waiting) = any.downcast_ref::<Awaiting>() {
        Err(Identity::Customer(waiting.identity()))
    } else if let Some(outbox) = any.downcast_ref::<Writable>() {
        Err(Identity::Outbox(outbox.identity()))
    } else if let Some(elsewhere) = any.downcast_ref::<Elsewhere>() {
        let (machine, key) = elsewhere.home();
        Err(Identity::Elsewhere(
            elsewhere.sponsor().map(VmAtom::id),
            machine.identity(),
            key.slot,
            key.serial,
        ))
    } else if let Some(TimerElsewhere { machine, timer }) = any.downcast_ref() {
        Err(Identity::Timer(*timer, machine.identity()))
    } else {
        Err(Identity::Other)
    }
}

/// The order of two foreign values; `Equal` is `===`.
pub fn compare(a: &dyn Foreign, b: &dyn Foreign) -> Ordering {
    match (identity(a), identity(b)) {
        (Ok(a), Ok(b)) => compare_terms(a, b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(a), Err(b)) => a.cmp(&b),
    }
}

/// Elixir's order, refined so that only terms that are `===` are equal: a map with 1 is not a map with 1.0.
fn compare_terms(a: ErlNifTerm, b: ErlNifTerm) -> Ordering {
    // SAFETY: both terms are alive: the values that they came from are borrowed.
    unsafe {
        match enif_compare(a, b).cmp(&0) {
            Ordering::Equal if enif_is_identical(a, b) == 0 => external(a).cmp(&external(b)),
            order => order,
        }
    }
}

fn external(term: ErlNifTerm) -> Vec<u8> {
    let mut bytes = Vec::new();
    OwnTerm::make(|env| {
        let mut binary = MaybeUninit::uninit();
        // SAFETY: the term is alive; on success the binary is ours.
        unsafe {
            if enif_term_to_binary(env.as_c_arg(), term, binary.as_mut_ptr()) != 0 {
                bytes.extend_from_slice(&OwnedBinary::from_raw(binary.assume_init()));
            }
        }
        None
    });
    bytes
}
