//! Chooses the room that an allocator fills next, when its present room is used up.
use super::block::{Block, BLOCK, GRANULE, PAYLOAD};
use super::marks::prepare;
use super::space::{Extent, Stretch, ACTORS, CELLS, WIDE};
use super::{Heap, LEAST_WIDE};
use std::ptr::NonNull;

/// Bytes that an allocator may be given before they are reported to the pace: holes are small, and one pace is for all threads.
const UNTOLD: usize = 4096;

/// A heap with fewer blocks for cells has none for wide ones alone: they skip less than such a block would take.
const FEW: usize = 4;

impl Heap {
    #[cold]
    #[inline(never)]
    pub(super) fn allocate_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moves += 1;
        if bytes > PAYLOAD {
            let large = self.pool.acquire_large(bytes, self.insists);
            let large = large.or_else(|| match self.overdraws(bytes) {
                true => self.pool.acquire_large(bytes, true),
                false => None,
            });
            self.exhausted |= large.is_none();
            if let Some(large) = large {
                self.large.push(large);
                self.mark_in_advance(large.as_ptr(), 1);
            }
            return large.map(NonNull::cast);
        }
        let granules = bytes / GRANULE;
        if granules >= LEAST_WIDE {
            if let Some(cell) = self.take_wide(granules) {
                return Some(cell);
            }
        }
        self.take(CELLS, granules)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn allocate_actors_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moves += 1;
        self.take(ACTORS, bytes / GRANULE)
    }

    /// Takes the next hole of a space that has at least `granules` granules, or a block. Returns `None` if there is none: the
    /// memory is exhausted then.
    fn take(&mut self, of: usize, granules: usize) -> Option<NonNull<u64>> {
        match self.spaces[of].next_hole(granules, self.last) {
            Some(hole) => self.fill(of, hole),
            None if self.fill_block(of, granules).is_some() => {}
            None => self.exhausted = true,
        }
        self.spaces[of].room.take(granules * GRANULE)
    }

    /// Takes room for a wide cell that skips no hole which smaller cells can fill. Returns `None` if there is none: they have no holes,
    /// or it may as well skip some, since the heap is small or memory is short.
    fn take_wide(&mut self, granules: usize) -> Option<NonNull<u64>> {
        let (bytes, last) = (granules * GRANULE, self.last);
        let [cells, _, wide] = &mut self.spaces;
        if let Some(mut front) = cells.front_of_next_hole(granules, last) {
            self.was_given(front);
            return front.take(bytes);
        }
        if let Some(taken) = wide.room.take(bytes) {
            return Some(taken);
        }
        match wide.next_hole(granules, last) {
            Some(hole) => self.fill(WIDE, hole),
            None if cells.extents.len() < FEW || !cells.has_holes() || !self.pool.has_blocks() => {
                return None;
            }
            None => self.fill_block(WIDE, granules)?,
        }
        self.spaces[WIDE].room.take(bytes)
    }

    /// Goes to another block.
    fn fill_block(&mut self, of: usize, granules: usize) -> Option<()> {
        let block = match self.insists {
            true => self.pool.acquire_anyway(),
            false => self.pool.acquire().or_else(|| self.overdraw()),
        };
        let block = block?;
        let (cells, actors) = Extent::shared(block);
        let own = if of == ACTORS { actors } else { cells };
        let is_first = self.extents().next().is_none();
        if is_first && granules <= own.granules() {
            self.fill_extent(CELLS, cells);
            self.fill_extent(ACTORS, actors);
        } else {
            self.fill_extent(of, Extent::whole(block));
        }
        Some(())
    }

    /// Lets turns take `bytes` beyond the quota from now on, whatever they need them for.
    pub(crate) fn may_overdraw(&mut self, bytes: usize) {
        (self.overdraft, self.is_last) = (bytes, false);
    }

    /// Lets a turn that would be given up take a block beyond the quota, and beyond what others may.
    pub(crate) fn may_overdraw_a_block(&mut self) {
        (self.overdraft, self.is_last) = (self.overdraft.max(BLOCK), true);
    }

    /// Lets an image take as much as a machine with this quota may have held (base/quota.rs, invariant 6), until it `may` not any more.
    pub(crate) fn may_go_to_the_end(&mut self, may: bool) {
        (self.overdraft, self.is_last) = if may { (usize::MAX, true) } else { (0, false) };
    }

    /// Returns whether a turn may take that many bytes beyond the quota.
    pub(crate) fn can_overdraw(&self, bytes: usize) -> bool {
        bytes <= self.overdraft && self.pool.may_go_beyond(self.is_last)
    }

    /// Returns whether a turn may take that many bytes beyond the quota, and counts them if so: the caller takes them.
    pub(crate) fn overdraws(&mut self, bytes: usize) -> bool {
        let may = self.can_overdraw(bytes);
        if may {
            self.overdraft -= bytes;
        }
        may
    }

    fn overdraw(&mut self) -> Option<Block> {
        match self.overdraws(BLOCK) {
            true => self.pool.acquire_anyway(),
            false => None,
        }
    }

    fn fill_extent(&mut self, of: usize, extent: Extent) {
        self.spaces[of].extents.push(extent);
        self.fill(of, extent.room());
    }

    fn fill(&mut self, of: usize, room: Stretch) {
        if self.marking != 0 && of == ACTORS {
            // It was marked in advance, and nothing more comes there.
            self.spaces[ACTORS].room.bury();
        }
        self.spaces[of].room = room;
        self.was_given(room);
    }

    /// Notes that it was given this room to fill.
    fn was_given(&mut self, room: Stretch) {
        let bytes = room.bytes();
        self.mark_in_advance(room.next, bytes / GRANULE);
        self.untold += bytes;
        if self.untold >= UNTOLD {
            self.pool.given(std::mem::take(&mut self.untold));
        }
    }

    /// Marks room that cells are going to be in, if a collection marks.
    #[inline]
    pub(super) fn mark_in_advance(&self, from: *const u8, granules: usize) {
        if self.marking != 0 && granules > 0 {
            let first = Block::granule_of(from);
            prepare(Block::of(from), self.marking).set(first, first + granules);
        }
    }
}
