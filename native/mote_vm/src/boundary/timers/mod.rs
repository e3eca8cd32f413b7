//! A thread's armed timers, which others may cancel and the outside may add to.
//!
//! The thread arms and fires under a lock that others hardly ever take. A timer's reference says where it is: which thread's, at
//! which place of the wheel, and by a serial number which of all timers that were ever there it is.
//!
//! Invariants:
//! 1. No two timers of a thread's number have the same serial: the thread's own are even, those from outside odd.
//! 2. A timer is in exactly one wheel from when it is armed until it is taken out to fire or to be cancelled, also
//!    while its thread ends: [`Timers::adopt`] holds both locks.
//! 3. `next` is not later than any timer's time.
mod pages;
mod wheel;

use crate::base::ids::{ThreadNumber, TimerId};
use crate::base::quota::Quota;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::{NotEntered, Refusal};
use crate::values::value::Value;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use wheel::Wheel;

/// A message on its way: from a turn, or from outside.
pub(crate) enum Message {
    Value(Value),
    Parcel(Box<Parcel>),
}

impl Message {
    /// What it is charged with beside its timer: a value is in a heap.
    fn bytes(&self) -> usize {
        match self {
            Message::Value(_) => 0,
            Message::Parcel(parcel) => parcel.bytes(),
        }
    }
}

/// A message that waits for its time.
pub(crate) struct Timer {
    pub(crate) target: Value,
    pub(crate) message: Message,
    /// [`ADOPTED`] if its reference has that of a thread that has ended.
    serial: u64,
}

/// No reference has this serial number.
const ADOPTED: u64 = u64::MAX;

// SAFETY: the values are plain words; only dispatch threads and the collector look behind them.
unsafe impl Send for Timer {}

struct ArmedTimers {
    wheel: Wheel<Timer>,
    /// How many odd serial numbers were given: to timers from outside, and to those of threads that have ended.
    odd_serials: u64,
    own: u64,
    /// Where timers are that were adopted, by their references; and their references, by where they are.
    adopted: FxHashMap<TimerId, u32>,
    references: FxHashMap<u32, TimerId>,
    /// What the parcels in the wheel are charged with, and what the wheel is, with them.
    parcels: usize,
    charged: usize,
    closed: bool,
}

/// The armed timers of one thread.
pub(crate) struct Timers {
    state: Mutex<ArmedTimers>,
    /// When the next one may be due; the greatest number when there is none.
    next: AtomicU64,
    /// How many there are; a hint.
    len: AtomicU64,
    quota: Arc<Quota>,
}

/// The delay of a timer that is due when something else happens: some thousand years.
pub(crate) const NEVER: u64 = 1 << 47;

/// What a timer is charged with.
pub(crate) const TIMER_BYTES: usize = Wheel::<Timer>::ENTRY;

