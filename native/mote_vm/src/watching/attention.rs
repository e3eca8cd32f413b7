//! The one word that threads look at between two batches: it says whether they must look at each turn, or not run any. Also which watches
//! (watch.rs) are on, for threads that begin meanwhile.
//!
//! Invariants:
//! 1. `on` is set while the machine is paused or traced. It is set before the caller that asked sends anything else, so a thread
//!    that takes a message in has seen every request made before the message was sent.
use super::trace::Trace;
use super::watch::Watched;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Instant;

/// Everything that the threads of one machine must heed between two batches.
#[derive(Default)]
pub(crate) struct Attention {
    on: AtomicBool,
    paused: AtomicBool,
    traces: Mutex<Traces>,
    watches: Mutex<Vec<Watched>>,
}

#[derive(Default)]
struct Traces {
    all: Vec<Arc<Trace>>,
    given: u64,
}

// Relaxed, all: the flags guard no data; the order of invariant 1 is that of the inbox's lock.
impl Attention {
    /// Returns whether there is anything to heed.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Relaxed)
    }

    pub(crate) fn pause(&self, paused: bool) {
        let traces = self.traces.lock();
        self.paused.store(paused, Relaxed);
        self.update_switch(&traces);
    }

    /// Adds what `make` makes of a fresh number.
    pub(crate) fn add(&self, make: impl FnOnce(u64) -> Trace) -> u64 {
        let mut traces = self.traces.lock();
        traces.given += 1;
        let number = traces.given;
        traces.all.push(Arc::new(make(number)));
        self.update_switch(&traces);
        number
    }

    pub(crate) fn remove(&self, number: u64) -> Option<Arc<Trace>> {
        let mut traces = self.traces.lock();
        let at = traces.all.iter().position(|trace| trace.number == number)?;
        let trace = traces.all.remove(at);
        self.update_switch(&traces);
        Some(trace)
    }

    /// Returns whether any trace goes on.
    pub(crate) fn is_traced(&self) -> bool {
        !self.traces.lock().all.is_empty()
    }

    pub(crate) fn traces(&self) -> Vec<Arc<Trace>> {
        self.traces.lock().all.clone()
    }

    /// A watch has begun, while all threads stood still that have begun themselves.
    pub(crate) fn watch(&self, watched: Watched) {
        let now = Instant::now();
        let mut watches = self.watches.lock();
        watches.retain(|watched| now <= watched.until);
        watches.push(watched);
    }

    /// Removes a watch that has ended.
    pub(crate) fn unwatch(&self, id: u64) {
        self.watches.lock().retain(|watched| watched.id != id);
    }

    pub(crate) fn watches(&self) -> Vec<Watched> {
        self.watches.lock().clone()
    }

    fn update_switch(&self, traces: &Traces) {
        let on = !traces.all.is_empty() || self.is_paused();
        self.on.store(on, Relaxed);
    }
}
