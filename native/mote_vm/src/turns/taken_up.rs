//! Messages that an actor has taken up, and stashes once more.
//!
//! An actor that waits for an answer to each request takes up all that it has stashed, becomes one that waits because of the
//! first of these messages, and stashes the others again. How their turns end is known before, so they are made here, without
//! running code.
//!
//! Invariants:
//! 1. What is done here is what their turns would have done: the messages are kept in their order, and each counts as a turn
//!    with a become. Where somebody watches turns, all of them run.
//! 2. That is done only with messages that the same version of the behaviour has stashed before, and of which it says that it
//!    would do so again (`:again`, guides/ir.md). What an older version has stashed cannot be told from what this one has, so
//!    none is remembered where there was one.
//!    (An actor that was created with such a list has stashed it, as far as can be told.)
//! 3. A turn that gives messages back is followed by these, and makes none of what was given back before.
//! 4. A message is known again by its word. Within a batch no memory is reclaimed, so the same word is the same value.
use crate::turns::queue::Event;
use crate::turns::turn::Turn;
use crate::values::actor::{captured, BehaviourId};
use crate::values::value::Value;

/// Number of messages kept at once: about as long as some long turns. Room for more is not kept.
const MOST: usize = 1 << 12;
/// Number of messages that take about as long as a small turn.
const IN_A_TURN: usize = 8;

/// The messages that an actor has taken up in this batch.
#[derive(Default)]
pub(crate) struct TakenUp {
    /// True while a batch runs that nobody watches.
    remembers: bool,
    /// The behaviour that had stashed it.
    behaviour: Option<BehaviourId>,
    /// The oldest first; empty where nothing is remembered.
    events: Vec<Event>,
    /// Room for what is given back next.
    pub(crate) spare: Vec<Event>,
    /// Number of turns that this thread had counted by then.
    turns: u64,
}

impl TakenUp {
    /// A batch begins.
    pub(crate) fn begin(&mut self) {
        self.remembers = true;
    }

    /// Returns whether the end of a turn has nothing to keep again.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Ends the batch (invariant 4).
    pub(crate) fn end(&mut self) {
        self.remembers = false;
        self.events.clear();
        self.events.shrink_to(MOST);
    }

    /// Remembers what a turn has given back if `left`, the behaviour that it was stashed by, would stash it again. It comes before
    /// what was given back earlier, which is forgotten.
    pub(crate) fn remember(&mut self, turn: &Turn, left: Option<BehaviourId>, events: Vec<Event>) {
        self.spare = std::mem::replace(&mut self.events, events);
        self.spare.clear();
        self.spare.shrink_to(MOST);
        match self.remembers && left.is_some() {
            true => (self.behaviour, self.turns) = (left, turn.counts.turns),
            false => self.events.clear(),
        }
    }

    /// Stashes what the actor still has to take up, at the end of a turn after which it is again what it was when it stashed.
    /// Returns the cost, in units of a small turn.
    pub(crate) fn keep_again(&self, turn: &mut Turn, event: Event) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let done = (turn.counts.turns - self.turns) as usize;
        let rest = self.events.get(done..).unwrap_or(&[]);
        let becoming = turn.becoming();
        let Some((id, state)) = becoming.filter(|(id, _)| Some(*id) == self.behaviour) else {
            return 0;
        };
        if rest.first().is_none_or(|next| next.target != event.target) {
            return 0;
        }
        let n = turn.around.program.behaviour(id).captures as usize;
        let mut captures: Vec<Value> = captured(n, state).collect();
        // What is stashed is the last one.
        let Some(kept) = captures.last_mut() else {
            return 0;
        };
        let mut count = 0;
        for next in rest.iter().take(MOST) {
            let waits = turn.queue.next_before(&turn.savepoint.queue);
            if !waits
                .is_some_and(|event| (event.target, event.message) == (next.target, next.message))
            {
                break;
            }
            let more = turn.heap.cons(next.message, *kept);
            if more.is_none() {
                break;
            }
            *kept = more;
            turn.queue.take_before(&turn.savepoint.queue);
            count += 1;
        }
        match turn.heap.captures(n, |i| captures[i]) {
            Some(state) => turn.become_next(id, state),
            None => {
                turn.queue.prepend(&rest[..count]);
                count = 0;
            }
        }
        // What could not be made here is made by turns of its own, or they are aborted.
        turn.heap.forgive();
        turn.counts.turns += count as u64;
        turn.counts.becomes += count as u64;
        (count / IN_A_TURN) as u64
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::testing::still::Still;
    use crate::turns::interpreter::no_answer;

    #[test]
    fn what_there_is_no_memory_for_is_left_to_turns_of_its_own() {
        // As many cells as that can be made; a state of two captures takes one more.
        for (captures, made, kept) in [(1, 0, 0), (1, 1, 1), (1, 2, 2), (2, 2, 0), (2, 3, 2)] {
            let mut still = Still::new(1);
            let turn = &mut still.thread.turn;
            let id = turn.around.program.publish_capturing(captures);
            let events = [1, 2, 3].map(|n| Event {
                target: turn.create(id, Value::EMPTY_LIST).address_pointer(),
                message: Value::fixnum(n),
            });
            let events = events.map(|event| Event {
                target: events[0].target,
                ..event
            });
            let taken_up = TakenUp {
                behaviour: Some(id),
                events: events.to_vec(),
                ..TakenUp::default()
            };
            for event in events {
                turn.queue.push(event.target, event.message);
            }
            let first = turn.queue.pop().expect("queued");
            turn.begin(first);
            let state = match captures {
                1 => Some(Value::EMPTY_LIST),
                n => turn.heap.captures(n as usize, |_| Value::EMPTY_LIST),
            };
            turn.become_next(id, state.expect("memory"));
            turn.counts.turns += 1;
            turn.heap.refused_after = Some(made);
            taken_up.keep_again(turn, first);
            turn.commit();
            let left: Vec<_> = std::iter::from_fn(|| turn.queue.pop()).collect();
            assert_eq!((left.len(), turn.counts.turns), (2 - kept, 1 + kept as u64));
            let has_refused = turn.heap.refused_after.take().is_none();
            assert_eq!(
                has_refused,
                (captures, made) != (1, 2) && (captures, made) != (2, 3)
            );
            // The next turn does not lack memory.
            assert!(no_answer(turn).is_ok());
        }
    }
}
