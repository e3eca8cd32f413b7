//! A thread without work asks another one for some.
//!
//! Invariants:
//! 1. A request is either answered or withdrawn. If a thread can no longer withdraw its request, that request was
//!    answered, and no other one was.
//! 2. A request stands until a thread with something to give answers it, or until the asker, having asked in vain,
//!    withdraws it.
use crate::base::ids::ThreadNumber;
use crate::base::sync::{AcqRel, AtomicU16, Relaxed};

/// The number of a thread without work that asks this one for some; 0 if none does.
pub(crate) struct Request(AtomicU16);

impl Request {
    pub(crate) fn new() -> Request {
        Request(AtomicU16::new(0))
    }

    /// Asks. Returns `false` if another thread asks already.
    pub(crate) fn ask(&self, me: ThreadNumber) -> bool {
        // AcqRel, also below: each step sees the last one whole (invariant 1).
        self.0.compare_exchange(0, me, AcqRel, Relaxed).is_ok()
    }

    /// Returns whether it still asks: a hint.
    pub(crate) fn is_by(&self, me: ThreadNumber) -> bool {
        self.0.load(Relaxed) == me
    }

    /// Asks no longer; `false` when it was answered.
    pub(crate) fn withdraw(&self, me: ThreadNumber) -> bool {
        self.0.compare_exchange(me, 0, AcqRel, Relaxed).is_ok()
    }

    /// Takes the request, if there is one. Returns the thread that asks to be given something.
    #[inline(always)]
    pub(crate) fn answer(&self) -> Option<ThreadNumber> {
        // Relaxed: a hint that saves the swap; the swap decides.
        if self.0.load(Relaxed) == 0 {
            return None;
        }
        Some(self.0.swap(0, AcqRel)).filter(|asker| *asker != 0)
    }
}
