//! How long a thread's queue will take: what decides whether sharing pays.
//!
//! Turns cost units (a small turn is one, fuel counts extra), batches take time; so a unit has a price. One price
//! that the system made dear by interrupting the thread must not wake anybody: the lower of the last two counts.

/// A turn of so many units ends its batch and stands for those that wait: one long turn is rarely alone.
pub(crate) const LONG: u64 = 128;

/// The estimate of one thread.
pub(crate) struct Backlog {
    /// Picoseconds per unit in the batch before.
    price: u64,
}

/// What a batch of turns cost.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) turns: u64,
    pub(crate) units: u64,
    /// Units of the last turn.
    pub(crate) last: u64,
}

impl Backlog {
    pub(crate) fn new() -> Backlog {
        Backlog { price: u64::MAX }
    }

    /// Nanoseconds that `queued` events will take, after a batch that took `nanoseconds`.
    pub(crate) fn after(&mut self, batch: &Batch, nanoseconds: u64, queued: usize) -> u64 {
        if batch.turns == 0 {
            return 0;
        }
        let price = nanoseconds.saturating_mul(1000) / batch.units.max(1);
        let calm = price.min(self.price);
        self.price = price;
        let per_turn = match batch.last {
            long @ LONG.. => long,
            _ => batch.units.div_ceil(batch.turns),
        };
        calm.saturating_mul(per_turn).saturating_mul(queued as u64) / 1000
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn batch(turns: u64, units: u64, last: u64) -> Batch {
        Batch { turns, units, last }
    }

    #[test]
    fn small_turns_are_averaged() {
        let mut backlog = Backlog::new();
        assert_eq!(backlog.after(&batch(512, 512, 1), 5_120, 100), 1_000);
        assert_eq!(backlog.after(&batch(0, 0, 0), 0, 100), 0);
    }

    #[test]
    fn a_long_turn_stands_for_what_waits() {
        let mut backlog = Backlog::new();
        // Thirty small turns and a long one took 25 microseconds; fifteen more like it wait.
        let estimate = backlog.after(&batch(31, 530, 500), 25_000, 15);
        assert!(estimate > 300_000, "{estimate}");
    }

    #[test]
    fn an_interruption_is_not_work() {
        let mut backlog = Backlog::new();
        backlog.after(&batch(512, 512, 1), 5_120, 100);
        assert_eq!(backlog.after(&batch(512, 512, 1), 4_000_000, 100), 1_000);
    }
}
