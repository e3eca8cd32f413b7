//! Stopping all threads: how one thread gets the machine to itself between turns.
//!
//! Invariants:
//! 1. A thread counts as stopped while it is in `arrived`, or asleep under a visit (presence.rs) that the collector
//!    holds. It enters and leaves `arrived` under the lock, and leaves only when no stop is wanted.
//! 2. `wanted` is set before the collector looks at presences; a thread that has just woken looks at `wanted`
//!    after its presence says awake. A fence between the two steps on each side makes one see the other.
//! 3. A thread that the collector did not know, because it began meanwhile, sees what the collector did when it sees that
//!    no stop is wanted any more.
use crate::base::ids::ThreadNumber;
use crate::base::sync::{
    fence, Acquire, AtomicBool, Condvar, Mutex, MutexGuard, Relaxed, Release, SeqCst,
};
use crate::threads::presence::Visit;
use crate::threads::station::{OwnSide, Station, Stations};
use crate::turns::marking::packets::{Effort, MarkingWork};
use std::sync::Arc;
use std::time::Duration;

/// Interval at which the collector looks again whether a running thread has fallen asleep instead of arriving.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// The meeting point of the threads of one machine when one of them wants to be alone.
#[derive(Default)]
pub(crate) struct Safepoint {
    wanted: AtomicBool,
    state: Mutex<StopState>,
    news: Condvar,
}

#[derive(Default)]
struct StopState {
    arrived: Vec<ThreadNumber>,
    /// A job with which the threads that stand still can help, and for how long.
    job: Option<(Arc<MarkingWork>, Effort)>,
}

impl Safepoint {
    /// Returns whether a thread should come to a stop at its next boundary.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        // Relaxed: seen a batch later at worst; for a waking thread see `check_in`.
        self.wanted.load(Relaxed)
    }

    /// Stops a thread that has just woken, if a stop is wanted.
    pub(crate) fn check_in(&self, me: &Station) {
        fence(SeqCst);
        // Acquire: invariant 3.
        if self.wanted.load(Acquire) {
            self.arrive(me);
        }
    }

    /// Stands still until the stop is over.
    pub(crate) fn arrive(&self, me: &Station) {
        let mut state = self.state.lock();
        state.arrived.push(me.number);
        self.news.notify_all();
        while self.is_wanted() {
            if let Some((work, effort)) = state.job.clone() {
                MutexGuard::unlocked(&mut state, || work.help(effort));
                // It is over: nobody needs to be called for it any more.
                state.job = None;
            } else {
                self.news.wait(&mut state);
            }
        }
        state.arrived.retain(|number| *number != me.number);
    }

    /// Lets those who stand still help.
    pub(crate) fn call_for_help(&self, work: &Arc<MarkingWork>, effort: Effort) {
        self.state.lock().job = Some((work.clone(), effort));
        self.news.notify_all();
    }

    /// Runs `act` while all threads stand still, on behalf of one of them; not if another does the same: then
    /// stands still for it and answers `false`.
    pub(crate) fn stop_the_others(
        &self,
        me: &Station,
        stations: &Stations,
        act: impl FnOnce(&[*mut OwnSide]),
    ) -> bool {
        let mut state = self.state.lock();
        if self.is_wanted() {
            drop(state);
            self.arrive(me);
            return false;
        }
        self.wanted.store(true, Relaxed);
        fence(SeqCst);
        // A station that is opened after this look is that of a thread that sees `wanted` when it begins.
        let stations = stations.all();
        let mut running: Vec<&Arc<Station>> =
            stations.iter().filter(|s| s.number != me.number).collect();
        let _over = EndOfStop(self);
        let mut visits: Vec<Visit<'_>> = Vec::new();
        loop {
            running.retain(|station| {
                if state.arrived.contains(&station.number) {
                    return false;
                }
                match station.presence.visit() {
                    Some(visit) => {
                        visits.push(visit);
                        false
                    }
                    None => true,
                }
            });
            if running.is_empty() {
                break;
            }
            self.news.wait_for(&mut state, LOOK_AGAIN);
        }
        drop(state);
        let stopped: Vec<_> = stations.iter().filter_map(|s| s.own_side()).collect();
        act(&stopped);
        true
    }
}

