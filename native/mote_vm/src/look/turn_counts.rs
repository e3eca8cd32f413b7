//! The counts of turns over a period (watching/watch.rs), put together.
use super::survey::Survey;
use super::{greatest, BehaviourName, Figure};
use crate::values::actor::{Actor, BehaviourId};
use crate::watching::watch::{Watch, Watched};
use rustc_hash::FxHashMap;
use std::time::Instant;

/// The counts of a watch.
pub struct WatchCounts<'m> {
    /// All turns.
    pub turns: u64,
    /// Turns by which the figures of actors may be too low.
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
    pub fn end_watch(&mut self, id: u64, n: usize) -> WatchCounts<'_> {
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
        WatchCounts {
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
