//! Blocks: the unit in which the machine hands memory to its allocators.
//!
//! A block is 2 MiB, aligned to its size, so the block of any cell is found by masking its address. Its first
//! 16 KiB are reserved for one mark bit per granule of the block (and, where the bits of those 16 KiB themselves
//! would be, for the block's own data); cells start behind them.
//!
//! Invariants:
//! 1. A block belongs to the pool's free list or to exactly one heap.
//! 2. The pool gives memory back to the system only when it is dropped, after every heap on it.
use super::pages;
use parking_lot::Mutex;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a granule: the unit of allocation, and the size of an actor.
pub const GRANULE: usize = 16;
/// Bytes of a block.
pub const BLOCK: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };
/// Bytes at the start of a block that hold no cells.
pub const RESERVED: usize = BLOCK / GRANULE / 8;
/// Bytes of cells that fit in one block.
pub const PAYLOAD: usize = BLOCK - RESERVED;
/// The most blocks asked from the system at once.
const LARGEST_REGION: usize = 16;

/// One block, or the first of several adjacent ones that hold a single large cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(NonNull<u8>);

// SAFETY: a block is plain memory; who may touch it is governed by invariant 1.
unsafe impl Send for Block {}

impl Block {
    pub(crate) fn first_cell(self) -> *mut u8 {
        // SAFETY: RESERVED is less than BLOCK, so the result stays inside the block.
        unsafe { self.0.as_ptr().add(RESERVED) }
    }

    pub(crate) fn end(self) -> *mut u8 {
        // SAFETY: one past the end of the block's mapping is a valid pointer value.
        unsafe { self.0.as_ptr().add(BLOCK) }
    }
}

struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

#[derive(Default)]
struct Inner {
    free: Vec<Block>,
    regions: Vec<Region>,
    large: Vec<Region>,
    next_region: usize,
}

/// The memory of one machine.
#[derive(Default)]
pub(crate) struct BlockPool {
    inner: Mutex<Inner>,
    mapped: AtomicUsize,
    used: AtomicUsize,
}

// SAFETY: all raw memory is behind the mutex or handed out by invariant 1.
unsafe impl Send for BlockPool {}
// SAFETY: as above.
unsafe impl Sync for BlockPool {}

impl BlockPool {
    /// A free block, or `None` when the system has no more memory.
    pub(crate) fn acquire(&self) -> Option<Block> {
        let mut inner = self.inner.lock();
        if inner.free.is_empty() {
            self.grow(&mut inner)?;
        }
        let block = inner.free.pop();
        self.used.fetch_add(BLOCK, Relaxed);
        block
    }

    /// Takes back a block that no cell of any program is in.
    pub(crate) fn release(&self, block: Block) {
        self.used.fetch_sub(BLOCK, Relaxed);
        self.inner.lock().free.push(block);
    }

    /// Memory for one cell that is larger than a block; its start is aligned like a block's first cell.
    pub(crate) fn acquire_large(&self, bytes: usize) -> Option<NonNull<u8>> {
        let bytes = bytes
            .checked_add(RESERVED)?
            .checked_next_multiple_of(BLOCK)?;
        let start = NonNull::new(pages::map(bytes, BLOCK)?)?;
        self.inner.lock().large.push(Region { start, bytes });
        self.mapped.fetch_add(bytes, Relaxed);
        self.used.fetch_add(bytes, Relaxed);
        // SAFETY: RESERVED is less than `bytes`.
        NonNull::new(unsafe { start.as_ptr().add(RESERVED) })
    }

    /// Takes back what `acquire_large` gave.
    pub(crate) fn release_large(&self, cell: NonNull<u8>) {
        let mut inner = self.inner.lock();
        // SAFETY: `cell` lies RESERVED bytes behind the start of its region.
        let start = unsafe { cell.as_ptr().sub(RESERVED) };
        let Some(at) = inner.large.iter().position(|r| r.start.as_ptr() == start) else {
            return;
        };
        let region = inner.large.swap_remove(at);
        self.mapped.fetch_sub(region.bytes, Relaxed);
        self.used.fetch_sub(region.bytes, Relaxed);
        // SAFETY: mapped by `acquire_large`, and the caller holds no cell in it.
        unsafe { pages::unmap(region.start.as_ptr(), region.bytes, BLOCK) };
    }

    /// Bytes of address space asked from the system, and bytes in blocks that heaps hold.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        (self.mapped.load(Relaxed), self.used.load(Relaxed))
    }

    /// Gives all memory back to the system.
    ///
    /// # Safety
    /// No heap on this pool exists, and nothing reads what was in one.
    pub(crate) unsafe fn free_everything(&self) {
        let mut inner = self.inner.lock();
        let Inner {
            regions,
            large,
            free,
            ..
        } = &mut *inner;
        free.clear();
        for region in regions.drain(..).chain(large.drain(..)) {
            // SAFETY: mapped by this pool; by the caller's promise nothing refers to it.
            unsafe { pages::unmap(region.start.as_ptr(), region.bytes, BLOCK) };
        }
        self.mapped.store(0, Relaxed);
        self.used.store(0, Relaxed);
    }

    fn grow(&self, inner: &mut Inner) -> Option<()> {
        // Small machines stay small; large ones ask rarely.
        let blocks = inner.next_region.clamp(1, LARGEST_REGION);
        inner.next_region = blocks * 2;
        let bytes = blocks * BLOCK;
        let start = NonNull::new(pages::map(bytes, BLOCK)?)?;
        inner.regions.push(Region { start, bytes });
        self.mapped.fetch_add(bytes, Relaxed);
        for i in (0..blocks).rev() {
            // SAFETY: inside the region just mapped.
            let block = unsafe { start.as_ptr().add(i * BLOCK) };
            inner.free.extend(NonNull::new(block).map(Block));
        }
        Some(())
    }
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        // SAFETY: by invariant 2 no heap is left that could refer to this memory.
        unsafe { self.free_everything() };
    }
}
