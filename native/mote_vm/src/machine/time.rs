//! A machine's clock and its timers, as the outside and its threads see them.
use super::Machine;
use crate::base::ids::TimerId;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::{NotEntered, Refusal};
use crate::threads::inbox::Entry;
use crate::threads::quiescence::Quiet;
use crate::threads::thread::task;
use crate::values::actor::SponsorId;
use crate::values::handles::Key;
use crate::values::value::Value;

impl Machine {
    /// Milliseconds since the start, by the machine's clock.
    pub fn now(&self) -> u64 {
        self.clock().now()
    }

    /// Sends to the actor of a handle after `milliseconds`, by that sponsor or the first one. Refuses if there is no memory, or if
    /// the handle or an address in the message belongs to another machine. A timer needs no room in the inbox: its message is
    /// the machine's from now on, and enters as messages from inside do.
    pub fn send_after(
        &self,
        milliseconds: u64,
        target: Key,
        sponsor: Option<SponsorId>,
        mut message: Parcel,
    ) -> Result<TimerId, Refusal> {
        let held = self
            .hold(target)
            .filter(|_| message.is_for(&self.0.handles))
            .ok_or(Refusal::Unknown)?;
        if !self.admits() {
            return Err(Refusal::NotDurable);
        }
        // Both are held until the wheel keeps them.
        let _carried = message.take_held();
        let station = self.way_to(&held, sponsor);
        let due = self.clock().after(milliseconds);
        let target = Value::address(held.actor);
        let armed = station.timers.arm_from_outside(due, target, message);
        let (station, armed) = match armed {
            Err((NotEntered::Closed, message)) => {
                let first = self.sponsors().first();
                let lead = first.lead();
                let armed = lead.timers.arm_from_outside(due, target, message);
                (lead.clone(), armed)
            }
            armed => (station, armed),
        };
        match armed {
            Ok((id, earlier)) => {
                if earlier {
                    station.wake();
                }
                Ok(id)
            }
            Err((NotEntered::Refused(Refusal::NoMemory), _)) => {
                self.lacked_memory(1);
                Err(Refusal::NoMemory)
            }
            // The first sponsor's lead ends only with the machine.
            Err(_) => Err(Refusal::Stopped),
        }
    }

    /// Fires timers before their time, those that still wait. Each is sent by the thread that has armed it, behind what has come to that
    /// thread before, or by the first sponsor's if that thread has ended.
    pub fn fire_now(&self, mut timers: Vec<TimerId>) {
        // The order of each thread's is kept.
        timers.sort_by_key(|id| id.thread);
        for ids in timers.chunk_by(|a, b| a.thread == b.thread) {
            let Some(station) = ids.first().and_then(|id| self.stations().find(id.thread)) else {
                continue;
            };
            let ids = ids.to_vec();
            let fire = task(move |thread| thread.fire_now(&ids));
            self.push(&station, Entry::Task(fire));
        }
    }

    /// Moves a manual clock on to the next moment, but not beyond `limit`, and lets what is due then begin. Returns whether
    /// anything can be due between that moment and `limit`. `None` when the clock moves by itself. A caller that wants things
    /// in order waits until the machine is quiet before the next step. Meanwhile the threads go from moment to moment by
    /// themselves, until `limit` (moments.rs): a caller that will not wait so long steps to 0, which takes it back.
    ///
    /// A caller that ignores turns that are away ([`Quiet::Native`]) takes all steps itself.
    pub fn step_clock(&self, limit: u64, quiet: Quiet) -> Option<bool> {
        self.clock()
            .aim(if quiet == Quiet::Whole { limit } else { 0 });
        // Since the machine was quiet a thread may have woken by itself, and have begun the next moment. So the caller counts as
        // a thread that is awake does, and takes a step only as the last one (moments.rs). Otherwise it waits for quiet again.
        let quiescence = self.quiescence();
        quiescence.add(1);
        let is_last = quiescence.is_last(quiet) || limit == 0;
        let moved = match is_last {
            true => self.move_clock(limit, None),
            false => self.clock().is_manual().then_some(true),
        };
        quiescence.done(1);
        moved
    }
}
