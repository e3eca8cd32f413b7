//! Whether a thread begins a collection, as it finds between two batches of turns.
//!
//! What is queued is live, with what it refers to. So a collection that is due because much was allocated waits while
//! that is accounted for by what is queued, and one that a thread would make because it has nothing to do waits while
//! others have much to do: it would not be for nothing then, but hold them up, and who is done last finds more dead.
use super::Phase;
use crate::heap::pace::Queued;
use crate::sync::Relaxed;
use crate::thread::Dispatch;
use std::time::Duration;

/// Events; to run so many takes a few hundred microseconds.
const MUCH: u64 = 16 * 1024;

impl Dispatch {
    /// Whether a collection should begin.
    pub(crate) fn is_collection_due(&self) -> bool {
        let pace = &self.turn.place.machine.pool().pace;
        pace.is_due() && !pace.put_off(|| self.queued())
            || self.is_due_when_idle()
            || self.until_look() == Some(Duration::ZERO)
            || self.collection_was_asked()
    }

    /// Whether this thread, which has nothing to do, should make one now.
    fn is_due_when_idle(&self) -> bool {
        let pace = &self.turn.place.machine.pool().pace;
        self.turn.queue.is_empty() && pace.is_due_when_idle() && self.queued().events < MUCH
    }

    /// The same, when it has looked for work in vain: who was busy a moment ago may have seen this one busy then.
    pub(crate) fn has_become_due(&self) -> bool {
        self.turn.place.machine.gc().phase() == Phase::None && self.is_due_when_idle()
    }

    /// Whether somebody waits for the end of a collection.
    pub(crate) fn collection_was_asked(&self) -> bool {
        let gc = self.turn.place.machine.gc();
        self.collection_asked
            .iter()
            .any(|asked| !gc.is_over(asked.0))
    }

    /// Whether somebody waits for a collection, or is still to be told that it is over.
    pub(crate) fn waits_for_collection(&self) -> bool {
        !self.collection_asked.is_empty()
    }

    /// How long to wait before a collection looks whether somebody outside waits in vain.
    pub(crate) fn until_look(&self) -> Option<Duration> {
        let machine = &self.turn.place.machine;
        let newest = machine.outside().newest_question();
        machine.pool().pace.until_look(newest)
    }

    /// What the machine's threads have to do, as of their last batches.
    fn queued(&self) -> Queued {
        let stations = self.turn.place.machine.stations().all();
        Queued {
            events: stations.iter().map(|s| s.queued.load(Relaxed)).sum(),
            grows: stations.iter().any(|s| s.grows.load(Relaxed)),
            shrinks: self.growth < 0,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::pace::GcConfig;
    use crate::still::Still;

    #[test]
    fn who_has_nothing_to_do_collects_unless_others_have_much_to_do() {
        let still = Still::new(2);
        let (thread, machine) = (&still.thread, &still.machine);
        assert!(!thread.is_collection_due());
        // As much as is due for a thread without work, and for no other.
        let pace = &machine.pool().pace;
        pace.collected(GcConfig::default().min, 0, None);
        pace.allocated(GcConfig::default().min);
        assert!(!pace.is_due() && thread.is_collection_due() && thread.has_become_due());
        let other = &thread.turn.place.sponsor.stations[1];
        for (queued, is_due) in [(MUCH, false), (MUCH - 1, true)] {
            other.queued.store(queued, Relaxed);
            assert_eq!(
                [thread.is_collection_due(), thread.has_become_due()],
                [is_due; 2]
            );
        }
    }

    /// It may have been another thread that ended it, after this one has looked for the last time.
    #[test]
    fn nobody_sleeps_who_has_to_tell_that_a_collection_is_over() {
        let mut still = Still::new(2);
        let thread = &mut still.thread;
        assert_eq!(thread.may_sleep(), None);
        let begun = thread.turn.place.machine.gc().begun.load(Relaxed);
        thread.collection_asked.push((begun, Box::new(|| ())));
        assert!(!thread.collection_was_asked());
        assert_eq!(thread.may_sleep(), Some(crate::gc::NAP));
    }

    #[test]
    fn a_collection_waits_while_any_thread_has_more_and_more_to_do() {
        let still = Still::new(2);
        let thread = &still.thread;
        let pace = &still.machine.pool().pace;
        pace.allocated(GcConfig::default().min);
        let other = &thread.turn.place.sponsor.stations[1];
        other.queued.store(u64::from(u32::MAX), Relaxed);
        assert!(thread.is_collection_due());
        other.grows.store(true, Relaxed);
        assert!(!thread.is_collection_due());
    }
}
