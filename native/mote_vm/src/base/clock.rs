//! A machine's time: counted from its start, by the system's clock or moved by hand. Timers count it in milliseconds, behaviours
//! in nanoseconds.
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::time::{Duration, Instant};

/// The kind of clock that a machine's time comes from.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum ClockKind {
    /// The system's monotonic clock.
    #[default]
    System,
    /// It stands still until somebody moves it.
    Manual,
}

/// The source of a machine's time.
pub(crate) enum Clock {
    System(SystemTime),
    Manual(ManualTime),
}

/// The time of the system's clock.
pub(crate) struct SystemTime {
    start: Instant,
    /// Milliseconds that had passed before, in another machine.
    before: AtomicU64,
    /// The millisecond that it shows until it is held at another one; the greatest number while it is not held.
    held: AtomicU64,
}

/// No clock is held there.
const NOT_HELD: u64 = u64::MAX;

impl SystemTime {
    fn passed(&self) -> Duration {
        // Relaxed: written before anything runs (`go_on_from`).
        self.start.elapsed() + Duration::from_millis(self.before.load(Relaxed))
    }

    fn held(&self) -> Option<u64> {
        // Relaxed: the thread that holds it is the one that runs the turns.
        Some(self.held.load(Relaxed)).filter(|held| *held != NOT_HELD)
    }

    fn elapsed(&self) -> Duration {
        self.held()
            .map_or_else(|| self.passed(), Duration::from_millis)
    }
}

/// The time of a clock that is moved by hand.
#[derive(Default)]
pub(crate) struct ManualTime {
    now: AtomicU64,
    /// The moment that somebody waits for. Until then the machine's threads may move the clock themselves.
    goal: AtomicU64,
    /// Number of times they may, before somebody says again that it waits: the one that waited may have died.
    steps: AtomicU64,
    /// True if a behaviour has asked for the time since somebody last looked.
    asked: AtomicBool,
}

/// The most steps of a machine's own between two from outside: some milliseconds of them, which hide what these cost.
const STEPS: u64 = 10_000;

impl Clock {
    /// The last nanosecond: the greatest fixnum.
    pub(crate) const LAST: i64 = (1 << 62) - 1;

    pub(crate) fn new(kind: ClockKind) -> Clock {
        match kind {
            ClockKind::System => Clock::System(SystemTime {
                start: Instant::now(),
                before: AtomicU64::new(0),
                held: AtomicU64::new(NOT_HELD),
            }),
            ClockKind::Manual => Clock::Manual(ManualTime::default()),
        }
    }

    /// Goes on from that instant of another machine's time. Before anything has asked for the time.
    pub(crate) fn go_on_from(&self, instant: u64) {
        match self {
            Clock::System(time) => time.before.store(instant, Relaxed),
            Clock::Manual(_) => {
                self.set(instant);
            }
        }
    }

    /// Whole milliseconds that have passed, whatever moment it is held at.
    pub(crate) fn passed(&self) -> u64 {
        match self {
            Clock::System(start) => start.passed().as_millis() as u64,
            Clock::Manual(_) => self.now(),
        }
    }

    /// Holds it at that millisecond, until it is held at another one: it shows no other time meanwhile. A manual clock stands still
    /// anyway.
    pub(crate) fn hold(&self, instant: u64) {
        if let Clock::System(time) = self {
            // Relaxed: see `held`.
            time.held.store(instant, Relaxed);
        }
    }

    /// Whole milliseconds that have passed, as far as it shows them.
    pub(crate) fn now(&self) -> u64 {
        match self {
            Clock::System(start) => start.elapsed().as_millis() as u64,
            // SeqCst: whoever moves it looks for what is due then, whoever arms looks at it first.
            Clock::Manual(time) => time.now.load(SeqCst),
        }
    }

    /// Nanoseconds that have passed, or the largest fixnum. With a manual clock, the time between two of its moments counts as
    /// the earlier one.
    pub(crate) fn nanoseconds(&self) -> i64 {
        let passed = match self {
            Clock::System(start) => start.elapsed().as_nanos(),
            Clock::Manual(time) => {
                // Relaxed: the thread that looks is the one that runs the turns.
                time.asked.store(true, Relaxed);
                u128::from(self.now()) * 1_000_000
            }
        };
        passed.min(Clock::LAST as u128) as i64
    }

    /// The first millisecond that begins when `delay` have passed from now on: never too early.
    pub(crate) fn after(&self, delay: u64) -> u64 {
        let now = match self {
            Clock::System(start) if delay > 0 => match start.held() {
                // It may have passed almost all of that millisecond.
                Some(held) => u128::from(held) + 1,
                None => start.passed().as_nanos().div_ceil(1_000_000),
            },
            _ => self.now().into(),
        };
        (now as u64).saturating_add(delay)
    }

    /// Whole milliseconds until then, nothing when it is over: of an instant that `after` has given, never more than its
    /// delay.
    pub(crate) fn left(&self, instant: u64) -> u64 {
        let passed = match self {
            Clock::System(start) => start.elapsed().as_nanos().div_ceil(1_000_000) as u64,
            Clock::Manual(_) => self.now(),
        };
        instant.saturating_sub(passed)
    }

    /// Returns the time left until `instant`; `None` when time does not pass by itself.
    pub(crate) fn until(&self, instant: u64) -> Option<Duration> {
        match self {
            Clock::System(start) => {
                Some(Duration::from_millis(instant).saturating_sub(start.passed()))
            }
            Clock::Manual(_) => None,
        }
    }

