//! Blocks: the unit in which the machine hands memory to its allocators.
//!
//! A block is 2 MiB, aligned to its size, so the block of any cell is found by masking its address. Its first
//! 32 KiB are reserved for two mark bits per granule of the block (and, where the bits of those 32 KiB themselves
//! would be, for the block's own data); cells start behind them. See marks.rs.
//!
//! A machine begins with small pages, and takes only those that it touches. Once it has grown, huge pages are requested
//! for all blocks, old ones included.
//!
//! Invariants:
//! 1. A block belongs to the pool's free list or to exactly one heap.
//! 2. The pool gives memory back to the system only when it is dropped, after every heap on it.
use super::buffers::SpareBuffers;
use super::marks;
use super::pace::Pace;
use super::reserve::Reserve;
use crate::base::lent::Lender;
use crate::base::quota::Quota;
use crate::platform::pages;
use parking_lot::Mutex;
use std::ptr::NonNull;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::Arc;

/// Bytes of a granule: the unit of allocation, and the size of an actor.
pub const GRANULE: usize = 16;
/// Bytes of a block.
pub const BLOCK: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };
/// Bytes of mark bits, one for each granule of a block.
pub(crate) const TABLE: usize = BLOCK / GRANULE / 8;
/// A collection has found much if one part in this many of the limit was allocated since, and more than a block.
const MUCH_OF_LIMIT: usize = 8;
/// However little is left, collections begin no sooner than one part in this many of the limit was allocated, and two blocks: a
/// block counts as allocated when it is taken, and each kind of cells takes one.
const LEAST_OF_LIMIT: usize = 32;
/// A thread takes one part in this many of the limit beyond it at once, or a block.
const AT_ONCE_BEYOND: usize = 64;
/// Holes that nothing fits into, and cells that do not move, make blocks take one part in this many of the limit beyond it at most.
const MOST_BEYOND: usize = 4;

/// Bytes at the start of a block that hold no cells.
pub const RESERVED: usize = 2 * TABLE;
/// Bytes of cells that fit in one block.
pub const PAYLOAD: usize = BLOCK - RESERVED;
/// The most blocks asked from the system at once.
const LARGEST_REGION: usize = 16;
/// A machine that asks for this many has grown: one for callers and one for each of two threads were not enough.
const GROWN: usize = 4;

/// One block, or the first of several adjacent ones that hold a single large cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(NonNull<u8>);

// SAFETY: a block is plain memory; invariant 1 says which thread may touch it.
unsafe impl Send for Block {}

impl Block {
    /// The block that a cell lies in; of a large cell, the first one.
    #[inline(always)]
    pub(crate) fn of(cell: *const u8) -> Block {
        // A cell is never at address 0, and masking leads to the start of its block, which is not there either.
        let start = cell.map_addr(|address| address & !(BLOCK - 1)) as *mut u8;
        // SAFETY: see above.
        Block(unsafe { NonNull::new_unchecked(start) })
    }

    /// The number of a cell's first granule within its block.
    #[inline(always)]
    pub(crate) fn granule_of(cell: *const u8) -> usize {
        (cell.addr() & (BLOCK - 1)) / GRANULE
    }

    /// The cell that starts at that granule.
    pub(crate) fn cell_at(self, granule: usize) -> *mut u8 {
        // SAFETY: callers pass at most the number of granules of a block, so this is within or one past its end.
        unsafe { self.0.as_ptr().add(granule * GRANULE) }
    }

