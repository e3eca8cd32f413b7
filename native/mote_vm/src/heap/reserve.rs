//! The free memory that a machine keeps for later: as much as it has used lately, and a little less after each
//! collection. A machine whose work comes in bursts would otherwise return its pages after each of them. A page that the
//! system must find and clear again costs more than the actors that fit into it.
//!
//! A caller that asks for a collection wants memory back: then nothing is kept. The same holds when the machine has done nothing
//! for a while (threads/long_rest.rs). All numbers are hints that guard nothing, hence relaxed.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Each collection forgets one part in this many of what was used before.
const FORGOTTEN: usize = 8;

/// The amount of free memory that one machine keeps.
#[derive(Default)]
pub(crate) struct Reserve {
    lately: AtomicUsize,
}

impl Reserve {
    /// Notes that a collection ends, before which up to `used` bytes were in use, queues included. If `nothing`, nothing is
    /// kept.
    pub(crate) fn collected(&self, used: usize, nothing: bool) {
        let lately = self.lately.load(Relaxed);
        let kept = match nothing {
            true => 0,
            false => used.max(lately - lately / FORGOTTEN),
        };
        self.lately.store(kept, Relaxed);
    }

    /// Returns how many bytes were in use lately.
    pub(crate) fn lately(&self) -> usize {
        self.lately.load(Relaxed)
    }

    /// Keeps nothing any more; whether it did.
    pub(crate) fn forget(&self) -> bool {
        self.lately.swap(0, Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_kept_after_each_collection_and_nothing_after_one_that_was_asked_for() {
        let reserve = Reserve::default();
        reserve.collected(800, false);
        assert_eq!(reserve.lately(), 800);
        reserve.collected(100, false);
        reserve.collected(100, false);
        assert_eq!(reserve.lately(), 613);
        reserve.collected(1_000, false);
        assert_eq!(reserve.lately(), 1_000);
        reserve.collected(1_000, true);
        assert_eq!(reserve.lately(), 0);
        reserve.collected(5, false);
        assert_eq!((reserve.forget(), reserve.forget()), (true, false));
    }
}
