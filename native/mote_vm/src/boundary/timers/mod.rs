//! A thread's armed timers, which others may cancel and the outside may add to.
//!
//! The thread arms and fires under a lock that others hardly ever take. A timer's reference says where it is: which thread's, at
//! which place of the wheel, and by a serial number which of all timers that were ever there it is.
//!
//! Timers of a thread that has ended stay in their wheel, which goes to the thread that fires them from then on. So it takes no
//! time to hand over many, and their references lead to them as before.
//!
//! Invariants:
//! 1. No two timers of a thread's number have the same serial: the thread's own are even, those from outside odd.
//! 2. A timer is in exactly one wheel from when it is armed until it is taken out to fire or to be cancelled, also
//!    while its thread ends: [`Timers::adopt`] holds both locks.
//! 3. `next` is not later than any timer's time.
//! 4. What the wheels take is charged, and what a burst took goes back to the system page by page, whatever else waits.
//! 5. A collection walks through the wheels piece by piece (walk.rs), also through those that are handed over meanwhile: whoever
//!    does that has the new owner walked through once more. An image reads them in the same way (saved.rs).
mod saved;
mod thread_wheel;
mod timer;
mod wheel;

use crate::base::ids::{ThreadNumber, TimerId};
use crate::base::quota::Quota;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::{NotEntered, Refusal};
use crate::values::actor::SponsorId;
use crate::values::value::Value;
use crate::values::walk::{Missed, Walkable};
use parking_lot::{Mutex, MutexGuard};
pub(crate) use saved::{SavedTimer, SavedTimers};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use thread_wheel::ThreadWheel;
pub(crate) use timer::{Message, Timer};
use wheel::Wheel;

struct ArmedTimers {
    own: ThreadWheel,
    /// The wheels of threads that have ended.
    adopted: Vec<ThreadWheel>,
    /// Instant at which to look into one of these again.
    adopted_next: Option<u64>,
    missed: Missed,
    /// Number of odd serial numbers that were given to timers from outside.
    odd_serials: u64,
    /// The last even one, halved, that is known to be given: the thread itself counts them.
    even_serials: u64,
    /// Bytes that the parcels in the wheels are charged with; and bytes that the wheels are charged with, parcels included.
    parcels: usize,
    charged: usize,
    closed: bool,
}

impl ArmedTimers {
    fn wheels(&mut self) -> impl Iterator<Item = &mut ThreadWheel> {
        std::iter::once(&mut self.own).chain(&mut self.adopted)
    }

    /// Takes out the next timer that is due at `now`.
    fn pop(&mut self, now: u64) -> Option<Timer> {
        let (timer, is_ahead) = match self.adopted.is_empty() {
            true => self.own.pop(now)?,
            false => self.pop_first(now)?,
        };
        if is_ahead {
            timer.show(|value| self.missed.note(value));
        }
        Some(timer)
    }

    /// Does the same where there are several wheels. Also returns whether the timer is ahead of the walk.
    fn pop_first(&mut self, now: u64) -> Option<(Timer, bool)> {
        loop {
            // From the wheel that is first, up to the time of the one that is next.
            let (mut first, mut from, mut until) = (None, u64::MAX, now);
            for of in self.wheels() {
                let next = of.wheel.next().unwrap_or(u64::MAX);
                if next < from {
                    until = until.min(from);
                    (first, from) = (Some(of), next);
                } else {
                    until = until.min(next);
                }
            }
            if from > now {
                return None;
            }
            let popped = first.and_then(|of| of.pop(until));
            if popped.is_some() {
                return popped;
            }
        }
    }

    /// A timer has left an adopted wheel, or one was adopted.
    fn look_at_adopted(&mut self) {
        self.adopted.retain(|adopted| adopted.wheel.len() > 0);
        let next = self.adopted.iter().map(|adopted| adopted.wheel.next());
        self.adopted_next = next.flatten().min();
    }

    fn len(&self) -> usize {
        let adopted = self.adopted.iter().map(|adopted| adopted.wheel.len());
        self.own.wheel.len() + adopted.sum::<usize>()
    }

    /// Bytes of the wheels and of what waits in them.
    fn bytes(&self) -> usize {
        let adopted = self.adopted.iter();
        let adopted = adopted.map(|of| Wheel::<Timer>::EMPTY + of.bytes());
        self.own.bytes() + adopted.sum::<usize>() + self.parcels
    }
}

/// The armed timers of one thread.
pub(crate) struct Timers {
    state: Mutex<ArmedTimers>,
    /// Instant at which the next timer may be due; the greatest number when there is none.
    next: AtomicU64,
    /// Number of armed timers; a hint.
    len: AtomicU64,
    quota: Arc<Quota>,
}

/// The delay of a timer that is due when something else happens: some thousand years.
pub(crate) const NEVER: u64 = 1 << 47;

/// Least bytes that a timer is charged with.
pub(crate) const TIMER_BYTES: usize = Wheel::<Timer>::ENTRY;

