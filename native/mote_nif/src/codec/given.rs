//! The input of a turn that runs outside: captures and message. Small values are written as letters, which its worker
//! reads, so the thread of the machine allocates no memory of the BEAM's that a scheduler would have to free. Everything
//! else becomes a term at once.
use crate::codec::carried;
use crate::codec::decode::Decoder;
use crate::codec::letters::build_with;
use crate::held::desk::{KeptPart, TurnInput};
use crate::held::handle::Handle;
use crate::held::machine::MachineResource;
use crate::held::structs;
use crate::term::assembly::tuple;
use crate::term::own_term::{Nursery, OwnTerm, NURSED};
use crate::term::resource::ResourceArc;
use mote_vm::boundary::outbox::Letters;
use mote_vm::machine::{Machine, TurnAway};
use mote_vm::values::foreign::Class;
use mote_vm::{Term as VmTerm, View};
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Env, Term};

/// Bytes below which values leave their environment open to later ones, which may never come.
const SMALL: usize = 1 << 10;

/// Writes what a turn is given, and says how many bytes it takes. Terms are written to `nursery`.
pub fn write(
    nursery: &Nursery,
    machine: &Machine,
    resource: &ResourceArc<MachineResource>,
    turn: &TurnAway<'_>,
) -> Option<(TurnInput, usize)> {
    let mut letters = Letters::default();
    let mut values = turn.captures.iter().chain([&turn.message]);
    let keep = |value: VmTerm<'_>| kept(machine, resource, value);
    if values.all(|value| letters.write_with(*value, keep)) {
        let bytes = NURSED + letters.size();
        return Some((TurnInput::Letters(letters), bytes));
    }
    let decoder = &mut Decoder::for_what_waits();
    let (mut bytes, mut holds) = (NURSED, false);
    let values = OwnTerm::make_in(nursery, |env| {
        let values = turn.captures.iter().chain([&turn.message]);
        let values = values.map(|value| {
            decoder.start();
            let term = decoder.term(env, machine, *value);
            bytes += decoder.size();
            holds |= decoder.holds();
            term
        });
        let mut captures: Vec<Term<'_>> = values.collect();
        let message = captures.pop()?;
        let values = (make_tuple(env, &captures), message).encode(env);
        Some((values, !holds && bytes < SMALL))
    })?;
    Some((TurnInput::Term(values), bytes))
}

/// A part of a letter that keeps something alive; none of what may be large.
fn kept(
    machine: &Machine,
    resource: &ResourceArc<MachineResource>,
    value: VmTerm<'_>,
) -> Option<KeptPart> {
    let address = |actor, sponsor| {
        let handle = Handle::new(resource.clone(), machine.acquire(actor));
        KeptPart::Address(Box::new(handle), sponsor)
    };
    match value.view() {
        View::Foreign(foreign) => {
            let is_small = matches!(foreign.class(), Class::Pid | Class::Address);
            is_small.then(|| KeptPart::Foreign(foreign.clone()))
        }
        View::Address(actor) => Some(address(actor, None)),
        View::On(sponsor, target) => match (sponsor.view(), target.view()) {
            (View::Atom(sponsor), View::Address(actor)) => Some(address(actor, Some(sponsor))),
            _ => None,
        },
        _ => None,
    }
}

/// `{captures, message}`, in the process of the worker.
pub fn read<'a>(
    env: Env<'a>,
    resource: &ResourceArc<MachineResource>,
    given: TurnInput,
) -> Term<'a> {
    let mut letters = match given {
        TurnInput::Letters(letters) => letters,
        TurnInput::Term(term) => return term.to(env),
    };
    let mut made = Vec::new();
    let other = |kept| match kept {
        KeptPart::Foreign(foreign) => carried::to_term(env, &foreign),
        KeptPart::Address(handle, sponsor) => {
            structs::address(env, resource, handle.key(env), sponsor)
        }
    };
    while letters.read(|part| {
        let term = build_with(env, part, &mut made, other);
        made.push(term);
    }) {}
    let message = made.pop();
    let captures = tuple(env, &mut made, 0);
    made.push(captures);
    made.extend(message);
    // SAFETY: made in `env` just now.
    unsafe { Term::new(env, tuple(env, &mut made, 0)) }
}
