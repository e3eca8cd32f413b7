//! Makes the form in which a turn is shown (watching/shown_turn.rs).
//!
//! Turns keep no list of the actors that they create: they may run as native code. But addresses cannot be made up. So an address
//! in the staged effects that cannot be reached from the actor, the captures and the message is that of a new actor. A new actor
//! that the staged effects do not reach is garbage already. An aborted turn is shown as aborted, with its new actors; these are
//! not addresses (turn/staged.rs).
use crate::base::ids::BehaviourName;
use crate::code::program::BehaviourCode;
use crate::threads::run_turn::Verdict;
use crate::threads::sponsor::Sponsors;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::turns::turn::at_commit::{Due, TimerStep};
use crate::turns::turn::staged::Staged;
use crate::turns::turn::Turn;
use crate::values::actor::{captured, Actor, BehaviourId};
use crate::values::term::{ActorRef, Term};
use crate::values::value::Value;
use crate::watching::reach::{captures, Reach};
use crate::watching::shown_turn::{Created, Seen, SeenDue, SeenEffects, SeenOutcome, TurnSeen};

/// Effects of one kind that are shown; and cells that are looked at for new actors.
const SHOWN: usize = 100;
const MOST_CELLS: usize = 100_000;

impl Dispatch {
    /// The turn that has just run, as it is about to be committed or undone.
    pub(crate) fn seen(
        &self,
        event: Event,
        behaviour: &BehaviourCode,
        verdict: &Verdict,
    ) -> TurnSeen<'_> {
        // SAFETY: its event was queued, so it is alive; it is unchanged until the commit.
        let actor = unsafe { &*event.target };
        let mut effects = SeenEffects::default();
        let outcome = match verdict {
            Verdict::Commits => {
                let look = StagedLook::at(self, Staged::certain(&self.turn));
                look.at_effects(&mut effects);
                look.at_new(event, None, &mut effects);
                SeenOutcome::Committed
            }
            Verdict::Aborted(reason) => {
                let look = StagedLook::at(self, Staged::undone(&self.turn));
                look.at_new(event, Some(*reason), &mut effects);
                SeenOutcome::Aborted(look.seen(*reason))
            }
            // A turn that is postponed is not looked at.
            Verdict::Ignored | Verdict::Postponed => SeenOutcome::Ignored,
        };
        let captures = captured(behaviour.captures as usize, actor.state());
        TurnSeen {
            sponsor: self.context.sponsor.name,
            actor: ActorRef::new(event.target),
            behaviour: self.turn.around.program.name(actor.header().behaviour()),
            captures: captures.map(Term::new).collect(),
            message: Term::new(event.message),
            outcome,
            effects,
            fuel: self.turn.spent(),
        }
    }
}

/// The look at what a turn has staged.
struct StagedLook<'m> {
    turn: &'m Turn,
    sponsors: &'m Sponsors,
    staged: Staged<'m>,
}

