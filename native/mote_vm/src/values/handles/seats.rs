//! What callers that stand in look up of a key, without the lock that guards the rest.
//!
//! Invariants:
//! 1. Only whoever has the lock of the handles writes here, but for `thread`, which is a hint.
//! 2. A seat says the low half of a serial number, which no two keys of a machine share, from when all of it is that key's until before any
//!    of it is not any more. So a reader that sees the same one before and after has read what belongs together.
//! 3. A seat never moves. What it leads to is kept by the reader: no collection begins meanwhile (stand_in.rs, invariant 8).
use crate::base::ids::ThreadNumber;
use crate::base::sync::{fence, Acquire, AtomicU64, Relaxed, Release};
use crate::values::actor::Actor;
use std::sync::OnceLock;

/// Seats of the first row; each row has twice as many as the one before.
const FIRST: usize = 64;
const ROWS: usize = 27;

/// The place of one key.
#[derive(Default)]
pub(super) struct Seat {
    low: AtomicU64,
    high: AtomicU64,
    actor: AtomicU64,
    /// The thread by which messages for the actor entered, or that ran it, when somebody looked last; 0 if nobody has.
    thread: AtomicU64,
}

impl Seat {
    /// Gives it to a key.
    fn give(&self, serial: u128, actor: *const Actor) {
        // Relaxed: Release below. Its thread is not known.
        self.thread.store(0, Relaxed);
        self.high.store((serial >> 64) as u64, Relaxed);
        let actor = actor.expose_provenance();
        self.actor.store(actor as u64, Relaxed);
        self.low.store(serial as u64, Release);
    }

    /// Takes it from its key.
    fn clear(&self) {
        self.low.store(0, Relaxed);
        // Invariant 2: whoever sees what is written later does not see the same number again.
        fence(Release);
    }

    /// Returns the actor of that key.
    fn actor(&self, serial: u128) -> Option<*const Actor> {
        let low = serial as u64;
        // Acquire: what was written before it, the actor itself included.
        if low == 0 || self.low.load(Acquire) != low {
            return None;
        }
        let high = self.high.load(Relaxed);
        let actor = self.actor.load(Relaxed);
        // The second look stays behind.
        fence(Acquire);
        let same = self.low.load(Relaxed) == low && high == (serial >> 64) as u64;
        same.then(|| std::ptr::with_exposed_provenance(actor as usize))
    }
}

/// All seats, by the position in a key.
#[derive(Default)]
pub(super) struct Seats {
    rows: [OnceLock<Box<[Seat]>>; ROWS],
}

impl Seats {
    /// The row of a position, and the place in it.
    fn place(at: usize) -> (usize, usize) {
        let row = ((at + FIRST) / FIRST).ilog2() as usize;
        (row, at + FIRST - (FIRST << row))
    }

    fn seat(&self, at: usize) -> Option<&Seat> {
        let (row, place) = Seats::place(at);
        self.rows.get(row)?.get()?.get(place)
    }

    /// Gives a seat to a key. Returns the bytes that were allocated for it.
    pub(super) fn give(&self, at: usize, serial: u128, actor: *const Actor) -> usize {
        let (row, place) = Seats::place(at);
        let Some(seats) = self.rows.get(row) else {
            return 0;
        };
        let mut bytes = 0;
        let seats = seats.get_or_init(|| {
            let seats: Box<[Seat]> = (0..FIRST << row).map(|_| Seat::default()).collect();
            bytes = size_of_val(&*seats);
            seats
        });
        seats[place].give(serial, actor);
        bytes
    }

    pub(super) fn clear(&self, at: usize) {
        if let Some(seat) = self.seat(at) {
            seat.clear();
        }
    }

    pub(super) fn actor(&self, at: usize, serial: u128) -> Option<*const Actor> {
        self.seat(at)?.actor(serial)
    }

    /// Notes the thread by which messages for the actor of a key enter, or that runs it.
    pub(super) fn note(&self, at: usize, thread: ThreadNumber) {
        if let Some(seat) = self.seat(at) {
            seat.thread.store(thread.into(), Relaxed);
        }
    }

    /// Returns the thread that was noted last: a hint.
    pub(super) fn thread(&self, at: usize) -> Option<ThreadNumber> {
        let thread = self.seat(at)?.thread.load(Relaxed);
        (thread > 0).then_some(thread as ThreadNumber)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_position_has_a_seat_of_its_own() {
        let seats = Seats::default();
        let most = 5 * FIRST;
        let actor = |at: usize| std::ptr::without_provenance(16 * at);
        let bytes: usize = (0..most)
            .map(|at| seats.give(at, at as u128 + 1, actor(at)))
            .sum();
        assert_eq!(bytes, 7 * FIRST * size_of::<Seat>());
        for at in 0..most {
            let found = seats.actor(at, at as u128 + 1);
            assert_eq!(found.map(|found| found.addr()), Some(16 * at));
            assert!(seats.actor(at, at as u128 + 2).is_none());
            assert!(seats.actor(at, at as u128 + 1 + (1 << 64)).is_none());
        }
        seats.clear(3);
        assert!(seats.actor(3, 4).is_none() && seats.actor(most, 0).is_none());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A seat goes from one key to the next while somebody looks: that one finds the actor of its key, or nothing.
    #[test]
    fn a_key_leads_to_its_own_actor_or_nowhere() {
        loom::model(|| {
            let seat = Arc::new(Seat::default());
            let actor = |n: usize| std::ptr::without_provenance::<Actor>(16 * n);
            let serial = |n: usize| (n as u128) << 64 | n as u128;
            seat.give(serial(1), actor(1));
            let s = seat.clone();
            let owner = thread::spawn(move || {
                s.clear();
                s.give(serial(2), actor(2));
            });
            for n in [1, 2] {
                let found = seat.actor(serial(n));
                assert!(found.is_none_or(|found| found.addr() == 16 * n));
            }
            owner.join().unwrap();
            assert!(seat.actor(serial(1)).is_none() && seat.actor(serial(2)).is_some());
        });
    }
}
