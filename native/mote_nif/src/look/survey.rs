//! Looking inside of a machine while it stands still: the answers are built on the dispatch thread that looks.
use crate::codec::decode::Decoder;
use crate::deliver::mail::tell;
use crate::deliver::message::post;
use crate::enter::question::inquiry;
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::held::structs;
use crate::term::atoms::{self, names};
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::BehaviourName;
use mote_vm::look::graph::{Edge, Graph, GraphNode};
use mote_vm::look::survey::Survey;
use mote_vm::look::Figure;
use mote_vm::machine::{Inspection, Machine};
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Env, Term};

/// Puts a question that a survey answers.
pub fn survey<'a>(
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

pub fn answer(
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

pub fn figures<'a>(
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

pub fn graph<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    machine: &Machine,
    graph: &Graph<'_>,
) -> Term<'a> {
    let node = |node: &GraphNode<'_>| {
        let address = decoder.address(env, machine, node.actor, None);
        (address, behaviour(env, node.behaviour))
    };
    let nodes: Vec<_> = graph.nodes.iter().map(node).collect();
    let edge = |edge: &Edge| (edge.from, edge.capture, edge.to);
    let edges: Vec<_> = graph.edges.iter().map(edge).collect();
    (nodes, edges, graph.truncated).encode(env)
}

/// `{module, name, captures}`
pub fn behaviour(env: Env<'_>, name: BehaviourName) -> Term<'_> {
    let module = atoms::to_term(env, name.module);
    (module, atoms::to_term(env, name.name), name.captures).encode(env)
}

pub fn show(customer: &Customer, machine: &Machine, seen: Inspection<'_>) {
    if !customer.claim() {
        return;
    }
    tell(machine, customer.pid(), |env, decoder| {
        decoder.look();
        let captures: Vec<_> = seen
            .captures
            .iter()
            .map(|capture| decoder.term(env, machine, *capture))
            .collect();
        let behaviour =
            structs::behaviour(env, machine, seen.behaviour, make_tuple(env, &captures));
        let sponsor = atoms::to_term(env, seen.sponsor);
        let pinned = atoms::to_term(env, seen.pinned.unwrap_or(VmAtom::NIL));
        let figures = (seen.queued, seen.bytes, seen.complete);
        customer.tagged(env, (behaviour, sponsor, pinned, figures).encode(env))
    });
}
