//! The cores that run awake dispatch threads, counted over all machines, so that no two threads share a core while another has
//! none.
//!
//! A waker bars the thread that it wakes from its own core (parker.rs). When a process wakes two threads in succession,
//! both are barred from the same core. On a computer with two cores they then share the other one until the system
//! notices, some milliseconds later. So a thread that has shared a core with another one for a moment moves to another
//! core. A thread also moves while another one was woken and does not come, since that one may be waiting for this very
//! core.
//!
//! Invariants:
//! 1. A thread that is awake is counted on one core at most, the one that it was seen on last; one that sleeps on none.
//! 2. Of those that share a core all but one may leave it, and one for each that does not come. A thread that leaves
//!    takes itself off before it goes, and only while others are counted there; or it takes off the one that it makes
//!    room for.
use crate::platform::cores::{self, Core};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Cores with higher numbers are not looked at.
const MOST_CORES: usize = 256;
/// Time for which a core is shared before one thread leaves, and for which that thread then stays where it goes. Leaving
/// takes some tens of microseconds, and the waker may need as much to find that it has nothing else to do.
const SHARED_AT_MOST: Duration = Duration::from_micros(100);
const REST: Duration = Duration::from_millis(5);

/// Awake threads of a core, on a cache line of its own.
#[repr(align(128))]
struct Count(AtomicU32);

/// All cores. The counts order nothing and are hints to others, so Relaxed does.
pub(crate) struct Cores {
    counts: [Count; MOST_CORES],
    /// Threads that were woken and have not come.
    coming: Count,
    usable: OnceLock<Vec<usize>>,
}

impl Cores {
    pub(crate) const fn new() -> Cores {
        Cores {
            counts: [const { Count(AtomicU32::new(0)) }; MOST_CORES],
            coming: Count(AtomicU32::new(0)),
            usable: OnceLock::new(),
        }
    }

    /// A thread was woken that may not run on its waker's core.
    pub(crate) fn is_coming(&self) {
        self.coming.0.fetch_add(1, Relaxed);
    }

    /// The thread runs. Another thread may have made room for it, and taken it off.
    pub(crate) fn has_come(&self) {
        take_one(&self.coming.0, 0);
    }

    fn awake(&self, core: Core) -> Option<&AtomicU32> {
        self.counts.get(core as usize).map(|count| &count.0)
    }

    #[cold]
    fn is_any_free(&self) -> bool {
        let usable = self.usable.get_or_init(cores::usable);
        let mut counts = usable.iter().filter_map(|core| self.counts.get(*core));
        counts.any(|count| count.0.load(Relaxed) == 0)
    }
}

/// The cores of this computer.
pub(crate) static CORES: Cores = Cores::new();

/// Takes one off if there are more than `most_left`. Returns whether it did.
fn take_one(count: &AtomicU32, most_left: u32) -> bool {
    let less = |n: u32| (n > most_left).then(|| n - 1);
    count.fetch_update(Relaxed, Relaxed, less).is_ok()
}

/// The place where a thread is counted.
pub(crate) struct CoreBalance {
    all: &'static Cores,
    core: Option<Core>,
    shared_since: Option<Instant>,
    rests_until: Option<Instant>,
}

impl Default for CoreBalance {
    fn default() -> CoreBalance {
        CoreBalance::among(&CORES)
    }
}

impl CoreBalance {
    pub(crate) fn among(all: &'static Cores) -> CoreBalance {
        CoreBalance {
            all,
            core: None,
            shared_since: None,
            rests_until: None,
        }
    }

    /// The thread is awake, and runs there now. Whether it should go to another core: then it is counted on none.
    pub(crate) fn seen(&mut self, core: Core, now: Instant) -> bool {
        if self.core != Some(core) {
            self.leave();
            let Some(awake) = self.all.awake(core) else {
                return false;
            };
            awake.fetch_add(1, Relaxed);
            self.core = Some(core);
        }
        if !self.is_shared(core) {
            self.shared_since = None;
            return false;
        }
        let since = *self.shared_since.get_or_insert(now);
        let rests = self.rests_until.is_some_and(|until| now < until);
        if rests || now - since < SHARED_AT_MOST {
            return false;
        }
        // Also where no thread can go anywhere: on many cores it takes a while to find that out.
        self.rests_until = Some(now + REST);
        self.all.is_any_free() && self.take_off(core)
    }

    #[inline(always)]
    fn is_shared(&self, core: Core) -> bool {
        self.all.awake(core).is_some_and(|n| n.load(Relaxed) > 1)
            || self.all.coming.0.load(Relaxed) > 0
    }

