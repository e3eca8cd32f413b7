//! What one clock allows of timers: the order in which they fire.
//!
//! Nobody knows how long turns take, or how long a machine waits between two of them. So all that is known is at most how much
//! time each timer has left, and at most how much later than another it is due: bounds on differences of instants. An
//! order of firing is allowed if some instants keep all bounds.
//!
//! Invariants:
//! 1. Timers are in the order in which they were armed. Of two that are due at one instant the first fires first.
//! 2. The bounds are as narrow as follows from each other.

/// There is no bound.
const UNBOUND: i64 = i64::MAX;

/// The longest delay that is told from others.
const LONGEST_DELAY: u64 = 1 << 48;

/// See the head of this file.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct TimerBounds {
    /// The milliseconds that each has left at most: less than none is one that is late.
    left: Vec<i64>,
    /// Upper bounds on how much later one timer is due than another, row by row.
    later: Vec<i64>,
}

fn sum(a: i64, b: i64) -> i64 {
    match a == UNBOUND || b == UNBOUND {
        true => UNBOUND,
        false => a + b,
    }
}

impl TimerBounds {
    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn clear(&mut self) {
        self.left.clear();
        self.later.clear();
    }

    /// Becomes the same as another.
    pub(super) fn copy_from(&mut self, other: &TimerBounds) {
        self.left.clone_from(&other.left);
        self.later.clone_from(&other.later);
    }

    fn later(&self, a: usize, b: usize) -> i64 {
        self.later[a * self.len() + b]
    }

    /// Arms one more; one without a delay may fire at any time. The last ones, from `since` on, were armed by the same turn, so at the
    /// same instant.
    pub(super) fn arm(&mut self, delay: Option<u64>, since: usize) {
        let delay = delay.map_or(UNBOUND, |delay| delay.min(LONGEST_DELAY) as i64);
        let count = self.len();
        let difference = |a: i64, b: i64| match b == UNBOUND {
            true => UNBOUND,
            false => sum(a, -b),
        };
        let mut later = Vec::with_capacity((count + 1) * (count + 1));
        for a in 0..count {
            later.extend((0..count).map(|b| self.later(a, b)));
            later.push(difference(self.left[a], delay));
        }
        later.extend((0..count).map(|b| match b >= since {
            true => difference(delay, self.left[b]),
            false => UNBOUND,
        }));
        later.push(0);
        self.left.push(delay);
        self.later = later;
    }

    /// Returns whether that one can be the next that fires.
    pub(super) fn may_fire(&self, at: usize) -> bool {
        let waits = |other: usize| match other < at {
            true => self.later(other, at) > 0,
            false => self.later(other, at) >= 0,
        };
        (0..self.len()).all(|other| other == at || waits(other))
    }

    /// Tightens the bounds: that timer fires before all others.
    pub(super) fn fire(&mut self, at: usize) {
        let count = self.len();
        for b in 0..count {
            let bound = &mut self.later[at * count + b];
            *bound = (*bound).min(0);
        }
        self.left[at] = self.left[at].min(0);
        for a in 0..count {
            let to_it = self.later(a, at);
            self.left[a] = self.left[a].min(sum(to_it, self.left[at]));
            for b in 0..count {
                let through = sum(to_it, self.later(at, b));
                let bound = &mut self.later[a * count + b];
                *bound = (*bound).min(through);
            }
        }
        self.remove(at);
    }

    /// Removes a timer from the bounds.
    pub(super) fn remove(&mut self, at: usize) {
        let count = self.len();
        let mut place = 0;
        self.later.retain(|_| {
            let (a, b) = (place / count, place % count);
            place += 1;
            a != at && b != at
        });
        self.left.remove(at);
    }

