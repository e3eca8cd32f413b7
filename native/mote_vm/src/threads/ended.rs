//! The counts of sponsors that are gone, and those that no thread keeps.
//!
//! Invariant: the counts of a sponsor are in one place at any moment: with the sponsors that run, among those that are going, or
//! in the sum. It moves from one to the next under the lock, and a reader of all of them holds that lock.
use crate::base::counters::Counts;
use crate::threads::sponsor::Sponsor;
use std::sync::Arc;

/// The counts and pauses of what has ended in one machine.
#[derive(Default)]
pub(crate) struct Ended {
    pub(crate) counts: Counts,
    /// Removed, and their threads are still to end.
    going: Vec<Arc<Sponsor>>,
}

impl Ended {
    /// A sponsor was just removed.
    pub(crate) fn is_going(&mut self, sponsor: &Arc<Sponsor>) {
        self.going.push(sponsor.clone());
    }

    /// Its threads have ended.
    pub(crate) fn is_gone(&mut self, sponsor: &Arc<Sponsor>) {
        self.going.retain(|going| !Arc::ptr_eq(going, sponsor));
        for station in &sponsor.stations {
            self.counts = self.counts.plus(&station.counters.read());
            station.counters.publish(&Counts::default());
        }
    }

    /// Returns the sum over all sponsors that no longer run.
    pub(crate) fn sum(&self) -> Counts {
        let stations = self.going.iter().flat_map(|sponsor| &sponsor.stations);
        stations.fold(self.counts, |sum, s| sum.plus(&s.counters.read()))
    }
}
