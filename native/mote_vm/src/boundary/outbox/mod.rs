//! A bounded queue from many actors to one process outside, with one wake-up for everything that has come since it last found
//! nothing.
//!
//! Senders append to buffers under a lock, the reader takes one buffer at a time and reads it in peace. A sender never waits
//! for room: a letter that finds the outbox full, or the machine's memory used up, is refused and counted. An outbox that
//! **holds** refuses none: letters beyond its capacity count as what waits in the sponsor that has sent them (surplus.rs), and a
//! turn that sends it more than there is memory for is aborted before (turns/turn/at_commit.rs).
//!
//! Invariants:
//! 1. Letters of one sender are read in the order in which they were sent: they are appended in order, and the reader
//!    takes the oldest buffer when its own is empty.
//! 2. No wake-up is lost: the reader goes to sleep only after it has found, under the senders' lock, nothing there,
//!    and has cleared `told` in that moment; the next sender finds it cleared, and wakes.
//! 3. Between two times that the reader finds nothing, at most one wake-up is sent.
//! 4. Never more than `capacity` letters wait, unless it holds: senders count what they have written under their lock, and the reader
//!    counts what it has read. Each count has one writer at a time, and the reader's is on a cache line of its own: so
//!    a letter costs one lock and no more.
mod buffers;
mod letters;
mod surplus;

pub use crate::base::quota::{Account, Charge};
pub use letters::{Letters, Part, Plain, Row};

use buffers::Buffers;

use crate::base::sync::{AtomicU64, Mutex, MutexGuard, Relaxed};
use crate::values::foreign::HeldPlaces;
use std::sync::Arc;
use surplus::Surplus;

/// The fate of a letter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Posted {
    /// It waits to be read; whether the reader is to be woken.
    Waits {
        /// See above.
        wake: bool,
    },
    /// There was no room.
    Full,
    /// There was no memory.
    NoMemory,
    /// Nobody reads any more.
    Closed,
    /// Nothing was written.
    Declined,
}

struct WriteSide<F> {
    buffers: Buffers<F>,
    /// The reader knows, or will know, that something is here.
    told: bool,
    closed: bool,
    /// Letters that were ever written, and that found no room.
    received: u64,
    overflowed: u64,
    /// Letters beyond the capacity, if it holds.
    surplus: Surplus,
}

/// Number of letters that the reader has read.
#[repr(align(128))]
struct ReadCount(AtomicU64);

/// One outbox: a side that actors write to, and one that its process reads.
pub struct Outbox<F> {
    capacity: u64,
    /// It refuses no letter.
    holds: bool,
    entrance: Mutex<WriteSide<F>>,
    /// The reader's buffer.
    taken: Mutex<Letters<F>>,
    /// Written under the reader's lock.
    seen: ReadCount,
}

/// The figures of an outbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxInfo {
    /// Letters that may wait.
    pub capacity: u64,
    /// Letters that do.
    pub waiting: u64,
    /// Letters that have come so far.
    pub received: u64,
    /// Letters that found it full, or no memory.
    pub overflowed: u64,
    /// Nobody reads any more.
    pub closed: bool,
}

/// The reason why reading came to an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadEnd {
    /// Nothing was left: a wake-up comes with the next letter.
    Empty,
    /// The reader had enough.
    Enough,
    /// Nothing was left, and nothing will come any more.
    Closed,
}

/// Letters that nobody will read. There may be many, so they are dropped where the time does not matter.
#[must_use]
pub struct Lost<F> {
    /// Number of letters that are lost.
    pub count: u64,
    _letters: (Buffers<F>, Letters<F>),
}

/// The senders' lock, with what is written under it.
pub struct WriteGuard<'o, F> {
    outbox: &'o Outbox<F>,
    entrance: MutexGuard<'o, WriteSide<F>>,
}

impl<F> WriteGuard<'_, F> {
    /// Posts a letter, as [`Outbox::post`] does.
    #[inline]
    pub fn post(&mut self, write: impl FnOnce(&mut Letters<F>) -> bool) -> Posted {
        let entrance = &mut *self.entrance;
        if entrance.closed {
            return Posted::Closed;
        }
        let holds = self.outbox.holds;
        if !holds && self.outbox.waiting(entrance) >= self.outbox.capacity {
            entrance.overflowed += 1;
            return Posted::Full;
        }
        let Some(buffer) = entrance.buffers.next(holds) else {
            entrance.overflowed += 1;
            return Posted::NoMemory;
        };
        if !write(buffer) {
            return Posted::Declined;
        }
        entrance.received += 1;
        let wake = !std::mem::replace(&mut entrance.told, true);
        Posted::Waits { wake }
    }
}

