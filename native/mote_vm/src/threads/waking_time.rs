//! The time that it takes to wake a thread: some microseconds on one host, and a hundred or more on another, whose cores sleep deeply
//! or belong to somebody else. Each thread measures it whenever one that goes on itself has called it.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Nanoseconds that are assumed at first, and the bounds of what is believed: a thread that the system has let wait for its core
/// proves little.
const AT_FIRST: u64 = 30_000;
const LEAST: u64 = 10_000;
const MOST: u64 = 200_000;
/// The latest waking counts for one part of so many.
const PARTS: u64 = 8;

/// Approximate nanoseconds. A hint: a waking that gets lost between two threads is no loss.
pub(crate) struct WakingTime(AtomicU64);

impl WakingTime {
    pub(crate) fn new() -> WakingTime {
        WakingTime(AtomicU64::new(AT_FIRST))
    }

    /// Returns how long the next waking will take, about.
    pub(crate) fn expected(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }

    /// Learns from one that took so long.
    pub(crate) fn took(&self, time: Duration) {
        let before = self.0.load(Relaxed);
        let latest = (time.as_nanos() as u64).clamp(LEAST, MOST);
        let expected = (before * (PARTS - 1) + latest) / PARTS;
        self.0.store(expected, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns what is expected after so many wakings that took so long, in microseconds.
    fn after(count: usize, micros: u64) -> u128 {
        let waking = WakingTime::new();
        (0..count).for_each(|_| waking.took(Duration::from_micros(micros)));
        waking.expected().as_micros()
    }

    #[test]
    fn what_is_expected_follows_what_was_measured() {
        assert_eq!(after(0, 0), 30);
        assert!(after(1, 100) < 40 && after(100, 100) >= 99);
        assert_eq!([after(100, 1), after(100, 1_000_000)], [10, 199]);
    }
}
