//! Binaries that the running turn has made, that nothing but one cell behind them refers to, and that are not read again. What
//! they take is used again at once: so what a turn computes with vectors stays in the cache, where each would touch fresh memory.
//!
//! Invariants:
//! 1. Callers know all that from the code (code/temporaries.rs). Nobody else looks at what a turn has made before it commits,
//!    so such cells may change.
//! 2. A thread keeps one buffer at most, of no more than [`MOST`] bytes, and none longer than until the next collection. It is not
//!    charged, like those that the machine keeps (buffers.rs).
use super::cell::{self, Kind};
use super::foreigns::ForeignBox;
use super::Heap;
use crate::values::foreign::LongBytes;
use crate::values::value::Value;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Bytes of the largest buffer that a thread keeps by itself: larger ones do not stay in the cache anyway.
const MOST: usize = 256 << 10;
/// Foreign values that may have been made since the one that is forgotten.
const NEAR: usize = 8;

impl Heap {
    /// Puts other bytes, as many, into a binary that has them in its cell.
    ///
    /// # Safety
    /// Invariant 1; and the bytes are initialised.
    pub(crate) unsafe fn replace_bytes(&mut self, binary: Value, bytes: &[MaybeUninit<u8>]) {
        debug_assert!(binary
            .short_bytes()
            .is_some_and(|old| old.len() == bytes.len()));
        // SAFETY: the bytes lie behind the header, and are as many; the caller's promise.
        unsafe {
            let to = binary.boxed_pointer().cast_mut().add(1);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        }
    }

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

    /// Forgets a binary and the cell behind it, which is all that refers to it.
    ///
    /// # Safety
    /// Invariant 1, for both.
    pub(crate) unsafe fn forget(&mut self, binary: Value, around: Value) {
        let first = binary.boxed_pointer().cast_mut();
        let words = 2 * binary.boxed_granules();
        if let Some(kept) = binary.foreign_box() {
            let near = self.foreigns.cells.iter().rev().take(NEAR);
            let Some(behind) = near.into_iter().position(|cell| cell.is(kept)) else {
                return;
            };
            let at = self.foreigns.cells.len() - 1 - behind;
            let cell = self.foreigns.cells.swap_remove(at);
            // SAFETY: the cell is overwritten just below, and it was in the list once.
            let (bytes, buffer) = unsafe { cell.take() };
            // It says from now on that it has as many bytes of its own.
            let header = cell::header(Kind::Bytes, 0, 8 * (words - 1));
            // SAFETY: as the caller says.
            unsafe { first.write(header) };
            self.foreigns.discharge(bytes, &self.pool);
            self.pool.pace.freed(bytes);
            self.keep_spare(buffer.unwrap_or_default());
        }
        let behind = first.wrapping_add(words);
        let end = behind.wrapping_add(2 * around.boxed_granules());
        let is_last = std::ptr::eq(behind, around.boxed_pointer())
            && end.cast::<u8>() == self.cells.room.next;
        if is_last {
            self.cells.room.next = first.cast();
        }
    }

    /// Bytes beside the heap that what was made since the last collection is charged with.
    #[cfg(test)]
    pub(crate) fn foreign_bytes(&self) -> usize {
        self.foreigns.cells.iter().map(|cell| cell.bytes).sum()
    }

    /// Keeps a buffer for the next one of its length.
    pub(crate) fn keep_spare(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > MOST {
            self.pool.keep_buffer(buffer);
        } else if buffer.capacity() > 0 {
            buffer.clear();
            self.spare = buffer;
        }
    }
}
