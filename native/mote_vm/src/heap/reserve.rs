//! How much free memory a machine keeps for later: as much as it has used lately, and a little less after each
//! collection. A machine whose work comes in bursts would otherwise return its pages after each of them. A page that
//! the system must find and clear again costs more than the actors that fit into it.
//!
//! A caller that asks for a collection wants memory back: then nothing is kept. The same holds when nothing was collected for a
//! while. All numbers are hints that guard nothing, hence relaxed.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Each collection forgets one part in this many of what was used before.
const FORGOTTEN: usize = 8;
/// How long a machine that does nothing keeps it.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// How much free memory one machine keeps.
pub(crate) struct Reserve {
    start: Instant,
    lately: AtomicUsize,
    /// When the last collection ended, in nanoseconds since the start.
    collected_at: AtomicU64,
}

impl Default for Reserve {
    fn default() -> Reserve {
        Reserve {
            start: Instant::now(),
            lately: AtomicUsize::new(0),
            collected_at: AtomicU64::new(0),
        }
    }
}

impl Reserve {
    /// A collection ends, before which up to that many bytes were in use, queues included.
    pub(crate) fn collected(&self, used: usize, asked: bool) {
        let lately = self.lately.load(Relaxed);
        let kept = match asked {
            true => 0,
            false => used.max(lately - lately / FORGOTTEN),
        };
        self.lately.store(kept, Relaxed);
        let now = self.start.elapsed().as_nanos() as u64;
        self.collected_at.store(now, Relaxed);
    }

    /// How many bytes were in use lately.
    pub(crate) fn lately(&self) -> usize {
        self.lately.load(Relaxed)
    }

    /// How long a machine that does nothing still keeps something, if it does.
    pub(crate) fn until_stale(&self) -> Option<Duration> {
        let ends = Duration::from_nanos(self.collected_at.load(Relaxed)) + KEPT_FOR;
        (self.lately() > 0).then(|| ends.saturating_sub(self.start.elapsed()))
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
        assert_eq!((reserve.lately(), reserve.until_stale()), (0, None));
        reserve.collected(800, false);
        assert_eq!(reserve.lately(), 800);
        reserve.collected(100, false);
        reserve.collected(100, false);
        assert_eq!(reserve.lately(), 613);
        reserve.collected(1_000, false);
        assert_eq!(reserve.lately(), 1_000);
        let left = reserve.until_stale().expect("something is kept");
        assert!(left > KEPT_FOR / 2 && left <= KEPT_FOR, "{left:?}");
        reserve.collected(1_000, true);
        assert_eq!((reserve.lately(), reserve.until_stale()), (0, None));
        reserve.collected(5, false);
        assert_eq!((reserve.forget(), reserve.forget()), (true, false));
    }
}
