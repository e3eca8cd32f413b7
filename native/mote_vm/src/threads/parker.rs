//! The place where a dispatch thread sleeps, and the core on which it runs when it is woken.
//!
//! A system prefers to run a woken thread on the core of its waker. Mostly the waker goes on, though: a sibling has the
//! other half of the work, and a scheduler of the BEAM waits busily for what may come. A thread woken on that core would
//! wait there for the end of a time slice, which takes milliseconds, and two threads would be slower than one. So a waker
//! that goes on bars the thread from its own core. Once awake, the thread may run anywhere again.
//!
//! A waker that has handed all its work over to a thread of another sponsor leaves its core to that thread, since waking
//! another core from its sleep takes several times as long.
//!
//! Invariants:
//! 1. A thread that its user has bound to a core (`pin`) is never barred.
//! 2. A thread is barred only while it is parked, and the cores that it may use are known until it is awake: it never
//!    goes on running while barred. (A thread that steps aside bars itself, for as long as that takes.)
//! 3. A system thread is only named here while it lives: it takes its name away itself, under the lock.
#[cfg(all(test, loom))]
mod models;

use crate::base::sync::thread::{self, Thread};
use crate::base::sync::{Mutex, RwLock};
use crate::platform::cores;
use crate::platform::poller::Poller;
use crate::threads::core_balance::{Cores, CORES};
use crate::threads::waking_time::WakingTime;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The place where one dispatch thread sleeps.
pub(crate) struct Parker {
    cores: &'static Cores,
    sleeper: RwLock<Option<Sleeper>>,
    rest: Mutex<Rest>,
    /// The time that it takes to wake it.
    pub(crate) waking: WakingTime,
}

/// The next step of a waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waker {
    /// The waker keeps its core busy.
    GoesOn,
    /// The waker rests: its core is free.
    Rests,
}

/// The state of the thread here.
enum Rest {
    Awake,
    Parked,
    /// Parked, and called at that time.
    Called(Instant),
    /// The same, and barred from a core; the cores that it may use.
    Barred(cores::Set, Instant),
}

struct Sleeper {
    thread: Thread,
    id: cores::ThreadId,
    bound: bool,
    /// The poller that it waits in, if it has sockets.
    poller: Option<Arc<Poller>>,
}

impl Parker {
    pub(crate) fn new() -> Parker {
        Parker::among(&CORES)
    }

    fn among(cores: &'static Cores) -> Parker {
        Parker {
            cores,
            sleeper: RwLock::new(None),
            rest: Mutex::new(Rest::Awake),
            waking: WakingTime::new(),
        }
    }

    /// The calling thread will sleep here; `bound`: to a core. With sockets it waits for what happens there as well.
    pub(crate) fn open(&self, bound: bool, poller: Option<Arc<Poller>>) {
        *self.sleeper.write() = Some(Sleeper {
            thread: thread::current(),
            id: cores::this_thread(),
            bound,
            poller,
        });
    }

    /// The thread ends.
    pub(crate) fn close(&self) {
        *self.sleeper.write() = None;
    }

    /// Sleeps until another thread wakes the calling one, or the time is over.
    pub(crate) fn park(&self, at_most: Option<Duration>) {
        *self.rest.lock() = Rest::Parked;
        let sleeper = self.sleeper.read();
        let poller = sleeper.as_ref().and_then(|sleeper| sleeper.poller.clone());
        drop(sleeper);
        match at_most {
            _ if poller.is_some() => poller.iter().for_each(|poller| poller.wait(at_most)),
            Some(duration) => thread::park_timeout(duration),
            None => thread::park(),
        }
        self.rise();
    }

    /// The calling thread is awake, and may run anywhere again.
    fn rise(&self) {
        let rest = std::mem::replace(&mut *self.rest.lock(), Rest::Awake);
        if let Rest::Called(at) | Rest::Barred(_, at) = rest {
            self.waking.took(at.elapsed());
        }
        if let Rest::Barred(all, _) = rest {
            cores::restore(&all);
            self.cores.has_come();
        }
    }

