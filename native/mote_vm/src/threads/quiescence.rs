//! Counts exactly whether anything is left to do in a machine.
//!
//! Every awake thread and every inbox that is not empty is outstanding. An event in a queue needs no count of its own,
//! since its thread is awake. Turns that are away (away.rs) are outstanding as well, but counted separately: a caller
//! that moves time by hand may want to go on although they have not ended ([`Quiet::Native`]). Timers that are not due
//! are not outstanding.
//!
//! A stand-in counts as its thread does, but in a lane of that thread as long as nobody asks whether the machine is
//! quiet. So stand-ins for several threads write nothing in common.
//!
//! Invariants:
//! 1. An inbox is added, under its lock, before the first thing is in it, and taken off after everything has left it, by
//!    a thread that is counted as awake itself. A thread that wakes for an inbox adds itself before it drains.
//! 2. So the count is zero only when every queue and every inbox is empty and no turn runs; and then only the
//!    outside or a timer can raise it again.
//! 3. A waiter is notified when the count is zero after the waiter was registered, and never because of an earlier zero: the
//!    waiter may have added something in between. The same holds for the count without turns that are away.
//! 4. A caller that asks sets `awaited`, then reads the lanes, and then the count. A stand-in enters its lane first, then
//!    reads `awaited`, and moves to the count if that is set. So a lane that was seen empty later holds no stand-in that
//!    is not in the count, and if all lanes are empty the count says everything. A stand-in that leaves a lane reads
//!    `awaited` afterwards, and notifies the waiters. Reading a lane is a step that changes it, like the steps of a
//!    stand-in: the later one of two sees everything that came before the other.
use crate::base::ids::ThreadNumber;
use crate::base::sync::{
    AcqRel, AtomicBool, AtomicIsize, AtomicUsize, CachePadded, Mutex, Relaxed, SeqCst,
};

type Waiter = Box<dyn FnOnce() + Send>;

/// The work that must be done before a machine counts as quiet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quiet {
    /// Everything.
    Whole,
    /// Everything but turns that are away, and what waits for them to end.
    Native,
}

impl Quiet {
    /// Returns what is left to do.
    fn left(self, count: isize) -> isize {
        match self {
            Quiet::Whole => count,
            // The low bits with their sign.
            Quiet::Native => count << (isize::BITS - AWAY_SHIFT) >> (isize::BITS - AWAY_SHIFT),
        }
    }
}

/// The bits from here on count the turns that are away.
const AWAY_SHIFT: u32 = 40;
const AWAY: isize = 1 << AWAY_SHIFT;

/// The ticket of a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u64);

#[derive(Default)]
struct Waiters {
    waiting: Vec<(Ticket, Quiet, Waiter)>,
    given: u64,
}

/// Threads whose numbers differ by this share a lane.
const LANES: usize = if cfg!(loom) { 2 } else { 8 };

/// A caller that stands in, and where it counts: in its lane, or among all others.
#[must_use]
pub(crate) enum Stay {
    InLane(ThreadNumber),
    Counted,
}

/// The amount of work of one machine, and the waiters for its end. On cache lines of its own.
#[repr(align(128))]
pub(crate) struct Quiescence {
    outstanding: AtomicIsize,
    /// Callers that stand in, by the numbers of their threads (invariant 4).
    lanes: [CachePadded<AtomicUsize>; LANES],
    /// True if anybody waits, and true if anybody waits who ignores turns that are away. Written under the lock of the waiters.
    awaited: AtomicBool,
    ignored: AtomicBool,
    /// Somebody always wants to know.
    exact: bool,
    waiters: Mutex<Waiters>,
}

impl Default for Quiescence {
    fn default() -> Quiescence {
        Quiescence::new(false)
    }
}

impl Quiescence {
    /// Creates the count of a machine; `exact` if [`Quiescence::is_last`] is ever asked of it.
    pub(crate) fn new(exact: bool) -> Quiescence {
        Quiescence {
            outstanding: AtomicIsize::new(0),
            lanes: std::array::from_fn(|_| CachePadded(AtomicUsize::new(0))),
            awaited: AtomicBool::new(exact),
            ignored: AtomicBool::new(false),
            exact,
            waiters: Mutex::default(),
        }
    }