impl<'m> StagedLook<'m> {
    fn at(thread: &'m Dispatch, staged: Staged<'m>) -> StagedLook<'m> {
        StagedLook {
            turn: &thread.turn,
            sponsors: thread.context.machine.sponsors(),
            staged,
        }
    }

    fn seen(&self, value: Value) -> Seen<'m> {
        Term::of(value, self.staged)
    }

    fn at_effects(&self, effects: &mut SeenEffects<'m>) {
        let turn = self.turn;
        let seen = |value| self.seen(value);
        let mut omitted = 0;
        turn.queue.each_since(&turn.savepoint.queue, |sent| {
            let target = Value::address(sent.target);
            match effects.sends.len() < SHOWN {
                true => effects.sends.push((seen(target), seen(sent.message))),
                false => omitted += 1,
            }
        });
        for sent in &turn.at_commit.outgoing {
            let (target, message) = (seen(sent.target), seen(sent.message));
            if effects.sends.len().max(effects.sendx.len()) >= SHOWN {
                omitted += 1;
            } else if sent.sponsor.is_none() {
                effects.sends.push((target, message));
            } else {
                effects.sendx.push((seen(sent.sponsor), target, message));
            }
        }
        for step in &turn.at_commit.timers {
            if effects.timers.len().max(effects.cancels.len()) >= SHOWN {
                omitted += 1;
                continue;
            }
            match step {
                TimerStep::Cancel(timer) => effects.cancels.push(seen(*timer)),
                TimerStep::Arm {
                    due,
                    target,
                    message,
                    ..
                } => {
                    let due = match due {
                        Due::After(milliseconds) => SeenDue::After(*milliseconds),
                        Due::End(process) => SeenDue::End(seen(*process)),
                    };
                    effects.timers.push((due, seen(*target), seen(*message)));
                }
            }
        }
        effects.become_ = turn.becoming().map(|(id, state)| self.described(id, state));
        effects.omitted += omitted;
    }

    /// The new actors, also those that are only in the reason of an abort.
    fn at_new(&self, event: Event, reason: Option<Value>, effects: &mut SeenEffects<'m>) {
        let created = self.turn.counts.creates - self.turn.savepoint.creates;
        if created > 0 {
            let found = self.created(event, reason);
            effects.omitted += created.saturating_sub(found.len() as u64);
            effects.creates = found;
        }
    }

    /// The actors that the turn has created, as far as they can be reached from what it has staged.
    fn created(&self, event: Event, reason: Option<Value>) -> Vec<Created<'m>> {
        let turn = self.turn;
        let mut given = Reach::limited(&turn.around.program, MOST_CELLS);
        given.meet(event.target);
        // SAFETY: as in `seen`.
        given.scan_actor(unsafe { &*event.target }, |_| ());
        given.scan(event.message, &mut |_| ());
        if given.is_full() {
            return Vec::new();
        }
        let mut fresh = Fresh {
            given,
            staged: Reach::limited(&turn.around.program, MOST_CELLS),
            found: Vec::new(),
        };
        turn.queue.each_since(&turn.savepoint.queue, |sent| {
            fresh.look(Value::address(sent.target));
            fresh.look(sent.message);
        });
        for sent in &turn.at_commit.outgoing {
            fresh.look(sent.target);
            fresh.look(sent.message);
        }
        for step in &turn.at_commit.timers {
            if let TimerStep::Arm {
                target, message, ..
            } = step
            {
                fresh.look(*target);
                fresh.look(*message);
            }
        }
        if let Some((id, state)) = turn.becoming() {
            let n = turn.around.program.behaviour(id).captures as usize;
            captured(n, state).for_each(|value| fresh.look(value));
        }
        reason.into_iter().for_each(|value| fresh.look(value));
        let mut at = 0;
        while at < fresh.found.len() {
            // SAFETY: what is staged reaches it, so it is alive.
            let actor = unsafe { &*fresh.found[at] };
            captures(&turn.around.program, actor).for_each(|value| fresh.look(value));
            at += 1;
        }
        fresh
            .found
            .into_iter()
            .map(|actor| self.new_actor(actor))
            .collect()
    }

    fn new_actor(&self, actor: *const Actor) -> Created<'m> {
        // SAFETY: as above.
        let record = unsafe { &*actor };
        let header = record.header();
        let (behaviour, captures) = self.described(header.behaviour(), record.state());
        Created {
            actor: self.seen(Value::address(actor)),
            behaviour,
            captures,
            pinned: header.pinned().map(|id| self.sponsors.by_id(id).name),
        }
    }

    fn described(&self, id: BehaviourId, state: Value) -> (BehaviourName, Vec<Seen<'m>>) {
        let program = &self.turn.around.program;
        let n = program.behaviour(id).captures as usize;
        let captures = captured(n, state).map(|value| self.seen(value));
        (program.name(id), captures.collect())
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
