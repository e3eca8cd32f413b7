//! Looking inside of a machine while it stands still: the answers are built on the dispatch thread that looks.
use crate::actor::Target;
use crate::atoms::{self, names};
use crate::customer::inquiry;
use crate::decode::Decoder;
use crate::message::post;
use crate::question::Customer;
use crate::resources::{parse_key, MachineResource};
use mote_vm::base::ids::BehaviourName;
use mote_vm::look::graph::{Edge, Graph, Node};
use mote_vm::look::survey::Survey;
use mote_vm::look::Figure;
use mote_vm::machine::Machine;
use rustler::{Encoder, Env, ResourceArc, Term};
use std::time::{Duration, Instant};

/// `[{address, behaviour, events}]` of the actors that most events wait for. As all that follow: the asker's side of a
/// question of the calling process, or `:stopped`.
#[rustler::nif]
fn machine_awaited<'a>(env: Env<'a>, machine: Term<'a>, n: usize, tag: Term<'a>) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        figures(env, decoder, survey.machine(), &survey.most_awaited(n))
    })
}

/// `{[{behaviour, actors, bytes}], [{address, behaviour, bytes}]}`: what there is, and the `n` that hold most.
#[rustler::nif]
fn machine_census<'a>(env: Env<'a>, machine: Term<'a>, n: usize, tag: Term<'a>) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        let census = survey.census(n);
        let populations: Vec<_> = census
            .populations
            .iter()
            .map(|found| (behaviour(env, found.behaviour), found.actors, found.bytes))
            .collect();
        let greatest = figures(env, decoder, survey.machine(), &census.greatest);
        (populations, greatest).encode(env)
    })
}

/// Counts turns from now on, for that many milliseconds at most: `:ok`.
#[rustler::nif]
fn machine_watch<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    id: u64,
    milliseconds: u64,
    tag: Term<'a>,
) -> Term<'a> {
    survey(env, machine, tag, move |env, _, survey| {
        let until = Instant::now() + Duration::from_millis(milliseconds);
        survey.begin_watch(id, until);
        names::ok().encode(env)
    })
}

/// Ends that: `{turns, lost, [{behaviour, turns}], [{address, behaviour, turns}]}`.
#[rustler::nif]
fn machine_watched<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    id: u64,
    n: usize,
    tag: Term<'a>,
) -> Term<'a> {
    survey(env, machine, tag, move |env, decoder, survey| {
        let machine = survey.machine().clone();
        let counted = survey.end_watch(id, n);
        let behaviours: Vec<_> = counted
            .behaviours
            .iter()
            .map(|(name, turns)| (behaviour(env, *name), *turns))
            .collect();
        let actors = figures(env, decoder, &machine, &counted.actors);
        (counted.turns, counted.lost, behaviours, actors).encode(env)
    })
}

/// `{[{address, behaviour}], [{from, capture, to}], truncated}` of what can be reached from an actor, or why not.
#[rustler::nif]
fn actor_graph<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    depth: usize,
    limit: usize,
    tag: Term<'a>,
) -> Term<'a> {
    if let Err(word) = Target::find((machine, key, names::nil().to_term(env))) {
        return word.encode(env);
    }
    let Some(key) = parse_key(key) else {
        return names::unknown().encode(env);
    };
    survey(
        env,
        machine,
        tag,
        move |env, decoder, survey| match survey.graph(key, depth, limit) {
            Some(found) => graph(env, decoder, survey.machine(), &found),
            None => names::unknown().encode(env),
        },
    )
}

/// Puts a question that a survey answers.
fn survey<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    look: impl for<'e> FnOnce(Env<'e>, &mut Decoder, &mut Survey<'_>) -> Term<'e> + Send + 'static,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        running.survey(move |survey| answer(&customer, survey, look));
        Ok(())
    })
}

fn answer(
    customer: &Customer,
    survey: &mut Survey<'_>,
    look: impl for<'e> FnOnce(Env<'e>, &mut Decoder, &mut Survey<'_>) -> Term<'e>,
) {
    if customer.claim() {
        post(customer.pid(), |env, decoder| {
            customer.tagged(env, look(env, decoder, survey))
        });
    }
}

fn figures<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    machine: &Machine,
    figures: &[Figure<'_>],
) -> Term<'a> {
    let figures: Vec<_> = figures
        .iter()
        .map(|found| {
            let address = decoder.address(env, machine, found.actor, None);
            (address, behaviour(env, found.behaviour), found.figure)
        })
        .collect();
    figures.encode(env)
}

fn graph<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    machine: &Machine,
    graph: &Graph<'_>,
) -> Term<'a> {
    let node = |node: &Node<'_>| {
        let address = decoder.address(env, machine, node.actor, None);
        (address, behaviour(env, node.behaviour))
    };
    let nodes: Vec<_> = graph.nodes.iter().map(node).collect();
    let edge = |edge: &Edge| (edge.from, edge.capture, edge.to);
    let edges: Vec<_> = graph.edges.iter().map(edge).collect();
    (nodes, edges, graph.truncated).encode(env)
}

/// `{module, name, captures}`
fn behaviour(env: Env<'_>, name: BehaviourName) -> Term<'_> {
    let module = atoms::to_term(env, name.module);
    (module, atoms::to_term(env, name.name), name.captures).encode(env)
}
