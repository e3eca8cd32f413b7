//! The heap: a bump allocator per thread over blocks of the machine's pool.
//!
//! Cells (all in granules of 16 bytes):
//!
//! ```text
//! actor     header, state                              see crate::values::actor
//! cons      head, tail
//! captures  value …                                    no header: the behaviour knows how many
//! boxed     header word, then by kind                  see cell.rs
//! ```
//!
//! Invariants:
//! 1. What lies between a [`HeapPosition`] and the allocator's position was made by the running turn; an abort forgets
//!    all of it, which is why nothing committed may point there.
//! 2. Foreign cells are kept and charged as foreigns.rs says.
//! 3. A cell is completely written before its `Value` is handed out.
//! 4. Between two collections mark bits do not change. Blocks up to `swept` are filled hole by hole in the order of
//!    the cursor, the others are filled once: so no granule is given twice between two collections.
//! 5. While a collection marks, the hole or block that the allocator fills is marked in advance, as a whole, when the allocator
//!    comes to it. So everything made meanwhile is live for the collection, and no allocation has to take care of it.
pub(crate) mod block;
pub(crate) mod cell;
pub(crate) mod chunks;
mod foreigns;
pub(crate) mod holes;
pub(crate) mod make;
pub(crate) mod marks;
pub mod pace;
pub(crate) mod reserve;
pub(crate) mod since;
pub(crate) mod sweep;

use crate::base::work::Work;
use block::{Block, BlockPool, GRANULE, PAYLOAD};
pub(crate) use foreigns::ForeignCell;
use foreigns::Foreigns;
use holes::Cursor;
use std::ptr::NonNull;
use std::sync::Arc;

/// Slices of up to this many bytes are copied: a cell of them is no larger than one of a slice.
pub const COPIED_BYTES: usize = 24;

/// Up to this many bytes beside the heap are not counted: that would take longer than it is worth, and each thread has them once.
const SLIGHT: usize = 4096;

/// One thread's allocator.
pub(crate) struct Heap {
    next: *mut u8,
    end: *mut u8,
    blocks: Vec<Block>,
    /// How many of the blocks were there at the last collection, and where the next hole is looked for in them.
    swept: usize,
    cursor: Cursor,
    /// The block whose head is looked at next while a collection marks (sweep.rs).
    looked: usize,
    /// The collection whose marks the holes are between, and the one that is marking, or 0.
    last: u64,
    marking: u64,
    large: Vec<NonNull<u8>>,
    foreigns: Foreigns,
    pool: Arc<BlockPool>,
    exhausted: bool,
    /// More than `next` has changed since the last time that a turn took its savepoint.
    moved: bool,
    /// What is made now was accepted before: it gets its memory also beyond the quota.
    insists: bool,
    /// Elements that primitives have walked over since the last time that a turn paid for it.
    pub(crate) work: Work,
    /// How many allocations succeed before one is refused.
    #[cfg(test)]
    pub(crate) refused_after: Option<usize>,
}

// SAFETY: a heap is used by one thread at a time; the raw pointers are its own blocks' (block.rs, invariant 1).
unsafe impl Send for Heap {}

/// Where the allocator stood when a turn began.
#[derive(Clone, Copy)]
pub(crate) struct HeapPosition {
    next: *mut u8,
    end: *mut u8,
    cursor: Cursor,
    blocks: usize,
    large: usize,
    foreigns: usize,
}

impl Heap {
    /// Where the allocator's position and the end of its room are, for native code.
    pub(crate) const NEXT: usize = std::mem::offset_of!(Heap, next);
    /// See `NEXT`.
    pub(crate) const END: usize = std::mem::offset_of!(Heap, end);

    pub(crate) fn new(pool: Arc<BlockPool>) -> Heap {
        Heap {
            next: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
            blocks: Vec::new(),
            swept: 0,
            cursor: Cursor::default(),
            looked: 0,
            last: 0,
            marking: pool.marking(),
            large: Vec::new(),
            foreigns: Foreigns::default(),
            pool,
            exhausted: false,
            moved: true,
            insists: false,
            work: Work::free(),
            #[cfg(test)]
            refused_after: None,
        }
    }

    /// Whether a test has this allocation refused.
    #[inline(always)]
    fn refuses(&mut self) -> bool {
        #[cfg(test)]
        if let Some(left) = &mut self.refused_after {
            let refuses = *left == 0;
            *left = left.saturating_sub(1);
            if refuses {
                self.refused_after = None;
                self.exhausted = true;
            }
            return refuses;
        }
        false
    }

    /// Runs `make`, which makes what was accepted before, and so cannot be refused memory.
    pub(crate) fn insist<T>(&mut self, make: impl FnOnce(&mut Heap) -> T) -> T {
        self.insists = true;
        let made = make(self);
        self.insists = false;
        made
    }