    /// Returns whether a behaviour has asked for the time of a clock that is moved by hand since this was last called.
    pub(crate) fn was_asked(&self) -> bool {
        match self {
            Clock::System(_) => false,
            // Relaxed: see `nanoseconds`.
            Clock::Manual(time) => time.asked.swap(false, Relaxed),
        }
    }

    /// Returns whether time passes without anybody's doing.
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Clock::System(_))
    }

    /// Moves it on; `false` when it is not to be moved by hand. It never goes back.
    pub(crate) fn set(&self, instant: u64) -> bool {
        match self {
            Clock::System(_) => false,
            Clock::Manual(time) => {
                time.now.fetch_max(instant, SeqCst);
                true
            }
        }
    }

    /// Returns whether it moves only by hand.
    pub(crate) fn is_manual(&self) -> bool {
        matches!(self, Clock::Manual(_))
    }

    /// Sets how far a caller that moves the clock by hand wants to get.
    pub(crate) fn aim(&self, instant: u64) {
        if let Clock::Manual(time) = self {
            // SeqCst, both: as `now`, which the goal is compared with.
            time.steps.store(STEPS, SeqCst);
            time.goal.store(instant, SeqCst);
        }
    }

    /// The moment that somebody waits for, while the clock has not got there and threads may move it.
    pub(crate) fn goal(&self) -> Option<u64> {
        match self {
            Clock::System(_) => None,
            Clock::Manual(time) => {
                // SeqCst, both: see `aim`.
                let goal = time.goal.load(SeqCst);
                (goal > self.now() && time.steps.load(SeqCst) > 0).then_some(goal)
            }
        }
    }

    /// A thread is about to move the clock itself, as `goal` allows; only one does at a time.
    pub(crate) fn take_step(&self) {
        if let Clock::Manual(time) = self {
            // SeqCst: see `aim`. Saturating: somebody may have begun anew, with a goal that has been reached.
            let left = time.steps.load(SeqCst).saturating_sub(1);
            time.steps.store(left, SeqCst);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_clock_is_never_early() {
        let clock = Clock::new(ClockKind::System);
        let before = Instant::now();
        let due = clock.after(3);
        while clock.now() < due {
            std::thread::sleep(clock.until(due).unwrap());
        }
        assert!(before.elapsed() >= Duration::from_millis(3));
        assert!(!clock.set(1_000_000) && clock.now() < 1_000_000);
    }

    #[test]
    fn a_clock_that_is_held_shows_one_moment_and_is_never_early() {
        let clock = Clock::new(ClockKind::System);
        clock.go_on_from(1_000);
        clock.hold(1_005);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!((clock.now(), clock.nanoseconds()), (1_005, 1_005_000_000));
        assert_eq!(
            (clock.after(0), clock.after(10), clock.left(1_010)),
            (1_005, 1_016, 5)
        );
        assert!(clock.passed() >= 1_002 && clock.until(1_000) == Some(Duration::ZERO));
        clock.hold(1_006);
        assert_eq!(clock.now(), 1_006);
    }

    #[test]
    fn what_is_left_is_never_more_than_the_delay() {
        let clock = Clock::new(ClockKind::System);
        for _ in 0..100 {
            let due = clock.after(50);
            let left = clock.left(due);
            assert!(left <= 50, "{left}");
            assert!(left > 0 || clock.now() >= due);
            std::thread::sleep(Duration::from_micros(100));
        }
        assert_eq!(clock.left(0), 0);
        let manual = Clock::new(ClockKind::Manual);
        assert_eq!(manual.left(manual.after(50)), 50);
        assert!(manual.set(20));
        assert_eq!((manual.left(50), manual.left(10)), (30, 0));
    }

    #[test]
    fn a_manual_clock_stands_still_and_never_goes_back() {
        let clock = Clock::new(ClockKind::Manual);
        assert_eq!((clock.now(), clock.after(5)), (0, 5));
        assert!(!clock.passes() && clock.set(7) && clock.set(3));
        assert_eq!((clock.now(), clock.until(9)), (7, None));
        assert_eq!(clock.after(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_goal_is_one_until_the_clock_is_there() {
        let clock = Clock::new(ClockKind::Manual);
        assert_eq!(clock.goal(), None);
        clock.aim(7);
        assert!(clock.set(6) && clock.goal() == Some(7));
        assert!(clock.set(7) && clock.goal().is_none());
        clock.aim(u64::MAX);
        (1..STEPS).for_each(|_| clock.take_step());
        assert_eq!(clock.goal(), Some(u64::MAX));
        clock.take_step();
        clock.take_step();
        assert_eq!(clock.goal(), None);
        clock.aim(8);
        assert_eq!(clock.goal(), Some(8));
        let system = Clock::new(ClockKind::System);
        system.aim(u64::MAX);
        assert_eq!(system.goal(), None);
    }

    #[test]
    fn nanoseconds_are_those_of_the_milliseconds() {
        let clock = Clock::new(ClockKind::System);
        let (early, late) = (clock.nanoseconds(), clock.nanoseconds());
        assert!(0 <= early && early <= late);
        std::thread::sleep(Duration::from_millis(2));
        let passed = clock.nanoseconds() - late;
        assert!(passed >= 2_000_000);
        let now = clock.now();
        assert!(clock.nanoseconds() >= now as i64 * 1_000_000);

        let manual = Clock::new(ClockKind::Manual);
        assert_eq!(manual.nanoseconds(), 0);
        manual.set(7);
        assert_eq!(manual.nanoseconds(), 7_000_000);
        manual.set(u64::MAX);
        assert_eq!(manual.nanoseconds(), Clock::LAST);
    }
}
