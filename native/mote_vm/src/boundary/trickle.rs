//! Decides how long a thread without other work leaves its inbox alone while messages from outside come one by one.
//!
//! A look into the inbox takes its cache lines away from the sender, which waits longer for their return than the rest of
//! sending takes. A thread that looks all the time finds one message each time, and sender and thread do nothing but pass
//! lines to and fro. So after a single message it waits a moment, and waits longer as long as several messages arrive
//! meanwhile. If the next one comes later, as when a process waits for the result of each, the thread does not wait at
//! all for some time.
use std::time::{Duration, Instant};

/// First wait, and longest wait: no answer may be late by more.
const FIRST: Duration = Duration::from_nanos(500);
const LONGEST: Duration = Duration::from_nanos(1_000);
/// Number of times that something must come before it tries again, when waiting was of no use.
const TRY_AGAIN: u32 = 32;

/// The time for which one thread leaves its inbox alone.
#[derive(Default)]
pub(crate) struct Trickle {
    moment: Duration,
    /// Instant until which the inbox is left alone.
    until: Option<Instant>,
    in_vain: u32,
}

impl Trickle {
    /// Notes that `messages` messages, whose senders do not wait, were taken out at once, and nothing else.
    pub(crate) fn took(&mut self, messages: usize) {
        self.moment = match (messages, self.moment) {
            (0, _) => Duration::ZERO,
            (1, Duration::ZERO) if self.in_vain > 0 => {
                self.in_vain -= 1;
                Duration::ZERO
            }
            (_, Duration::ZERO) => FIRST,
            (1, _) => {
                self.in_vain = TRY_AGAIN;
                Duration::ZERO
            }
            (_, moment) => (2 * moment).min(LONGEST),
        };
        self.until = (self.moment > Duration::ZERO).then(|| Instant::now() + self.moment);
    }

    /// Lets the moment pass, when there is nothing else to do.
    pub(crate) fn wait(&mut self) {
        if let Some(until) = self.until.take() {
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns how long it waits after each of the drains.
    fn moments(drains: impl IntoIterator<Item = usize>) -> Vec<Duration> {
        let mut trickle = Trickle::default();
        let moment = |messages| {
            trickle.took(messages);
            assert_eq!(trickle.until.is_some(), trickle.moment > Duration::ZERO);
            trickle.moment
        };
        drains.into_iter().map(moment).collect()
    }

    #[test]
    fn it_waits_for_longer_while_several_come_meanwhile_and_no_longer_than_that() {
        assert_eq!(moments([1, 2, 5, 9]), [FIRST, LONGEST, LONGEST, LONGEST]);
    }

    #[test]
    fn it_does_not_wait_where_that_is_of_no_use_until_it_tries_again() {
        let found = moments([1; TRY_AGAIN as usize + 3]);
        let (first, rest) = found.split_at(1);
        let (vain, again) = rest.split_at(TRY_AGAIN as usize + 1);
        assert_eq!((first, again), (&[FIRST][..], &[FIRST][..]));
        assert!(vain.iter().all(|moment| *moment == Duration::ZERO));
        // Several at once are of use before.
        assert_eq!(
            moments([1, 1, 1, 3]),
            [FIRST, Duration::ZERO, Duration::ZERO, FIRST]
        );
    }

    #[test]
    fn it_does_not_wait_beside_anything_else() {
        assert_eq!(
            moments([1, 4, 0, 1]),
            [FIRST, LONGEST, Duration::ZERO, FIRST]
        );
    }

    #[test]
    fn it_waits_once() {
        let mut trickle = Trickle::default();
        trickle.took(1);
        trickle.wait();
        assert!(trickle.until.is_none());
    }
}
