//! Foreign values of a heap, and what they are charged with: what each keeps outside of all heaps (foreign.rs, invariant 1).
//!
//! These charges hasten collections as allocation does, because only collections return them. Most of these values are small and
//! made one with each message, so a heap charges some bytes ahead and pays from them.
//!
//! Invariants:
//! 1. Every foreign cell is in `foreigns` exactly once, so that its reference is dropped exactly once. It is charged from
//!    before it is there until it is dropped.
//! 2. Whether one lives is noted in its box, where a cell leads that may have moved meanwhile: the number of the last collection
//!    that has met it, or that marked when it was made.
//! 3. `ahead` is charged and not used. The end of a collection gives it back, and so does the heap when it goes.
use super::block::BlockPool;
use super::buffers::SHORTEST;
use super::cell::{self, Kind, LONG_BINARY};
use super::marks::still_counts;
use super::Heap;
use crate::values::foreign::{ForeignRef, CARRIED};
use crate::values::value::Value;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Bytes that are charged ahead.
const AHEAD: usize = 16 << 10;

/// The foreign values made since the last collection; older ones are the machine's (turns/marking/garbage.rs).
#[derive(Default)]
pub(super) struct Foreigns {
    pub(super) cells: Vec<ForeignCell>,
    ahead: usize,
}

/// A foreign value, and the last collection that has met it.
pub(crate) struct ForeignBox {
    value: ForeignRef,
    seen: AtomicU64,
}

impl ForeignBox {
    #[inline(always)]
    pub(crate) fn value(&self) -> &ForeignRef {
        &self.value
    }

    pub(super) fn value_mut(&mut self) -> &mut ForeignRef {
        &mut self.value
    }

    /// Notes that collection `number` has met the value.
    #[inline(always)]
    pub(crate) fn see(&self, number: u64) {
        // Relaxed: it is read when the collection is over.
        self.seen.store(number, Relaxed);
    }

    /// Returns whether the value lives after collection `number`: that, or one since the last whole one, has met it.
    pub(crate) fn is_seen(&self, number: u64) -> bool {
        still_counts(self.seen.load(Relaxed), number)
    }
}

/// The foreign value of a cell.
pub(crate) struct ForeignCell {
    kept: NonNull<ForeignBox>,
    /// Bytes that the value is charged with.
    pub(super) bytes: usize,
}

// SAFETY: the box is the holder's own, and what is in it may be shared.
unsafe impl Send for ForeignCell {}

impl ForeignCell {
    /// Drops the value; what it was charged with is for the caller to give back. The pool keeps the buffer of a long binary that
    /// nobody else has.
    ///
    /// # Safety
    /// Once for each cell, and nothing reads the cell afterwards.
    #[must_use]
    pub(crate) unsafe fn drop(self, pool: &BlockPool) -> usize {
        // SAFETY: the caller's promise.
        let (bytes, buffer) = unsafe { self.take() };
        if let Some(buffer) = buffer {
            pool.keep_buffer(buffer);
        }
        bytes
    }

    /// Does the same, but gives the buffer to the caller.
    ///
    /// # Safety
    /// As of `drop`.
    #[must_use]
    pub(super) unsafe fn take(self) -> (usize, Option<Vec<u8>>) {
        // SAFETY: the caller's promise; the box was leaked by `Heap::foreign`.
        let mut kept = unsafe { Box::from_raw(self.kept.as_ptr()) };
        // Whether nobody else has it takes some atomic steps to see, which most values are not worth.
        let buffer = (self.bytes >= CARRIED + SHORTEST)
            .then(|| Arc::get_mut(&mut kept.value)?.put_bytes(Vec::new()));
        (self.bytes, buffer.flatten())
    }

    /// Returns whether the value is in this box.
    pub(super) fn is(&self, kept: &ForeignBox) -> bool {
        std::ptr::eq(self.kept.as_ptr(), kept)
    }

    /// Returns whether the last collection, which is over, has found the value live.
    pub(crate) fn is_live(&self, last: u64) -> bool {
        // SAFETY: the box is there until `drop`.
        unsafe { self.kept.as_ref() }.is_seen(last)
    }
}