    /// Takes the thread off, unless the others have left meanwhile (invariant 2).
    #[cold]
    fn take_off(&mut self, core: Core) -> bool {
        let Some(awake) = self.all.awake(core) else {
            return false;
        };
        if !take_one(awake, 1) {
            if !take_one(&self.all.coming.0, 0) {
                return false;
            }
            awake.fetch_sub(1, Relaxed);
        }
        self.core = None;
        self.shared_since = None;
        true
    }

    /// The thread falls asleep or ends.
    pub(crate) fn leave(&mut self) {
        self.shared_since = None;
        if let Some(awake) = self.core.take().and_then(|core| self.all.awake(core)) {
            awake.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for CoreBalance {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
impl Cores {
    /// Creates cores other than those that the threads of this process run on.
    pub(crate) fn of_a_test() -> &'static Cores {
        Box::leak(Box::new(Cores::new()))
    }

    #[cfg(not(loom))]
    pub(crate) fn all_awake(&self) -> u32 {
        self.counts.iter().map(|count| count.0.load(Relaxed)).sum()
    }

    pub(crate) fn coming(&self) -> u32 {
        self.coming.0.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn spots<const N: usize>(usable: Vec<usize>) -> [CoreBalance; N] {
        let all = Cores::of_a_test();
        all.usable.set(usable).expect("not asked yet");
        [(); N].map(|()| CoreBalance::among(all))
    }

    #[test]
    fn of_two_that_share_a_core_for_a_moment_one_leaves() {
        let [mut a, mut b] = spots(vec![0, 1]);
        let start = Instant::now();
        for ago in [0, 50, 99] {
            let now = start + Duration::from_micros(ago);
            assert!(!a.seen(1, now) && !b.seen(1, now));
        }
        // The first one was alone at first.
        let now = start + SHARED_AT_MOST;
        assert!(!a.seen(1, now) && b.seen(1, now));
        // Now they are apart, and stay so.
        let later = now + 2 * REST;
        assert!(!b.seen(0, later) && !a.seen(1, later));
        assert!(!b.seen(0, later + SHARED_AT_MOST) && !a.seen(1, later + SHARED_AT_MOST));
    }

    #[test]
    fn nobody_leaves_where_no_core_is_free() {
        let [mut a, mut b, mut c] = spots(vec![0, 1]);
        let start = Instant::now();
        for now in [start, start + SHARED_AT_MOST, start + 2 * REST] {
            assert!(!a.seen(1, now) && !b.seen(1, now) && !c.seen(0, now));
        }
        // Until somebody sleeps there, or its thread has ended.
        c.leave();
        assert!(a.seen(1, start + 3 * REST));
        let now = start + 5 * REST;
        assert!(!a.seen(0, now) && !b.seen(0, now));
        drop(a);
        assert!(!b.seen(0, now + SHARED_AT_MOST));
    }

    #[test]
    fn who_has_left_in_vain_stays_for_a_while() {
        let [mut a, mut b] = spots(vec![0, 1]);
        let start = Instant::now();
        assert!(!a.seen(1, start) && !b.seen(1, start));
        assert!(b.seen(1, start + SHARED_AT_MOST));
        // The system has brought it back.
        assert!(!b.seen(1, start + SHARED_AT_MOST) && !b.seen(1, start + 3 * SHARED_AT_MOST));
        assert!(b.seen(1, start + SHARED_AT_MOST + REST));
    }

    #[test]
    fn one_makes_room_for_a_thread_that_does_not_come() {
        let [mut a, mut b, mut c] = spots(vec![0, 1, 2]);
        let start = Instant::now();
        assert!(!a.seen(1, start) && !b.seen(2, start));
        a.all.coming.0.store(1, Relaxed);
        assert!(!a.seen(1, start) && !b.seen(2, start));
        let now = start + SHARED_AT_MOST;
        assert!(a.seen(1, now) && !b.seen(2, now));
        // It comes where that one was.
        assert!(!c.seen(1, now) && !a.seen(0, now));
        let later = now + 2 * REST;
        assert!(!a.seen(0, later) && !b.seen(2, later) && !c.seen(1, later));
    }

    #[test]
    fn what_is_no_core_is_not_looked_at() {
        let [mut a, mut b] = spots(vec![0, 1]);
        let start = Instant::now();
        for now in [start, start + SHARED_AT_MOST] {
            assert!(!a.seen(Core::MAX, now) && !b.seen(Core::MAX, now));
        }
    }
}
