//! The ends of turns of a beam sponsor: a worker's report enters the machine.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::effects::{effects, EffectsError};
use crate::held::desk::DeskResource;
use crate::term::atoms::names;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::machine::Outcome;
use rustler::{Atom, Encoder, Env, Term};

/// Commits a turn with its effects and its become.
pub fn done_within<'a>(
    env: Env<'a>,
    desk: &DeskResource,
    number: u64,
    all: (Term<'a>, Term<'a>),
    mode: WriteMode<'a>,
) -> Term<'a> {
    let Some(machine) = desk.machine.running() else {
        return names::stopped().encode(env);
    };
    if !desk.desk.is_running(number) {
        return names::unknown().encode(env);
    }
    match effects(env, (&desk.machine, machine), number, all, mode) {
        Ok(done) => said(desk, number, Outcome::Done(done)).encode(env),
        Err(EffectsError::Word(word)) => refused(desk, number, word).encode(env),
        Err(behaviour) => behaviour.term(env),
    }
}

/// Tells the machine how a turn has ended, if nobody has yet.
pub fn said(desk: &DeskResource, number: u64, outcome: Outcome) -> Atom {
    let Some(machine) = desk.machine.running() else {
        return names::stopped();
    };
    let Some(ended) = desk.desk.end(number) else {
        return names::unknown();
    };
    machine.end_turn(number, outcome);
    let is_awaited = ended.is_awaited();
    drop(ended);
    if is_awaited {
        // Actors could forget it from now on, and a thread that sleeps would not look whether they have.
        machine.look_around(number);
    }
    names::ok()
}

/// Aborts a turn, for that reason.
pub fn aborted_within<'a>(
    env: Env<'a>,
    desk: &DeskResource,
    number: u64,
    reason: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let Some(machine) = desk.machine.running() else {
        return names::stopped().encode(env);
    };
    let mut writer = Writer::new(&desk.machine, machine, mode);
    writer.is_for_heap();
    let written = writer.term(reason);
    writer.count_spent(env);
    match written {
        Ok(()) => said(desk, number, Outcome::Aborted(writer.builder.finish())).encode(env),
        Err(halt) => refused(desk, number, halt.into()).encode(env),
    }
}

/// Handles a report whose effects or abort reason could not be written. If that was for want of memory, aborts the turn for that reason.
fn refused(desk: &DeskResource, number: u64, word: Atom) -> Atom {
    match word == names::no_memory() {
        true => said(
            desk,
            number,
            Outcome::Aborted(Parcel::atom(VmAtom::NO_MEMORY)),
        ),
        false => word,
    }
}
