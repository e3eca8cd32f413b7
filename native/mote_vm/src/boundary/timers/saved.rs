//! The timers of a moment, which an image reads beside turns.
//!
//! Invariants:
//! 1. Each timer that was armed at the moment is read exactly once: where it waits, or by whoever takes it out before. Its serial
//!    number says whether it was armed then, and its place whether it has been read.
//! 2. A wheel that is handed over meanwhile is still to be read. All wheels are read when none of them leads here any more: each does
//!    by a weak reference, so if nobody wants the timers, nobody notes them.
//! 3. Neither the beginning nor one step takes longer where more wait: there is room for all from the beginning, which the system
//!    gives as it is used.
//! 4. What is read is charged, with a copy of each message from outside.
use super::wheel::Wheel;
use super::{Message, Timer};
use crate::base::ids::{ThreadNumber, TimerId};
use crate::base::quota::Quota;
use crate::values::actor::SponsorId;
use crate::values::value::Value;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// A timer as it was.
pub(crate) struct SavedTimer {
    pub(crate) sponsor: SponsorId,
    pub(crate) due: u64,
    pub(crate) id: TimerId,
    pub(crate) target: Value,
    pub(crate) message: Message,
}

impl SavedTimer {
    pub(crate) fn new(sponsor: SponsorId, due: u64, id: TimerId, timer: &Timer) -> SavedTimer {
        SavedTimer {
            sponsor,
            due,
            id,
            target: timer.target,
            message: timer.message.copied(),
        }
    }
}

#[derive(Default)]
struct ReadTimers {
    all: Vec<SavedTimer>,
    /// The number of all that come.
    expected: usize,
    messages: usize,
    charged: usize,
    quota: Arc<Quota>,
}

impl ReadTimers {
    fn push(&mut self, timer: SavedTimer) {
        self.messages += timer.message.bytes();
        self.all.push(timer);
    }

    fn charge(&mut self) {
        let bytes = self.all.len() * size_of::<SavedTimer>() + self.messages;
        self.quota.charge(&mut self.charged, bytes);
    }
}

impl Drop for ReadTimers {
    fn drop(&mut self) {
        self.quota.give(self.charged);
    }
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct SavedTimers(Arc<Mutex<ReadTimers>>);

impl SavedTimers {
    pub(crate) fn new(quota: &Arc<Quota>) -> SavedTimers {
        let timers = SavedTimers::default();
        timers.0.lock().quota = quota.clone();
        timers
    }

    /// So many will come.
    pub(super) fn expect(&self, timers: usize) {
        let mut read = self.0.lock();
        read.expected += timers;
        let expected = read.expected;
        read.all.reserve(expected);
    }

    /// One of a machine that stands still.
    pub(crate) fn push(&self, timer: SavedTimer) {
        self.0.lock().push(timer);
    }

    /// Returns whether some are still to be read.
    pub(crate) fn are_awaited(&self) -> bool {
        Arc::weak_count(&self.0) > 0
    }

    /// The timers that were read, which are charged for as long as this is there.
    pub(crate) fn take(&self) -> Vec<SavedTimer> {
        let mut read = self.0.lock();
        read.charge();
        std::mem::take(&mut read.all)
    }
}

/// How far a wheel is read.
pub(super) struct Saving {
    timers: Weak<Mutex<ReadTimers>>,
    sponsor: SponsorId,
    /// The last serial numbers of the moment, even and odd.
    last: [u64; 2],
    /// The place that is read next.
    next: u32,
}

impl Saving {
    pub(super) fn new(sponsor: SponsorId, last: [u64; 2], timers: &SavedTimers) -> Saving {
        Saving {
            timers: Arc::downgrade(&timers.0),
            sponsor,
            last,
            next: 0,
        }
    }

    fn has(&self, timer: &Timer) -> bool {
        timer.serial <= self.last[timer.serial as usize % 2]
    }

    /// A timer leaves that place.
    #[cold]
    pub(super) fn note(&self, thread: ThreadNumber, due: u64, place: u32, timer: &Timer) {
        if place < self.next || !self.has(timer) {
            return;
        }
        if let Some(timers) = self.timers.upgrade() {
            let mut timers = timers.lock();
            let id = timer.id(thread);
            timers.push(SavedTimer::new(self.sponsor, due, id, timer));
            timers.charge();
        }
    }

    /// Reads on. Returns how far it is then, if there is more.
    pub(super) fn read(
        mut self,
        thread: ThreadNumber,
        wheel: &Wheel<Timer>,
        most: usize,
    ) -> Option<Saving> {
        let timers = self.timers.upgrade()?;
        let mut timers = timers.lock();
        let next = wheel.part(self.next, most, |due, timer| {
            if self.has(timer) {
                let id = timer.id(thread);
                timers.push(SavedTimer::new(self.sponsor, due, id, timer));
            }
        });
        timers.charge();
        self.next = next?;
        Some(self)
    }
}
