//! A graph of which actors hold which: actors and the captures by which they reach each other, as far as wanted.
use super::survey::Survey;
use super::BehaviourName;
use crate::values::actor::Actor;
use crate::values::term::ActorRef;
use crate::watching::reach::{captures, Reach};
use rustc_hash::FxHashMap;

/// Cells that are looked at for one graph.
const MOST_CELLS: usize = 1_000_000;

/// An actor of a graph.
pub struct GraphNode<'m> {
    /// The actor.
    pub actor: ActorRef<'m>,
    /// Its behaviour.
    pub behaviour: BehaviourName,
}

/// A capture by which one actor reaches another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Index of the one.
    pub from: usize,
    /// Number of the capture that reaches the other, from 0.
    pub capture: usize,
    /// Index of the other.
    pub to: usize,
}

/// The actors that were wanted, and which of them hold which.
pub struct Graph<'m> {
    /// Actors in the order of their distance, the first one first.
    pub nodes: Vec<GraphNode<'m>>,
    /// Edges in the order of their nodes and captures.
    pub edges: Vec<Edge>,
    /// True if there is more: farther away, beyond the limit, or behind too many cells.
    pub truncated: bool,
}

impl<'m> Graph<'m> {
    pub(super) fn of(
        survey: &'m Survey<'_>,
        from: *const Actor,
        depth: usize,
        limit: usize,
    ) -> Graph<'m> {
        let mut graph = Graph {
            nodes: Vec::new(),
            edges: Vec::new(),
            truncated: false,
        };
        let mut known: FxHashMap<*const Actor, usize> = FxHashMap::default();
        let mut distances = vec![0];
        let mut cells = 0;
        graph.add(survey, &mut known, from);
        let mut at = 0;
        while at < graph.nodes.len() {
            let distance = distances[at];
            for (capture, actor) in reached(survey, graph.nodes[at].actor, &mut cells) {
                let to = match known.get(&actor) {
                    Some(to) => *to,
                    None if distance == depth || graph.nodes.len() >= limit => {
                        graph.truncated = true;
                        continue;
                    }
                    None => {
                        distances.push(distance + 1);
                        graph.add(survey, &mut known, actor)
                    }
                };
                graph.edges.push(Edge {
                    from: at,
                    capture,
                    to,
                });
            }
            if cells >= MOST_CELLS {
                graph.truncated = true;
                break;
            }
            at += 1;
        }
        graph
    }

    fn add(
        &mut self,
        survey: &'m Survey<'_>,
        known: &mut FxHashMap<*const Actor, usize>,
        actor: *const Actor,
    ) -> usize {
        let index = self.nodes.len();
        known.insert(actor, index);
        self.nodes.push(GraphNode {
            actor: ActorRef::new(actor),
            behaviour: survey.behaviour(actor),
        });
        index
    }
}

/// The actors that an actor's captures reach, each once for each capture.
fn reached(
    survey: &Survey<'_>,
    actor: ActorRef<'_>,
    cells: &mut usize,
) -> Vec<(usize, *const Actor)> {
    let program = survey.machine.program();
    // SAFETY: reachable, so alive.
    let actor = unsafe { &*actor.actor };
    let mut found = Vec::new();
    for (capture, value) in captures(program, actor).enumerate() {
        let mut reach = Reach::limited(program, MOST_CELLS.saturating_sub(*cells));
        let mut met = Vec::new();
        reach.scan(value, &mut |actor| met.push(actor));
        *cells += reach.scanned;
        // In the order of the first mention.
        let mut seen = rustc_hash::FxHashSet::default();
        met.retain(|actor| seen.insert(*actor));
        found.extend(met.into_iter().map(|actor| (capture, actor)));
    }
    found
}
