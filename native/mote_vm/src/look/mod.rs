//! Looking inside of a running machine: what its actors are, hold and wait for.
//!
//! Nothing is recorded for it: an actor has 16 bytes and no counters. Answers are computed on demand:
//! - about one actor, by one thread between two of its turns (inspect.rs), or by the caller while that thread sleeps (peek.rs);
//! - about the actors of a directory's shard, in one of these two ways (entries.rs);
//! - about all actors, some at a time, in one of these two ways (fold.rs);
//! - about all of them, while all threads stand still (survey.rs): from their queues (waiting.rs), or by a walk over
//!   everything that can be reached (census.rs, graph.rs, holders.rs);
//! - or by counting turns for a while (watching/watch.rs, put together by turn_counts.rs).
pub mod census;
pub mod entries;
pub mod fold;
pub mod graph;
pub mod holders;
pub(crate) mod holding;
pub(crate) mod inspect;
pub mod pause;
pub mod peek;
pub mod survey;
pub mod turn_counts;
pub(crate) mod waiting;

use crate::base::ids::BehaviourName;
use crate::values::term::ActorRef;

/// An actor and a figure.
#[derive(Clone, Copy)]
pub struct Figure<'m> {
    /// The actor.
    pub actor: ActorRef<'m>,
    /// Its behaviour.
    pub behaviour: BehaviourName,
    /// The figure: of what, the function says that gives it.
    pub figure: u64,
}

/// The `n` greatest by figure, the greatest first.
pub(crate) fn greatest<T>(mut all: Vec<T>, n: usize, figure: impl Fn(&T) -> u64) -> Vec<T> {
    let by = |a: &T, b: &T| figure(b).cmp(&figure(a));
    if all.len() > n {
        if n > 0 {
            all.select_nth_unstable_by(n - 1, by);
        }
        all.truncate(n);
    }
    all.sort_unstable_by(by);
    all
}