impl Timers {
    /// Those of the threads that have that number.
    pub(crate) fn new(thread: ThreadNumber, quota: Arc<Quota>) -> Timers {
        let state = ArmedTimers {
            own: ThreadWheel::new(thread),
            adopted: Vec::new(),
            adopted_next: None,
            missed: Missed::new(&quota),
            odd_serials: 0,
            even_serials: 0,
            parcels: 0,
            charged: 0,
            closed: false,
        };
        Timers {
            state: Mutex::new(state),
            next: AtomicU64::new(u64::MAX),
            len: AtomicU64::new(0),
            quota,
        }
    }

    /// The last serial number of the threads that had this number before.
    pub(crate) fn last_serial(&self) -> u64 {
        self.state.lock().even_serials
    }

    /// Arms a timer of this thread's, under an even number. Returns its place.
    pub(crate) fn arm(&self, due: u64, serial: u64, target: Value, message: Value) -> u32 {
        let mut state = self.state.lock();
        let timer = Timer {
            target,
            message: Message::Value(message),
            serial,
        };
        let place = state.own.wheel.insert(due, timer);
        state.even_serials = serial >> 1;
        self.note(&mut state);
        place
    }

    /// Arms a timer from outside; also whether the thread must hear of it, since it may sleep for longer. Returns the message
    /// back, for the caller to drop, when the thread has ended or there is no memory for the timer.
    pub(crate) fn arm_from_outside(
        &self,
        due: u64,
        target: Value,
        message: Parcel,
    ) -> Result<(TimerId, bool), (NotEntered, Parcel)> {
        let mut state = self.state.lock();
        if state.closed {
            return Err((NotEntered::Closed, message));
        }
        let bytes = TIMER_BYTES + message.bytes();
        if !self.quota.take(bytes) {
            return Err((NotEntered::Refused(Refusal::NoMemory), message));
        }
        state.charged += bytes;
        state.parcels += message.bytes();
        let message = Message::Parcel(Box::new(message));
        // Under the lock: the caller that has made it earlier than any other one says so; later ones need not.
        let before = self.next();
        let id = self.insert_odd(&mut state, due, target, message);
        Ok((id, self.next() < before))
    }

    /// Arms a timer of an image, whose message is in a heap of this machine. `None` if there is no memory for it.
    pub(crate) fn arm_again(&self, due: u64, target: Value, message: Value) -> Option<TimerId> {
        let mut state = self.state.lock();
        if state.closed || !self.quota.take_again(TIMER_BYTES) {
            return None;
        }
        state.charged += TIMER_BYTES;
        let message = Message::Value(message);
        Some(self.insert_odd(&mut state, due, target, message))
    }

    fn insert_odd(
        &self,
        state: &mut ArmedTimers,
        due: u64,
        target: Value,
        message: Message,
    ) -> TimerId {
        state.odd_serials += 1;
        let serial = state.odd_serials << 1 | 1;
        let timer = Timer {
            target,
            message,
            serial,
        };
        let place = state.own.wheel.insert(due, timer);
        let thread = state.own.thread;
        self.note(state);
        TimerId {
            serial,
            thread,
            place,
        }
    }

    /// Takes a timer out before its time, with the instant at which it is due. `None` when it is not here (any more).
    pub(crate) fn take(&self, id: TimerId) -> Option<(u64, Timer)> {
        let mut state = self.state.lock();
        let taken = state.own.take(id)?;
        Some(self.taken(state, taken))
    }

    /// Takes out a timer of a thread that has ended, in the same way.
    pub(crate) fn take_adopted(&self, id: TimerId) -> Option<(u64, Timer)> {
        let mut state = self.state.lock();
        let of_thread = state.adopted.iter_mut().filter(|a| a.thread == id.thread);
        let taken = of_thread.filter_map(|a| a.take(id)).next()?;
        state.look_at_adopted();
        Some(self.taken(state, taken))
    }

    /// Returns whether a timer waits here.
    pub(crate) fn has(&self, id: TimerId) -> bool {
        self.state.lock().own.has(id)
    }

    /// Returns whether a timer of a thread that has ended waits here.
    pub(crate) fn has_adopted(&self, id: TimerId) -> bool {
        let state = self.state.lock();
        let mut of_thread = state.adopted.iter().filter(|a| a.thread == id.thread);
        of_thread.any(|a| a.has(id))
    }

    // The caller may fire it: so a collection is shown what it has still to come to. It drops it without the lock: what the
    // message holds may do anything when it goes.
    fn taken(
        &self,
        mut state: MutexGuard<'_, ArmedTimers>,
        (due, timer, is_ahead): (u64, Timer, bool),
    ) -> (u64, Timer) {
        if is_ahead {
            timer.show(|value| state.missed.note(value));
        }
        state.parcels -= timer.message.bytes();
        self.note(&mut state);
        (due, timer)
    }

    /// Takes out what is due at `now`, in order, but for what would be more than `most`. Returns whether there may be more.
    pub(crate) fn fire(&self, now: u64, most: usize, due: &mut Vec<Timer>) -> bool {
        let mut state = self.state.lock();
        let state = &mut *state;
        let before = due.len();
        while due.len() - before < most {
            let Some(timer) = state.pop(now) else {
                break;
            };
            state.parcels -= timer.message.bytes();
            due.push(timer);
        }
        if !state.adopted.is_empty() {
            state.look_at_adopted();
        }
        self.note(state);
        due.len() - before == most
    }

