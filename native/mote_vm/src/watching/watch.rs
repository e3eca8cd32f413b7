//! Counting turns for a while: which actors run most, and how often each behaviour runs.
//!
//! While a watch is on, threads run their turns in another loop (threads/thread/watched.rs), which counts them. Actors are counted
//! by the algorithm of Misra and Gries ("Finding repeated elements", 1982) in a table of fixed size: when it is full,
//! every count is lowered by one, and actors at zero make room. So a count is too low by at most `lost`, and an actor with more
//! turns than that is in the table.
//!
//! Invariants:
//! 1. Actors in the table are roots of the collector (gc/roots.rs).
//! 2. The caller waits for a watch until its time is up; after that the thread drops it.
//! 3. Every thread that runs turns while a watch is on counts them: those that have begun are given it while all stand
//!    still, and the others look for it when they begin. A thread that ends takes its counts with it.
use crate::values::actor::{Actor, BehaviourId};
use rustc_hash::FxHashMap;
use std::time::Instant;

/// Actors in a thread's table.
const PLACES: usize = 4096;

/// A watch that goes on, and until when at most.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) id: u64,
    pub(crate) until: Instant,
}

/// The counts of one thread for one watch.
pub(crate) struct Watch {
    pub(crate) of: Watched,
    pub(crate) turns: u64,
    pub(crate) lost: u64,
    pub(crate) actors: FxHashMap<*const Actor, u64>,
    pub(crate) behaviours: FxHashMap<BehaviourId, u64>,
}

impl Watch {
    pub(crate) fn new(of: Watched) -> Watch {
        Watch {
            of,
            turns: 0,
            lost: 0,
            actors: FxHashMap::default(),
            behaviours: FxHashMap::default(),
        }
    }

    /// Counts one more turn of an actor that has this behaviour.
    pub(crate) fn count(&mut self, actor: *const Actor, behaviour: BehaviourId) {
        self.turns += 1;
        *self.behaviours.entry(behaviour).or_default() += 1;
        if let Some(count) = self.actors.get_mut(&actor) {
            *count += 1;
        } else if self.actors.len() < PLACES {
            self.actors.insert(actor, 1);
        } else {
            self.lost += 1;
            self.actors.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
        }
    }

    /// Returns whether it is over, asked for or not.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now > self.of.until
    }

    /// Shows every actor in the table.
    pub(crate) fn each_actor(&self, show: impl FnMut(*const Actor)) {
        self.actors.keys().copied().for_each(show);
    }
}

#[cfg(all(test, not(loom)))]
impl Watched {
    /// Creates some watch for tests.
    pub(crate) fn for_tests() -> Watched {
        Watched {
            id: 1,
            until: Instant::now(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_runs_most_is_found_among_many() {
        let actor = |n: usize| (n * 16) as *const Actor;
        let mut watch = Watch::new(Watched::for_tests());
        let (rounds, others) = (200, 100);
        for round in 0..rounds {
            for n in 0..others {
                watch.count(actor(1 + round * others + n), BehaviourId(1));
            }
            for _ in 0..others {
                watch.count(actor(usize::MAX / 32), BehaviourId(2));
            }
        }
        let busiest = watch.actors[&actor(usize::MAX / 32)];
        let exact = (rounds * others) as u64;
        assert!(busiest <= exact && busiest + watch.lost >= exact);
        assert!(watch.lost > 0 && watch.lost <= 2 * exact / PLACES as u64);
        assert!(watch.actors.len() <= PLACES);
        assert_eq!(watch.turns, 2 * exact);
        assert_eq!(watch.behaviours[&BehaviourId(1)], exact);
    }
}
