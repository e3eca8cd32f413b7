//! Decides whether the threads of a sponsor share their work. Each sponsor learns it from the results of sharing.
//!
//! Shared work runs in parallel with the rest. But actors that talk with actors of another thread talk through lists and inboxes,
//! and each event that is forwarded costs the two threads some 75 ns together. Where neighbours talk more than they compute, two
//! threads take longer than one for the same turns, and each of them all of a core. So do threads that wait for each other, as
//! they do where other programs want their cores. It cannot be known in advance which actors talk with which. So now and then a
//! thread of the sponsor looks at what all of them have done since: the time of turns, the number of events forwarded, and the idle
//! time. Idle time is time awake without a turn: while fewer turns ran than one thread would have run, or beside a thread that had
//! some, for longer than turns ran beside each other. If forwarding and idle time together take much more than a quarter of the
//! turns' time, sharing pauses: no thread gives work to a sibling or wakes one for work, and the siblings give all that they have to
//! the lead (sharing.rs). When they have nothing left, they sleep, and the lead takes over their other actors as events come for them.
//!
//! Programs have phases. So after a pause the threads share again. If that loses as well, the next pause is four times as
//! long, so that trials cost little. If it goes well for as long as that pause would be, pauses are short again. When
//! turns take several times as long as those that lost, or one holds up all others, another phase has begun: the pause
//! ends at once.
//!
//! Invariants:
//! 1. All of this is a hint: nothing but speed depends on it, and what one thread has just learnt another may not know yet.
//! 2. Only the time since the last change between sharing and pausing is judged: a trial is not blamed for what came before.
//! 3. A pause ends by itself: at the next look of any thread that runs turns, after [`LONGEST`] at most.
//! 4. A look costs a thread that need not look one load of a word that is seldom written.
use crate::base::sync::{AtomicBool, AtomicU64, Relaxed};
use parking_lot::Mutex;

/// Nanoseconds between two looks.
const BETWEEN: u64 = 100_000;
/// Cost of a forwarded event for both threads together, in nanoseconds.
const FORWARDING: u64 = 75;
/// The part of the turns' time that forwarding and waiting may take, and by how many nanoseconds they may exceed that, for a
/// while: many actors that report to one are such a while. It may be longer after turns have run beside each other: how many
/// nanoseconds of these are remembered at most.
const FAIR: u64 = 4;
const LOSS: i64 = 1_000_000;
const SAVED: i64 = 4_000_000;
/// The most nanoseconds of waiting that count in one look: a collection, or a thread that the system has taken off its core
/// once, proves little.
const WAITING: u64 = 250_000;
/// Nanoseconds of pauses, and how many times as long the next one is.
const SHORTEST: u64 = 4_000_000;
const LONGEST: u64 = 256_000_000;
const LONGER: u64 = 4;
/// Turns that take this many times as long as those that lost are of another phase.
const OTHER: u64 = 4;

/// Work done by the threads of a sponsor.
#[derive(Clone, Copy, Default)]
pub(crate) struct WorkDone {
    pub(crate) turns: u64,
    /// Nanoseconds awake.
    pub(crate) awake: u64,
    /// Nanoseconds of turns.
    pub(crate) worked: u64,
    /// Events forwarded.
    pub(crate) forwarded: u64,
    /// Shares given.
    pub(crate) shares: u64,
}

/// The lessons of a sponsor.
pub(crate) struct WorthSharing {
    /// Time of the next look, in nanoseconds since the sponsor began.
    next: AtomicU64,
    pauses: AtomicBool,
    history: Mutex<SharingHistory>,
}

/// The results of sharing in one sponsor, and the length of its pauses.
struct SharingHistory {
    threads: u64,
    /// Work that had been done at the last look, and the time of that look.
    before: WorkDone,
    looked: u64,
    /// Nanoseconds by which forwarding and waiting have exceeded their part since the last change. Negative after turns have
    /// run beside each other.
    lost: i64,
    /// Work done in the look that found the loss.
    losing: WorkDone,
    /// Time when the current pause began; time when work was first shared after the last pause.
    paused: Option<u64>,
    shared: Option<u64>,
    /// Length of the current pause, or of the next one.
    pause: u64,
}

