//! Everything that is alive, counted: actors by behaviour, and the actors that hold most.
//!
//! An actor **holds** its record, its captures, and whatever they reach without passing another actor; a value that several
//! actors share belongs to the one that is met first. So the figures of all actors add up to everything that is live, except what
//! only messages on their way hold.
use super::survey::Survey;
use super::{greatest, BehaviourName, Figure};
use crate::values::actor::{Actor, BehaviourId};
use crate::values::value::Value;
use crate::watching::reach::Reach;
use rustc_hash::FxHashMap;

/// The part of one behaviour.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// The behaviour.
    pub behaviour: BehaviourName,
    /// Number of actors that have it.
    pub actors: u64,
    /// Bytes that they hold.
    pub bytes: u64,
    /// True if a newer version of the behaviour is loaded.
    pub is_older: bool,
}

/// The result of a count of everything alive.
pub struct Census<'m> {
    /// Populations by behaviour, the most frequent first.
    pub populations: Vec<Population>,
    /// The actors with the greatest figures.
    pub greatest: Vec<Figure<'m>>,
}

impl<'m> Census<'m> {
    /// Walks through everything. `figure` gives that of an actor, which holds so many bytes; none if it is not to be compared.
    pub(super) fn of(
        survey: &'m Survey<'_>,
        n: usize,
        figure: impl Fn(*const Actor, u64) -> Option<u64>,
    ) -> Census<'m> {
        let mut walk = CensusWalk {
            survey,
            reach: Reach::new(survey.machine.program()),
            populations: FxHashMap::default(),
            greatest: Vec::new(),
            figure,
            n,
        };
        let (actors, others): (Vec<Value>, Vec<Value>) = survey
            .roots()
            .into_iter()
            .partition(|root| root.is_address());
        for actor in actors {
            walk.reach.meet(actor.address_pointer());
        }
        walk.actors();
        // Messages last: what an actor holds as well is the actor's.
        for message in others {
            walk.reach.scan(message, &mut |_| ());
            walk.actors();
        }
        let populations = walk.populations.values().copied().collect();
        let found = greatest(walk.greatest, n, |(_, figure)| *figure);
        Census {
            populations: greatest(populations, usize::MAX, |population| population.actors),
            greatest: found
                .into_iter()
                .map(|(actor, figure)| survey.figure(actor, figure))
                .collect(),
        }
    }
}

struct CensusWalk<'w, F> {
    survey: &'w Survey<'w>,
    reach: Reach<'w>,
    populations: FxHashMap<BehaviourId, Population>,
    greatest: Vec<(*const Actor, u64)>,
    figure: F,
    n: usize,
}

impl<F: Fn(*const Actor, u64) -> Option<u64>> CensusWalk<'_, F> {
    fn actors(&mut self) {
        while let Some(actor) = self.reach.next_actor() {
            // SAFETY: reachable, so alive.
            let record = unsafe { &*actor };
            let bytes = self.reach.scan_actor(record, |_| ());
            let id = record.header().behaviour();
            let program = self.survey.machine.program();
            let population = self.populations.entry(id).or_insert_with(|| Population {
                behaviour: program.name(id),
                actors: 0,
                bytes: 0,
                is_older: program.is_older(id),
            });
            population.actors += 1;
            population.bytes += bytes;
            let Some(figure) = (self.figure)(actor, bytes) else {
                continue;
            };
            self.greatest.push((actor, figure));
            // Twice as many as wanted are kept, so that thinning them out costs little for each.
            if self.greatest.len() > 2 * self.n + 64 {
                self.greatest = greatest(std::mem::take(&mut self.greatest), self.n, |(_, b)| *b);
            }
        }
    }
}