    #[inline(always)]
    pub(crate) fn start(self) -> *mut u8 {
        self.0.as_ptr()
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
struct Blocks {
    /// Free blocks that were used, and those whose pages are the system's.
    free: Vec<Block>,
    clean: Vec<Block>,
    regions: Vec<Region>,
    large: Vec<Region>,
    /// Large ones that nothing is in any more, and that are still mapped.
    dead: Vec<Region>,
    next_region: usize,
}

impl Blocks {
    /// Returns whether blocks have huge pages.
    fn has_grown(&self) -> bool {
        self.next_region > GROWN
    }
}

/// The memory of one machine.
pub(crate) struct BlockPool {
    inner: Mutex<Blocks>,
    mapped: AtomicUsize,
    used: AtomicUsize,
    /// Used bytes that something outside of all heaps holds (`hold_outside`).
    outside: AtomicUsize,
    /// The most that it was since the last collection.
    peak: AtomicUsize,
    /// Used bytes that are with event queues.
    queued: AtomicUsize,
    limit: usize,
    pub(crate) quota: Arc<Quota>,
    /// The number of the collection that is marking, or 0: what new heaps begin with.
    marking: AtomicU64,
    /// The number of the last one that has ended.
    last: AtomicU64,
    /// See `watches`.
    watches: AtomicBool,
    pub(crate) pace: Pace,
    pub(crate) reserve: Reserve,
    pub(super) buffers: SpareBuffers,
}

impl Lender for BlockPool {
    fn lend(&self, bytes: usize, spare: bool) -> bool {
        match spare {
            true => self.lend_spare(bytes),
            false => BlockPool::lend(self, bytes),
        }
    }

    fn give_back(&self, bytes: usize) {
        self.quota.give(bytes);
    }
}

impl Default for BlockPool {
    fn default() -> BlockPool {
        BlockPool::new(usize::MAX, Pace::default())
    }
}

// SAFETY: all raw memory is behind the mutex or handed out by invariant 1.
unsafe impl Send for BlockPool {}
// SAFETY: as above.
unsafe impl Sync for BlockPool {}

impl BlockPool {
    /// The pool of a machine whose memory is limited to `limit` bytes.
    pub(crate) fn new(limit: usize, pace: Pace) -> BlockPool {
        let quota = Arc::new(Quota::new(limit));
        BlockPool {
            inner: Mutex::default(),
            mapped: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            outside: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            limit: quota.for_blocks(),
            quota,
            marking: AtomicU64::new(0),
            last: AtomicU64::new(0),
            watches: AtomicBool::new(false),
            pace,
            reserve: Reserve::default(),
            buffers: SpareBuffers::default(),
        }
    }

    /// A free block, or `None` when the limit is reached or the system has no more memory.
    pub(crate) fn acquire(&self) -> Option<Block> {
        self.charge(BLOCK)?;
        self.take_charged()
    }

    /// Takes a block beyond the limit, for what was accepted before; `None` when the system has no more memory.
    pub(crate) fn acquire_anyway(&self) -> Option<Block> {
        self.charge_anyway(BLOCK);
        self.take_charged()
    }

    /// Returns whether blocks beyond the limit are fewer than all threads together may take, or may where turns would be given up.
    pub(crate) fn may_go_beyond(&self, in_the_end: bool) -> bool {
        match in_the_end {
            true => self.quota.may_end_turns(),
            false => self.used().saturating_sub(self.limit) < self.limit / MOST_BEYOND,
        }
    }

    fn take_charged(&self) -> Option<Block> {
        let mut inner = self.inner.lock();
        if inner.free.is_empty() && inner.clean.is_empty() && self.grow(&mut inner).is_none() {
            self.discharge(BLOCK);
            return None;
        }
        let block = inner.free.pop();
        block.or_else(|| inner.clean.pop())
    }

    /// Counts bytes that are about to be used, unless that goes beyond the limit.
    fn charge(&self, bytes: usize) -> Option<()> {
        let before = self.used.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > self.limit || !self.quota.take(bytes) {
            self.used.fetch_sub(bytes, Relaxed);
            self.pace.refused(self.much());
            return None;
        }
        self.peak.fetch_max(before + bytes, Relaxed);
        if before + bytes > self.nearly_all() {
            self.pace.hurry(self.least());
        }
        Some(())
    }

    /// When more is in use memory is about to end.
    fn nearly_all(&self) -> usize {
        self.limit / 8 * 7
    }

    fn least(&self) -> usize {
        (self.limit / LEAST_OF_LIMIT).max(2 * BLOCK)
    }

    /// Returns whether a block more leaves some before memory is about to end.
    pub(crate) fn has_blocks(&self) -> bool {
        self.used().saturating_add(BLOCK) <= self.nearly_all()
    }

    /// Notes that an allocator was given `bytes` of its blocks to fill.
    pub(crate) fn given(&self, bytes: usize) {
        self.pace.allocated(bytes);
        self.count_credit();
    }

    /// Notes what a collection has left.
    pub(crate) fn collected(&self, live: usize) {
        self.pace.leaves(self.left_beside(live).0, self.least());
        self.quota.collected();
        self.count_credit();
    }

    /// Counts how much of what blocks have taken beyond the limit is empty: that keeps nothing out that does not need a block.
    fn count_credit(&self) {
        let used = self.used();
        let beyond = used.saturating_sub(self.limit);
        if beyond == 0 && !self.quota.has_credit() {
            return;
        }
        let elsewhere = self.queued.load(Relaxed) + self.outside.load(Relaxed);
        let empty = used.saturating_sub(elsewhere + self.pace.lives());
        self.quota.set_credit(beyond.min(empty));
    }

    /// Notes that somebody was refused memory that is not of blocks: some may be free soon.
    pub(crate) fn short(&self) {
        self.pace.refused(self.much());
    }

    /// Returns whether the last collection has found much, judged by what turns have allocated since.
    pub(crate) fn has_found_much(&self) -> bool {
        self.pace.has_allocated(self.much())
    }

    fn much(&self) -> usize {
        (self.limit / MUCH_OF_LIMIT).max(2 * BLOCK)
    }

    /// Returns how many bytes a thread may take beyond the limit if `live` bytes lived at the last collection. It is more than 0
    /// while what lives and waits, and what was made since, leave a block.
    pub(crate) fn overdraft(&self, live: usize) -> usize {
        let (left, limit) = self.left_beside(live + self.pace.since_collected());
        match left >= BLOCK && self.may_go_beyond(false) {
            true => left.min((limit / AT_ONCE_BEYOND).max(BLOCK)),
            false => 0,
        }
    }

    fn charge_anyway(&self, bytes: usize) {
        let before = self.used.fetch_add(bytes, Relaxed);
        self.peak.fetch_max(before + bytes, Relaxed);
        self.quota.take_anyway(bytes);
        self.count_credit();
        self.pace.hurry(self.least());
    }

    fn discharge(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
        self.quota.give(bytes);
        self.count_credit();
    }

    /// A block goes to a queue, or comes back from one: it is in use, but not by a heap.
    pub(crate) fn lend_to_queue(&self, goes: bool) {
        match goes {
            true => self.queued.fetch_add(BLOCK, Relaxed),
            false => self.queued.fetch_sub(BLOCK, Relaxed),
        };
        self.count_credit();
    }

    /// Returns the pages of one free block, or of one large cell that has died, to the system, except for what is
    /// likely to be used before the next collection. Whether there may be more.
    pub(crate) fn trim(&self) -> bool {
        let keep = match self.reserve.lately() {
            // Somebody wants it back, or nobody has needed it for a while.
            0 => {
                self.buffers.clear();
                0
            }
            _ => self.likely().saturating_sub(self.buffers.bytes()) / BLOCK + 2,
        };
        let mut inner = self.inner.lock();
        if let Some(region) = inner.dead.pop() {
            drop(inner);
            // SAFETY: mapped by `acquire_large`, in no list any more, and `release_large` was promised that it holds
            // no cell.
            unsafe { pages::unmap(region.start.as_ptr(), region.bytes, BLOCK) };
            self.mapped.fetch_sub(region.bytes, Relaxed);
            return true;
        }
        if inner.free.len() <= keep {
            return false;
        }
        let Some(block) = inner.free.pop() else {
            return false;
        };
        drop(inner);
        // SAFETY: a free block holds nothing, and it is in nobody's hands while it is in none of the lists.
        unsafe { pages::clean(block.0.as_ptr(), BLOCK) };
        let mut inner = self.inner.lock();
        // It may have small pages since parts of it were given back (free_pages.rs).
        // SAFETY: as above.
        unsafe { pages::ask_for_huge(block.0.as_ptr(), BLOCK, inner.has_grown()) };
        inner.clean.push(block);
        true
    }

    /// Keeps the buffer of a binary that has died, if free blocks leave something of what is likely to be used.
    pub(super) fn keep_buffer(&self, buffer: Vec<u8>) {
        if self.reserve.lately() == 0 {
            return;
        }
        let blocks = self.inner.lock().free.len() * BLOCK;
        self.buffers
            .keep(buffer, self.likely().saturating_sub(blocks));
    }

    /// Free bytes that are likely to be used soon. Recent use is no reason to keep more than the limit.
    fn likely(&self) -> usize {
        let soon = self.pace.threshold();
        match self.is_short() {
            true => soon,
            false => soon.max(self.reserve.lately().saturating_sub(self.used())),
        }
    }

    /// Returns the limit, and how much of it is left beside cells that take `cells` bytes.
    pub(crate) fn left_beside(&self, cells: usize) -> (usize, usize) {
        let elsewhere = self.quota.held().saturating_sub(self.own());
        let taken = elsewhere + self.queued.load(Relaxed) + cells;
        (self.limit.saturating_sub(taken), self.limit)
    }

    /// Bytes in use by heaps and queues.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// The most bytes that were since this was last asked.
    pub(crate) fn take_peak(&self) -> usize {
        self.peak.swap(self.used(), Relaxed)
    }

    /// Returns whether so little memory is left that a collection must not take its time.
    pub(crate) fn is_short(&self) -> bool {
        let reserve = (self.limit / 32).max(2 * BLOCK);
        self.used.load(Relaxed).saturating_add(reserve) > self.limit || !self.quota.has(reserve)
    }

    /// The collection that is marking, or 0.
    pub(crate) fn marking(&self) -> u64 {
        // Relaxed: heaps are made, and the number changes, under the lock of the leases.
        self.marking.load(Relaxed)
    }

    /// The last collection that has ended, or 0.
    pub(crate) fn last(&self) -> u64 {
        // Relaxed: as `marking`.
        self.last.load(Relaxed)
    }

    /// Returns whether a collection marks, or the next one may be a young one.
    pub(crate) fn watches(&self) -> bool {
        // Relaxed: as `marking`.
        self.watches.load(Relaxed)
    }

    /// A collection begins to mark.
    pub(crate) fn begins(&self, number: u64) {
        self.marking.store(number, Relaxed);
        self.watches.store(true, Relaxed);
    }

    /// A collection has marked everything.
    pub(crate) fn ends(&self, number: u64) {
        self.marking.store(0, Relaxed);
        self.last.store(number, Relaxed);
    }

    /// Says whether the next one may be a young one.
    pub(crate) fn set_watches(&self, watches: bool) {
        self.watches.store(watches, Relaxed);
    }

    /// Takes back a block that no cell of any program is in.
    pub(crate) fn release(&self, block: Block) {
        marks::forget(block);
        self.discharge(BLOCK);
        self.inner.lock().free.push(block);
    }

    /// Memory for one cell that is larger than a block; its start is aligned like a block's first cell.
    pub(crate) fn acquire_large(&self, bytes: usize, anyway: bool) -> Option<NonNull<u8>> {
        let bytes = large_bytes(bytes)?;
        match anyway {
            true => self.charge_anyway(bytes),
            false => self.charge(bytes)?,
        }
        let Some(start) = pages::map(bytes, BLOCK).and_then(NonNull::new) else {
            self.discharge(bytes);
            return None;
        };
        // SAFETY: mapped just now.
        unsafe { pages::ask_for_huge(start.as_ptr(), bytes, true) };
        self.given(bytes);
        self.inner.lock().large.push(Region { start, bytes });
        self.mapped.fetch_add(bytes, Relaxed);
        // SAFETY: RESERVED is less than `bytes`.
        NonNull::new(unsafe { start.as_ptr().add(RESERVED) })
    }

    /// Takes back what `acquire_large` gave, with no cell in it. `trim` unmaps it.
    pub(crate) fn release_large(&self, cell: NonNull<u8>) {
        let mut inner = self.inner.lock();
        // SAFETY: `cell` lies RESERVED bytes behind the start of its region.
        let start = unsafe { cell.as_ptr().sub(RESERVED) };
        let Some(at) = inner.large.iter().position(|r| r.start.as_ptr() == start) else {
            return;
        };
        let region = inner.large.swap_remove(at);
        self.discharge(region.bytes);
        inner.dead.push(region);
    }

    /// Returns whether the limit allows `bytes` more. If not, that hastens a collection as any refusal does.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.allows(bytes, Quota::fits)
    }

    /// Takes room for bytes that are used beside the pool for a while; whether there was any. A refusal is like any other.
    pub(crate) fn lend(&self, bytes: usize) -> bool {
        self.allows(bytes, Quota::take)
    }

    /// Does the same as `lend`, but only while a quarter of the limit is left.
    fn lend_spare(&self, bytes: usize) -> bool {
        self.has_spare(bytes) && self.quota.take(bytes)
    }

    /// Returns whether a quarter of the limit is left beside so many bytes.
    pub(super) fn has_spare(&self, bytes: usize) -> bool {
        self.quota.fits(bytes.saturating_add(self.limit / 4))
    }

    fn allows(&self, bytes: usize, quota: impl FnOnce(&Quota, usize) -> bool) -> bool {
        let allowed = self.used.load(Relaxed).saturating_add(bytes) <= self.limit
            && quota(&self.quota, bytes);
        if !allowed {
            self.pace.refused(self.much());
        }
        allowed
    }

    /// Counts bytes outside of the pool that no heap keeps, but something that may outlive the machine; whether the limit allows it.
    pub(crate) fn hold_outside(&self, bytes: usize) -> bool {
        // Before they are in use: see `own`.
        self.outside.fetch_add(bytes, SeqCst);
        let held = self.hold(bytes, false);
        if !held {
            self.outside.fetch_sub(bytes, SeqCst);
        }
        held
    }

    /// Takes back what `hold_outside` counted.
    pub(crate) fn let_go_outside(&self, bytes: usize) {
        self.discharge(bytes);
        self.outside.fetch_sub(bytes, SeqCst);
    }

    /// Bytes in use, without those that something outside holds: at most these, whatever comes and goes outside meanwhile.
    fn own(&self) -> usize {
        loop {
            let outside = self.outside.load(SeqCst);
            let used = self.used.load(SeqCst);
            if self.outside.load(SeqCst) == outside {
                return used.saturating_sub(outside);
            }
        }
    }

    /// Counts bytes outside of the pool that a cell keeps; whether the limit allows it, if it is asked.
    pub(crate) fn hold(&self, bytes: usize, anyway: bool) -> bool {
        match anyway {
            true => self.charge_anyway(bytes),
            false if self.charge(bytes).is_none() => return false,
            false => {}
        }
        self.given(bytes);
        true
    }

    /// Takes back what `hold` counted.
    pub(crate) fn let_go(&self, bytes: usize) {
        self.discharge(bytes);
    }

    /// Bytes of address space asked from the system, and bytes in blocks that heaps hold.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let queued = self.queued.load(Relaxed);
        let heaps = self.used.load(Relaxed).saturating_sub(queued);
        (self.mapped.load(Relaxed), heaps)
    }

