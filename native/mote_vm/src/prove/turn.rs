//! One turn of a search: run by the code that runs any other turn, looked at, and undone.
use super::parts::Components;
use super::situation::{is_sink, keeps_something, Heard, SentBy, Situation, WaitingEvent};
use crate::base::atom::Atom;
use crate::code::program::Program;
use crate::threads::run_turn::Verdict;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::turns::turn::at_commit::TimerStep;
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use smallvec::SmallVec;

/// How a turn ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeedEnd {
    Commits,
    Ignored,
    Aborted,
    /// There was no memory for it, or the machine stops: nothing is known.
    Broken,
}

/// The events that a turn queues, in the order in which a machine does.
#[derive(Default)]
pub(super) struct NewEvents {
    /// Those that the actor gives back to itself, which come before all others.
    pub(super) first: Vec<WaitingEvent>,
    pub(super) last: SmallVec<[WaitingEvent; 4]>,
}

/// Everything that a turn does, staged.
pub(super) struct Deed {
    pub(super) end: DeedEnd,
    pub(super) becomes: Option<(BehaviourId, Value)>,
    pub(super) queued: NewEvents,
    pub(super) heard: Vec<Heard>,
    /// It has sent something to what is no address.
    pub(super) drops: bool,
    /// It has armed a timer.
    pub(super) arms: bool,
}

impl Deed {
    fn nothing(end: DeedEnd) -> Deed {
        Deed {
            end,
            becomes: None,
            queued: NewEvents::default(),
            heard: Vec::new(),
            drops: false,
            arms: false,
        }
    }
}

impl Dispatch {
    /// Runs an event's turn and leaves it staged, to be undone by `forget_rehearsal`. `ordered`: messages of one actor to
    /// another keep their order.
    pub(super) fn act_out(
        &mut self,
        pending: &WaitingEvent,
        ordered: bool,
        parts: &mut Components,
    ) -> Deed {
        let event = Event {
            target: pending.target,
            message: pending.message,
        };
        // SAFETY: actors of a situation are live.
        let id = unsafe { (*event.target).header() }.behaviour();
        match self.rehearse(event) {
            Verdict::Commits => {}
            // It is there for that.
            Verdict::Ignored if is_sink(&self.turn.around.program, id) => {
                return Deed::nothing(DeedEnd::Commits)
            }
            Verdict::Ignored => return Deed::nothing(DeedEnd::Ignored),
            Verdict::Aborted(reason) => {
                let lacks = [Atom::NO_MEMORY, Atom::STOPPED, Atom::KILLED];
                let is_broken = lacks.iter().any(|atom| reason == Value::atom(*atom));
                let end = if is_broken {
                    DeedEnd::Broken
                } else {
                    DeedEnd::Aborted
                };
                return Deed::nothing(end);
            }
            Verdict::Postponed => return Deed::nothing(DeedEnd::Broken),
        }
        let is_safe = self.turn.around.program.behaviour(id).safe;
        let sender = match ordered && !is_safe {
            true => SentBy::Actor(event.target),
            false => SentBy::Any,
        };
        let mut deed = Deed::nothing(DeedEnd::Commits);
        deed.becomes = self.turn.becoming();
        let given_back = self.turn.unstashed(&mut Vec::new());
        let waits = |sender: SentBy| {
            move |Event { target, message }: Event| WaitingEvent {
                target,
                sender,
                message,
            }
        };
        deed.queued.first = given_back.into_iter().map(waits(SentBy::Itself)).collect();
        let (turn, last) = (&self.turn, &mut deed.queued.last);
        turn.queue.each_since(&turn.savepoint.queue, |event| {
            last.push(waits(sender)(event))
        });
        deed.drops = turn.at_commit.tally.dropped > 0;
        let is_armed = |step: &TimerStep| matches!(step, TimerStep::Arm { .. });
        deed.arms = turn.at_commit.timers.iter().any(is_armed);
        for out in &turn.at_commit.outgoing {
            if !out.target.is_address() {
                deed.heard.push(Heard {
                    by: parts.foreign(out.target),
                    message: out.message,
                });
            } else if out.sponsor == Value::atom(self.context.sponsor.name) {
                let target = out.target.address_pointer();
                let (sender, message) = (SentBy::Any, out.message);
                deed.queued.last.push(WaitingEvent {
                    target,
                    sender,
                    message,
                });
            } else {
                deed.drops = true;
            }
        }
        deed
    }
}

/// Shows the situation after a turn, which is still staged, to `see`.
pub(super) fn after<R>(
    situation: &Situation,
    event: usize,
    deed: &Deed,
    program: &Program,
    see: impl FnOnce(&Situation) -> R,
) -> R {
    let WaitingEvent { target, .. } = situation.pending[event];
    let mut next = situation.clone();
    next.pending.remove(event);
    next.pending.splice(..0, deed.queued.first.iter().copied());
    next.pending.extend(&deed.queued.last);
    next.heard.extend(&deed.heard);
    // SAFETY: actors of a situation are live.
    let actor = unsafe { &*target };
    let before = (actor.header().behaviour(), actor.state());
    if let Some((behaviour, state)) = deed.becomes {
        actor.set(behaviour, state);
        next.keepers.retain(|keeper| *keeper != target);
        if keeps_something(program, target) {
            next.keepers.push(target);
        }
    }
    let seen = see(&next);
    // The other events of the situation find the actor as it was.
    actor.set(before.0, before.1);
    seen
}
