//! Decides whether a thread begins a collection, between two batches of turns.
//!
//! Queued events are live, with all that they refer to. So a collection that is due because much was allocated is put off
//! while newly queued events account for the allocation. A machine that has done nothing for a moment collects earlier, since
//! that delays nothing.
use crate::base::sync::Relaxed;
use crate::heap::pace::Queued;
use crate::threads::thread::Dispatch;
use std::time::Duration;

impl Dispatch {
    /// Returns whether a collection should begin.
    pub(crate) fn is_collection_due(&self) -> bool {
        self.is_collection_wanted()
            || self.has_rested_long() && self.until_worth_it() == Some(Duration::ZERO)
    }

    /// Returns whether one should begin for any reason other than a long rest, which takes a look at the clock.
    pub(crate) fn is_collection_wanted(&self) -> bool {
        let pace = &self.context.machine.pool().pace;
        pace.is_due() && !pace.put_off(|| self.queued())
            || self.idling.rests && self.would_collect()
            || self.is_look_due()
            || self.collection_was_asked()
            || !self.duties.moments.is_empty()
            || self.context.machine.gc().compaction.is_planned()
    }

    /// Returns whether the machine has nothing to do, and will collect if that stays so for a moment.
    pub(crate) fn would_collect(&self) -> bool {
        let pace = &self.context.machine.pool().pace;
        let is_due = pace.is_due_at_rest();
        if !self.turn.queue.is_empty() || !is_due && !pace.counts_queued() {
            return false;
        }
        let queued = self.queued().events;
        pace.saw_queued(queued);
        is_due && queued == 0
    }

    /// Returns whether a caller or a turn waits for the end of a collection.
    pub(crate) fn collection_was_asked(&self) -> bool {
        let gc = self.context.machine.gc();
        self.duties
            .collections
            .iter()
            .any(|asked| !gc.is_over(asked.0))
            || self.starved.awaits_collection()
    }

    /// Returns whether a caller waits for a collection, or has not yet been notified that it is over; or for an image, at the moment at
    /// which the next one begins.
    pub(crate) fn waits_for_collection(&self) -> bool {
        !self.duties.collections.is_empty() || !self.duties.moments.is_empty()
    }

    /// Returns whether a collection should check now whether a caller outside waits in vain. A stand-in leaves it to the thread to see that
    /// one begins to wait: so it does not read what others write that ask at this moment.
    fn is_look_due(&self) -> bool {
        let may_be = !self.lent.stands_in || self.context.machine.pool().pace.is_awaited();
        may_be && self.until_look() == Some(Duration::ZERO)
    }

    /// Returns the time until a collection should check whether a caller outside waits in vain.
    pub(crate) fn until_look(&self) -> Option<Duration> {
        let machine = &self.context.machine;
        let newest = machine.embedder().newest_question();
        machine.pool().pace.until_look(newest)
    }

    /// Sums up the work of the machine's threads, as of their last batches.
    pub(super) fn queued(&self) -> Queued {
        let stations = self.context.machine.stations().all();
        Queued {
            events: stations.iter().map(|s| s.queued.load(Relaxed)).sum(),
            grows: stations.iter().any(|s| s.grows.load(Relaxed)),
            shrinks: self.load.growth < 0,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::pace::GcConfig;
    use crate::testing::still::Still;
    use crate::threads::thread::idle::REST;
    use crate::threads::thread::AtMoment;

    #[test]
    fn a_machine_that_rests_collects_earlier_if_all_of_it_does() {
        let mut still = Still::new(2);
        let min = GcConfig::default().min;
        still.machine.pool().pace.allocated(min / 2);
        let other = still.thread.context.sponsor.stations[1].clone();
        for (queued, rests) in [(1, false), (0, false), (1, true), (0, true)] {
            other.queued.store(queued, Relaxed);
            still.thread.idling.rests = rests;
            assert_eq!(still.thread.is_collection_due(), rests && queued == 0);
            let naps = still.thread.may_sleep() == Some(REST);
            assert_eq!(naps, queued == 0);
        }
    }

    /// Another thread may have ended the collection, after this one looked for the last time.
    #[test]
    fn nobody_sleeps_who_has_to_tell_that_a_collection_is_over() {
        let mut still = Still::new(2);
        let thread = &mut still.thread;
        assert_eq!(thread.may_sleep(), None);
        let begun = thread.context.machine.gc().begun();
        thread.duties.collections.push((begun, Box::new(|| ())));
        assert!(!thread.collection_was_asked());
        assert_eq!(thread.may_sleep(), Some(crate::turns::marking::phase::NAP));
    }

    /// The same, and an image is to be of the moment at which the next one begins.
    #[test]
    fn nobody_sleeps_for_whom_a_collection_is_to_begin() {
        let mut still = Still::new(2);
        let thread = &mut still.thread;
        let moment: AtMoment = Box::new(|_, _| Box::new(|| ()));
        thread.duties.moments.push_back(moment);
        assert!(thread.is_collection_due());
        assert_eq!(thread.may_sleep(), Some(crate::turns::marking::phase::NAP));
    }

    /// A machine that has had nothing to do since the last collection, which found much queued.
    #[test]
    fn what_is_queued_after_a_rest_came_after_the_last_collection() {
        let still = Still::new(2);
        let pace = &still.machine.pool().pace;
        let min = GcConfig::default().min;
        let queue = |events| {
            let stations = &still.thread.context.sponsor.stations;
            stations[1].queued.store(events, Relaxed);
        };
        let many = min as u64;
        for rests in [false, true] {
            pace.begun(many);
            pace.collected(0, 0, None);
            queue(if rests { 0 } else { many });
            // As before it sleeps.
            still.thread.may_sleep();
            queue(many);
            pace.allocated(min);
            assert_eq!(still.thread.is_collection_due(), !rests);
        }
    }

    #[test]
    fn a_collection_waits_while_any_thread_has_more_and_more_to_do() {
        let mut still = Still::new(2);
        still.thread.load.growth = -1;
        let thread = &still.thread;
        let pace = &still.machine.pool().pace;
        let other = &thread.context.sponsor.stations[1];
        other.queued.store(u64::from(u32::MAX), Relaxed);
        let min = GcConfig::default().min;
        for (allocated, is_due) in [(min, false), (min / 2, true)] {
            pace.allocated(allocated);
            assert_eq!(thread.is_collection_due(), is_due);
        }
        other.grows.store(true, Relaxed);
        assert!(!thread.is_collection_due());
    }
}
