//! Memory for the chunks of one event queue, from the machine's blocks: so queues are within the quota, and memory that they give
//! back is available to heaps.
//!
//! A small queue takes none of it: its first few chunks come from the system's allocator, and are not charged.
//!
//! Invariants:
//! 1. A block that is cut up counts the chunks of it that are in use, at its start, which holds no chunk. It goes back
//!    to the pool with the last of them, unless chunks are still cut from it.
//! 2. Chunks are cut in order and never again: a queue is first in, first out, so blocks empty as they were filled.
use super::block::{Block, BlockPool, BLOCK, RESERVED};
use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ptr::NonNull;
use std::sync::Arc;

/// Chunks that come from the system's allocator: an eighth of a megabyte.
const SMALL: usize = 8;

/// The source of one queue's chunks.
pub(crate) struct Chunks {
    pool: Arc<BlockPool>,
    layout: Layout,
    small: usize,
    /// The block that is being cut, and how many bytes are left of it.
    block: Option<Block>,
    left: usize,
    /// A chunk was needed when the quota was used up.
    starved: bool,
}

/// A piece of memory, and whether it is from the system's allocator.
pub(crate) type RawPiece = (NonNull<u8>, bool);

impl Chunks {
    /// Chunks of that layout, which a block can hold several of.
    pub(crate) fn new(pool: Arc<BlockPool>, layout: Layout) -> Chunks {
        Chunks {
            pool,
            layout,
            small: 0,
            block: None,
            left: 0,
            starved: false,
        }
    }

    /// A chunk; also beyond the quota, which is noted then.
    pub(crate) fn take(&mut self) -> RawPiece {
        if self.small < SMALL {
            self.small += 1;
            // SAFETY: the layout has a size.
            return match NonNull::new(unsafe { alloc(self.layout) }) {
                Some(piece) => (piece, true),
                None => handle_alloc_error(self.layout),
            };
        }
        let size = self.layout.size();
        let block = match self.block {
            Some(block) if self.left >= size => block,
            _ => self.next_block(),
        };
        self.left -= size;
        // SAFETY: `left` was at least `size`, so the piece lies within the block.
        let piece = unsafe { block.end().sub(self.left + size) };
        // SAFETY: invariant 1: the count is this store's alone.
        unsafe { *Chunks::count(block) += 1 };
        match NonNull::new(piece) {
            Some(piece) => (piece, false),
            None => handle_alloc_error(self.layout),
        }
    }

    fn next_block(&mut self) -> Block {
        let block = self.pool.acquire().unwrap_or_else(|| {
            self.starved = true;
            match self.pool.acquire_anyway() {
                Some(block) => block,
                None => handle_alloc_error(self.layout),
            }
        });
        self.pool.lend_to_queue(true);
        // SAFETY: a fresh block is this store's alone.
        unsafe { *Chunks::count(block) = 0 };
        if let Some(done) = self.block.replace(block) {
            self.release_if_empty(done);
        }
        self.left = BLOCK - RESERVED;
        block
    }

    /// Takes a chunk back.
    ///
    /// # Safety
    /// `take` of this store gave it, and it is not used any more.
    pub(crate) unsafe fn give(&mut self, (piece, small): RawPiece) {
        if small {
            self.small -= 1;
            // SAFETY: by the caller's promise, it was allocated with this layout.
            return unsafe { dealloc(piece.as_ptr(), self.layout) };
        }
        let block = Block::of(piece.as_ptr());
        // SAFETY: invariant 1: the block is this store's, for a chunk of it was in use.
        unsafe { *Chunks::count(block) -= 1 };
        if self.block != Some(block) {
            self.release_if_empty(block);
        }
    }

    /// Lets go of an unused block, when nothing is queued that needs more than the small chunks.
    pub(crate) fn rest(&mut self) {
        // SAFETY: as in `give`.
        if let Some(block) = self.block.filter(|b| unsafe { *Chunks::count(*b) } == 0) {
            self.block = None;
            self.left = 0;
            self.release_if_empty(block);
        }
    }

    /// Forgets that a chunk was needed when the quota was used up.
    #[inline(always)]
    pub(crate) fn forgive(&mut self) {
        self.starved = false;
    }

    /// Returns whether a chunk was refused since then.
    #[inline(always)]
    pub(crate) fn is_starved(&self) -> bool {
        self.starved
    }

    fn release_if_empty(&self, block: Block) {
        // SAFETY: as in `give`.
        if unsafe { *Chunks::count(block) } == 0 {
            self.pool.lend_to_queue(false);
            self.pool.release(block);
        }
    }

    fn count(block: Block) -> *mut usize {
        block.cell_at(0).cast()
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.rest();
    }
}
