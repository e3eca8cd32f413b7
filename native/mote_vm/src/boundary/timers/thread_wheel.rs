//! The wheel of the timers of one thread, which outlives it.
use super::saved::Saving;
use super::wheel::Wheel;
use super::{SavedTimers, Timer, TIMER_BYTES};
use crate::base::ids::{ThreadNumber, TimerId};
use crate::values::actor::SponsorId;

pub(super) struct ThreadWheel {
    /// The number that the thread has, or had.
    pub(super) thread: ThreadNumber,
    pub(super) wheel: Wheel<Timer>,
    /// How far an image has read it.
    saving: Option<Saving>,
}

impl ThreadWheel {
    pub(super) fn new(thread: ThreadNumber) -> ThreadWheel {
        ThreadWheel {
            thread,
            wheel: Wheel::new(),
            saving: None,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.wheel.bytes().max(self.wheel.len() * TIMER_BYTES)
    }

    /// Takes out the next timer that is due at `now`, and whether a collection's walk has still to come to it.
    #[inline]
    pub(super) fn pop(&mut self, now: u64) -> Option<(Timer, bool)> {
        let (due, place, timer) = self.wheel.pop(now)?;
        let is_ahead = self.leaves(due, place, &timer);
        Some((timer, is_ahead))
    }

    /// Returns whether that timer is there: anybody can have made the reference.
    pub(super) fn has(&self, id: TimerId) -> bool {
        let here = |timer: &Timer| timer.serial == id.serial;
        self.wheel.get(id.place).is_some_and(here)
    }

    /// Takes a timer out, if it is there, with whether a collection's walk has still to come to it.
    pub(super) fn take(&mut self, id: TimerId) -> Option<(u64, Timer, bool)> {
        let (due, timer) = self.has(id).then(|| self.wheel.remove(id.place))??;
        let is_ahead = self.leaves(due, id.place, &timer);
        Some((due, timer, is_ahead))
    }

    /// A timer has left its place: whoever has still to come to it misses it.
    #[inline]
    fn leaves(&self, due: u64, place: u32, timer: &Timer) -> bool {
        if let Some(saving) = &self.saving {
            saving.note(self.thread, due, place, timer);
        }
        self.wheel.is_ahead(place)
    }

    pub(super) fn begin_saving(
        &mut self,
        sponsor: SponsorId,
        last: [u64; 2],
        timers: &SavedTimers,
    ) {
        self.saving = (self.wheel.len() > 0).then(|| Saving::new(sponsor, last, timers));
    }

    /// An image reads on, through `most` places at most. Returns whether it has read any.
    pub(super) fn save_some(&mut self, most: usize) -> bool {
        let saving = self.saving.take();
        let Some(saving) = saving else { return false };
        self.saving = saving.read(self.thread, &self.wheel, most);
        true
    }
}
