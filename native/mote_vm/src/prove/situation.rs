//! A situation: what the actors of a machine are between two turns, what waits for them, and what the outside has heard.
use crate::code::op::Op;
use crate::code::program::Program;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::value::Value;
use crate::watching::reach::captures;
use std::rc::Rc;

/// The one who has sent an event, as far as the order of events depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SentBy {
    /// Nobody's other events are ordered with it.
    Any,
    /// Somebody who sends nothing more, told from others by a number.
    Gone(u32),
    Actor(*const Actor),
    /// The actor gives it back to itself, before all that waits.
    Itself,
}

/// An event that waits.
#[derive(Clone, Copy)]
pub(super) struct WaitingEvent {
    pub(super) target: *const Actor,
    pub(super) sender: SentBy,
    pub(super) message: Value,
}

/// A message that has left the machine, and who was to get it: a number of the search.
#[derive(Clone, Copy)]
pub(super) struct Heard {
    pub(super) by: u32,
    pub(super) message: Value,
}

/// See the head of this file. Values and actors are in the heap that the search writes to.
#[derive(Clone, Default)]
pub(super) struct Situation {
    /// The actors that the outside holds, in an order that does not change.
    pub(super) roots: Rc<[*const Actor]>,
    /// Of one sender to one actor, the oldest first.
    pub(super) pending: Vec<WaitingEvent>,
    /// Of those that one of them has heard, the oldest first.
    pub(super) heard: Vec<Heard>,
    /// The actors that have stashed something: they wait, whoever knows of them.
    pub(super) keepers: Vec<*const Actor>,
}

/// Returns whether an actor's behaviour never becomes: its turns have no order.
pub(super) fn is_safe(program: &Program, actor: *const Actor) -> bool {
    // SAFETY: actors of a situation are live.
    let id = unsafe { (*actor).header() }.behaviour();
    program.behaviour(id).safe
}

/// Returns whether an actor has stashed something: its behaviour gives back what it captures last, and that is not empty.
pub(super) fn keeps_something(program: &Program, actor: *const Actor) -> bool {
    // SAFETY: actors of a situation are live.
    let actor = unsafe { &*actor };
    let kept = captures(program, actor).last();
    kept.is_some_and(Value::is_cons) && {
        let code = &program.behaviour(actor.header().behaviour()).code;
        let gives_back = |op: &Op| matches!(op, Op::Unstash { .. });
        code.ops.iter().any(gives_back)
    }
}

/// Returns whether a behaviour takes no messages at all.
pub(super) fn is_sink(program: &Program, id: BehaviourId) -> bool {
    matches!(program.behaviour(id).code.ops.first(), Some(Op::Ignore))
}

impl Situation {
    /// The events that may be next, by their places.
    pub(super) fn enabled(&self, program: &Program) -> Vec<usize> {
        let all = 0..self.pending.len();
        all.filter(|at| self.may_be_next(program, *at)).collect()
    }

    fn may_be_next(&self, program: &Program, at: usize) -> bool {
        let WaitingEvent { target, sender, .. } = self.pending[at];
        let of = |pending: &&WaitingEvent| pending.target == target;
        let is_given_back = |pending: &WaitingEvent| pending.sender == SentBy::Itself;
        let same = |pending: &WaitingEvent| pending.sender == sender;
        let (before, behind) = self.pending.split_at(at);
        if sender == SentBy::Itself {
            return !before.iter().filter(of).any(is_given_back);
        }
        let waits = before.iter().chain(behind).filter(of).any(is_given_back);
        let is_open = sender == SentBy::Any || is_safe(program, target);
        !waits && (is_open || !before.iter().filter(of).any(same))
    }

    /// The number of messages that a foreign value has heard.
    pub(super) fn heard_by(&self, by: u32) -> usize {
        self.heard.iter().filter(|heard| heard.by == by).count()
    }

    /// The number of events of the same sender that wait for the same actor before that one.
    pub(super) fn place(&self, at: usize) -> usize {
        let WaitingEvent { target, sender, .. } = self.pending[at];
        if sender == SentBy::Any {
            return 0;
        }
        let same = |other: &&WaitingEvent| (other.target, other.sender) == (target, sender);
        self.pending[..at].iter().filter(same).count()
    }
}