    /// Takes over the timers of `other`, whose thread ends and has given that many even serials.
    pub(crate) fn adopt(&self, other: &Timers, even_serials: u64) {
        let mut state = self.state.lock();
        let mut ending = other.state.lock();
        ending.closed = true;
        ending.even_serials = even_serials;
        // The next thread of that number begins with another one.
        let next = ThreadWheel::new(ending.own.thread);
        state.adopted.push(std::mem::replace(&mut ending.own, next));
        state.look_at_adopted();
        state.parcels += std::mem::take(&mut ending.parcels);
        other.note(&mut ending);
        self.note(&mut state);
    }

    /// A new thread of the same number begins.
    pub(crate) fn open(&self) {
        self.state.lock().closed = false;
    }

    /// Returns when the next timer may be due: a hint to others, exact for the thread itself except for what the outside adds.
    pub(crate) fn next(&self) -> u64 {
        // Relaxed: a caller that adds from outside makes the thread look (inbox.rs).
        self.next.load(Relaxed)
    }

    /// Returns the number of armed timers.
    pub(crate) fn len(&self) -> u64 {
        // Relaxed: a number that guards nothing.
        self.len.load(Relaxed)
    }

    /// Drops all: the machine ends.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        let nothing = ThreadWheel::new(state.own.thread);
        let left = std::mem::replace(&mut state.own, nothing);
        let adopted = std::mem::take(&mut state.adopted);
        state.adopted_next = None;
        state.parcels = 0;
        state.closed = true;
        self.note(&mut state);
        drop(state);
        // Without the lock: what the messages hold may do anything when it goes.
        drop((left, adopted));
    }

    /// Shows every target with its message, but for those that processes have armed and that are still to come in.
    pub(crate) fn each_message(&self, mut show: impl FnMut(Value, Value)) {
        self.state.lock().own.wheel.each(|timer| {
            if let Message::Value(message) = &timer.message {
                show(timer.target, *message);
            }
        });
    }

    /// Shows every timer: when it is due, what it is, with a place of nowhere, and itself.
    pub(crate) fn each_armed(&self, mut show: impl FnMut(u64, TimerId, &Timer)) {
        let mut state = self.state.lock();
        for of in state.wheels() {
            let thread = of.thread;
            of.wheel
                .each_due(|due, timer| show(due, timer.id(thread), timer));
        }
    }

    /// Lets `timers` be what is armed at this moment, of this thread that runs in that sponsor: [`Timers::save_some`] puts it there.
    pub(crate) fn begin_saving(&self, sponsor: SponsorId, timers: &SavedTimers) {
        let mut state = self.state.lock();
        timers.expect(state.len());
        let last = [state.even_serials << 1, state.odd_serials << 1 | 1];
        for of in state.wheels() {
            of.begin_saving(sponsor, last, timers);
        }
    }

    /// Goes on with that, through `most` places at most.
    pub(crate) fn save_some(&self, most: usize) {
        let mut state = self.state.lock();
        let _ = state.wheels().any(|of| of.save_some(most));
    }

    /// The timer before which so many were armed of those that wait here and were this thread's from the beginning. Those from
    /// outside count as armed before its own.
    pub(crate) fn nth(&self, n: usize) -> Option<TimerId> {
        let state = self.state.lock();
        let mut armed = Vec::new();
        let own = &state.own;
        let each = |_, timer: &Timer| armed.push(timer.id(own.thread));
        own.wheel.each_due(each);
        armed.sort_by_key(|id| id.in_order());
        let id = *armed.get(n)?;
        // It is there.
        let mut ids = (0..u32::MAX).map(|place| TimerId { place, ..id });
        ids.find(|id| own.has(*id))
    }

    fn note(&self, state: &mut ArmedTimers) {
        let next = state.own.wheel.next().into_iter().chain(state.adopted_next);
        self.next.store(next.min().unwrap_or(u64::MAX), Relaxed);
        self.len.store(state.len() as u64, Relaxed);
        let bytes = state.bytes();
        self.quota.charge(&mut state.charged, bytes);
    }
}

impl Walkable for Timers {
    fn begin(&self) {
        let mut state = self.state.lock();
        state.wheels().for_each(|of| of.wheel.begin_walk());
        state.missed.begin();
    }

    fn walk(&self, most: usize, show: &mut dyn FnMut(Value)) -> bool {
        let mut state = self.state.lock();
        if state.missed.walk(most, &mut *show) {
            return true;
        }
        let next = state.wheels().find(|of| of.wheel.is_walked());
        let is_more = next.is_some();
        next.map(|of| of.wheel.walk(most, |timer| timer.show(&mut *show)));
        is_more
    }

    fn each(&self, show: &mut dyn FnMut(Value)) {
        let mut state = self.state.lock();
        let each = |of: &mut ThreadWheel| of.wheel.each(|timer| timer.show(&mut *show));
        state.wheels().for_each(each);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
