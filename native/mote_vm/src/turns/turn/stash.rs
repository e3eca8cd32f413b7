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

/// What the running turn may give back.
pub(crate) struct Stash {
    /// A list, the newest first; `NONE` if the actor keeps nothing.
    kept: Value,
    /// Whether the last become leaves it behind.
    leaves: bool,
}

impl Default for Stash {
    fn default() -> Stash {
        Stash {
            kept: Value::NONE,
            leaves: false,
        }
    }
}

impl Stash {
    /// The messages that the actor keeps, or whether the become that was just staged leaves them behind.
    pub(crate) fn put(&mut self, kept: Value, unusual: &mut u32) {
        if kept.as_atom() == Some(Atom::FALSE) {
            self.leaves = false;
        } else if kept.as_atom() == Some(Atom::TRUE) {
            self.leaves = true;
        } else if kept.as_cons().is_some() {
            *unusual = 1;
            self.kept = kept;
            self.leaves = true;
        }
    }
}

impl Turn {
    /// What the turn gives back, the oldest first; before it is committed.
    pub(crate) fn unstashed(&mut self) -> Vec<Event> {
        let stash = std::mem::take(&mut self.at_commit.stash);
        let mut events = Vec::new();
        if stash.leaves && self.becoming().is_some() {
            let mut rest = stash.kept;
            while let Some((message, others)) = rest.as_cons() {
                events.push(Event {
                    target: self.actor,
                    message,
                });
                rest = others;
            }
            events.reverse();
        }
        events
    }
}