    /// Moves the calling thread, which sleeps here, to another core now, if it may. Returns whether it did.
    pub(crate) fn step_aside(&self) -> bool {
        let bound = |sleeper: &Sleeper| sleeper.bound;
        let may = !self.sleeper.read().as_ref().is_none_or(bound);
        may && cores::step_aside()
    }

    /// Wakes it to run beside the calling thread, or in its place.
    pub(crate) fn unpark(&self, waker: Waker) {
        if let Some(sleeper) = &*self.sleeper.read() {
            if waker == Waker::GoesOn {
                self.bar(sleeper);
            }
            match &sleeper.poller {
                Some(poller) => poller.wake(),
                None => sleeper.thread.unpark(),
            }
        }
    }

    fn bar(&self, sleeper: &Sleeper) {
        let mut rest = self.rest.lock();
        if matches!(*rest, Rest::Parked) {
            let now = Instant::now();
            let all = (!sleeper.bound).then(|| cores::bar_from_here(sleeper.id));
            *rest = match all.flatten() {
                Some(all) => {
                    self.cores.is_coming();
                    Rest::Barred(all, now)
                }
                None => Rest::Called(now),
            };
        }
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, loom, mote_portable))))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::sync::Arc;

    fn count(cores: &cores::Set) -> i32 {
        // SAFETY: only reads the set.
        unsafe { libc::CPU_COUNT(cores) }
    }

    /// The cores that a thread may use.
    fn allowed(thread: cores::ThreadId) -> i32 {
        // SAFETY: of plain bits; the system writes nothing else.
        let mut set: cores::Set = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::sched_getaffinity(thread, size_of::<cores::Set>(), &mut set) };
        count(&set)
    }

    /// Returns the number of cores that a thread may use: before it is woken beside this one, meanwhile, and after. Meanwhile
    /// it counts as coming if it is barred from one.
    fn woken(bound: bool, waker: Waker) -> [i32; 3] {
        let cores = Cores::of_a_test();
        let parker = Arc::new(Parker::among(cores));
        let (told, asked) = channel();
        let (look, looked) = channel();
        let sleeper = parker.clone();
        let thread = std::thread::spawn(move || {
            sleeper.open(bound, None);
            // As in `park`, but that the test may look before it is awake.
            *sleeper.rest.lock() = Rest::Parked;
            told.send((cores::this_thread(), allowed(0))).unwrap();
            looked.recv().unwrap();
            sleeper.rise();
            let after = allowed(0);
            sleeper.close();
            after
        });
        let (id, before) = asked.recv().unwrap();
        parker.unpark(waker);
        let barred = allowed(id);
        assert_eq!(cores.coming(), (barred < before) as u32);
        look.send(()).unwrap();
        let after = thread.join().unwrap();
        assert_eq!(cores.coming(), 0);
        [before, barred, after]
    }

    #[test]
    fn a_thread_is_barred_from_one_core_until_it_is_awake() {
        let [before, barred, after] = woken(false, Waker::GoesOn);
        assert_eq!(barred, (before - 1).max(1));
        assert_eq!(after, before);
    }

    #[test]
    fn whose_waker_rests_may_run_on_its_core() {
        let [before, barred, after] = woken(false, Waker::Rests);
        assert_eq!([barred, after], [before, before]);
    }

    #[test]
    fn a_bound_thread_does_not_step_aside() {
        let parker = Parker::new();
        let moved = |bound| {
            parker.open(bound, None);
            parker.step_aside()
        };
        let others = allowed(0) > 1;
        assert_eq!([moved(true), moved(false)], [false, others]);
        parker.close();
        assert!(!parker.step_aside());
    }

    #[test]
    fn a_bound_thread_is_not_barred() {
        let [before, barred, after] = woken(true, Waker::GoesOn);
        assert_eq!([barred, after], [before, before]);
    }

    #[test]
    fn who_is_awake_is_left_alone() {
        let parker = Parker::new();
        parker.open(false, None);
        let before = allowed(0);
        parker.unpark(Waker::GoesOn);
        assert_eq!(allowed(0), before);
        parker.close();
        parker.unpark(Waker::GoesOn);
        assert_eq!(allowed(0), before);
    }
}