    /// Counts a caller that stands in for that thread, before it does anything.
    pub(crate) fn stand_in(&self, thread: ThreadNumber) -> Stay {
        let lane = &self.lanes[usize::from(thread) % LANES].0;
        // AcqRel, here and below: invariant 4. Relaxed: ordered by that.
        lane.fetch_add(1, AcqRel);
        if !self.awaited.load(Relaxed) {
            return Stay::InLane(thread);
        }
        // Invariant 4: it is never in neither. Nobody needs to be told when it leaves the lane, but when it leaves the count.
        self.add(1);
        lane.fetch_sub(1, AcqRel);
        Stay::Counted
    }

    /// The caller has gone; `leaves` if it has left something to do, for which the thread counts from now on.
    pub(crate) fn stood_in(&self, stay: Stay, leaves: bool) {
        match stay {
            Stay::Counted if leaves => {}
            Stay::Counted => self.done(1),
            Stay::InLane(thread) => {
                if leaves {
                    self.add(1);
                }
                self.lanes[usize::from(thread) % LANES]
                    .0
                    .fetch_sub(1, AcqRel);
                if self.awaited.load(Relaxed) {
                    self.tell_if_quiet();
                }
            }
        }
    }

    /// Returns whether nobody is in a lane, while it is awaited (invariant 4).
    fn are_lanes_empty(&self) -> bool {
        self.lanes
            .iter()
            .all(|lane| lane.0.fetch_add(0, AcqRel) == 0)
    }

    /// Adds `n` things to do.
    pub(crate) fn add(&self, n: usize) {
        self.outstanding.fetch_add(n as isize, SeqCst);
    }

    /// Takes `n` things off. Notifies the waiters if these were the last.
    pub(crate) fn done(&self, n: usize) {
        self.subtract(n as isize);
    }

    /// Adds a turn that goes away.
    pub(crate) fn goes_away(&self) {
        self.outstanding.fetch_add(AWAY, SeqCst);
    }

    /// Takes off turns that are no longer away.
    pub(crate) fn come_back(&self, turns: usize) {
        self.subtract(turns as isize * AWAY);
    }

    fn subtract(&self, n: isize) {
        let was_last = n > 0 && {
            let left = self.outstanding.fetch_sub(n, SeqCst) - n;
            Quiet::Native.left(left) == 0
        };
        // Relaxed: a waiter says that it waits and then looks at the count, in a step that changes it (`tell_if_quiet`). That
        // step comes after this one and finds the zero, or before, and then it is seen here.
        if was_last && self.awaited.load(Relaxed) {
            self.tell_if_quiet();
        }
    }