impl WorthSharing {
    /// Creates the record for a sponsor with `threads` threads.
    pub(crate) fn new(threads: usize) -> WorthSharing {
        WorthSharing {
            next: AtomicU64::new(0),
            pauses: AtomicBool::new(false),
            history: Mutex::new(SharingHistory::new(threads)),
        }
    }

    /// Returns whether sharing pauses.
    #[inline(always)]
    pub(crate) fn pauses(&self) -> bool {
        // Relaxed, as all here: invariant 1.
        self.pauses.load(Relaxed)
    }

    /// Returns whether it is time to look.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now >= self.next.load(Relaxed)
    }

    /// Looks at what was `done` until `now`. Returns whether sharing pauses from now on, and did not before.
    pub(crate) fn look(&self, now: u64, done: impl FnOnce() -> WorkDone) -> bool {
        let Some(mut history) = self.history.try_lock() else {
            return false;
        };
        self.next.store(now + BETWEEN, Relaxed);
        let paused = history.paused.is_some();
        history.learn(now, done());
        let pauses = history.paused.is_some();
        self.pauses.store(pauses, Relaxed);
        pauses && !paused
    }

    /// Ends a pause before its time. Returns whether there is none now.
    #[cold]
    pub(crate) fn resume(&self) -> bool {
        let Some(mut history) = self.history.try_lock() else {
            return false;
        };
        history.paused = None;
        self.pauses.store(false, Relaxed);
        true
    }
}

impl SharingHistory {
    fn new(threads: usize) -> SharingHistory {
        SharingHistory {
            // One alone never shares.
            threads: threads.max(2) as u64,
            before: WorkDone::default(),
            looked: 0,
            lost: 0,
            losing: WorkDone::default(),
            paused: None,
            shared: None,
            pause: SHORTEST,
        }
    }

    fn learn(&mut self, now: u64, done: WorkDone) {
        let new = done.since(&self.before);
        self.before = done;
        // A thread that has looked at its clock earlier may come here later.
        let passed = now.saturating_sub(self.looked);
        self.looked = now.max(self.looked);
        let beside = new.worked.saturating_sub(passed);
        if let Some(paused) = self.paused {
            if new.takes(OTHER, &self.losing) {
                self.paused = None;
            } else if now >= paused + self.pause {
                self.pause = (LONGER * self.pause).min(LONGEST);
                self.paused = None;
            }
            return;
        }
        if new.shares > 0 {
            self.shared.get_or_insert(now);
        }
        // One thread would have worked all the time: where none did, those that were awake waited for each other. What was
        // saved meanwhile makes up for a thread that only looked on.
        let none_worked = passed.saturating_sub(new.worked);
        let waiting = none_worked.min(new.awake.saturating_sub(passed) / (self.threads - 1));
        let at_work = new.worked + self.threads * none_worked + beside;
        let idle = new.awake.saturating_sub(at_work);
        let cost = FORWARDING * new.forwarded + (waiting + idle).min(WAITING);
        let excess = cost as i64 - (new.worked / FAIR) as i64;
        let least = (self.lost.min(0) - beside as i64).max(-SAVED);
        self.lost = (self.lost + excess).max(least);
        if self.lost >= LOSS {
            (self.paused, self.shared, self.lost) = (Some(now), None, 0);
            self.losing = new;
        } else if self.shared.is_some_and(|shared| now >= shared + self.pause) {
            self.pause = SHORTEST;
        }
    }
}

impl WorkDone {
    /// Returns the sum of both.
    pub(crate) fn and(&self, other: &WorkDone) -> WorkDone {
        WorkDone {
            turns: self.turns + other.turns,
            awake: self.awake + other.awake,
            worked: self.worked + other.worked,
            forwarded: self.forwarded + other.forwarded,
            shares: self.shares + other.shares,
        }
    }

    /// Returns whether its turns took more than `times` times as long.
    fn takes(&self, times: u64, other: &WorkDone) -> bool {
        self.worked * other.turns.max(1) > times * other.worked * self.turns
    }