impl Timers {
    pub(crate) fn new(quota: Arc<Quota>) -> Timers {
        let state = ArmedTimers {
            wheel: Wheel::new(),
            odd_serials: 0,
            own: 0,
            adopted: FxHashMap::default(),
            references: FxHashMap::default(),
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
        self.state.lock().own
    }

    /// Arms a timer of this thread's, under an even number; gives its place.
    pub(crate) fn arm(&self, due: u64, serial: u64, target: Value, message: Value) -> u32 {
        let mut state = self.state.lock();
        let timer = Timer {
            target,
            message: Message::Value(message),
            serial,
        };
        let place = state.wheel.insert(due, timer);
        self.note(&mut state);
        place
    }

    /// Arms a timer from outside; also whether the thread must hear of it, since it may sleep for longer. Returns the message
    /// back, for the caller to drop, when the thread has ended or there is no memory for the timer.
    pub(crate) fn arm_from_outside(
        &self,
        thread: ThreadNumber,
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
        state.odd_serials += 1;
        let serial = state.odd_serials << 1 | 1;
        state.parcels += message.bytes();
        let timer = Timer {
            target,
            message: Message::Parcel(Box::new(message)),
            serial,
        };
        let place = state.wheel.insert(due, timer);
        // Under the lock: the caller that has made it earlier than any other one says so; later ones need not.
        let before = self.next();
        self.note(&mut state);
        let id = TimerId {
            serial,
            thread,
            place,
        };
        Ok((id, self.next() < before))
    }

    /// Takes a timer out before its time, with the instant at which it is due. `None` when it is not here (any more).
    pub(crate) fn take(&self, id: TimerId) -> Option<(u64, Timer)> {
        let state = self.state.lock();
        is_here(&state, id).then(|| self.remove(state, id.place))?
    }

    /// The same of a timer of a thread that has ended.
    pub(crate) fn take_adopted(&self, id: TimerId) -> Option<(u64, Timer)> {
        let mut state = self.state.lock();
        let place = state.adopted.remove(&id)?;
        state.references.remove(&place);
        self.remove(state, place)
    }

    /// Whether a timer waits here.
    pub(crate) fn has(&self, id: TimerId) -> bool {
        is_here(&self.state.lock(), id)
    }

    /// Whether a timer of a thread that has ended waits here.
    pub(crate) fn has_adopted(&self, id: TimerId) -> bool {
        self.state.lock().adopted.contains_key(&id)
    }

    // The caller drops the timer without the lock: what the message holds may do anything when it goes.
    fn remove(&self, mut state: MutexGuard<'_, ArmedTimers>, place: u32) -> Option<(u64, Timer)> {
        let (due, timer) = state.wheel.remove(place)?;
        state.parcels -= timer.message.bytes();
        self.note(&mut state);
        Some((due, timer))
    }

    /// Takes out what is due at `now`, in order.
    pub(crate) fn fire(&self, now: u64, due: &mut Vec<Timer>) {
        let mut state = self.state.lock();
        while let Some((_, place, timer)) = state.wheel.pop(now) {
            if timer.serial == ADOPTED {
                let id = state.references.remove(&place);
                id.map(|id| state.adopted.remove(&id));
            }
            state.parcels -= timer.message.bytes();
            due.push(timer);
        }
        self.note(&mut state);
    }

    /// Takes over the timers of `other`, a thread of that number that ends and has given serials up to `own`.
    pub(crate) fn adopt(&self, other: &Timers, thread: ThreadNumber, own: u64) {
        let mut state = self.state.lock();
        let mut ending = other.state.lock();
        ending.closed = true;
        ending.own = own;
        for (due, place, mut timer) in ending.wheel.drain() {
            let id = TimerId {
                serial: timer.serial,
                thread,
                place,
            };
            timer.serial = ADOPTED;
            let place = state.wheel.insert(due, timer);
            state.adopted.insert(id, place);
            state.references.insert(place, id);
        }
        // What is taken out moves a wheel on; the next thread's time may be earlier.
        ending.wheel = Wheel::new();
        state.parcels += std::mem::take(&mut ending.parcels);
        other.note(&mut ending);
        self.note(&mut state);
    }

    /// A new thread of the same number begins.
    pub(crate) fn open(&self) {
        self.state.lock().closed = false;
    }

    /// When the next one may be due: a hint to others, exact for the thread itself but for what the outside adds.
    pub(crate) fn next(&self) -> u64 {
        // Relaxed: a caller that adds from outside makes the thread look (inbox.rs).
        self.next.load(Relaxed)
    }

    /// How many are armed.
    pub(crate) fn len(&self) -> u64 {
        // Relaxed: a number that guards nothing.
        self.len.load(Relaxed)
    }

    /// Drops all: the machine ends.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        let left = std::mem::replace(&mut state.wheel, Wheel::new());
        state.adopted.clear();
        state.references.clear();
        state.parcels = 0;
        state.closed = true;
        self.note(&mut state);
        drop(state);
        // Without the lock: what the messages hold may do anything when it goes.
        drop(left);
    }

    /// Shows every target and message to the collector.
    pub(crate) fn each(&self, mut show: impl FnMut(Value)) {
        self.state.lock().wheel.each(|timer| {
            show(timer.target);
            match &timer.message {
                Message::Value(message) => show(*message),
                Message::Parcel(parcel) => parcel.each_address(&mut show),
            }
        });
    }

    /// Shows every target with its message, but for those that processes have armed and that are still to come in.
    pub(crate) fn each_message(&self, mut show: impl FnMut(Value, Value)) {
        self.state.lock().wheel.each(|timer| {
            if let Message::Value(message) = &timer.message {
                show(timer.target, *message);
            }
        });
    }

    fn note(&self, state: &mut ArmedTimers) {
        self.next
            .store(state.wheel.next().unwrap_or(u64::MAX), Relaxed);
        let now = state.wheel.len();
        self.len.store(now as u64, Relaxed);
        let charge = now * TIMER_BYTES + state.parcels;
        let before = std::mem::replace(&mut state.charged, charge);
        match charge.checked_sub(before) {
            Some(0) => {}
            Some(more) => self.quota.take_anyway(more),
            None => self.quota.give(before - charge),
        }
    }
}

/// Whether the wheel has that timer. Anybody can have made the reference: with the serial number of those that were adopted, too.
fn is_here(state: &ArmedTimers, id: TimerId) -> bool {
    let here = |timer: &Timer| timer.serial == id.serial && id.serial != ADOPTED;
    state.wheel.get(id.place).is_some_and(here)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_was_adopted_is_cancelled_by_the_reference_that_it_had() {
        let [ended, heir] = [(); 2].map(|()| Timers::new(Arc::default()));
        let place = ended.arm(5, 2, Value::NIL, Value::NIL);
        heir.adopt(&ended, 7, 2);
        let [had, made_up] = [2, ADOPTED].map(|serial| TimerId {
            serial,
            thread: 7,
            place,
        });
        assert!(heir.take(made_up).is_none() && !heir.has(made_up));
        assert!(heir.has_adopted(had));
        let due = heir.take_adopted(had).map(|(due, _)| due);
        assert_eq!(due, Some(5));
        assert!(heir.take_adopted(had).is_none());
        assert_eq!((heir.has_adopted(had), heir.len()), (false, 0));
    }
}