impl<F> Outbox<F> {
    /// Creates an outbox for `capacity` letters, charged to `account`; one that `holds` counts what is more, and refuses none. The
    /// embedder charges what its own copies take.
    pub fn new(capacity: u64, holds: bool, account: Account) -> Outbox<F> {
        let entrance = WriteSide {
            buffers: Buffers::new(account),
            told: false,
            closed: false,
            received: 0,
            overflowed: 0,
            surplus: Surplus::default(),
        };
        Outbox {
            capacity,
            holds,
            entrance: Mutex::new(entrance),
            taken: Mutex::new(Letters::default()),
            seen: ReadCount(AtomicU64::new(0)),
        }
    }

    /// Returns whether it refuses no letter.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Counts the letters beyond the capacity, if it holds. Those that have been posted since the last time count in `places`.
    pub fn count_surplus(&self, places: Option<Arc<dyn HeldPlaces>>) {
        if self.holds {
            let mut entrance = self.entrance.lock();
            let beyond = self.waiting(&entrance).saturating_sub(self.capacity);
            let uncounted = entrance.surplus.put_right(beyond, places);
            drop(entrance);
            uncounted.take_off();
        }
    }

    /// Writes a letter; `write` writes one, or none and says so. It runs under the senders' lock.
    pub fn post(&self, write: impl FnOnce(&mut Letters<F>) -> bool) -> Posted {
        self.write_guard().post(write)
    }

    /// Notes that there is no memory for a letter that the embedder has copied: it counts as one that found no room.
    pub fn refuse(&self) -> Posted {
        self.entrance.lock().overflowed += 1;
        Posted::NoMemory
    }

