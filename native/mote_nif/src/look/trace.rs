//! Turns as messages to a process.
use crate::codec::decode::Decoder;
use crate::deliver::message::post;
use crate::held::structs;
use crate::term::atoms::{self, names};
use crate::term::make;
use crate::term::own_term::OwnTerm;
use crate::term::pattern::Pattern;
use mote_vm::base::ids::BehaviourName;
use mote_vm::values::foreign::Carrier;
use mote_vm::watching::shown_turn::{Created, SeenDue, SeenOutcome, TurnSeen};
use mote_vm::watching::trace::Witness;
use mote_vm::{Origin, Term as VmTerm};
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Env, LocalPid, Term};

/// A process that is shown turns.
pub struct ProcessWitness {
    pub pid: LocalPid,
    pub reference: OwnTerm,
    pub pattern: Option<Pattern>,
}

impl Witness for ProcessWitness {
    fn wants(&self, message: VmTerm<'_>) -> bool {
        let pattern = self.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.matches(message))
    }

    fn turn(&self, machine: &dyn Carrier, number: u64, seen: &TurnSeen<'_>) -> bool {
        post(&self.pid, |env, decoder| {
            let turn = turn(env, decoder, machine, number, seen);
            (names::trace(), self.reference.to(env), turn).encode(env)
        })
    }

    fn limit(&self) {
        post(&self.pid, |env, _| {
            (names::trace(), self.reference.to(env), names::limit()).encode(env)
        });
    }
}

/// `%Mote.Trace.Turn{}`
pub fn turn<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    machine: &dyn Carrier,
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
        SeenOutcome::Committed => names::commit().to_term(env),
        SeenOutcome::Ignored => names::ignored().to_term(env),
        SeenOutcome::Aborted(why) => (names::abort(), make.value(why)).encode(env),
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
        .map(|(due, target, message)| {
            let due = match due {
                SeenDue::After(milliseconds) => milliseconds.encode(env),
                SeenDue::End(process) => make.value(*process),
            };
            (due, make.value(*target), make.value(*message))
        })
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
    make::map(
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
    machine: &'m dyn Carrier,
}

impl<'a> Maker<'_, 'a> {
    fn value<'v, O: Origin<'v>>(&mut self, value: VmTerm<'v, O>) -> Term<'a> {
        self.decoder.glance(self.env, self.machine, value)
    }

    fn behaviour<'v, O: Origin<'v>>(
        &mut self,
        name: BehaviourName,
        captures: &[VmTerm<'v, O>],
    ) -> Term<'a> {
        let captures: Vec<_> = captures.iter().map(|value| self.value(*value)).collect();
        structs::behaviour(
            self.env,
            self.machine,
            name.shown(),
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
