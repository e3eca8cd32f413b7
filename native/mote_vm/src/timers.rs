//! A thread's armed timers.
use crate::value::Value;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// A message that waits for its time.
pub(crate) struct Timer {
    due: Instant,
    /// Timers due at the same instant fire in the order in which they were armed.
    number: u64,
    pub(crate) target: Value,
    pub(crate) message: Value,
}

/// The timers, earliest first.
#[derive(Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<Timer>>);

impl Timers {
    pub(crate) fn arm(&mut self, due: Instant, number: u64, target: Value, message: Value) {
        self.0.push(Reverse(Timer {
            due,
            number,
            target,
            message,
        }));
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse(timer)| timer.due)
    }

    /// The next timer that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        if self.next_due()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(timer)| timer)
    }

    /// Takes over the timers of a thread that ends.
    pub(crate) fn adopt(&mut self, mut others: Timers) {
        self.0.append(&mut others.0);
    }

    /// Shows every target and message.
    pub(crate) fn each(&self, mut show: impl FnMut(Value)) {
        for Reverse(timer) in &self.0 {
            show(timer.target);
            show(timer.message);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timer {
    fn eq(&self, other: &Timer) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timer {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timers_fire_in_order_of_their_time_then_of_arming() {
        let mut timers = Timers::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        for (number, ms) in [(1, 20), (2, 10), (3, 20), (4, 30)] {
            timers.arm(at(ms), number, Value::NIL, Value::fixnum(number as i64));
        }
        assert_eq!(timers.next_due(), Some(at(10)));
        let mut fired = Vec::new();
        while let Some(timer) = timers.pop_due(at(20)) {
            fired.push(timer.message.fixnum_value());
        }
        assert_eq!(fired, [2, 1, 3]);
        assert_eq!(timers.len(), 1);
    }
}
