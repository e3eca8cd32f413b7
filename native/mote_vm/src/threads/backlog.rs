//! Estimates how long a thread's queue will take, which decides whether sharing pays.
//!
//! Turns cost units (a small turn is one, fuel counts extra) and batches take time, so a unit has a price. A price that is high
//! only because the system interrupted the thread must not wake a thread: the lower of the last two counts.
//!
//! Work that follows from an event counts as well. Moving an event with its actor, and sending back the results, costs
//! many times as much as a small turn. So small turns count only in two cases. First, the queue grows: each event may be
//! the root of a tree, and a queue that has grown for long is expected to grow for longer. Second, the queue has kept its
//! length for long: each event is part of a chain. A queue that shrinks, or has only just stopped growing, is nearly
//! done.

/// A turn of this many units ends its batch and stands for those that wait: one long turn is rarely alone.
pub(crate) const LONG: u64 = 128;
/// Picoseconds of a turn that is worth moving for its own sake.
const WORTH_MOVING: u64 = 300_000;
/// Consecutive units of small turns after which long turns are no longer expected.
const SMALL_ONES: u64 = 512;
/// A growing queue is expected to take this many times as long as it has been growing.
const AS_LONG_AGAIN: u64 = 2;
/// Times that a queue has been run over, without ever being empty, when it goes round.
const ROUNDS: u64 = 4;

/// The estimate of one thread.
pub(crate) struct Backlog {
    /// Picoseconds per unit in the batch of small turns before, and in the one with a long turn before: fuel is spent at
    /// another pace than small turns are run.
    small: u64,
    long: u64,
    /// Nanoseconds of a long turn; 0 while turns are small.
    long_turn: u64,
    /// Turns since the queue last grew or shrank; and since it was last empty.
    steady: u64,
    turns: u64,
    /// Nanoseconds of turns since the queue was last empty.
    busy: u64,
    /// Nanoseconds of turns since the thread began, and how many those were when they were last asked for.
    worked: u64,
    asked: u64,
}

/// The cost of a batch of turns.
#[derive(Default)]
pub(crate) struct TurnBatch {
    pub(crate) turns: u64,
    pub(crate) units: u64,
    /// Units of the last turn.
    pub(crate) last: u64,
    /// Events queued before it.
    pub(crate) queued: usize,
}

impl TurnBatch {
    /// Creates a batch that begins with `queued` events in the queue.
    pub(crate) fn of(queued: usize) -> TurnBatch {
        TurnBatch {
            queued,
            ..TurnBatch::default()
        }
    }

    /// Takes up what ran after a moment of time that has passed in it, which counts as a small turn.
    pub(crate) fn go_on(&mut self, after: TurnBatch) {
        self.turns += after.turns;
        self.units += 1 + after.units;
        self.last = after.last;
        self.queued = after.queued;
    }

    /// Returns how much the queue has grown to this length, in quarters of an event per turn.
    pub(crate) fn growth(&self, queued: usize) -> i64 {
        (queued as i64 - self.queued as i64) * 4 / self.turns.max(1) as i64
    }
}

impl Backlog {
    pub(crate) fn new() -> Backlog {
        Backlog {
            small: u64::MAX,
            long: u64::MAX,
            long_turn: 0,
            steady: 0,
            turns: 0,
            busy: 0,
            worked: 0,
            asked: 0,
        }
    }

    /// Nanoseconds of turns that were run since this was last asked.
    pub(crate) fn take_worked(&mut self) -> u64 {
        let before = std::mem::replace(&mut self.asked, self.worked);
        self.worked - before
    }

    /// Nanoseconds of turns so far.
    pub(crate) fn worked(&self) -> u64 {
        self.worked
    }

    /// Approximate nanoseconds that a long turn takes; 0 while turns are small.
    pub(crate) fn long_turn(&self) -> u64 {
        self.long_turn
    }

    /// Returns whether the same actors have events queued again and again. Neighbours in such a queue talk to each other.
    pub(crate) fn goes_round(&self, queued: usize) -> bool {
        self.turns >= ROUNDS * queued as u64
    }

