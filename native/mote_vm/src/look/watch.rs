//! Counting turns for a while: who runs most, and how often each behaviour runs.
//!
//! While a watch is on, threads run their turns in another loop (watched.rs), which counts them. Actors are counted
//! by the algorithm of Misra and Gries ("Finding repeated elements", 1982) in a table of fixed size: when it is full,
//! every count is lowered by one, and what is at zero makes room. So a count is too low by `lost` at most, and an actor
//! with more turns than that is in the table.
//!
//! Invariants:
//! 1. Actors in the table are roots of the collector (gc/roots.rs).
//! 2. Nobody waits for a watch beyond its time: then the thread drops it.
//! 3. Every thread that runs turns while a watch is on counts them: those that have begun are given it while all stand
//!    still, and the others look for it when they begin. A thread that ends takes its counts with it.
use super::survey::Survey;
use super::{greatest, BehaviourName, Figure};
use crate::threads::thread::Dispatch;
use crate::values::actor::{Actor, BehaviourId};
use rustc_hash::FxHashMap;
use std::time::Instant;

/// Actors in a thread's table.
const PLACES: usize = 4096;

/// A watch that goes on, and until when at most.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(super) id: u64,
    pub(super) until: Instant,
}

/// One thread's counts of one watch.
pub(crate) struct Watch {
    of: Watched,
    turns: u64,
    lost: u64,
    actors: FxHashMap<*const Actor, u64>,
    behaviours: FxHashMap<BehaviourId, u64>,
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

    /// One more turn of an actor that has this behaviour.
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

    /// Whether it is over, asked for or not.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now > self.of.until
    }

    /// Shows every actor in the table.
    pub(crate) fn each_actor(&self, show: impl FnMut(*const Actor)) {
        self.actors.keys().copied().for_each(show);
    }
}

/// What a watch has counted.
pub struct Counted<'m> {
    /// All turns.
    pub turns: u64,
    /// By which the figures of actors may be too low.
    pub lost: u64,
    /// Turns of each behaviour.
    pub behaviours: Vec<(BehaviourName, u64)>,
    /// The actors with most turns.
    pub actors: Vec<Figure<'m>>,
}

impl Survey<'_> {
    /// Counts turns from now on, until `end_watch` of the same number, or that instant.
    pub fn begin_watch(&mut self, id: u64, until: Instant) {
        let watched = Watched { id, until };
        self.machine.attention().watch(watched);
        for thread in &mut self.threads {
            thread.watches.push(Watch::new(watched));
        }
    }

    /// Counts no longer; what was counted, with the `n` actors that had most turns.
    pub fn end_watch(&mut self, id: u64, n: usize) -> Counted<'_> {
        self.machine.attention().unwatch(id);
        let mut watches = Vec::new();
        for thread in &mut self.threads {
            watches.extend(thread.watches.extract_if(.., |watch| watch.of.id == id));
        }
        let mut actors: FxHashMap<*const Actor, u64> = FxHashMap::default();
        let mut behaviours: FxHashMap<BehaviourId, u64> = FxHashMap::default();
        for watch in &watches {
            for (actor, count) in &watch.actors {
                *actors.entry(*actor).or_default() += count;
            }
            for (id, count) in &watch.behaviours {
                *behaviours.entry(*id).or_default() += count;
            }
        }
        let program = self.machine.program();
        let behaviours = behaviours.into_iter();
        let found = greatest(actors.into_iter().collect(), n, |(_, count)| *count);
        Counted {
            turns: watches.iter().map(|watch| watch.turns).sum(),
            lost: watches.iter().map(|watch| watch.lost).sum(),
            behaviours: behaviours
                .map(|(id, count)| (program.name(id), count))
                .collect(),
            actors: found
                .into_iter()
                .map(|(actor, count)| self.figure(actor, count))
                .collect(),
        }
    }
}

impl Dispatch {
    /// For a thread that begins: takes part in the watches that go on.
    pub(crate) fn join_watches(&mut self) {
        for watched in self.place.machine.attention().watches() {
            // A survey may have come to it before it was awake.
            if self.watches.iter().all(|watch| watch.of.id != watched.id) {
                self.watches.push(Watch::new(watched));
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
impl Watched {
    /// Any.
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
