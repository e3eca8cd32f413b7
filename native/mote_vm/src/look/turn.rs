//! One turn, seen when it has run and nothing of it is visible yet: what it was given, how it ended, what it staged.
//!
//! Turns keep no list of the actors that they create: they may run as native code. But nobody makes up addresses, so
//! an address in what a turn has staged that could not be reached from what it was given (its actor, the captures, the
//! message) is that of a new actor; and a new actor that what is staged does not reach is garbage already.
use super::reach::{captured, captures, Reach};
use super::BehaviourName;
use crate::actor::{Actor, BehaviourId};
use crate::atom::Atom;
use crate::code::program::BehaviourCode;
use crate::heap::view::{ActorRef, Term};
use crate::interpreter::{Aborted, End};
use crate::queue::Event;
use crate::thread::Dispatch;
use crate::turn::TimerStep;
use crate::value::Value;

/// Effects of one kind that are shown; and cells that are looked at for new actors.
const SHOWN: usize = 100;
const MOST_CELLS: usize = 100_000;

/// See the head of this file.
pub struct TurnSeen<'m> {
    /// The sponsor whose thread ran it.
    pub sponsor: Atom,
    /// Whose turn it was.
    pub actor: ActorRef<'m>,
    /// The behaviour that it had.
    pub behaviour: BehaviourName,
    /// With these captures.
    pub captures: Vec<Term<'m>>,
    /// The message.
    pub message: Term<'m>,
    /// How it ended.
    pub outcome: Outcome<'m>,
    /// Calls, tail calls and loop steps.
    pub fuel: u64,
}

