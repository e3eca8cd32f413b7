//! The room of a sponsor: how much may wait in it, and the callers that wait for room.
//!
//! All events and messages in the sponsor's inboxes and queues are counted. Only the outside is refused at the bound.
//! Events from inside (a turn's own sends, `sendx`, events that follow their actor) always enter: a thread could neither
//! wait for room, because two sponsors would wait for each other, nor drop the event. Their bound is the memory of the
//! machine.
//!
//! Invariants:
//! 1. A place is counted from before the message is in the inbox until its event has left the queue. Threads take
//!    theirs off in batches, so the count is late, never low. A message that a stand-in brings (stand_in.rs, invariant 8) does not wait, so
//!    it has none, and its sender writes nothing that is shared by all threads: it gets one if it is left in the queue.
//! 2. While a caller waits for room, no later one gets any: room is given in order, as permits, and a permit is a place
//!    that is counted already. A permit that is dropped unused goes to the next caller.
//! 3. No room is left unoffered: a caller that returns places looks for waiters afterwards; one that adds a waiter looks for
//!    places afterwards, and changes their count in between. Of these two steps on the count the later one sees what came
//!    before the other. A room that is closed and a waiter see each other by a sequentially consistent fence between the two
//!    steps of each.
//!    While one caller grants permits, others leave it to that one, which looks again under the lock before it stops.
//! 4. Places may be taken ahead (inbox.rs), never more than a sixteenth of those that are free: they count as taken, and
//!    are returned with the next ones. A caller that uses one later checks again whether another one waits.
//! 5. Messages that an outbox holds (outbox/surplus.rs) take places as well. Their turns are over, so they are counted
//!    separately: the end of a machine must not count them as messages that were not handled.
//! 6. A room that is closed gives permits to all callers that wait or come: they find out what has happened to the sponsor by
//!    trying again. If it is opened again, those who have come meanwhile keep their places, however many they are.
use crate::base::sync::{
    fence, AcqRel, Acquire, AtomicBool, AtomicU64, AtomicUsize, Mutex, Relaxed, Release, SeqCst,
};
use crate::values::foreign::HeldPlaces;
use std::collections::VecDeque;
use std::sync::Arc;

type PermitWaiter = Box<dyn FnOnce(Permit) + Send>;

/// One in this many free places may be taken ahead.
const AHEAD: usize = 16;

#[derive(Default)]
struct WaitingLine {
    waiting: VecDeque<(u64, PermitWaiter)>,
    given: u64,
    /// Somebody gives permits out, and looks again before they stop: so that a permit that is dropped at once does
    /// not lead ever deeper.
    offering: bool,
}

/// Counts what waits in one sponsor, with its bound and the line of callers that wait for room.
#[repr(align(128))]
pub(crate) struct Room {
    bound: usize,
    /// True if callers that do not say otherwise wait for room.
    pub(crate) patient: bool,
    taken: AtomicUsize,
    /// The places that messages held by outboxes take.
    held: AtomicUsize,
    most: AtomicUsize,
    refused: AtomicU64,
    /// True while the line is not empty.
    awaited: AtomicBool,
    closed: AtomicBool,
    line: Mutex<WaitingLine>,
}

impl Default for Room {
    fn default() -> Room {
        Room::new(usize::MAX, false)
    }
}

impl Room {
    pub(crate) fn new(bound: usize, patient: bool) -> Room {
        Room {
            bound,
            patient,
            taken: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            awaited: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            line: Mutex::default(),
        }
    }

    /// Takes a place for somebody from outside, if there is one, and places for up to `most` in all while that leaves
    /// most of what is free to others; how many.
    pub(crate) fn enter_ahead(&self, most: usize) -> usize {
        let taken = match self.awaited.load(Relaxed) {
            true => 0,
            false => self.take_ahead(most),
        };
        if taken == 0 && self.take_if_closed() {
            return 1;
        }
        self.refused.fetch_add((taken == 0) as u64, Relaxed);
        taken
    }

    /// Returns whether a message may be brought that does not wait (invariant 1): a place is free, and nobody waits for one. Who may not is
    /// not refused: it has another way to enter.
    pub(crate) fn has_room(&self) -> bool {
        // Relaxed, both: what is brought in the same moment as others come is as if it had come before.
        !self.awaited.load(Relaxed) && self.taken.load(Relaxed) < self.bound
    }