    /// Nanoseconds of work that waits, as far as it is worth sharing: `queued` events and what may follow from them,
    /// after a batch that took `nanoseconds`.
    pub(crate) fn after(&mut self, batch: &TurnBatch, nanoseconds: u64, queued: usize) -> u64 {
        if batch.turns == 0 {
            return 0;
        }
        let price = nanoseconds.saturating_mul(1000) / batch.units.max(1);
        let is_long = batch.last >= LONG;
        let before = match is_long {
            true => &mut self.long,
            false => &mut self.small,
        };
        let calm = price.min(*before);
        *before = price;
        let per_turn = match is_long {
            true => batch.last,
            false => batch.units.div_ceil(batch.turns),
        };
        let each = calm.saturating_mul(per_turn);
        if is_long {
            self.long_turn = each / 1000;
        } else if batch.units >= SMALL_ONES {
            self.long_turn = 0;
        }
        let waiting = each.saturating_mul(queued as u64) / 1000;
        let worked = calm.saturating_mul(batch.units) / 1000;
        self.worked += worked;
        (self.busy, self.turns) = match queued {
            0 => (0, 0),
            _ => (self.busy + worked, self.turns + batch.turns),
        };
        let growth = batch.growth(queued);
        self.steady = match growth {
            0 => self.steady + batch.turns,
            _ => 0,
        };
        if growth > 0 {
            waiting.max(AS_LONG_AGAIN * self.busy)
        } else if each >= WORTH_MOVING || self.steady > 2 * queued as u64 {
            waiting
        } else {
            0
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn batch(turns: u64, units: u64, last: u64, queued: usize) -> TurnBatch {
        TurnBatch {
            turns,
            units,
            last,
            queued,
        }
    }

    #[test]
    fn small_turns_of_a_steady_queue_are_averaged() {
        let mut backlog = Backlog::new();
        assert_eq!(backlog.after(&batch(512, 512, 1, 100), 5_120, 100), 1_000);
        assert_eq!(backlog.after(&batch(0, 0, 0, 100), 0, 100), 0);
    }

    #[test]
    fn a_long_turn_stands_for_what_waits() {
        let mut backlog = Backlog::new();
        // Thirty small turns and a long one took 25 microseconds; fifteen more like it wait.
        let estimate = backlog.after(&batch(31, 530, 500, 46), 25_000, 15);
        assert!(estimate > 300_000, "{estimate}");
    }

    #[test]
    fn long_turns_have_a_price_of_their_own() {
        let mut backlog = Backlog::new();
        let estimate = |backlog: &mut Backlog| backlog.after(&batch(1, 512, 512, 8), 14_000, 8);
        let alone = estimate(&mut backlog);
        // What they report, in between: much less for a unit.
        backlog.after(&batch(27, 27, 1, 27), 200, 0);
        assert_eq!(estimate(&mut backlog), alone);
        assert!((100_000..=112_000).contains(&alone), "{alone}");
    }

    #[test]
    fn long_turns_are_expected_until_there_were_none_for_a_while() {
        let mut backlog = Backlog::new();
        assert_eq!(backlog.long_turn(), 0);
        backlog.after(&batch(1, 512, 512, 8), 14_000, 8);
        backlog.after(&batch(27, 27, 1, 27), 200, 0);
        assert!((13_000..=14_000).contains(&backlog.long_turn()));
        backlog.after(&batch(512, 512, 1, 8), 5_120, 8);
        assert_eq!(backlog.long_turn(), 0);
    }

    #[test]
    fn an_interruption_is_not_work() {
        let mut backlog = Backlog::new();
        backlog.after(&batch(512, 512, 1, 100), 5_120, 100);
        assert_eq!(
            backlog.after(&batch(512, 512, 1, 100), 4_000_000, 100),
            1_000
        );
    }

    #[test]
    fn what_was_worked_is_asked_for_once() {
        let mut backlog = Backlog::new();
        backlog.after(&batch(512, 512, 1, 0), 5_120, 0);
        // Interrupted.
        backlog.after(&batch(512, 512, 1, 0), 4_000_000, 0);
        assert_eq!([backlog.take_worked(), backlog.take_worked()], [10_240, 0]);
    }

    #[test]
    fn a_growing_queue_is_expected_to_go_on() {
        let mut backlog = Backlog::new();
        assert_eq!(backlog.after(&batch(512, 512, 1, 1), 5_120, 513), 10_240);
        let longer = backlog.after(&batch(512, 512, 1, 513), 5_120, 1025);
        assert_eq!(longer, 2 * 10_240);
        // Empty in between, it begins anew.
        backlog.after(&batch(512, 512, 1, 512), 5_120, 0);
        assert_eq!(backlog.after(&batch(512, 512, 1, 1), 5_120, 513), 10_240);
    }

    #[test]
    fn a_queue_that_has_been_run_often_goes_round_and_a_tree_does_not() {
        let mut backlog = Backlog::new();
        let mut rounds = |queued| {
            backlog.after(&batch(512, 512, 1, 1), 5_120, queued);
            backlog.goes_round(queued)
        };
        assert_eq!([512, 1024, 1536].map(&mut rounds), [false; 3]);
        assert_eq!([1000, 640, 640].map(&mut rounds), [false, true, true]);
        // Empty in between, it begins anew.
        assert_eq!([0, 640].map(&mut rounds), [true, false]);
    }

    #[test]
    fn small_turns_are_not_shared_where_they_are_the_last() {
        let mut backlog = Backlog::new();
        // The leaves of a tree: as many come as go, until all have been there.
        assert_eq!(backlog.after(&batch(512, 512, 1, 4096), 5_120, 4096), 0);
        // What they report.
        assert_eq!(backlog.after(&batch(512, 512, 1, 4096), 5_120, 3840), 0);
        // Turns of a microsecond each are worth it all the same.
        let long = backlog.after(&batch(512, 51_200, 100, 4096), 512_000, 3840);
        assert_eq!(long, 3_840_000);
    }

    #[test]
    fn a_chain_without_end_is_shared_after_a_while() {
        let mut backlog = Backlog::new();
        let mut estimate = || backlog.after(&batch(512, 512, 1, 1000), 5_120, 1000);
        let estimates: Vec<_> = (0..4).map(|_| estimate()).collect();
        assert_eq!(estimates, [0, 0, 0, 10_000]);
    }
}
