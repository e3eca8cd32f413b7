//! Whether anything is left to do in a machine, counted exactly.
//!
//! Outstanding are: every awake thread, and every inbox that is not empty. An event in a queue needs no count of its own,
//! for its thread is awake. Timers that are not due do not count.
//!
//! Invariants:
//! 1. An inbox is added, under its lock, before the first thing is in it, and taken off after everything has left it, by
//!    a thread that is counted as awake itself. A thread that wakes for an inbox adds itself before it drains.
//! 2. So the count is zero only when every queue and every inbox is empty and no turn runs; and then only the
//!    outside or a timer can make it rise again.
//! 3. A waiter is notified when the count is zero after the waiter was registered, and never because of an earlier zero: the
//!    waiter may have added something in between.
use crate::base::sync::{AtomicBool, AtomicIsize, Mutex, Relaxed, SeqCst};

type Waiter = Box<dyn FnOnce() + Send>;

/// Somebody who waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u64);

#[derive(Default)]
struct Waiters {
    waiting: Vec<(Ticket, Waiter)>,
    given: u64,
}

/// How much one machine has to do, and who waits until that is nothing. On cache lines of its own.
#[repr(align(128))]
pub(crate) struct Quiescence {
    outstanding: AtomicIsize,
    /// Whether anybody waits. Written under the lock of the waiters.
    awaited: AtomicBool,
    waiters: Mutex<Waiters>,
}

impl Default for Quiescence {
    fn default() -> Quiescence {
        Quiescence {
            outstanding: AtomicIsize::new(0),
            awaited: AtomicBool::new(false),
            waiters: Mutex::default(),
        }
    }
}

impl Quiescence {
    /// `n` more things to do.
    pub(crate) fn add(&self, n: usize) {
        self.outstanding.fetch_add(n as isize, SeqCst);
    }

    /// `n` things less; tells the waiters if these were the last.
    pub(crate) fn done(&self, n: usize) {
        let was_last = n > 0 && self.outstanding.fetch_sub(n as isize, SeqCst) == n as isize;
        // Relaxed: a waiter says that it waits and then looks at the count, in a step that changes it (`tell_if_quiet`). That
        // step comes after this one and finds the zero, or before, and then it is seen here.
        if was_last && self.awaited.load(Relaxed) {
            self.tell_if_quiet();
        }
    }

    /// Whether nothing is left at this moment.
    pub(crate) fn is_quiet(&self) -> bool {
        self.outstanding.load(SeqCst) == 0
    }

    /// Whether nothing is left at this moment but one thing: whoever asks, a thread that is awake or a caller that counts as one.
    pub(crate) fn is_last(&self) -> bool {
        self.outstanding.load(SeqCst) == 1
    }

    /// Calls `waiter` as soon as nothing is left, maybe at once.
    pub(crate) fn wait(&self, waiter: Waiter) -> Ticket {
        let mut waiters = self.waiters.lock();
        waiters.given += 1;
        let ticket = Ticket(waiters.given);
        waiters.waiting.push((ticket, waiter));
        self.awaited.store(true, Relaxed);
        drop(waiters);
        self.tell_if_quiet();
        ticket
    }

    /// Drops a waiter that was not called yet.
    pub(crate) fn forget(&self, ticket: Ticket) {
        let mut waiters = self.waiters.lock();
        let found = waiters.waiting.iter().position(|(t, _)| *t == ticket);
        let waiter = found.map(|at| waiters.waiting.remove(at));
        drop(waiters);
        // Without the lock: what it holds may do anything when it goes.
        drop(waiter);
    }

    /// If the count has risen again, whoever makes it zero the next time tells.
    fn tell_if_quiet(&self) {
        let mut waiters = self.waiters.lock();
        // Under the lock: invariant 3. Adds nothing, but has a place in the order of the steps on the count (`done`).
        if self.outstanding.fetch_add(0, SeqCst) == 0 {
            let told = std::mem::take(&mut waiters.waiting);
            self.awaited.store(false, Relaxed);
            drop(waiters);
            call(told);
        }
    }

    /// Calls all waiters, whether it is quiet or not: the machine stops.
    pub(crate) fn tell(&self) {
        let waiters = std::mem::take(&mut self.waiters.lock().waiting);
        call(waiters);
    }
}

fn call(waiters: Vec<(Ticket, Waiter)>) {
    for (_, waiter) in waiters {
        waiter();
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::sync::{AtomicBool, Ordering};
    use loom::sync::Arc;
    use loom::thread;

    /// A thread passes its work on to another and sleeps; whoever waits is told, and not before all is done.
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
            quiescence.wait(Box::new(move || {
                assert!(f.load(Ordering::SeqCst));
                t.store(true, Ordering::SeqCst);
            }));
            first.join().unwrap();
            second.join().unwrap();
            assert!(told.load(Ordering::SeqCst));
        });
    }

    /// While one thread finds that it has done the last thing, a sender adds another and then waits: it is not told
    /// before its own is done.
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
            quiescence.wait(Box::new(move || {
                assert!(d.load(Ordering::SeqCst));
                t.store(true, Ordering::SeqCst);
            }));
            let saw = worker.join().unwrap();
            assert_eq!(told.load(Ordering::SeqCst), saw);
        });
    }
}