/// How a turn ended.
pub enum Outcome<'m> {
    /// It commits these.
    Committed(Effects<'m>),
    /// The message matched no clause.
    Ignored,
    /// It was aborted, for this reason.
    Aborted(Term<'m>),
}

/// What a turn commits, the first hundred of each kind.
#[derive(Default)]
pub struct Effects<'m> {
    /// New actors, in the order in which the others mention them.
    pub creates: Vec<Created<'m>>,
    /// Targets and messages: those to actors first, then those to the outside.
    pub sends: Vec<(Term<'m>, Term<'m>)>,
    /// Sponsors, targets and messages.
    pub sendx: Vec<(Term<'m>, Term<'m>, Term<'m>)>,
    /// Milliseconds, targets and messages of timers that are armed. Their references mean nothing before the commit.
    pub timers: Vec<(u64, Term<'m>, Term<'m>)>,
    /// Timers that are cancelled.
    pub cancels: Vec<Term<'m>>,
    /// The new behaviour.
    pub become_: Option<(BehaviourName, Vec<Term<'m>>)>,
    /// Effects that are not shown: beyond the first hundred, and actors that nobody can ever send to.
    pub omitted: u64,
}

/// A new actor.
pub struct Created<'m> {
    /// Its address.
    pub actor: ActorRef<'m>,
    /// Its behaviour.
    pub behaviour: BehaviourName,
    /// What it has captured.
    pub captures: Vec<Term<'m>>,
    /// The sponsor that it is pinned to.
    pub pinned: Option<Atom>,
}

impl Dispatch {
    /// The turn that has just run, as it will be committed or undone.
    pub(super) fn seen(
        &self,
        event: Event,
        behaviour: &BehaviourCode,
        end: &Result<End, Aborted>,
    ) -> TurnSeen<'_> {
        // SAFETY: its event was queued, so it is alive; it is unchanged until the commit.
        let actor = unsafe { &*event.target };
        TurnSeen {
            sponsor: self.turn.place.sponsor.name,
            actor: ActorRef::new(event.target),
            behaviour: self.turn.program.name(actor.header().behaviour()),
            captures: terms(behaviour, actor.state()),
            message: Term::new(event.message),
            outcome: match end {
                Ok(End::Done) => Outcome::Committed(self.effects(event)),
                Ok(End::Ignored) => Outcome::Ignored,
                Err(Aborted(reason)) => Outcome::Aborted(Term::new(*reason)),
            },
            fuel: self.turn.spent(),
        }
    }

    fn effects(&self, event: Event) -> Effects<'_> {
        let turn = &self.turn;
        let mut effects = Effects::default();
        let mut omitted = 0;
        turn.queue.each_since(&turn.savepoint.queue, |sent| {
            let target = Value::address(sent.target);
            match effects.sends.len() < SHOWN {
                true => effects
                    .sends
                    .push((Term::new(target), Term::new(sent.message))),
                false => omitted += 1,
            }
        });
        for sent in &turn.outside {
            let (target, message) = (Term::new(sent.target), Term::new(sent.message));
            if effects.sends.len().max(effects.sendx.len()) >= SHOWN {
                omitted += 1;
            } else if sent.sponsor.is_none() {
                effects.sends.push((target, message));
            } else {
                let sponsor = Term::new(sent.sponsor);
                effects.sendx.push((sponsor, target, message));
            }
        }
        for step in &turn.timers {
            if effects.timers.len().max(effects.cancels.len()) >= SHOWN {
                omitted += 1;
                continue;
            }
            match step {
                TimerStep::Cancel(timer) => effects.cancels.push(Term::new(*timer)),
                TimerStep::Arm {
                    milliseconds,
                    target,
                    message,
                    ..
                } => {
                    let (target, message) = (Term::new(*target), Term::new(*message));
                    effects.timers.push((*milliseconds, target, message));
                }
            }
        }
        effects.become_ = turn.becoming().map(|(id, state)| self.described(id, state));
        let created = turn.counts.creates - turn.savepoint.creates;
        if created > 0 {
            let found = self.created(event);
            omitted += created.saturating_sub(found.len() as u64);
            effects.creates = found;
        }
        effects.omitted = omitted;
        effects
    }

    /// See the head of this file.
    fn created<'m>(&'m self, event: Event) -> Vec<Created<'m>> {
        let turn = &self.turn;
        let mut given = Reach::limited(&turn.program, MOST_CELLS);
        given.meet(event.target);
        // SAFETY: as in `seen`.
        given.scan_actor(unsafe { &*event.target }, |_| ());
        given.scan(event.message, &mut |_| ());
        if given.is_full() {
            return Vec::new();
        }
        let mut fresh = Fresh {
            given,
            staged: Reach::limited(&turn.program, MOST_CELLS),
            found: Vec::new(),
        };
        turn.queue.each_since(&turn.savepoint.queue, |sent| {
            fresh.look(Value::address(sent.target));
            fresh.look(sent.message);
        });
        for sent in &turn.outside {
            fresh.look(sent.target);
            fresh.look(sent.message);
        }
        for step in &turn.timers {
            if let TimerStep::Arm {
                target, message, ..
            } = step
            {
                fresh.look(*target);
                fresh.look(*message);
            }
        }
        if let Some((id, state)) = turn.becoming() {
            let n = turn.program.behaviour(id).captures as usize;
            captured(n, state).for_each(|value| fresh.look(value));
        }
        let mut at = 0;
        while at < fresh.found.len() {
            // SAFETY: what is staged reaches it, so it is alive.
            let actor = unsafe { &*fresh.found[at] };
            captures(&turn.program, actor).for_each(|value| fresh.look(value));
            at += 1;
        }
        fresh
            .found
            .into_iter()
            .map(|actor| self.new_actor(actor))
            .collect()
    }

    fn new_actor<'m>(&'m self, actor: *const Actor) -> Created<'m> {
        // SAFETY: as above.
        let record = unsafe { &*actor };
        let header = record.header();
        let (behaviour, captures) = self.described(header.behaviour(), record.state());
        let sponsors = self.turn.place.machine.sponsors();
        Created {
            actor: ActorRef::new(actor),
            behaviour,
            captures,
            pinned: header.pinned().map(|id| sponsors.by_id(id).name),
        }
    }

    fn described<'m>(&'m self, id: BehaviourId, state: Value) -> (BehaviourName, Vec<Term<'m>>) {
        let program = &self.turn.program;
        (program.name(id), terms(program.behaviour(id), state))
    }
}

/// The search for new actors.
struct Fresh<'p> {
    given: Reach<'p>,
    staged: Reach<'p>,
    found: Vec<*const Actor>,
}

impl Fresh<'_> {
    fn look(&mut self, value: Value) {
        let Fresh {
            given,
            staged,
            found,
        } = self;
        staged.scan(value, &mut |actor| {
            if !given.knows(actor) && found.len() < SHOWN && !found.contains(&actor) {
                found.push(actor);
            }
        });
    }
}

fn terms<'m>(behaviour: &BehaviourCode, state: Value) -> Vec<Term<'m>> {
    captured(behaviour.captures as usize, state)
        .map(Term::new)
        .collect()
}
