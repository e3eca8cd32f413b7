//! Where a dispatch thread sleeps, and who wakes it up to run beside them, not behind them.
//!
//! A system that wakes a thread likes to run it on the core of whoever woke it. The waker goes on, though: a sibling
//! with the other half of the work, a scheduler of the BEAM by waiting busily for what may come. Woken on the same core,
//! a thread would wait there for the end of a time slice, for milliseconds, and two threads would be slower than one. So
//! whoever wakes a thread bars it from their own core; awake, it may run anywhere again.
//!
//! Invariants:
//! 1. A thread that is bound by its owner's wish (`pin`) is never barred.
//! 2. A thread is barred only while it is parked, and the cores that it may use are known until it is awake: it never
//!    runs on barred.
//! 3. A system thread is only named here while it lives: it takes its name away itself, under the lock.
use crate::sync::RwLock;
use parking_lot::Mutex;
use std::thread::Thread;
use std::time::Duration;

/// See the head of this file.
pub(crate) struct Parker {
    sleeper: RwLock<Option<Sleeper>>,
    rest: Mutex<Rest>,
}

/// What the thread does here.
enum Rest {
    Awake,
    Parked,
    /// Parked and barred from a core; the cores that it may use.
    Barred(cores::Set),
}

struct Sleeper {
    thread: Thread,
    id: cores::ThreadId,
    bound: bool,
}

impl Parker {
    pub(crate) fn new() -> Parker {
        Parker {
            sleeper: RwLock::new(None),
            rest: Mutex::new(Rest::Awake),
        }
    }

    /// The calling thread will sleep here; `bound`: to a core.
    pub(crate) fn open(&self, bound: bool) {
        *self.sleeper.write() = Some(Sleeper {
            thread: std::thread::current(),
            id: cores::this_thread(),
            bound,
        });
    }

    /// The thread ends.
    pub(crate) fn close(&self) {
        *self.sleeper.write() = None;
    }

    /// Sleeps until somebody wakes the calling thread, or for so long.
    pub(crate) fn park(&self, at_most: Option<Duration>) {
        *self.rest.lock() = Rest::Parked;
        match at_most {
            Some(duration) => std::thread::park_timeout(duration),
            None => std::thread::park(),
        }
        self.rise();
    }

    /// The calling thread is awake, and may run anywhere again.
    fn rise(&self) {
        if let Rest::Barred(all) = std::mem::replace(&mut *self.rest.lock(), Rest::Awake) {
            cores::restore(&all);
        }
    }

    /// Wakes it to run beside the calling thread.
    pub(crate) fn unpark(&self) {
        if let Some(sleeper) = &*self.sleeper.read() {
            self.bar(sleeper);
            sleeper.thread.unpark();
        }
    }

    fn bar(&self, sleeper: &Sleeper) {
        let mut rest = self.rest.lock();
        if !sleeper.bound && matches!(*rest, Rest::Parked) {
            if let Some(all) = cores::bar_from_here(sleeper.id) {
                *rest = Rest::Barred(all);
            }
        }
    }
}

/// Which threads may run where, by the system. Where it does not say, nothing is done.
#[cfg(all(target_os = "linux", not(miri), not(loom)))]
mod cores {
    pub(super) type ThreadId = libc::pid_t;
    pub(super) type Set = libc::cpu_set_t;

    pub(super) fn this_thread() -> ThreadId {
        // SAFETY: only answers a number.
        unsafe { libc::gettid() }
    }

    /// The core that runs this.
    fn here() -> usize {
        // SAFETY: only answers a number; a negative one, of a system that does not know, is no core's.
        unsafe { libc::sched_getcpu() as usize }
    }

    /// Lets the calling thread run on these cores again.
    pub(super) fn restore(cores: &Set) {
        confine(0, cores);
    }

    /// Lets a thread run on these cores only; 0 is the calling one. What the system refuses changes nothing.
    fn confine(thread: ThreadId, cores: &Set) {
        // SAFETY: the set is whole, and is only read.
        unsafe { libc::sched_setaffinity(thread, size_of::<Set>(), cores) };
    }

    /// Bars a thread from the core that runs this, unless it may use no other; answers the cores that it could use
    /// before.
    pub(super) fn bar_from_here(thread: ThreadId) -> Option<Set> {
        let core = here();
        // SAFETY: of plain bits, for which zeroes are good.
        let mut all: Set = unsafe { std::mem::zeroed() };
        // SAFETY: the set has that size, and the system writes nothing else.
        if unsafe { libc::sched_getaffinity(thread, size_of::<Set>(), &mut all) } != 0 {
            return None;
        }
        let mut others = all;
        // SAFETY: a core of the running system is within the set.
        let left = unsafe {
            libc::CPU_CLR(core, &mut others);
            libc::CPU_COUNT(&others)
        };
        if left == 0 {
            return None;
        }
        confine(thread, &others);
        Some(all)
    }
}

#[cfg(not(all(target_os = "linux", not(miri), not(loom))))]
mod cores {
    pub(super) type ThreadId = ();
    pub(super) struct Set;

    pub(super) fn this_thread() {}

    pub(super) fn restore(_: &Set) {}

    pub(super) fn bar_from_here(_: ThreadId) -> Option<Set> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(miri), not(loom)))]
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

    /// How many cores a thread may use before, while it is woken beside this one, and after.
    fn woken(bound: bool) -> [i32; 3] {
        let parker = Arc::new(Parker::new());
        let (told, asked) = channel();
        let (look, looked) = channel();
        let sleeper = parker.clone();
        let thread = std::thread::spawn(move || {
            sleeper.open(bound);
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
        parker.unpark();
        let barred = allowed(id);
        look.send(()).unwrap();
        [before, barred, thread.join().unwrap()]
    }

    #[test]
    fn a_thread_is_barred_from_one_core_until_it_is_awake() {
        let [before, barred, after] = woken(false);
        assert_eq!(barred, (before - 1).max(1));
        assert_eq!(after, before);
    }

    #[test]
    fn a_bound_thread_is_not_barred() {
        let [before, barred, after] = woken(true);
        assert_eq!([barred, after], [before, before]);
    }

    #[test]
    fn who_is_awake_is_left_alone() {
        let parker = Parker::new();
        parker.open(false);
        let before = allowed(0);
        parker.unpark();
        assert_eq!(allowed(0), before);
        parker.close();
        parker.unpark();
        assert_eq!(allowed(0), before);
    }
}