    /// The position to which [`Heap::rewind`] returns.
    #[inline(always)]
    pub(crate) fn position(&self) -> HeapPosition {
        HeapPosition {
            next: self.next,
            end: self.end,
            cursor: self.cursor,
            blocks: self.blocks.len(),
            large: self.large.len(),
            foreigns: self.foreigns.cells.len(),
        }
    }

    /// Moves a position that this was the last to see on to the present position.
    #[inline(always)]
    pub(crate) fn advance(&mut self, position: &mut HeapPosition) {
        match self.moved {
            false => position.next = self.next,
            true => {
                self.moved = false;
                *position = self.position();
            }
        }
    }

    /// Forgets everything allocated since `position`. No value made since then may be used again. Returns the bytes of
    /// the blocks taken since then, in which nothing is any more.
    pub(crate) fn rewind(&mut self, position: HeapPosition) -> usize {
        // SAFETY: the cells are forgotten with them.
        unsafe { self.foreigns.truncate(position.foreigns, &self.pool) };
        // The first block stays: whoever makes and forgets a little again and again would take it each time anew.
        let kept = position.blocks.max(1).min(self.blocks.len());
        let emptied = self.blocks.len() - position.blocks;
        for block in self.blocks.drain(kept..) {
            self.pool.release(block);
        }
        for large in self.large.drain(position.large..) {
            self.pool.release_large(large);
        }
        (self.next, self.end) = match self.blocks.first() {
            Some(first) if position.blocks == 0 => (first.first_cell(), first.end()),
            _ => (position.next, position.end),
        };
        self.cursor = position.cursor;
        self.moved = true;
        self.exhausted = false;
        emptied * PAYLOAD
    }

    /// Bytes that it has been given and not used yet.
    pub(crate) fn room(&self) -> usize {
        self.end as usize - self.next as usize
    }

    /// Whether an allocation failed since the last rewind, and was not forgiven.
    #[inline(always)]
    pub(crate) fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// Forgets that an allocation failed: nothing depends on what was not made.
    pub(crate) fn forgive(&mut self) {
        self.exhausted = false;
    }

    /// Room for `granules`, or `None` when the memory is exhausted.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, granules: usize) -> Option<NonNull<u64>> {
        let bytes = granules * GRANULE;
        if self.refuses() {
            return None;
        }
        if (self.end as usize) - (self.next as usize) < bytes {
            return self.allocate_slowly(bytes);
        }
        let cell = self.next;
        // SAFETY: checked just above that `bytes` remain in the block.
        self.next = unsafe { cell.add(bytes) };
        // SAFETY: `next` is never null while bytes remain.
        Some(unsafe { NonNull::new_unchecked(cell as *mut u64) })
    }

    #[cold]
    #[inline(never)]
    fn allocate_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moved = true;
        if bytes > PAYLOAD {
            let large = self.pool.acquire_large(bytes, self.insists);
            self.exhausted |= large.is_none();
            if let Some(large) = large {
                self.large.push(large);
                self.mark_in_advance(large.as_ptr(), 1);
            }
            return large.map(NonNull::cast);
        }
        if let Some(cell) = self.allocate_in_hole(bytes) {
            return Some(cell);
        }
        let block = match self.insists {
            true => self.pool.acquire_anyway(),
            false => self.pool.acquire(),
        };
        let Some(block) = block else {
            self.exhausted = true;
            return None;
        };
        self.pool.pace.allocated(PAYLOAD);
        self.blocks.push(block);
        self.end = block.end();
        let cell = block.first_cell();
        self.mark_in_advance(cell, PAYLOAD / GRANULE);
        // SAFETY: `bytes` is at most PAYLOAD.
        self.next = unsafe { cell.add(bytes) };
        NonNull::new(cell as *mut u64)
    }

    /// Whether there is room for that many bytes more; if not, the memory counts as exhausted.
    pub(crate) fn fits(&mut self, bytes: usize) -> bool {
        let fits = !self.refuses() && self.pool.fits(bytes);
        self.exhausted |= !fits;
        fits
    }

    /// Runs `run`, which uses that many bytes beside the heap, and takes them from the quota meanwhile, if they are more than
    /// [`SLIGHT`]. `None` if there is no room for them; the memory counts as exhausted then.
    pub(crate) fn beside<T>(
        &mut self,
        bytes: usize,
        run: impl FnOnce(&mut Heap) -> Option<T>,
    ) -> Option<T> {
        let counts = bytes > SLIGHT;
        if self.refuses() || (counts && !self.pool.lend(bytes)) {
            self.exhausted = true;
            return None;
        }
        let answer = run(self);
        if counts {
            self.pool.quota.give(bytes);
        }
        answer
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: the cells stay in the pool's blocks, but nothing runs any more that could read them.
        unsafe { self.foreigns.truncate(0, &self.pool) };
        self.foreigns.return_ahead(&self.pool);
    }
}
