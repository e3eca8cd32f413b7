//! What a machine's memory limit is charged with: blocks of heaps and queues, messages that wait to enter, events on
//! their way between threads, timers.
//!
//! Who can be refused asks first (`take`): allocations of turns, messages from outside. Who cannot takes all the same
//! (`take_anyway`): what was accepted and moves on, which gives back as much elsewhere within a batch of turns. A part
//! of the limit is not for turns ([`Quota::for_blocks`]), so that a machine whose heaps are full can still be talked to.
//!
//! Invariant: whatever is taken is given back when what it was for goes; nothing is taken twice.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One part in this many is kept for what is not made by turns.
const RESERVE: usize = 16;

/// See the head of this file. Numbers that guard nothing, hence relaxed.
pub(crate) struct Quota {
    limit: usize,
    held: AtomicUsize,
}

impl Default for Quota {
    fn default() -> Quota {
        Quota::new(usize::MAX)
    }
}

impl Quota {
    pub(crate) fn new(limit: usize) -> Quota {
        Quota {
            limit,
            held: AtomicUsize::new(0),
        }
    }

    /// The most that blocks may take of it.
    pub(crate) fn for_blocks(&self) -> usize {
        self.limit - self.limit / RESERVE
    }

    /// Takes `bytes` if there are as many.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let before = self.held.fetch_add(bytes, Relaxed);
        let taken = before.saturating_add(bytes) <= self.limit;
        if !taken {
            self.give(bytes);
        }
        taken
    }

    /// Takes `bytes` whether there are as many or not.
    pub(crate) fn take_anyway(&self, bytes: usize) {
        self.held.fetch_add(bytes, Relaxed);
    }

    /// Gives `bytes` back.
    pub(crate) fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
    }

    /// Whether `bytes` more would leave some of the reserve, for turns that send elsewhere or arm timers.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.held().saturating_add(bytes) <= self.limit - self.limit / RESERVE / 2
    }

    /// Bytes that are taken.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_within_the_limit_unless_it_must_be() {
        let quota = Quota::new(160);
        assert!(quota.take(100) && quota.take(60) && !quota.take(1));
        quota.take_anyway(5);
        assert_eq!((quota.held(), quota.for_blocks()), (165, 150));
        quota.give(65);
        assert!(quota.has(55) && !quota.has(56));
        assert!(!quota.take(61) && quota.take(60));
    }
}
