//! Looking inside of a machine while it stands still: the answers are built on the dispatch thread that looks.
use crate::codec::decode::Decoder;
use crate::deliver::mail::tell;
use crate::deliver::message::post;
use crate::enter::question::inquiry;
use crate::held::foreign::Awaiting;
use crate::held::lives::present;
use crate::held::machine::MachineResource;
use crate::held::question::{Customer, Question};
use crate::held::structs;
use crate::term::atoms::{self, names};
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::BehaviourName;
use mote_vm::look::graph::{Edge, Graph, GraphNode};
use mote_vm::look::holders::HeldIn;
use mote_vm::look::survey::Survey;
use mote_vm::look::Figure;
use mote_vm::machine::{Inspection, Machine};
use mote_vm::values::foreign::ForeignRef;
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Env, Term};
use std::cmp::Reverse;
use std::sync::Arc;

/// Puts a question that a survey answers.
pub fn survey<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    look: impl for<'e> FnOnce(Env<'e>, &mut Decoder, &mut Survey<'_>) -> Term<'e> + Send + 'static,
) -> Term<'a> {
    let machine = present(machine);
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

/// The actors that keep customers: of open questions, or of one question, which may have been given up.
pub fn waiting<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    survey: &Survey<'_>,
    wanted: Option<&Arc<Question>>,
    n: usize,
) -> Term<'a> {
    let customer = |value: &ForeignRef| {
        let waiting: Option<&Awaiting> = value.as_any().downcast_ref();
        waiting.is_some_and(|waiting| {
            let question = &waiting.customer().question;
            wanted.map_or(question.is_open(), |wanted| Arc::ptr_eq(wanted, question))
        })
    };
    let mut found = Vec::new();
    survey.holders(customer, |holder, value| {
        let waiting: Option<&Awaiting> = value.as_any().downcast_ref();
        found.extend(waiting.map(|waiting| {
            let customer = waiting.customer();
            (customer.question.age(), customer.pid, holder)
        }));
    });
    found.sort_by_key(|(age, ..)| Reverse(*age));
    found.truncate(n);
    let shown = found.iter().map(|(age, pid, holder)| {
        let address = decoder.address(env, survey.machine(), holder.actor, None);
        let held = match holder.held {
            HeldIn::State => names::state(),
            HeldIn::Message => names::message(),
            HeldIn::Turn => names::running(),
            HeldIn::Timer => names::later(),
        };
        let age = age.as_millis() as u64;
        (address, behaviour(env, holder.behaviour), held, *pid, age).encode(env)
    });
    shown.collect::<Vec<_>>().encode(env)
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
    (module, atoms::to_term(env, name.written), name.captures).encode(env)
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
        let behaviour = structs::behaviour(
            env,
            machine,
            seen.behaviour.shown(),
            make_tuple(env, &captures),
        );
        let sponsor = atoms::to_term(env, seen.sponsor);
        let pinned = atoms::to_term(env, seen.pinned.unwrap_or(VmAtom::NIL));
        let figures = (seen.queued, seen.bytes, seen.complete);
        let written = seen.behaviour.captures;
        customer.tagged(
            env,
            (
                (behaviour, written),
                (sponsor, seen.thread),
                pinned,
                figures,
            )
                .encode(env),
        )
    });
}