impl Foreigns {
    /// Charges `bytes`, unless the limit does not allow it and is asked.
    #[inline]
    fn charge(&mut self, bytes: usize, pool: &BlockPool, anyway: bool) -> bool {
        if bytes > self.ahead {
            return self.charge_more(bytes, pool, anyway);
        }
        self.ahead -= bytes;
        true
    }

    #[cold]
    fn charge_more(&mut self, bytes: usize, pool: &BlockPool, anyway: bool) -> bool {
        if bytes < AHEAD && pool.hold(AHEAD, anyway) {
            self.ahead += AHEAD - bytes;
            return true;
        }
        // By itself: it is much, or all that there may be.
        pool.hold(bytes, anyway)
    }

    /// Takes back what was charged.
    pub(super) fn discharge(&mut self, bytes: usize, pool: &BlockPool) {
        self.ahead += bytes;
        if self.ahead > 2 * AHEAD {
            let less = self.ahead - AHEAD;
            pool.let_go(less);
            pool.pace.freed(less);
            self.ahead = AHEAD;
        }
    }

    /// Returns what is charged ahead.
    pub(super) fn return_ahead(&mut self, pool: &BlockPool) {
        pool.let_go(std::mem::take(&mut self.ahead));
    }

    /// Forgets those behind the first `n`.
    ///
    /// # Safety
    /// Nothing reads their cells any more.
    #[inline]
    pub(super) unsafe fn truncate(&mut self, n: usize, pool: &BlockPool) {
        if self.cells.len() > n {
            let dropped = self.cells.drain(n..);
            // SAFETY: invariant 1, and the caller's promise.
            let bytes = dropped.map(|cell| unsafe { cell.drop(pool) }).sum();
            self.discharge(bytes, pool);
        }
    }
}

