//! A machine that has been idle for long collects its garbage, however little was allocated, and keeps no free memory.
//!
//! Nobody watches the machine for that. A thread that falls asleep where there would be something to give back sleeps no
//! longer than until then; one that has nothing to give back sets no time at all.
//!
//! Invariants:
//! 1. When the time of a thread is over, it has something to do: it never wakes for nothing again and again.
//! 2. A stand-in that leaves something to give back wakes the thread, once, if the thread sleeps without a time for that.
use crate::heap::block::BLOCK;
use crate::threads::thread::Dispatch;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Time for which a machine must have done nothing to have rested for long.
pub(crate) const LONG_REST: Duration = Duration::from_millis(1_500);

/// The time since when a thread has seen its machine do nothing, and how much had been allocated then.
#[derive(Default)]
pub(crate) struct LongRest {
    since: Cell<Option<(Instant, usize)>>,
    /// Number of turns that the thread had run when it last reported them.
    turns: u64,
}

impl Dispatch {
    /// Returns the time until the machine has rested for long, if there will be anything to give back then.
    pub(crate) fn until_long_rest(&self) -> Option<Duration> {
        let pool = self.context.machine.pool();
        let since = &self.idling.long_rest.since;
        let keeps = (pool.reserve.lately() > 0).then_some(Duration::ZERO);
        let worth = keeps.or_else(|| self.until_worth_it());
        // Whoever empties the last queue thinks of the rest.
        let is_idle = self.turn.queue.is_empty() && self.queued().events == 0;
        let Some(worth) = worth.filter(|_| is_idle) else {
            since.set(None);
            return None;
        };
        let allocated = pool.pace.since_collected();
        let begins = match since.get() {
            Some((begins, then)) if then == allocated => begins,
            _ => Instant::now(),
        };
        since.set(Some((begins, allocated)));
        Some(LONG_REST.saturating_sub(begins.elapsed()).max(worth))
    }

    /// Returns whether the machine has rested for long.
    pub(crate) fn has_rested_long(&self) -> bool {
        let allocated = self.context.machine.pool().pace.since_collected();
        let rested =
            |(begins, then): (Instant, usize)| then == allocated && begins.elapsed() >= LONG_REST;
        self.idling.long_rest.since.get().is_some_and(rested)
            && self.turn.queue.is_empty()
            && self.queued().events == 0
    }

    /// Returns the time until there may be enough garbage for a collection after a long rest. There is none where each thread
    /// has no more than its first block.
    pub(crate) fn until_worth_it(&self) -> Option<Duration> {
        let machine = &self.context.machine;
        let stations = machine.stations().all();
        let used = machine.pool().used();
        if used <= stations.len() * BLOCK {
            return None;
        }
        let room = stations.iter().map(|s| s.room.load(Relaxed)).sum();
        machine.pool().pace.until_due_at_long_rest(room, used)
    }

    /// Notes that it has run turns, if it has.
    pub(crate) fn tell_of_work(&mut self) {
        let turns = self.turn.counts.turns;
        if std::mem::replace(&mut self.idling.long_rest.turns, turns) != turns {
            self.context.machine.pool().pace.has_worked();
        }
    }

    /// Returns whether there is something to give back for which the sleeping thread has set no time.
    pub(crate) fn forgot_long_rest(&self) -> bool {
        self.idling.long_rest.since.get().is_none() && self.until_worth_it().is_some()
    }
}
