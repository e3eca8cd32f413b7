//! Traces: turns shown one by one to a witness outside, up to the requested number.
//!
//! Invariants:
//! 1. A witness is shown at most `limit` turns, whatever the number of threads; further matches are counted.
use super::shown_turn::TurnSeen;
use crate::base::atom::Atom;
use crate::code::program::BehaviourCode;
use crate::turns::queue::Event;
use crate::values::foreign::Carrier;
use crate::values::handles::{Held, Key};
use crate::values::term::Term;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An observer that is shown turns. Called on dispatch threads: must not block.
pub trait Witness: Send + Sync + 'static {
    /// Returns whether a turn with this message is of interest.
    fn wants(&self, message: Term<'_>) -> bool;
    /// The turn of that number, from 1, when it is known how it ends and before anything of it can be seen elsewhere;
    /// `false` when the witness is no longer there.
    fn turn(&self, machine: &dyn Carrier, number: u64, turn: &TurnSeen<'_>) -> bool;
    /// Notifies the witness that this was the last turn to be shown.
    fn limit(&self);
}

/// A selection of turns of interest. A field that is `None` matches every turn.
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

/// A trace: the turns that it wants, their limit, and its witness.
pub(crate) struct Trace {
    pub(crate) number: u64,
    filter: Filter,
    witness: Box<dyn Witness>,
    limit: u64,
    seen: AtomicU64,
}

/// Numbers of turns that a trace has shown and has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traced {
    /// Turns shown.
    pub shown: u64,
    /// Turns that would have been of interest beyond the limit.
    pub dropped: u64,
}

impl Trace {
    pub(crate) fn new(number: u64, filter: Filter, limit: u64, witness: Box<dyn Witness>) -> Trace {
        Trace {
            number,
            filter,
            witness,
            limit,
            seen: AtomicU64::new(0),
        }
    }

    /// Returns whether the turn that is about to run is of interest.
    pub(crate) fn wants(&self, event: Event, behaviour: &BehaviourCode, sponsor: Atom) -> bool {
        let Filter {
            module,
            behaviour: name,
            actor,
            sponsor: wanted,
        } = &self.filter;
        module.is_none_or(|module| module == behaviour.module)
            && name.is_none_or(|name| name == behaviour.written)
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

    /// Shows a turn to the witness. Returns whether the witness is still there.
    pub(crate) fn show(&self, machine: &dyn Carrier, number: u64, turn: &TurnSeen<'_>) -> bool {
        let there = self.witness.turn(machine, number, turn);
        if there && number == self.limit {
            self.witness.limit();
        }
        there
    }

    /// Returns the numbers of turns that it has shown so far and has not.
    pub(crate) fn traced(&self) -> Traced {
        let seen = self.seen.load(Relaxed);
        let shown = seen.min(self.limit);
        let dropped = seen - shown;
        Traced { shown, dropped }
    }
}

/// The key of an actor as a filter.
impl Filter {
    /// Restricts the filter to turns of this actor. Returns `false` if the handle belongs to another machine.
    #[must_use]
    pub fn of_actor(&mut self, machine: &dyn Carrier, key: Key) -> bool {
        self.actor = machine.hold(key);
        self.actor.is_some()
    }
}
