//! Where cells move to: blocks that are filled from the front, without holes.
use crate::heap::block::{Block, BlockPool, GRANULE};
use crate::heap::marks::{prepare, Marks};
use crate::heap::space::{Extent, Stretch};
use crate::heap::vacating;
use std::ptr::NonNull;

/// The blocks that cells of one evacuation have moved to.
pub(super) struct DenseBlocks {
    number: u64,
    room: Stretch,
    /// Start of the copied cells that are not marked yet.
    unmarked: *mut u8,
    blocks: Vec<Block>,
    /// Number of cells that find room before one is refused it.
    #[cfg(test)]
    pub(super) refused_after: Option<usize>,
}

impl DenseBlocks {
    pub(super) fn new(number: u64) -> DenseBlocks {
        DenseBlocks {
            number,
            room: Stretch::NONE,
            unmarked: std::ptr::null_mut(),
            blocks: Vec::new(),
            #[cfg(test)]
            refused_after: None,
        }
    }

    /// Room for a cell; `None` when the system has no memory. Beyond the quota too: more is given back.
    pub(super) fn take(&mut self, granules: usize, pool: &BlockPool) -> Option<NonNull<u64>> {
        #[cfg(test)]
        if let Some(left) = &mut self.refused_after {
            *left = left.checked_sub(1)?;
        }
        if let Some(cell) = self.room.take(granules * GRANULE) {
            return Some(cell);
        }
        self.mark();
        let block = pool.acquire_anyway()?;
        prepare(block, self.number);
        vacating::is_done(block);
        self.blocks.push(block);
        self.room = Extent::whole(block).room();
        self.unmarked = self.room.next;
        self.room.take(granules * GRANULE)
    }

    /// Marks what was copied since the last time.
    pub(super) fn mark(&mut self) {
        let granules = (self.room.next.addr() - self.unmarked.addr()) / GRANULE;
        if granules > 0 {
            let first = Block::granule_of(self.unmarked);
            let marks = Marks::of(Block::of(self.unmarked), self.number);
            marks.set_alone(first, first + granules);
            self.unmarked = self.room.next;
        }
    }

    /// The blocks. What is free of the last is a hole.
    pub(super) fn give_up(&mut self) -> Vec<Block> {
        self.room = Stretch::NONE;
        self.unmarked = self.room.next;
        std::mem::take(&mut self.blocks)
    }
}
