//! Messages that turns give back to their own actor, which then takes them before all others: `again()`, and what was stashed.
//!
//! Invariants:
//! 1. All runs of one message share the fuel of one turn: so an actor that gives a message back without an end is aborted as
//!    one that loops within a turn, and the other actors of the thread are no later for it.
//! 2. What was given back is taken from the front of the queue, the last first. So a message is known by how many wait in front of
//!    what was queued before: when it comes back, there are as many as at its run before, and were more in between.
//! 3. Only turns that give back are counted here. How many others have run since is what the thread has counted. Where other things
//!    come in between (an actor that leaves) a message may count as a new one, and is counted from then on.
//! 4. Turns outside have their messages in a line for each actor, and are counted for each ([`LinesGivenBack`]). What such a turn gives
//!    back is a copy, but for its own message.
use crate::turns::turn::Turn;
use crate::values::actor::Actor;
use rustc_hash::FxHashMap;

/// The cost of each run beside what it has spent: about as much as a call of a function for each step of it.
const RUN: u64 = 8;

/// The same for a turn outside, of which nobody knows what it has spent: about the time of its way there and back.
const RUN_OUTSIDE: u64 = 1_000;

/// The costs of the runs of messages that were given back.
#[derive(Default)]
pub(crate) struct GivenBack {
    /// Number of turns that the thread had counted when something was given back last, and how much waited in front then.
    turns: u64,
    waiting: u64,
    /// For each run of a message the number of events that were in front, and the cost of its runs; those that come next
    /// are last.
    runs: Vec<(u64, u64)>,
}

impl GivenBack {
    /// Counts the turn that is to give back so many messages, its own as the last of them if it `comes_again`. Returns whether
    /// the message may run once more.
    pub(crate) fn count(&mut self, turn: &Turn, given: usize, comes_again: bool) -> bool {
        let cost = turn.spent() + RUN;
        self.count_at(
            turn.counts.turns,
            cost,
            turn.around.fuel,
            (given, comes_again),
        )
    }

    fn count_at(
        &mut self,
        now: u64,
        cost: u64,
        fuel: u64,
        (given, comes_again): (usize, bool),
    ) -> bool {
        let in_front = self.waiting.checked_sub(now - self.turns);
        if in_front.is_none() {
            self.runs.clear();
        }
        let in_front = in_front.unwrap_or(0);
        while self.runs.last().is_some_and(|(at, _)| *at > in_front) {
            self.runs.pop();
        }
        let before = match self.runs.last() {
            Some((at, cost)) if *at == in_front => *cost,
            _ => 0,
        };
        self.runs
            .truncate(self.runs.len() - usize::from(before > 0));
        let cost = before + cost;
        (self.turns, self.waiting) = (now, in_front);
        if comes_again {
            if cost > fuel {
                return false;
            }
            self.runs.push((in_front, cost));
        }
        self.waiting += given as u64;
        true
    }
}

/// The costs of the runs of messages that actors of a beam sponsor have given back, and how many turns of each have been
/// counted: of those for whom something of that waits.
#[derive(Default)]
pub(crate) struct LinesGivenBack(FxHashMap<*const Actor, (u64, GivenBack)>);

impl LinesGivenBack {
    /// The same as [`GivenBack::count`], for each turn of an actor.
    pub(crate) fn count(
        &mut self,
        turn: &Turn,
        actor: *const Actor,
        (given, comes_again): (usize, bool),
    ) -> bool {
        if given == 0 && !self.0.contains_key(&actor) {
            return true;
        }
        let (turns, line) = self.0.entry(actor).or_default();
        *turns += 1;
        let may = given == 0
            || line.count_at(
                *turns,
                turn.spent() + RUN_OUTSIDE,
                turn.around.fuel,
                (given, comes_again),
            );
        // What the last one of them gives back is all that is left to wait.
        if !may || line.waiting <= *turns - line.turns {
            self.0.remove(&actor);
        }
        may
    }
}
