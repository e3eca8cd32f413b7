//! A part of a turn whose effects may be undone while the turn goes on.
//!
//! Invariants:
//! 1. Effects of the part are gone when it is undone: sends, timers and what is cancelled, the become, and what that gives back. What
//!    the part has made stays in the heap, actors included: without a message and unknown to others, they are collected. So a
//!    term that leaves the part, such as a thrown one, may have all of it.
//! 2. Numbers of timers that were undone are used up, as after an abort. `undo`, which takes the numbers of the whole turn back, finds how
//!    many there were in `unarmed`.
use super::at_commit::{Next, Tally, TimerStep};
use super::stash::Stash;
use super::Turn;
use crate::turns::queue::QueuePosition;

/// The effects of a turn up to a point.
pub(crate) struct StagedPart {
    queue: QueuePosition,
    next: Next,
    outgoing: usize,
    timers: usize,
    stash: Stash,
    tally: Tally,
}

impl Turn {
    /// Returns what is staged now.
    pub(crate) fn staging(&self) -> StagedPart {
        StagedPart {
            queue: self.queue.position(),
            next: self.at_commit.next,
            outgoing: self.at_commit.outgoing.len(),
            timers: self.at_commit.timers.len(),
            stash: self.at_commit.stash,
            tally: self.at_commit.tally,
        }
    }

    /// Undoes what was staged since then. The queue has not been starved.
    pub(crate) fn unstage(&mut self, to: StagedPart) {
        self.queue.rewind(to.queue);
        let all = &mut self.at_commit;
        all.next = to.next;
        all.stash = to.stash;
        all.tally = to.tally;
        all.outgoing.truncate(to.outgoing);
        let arms = |step: &TimerStep| matches!(step, TimerStep::Arm { .. });
        let undone = all.timers.drain(to.timers..);
        all.unarmed += undone.filter(arms).count() as u64;
    }
}
