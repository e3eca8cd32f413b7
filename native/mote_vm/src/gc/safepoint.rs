//! Standing still together: how one thread gets the machine to itself between turns.
//!
//! Invariants:
//! 1. A thread counts as stopped while it is in `arrived`, or asleep under a visit (presence.rs) that the collector
//!    holds. It enters and leaves `arrived` under the lock, and leaves only when no stop is wanted.
//! 2. `wanted` is set before the collector looks at presences; a thread that has just woken looks at `wanted`
//!    after its presence says awake. A fence between the two steps on each side makes one see the other.
use crate::gc::work::{Effort, Work};
use crate::presence::Visit;
use crate::station::{Station, Stations, ThreadNumber};
use crate::sync::{fence, AtomicBool, Relaxed, SeqCst};
use crate::thread::Dispatch;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

/// How often the collector looks again whether a running thread has fallen asleep instead of arriving.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Safepoint {
    wanted: AtomicBool,
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    arrived: Vec<ThreadNumber>,
    /// What those who stand still can help with, and how long.
    job: Option<(Arc<Work>, Effort)>,
}

impl Safepoint {
    /// Whether a thread should come to a stop at its next boundary.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        // Relaxed: seen a batch later at worst; for a waking thread see `check_in`.
        self.wanted.load(Relaxed)
    }

    /// For a thread that has just woken.
    pub(crate) fn check_in(&self, me: &Station) {
        fence(SeqCst);
        if self.is_wanted() {
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
    pub(crate) fn call_for_help(&self, work: &Arc<Work>, effort: Effort) {
        self.state.lock().job = Some((work.clone(), effort));
        self.news.notify_all();
    }

    /// Runs `act` while all threads stand still, on behalf of one of them; not if another does the same: then
    /// stands still for it and answers `false`.
    pub(crate) fn stop_the_others(
        &self,
        me: &Station,
        stations: &Stations,
        act: impl FnOnce(&[*mut Dispatch]),
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
        let _over = Over(self);
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
        let stopped: Vec<*mut Dispatch> = stations.iter().filter_map(|s| s.dispatch()).collect();
        act(&stopped);
        true
    }
}

/// Ends the stop, also when the collector panics: after the visits, which are declared behind it.
struct Over<'a>(&'a Safepoint);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.job = None;
        self.0.wanted.store(false, Relaxed);
        self.0.news.notify_all();
    }
}
