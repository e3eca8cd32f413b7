//! The loop of turns while somebody watches: the same as that in thread.rs, with a look at each turn.
use crate::backlog::{Batch, LONG};
use crate::queue::Event;
use crate::thread::Dispatch;
use std::time::Instant;

impl Dispatch {
    /// Whether turns must be looked at one by one.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        !self.watches.is_empty()
    }

    /// Runs turns for a batch; estimates the nanoseconds that the rest of the queue will take.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_watched_batch(&mut self) -> u64 {
        let start = Instant::now();
        self.watches.retain(|watch| !watch.is_over(start));
        let mut batch = Batch::default();
        while batch.units < self.batch && batch.last < LONG {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            batch.last = match self.may_run(event) {
                true => self.watched_turn(event),
                false => 1,
            };
            batch.units += batch.last;
            batch.turns += 1;
        }
        let took = start.elapsed().as_nanos() as u64;
        self.backlog.after(&batch, took, self.turn.queue.len())
    }

    /// Whether the event can run here and now; otherwise it is on its way.
    fn may_run(&mut self, event: Event) -> bool {
        // SAFETY: targets of queued events are live actors.
        let owner = unsafe { (*event.target).header().owner() };
        owner == self.turn.place.station.number || self.route(event)
    }

    fn watched_turn(&mut self, event: Event) -> u64 {
        // SAFETY: as above.
        let behaviour = unsafe { (*event.target).header().behaviour() };
        for watch in &mut self.watches {
            watch.count(event.target, behaviour);
        }
        self.turn_of(event)
    }
}