    /// Counters are read one by one while others write them: not less than nothing.
    fn since(&self, before: &WorkDone) -> WorkDone {
        WorkDone {
            turns: self.turns.saturating_sub(before.turns),
            awake: self.awake.saturating_sub(before.awake),
            worked: self.worked.saturating_sub(before.worked),
            forwarded: self.forwarded.saturating_sub(before.forwarded),
            shares: self.shares.saturating_sub(before.shares),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A sponsor whose threads are looked at again and again.
    struct Looked {
        history: SharingHistory,
        now: u64,
        done: WorkDone,
    }

    impl Looked {
        fn new() -> Looked {
            Looked {
                history: SharingHistory::new(2),
                now: 0,
                done: WorkDone::default(),
            }
        }

        /// Looks `looks` times. Between two looks two threads had turns all the time, or one if sharing paused. While they
        /// shared, an event was forwarded every `each` nanoseconds of turns. Returns how many of the looks found that it
        /// paused.
        fn looks(&mut self, looks: u64, each: u64) -> u64 {
            let mut paused = 0;
            for _ in 0..looks {
                let shares = self.history.paused.is_none();
                let worked = BETWEEN * (1 + shares as u64);
                self.now += BETWEEN;
                self.done = self.done.and(&WorkDone {
                    turns: worked / 30,
                    awake: worked,
                    worked,
                    forwarded: if shares { worked / each } else { 0 },
                    shares: shares as u64,
                });
                self.history.learn(self.now, self.done);
                paused += self.history.paused.is_some() as u64;
            }
            paused
        }

        /// The looks until sharing pauses, or no longer does.
        fn until(&mut self, pauses: bool, each: u64) -> u64 {
            (1..)
                .find(|_| self.looks(1, each) == pauses as u64)
                .unwrap()
        }
    }

    /// Nanoseconds of turns for each event that is forwarded: just not too often, and much too often.
    const SELDOM: u64 = FAIR * FORWARDING;
    const OFTEN: u64 = FORWARDING;
    /// The loss of two threads between two looks if they forward that often: the turns' time, minus the fair part of it.
    const LOST: u64 = 2 * BETWEEN * (FAIR - 1) / FAIR;

    #[test]
    fn what_forwards_no_more_than_its_part_is_shared() {
        assert_eq!(Looked::new().looks(10_000, SELDOM), 0);
    }

    #[test]
    fn what_forwards_more_is_soon_not_shared() {
        let looks = Looked::new().until(true, OFTEN);
        assert_eq!(looks, (LOSS as u64).div_ceil(LOST));
    }

    #[test]
    fn a_short_while_of_much_forwarding_is_forgiven() {
        let mut looked = Looked::new();
        for _ in 0..100 {
            assert_eq!(looked.looks(5, OFTEN) + looked.looks(20, 10 * SELDOM), 0);
        }
    }

    #[test]
    fn pauses_get_longer_until_there_are_hardly_any_trials() {
        let mut looked = Looked::new();
        let mut pause = || {
            looked.until(true, OFTEN);
            looked.until(false, OFTEN) * BETWEEN
        };
        let pauses: Vec<u64> = (0..5).map(|_| pause()).collect();
        let longer = [1, 4, 16, 64, 64].map(|times| times * SHORTEST);
        assert_eq!(pauses, longer);
        assert_eq!(pauses[4], LONGEST);
        // Of the time, less than a hundredth is trials.
        assert!(looked.looks(10_000, OFTEN) > 9_900);
    }

    #[test]
    fn a_program_with_phases_is_shared_again_and_its_pauses_are_short_again() {
        let mut looked = Looked::new();
        looked.looks(10_000, OFTEN);
        if looked.history.paused.is_some() {
            let pause = looked.until(false, SELDOM) * BETWEEN;
            assert!(pause <= LONGEST);
        }
        assert_eq!(looked.looks(LONGEST / BETWEEN + 1, SELDOM), 0);
        looked.until(true, OFTEN);
        assert_eq!(looked.until(false, OFTEN) * BETWEEN, SHORTEST);
    }

    /// Returns the number of looks until sharing pauses, if it does. Between two looks threads were awake for `awake`
    /// hundredths of the time, and ran turns for `worked`.
    fn pauses_after(awake: u64, worked: u64) -> Option<u64> {
        let mut looked = Looked::new();
        (1..=1_000).find(|_| {
            looked.now += BETWEEN;
            looked.done.awake += BETWEEN / 100 * awake;
            looked.done.worked += BETWEEN / 100 * worked;
            looked.history.learn(looked.now, looked.done);
            looked.history.paused.is_some()
        })
    }

    #[test]
    fn threads_that_run_less_than_one_would_are_soon_alone() {
        // One of them all the time, or for three quarters of it.
        assert_eq!(pauses_after(100, 100), None);
        assert_eq!(pauses_after(100, 75), None);
        assert!(pauses_after(200, 50).is_some_and(|looks| looks < 20));
    }

    #[test]
    fn a_thread_that_looks_on_while_another_works_sleeps_unless_it_saves_as_much() {
        assert!(pauses_after(200, 100).is_some_and(|looks| looks < 20));
        assert!(pauses_after(200, 130).is_some());
        assert_eq!(pauses_after(200, 140), None);
        // One, while something else is waited for.
        assert_eq!(pauses_after(100, 10), None);
    }

    #[test]
    fn after_turns_beside_each_other_more_is_forgiven_but_not_for_ever() {
        let mut fresh = Looked::new();
        let mut looked = Looked::new();
        looked.looks(10_000, 10 * SELDOM);
        let (saved, none) = (looked.until(true, OFTEN), fresh.until(true, OFTEN));
        let more = (SAVED as u64).div_ceil(LOST);
        assert!((none + more - 1..=none + more + 1).contains(&saved));
    }

    #[test]
    fn one_hiccup_does_not_count() {
        let mut looked = Looked::new();
        looked.done.awake = 1_000 * LONGEST;
        looked.history.learn(looked.now, looked.done);
        assert_eq!(looked.history.lost, WAITING as i64);
    }

    #[test]
    fn a_phase_of_longer_turns_ends_a_pause() {
        let mut looked = Looked::new();
        looked.until(true, OFTEN);
        let mut turns_of = |nanoseconds: u64| {
            looked.now += BETWEEN;
            looked.done.turns += BETWEEN / nanoseconds;
            looked.done.worked += BETWEEN;
            looked.history.learn(looked.now, looked.done);
            looked.history.paused.is_some()
        };
        assert!(turns_of(30 * OTHER - 10));
        assert!(!turns_of(30 * OTHER + 10));
    }

    #[test]
    fn one_trial_that_shares_nothing_proves_nothing() {
        let mut looked = Looked::new();
        looked.until(true, OFTEN);
        looked.until(false, OFTEN);
        // One thread alone.
        for _ in 0..10_000 {
            looked.now += BETWEEN;
            looked.done.turns += BETWEEN / 30;
            looked.done.worked += BETWEEN;
            looked.history.learn(looked.now, looked.done);
        }
        looked.until(true, OFTEN);
        assert_eq!(looked.until(false, OFTEN) * BETWEEN, LONGER * SHORTEST);
    }

    #[test]
    fn who_looks_says_when_it_is_time_again_and_whether_a_pause_begins() {
        let worth = WorthSharing::new(2);
        assert!(worth.is_due(0) && !worth.pauses());
        let lost = WorkDone {
            forwarded: LOSS as u64 / FORWARDING + 1,
            ..WorkDone::default()
        };
        assert!(worth.look(0, || lost) && worth.pauses());
        assert!(!worth.is_due(BETWEEN - 1) && worth.is_due(BETWEEN));
        assert!(!worth.look(BETWEEN, || lost) && worth.pauses());
        assert!(!worth.look(SHORTEST, || lost) && !worth.pauses());
        let more = lost.and(&lost);
        assert!(worth.look(2 * SHORTEST, || more) && worth.resume() && !worth.pauses());
    }

    #[test]
    fn a_clock_of_before_is_no_time() {
        let mut history = SharingHistory::new(2);
        history.learn(2 * BETWEEN, WorkDone::default());
        history.learn(BETWEEN, WorkDone::default());
        assert_eq!(history.looked, 2 * BETWEEN);
    }
}
