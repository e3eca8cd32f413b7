//! Small things that terms are made of: structs, and what is inside of them.
use crate::atoms::{self, names};
use crate::foreign::bytes;
use crate::outbox::OutboxResource;
use crate::question::Customer;
use crate::resources::{timer_key, Handle, MachineResource};
use mote_vm::base::atom::Atom;
use mote_vm::base::ids::{BehaviourName, TimerId};
use mote_vm::machine::Machine;
use rustler::sys::{enif_get_map_value, enif_make_map_from_arrays};
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Encoder, Env, ResourceArc, Term};
use std::mem::MaybeUninit;

/// The value of an atom key of a map.
pub fn get<'a>(map: Term<'a>, key: BeamAtom) -> Option<Term<'a>> {
    let env = map.get_env();
    let mut value = MaybeUninit::uninit();
    // SAFETY: atoms belong to every environment; the value is written on success and belongs to the map's.
    unsafe {
        match enif_get_map_value(
            env.as_c_arg(),
            map.as_c_arg(),
            key.as_c_arg(),
            value.as_mut_ptr(),
        ) {
            0 => None,
            _ => Some(Term::new(env, value.assume_init())),
        }
    }
}

/// A map of atom keys, which must be distinct.
pub fn map<'a, const N: usize>(env: Env<'a>, entries: [(BeamAtom, Term<'a>); N]) -> Term<'a> {
    let keys = entries.map(|(key, _)| key.as_c_arg());
    let values = entries.map(|(_, value)| value.as_c_arg());
    let mut map = MaybeUninit::uninit();
    // SAFETY: keys and values belong to `env`, and distinct keys always make a map.
    unsafe {
        enif_make_map_from_arrays(
            env.as_c_arg(),
            keys.as_ptr(),
            values.as_ptr(),
            N,
            map.as_mut_ptr(),
        );
        Term::new(env, map.assume_init())
    }
}

/// `%Mote.Address{}` of a handle.
pub fn address<'a>(
    env: Env<'a>,
    machine: &ResourceArc<MachineResource>,
    handle: Handle,
    sponsor: Option<Atom>,
) -> Term<'a> {
    let handle = ResourceArc::new(handle);
    let key = handle.make_binary(env, |handle| handle.content());
    let sponsor = atoms::to_term(env, sponsor.unwrap_or(Atom::NIL));
    map(
        env,
        [
            (names::__struct__(), names::address().to_term(env)),
            (names::machine(), machine.encode(env)),
            (names::key(), key.to_term(env)),
            (names::sponsor(), sponsor),
        ],
    )
}

/// `%Mote.Behaviour{}` of an actor with these captures, or `:sink`.
pub fn behaviour<'a>(
    env: Env<'a>,
    machine: &Machine,
    behaviour: BehaviourName,
    captures: Term<'a>,
) -> Term<'a> {
    let name = atoms::to_term(env, behaviour.name);
    if behaviour.module == Atom::NIL {
        return name;
    }
    map(
        env,
        [
            (names::__struct__(), names::behaviour().to_term(env)),
            (names::module(), atoms::to_term(env, behaviour.module)),
            (names::name(), name),
            (
                names::version(),
                machine.module(behaviour.module).encode(env),
            ),
            (names::captures(), captures),
        ],
    )
}

/// `%Mote.Uncommitted{}`: an actor of an aborted turn, or a timer, which has no behaviour.
pub fn uncommitted(env: Env<'_>, behaviour: Option<BehaviourName>, number: usize) -> Term<'_> {
    let behaviour = behaviour.map(|behaviour| {
        let [module, name] = [behaviour.module, behaviour.name].map(|a| atoms::to_term(env, a));
        (module, name)
    });
    map(
        env,
        [
            (names::__struct__(), names::uncommitted().to_term(env)),
            (names::behaviour_key(), behaviour.encode(env)),
            (names::number(), number.encode(env)),
        ],
    )
}

/// `%Mote.Timer{}`
pub fn timer<'a>(env: Env<'a>, machine: Term<'a>, timer: TimerId) -> Term<'a> {
    let key = bytes(env, &timer_key(timer));
    map(
        env,
        [
            (names::__struct__(), names::timer().to_term(env)),
            (names::machine(), machine),
            (names::key(), key),
        ],
    )
}

/// `%Mote.Outbox{}`
pub fn outbox<'a>(env: Env<'a>, outbox: &ResourceArc<OutboxResource>) -> Term<'a> {
    map(
        env,
        [
            (names::__struct__(), names::outbox().to_term(env)),
            (names::machine(), outbox.machine().encode(env)),
            (names::reference(), outbox.encode(env)),
        ],
    )
}

/// `%Mote.Customer{}`
pub fn customer<'a>(env: Env<'a>, customer: &ResourceArc<Customer>) -> Term<'a> {
    customer_of(env, customer.encode(env))
}

/// A `%Mote.Customer{}` to look at, who cannot be answered.
pub fn lost_customer(env: Env<'_>) -> Term<'_> {
    customer_of(env, names::nil().to_term(env))
}

fn customer_of<'a>(env: Env<'a>, reference: Term<'a>) -> Term<'a> {
    map(
        env,
        [
            (names::__struct__(), names::customer().to_term(env)),
            (names::reference(), reference),
        ],
    )
}
