//! The heaps that no thread owns for good: lent to threads and to callers outside, and given back.
//!
//! Invariants:
//! 1. Every heap in use is lent from here and comes back; the last one to come back after the end says so.
//! 2. A collection begins and ends at a moment at which no caller has a heap (`while_all_rest`): so whatever a caller makes is
//!    from before the collection, or counts as live in it.
use crate::heap::block::BlockPool;
use crate::heap::Heap;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// Number of looks at whether the callers have given their heaps back, before a collection waits for that.
const SOON: usize = 1_000;

#[derive(Default)]
struct LentHeaps {
    /// Heaps that nobody uses at the moment: those of callers outside, and of threads that have ended.
    #[allow(clippy::vec_box)] // A caller takes one for a moment, and a heap is large.
    resting: Vec<Box<Heap>>,
    /// Number of heaps that are with threads and callers outside.
    lent: usize,
    /// Number of these that are with callers: a collection waits for them.
    guests: usize,
    /// None is lent any more.
    closed: bool,
}

/// The heaps of one machine that nobody owns for good.
pub(crate) struct Leases {
    pool: Arc<BlockPool>,
    state: Mutex<LentHeaps>,
    /// Told when the last lent heap comes back, and when the last caller's does.
    all_rest: Condvar,
}

/// A lease of a caller outside.
struct Guest<'a> {
    leases: &'a Leases,
    heap: Option<Box<Heap>>,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // At once: a collection that finds no caller must find the heap.
        let mut state = self.leases.state.lock();
        state.guests -= 1;
        if state.guests == 0 {
            self.leases.all_rest.notify_all();
        }
        self.leases.take_back(&mut state, self.heap.take());
    }
}

impl Leases {
    pub(crate) fn new(pool: Arc<BlockPool>) -> Leases {
        Leases {
            pool,
            state: Mutex::default(),
            all_rest: Condvar::new(),
        }
    }

    /// Runs `act` with a heap for a caller outside, and returns its result; `None` after the end. The heap comes back even if
    /// `act` panics.
    pub(crate) fn with_guest<R>(&self, act: impl FnOnce(&mut Heap) -> R) -> Option<R> {
        let mut guest = Guest {
            leases: self,
            heap: Some(self.lend_to_guest()?),
        };
        guest.heap.as_deref_mut().map(act)
    }

    fn lend_to_guest(&self) -> Option<Box<Heap>> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        state.lent += 1;
        state.guests += 1;
        let heap = state.resting.pop();
        Some(heap.unwrap_or_else(|| Box::new(Heap::new(self.pool.clone()))))
    }

    /// A heap for a thread: a new one, so that a collection that comes before the thread has begun misses nothing.
    pub(crate) fn lend_new(&self) -> Option<Heap> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        state.lent += 1;
        Some(Heap::new(self.pool.clone()))
    }

    /// The end of a lease. The contents of the heap may be in use elsewhere, so it is kept; `None` if it is lost.
    pub(crate) fn give_back(&self, heap: Option<Heap>) {
        self.take_back(&mut self.state.lock(), heap.map(Box::new));
    }

    fn take_back(&self, state: &mut LentHeaps, heap: Option<Box<Heap>>) {
        state.resting.extend(heap);
        state.lent -= 1;
        if state.lent == 0 {
            self.all_rest.notify_all();
        }
    }

    /// Acts on the resting heaps once no caller has one, and before one gets one again (invariant 2).
    pub(crate) fn while_all_rest(&self, act: impl FnOnce(&mut Vec<Box<Heap>>)) {
        for _ in 0..SOON {
            if self.state.lock().guests == 0 {
                break;
            }
            // A caller is just about to give its heap back.
            std::thread::yield_now();
        }
        // Or it goes on from an image, and asks what actors become.
        let mut state = self.state.lock();
        self.all_rest
            .wait_while(&mut state, |state| state.guests > 0);
        act(&mut state.resting);
    }

    /// Lends no more, waits until all have come back, drops them and calls `then` before anybody else may look.
    pub(crate) fn close(&self, then: impl FnOnce()) {
        let mut state = self.state.lock();
        state.closed = true;
        self.all_rest.wait_while(&mut state, |state| state.lent > 0);
        state.resting.clear();
        then();
    }

    /// Returns whether `close` was called.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }
}
