//! Messages that an actor has kept, and that it takes up again when it becomes another: they are put before all events that
//! are queued (queue.rs).
//!
//! Invariants:
//! 1. The stash is part of the actor's state, so it is live and was paid for when it was filled. Whether it is given back is
//!    known at the end of the turn, since the last become of a turn counts.
use super::Turn;
use crate::base::atom::Atom;
use crate::turns::queue::Event;
use crate::values::value::Value;

/// The messages that the running turn may give back.
#[derive(Clone, Copy)]
pub(crate) struct Stash {
    /// A list, the newest first; `NONE` if the actor keeps nothing.
    kept: Value,
    /// True if the last become leaves it behind.
    leaves: bool,
    /// True if it does so, and its behaviour would keep all of it again.
    again: bool,
}

impl Default for Stash {
    fn default() -> Stash {
        Stash {
            kept: Value::NONE,
            leaves: false,
            again: false,
        }
    }
}

impl Stash {
    /// The messages that the actor keeps, or whether the become that was just staged leaves them behind.
    pub(crate) fn put(&mut self, kept: Value, unusual: &mut u32) {
        let is = |atom| kept.as_atom() == Some(atom);
        if kept.as_cons().is_some() {
            *unusual = 1;
            *self = Stash {
                kept,
                leaves: true,
                again: false,
            };
        } else if is(Atom::FALSE) || is(Atom::TRUE) || is(Atom::AGAIN) {
            self.leaves = !is(Atom::FALSE);
            self.again = is(Atom::AGAIN);
        }
    }

    /// Returns whether the behaviour that the turn leaves would keep once more what it gives back.
    pub(crate) fn is_kept_again(&self) -> bool {
        self.again
    }
}

impl Turn {
    /// Returns how many messages the turn gives back when it commits.
    #[inline(always)]
    pub(crate) fn gives_back(&self) -> usize {
        let stash = &self.at_commit.stash;
        if !stash.leaves || stash.kept.as_cons().is_none() || self.becoming().is_none() {
            return 0;
        }
        std::iter::successors(stash.kept.as_cons(), |(_, others)| others.as_cons()).count()
    }

    /// Returns the message that it gives back behind the others: its own, if that is to come again.
    pub(crate) fn gives_last(&self) -> Option<Value> {
        self.at_commit.stash.kept.as_cons().map(|(last, _)| last)
    }

    /// Takes what the turn gives back, the oldest first, in the room of `spare` if there is anything. Called before the turn
    /// is committed.
    pub(crate) fn unstashed(&mut self, spare: &mut Vec<Event>) -> Vec<Event> {
        let stash = std::mem::take(&mut self.at_commit.stash);
        if !stash.leaves || stash.kept.as_cons().is_none() || self.becoming().is_none() {
            return Vec::new();
        }
        let mut events = std::mem::take(spare);
        events.clear();
        let target = self.actor;
        // Each step waits for memory, so the list is walked once.
        let cells = std::iter::successors(stash.kept.as_cons(), |(_, others)| others.as_cons());
        events.extend(cells.map(|(message, _)| Event { target, message }));
        events.reverse();
        events
    }
}