    /// Shows all bounds, each as two numbers.
    pub(super) fn write(&self, mut put: impl FnMut(u32)) {
        for bound in self.left.iter().chain(&self.later) {
            // The sign comes last, and what has no bound is 0.
            let code = match *bound {
                UNBOUND => 0,
                bound => 1 + (bound.unsigned_abs() << 1 | u64::from(bound < 0)),
            };
            put(code as u32);
            put((code >> 32) as u32);
        }
    }

    /// Reads the bounds of so many timers.
    pub(super) fn read(&mut self, count: usize, mut take: impl FnMut() -> u32) {
        let mut bound = || {
            let code = u64::from(take()) | u64::from(take()) << 32;
            match code.checked_sub(1) {
                None => UNBOUND,
                Some(code) if code & 1 == 1 => -((code >> 1) as i64),
                Some(code) => (code >> 1) as i64,
            }
        };
        self.clear();
        self.left.extend((0..count).map(|_| bound()));
        self.later.extend((0..count * count).map(|_| bound()));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Timers of these delays, each armed by a turn of its own.
    fn armed(delays: &[u64]) -> TimerBounds {
        let mut bounds = TimerBounds::default();
        delays.iter().for_each(|delay| {
            let count = bounds.len();
            bounds.arm(Some(*delay), count)
        });
        bounds
    }

    fn may_fire(bounds: &TimerBounds) -> Vec<usize> {
        (0..bounds.len())
            .filter(|at| bounds.may_fire(*at))
            .collect()
    }

    #[test]
    fn what_is_armed_first_and_has_less_time_fires_first() {
        assert_eq!(may_fire(&armed(&[10, 10])), [0]);
        assert_eq!(may_fire(&armed(&[10, 11])), [0]);
        assert_eq!(may_fire(&armed(&[11, 10])), [0, 1]);
        // At the same instant.
        let mut bounds = TimerBounds::default();
        bounds.arm(Some(11), 0);
        bounds.arm(Some(10), 0);
        assert_eq!(may_fire(&bounds), [1]);
    }

    #[test]
    fn time_that_has_passed_for_one_has_passed_for_others() {
        // The second has fired, so the first has at most 50 left, and one of 60 comes later.
        let mut bounds = armed(&[150, 100]);
        bounds.fire(1);
        let since = bounds.len();
        bounds.arm(Some(60), since);
        assert_eq!(may_fire(&bounds), [0]);
        // One of 40 may come first.
        let mut bounds = armed(&[150, 100]);
        bounds.fire(1);
        let since = bounds.len();
        bounds.arm(Some(40), since);
        assert_eq!(may_fire(&bounds), [0, 1]);
        // Not twice: both times may have been the same.
        let mut bounds = armed(&[150, 100, 100]);
        bounds.fire(1);
        bounds.fire(1);
        let since = bounds.len();
        bounds.arm(Some(40), since);
        assert_eq!(may_fire(&bounds), [0, 1]);
    }

    #[test]
    fn what_is_armed_again_and_again_lets_others_come() {
        let mut bounds = armed(&[3]);
        let mut fired = 0;
        loop {
            let since = bounds.len();
            bounds.arm(Some(1), since);
            if !bounds.may_fire(1) {
                break;
            }
            bounds.fire(1);
            fired += 1;
        }
        assert_eq!(fired, 2);
    }

    #[test]
    fn what_has_no_time_bounds_nobody() {
        let mut bounds = armed(&[10]);
        bounds.arm(None, 1);
        bounds.arm(Some(5), 1);
        assert_eq!(may_fire(&bounds), [0, 1, 2]);
        bounds.fire(1);
        assert_eq!(bounds, armed(&[10, 5]));
    }

    #[test]
    fn what_was_written_is_read() {
        let mut bounds = armed(&[150, 1 << 47, 3]);
        bounds.fire(2);
        let (mut written, mut read) = (Vec::new(), TimerBounds::default());
        bounds.write(|number| written.push(number));
        let mut numbers = written.iter().copied();
        read.read(2, || numbers.next().unwrap());
        assert_eq!((numbers.next(), read), (None, bounds));
    }
}