    /// Returns whether nothing is left at this moment.
    #[cfg(test)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.is(Quiet::Whole)
    }

    /// Returns whether it is quiet at this moment, in that sense.
    pub(crate) fn is(&self, quiet: Quiet) -> bool {
        let waiters = self.waiters.lock();
        self.awaited.store(true, Relaxed);
        let is_quiet =
            self.are_lanes_empty() && quiet.left(self.outstanding.fetch_add(0, SeqCst)) == 0;
        self.note(&waiters);
        is_quiet
    }

    /// Returns whether a caller waits until nothing is left but turns that are away: a hint.
    pub(crate) fn is_away_ignored(&self) -> bool {
        self.ignored.load(Relaxed)
    }

    /// Returns whether nothing is left at this moment but the asker itself: a thread that is awake, or a caller that counts as one. Only of an
    /// exact count.
    pub(crate) fn is_last(&self, quiet: Quiet) -> bool {
        quiet.left(self.outstanding.load(SeqCst)) == 1
    }

    /// Calls `waiter` as soon as nothing is left, maybe at once.
    pub(crate) fn wait(&self, quiet: Quiet, waiter: Waiter) -> Ticket {
        let mut waiters = self.waiters.lock();
        waiters.given += 1;
        let ticket = Ticket(waiters.given);
        waiters.waiting.push((ticket, quiet, waiter));
        self.note(&waiters);
        drop(waiters);
        self.tell_if_quiet();
        ticket
    }

    /// Drops a waiter that was not called yet.
    pub(crate) fn forget(&self, ticket: Ticket) {
        let mut waiters = self.waiters.lock();
        let found = waiters.waiting.iter().position(|(t, ..)| *t == ticket);
        let waiter = found.map(|at| waiters.waiting.remove(at));
        self.note(&waiters);
        drop(waiters);
        // Without the lock: what it holds may do anything when it goes.
        drop(waiter);
    }

    /// Notifies the waiters if it is quiet. If the count has risen again, whoever makes it zero the next time notifies them.
    fn tell_if_quiet(&self) {
        let mut waiters = self.waiters.lock();
        if !self.are_lanes_empty() {
            // Who leaves last tells.
            return;
        }
        // Under the lock: invariant 3. Adds nothing, but has a place in the order of the steps on the count (`done`).
        let count = self.outstanding.fetch_add(0, SeqCst);
        let is_told = |(_, quiet, _): &mut (Ticket, Quiet, Waiter)| quiet.left(count) == 0;
        let told = waiters.waiting.extract_if(.., is_told).collect();
        self.note(&waiters);
        drop(waiters);
        call(told);
    }

    /// Notes which waiters there are, for those that look without the lock.
    fn note(&self, Waiters { waiting, .. }: &Waiters) {
        let ignores = |(_, quiet, _): &(Ticket, Quiet, Waiter)| *quiet == Quiet::Native;
        self.awaited
            .store(self.exact || !waiting.is_empty(), Relaxed);
        self.ignored.store(waiting.iter().any(ignores), Relaxed);
    }

    /// Calls all waiters, whether it is quiet or not: the machine stops.
    pub(crate) fn tell(&self) {
        let waiters = std::mem::take(&mut self.waiters.lock().waiting);
        call(waiters);
    }
}

