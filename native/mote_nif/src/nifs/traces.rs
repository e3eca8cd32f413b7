//! Traces: turns as messages to a process; pausing and stepping.
use crate::deliver::mail::tell;
use crate::enter::question::inquiry;
use crate::held::handle::parse_key;
use crate::held::machine::MachineResource;
use crate::look::trace::{turn, ProcessWitness};
use crate::term::atoms::{names, Name};
use crate::term::own_term::OwnTerm;
use crate::term::pattern::Pattern;
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::look::pause::StepError;
use mote_vm::machine::Machine;
use mote_vm::watching::shown_turn::TurnSeen;
use mote_vm::watching::trace::{Filter, Traced};
use rustler::{Atom, Encoder, Env, LocalPid, Term};

/// Shows turns to a process from now on: the number of the trace, or `:stopped`, `:unknown`. `filter` is `{module,
/// behaviour, key, sponsor, pattern}`, each `nil` if it does not matter, the pattern in a tuple of one.
#[rustler::nif]
fn machine_trace<'a>(
    env: Env<'a>,
    machine: &MachineResource,
    filter: (Name, Name, Term<'a>, Name, Term<'a>),
    (pid, reference): (LocalPid, Term<'a>),
    limit: u64,
) -> Term<'a> {
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    let (module, behaviour, key, sponsor, pattern) = filter;
    let given = |Name(name): Name| Some(name).filter(|name| *name != VmAtom::NIL);
    let mut filter = Filter {
        module: given(module),
        behaviour: given(behaviour),
        actor: None,
        sponsor: given(sponsor),
    };
    if let Some(key) = parse_key(key) {
        if !filter.of_actor(running, key) {
            return names::unknown().encode(env);
        }
    }
    let witness = ProcessWitness {
        pid,
        reference: OwnTerm::copy(reference),
        pattern: pattern
            .decode()
            .ok()
            .and_then(|(pattern,)| Pattern::of(pattern)),
    };
    running.trace(filter, limit, Box::new(witness)).encode(env)
}

/// Ends a trace: `{shown, dropped}`, `:ended` if it has ended by itself, `:stopped`.
#[rustler::nif]
fn machine_trace_end<'a>(env: Env<'a>, machine: &MachineResource, number: u64) -> Term<'a> {
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    match running.end_trace(number) {
        Some(Traced { shown, dropped }) => (shown, dropped).encode(env),
        None => names::ended().encode(env),
    }
}

/// Pauses or resumes: `:ok`, `:stopped`, or `:not_durable` of a replay. Threads see it after their batch; all are woken, and there may be many.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_pause(machine: &MachineResource, paused: bool) -> Atom {
    match machine.running() {
        Some(running) if paused => running.pause(),
        Some(running) if running.is_replay() => return names::not_durable(),
        Some(running) => running.resume(),
        None => return names::stopped(),
    }
    names::ok()
}

/// Runs one turn of a paused machine. The answer is the turn, or `:idle`; or why not: `:running`, `:no_sponsor`,
/// `:many_threads`, `:stopped`, or `:not_durable` of a replay.
#[rustler::nif]
fn machine_step_turn<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    sponsor: Name,
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    let sponsor = Some(sponsor.0).filter(|name| *name != VmAtom::NIL);
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let see = move |machine: &Machine, seen: Option<&TurnSeen<'_>>| {
            if !customer.claim() {
                return;
            }
            tell(machine, customer.pid(), |env, decoder| {
                let answer = match seen {
                    Some(seen) => turn(env, decoder, machine, 0, seen),
                    None => names::idle().to_term(env),
                };
                customer.tagged(env, answer)
            });
        };
        running
            .step(sponsor, Box::new(see))
            .map_err(|error| match error {
                StepError::Running => names::running(),
                StepError::Unknown => names::no_sponsor(),
                StepError::ManyThreads => names::many_threads(),
                StepError::Replayed => names::not_durable(),
            })
    })
}

/// Returns `:ok` if the term is a pattern, otherwise `:no_pattern`.
#[rustler::nif]
fn check_pattern(pattern: Term<'_>) -> Atom {
    match Pattern::of(pattern) {
        Some(_) => names::ok(),
        None => names::no_pattern(),
    }
}
