//! The succession of actors whose behaviour has a new version.
use crate::look::survey::survey;
use crate::term::atoms::{self, names};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::machine::{Machine, StayingBehaviour, WhyStaying};
use rustler::{Atom, Encoder, Env, Term};

/// Lets the version of a module that is loaded take over what it can while turns run: `:ok`, or `:left` if there is more to be done, or
/// to be told of (below).
pub fn succeeded(machine: &Machine, module: VmAtom) -> Atom {
    match machine.succeed(module).is_empty() {
        true => names::ok(),
        false => names::left(),
    }
}

/// Lets it take over all the others while everything stands still. The answer is which behaviours have actors that go on as they are,
/// `[{name, captures, why}]`.
pub fn succeed<'a>(env: Env<'a>, machine: Term<'a>, module: VmAtom, tag: Term<'a>) -> Term<'a> {
    survey(env, machine, tag, move |env, _, survey| {
        let staying = survey.succeed(module);
        let term = |staying: &StayingBehaviour| {
            let why = match staying.why {
                WhyStaying::Durable => names::durable(),
                WhyStaying::OtherKind => names::other_kind(),
                WhyStaying::Absent | WhyStaying::Running => names::absent(),
            };
            let name = atoms::to_term(env, staying.name);
            (name, staying.captures, why).encode(env)
        };
        staying.iter().map(term).collect::<Vec<_>>().encode(env)
    })
}
