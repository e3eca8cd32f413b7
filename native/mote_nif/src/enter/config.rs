//! The options that a machine is started with, and the constants of its code.
use crate::held::foreign::{Abroad, Opaque, Process};
use crate::term::atoms::{names, Name};
use crate::term::own_term::OwnTerm;
use mote_vm::heap::pace::Stress;
use mote_vm::threads::seeded::Schedule;
use mote_vm::threads::sponsor::SponsorConfig;
use mote_vm::values::foreign::{Class, ForeignRef};
use rustler::{Atom, Env, NifResult, Term, TermType};
use std::sync::Arc;

/// A sponsor: its name, how many threads, the cores that these are bound to, how much may wait in it, and whether
/// senders wait for room; how many turns are away at once, if they run outside of the machine; whether its threads have
/// sockets, and whether each keeps the actors that it is given.
pub type SponsorTerm = (
    Name,
    usize,
    Vec<usize>,
    usize,
    bool,
    Option<usize>,
    (bool, bool),
);

pub fn sponsor_config(
    (Name(name), threads, cores, inbox, patient, most_away, (io, partition)): SponsorTerm,
) -> SponsorConfig {
    SponsorConfig {
        name,
        threads,
        cores,
        inbox,
        patient,
        most_away,
        io,
        partition,
    }
}

pub fn stress_of(name: Atom) -> Stress {
    if name == names::standing() {
        Stress::Standing
    } else if name == names::running() {
        Stress::Running
    } else if name == names::moving() {
        Stress::Moving
    } else {
        Stress::Off
    }
}

/// The source of the order of turns: `{seed, choices}`, the places of the events in the queue, or `nil`.
pub fn schedule_of(term: Term<'_>) -> NifResult<Schedule> {
    if let Ok((seed, choices)) = term.decode() {
        return Ok(Schedule::Seeded { seed, choices });
    }
    match term.is_list() {
        true => Ok(Schedule::Order(term.decode()?)),
        false => Ok(Schedule::Threads),
    }
}

/// A constant of another kind than the machine's own, as it would be in a message.
pub fn foreign(_: Class, bytes: &[u8]) -> Option<ForeignRef> {
    constant(|env| {
        // SAFETY: units are code, and trusted with making atoms as any other code is.
        let read = unsafe { env.binary_to_term_trusted(bytes) };
        read.map(|(term, _)| term)
    })
}

/// Such a constant of a unit that anybody may have made.
pub fn untrusted(_: Class, bytes: &[u8]) -> Option<ForeignRef> {
    constant(|env| read_untrusted(env, bytes))
}

/// A term in the external format, if it makes no atoms and is not compressed: what is may be of any size.
pub fn read_untrusted<'a>(env: Env<'a>, bytes: &[u8]) -> Option<Term<'a>> {
    let is_plain = bytes.first() == Some(&131) && bytes.get(1) != Some(&80);
    let (term, used) = is_plain.then(|| env.binary_to_term(bytes))??;
    (used == bytes.len()).then_some(term)
}

fn constant(read: impl for<'a> FnOnce(Env<'a>) -> Option<Term<'a>>) -> Option<ForeignRef> {
    let mut class = None;
    let mut process = None;
    let term = OwnTerm::make(|env| {
        let term = read(env)?;
        class = class_of(term);
        process = term.decode().ok();
        Some(term)
    })?;
    Some(match (process, class?) {
        (Some(process), _) => Arc::new(Process(process)),
        (_, Class::Pid) => Arc::new(Abroad(term)),
        (_, class) => Arc::new(Opaque::alone(term, class)),
    })
}

fn class_of(term: Term<'_>) -> Option<Class> {
    match term.get_type() {
        TermType::Integer => Some(Class::BigInteger),
        TermType::Ref => Some(Class::Reference),
        TermType::Fun => Some(Class::Function),
        TermType::Port => Some(Class::Port),
        TermType::Pid => Some(Class::Pid),
        TermType::Map => Some(Class::Map),
        _ => None,
    }
}
