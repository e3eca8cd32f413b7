//! The passing of manual time: from one moment at which a timer is due to the next, and never before everything caused by the last
//! one is done.
//!
//! A caller that moves the clock by hand takes the first step, and says how far it wants to get. From then on the last
//! thread that is awake takes the steps, since waiting for quiet and stepping from outside costs two wakings a moment. If
//! more than one thread falls asleep at once, or threads have taken many steps, nobody takes the next one; the caller
//! that waits for quiet takes it, if it is still alive. That thread fires its own due timers at once, and goes on with
//! its current batch of turns. So a moment in which little happens costs little.
//!
//! Invariant: a thread moves the clock only while nothing is outstanding but the thread itself (quiescence.rs), which has
//! nothing to run, and a caller outside only while nothing is outstanding but the caller (machine/time.rs). So a moment begins in
//! the same state, no matter who takes the step, and nobody takes one in the middle of a moment.
use super::inbox::Entry;
use super::shared::Machine;
use super::thread::Dispatch;
use crate::base::ids::ThreadNumber;
use crate::threads::backlog::TurnBatch;
use crate::threads::quiescence::Quiet;

impl Machine {
    /// Moves a manual clock on to the next moment, but not beyond `limit`, and rings at the threads that have something due
    /// then, except the one that asks. Returns whether anything can be due between that moment and `limit`. `None` when the
    /// clock moves by itself.
    pub(crate) fn move_clock(&self, limit: u64, asks: Option<ThreadNumber>) -> Option<bool> {
        let next = self.stations().next_due().unwrap_or(u64::MAX);
        let next = next.max(self.clock().now());
        if !self.clock().set(next.min(limit)) {
            return None;
        }
        if next > limit {
            return Some(false);
        }
        for station in self.stations().due_by(next) {
            if Some(station.number) != asks {
                self.push(&station, Entry::Alarm);
            }
        }
        Some(true)
    }
}

impl Dispatch {
    /// Runs turns for a batch, in as many moments as it takes.
    pub(super) fn run_moments(&mut self) -> TurnBatch {
        let mut batch = self.run_batch();
        // What is wanted of it comes first, as it would between batches.
        while batch.units < self.load.batch && !self.has_other_duties() && self.passes_time() {
            batch.go_on(self.run_batch());
        }
        batch
    }

    /// Lets time pass until the next moment for which anything waits, and fires what this thread has due. Returns whether
    /// anything is due then.
    pub(super) fn passes_time(&mut self) -> bool {
        let Some(goal) = self.may_pass_until() else {
            return false;
        };
        let machine = &self.context.machine;
        machine.clock().take_step();
        let moves = machine.move_clock(goal, Some(self.context.station.number));
        if moves == Some(true) {
            self.fire();
        }
        moves == Some(true)
    }

    /// The moment until which time may pass at once.
    pub(super) fn may_pass_until(&self) -> Option<u64> {
        let machine = &self.context.machine;
        let goal = machine.clock().goal()?;
        let last =
            machine.quiescence().is_last(Quiet::Whole) && self.is_done() && !self.is_paused();
        last.then_some(goal)
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::testing::still::Still;
    use crate::threads::thread::{idle, task, BATCH};
    use crate::values::actor::BehaviourId;
    use crate::values::value::Value;

    /// A thread that is the last one awake, with a timer in each millisecond from the first one on.
    fn with_moments(count: u64) -> Still {
        let mut still = Still::new(1);
        still.thread.stand_still(idle::wake);
        let turn = &mut still.thread.turn;
        let actor = turn.create(BehaviourId::SINK, Value::NIL);
        turn.tidy_up();
        for moment in 1..=count {
            let timers = &still.thread.context.station.timers;
            timers.arm(moment, 2 * moment, actor, Value::NIL);
        }
        still
    }

    fn end(still: Still) {
        still.machine.quiescence().done(1);
    }

    #[test]
    fn moments_pass_within_a_batch_as_far_as_somebody_waits_for_them() {
        let mut still = with_moments(30);
        assert_eq!(still.thread.run_moments().turns, 0);
        still.machine.clock().aim(20);
        let batch = still.thread.run_moments();
        assert_eq!((batch.turns, still.machine.now()), (20, 20));
        assert!(!still.thread.context.station.inbox.is_pending());
        end(still);
    }

    #[test]
    fn a_caller_outside_takes_no_step_while_a_thread_is_awake() {
        let still = with_moments(1);
        let step = || {
            (
                still.machine.step_clock(10, Quiet::Whole),
                still.machine.now(),
            )
        };
        assert_eq!(step(), (Some(true), 0));
        still.machine.quiescence().done(1);
        assert_eq!(step(), (Some(true), 1));
    }

    #[test]
    fn moments_count_in_the_length_of_a_batch() {
        let mut still = with_moments(2 * BATCH);
        still.machine.clock().aim(u64::MAX);
        let batch = still.thread.run_moments();
        assert!((BATCH / 2..BATCH).contains(&batch.turns), "{}", batch.turns);
        end(still);
    }

    #[test]
    fn what_is_wanted_of_a_thread_comes_before_the_next_moment() {
        let mut still = with_moments(1);
        still.machine.clock().aim(1);
        let station = still.thread.context.station.clone();
        assert!(station.push(Entry::Task(task(|_| ()))).is_ok());
        assert_eq!(still.thread.run_moments().turns, 0);
        still.thread.drain();
        assert_eq!(still.thread.run_moments().turns, 0);
        still.thread.run_tasks();
        assert_eq!(still.thread.run_moments().turns, 1);
        end(still);
    }
}