impl Heap {
    /// A value of the outside.
    pub(crate) fn foreign(&mut self, foreign: ForeignRef) -> Value {
        let class = foreign.class() as u8;
        let bytes = foreign.external_bytes();
        let charged = self.foreigns.charge(bytes, &self.pool, self.insists)
            || self.overdraws(bytes.max(AHEAD)) && self.foreigns.charge(bytes, &self.pool, true);
        if !charged {
            self.exhausted = true;
            return Value::NONE;
        }
        let header = cell::header(Kind::Foreign, class, 0);
        let bytes_of = (header == LONG_BINARY).then(|| foreign.bytes().unwrap_or_default());
        let found = bytes_of.map(|bytes| [bytes.as_ptr() as u64, bytes.len() as u64]);
        let kept = NonNull::from(Box::leak(Box::new(ForeignBox {
            value: foreign,
            seen: AtomicU64::new(self.marking),
        })));
        let words = if found.is_some() { 3 } else { 1 };
        let value = self.boxed(header, words, |words| {
            // SAFETY: `boxed` made room for one word, and for two more if there are bytes.
            unsafe {
                words.write(kept.as_ptr() as u64);
                if let Some(found) = found {
                    words.add(1).cast::<[u64; 2]>().write(found);
                }
            }
        });
        if value.is_none() {
            // SAFETY: leaked just above and stored nowhere.
            drop(unsafe { Box::from_raw(kept.as_ptr()) });
            self.foreigns.discharge(bytes, &self.pool);
        } else {
            self.foreigns.cells.push(ForeignCell { kept, bytes });
        }
        value
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::block::BLOCK;
    use crate::heap::pace::{GcConfig, Pace};
    use crate::values::foreign::{LongBytes, CARRIED};

    fn pool(limit: usize) -> Arc<BlockPool> {
        Arc::new(BlockPool::new(limit, Pace::default()))
    }

    /// One that keeps nothing of its own.
    fn empty() -> ForeignRef {
        long(0)
    }

    fn long(bytes: usize) -> ForeignRef {
        Arc::new(LongBytes(vec![7; bytes].into()))
    }

    #[test]
    fn each_value_is_charged_until_it_is_dropped() {
        let pool = pool(usize::MAX);
        let mut heap = Heap::new(pool.clone());
        let nothing = heap.position();
        for n in 1..=1_000 {
            assert!(!heap.foreign(empty()).is_none());
            assert!(pool.quota.held() >= BLOCK + n * CARRIED);
        }
        assert!(pool.quota.held() < BLOCK + 1_000 * CARRIED + AHEAD);
        let before = pool.quota.held();
        let position = heap.position();
        assert!(!heap.foreign(long(10 * AHEAD)).is_none());
        assert_eq!(pool.quota.held(), before + 10 * AHEAD + CARRIED);
        // An abort.
        heap.rewind(&position);
        assert!(pool.quota.held() <= before + 2 * AHEAD);
        heap.rewind(&nothing);
        // The block stays.
        assert!(pool.quota.held() <= BLOCK + 2 * AHEAD);
        drop(heap);
        assert_eq!(pool.quota.held(), BLOCK);
    }

    #[test]
    fn a_collection_gives_back_what_was_charged_ahead_and_what_dies() {
        let pool = pool(usize::MAX);
        let mut heap = Heap::new(pool.clone());
        for foreign in [empty(), long(1_000), empty()] {
            assert!(!heap.foreign(foreign).is_none());
        }
        heap.start_marking(1);
        let cells = heap.sweep();
        let held = 3 * CARRIED + 1_000;
        assert_eq!((cells.len(), pool.quota.held() % BLOCK), (3, held));
        // SAFETY: each once, and nothing reads them.
        let dropped: usize = cells
            .into_iter()
            .map(|cell| unsafe { cell.drop(&pool) })
            .sum();
        assert_eq!(dropped, held);
        pool.let_go(dropped);
        drop(heap);
        assert_eq!(pool.quota.held() % BLOCK, 0);
    }

    #[test]
    fn the_buffer_of_a_binary_that_dies_is_used_again_unless_somebody_has_it() {
        let pool = pool(usize::MAX);
        let mut heap = Heap::new(pool.clone());
        pool.reserve.collected(BLOCK, false);
        let position = heap.position();
        let shared = long(5_000);
        heap.foreign(shared.clone());
        heap.foreign(long(6_000));
        heap.rewind(&position);
        assert_eq!(pool.buffers.bytes(), 6_000);
        assert_eq!(heap.buffer(6_000).capacity(), 6_000);
        assert_eq!(pool.buffers.bytes(), 0);
        assert_eq!(shared.bytes().map(<[u8]>::len), Some(5_000));
        heap.foreign(long(6_000));
        heap.rewind(&position);
        // Nothing is kept where nothing was used lately, nor what is short.
        assert!(pool.reserve.forget());
        pool.trim();
        assert_eq!(pool.buffers.bytes(), 0);
        heap.foreign(long(6_000));
        heap.rewind(&position);
        pool.reserve.collected(BLOCK, false);
        heap.foreign(long(1_000));
        heap.rewind(&position);
        assert_eq!(pool.buffers.bytes(), 0);
    }

    #[test]
    fn what_is_outside_hastens_a_collection_as_cells_do() {
        let config = GcConfig {
            min: 4 * BLOCK,
            ..GcConfig::default()
        };
        let pool = Arc::new(BlockPool::new(usize::MAX, Pace::new(config)));
        let mut heap = Heap::new(pool.clone());
        let mut made = 0;
        while !pool.pace.is_due() {
            assert!(!heap.foreign(empty()).is_none());
            made += 1;
        }
        assert!(made * (CARRIED + 16) <= 4 * BLOCK, "{made}");
    }

    #[test]
    fn what_is_refused_takes_nothing_and_the_last_bytes_can_be_had() {
        let pool = pool(4 * BLOCK);
        let mut heap = Heap::new(pool.clone());
        assert!(!heap.cons(Value::NIL, Value::NIL).is_none());
        let free = pool.quota.for_blocks() - pool.quota.held();
        let most = free - AHEAD / 2;
        assert!(!heap.foreign(long(most - CARRIED)).is_none());
        let held = pool.quota.held();
        assert!(heap.foreign(long(AHEAD)).is_none() && heap.exhausted());
        assert_eq!(pool.quota.held(), held);
        let few = AHEAD / 2 / CARRIED;
        assert!((0..few).all(|_| !heap.foreign(empty()).is_none()));
        assert!(heap.foreign(empty()).is_none());
    }
}
