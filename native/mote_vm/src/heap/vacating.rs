//! Extents that leave their spaces, because what lives in them is to move elsewhere (evacuation/).
//!
//! The head of a block says so, for whoever comes to a cell in it: the first word of the second table has the number of the extent's
//! group and where the extent ends.
//!
//! Invariants:
//! 1. An extent that has left is in no space: nothing is made in it any more. So no granule of it is marked in advance, and the table
//!    of the collection before is free for pins (evacuation/moving.rs).
//! 2. The word is written only while everything stands still, and is 0 in any block whose cells stay.
use super::block::Block;
use super::marks::{self, Marks, GRANULES};
use super::space::{Extent, CELLS, WIDE};
use super::Heap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The group of nobody: of blocks that everything has left, or that cells move to.
const NO_GROUP: u32 = u32::MAX - 1;

/// The allocator's state. Two of the same heap differ if anything was made in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeapStamp {
    spaces: [(usize, usize, usize); 3],
    counts: [usize; 2],
}

fn word(block: Block) -> &'static AtomicU64 {
    marks::head(block, true, 0)
}

/// The group that a cell moves with; of a cell that is larger than a block there is none.
#[inline(always)]
pub(crate) fn group_of(cell: *const u8) -> Option<u32> {
    // Relaxed: invariant 2.
    let word = word(Block::of(cell)).load(Relaxed);
    let has_left = word != 0 && (Block::granule_of(cell) as u64) < word >> 32;
    has_left.then_some((word as u32).wrapping_sub(1))
}

/// Returns whether the cell that a place was in has moved, in an extent that has left.
pub(super) fn is_free_of(place: *const u8, number: u64) -> bool {
    group_of(place) == Some(NO_GROUP)
        || !Marks::of(Block::of(place), number).has(Block::granule_of(place))
}

/// Writes down that an extent has left, with that group.
pub(super) fn leaves(extent: &Extent, group: u32) {
    let (_, end) = extent.bounds();
    word(extent.block).store((end as u64) << 32 | u64::from(group + 1), Relaxed);
}

/// Writes down that nothing moves from a block: everything has, or it is where cells move to.
pub(super) fn is_done(block: Block) {
    word(block).store((GRANULES as u64) << 32 | u64::from(NO_GROUP + 1), Relaxed);
}

/// Takes back what was written down.
pub(super) fn forget(block: Block) {
    word(block).store(0, Relaxed);
}

impl Heap {
    /// The extents that hold cells and nothing else.
    pub(crate) fn cell_extents(&self) -> impl Iterator<Item = &Extent> {
        let spaces = [CELLS, WIDE].into_iter();
        spaces.flat_map(|space| &self.spaces[space].extents)
    }

    /// Takes extents of cells out of the heap.
    pub(super) fn leave(&mut self, leaves: impl Fn(&Extent) -> bool) -> Vec<Extent> {
        self.moves += 1;
        let spaces = [CELLS, WIDE].into_iter();
        spaces
            .flat_map(|space| self.spaces[space].leave(&leaves))
            .collect()
    }

    /// Takes an extent of cells in, whose holes are between the marks of the last collection.
    pub(crate) fn take_in(&mut self, extent: Extent, last: u64) {
        self.moves += 1;
        // Also of a heap that is newer than that: it knows no holes yet.
        self.last = last;
        self.spaces[CELLS].take_in(extent);
    }

    /// Returns the allocator's state.
    pub(crate) fn stamp(&self) -> HeapStamp {
        HeapStamp {
            spaces: self
                .spaces
                .each_ref()
                .map(|space| (space.room.next.addr(), space.extents.len(), space.filled)),
            counts: [self.large.len(), self.foreigns.cells.len()],
        }
    }
}
