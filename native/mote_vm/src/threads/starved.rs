//! A turn for which there is no memory runs once more after a whole collection, before it is given up.
//!
//! Invariants:
//! 1. Between the turn that found no memory and the end of a collection that began afterwards, the thread runs no turn. That
//!    collection is done in its pauses, however long they take: it is that or an accepted message.
//! 2. A turn is given up only if a whole collection has just found no room for it, or if one has a moment ago and little was
//!    allocated since: a machine that is full spends a fifth of its time on collections, and not all of it.
use crate::threads::thread::Dispatch;

/// How often one turn is tried: what a collection has found others may have taken.
const TRIES: u32 = 3;

/// The turn that a thread has found no memory for.
#[derive(Default)]
pub(crate) struct Starved {
    /// It runs again when that collection is over.
    waits_for: Option<u64>,
    /// How often it has run, and how many turns the thread had run before it.
    tries: u32,
    turns: u64,
}

impl Starved {
    /// Whether the thread waits for a collection.
    #[inline(always)]
    pub(crate) fn awaits_collection(&self) -> bool {
        self.waits_for.is_some()
    }
}

impl Dispatch {
    /// Whether a turn that has found no memory is to run again.
    #[cold]
    pub(crate) fn tries_again(&mut self) -> bool {
        // A turn that was outside must not run twice.
        if self.away.is_some() {
            return false;
        }
        let turns = self.turn.counts.turns;
        let tries = match self.starved.turns == turns {
            true => self.starved.tries,
            false => 0,
        };
        let machine = &self.context.machine;
        let most = if machine.stations().all().len() > 1 { TRIES } else { 2 };
        if tries + 1 >= most || tries == 0 && !machine.pool().would_help() {
            self.starved = Starved::default();
            return false;
        }
        self.starved = Starved {
            waits_for: Some(machine.gc().next()),
            tries: tries + 1,
            turns,
        };
        true
    }

    /// Goes on when the collection is over that a turn waits for.
    pub(crate) fn look_for_memory(&mut self) {
        let gc = self.context.machine.gc();
        if self.starved.waits_for.is_some_and(|number| gc.is_over(number)) {
            self.starved.waits_for = None;
        }
    }
}