/// Ends the stop, also when the collector panics: after the visits, which are declared behind it.
struct EndOfStop<'a>(&'a Safepoint);

impl Drop for EndOfStop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.job = None;
        // Release: invariant 3.
        self.0.wanted.store(false, Release);
        self.0.news.notify_all();
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::quota::Quota;
    use loom::cell::UnsafeCell;
    use loom::thread;

    /// A machine's threads, each with a state of its own, that a collector looks at.
    struct Scene {
        safepoint: Safepoint,
        stations: Stations,
        states: [UnsafeCell<u64>; 2],
    }

    // SAFETY: what is in the cells is checked by loom, and nothing else is not shared anyway.
    unsafe impl Send for Scene {}
    // SAFETY: as above.
    unsafe impl Sync for Scene {}

    impl Scene {
        fn new(open: usize) -> Arc<Scene> {
            let stations = Stations::new(Arc::new(Quota::default()), Arc::default());
            (0..open).for_each(|_| drop(stations.open()));
            Arc::new(Scene {
                safepoint: Safepoint::default(),
                stations,
                states: Default::default(),
            })
        }

        /// Touches the state of a thread, as only one that has it to itself may.
        fn touch(&self, thread: usize) {
            // SAFETY: loom checks that nobody else is here.
            self.states[thread].with_mut(|state| unsafe { *state += 1 });
        }

        /// A thread that begins, or wakes.
        fn wake(&self, thread: usize) -> Arc<Station> {
            let me = self.stations.get(thread as ThreadNumber + 1);
            me.presence.wake();
            self.safepoint.check_in(&me);
            self.touch(thread);
            me
        }

        /// Acts as a thread between two turns.
        fn boundary(&self, thread: usize, me: &Station) {
            if self.safepoint.is_wanted() {
                self.safepoint.arrive(me);
            }
            self.touch(thread);
        }

        /// Returns whether this thread was the one that looked.
        fn collect(&self, me: &Station) -> bool {
            self.safepoint.stop_the_others(me, &self.stations, |_| {
                self.touch(0);
                self.touch(1);
            })
        }
    }

    /// A thread wakes, runs to a boundary and sleeps again, while another one collects.
    #[test]
    fn no_thread_runs_while_a_collector_looks_at_it() {
        loom::model(|| {
            let scene = Scene::new(2);
            let s = scene.clone();
            let other = thread::spawn(move || {
                let me = s.wake(1);
                s.boundary(1, &me);
                me.presence.sleep();
            });
            let me = scene.wake(0);
            assert!(scene.collect(&me));
            scene.boundary(0, &me);
            other.join().unwrap();
        });
    }

    /// Two want to collect at once: one after the other, or one while the other stands still for it.
    #[test]
    fn two_collectors_do_not_meet() {
        loom::model(|| {
            let scene = Scene::new(2);
            let s = scene.clone();
            let other = thread::spawn(move || {
                let me = s.wake(1);
                let collected = s.collect(&me);
                s.boundary(1, &me);
                me.presence.sleep();
                collected
            });
            let me = scene.wake(0);
            let collected = scene.collect(&me);
            scene.boundary(0, &me);
            me.presence.sleep();
            assert!(other.join().unwrap() | collected);
        });
    }

    /// A thread whose station the collector has not seen begins in the middle of it: it does not run before the end.
    #[test]
    fn a_late_thread_waits_for_the_end() {
        loom::model(|| {
            let scene = Scene::new(1);
            let s = scene.clone();
            let late = thread::spawn(move || {
                drop(s.stations.open());
                let me = s.wake(1);
                me.presence.sleep();
            });
            let me = scene.wake(0);
            assert!(scene.collect(&me));
            late.join().unwrap();
        });
    }
}