    /// Returns a guard that writes letters one after the other. Other senders and the reader wait as long as it lives.
    pub fn write_guard(&self) -> WriteGuard<'_, F> {
        WriteGuard {
            outbox: self,
            entrance: self.entrance.lock(),
        }
    }

    /// Reads letters part by part while `read` says that it wants another letter. It is asked before the first one, and
    /// after each, with `None`.
    pub fn take(&self, mut read: impl FnMut(Option<Part<'_, F>>) -> bool) -> ReadEnd {
        let mut taken = self.taken.lock();
        let mut count = 0;
        let rest = loop {
            if taken.is_empty() && !self.refill(&mut taken) {
                break self.nothing();
            }
            if !read(None) {
                break ReadEnd::Enough;
            }
            taken.read(|part| {
                read(Some(part));
            });
            count += 1;
        };
        self.saw(count);
        drop(taken);
        self.count_surplus(None);
        rest
    }

    /// Returns the number of letters that wait.
    fn waiting(&self, entrance: &WriteSide<F>) -> u64 {
        // Relaxed: an old count makes room later, never too much of it.
        entrance.received - self.seen.0.load(Relaxed)
    }

    /// Counts letters as read; under the reader's lock.
    fn saw(&self, count: u64) {
        // Relaxed, and in two steps: there is one writer at a time.
        self.seen
            .0
            .store(self.seen.0.load(Relaxed) + count, Relaxed);
    }

    /// Takes what senders have written.
    fn refill(&self, taken: &mut Letters<F>) -> bool {
        taken.clear();
        let mut entrance = self.entrance.lock();
        let found = entrance.buffers.exchange(taken);
        // Invariant 2.
        entrance.told = found;
        found
    }

    fn nothing(&self) -> ReadEnd {
        match self.entrance.lock().closed {
            true => ReadEnd::Closed,
            false => ReadEnd::Empty,
        }
    }

    /// Takes no more letters. The reader gets those that wait.
    pub fn close(&self) {
        self.entrance.lock().closed = true;
    }

    /// Takes no more letters, and nobody will read those that wait. They go to the caller, which drops them without a lock,
    /// for what they hold may do anything when it goes.
    pub fn abandon(&self) -> Lost<F> {
        let mut taken = self.taken.lock();
        let mut entrance = self.entrance.lock();
        entrance.closed = true;
        let count = self.waiting(&entrance);
        self.saw(count);
        let waiting = std::mem::take(&mut entrance.buffers);
        let letters = (waiting, std::mem::take(&mut *taken));
        drop((entrance, taken));
        self.count_surplus(None);
        Lost {
            count,
            _letters: letters,
        }
    }

    /// Returns the figures of the outbox.
    pub fn info(&self) -> OutboxInfo {
        let entrance = self.entrance.lock();
        OutboxInfo {
            capacity: self.capacity,
            waiting: self.waiting(&entrance),
            received: entrance.received,
            overflowed: entrance.overflowed,
            closed: entrance.closed,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::base::quota::Quota;
    use crate::boundary::room::Room;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    /// The letters of a reading, at most `max`.
    fn take<F: Clone>(outbox: &Outbox<F>, max: usize) -> (Vec<F>, ReadEnd) {
        let (mut read, mut wanted) = (Vec::new(), max);
        let rest = outbox.take(|part| match part {
            None if wanted == 0 => false,
            None => {
                wanted -= 1;
                true
            }
            Some(Part::Other(other)) => {
                read.push(other);
                true
            }
            Some(_) => unreachable!(),
        });
        (read, rest)
    }

    fn post<F>(outbox: &Outbox<F>, letter: F) -> Posted {
        outbox.post(|letters| letters.add(letter))
    }

    #[test]
    fn one_wake_up_for_all_that_has_come() {
        let outbox = Outbox::new(10, false, Account::default());
        let waits = |wake| Posted::Waits { wake };
        assert_eq!(post(&outbox, 1), waits(true));
        assert_eq!(post(&outbox, 2), waits(false));
        assert_eq!(take(&outbox, 1), (vec![1], ReadEnd::Enough));
        assert_eq!(post(&outbox, 3), waits(false));
        assert_eq!(take(&outbox, 2), (vec![2, 3], ReadEnd::Empty));
        assert_eq!(post(&outbox, 4), waits(true));
        assert_eq!(take(&outbox, 5), (vec![4], ReadEnd::Empty));
        assert_eq!(take(&outbox, 5), (vec![], ReadEnd::Empty));
        assert_eq!(post(&outbox, 5), waits(true));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let outbox = Outbox::new(2, false, Account::default());
        let posted: Vec<Posted> = (0..4).map(|n| post(&outbox, n)).collect();
        assert_eq!(posted[2..], [Posted::Full, Posted::Full]);
        assert_eq!(take(&outbox, 1).0, [0]);
        assert_eq!(post(&outbox, 4), Posted::Waits { wake: false });
        let info = outbox.info();
        let figures = (info.waiting, info.received, info.overflowed);
        assert_eq!(figures, (2, 3, 2));
        assert_eq!(take(&outbox, 9).0, [1, 4]);
    }

    #[test]
    fn a_closed_one_gives_what_waits_unless_nobody_is_left() {
        let outbox = Outbox::new(9, false, Account::default());
        post(&outbox, 1);
        outbox.close();
        assert_eq!(post(&outbox, 2), Posted::Closed);
        assert_eq!(take(&outbox, 9), (vec![1], ReadEnd::Closed));
        let outbox = Outbox::new(9, false, Account::default());
        (0..5).for_each(|n| assert_ne!(post(&outbox, n), Posted::Full));
        take(&outbox, 2);
        assert_eq!(outbox.abandon().count, 3);
        assert_eq!(outbox.info().waiting, 0);
        assert_eq!(take(&outbox, 9), (vec![], ReadEnd::Closed));
    }

    #[test]
    fn one_that_holds_refuses_nothing_and_counts_what_is_beyond() {
        let outbox = Outbox::new(2, true, Account::default());
        let [one, other] = [(); 2].map(|()| Arc::new(Room::new(3, false)));
        let held = || [&one, &other].map(|room| (room.held(), room.waiting()));
        let send = |n, room: &Arc<Room>| {
            assert!(matches!(post(&outbox, n), Posted::Waits { .. }));
            outbox.count_surplus(Some(room.clone()));
        };
        (0..2).for_each(|n| send(n, &one));
        assert_eq!(held(), [(0, 0); 2]);
        (2..6).for_each(|n| send(n, &one));
        (6..9).for_each(|n| send(n, &other));
        assert_eq!(held(), [(4, 4), (3, 3)]);
        // Full, until the reader comes.
        assert_eq!(one.enter_ahead(1), 0);
        assert_eq!(take(&outbox, 3).0, [0, 1, 2]);
        assert_eq!(held(), [(1, 1), (3, 3)]);
        assert_eq!(one.enter_ahead(1), 1);
        send(9, &one);
        assert_eq!(take(&outbox, 2).0, [3, 4]);
        assert_eq!(held(), [(1, 2), (2, 2)]);
        assert_eq!(take(&outbox, 9).0, [5, 6, 7, 8, 9]);
        assert_eq!(held(), [(0, 1), (0, 0)]);
        (0..5).for_each(|n| send(n, &other));
        assert_eq!(held(), [(0, 1), (3, 3)]);
        assert_eq!(outbox.abandon().count, 5);
        assert_eq!(held(), [(0, 1), (0, 0)]);
        assert_eq!(outbox.info().overflowed, 0);
    }

    #[test]
    fn one_that_holds_takes_what_was_accepted_beyond_the_limit() {
        let quota = Arc::new(Quota::new(2 * Letters::<usize>::BYTES));
        let account = Account::of(&quota);
        let outbox = Outbox::new(1, true, account.clone());
        assert!(account.left() > 0);
        let n = if cfg!(miri) { 20_000 } else { 100_000 };
        for letter in 0..n {
            assert!(matches!(post(&outbox, letter), Posted::Waits { .. }));
        }
        assert_eq!(account.left(), 0);
        assert!(take(&outbox, n + 1).0.into_iter().eq(0..n));
        assert_eq!(quota.held(), 0);
    }

    /// Senders and a reader that sleeps whenever it finds nothing: everything comes, each sender's in order.
    #[test]
    fn many_senders_and_a_reader() {
        let (senders, each) = if cfg!(miri) { (2, 30) } else { (4, 20_000) };
        let outbox: Outbox<(usize, usize)> = Outbox::new(u64::MAX, false, Account::default());
        let wakes = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut next = vec![0; senders];
                while next.iter().sum::<usize>() < senders * each {
                    let (letters, rest) = take(&outbox, 7);
                    for (sender, n) in letters {
                        assert_eq!(next[sender], n);
                        next[sender] += 1;
                    }
                    if rest == ReadEnd::Empty && next.iter().sum::<usize>() < senders * each {
                        while wakes.load(SeqCst) == 0 {
                            std::thread::park();
                        }
                        wakes.fetch_sub(1, SeqCst);
                    }
                }
            });
            let thread = reader.thread().clone();
            for sender in 0..senders {
                let (outbox, wakes, thread) = (&outbox, &wakes, thread.clone());
                scope.spawn(move || {
                    for n in 0..each {
                        if post(outbox, (sender, n)) == (Posted::Waits { wake: true }) {
                            wakes.fetch_add(1, SeqCst);
                            thread.unpark();
                        }
                    }
                });
            }
        });
        assert_eq!(outbox.info().waiting, 0);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::sync::{AtomicU64, Ordering::SeqCst};
    use crate::boundary::room::Room;
    use loom::sync::Arc;
    use loom::thread;

    /// A sender, and a reader that sleeps when it finds nothing: it always learns of everything, and is never woken
    /// without a letter that it did not know of.
    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let outbox = Arc::new(Outbox::new(9, false, Account::default()));
            let woken = Arc::new(AtomicU64::new(0));
            let (o, w) = (outbox.clone(), woken.clone());
            let sender = thread::spawn(move || {
                for n in 0..2 {
                    if o.post(|letters| letters.add(n)) == (Posted::Waits { wake: true }) {
                        w.fetch_add(1, SeqCst);
                    }
                }
            });
            let (mut read, mut seen) = (0, 0);
            while read < 2 {
                // Asleep: only a wake-up makes it look.
                if woken.load(SeqCst) == seen {
                    thread::yield_now();
                    continue;
                }
                seen += 1;
                let rest = outbox.take(|part| {
                    read += part.is_some() as u64;
                    true
                });
                assert_eq!(rest, ReadEnd::Empty);
            }
            sender.join().unwrap();
            assert!(woken.load(SeqCst) <= 2);
        });
    }

    /// Two senders and a reader: what counts in the end is what is beyond the capacity.
    #[test]
    fn what_is_held_counts_as_long_as_it_waits() {
        loom::model(|| {
            let outbox = Arc::new(Outbox::new(1, true, Account::default()));
            let room = std::sync::Arc::new(Room::new(9, false));
            let send = |outbox: &Outbox<u64>, places| {
                outbox.post(|letters| letters.add(0));
                outbox.count_surplus(Some(places));
            };
            let (o, r) = (outbox.clone(), room.clone());
            let sender = thread::spawn(move || send(&o, r));
            let o = outbox.clone();
            let reader = thread::spawn(move || {
                let mut read = 0;
                o.take(|part| {
                    read += part.is_some() as usize;
                    part.is_some() || read == 0
                });
                read
            });
            send(&outbox, room.clone());
            sender.join().unwrap();
            let read = reader.join().unwrap();
            assert_eq!(room.held(), (2 - read).saturating_sub(1));
            assert_eq!(room.waiting(), room.held());
            outbox.abandon().count;
            assert_eq!(room.waiting(), 0);
        });
    }

    /// A letter comes while the outbox closes: it is read, or its sender knows that it will not be.
    #[test]
    fn no_letter_is_lost_when_it_closes() {
        loom::model(|| {
            let outbox = Arc::new(Outbox::new(9, false, Account::default()));
            let o = outbox.clone();
            let sender = thread::spawn(move || o.post(|letters| letters.add(1)));
            let lost = outbox.abandon().count;
            let posted = sender.join().unwrap();
            match posted {
                Posted::Closed => assert_eq!(lost, 0),
                _ => assert_eq!(lost, 1),
            }
        });
    }
}