    /// Bytes that nothing is in, and that the system has not got back yet.
    pub(crate) fn spare(&self) -> usize {
        let inner = self.inner.lock();
        let dead: usize = inner.dead.iter().map(|region| region.bytes).sum();
        inner.free.len() * BLOCK + dead + self.buffers.bytes()
    }

    /// Returns all memory to the system.
    ///
    /// # Safety
    /// No heap on this pool exists, and nothing reads what was in one.
    pub(crate) unsafe fn free_everything(&self) {
        let mut inner = self.inner.lock();
        let Blocks {
            regions,
            large,
            dead,
            free,
            clean,
            ..
        } = &mut *inner;
        free.clear();
        clean.clear();
        let large = large.drain(..).chain(dead.drain(..));
        for region in regions.drain(..).chain(large) {
            // SAFETY: mapped by this pool; by the caller's promise nothing refers to it.
            unsafe { pages::unmap(region.start.as_ptr(), region.bytes, BLOCK) };
        }
        self.mapped.store(0, Relaxed);
        // What is held outside is given back by whoever holds it.
        self.discharge(self.own());
    }

    fn grow(&self, inner: &mut Blocks) -> Option<()> {
        // Small machines stay small; large ones ask rarely.
        let blocks = inner.next_region.clamp(1, LARGEST_REGION);
        inner.next_region = blocks * 2;
        let bytes = blocks * BLOCK;
        let start = NonNull::new(pages::map(bytes, BLOCK)?)?;
        inner.regions.push(Region { start, bytes });
        self.mapped.fetch_add(bytes, Relaxed);
        let has_grown = blocks >= GROWN;
        // Those before it have them from the time that it had grown.
        let anew = if blocks == GROWN {
            0
        } else {
            inner.regions.len() - 1
        };
        for region in &inner.regions[anew..] {
            // SAFETY: the pool's regions are mapped.
            unsafe { pages::ask_for_huge(region.start.as_ptr(), region.bytes, has_grown) };
        }
        for i in (0..blocks).rev() {
            // SAFETY: inside the region just mapped.
            let block = unsafe { start.as_ptr().add(i * BLOCK) };
            inner.clean.extend(NonNull::new(block).map(Block));
        }
        Some(())
    }
}

/// Bytes of memory for one cell of `bytes` bytes that is larger than a block.
pub(crate) fn large_bytes(bytes: usize) -> Option<usize> {
    bytes.checked_add(RESERVED)?.checked_next_multiple_of(BLOCK)
}

impl Drop for BlockPool {
    fn drop(&mut self) {
        // SAFETY: by invariant 2 no heap is left that could refer to this memory.
        unsafe { self.free_everything() };
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
