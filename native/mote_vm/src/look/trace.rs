//! Traces: turns shown one by one to somebody outside, as many as were asked for.
//!
//! Invariants:
//! 1. A witness is shown `limit` turns at most, whatever the number of threads; what matches beyond them is counted.
use super::turn::TurnSeen;
use crate::base::atom::Atom;
use crate::code::program::BehaviourCode;
use crate::machine::Machine;
use crate::turns::queue::Event;
use crate::values::handles::{Held, Key};
use crate::values::term::Term;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Who is shown turns. Called on dispatch threads: must not block.
pub trait Witness: Send + Sync + 'static {
    /// Whether a turn with this message is of interest.
    fn wants(&self, message: Term<'_>) -> bool;
    /// The turn of that number, from 1, when it is known how it ends and before anything of it can be seen elsewhere;
    /// `false` when nobody is there any more.
    fn turn(&self, machine: &Machine, number: u64, turn: &TurnSeen<'_>) -> bool;
    /// That was the last one that is shown.
    fn limit(&self, machine: &Machine);
}

/// Which turns are of interest; what is not said does not matter.
#[derive(Default)]
pub struct Filter {
    /// The module of the behaviour.
    pub module: Option<Atom>,
    /// Its name.
    pub behaviour: Option<Atom>,
    /// The actor, which is held as long as the trace goes on.
    pub actor: Option<Held>,
    /// The sponsor whose thread runs the turn.
    pub sponsor: Option<Atom>,
}

/// See the head of this file.
pub(crate) struct Trace {
    pub(crate) number: u64,
    filter: Filter,
    witness: Box<dyn Witness>,
    limit: u64,
    seen: AtomicU64,
}

/// What a trace has shown and what it has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traced {
    /// Turns shown.
    pub shown: u64,
    /// Turns that would have been of interest beyond the limit.
    pub dropped: u64,
}

impl Machine {
    /// Shows turns to a witness from now on; the number of the trace.
    pub fn trace(&self, filter: Filter, limit: u64, witness: Box<dyn Witness>) -> u64 {
        self.attention().add(|number| Trace {
            number,
            filter,
            witness,
            limit,
            seen: AtomicU64::new(0),
        })
    }

    /// Ends a trace; `None` when there is none of that number any more.
    pub fn end_trace(&self, number: u64) -> Option<Traced> {
        let trace = self.attention().remove(number)?;
        let seen = trace.seen.load(Relaxed);
        let shown = seen.min(trace.limit);
        let dropped = seen - shown;
        Some(Traced { shown, dropped })
    }
}

impl Trace {
    /// Whether the turn that is about to run is of interest.
    pub(crate) fn wants(&self, event: Event, behaviour: &BehaviourCode, sponsor: Atom) -> bool {
        let Filter {
            module,
            behaviour: name,
            actor,
            sponsor: wanted,
        } = &self.filter;
        module.is_none_or(|module| module == behaviour.module)
            && name.is_none_or(|name| name == behaviour.name)
            && wanted.is_none_or(|wanted| wanted == sponsor)
            && actor.as_ref().is_none_or(|held| held.actor == event.target)
            && self.witness.wants(Term::new(event.message))
    }

    /// The number of one more turn, if it is to be shown.
    pub(crate) fn next(&self) -> Option<u64> {
        // Relaxed: numbers are unique, and guard nothing.
        let number = self.seen.fetch_add(1, Relaxed) + 1;
        (number <= self.limit).then_some(number)
    }

    pub(crate) fn show(&self, machine: &Machine, number: u64, turn: &TurnSeen<'_>) {
        let there = self.witness.turn(machine, number, turn);
        if there && number == self.limit {
            self.witness.limit(machine);
        }
        if !there {
            machine.attention().remove(self.number);
        }
    }
}

/// The key of an actor as a filter.
impl Filter {
    /// Only turns of this actor; `false` when the handle is none of that machine's.
    #[must_use]
    pub fn of_actor(&mut self, machine: &Machine, key: Key) -> bool {
        self.actor = machine.hold(key);
        self.actor.is_some()
    }
}
