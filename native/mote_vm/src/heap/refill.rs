//! What an allocator fills next, when its room is used up.
use super::block::{Block, BLOCK, GRANULE, PAYLOAD};
use super::marks::{self, Marks};
use super::space::{Extent, Space, Stretch};
use super::Heap;
use std::ptr::NonNull;

/// Bytes that an allocator may be given before they are reported to the pace: holes are small, and one pace is for all threads.
const UNTOLD: usize = 4096;

/// The use of a space.
#[derive(Clone, Copy)]
enum SpaceFor {
    Cells,
    Actors,
}

impl Heap {
    #[cold]
    #[inline(never)]
    pub(super) fn allocate_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moved = true;
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
        self.refill(SpaceFor::Cells, bytes / GRANULE)?;
        self.cells.room.take(bytes)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn allocate_actors_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moved = true;
        self.refill(SpaceFor::Actors, bytes / GRANULE)?;
        self.actors.room.take(bytes)
    }

    /// Goes to the next hole of a space that has at least `granules` granules, or to a block. Returns `None` when the memory is
    /// exhausted.
    fn refill(&mut self, of: SpaceFor, granules: usize) -> Option<()> {
        let last = self.last;
        if let Some(hole) = self.space(of).next_hole(granules, last) {
            self.fill(of, hole);
            return Some(());
        }
        let block = match self.insists {
            true => self.pool.acquire_anyway(),
            false => self.pool.acquire().or_else(|| self.overdraw()),
        };
        self.exhausted |= block.is_none();
        let block = block?;
        let (cells, actors) = Extent::shared(block);
        let own = match of {
            SpaceFor::Cells => cells,
            SpaceFor::Actors => actors,
        };
        let is_first = self.cells.extents.is_empty() && self.actors.extents.is_empty();
        if is_first && granules <= own.granules() {
            self.fill_extent(SpaceFor::Cells, cells);
            self.fill_extent(SpaceFor::Actors, actors);
        } else {
            self.fill_extent(of, Extent::whole(block));
        }
        Some(())
    }

    /// Lets turns take `bytes` beyond the quota from now on, whatever they need them for.
    pub(crate) fn may_overdraw(&mut self, bytes: usize) {
        self.overdraft = bytes;
    }

    /// Returns whether a turn may take that many bytes beyond the quota.
    pub(crate) fn can_overdraw(&self, bytes: usize) -> bool {
        bytes <= self.overdraft && self.pool.may_go_beyond()
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

    fn space(&mut self, of: SpaceFor) -> &mut Space {
        match of {
            SpaceFor::Cells => &mut self.cells,
            SpaceFor::Actors => &mut self.actors,
        }
    }

    fn fill_extent(&mut self, of: SpaceFor, extent: Extent) {
        self.space(of).extents.push(extent);
        self.fill(of, extent.room());
    }

    fn fill(&mut self, of: SpaceFor, room: Stretch) {
        let bytes = room.bytes();
        self.space(of).room = room;
        self.mark_in_advance(room.next, bytes / GRANULE);
        self.untold += bytes;
        if self.untold >= UNTOLD {
            self.pool.pace.allocated(std::mem::take(&mut self.untold));
        }
    }

    /// Marks room that cells are going to be in, if a collection marks.
    #[inline]
    pub(super) fn mark_in_advance(&self, from: *const u8, granules: usize) {
        if self.marking != 0 && granules > 0 {
            let block = Block::of(from);
            marks::prepare(block, self.marking);
            let first = Block::granule_of(from);
            Marks::of(block, self.marking).set(first, first + granules);
        }
    }
}
