//! Traces: turns as messages to a process; pausing and stepping.
use crate::atoms::{self, names, Name};
use crate::customer::inquiry;
use crate::decode::Decoder;
use crate::mail::tell;
use crate::message::post;
use crate::own_term::OwnTerm;
use crate::pattern::Pattern;
use crate::resources::{parse_key, MachineResource};
use crate::terms;
use mote_vm::base::atom::Atom;
use mote_vm::base::ids::BehaviourName;
use mote_vm::look::pause::StepError;
use mote_vm::look::trace::{Filter, Traced, Witness};
use mote_vm::look::turn::{Created, Outcome, TurnSeen};
use mote_vm::machine::Machine;
use mote_vm::{Origin, Term as Value};
use rustler::types::tuple::make_tuple;
use rustler::{Atom as BeamAtom, Encoder, Env, LocalPid, ResourceArc, Term};

/// A process that is shown turns.
struct Process {
    pid: LocalPid,
    reference: OwnTerm,
    pattern: Option<Pattern>,
}

impl Witness for Process {
    fn wants(&self, message: Value<'_>) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.matches(message))
    }

    fn turn(&self, machine: &Machine, number: u64, seen: &TurnSeen<'_>) -> bool {
        post(&self.pid, |env, decoder| {
            let turn = turn(env, decoder, machine, number, seen);
            (names::trace(), self.reference.to(env), turn).encode(env)
        })
    }

    fn limit(&self, _: &Machine) {
        post(&self.pid, |env, _| {
            (names::trace(), self.reference.to(env), names::limit()).encode(env)
        });
    }
}

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
    let given = |Name(name): Name| Some(name).filter(|name| *name != Atom::NIL);
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
    let witness = Process {
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

/// Pauses or resumes: `:ok` or `:stopped`. Threads see it after their batch; all are woken, and there may be many.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_pause(machine: &MachineResource, paused: bool) -> BeamAtom {
    match machine.running() {
        Some(running) if paused => running.pause(),
        Some(running) => running.resume(),
        None => return names::stopped(),
    }
    names::ok()
}

/// Runs one turn of a paused machine. The answer is the turn, or `:idle`; or why not: `:running`, `:no_sponsor`,
/// `:many_threads`, `:stopped`.
#[rustler::nif]
fn machine_step<'a>(env: Env<'a>, machine: Term<'a>, sponsor: Name, tag: Term<'a>) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    let sponsor = Some(sponsor.0).filter(|name| *name != Atom::NIL);
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
            })
    })
}

/// Whether a pattern is one: `:ok` or `:no_pattern`.
#[rustler::nif]
fn check_pattern(pattern: Term<'_>) -> BeamAtom {
    match Pattern::of(pattern) {
        Some(_) => names::ok(),
        None => names::no_pattern(),
    }
}

/// `%Mote.Trace.Turn{}`
fn turn<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    machine: &Machine,
    number: u64,
    seen: &TurnSeen<'_>,
) -> Term<'a> {
    let effects = &seen.effects;
    let mut make = Maker {
        env,
        decoder,
        machine,
    };
    let outcome = match seen.outcome {
        Outcome::Committed => names::commit().to_term(env),
        Outcome::Ignored => names::ignored().to_term(env),
        Outcome::Aborted(why) => (names::abort(), make.value(why)).encode(env),
    };
    let sends: Vec<_> = effects
        .sends
        .iter()
        .map(|(target, message)| (make.value(*target), make.value(*message)))
        .collect();
    let sendx: Vec<_> = effects
        .sendx
        .iter()
        .map(|(by, target, message)| (make.value(*by), make.value(*target), make.value(*message)))
        .collect();
    let timers: Vec<_> = effects
        .timers
        .iter()
        .map(|(ms, target, message)| (*ms, make.value(*target), make.value(*message)))
        .collect();
    let cancels: Vec<_> = effects
        .cancels
        .iter()
        .map(|timer| make.value(*timer))
        .collect();
    let creates: Vec<_> = effects
        .creates
        .iter()
        .map(|new| make.created(new))
        .collect();
    let next = match &effects.become_ {
        Some((name, captures)) => make.behaviour(*name, captures),
        None => names::nil().to_term(env),
    };
    terms::map(
        env,
        [
            (names::__struct__(), names::turn().to_term(env)),
            (names::number(), number.encode(env)),
            (names::sponsor(), atoms::to_term(env, seen.sponsor)),
            (
                names::actor(),
                make.decoder.address(env, machine, seen.actor, None),
            ),
            (
                names::behaviour_key(),
                make.behaviour(seen.behaviour, &seen.captures),
            ),
            (names::message(), make.value(seen.message)),
            (names::outcome(), outcome),
            (names::sends(), sends.encode(env)),
            (names::sendx(), sendx.encode(env)),
            (names::creates(), creates.encode(env)),
            (names::timers(), timers.encode(env)),
            (names::cancels(), cancels.encode(env)),
            (names::become_(), next),
            (names::omitted(), effects.omitted.encode(env)),
            (names::fuel(), seen.fuel.encode(env)),
        ],
    )
}

/// Makes the parts of a turn's term. Of each value only the beginning is shown.
struct Maker<'m, 'a> {
    env: Env<'a>,
    decoder: &'m mut Decoder,
    machine: &'m Machine,
}

impl<'a> Maker<'_, 'a> {
    fn value<'v, O: Origin<'v>>(&mut self, value: Value<'v, O>) -> Term<'a> {
        self.decoder.glance(self.env, self.machine, value)
    }

    fn behaviour<'v, O: Origin<'v>>(
        &mut self,
        name: BehaviourName,
        captures: &[Value<'v, O>],
    ) -> Term<'a> {
        let captures: Vec<_> = captures.iter().map(|value| self.value(*value)).collect();
        terms::behaviour(
            self.env,
            self.machine,
            name,
            make_tuple(self.env, &captures),
        )
    }

    /// `{address, behaviour}`, or with the sponsor that it is pinned to.
    fn created(&mut self, new: &Created<'_>) -> Term<'a> {
        let address = self.value(new.actor);
        let behaviour = self.behaviour(new.behaviour, &new.captures);
        match new.pinned {
            Some(sponsor) => {
                (address, behaviour, atoms::to_term(self.env, sponsor)).encode(self.env)
            }
            None => (address, behaviour).encode(self.env),
        }
    }
}