fn call(waiters: Vec<(Ticket, Quiet, Waiter)>) {
    for (_, _, waiter) in waiters {
        waiter();
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::sync::{AtomicBool, Ordering};
    use loom::sync::Arc;
    use loom::thread;

    /// A thread passes its work on to another and sleeps. A waiter is notified, and not before all is done.
    #[test]
    fn quiet_means_that_all_is_done() {
        loom::model(|| {
            let quiescence = Arc::new(Quiescence::default());
            let (passed, finished) = (
                Arc::new(AtomicBool::new(false)),
                Arc::new(AtomicBool::new(false)),
            );
            quiescence.add(2); // two awake threads
            let (q, p) = (quiescence.clone(), passed.clone());
            let first = thread::spawn(move || {
                q.add(1);
                p.store(true, Ordering::SeqCst);
                q.done(1); // asleep
            });
            let (q, p, f) = (quiescence.clone(), passed.clone(), finished.clone());
            let second = thread::spawn(move || {
                while !p.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                f.store(true, Ordering::SeqCst);
                q.done(1); // drained
                q.done(1); // asleep
            });
            let (told, f) = (Arc::new(AtomicBool::new(false)), finished.clone());
            let t = told.clone();
            quiescence.wait(
                Quiet::Whole,
                Box::new(move || {
                    assert!(f.load(Ordering::SeqCst));
                    t.store(true, Ordering::SeqCst);
                }),
            );
            first.join().unwrap();
            second.join().unwrap();
            assert!(told.load(Ordering::SeqCst));
        });
    }

    /// A turn goes away and comes back. A waiter that ignores it is notified when the thread sleeps, any other not before it
    /// is back.
    #[test]
    fn a_turn_that_is_away_is_ignored_by_who_wants_that() {
        loom::model(|| {
            let quiescence = Arc::new(Quiescence::default());
            let back = Arc::new(AtomicBool::new(false));
            quiescence.add(1); // an awake thread
            let q = quiescence.clone();
            let thread = thread::spawn(move || {
                q.goes_away();
                q.done(1); // asleep
            });
            let told: Vec<_> = [Quiet::Native, Quiet::Whole]
                .into_iter()
                .map(|quiet| {
                    let told = Arc::new(AtomicBool::new(false));
                    let (t, b) = (told.clone(), back.clone());
                    quiescence.wait(
                        quiet,
                        Box::new(move || {
                            assert!(quiet == Quiet::Native || b.load(Ordering::SeqCst));
                            t.store(true, Ordering::SeqCst);
                        }),
                    );
                    told
                })
                .collect();
            thread.join().unwrap();
            assert!(told[0].load(Ordering::SeqCst) && !told[1].load(Ordering::SeqCst));
            quiescence.add(1); // awake again
            back.store(true, Ordering::SeqCst);
            quiescence.come_back(1);
            quiescence.done(1);
            assert!(told[1].load(Ordering::SeqCst));
        });
    }

    /// One thread finds that it has done the last thing, while a sender adds another and then waits. The sender is not
    /// notified before its own is done.
    #[test]
    fn nobody_is_told_before_what_it_sent_is_done() {
        loom::model(|| {
            let quiescence = Arc::new(Quiescence::default());
            let sent = Arc::new(AtomicBool::new(false));
            let done = Arc::new(AtomicBool::new(false));
            quiescence.add(1); // an awake thread
            let (q, s, d) = (quiescence.clone(), sent.clone(), done.clone());
            let worker = thread::spawn(move || {
                q.done(1); // asleep
                if s.load(Ordering::SeqCst) {
                    q.add(1); // awake again
                    d.store(true, Ordering::SeqCst);
                    q.done(1); // drained
                    q.done(1); // asleep
                    return true;
                }
                false
            });
            quiescence.add(1);
            sent.store(true, Ordering::SeqCst);
            let told = Arc::new(AtomicBool::new(false));
            let (t, d) = (told.clone(), done.clone());
            quiescence.wait(
                Quiet::Whole,
                Box::new(move || {
                    assert!(d.load(Ordering::SeqCst));
                    t.store(true, Ordering::SeqCst);
                }),
            );
            let saw = worker.join().unwrap();
            assert_eq!(told.load(Ordering::SeqCst), saw);
        });
    }

    /// A caller stands in and sends to another thread; a second one, which stands in for that, takes it and leaves it to the thread. A waiter
    /// that comes meanwhile is notified, and not before that is done.
    #[test]
    fn who_stands_in_counts_wherever_it_does() {
        loom::model(|| {
            let quiescence = Arc::new(Quiescence::default());
            let sent = Arc::new(AtomicBool::new(false));
            let done = Arc::new(AtomicBool::new(false));
            let stay = quiescence.stand_in(0);
            let (q, s) = (quiescence.clone(), sent.clone());
            let first = thread::spawn(move || {
                q.add(1); // an inbox that is not empty
                s.store(true, Ordering::SeqCst);
                q.stood_in(stay, false);
            });
            let (q, s, d) = (quiescence.clone(), sent.clone(), done.clone());
            let second = thread::spawn(move || {
                let stay = q.stand_in(1);
                let came = s.load(Ordering::SeqCst);
                if came {
                    q.done(1); // drained
                }
                q.stood_in(stay, came);
                if came {
                    d.store(true, Ordering::SeqCst);
                    q.done(1); // the thread has woken for what was left, and sleeps
                }
                came
            });
            let told = Arc::new(AtomicBool::new(false));
            let (t, d) = (told.clone(), done.clone());
            quiescence.wait(
                Quiet::Whole,
                Box::new(move || {
                    assert!(d.load(Ordering::SeqCst));
                    t.store(true, Ordering::SeqCst);
                }),
            );
            first.join().unwrap();
            if !second.join().unwrap() {
                assert!(!quiescence.is_quiet());
                done.store(true, Ordering::SeqCst);
                quiescence.done(1); // drained
            }
            assert!(told.load(Ordering::SeqCst) && quiescence.is_quiet());
        });
    }
}
