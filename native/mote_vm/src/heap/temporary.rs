//! Binaries that the running turn has made, that nothing but one cell behind them refers to, and that are not read again. What
//! they take is used again at once: so what a turn computes with vectors stays in the cache, where each would touch fresh memory.
//!
//! Invariants:
//! 1. Callers know all that from the code (code/temporaries.rs). Nobody else looks at what a turn has made before it commits,
//!    so such cells may change.
//! 2. A thread keeps [`BUFFERS`] buffers at most, and none longer than until the next collection; those of more than [`MOST`] bytes only
//!    while its turn runs, and where the memory is far from its end. They are not charged, like those that the machine keeps
//!    (buffers.rs).
use super::block::GRANULE;
use super::cell::{self, Kind};
use super::foreigns::ForeignBox;
use super::space::CELLS;
use super::Heap;
use crate::values::foreign::LongBytes;
use crate::values::value::Value;
use std::sync::Arc;

/// Buffers that a thread keeps by itself: as many as an operation has operands and results.
const BUFFERS: usize = 3;
/// Bytes of the largest buffer that it keeps between turns: larger ones do not stay in the cache anyway.
const MOST: usize = 256 << 10;
/// Words of the cell of a long binary.
const LONG_WORDS: usize = 4;
/// Foreign values that may have been made since the one that is forgotten.
const NEAR: usize = 8;

impl Heap {
    /// Puts other bytes, as many, into a long binary, and keeps the buffer of those that it had.
    ///
    /// # Safety
    /// Invariant 1.
    pub(crate) unsafe fn exchange_bytes(&mut self, binary: Value, bytes: Vec<u8>) {
        let body = binary.boxed_pointer().cast_mut().wrapping_add(1);
        // SAFETY: a long binary's cell has the box, where its bytes are, and how many; the caller's promise.
        let kept = unsafe { &mut *(*body as *mut ForeignBox) };
        debug_assert!(binary
            .as_binary()
            .is_some_and(|old| old.len() == bytes.len()));
        let value = kept.value_mut();
        if let Some(value) = Arc::get_mut(value) {
            let old = value.put_bytes(bytes);
            self.keep_spare(old.unwrap_or_default());
        } else {
            *value = Arc::new(LongBytes(bytes.into()));
        }
        let start = value.bytes().unwrap_or_default().as_ptr();
        // SAFETY: as above.
        unsafe { body.add(1).write(start as u64) };
    }

    /// Forgets a binary and the cell behind it, of that many granules, which is all that refers to it.
    ///
    /// # Safety
    /// Invariant 1, for both.
    pub(crate) unsafe fn forget(&mut self, binary: Value, (around, granules): (Value, usize)) {
        let first = binary.boxed_pointer().cast_mut();
        let words = match binary.short_bytes() {
            Some(bytes) => (1 + bytes.len().div_ceil(8)).next_multiple_of(2),
            None => {
                // SAFETY: the caller's promise.
                unsafe { self.forget_long(binary) };
                LONG_WORDS
            }
        };
        let behind = first.wrapping_add(words);
        let end = behind.cast::<u8>().wrapping_add(granules * GRANULE);
        if std::ptr::eq(behind, around.boxed_pointer()) && end == self.spaces[CELLS].room.next {
            self.spaces[CELLS].room.next = first.cast();
        }
    }

    /// Drops a long binary, unless much was made since. Its cell says from then on that it has as many bytes of its own.
    ///
    /// # Safety
    /// Invariant 1.
    unsafe fn forget_long(&mut self, binary: Value) {
        let kept = binary.foreign_box();
        let mut near = self.foreigns.cells.iter().rev().take(NEAR);
        let Some(behind) = near.position(|cell| kept.is_some_and(|kept| cell.is(kept))) else {
            return;
        };
        let at = self.foreigns.cells.len() - 1 - behind;
        let cell = self.foreigns.cells.swap_remove(at);
        // SAFETY: it was in the list once, and its cell is overwritten just below.
        let (bytes, buffer) = unsafe { cell.take() };
        let header = cell::header(Kind::Bytes, 0, 8 * (LONG_WORDS - 1));
        // SAFETY: as the caller says.
        unsafe { binary.boxed_pointer().cast_mut().write(header) };
        self.foreigns.discharge(bytes, &self.pool);
        self.keep_spare(buffer.unwrap_or_default());
    }

    /// Bytes beside the heap that what was made since the last collection is charged with.
    #[cfg(test)]
    pub(crate) fn foreign_bytes(&self) -> usize {
        self.foreigns.cells.iter().map(|cell| cell.bytes).sum()
    }

    /// Keeps a buffer for the next one of its length.
    pub(crate) fn keep_spare(&mut self, mut buffer: Vec<u8>) {
        let length = buffer.capacity();
        if length > MOST && !self.pool.has_spare(BUFFERS * length) {
            self.pool.keep_buffer(buffer);
        } else if length > 0 {
            buffer.clear();
            self.moves += 1;
            if self.spare.len() == BUFFERS {
                self.spare.remove(0);
            }
            self.spare.push(buffer);
        }
    }

    /// Returns an empty buffer with room for a binary of `length` bytes: the one that was kept last.
    pub(crate) fn buffer(&mut self, length: usize) -> Vec<u8> {
        let known = self.spare.iter().rposition(|b| b.capacity() == length);
        match known {
            Some(at) => self.spare.remove(at),
            None => self.pool.buffers.take(length),
        }
    }

    /// The turn is over: large buffers are for the machine to keep.
    #[inline(always)]
    pub(super) fn end_of_spare(&mut self) {
        if !self.spare.is_empty() {
            let pool = &self.pool;
            let large = self.spare.extract_if(.., |b| b.capacity() > MOST);
            large.for_each(|buffer| pool.keep_buffer(buffer));
        }
    }
}
