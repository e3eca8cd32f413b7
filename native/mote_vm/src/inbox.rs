//! Where everything from outside enters a sponsor: many senders, one thread that drains in batches.
//!
//! Invariants:
//! 1. An entry is in `entries` from `push` until the drain that returns it; entries of one sender keep their order.
//! 2. `pending` is set after an entry is pushed and cleared before entries are taken, so an entry that a drain
//!    misses has `pending` set.
//! 3. A thread that is about to park says so in `sleeping` first and looks at `pending` then; a sender sets
//!    `pending` first and looks at `sleeping` then. Both are sequentially consistent, so one of them sees the other.
use crate::actor::Actor;
use crate::parcel::Parcel;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::OnceLock;
use std::thread::Thread;
use std::time::Duration;

/// What can enter.
pub(crate) enum Entry {
    /// A message for an actor.
    Event(Target, Parcel),
    /// Something to do between two turns.
    Call(Box<dyn FnOnce(&mut crate::thread::Dispatch) + Send>),
}

/// An actor that the sender holds a handle of.
#[derive(Clone, Copy)]
pub(crate) struct Target(pub(crate) *const Actor);

// SAFETY: a plain address; only dispatch threads look behind it.
unsafe impl Send for Target {}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Inbox {
    entries: Mutex<Vec<Entry>>,
    pending: AtomicBool,
    sleeping: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Inbox {
    /// Says which thread drains; once, before it first parks.
    pub(crate) fn serve(&self) {
        let _ = self.thread.set(std::thread::current());
    }

    pub(crate) fn push(&self, entry: Entry) {
        self.entries.lock().push(entry);
        self.wake();
    }

    /// Makes the draining thread look again.
    pub(crate) fn wake(&self) {
        self.pending.store(true, SeqCst);
        if self.sleeping.load(SeqCst) {
            if let Some(thread) = self.thread.get() {
                thread.unpark();
            }
        }
    }

    /// Whether a drain may find something. Cheap enough to ask between turns.
    #[inline(always)]
    pub(crate) fn is_pending(&self) -> bool {
        // Relaxed: a stale `false` is corrected by a later look, and before parking by invariant 3.
        self.pending.load(Relaxed)
    }

    /// Swaps the waiting entries into `batch`, which is empty.
    pub(crate) fn drain(&self, batch: &mut Vec<Entry>) {
        self.pending.store(false, SeqCst);
        std::mem::swap(&mut *self.entries.lock(), batch);
    }

    /// Sleeps until something is pending, or that long. May return early.
    pub(crate) fn park(&self, at_most: Option<Duration>) {
        self.sleeping.store(true, SeqCst);
        if !self.pending.load(SeqCst) {
            match at_most {
                Some(duration) => std::thread::park_timeout(duration),
                None => std::thread::park(),
            }
        }
        self.sleeping.store(false, SeqCst);
    }

    /// How many entries wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}
