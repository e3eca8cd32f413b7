//! How manual time passes: from one moment at which a timer is due to the next, and never before everything caused by the last
//! one is done.
//!
//! A caller that moves the clock by hand takes the first step, and says how far it wants to get. From then on the last thread
//! that is awake takes the steps, since waiting for quiet and stepping from outside costs two wakings a moment. If more than one
//! thread falls asleep at once, or threads have taken many steps, nobody takes the next one; the caller that waits for quiet
//! takes it, if it is still alive.
//!
//! Invariant: a thread moves the clock only while nothing is outstanding but the thread itself (quiescence.rs), which has
//! nothing to run. So a moment begins in the same state, no matter which thread takes the step.
use super::inbox::Entry;
use super::shared::Machine;
use super::thread::Dispatch;

impl Machine {
    /// Moves a manual clock on to the next moment, but not beyond `limit`, and rings at the threads that have something due
    /// then; whether anything can be due between that moment and `limit`. `None` when the clock moves by itself.
    pub(crate) fn move_clock(&self, limit: u64) -> Option<bool> {
        let stations = self.stations().all();
        let next = stations.iter().map(|station| station.timers.next()).min();
        let next = next.unwrap_or(u64::MAX).max(self.clock().now());
        if !self.clock().set(next.min(limit)) {
            return None;
        }
        if next > limit {
            return Some(false);
        }
        for station in stations {
            if station.timers.next() <= next {
                self.push(&station, Entry::Alarm);
            }
        }
        Some(true)
    }
}

impl Dispatch {
    /// Lets time pass until the next moment that somebody waits for; whether anything is due then.
    pub(super) fn passes_time(&self) -> bool {
        let Some(goal) = self.may_pass_until() else {
            return false;
        };
        let machine = &self.context.machine;
        machine.clock().take_step();
        machine.move_clock(goal) == Some(true)
    }

    /// The moment until which time may pass at once.
    pub(super) fn may_pass_until(&self) -> Option<u64> {
        let machine = &self.context.machine;
        let goal = machine.clock().goal()?;
        let last = machine.quiescence().is_last() && self.is_done() && !self.is_paused();
        last.then_some(goal)
    }
}