    fn take_ahead(&self, most: usize) -> usize {
        // Relaxed: a hint.
        let free = self.bound.saturating_sub(self.taken.load(Relaxed));
        self.take_some((free / AHEAD).clamp(1, most), 1)
    }

    /// Returns whether a message may take one of the `places` that were taken ahead: not while somebody waits (invariant 2).
    pub(crate) fn enter_by_place(&self, places: usize) -> bool {
        if self.awaited.load(Relaxed) {
            return false;
        }
        // Relaxed: for the figure. Whoever calls has taken the places, and nobody else can give them back.
        self.record(self.taken.load(Relaxed) - (places - 1));
        true
    }

    fn take_one(&self) -> bool {
        self.take_some(1, 1) == 1
    }

    /// Takes `n` places, or as many as are free, and returns how many. All of them are used at once.
    fn take_some(&self, n: usize, used: usize) -> usize {
        // Relaxed: a hint, the exchange decides; orders come from fences (invariant 3) and the lock.
        let mut taken = self.taken.load(Relaxed);
        while taken < self.bound {
            let some = n.min(self.bound - taken);
            match self
                .taken
                .compare_exchange_weak(taken, taken + some, AcqRel, Relaxed)
            {
                Ok(_) => {
                    self.record(taken + used.min(some));
                    return some;
                }
                Err(now) => taken = now,
            }
        }
        0
    }

    /// Takes a place beyond the bound (invariant 6).
    fn take_if_closed(&self) -> bool {
        let closed = self.closed.load(Acquire);
        if closed {
            self.add(1);
        }
        closed
    }

    /// Takes up to `n` places for somebody from outside; how many.
    pub(crate) fn enter_some(&self, n: usize) -> usize {
        if self.closed.load(Acquire) {
            self.add(n);
            return n;
        }
        let awaited = self.awaited.load(Relaxed);
        let entered = if awaited { 0 } else { self.take_some(n, n) };
        self.refused.fetch_add((n - entered) as u64, Relaxed);
        entered
    }

    /// Takes `n` places, whether there are any or not.
    pub(crate) fn add(&self, n: usize) {
        let before = self.taken.fetch_add(n, AcqRel);
        self.record(before + n);
    }

    /// Returns `n` places.
    pub(crate) fn leave(self: &Arc<Room>, n: usize) {
        if n > 0 {
            self.taken.fetch_sub(n, AcqRel);
            if self.awaited.load(Relaxed) {
                self.offer();
            }
        }
    }

    /// Puts the number of places that a thread's queue takes right: they were `before`, and are `now`; `left` others
    /// have gone as well. Answers with `now`.
    pub(crate) fn recount(self: &Arc<Room>, before: usize, now: usize, left: usize) -> usize {
        match now.checked_sub(before + left) {
            Some(0) => {}
            Some(more) => self.add(more),
            None => self.leave(before + left - now),
        }
        now
    }

    fn record(&self, taken: usize) {
        // Relaxed: a figure for people. The look first, for the mark is seldom passed.
        if taken > self.most.load(Relaxed) {
            self.most.fetch_max(taken, Relaxed);
        }
    }

    /// Calls `waiter` with a permit as soon as there is room, maybe at once. The number is for `forget`.
    pub(crate) fn wait(self: &Arc<Room>, waiter: PermitWaiter) -> u64 {
        let mut line = self.line.lock();
        line.given += 1;
        let number = line.given;
        line.waiting.push_back((number, waiter));
        self.awaited.store(true, Relaxed);
        drop(line);
        // Adds nothing, but has a place in the order of the steps on the count: invariant 3.
        self.taken.fetch_add(0, AcqRel);
        fence(SeqCst);
        self.offer();
        number
    }

    /// Grants permits to the waiters, as long as there is room.
    fn offer(self: &Arc<Room>) {
        let mut line = self.line.lock();
        if line.offering {
            return;
        }
        line.offering = true;
        while !line.waiting.is_empty() && (self.take_one() || self.take_if_closed()) {
            let first = line.waiting.pop_front();
            self.awaited.store(!line.waiting.is_empty(), Relaxed);
            drop(line);
            if let Some((_, waiter)) = first {
                waiter(Permit(Some(self.clone())));
            }
            line = self.line.lock();
        }
        line.offering = false;
    }

    /// Drops a waiter that was not called yet.
    pub(crate) fn forget(&self, number: u64) {
        let mut line = self.line.lock();
        let found = line.waiting.iter().position(|(n, _)| *n == number);
        let waiter = found.and_then(|at| line.waiting.remove(at));
        self.awaited.store(!line.waiting.is_empty(), Relaxed);
        drop(line);
        // Without the lock: what it holds may do anything when it goes.
        drop(waiter);
    }

    /// Lets everybody in until it is opened again.
    pub(crate) fn close(self: &Arc<Room>) {
        self.closed.store(true, Release);
        fence(SeqCst);
        if self.awaited.load(Relaxed) {
            self.offer();
        }
    }

    /// Has a bound again, for those who come from now on.
    pub(crate) fn open(&self) {
        // Relaxed: who does not see it yet is as if he had come before.
        self.closed.store(false, Relaxed);
    }

    /// Returns the number of places that are taken.
    pub(crate) fn waiting(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Returns the number of places that what outboxes hold has taken.
    pub(crate) fn held(&self) -> usize {
        // Relaxed: a figure for people, and exact when all threads have ended.
        self.held.load(Relaxed)
    }

    /// Returns how much waits, the most that ever did, and how often the outside was refused.
    pub(crate) fn figures(&self) -> (usize, usize, u64) {
        let most = self.most.load(Relaxed);
        (self.taken.load(Relaxed), most, self.refused.load(Relaxed))
    }
}

impl HeldPlaces for Room {
    fn add_held(&self, n: usize) {
        self.held.fetch_add(n, Relaxed);
        self.add(n);
    }

    fn give_held(self: Arc<Room>, n: usize) {
        self.held.fetch_sub(n, Relaxed);
        self.leave(n);
    }
}

/// A place in a sponsor that was waited for. Dropped unused, it goes to the next waiter.
pub struct Permit(Option<Arc<Room>>);

impl Permit {
    /// The message has entered that room. If it is the permit's, its place is the message's from now on; otherwise it
    /// is left over, to be dropped, for the message has taken one there.
    #[must_use]
    pub(crate) fn use_in(mut self, room: &Arc<Room>) -> Option<Permit> {
        match &self.0 {
            Some(own) if Arc::ptr_eq(own, room) => {
                self.0 = None;
                None
            }
            _ => {
                room.add(1);
                Some(self)
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            room.leave(1);
        }
    }
}

/// A place in the line of those who wait for room. Dropped, it is given up.
pub struct InLine {
    room: Arc<Room>,
    number: u64,
}

impl InLine {
    /// Waits in the line of a room.
    pub(crate) fn wait(room: &Arc<Room>, waiter: PermitWaiter) -> InLine {
        let number = room.wait(waiter);
        InLine {
            room: room.clone(),
            number,
        }
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        self.room.forget(self.number);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::sync::AtomicBool;
    use loom::thread;

    fn enter(room: &Room) -> bool {
        room.enter_ahead(1) == 1
    }

    /// A thread returns the only place while somebody joins the line: the waiter is notified in any case.
    #[test]
    fn no_waiter_is_forgotten() {
        loom::model(|| {
            let room = Arc::new(Room::new(1, false));
            assert!(enter(&room));
            let r = room.clone();
            let leaver = thread::spawn(move || r.leave(1));
            let told = loom::sync::Arc::new(AtomicBool::new(false));
            let t = told.clone();
            let waiter = move |permit: Permit| {
                t.store(true, SeqCst);
                drop(permit);
            };
            let in_line = InLine::wait(&room, Box::new(waiter));
            leaver.join().unwrap();
            assert!(told.load(SeqCst));
            drop(in_line);
            assert_eq!(room.figures().0, 0);
        });
    }

    /// Somebody comes for the last place while another waits in line: one at a time is in, and the waiter is notified.
    #[test]
    fn the_bound_holds() {
        loom::model(|| {
            let room = Arc::new(Room::new(1, false));
            let r = room.clone();
            let comer = thread::spawn(move || {
                if enter(&r) {
                    assert_eq!(r.figures().0, 1);
                    r.leave(1);
                }
            });
            let told = loom::sync::Arc::new(AtomicBool::new(false));
            let t = told.clone();
            let in_line = InLine::wait(
                &room,
                Box::new(move |permit| {
                    t.store(true, SeqCst);
                    drop(permit);
                }),
            );
            comer.join().unwrap();
            assert!(told.load(SeqCst));
            drop(in_line);
        });
    }
}
