//! The numbers of cells and actors while an image is written: found by where they lie.
//!
//! Invariants:
//! 1. A granule that was not given a number has 0.
use crate::heap::block::{Block, BLOCK, GRANULE};
use rustc_hash::FxHashMap;

type BlockNumbers = Box<[u32]>;

/// Blocks that are found without a search: a walk goes to and fro between a few of actors and of cells.
const NEAR: usize = 16;

/// A number for each granule of the blocks that were met.
#[derive(Default)]
pub(crate) struct Numbers {
    places: FxHashMap<usize, usize>,
    blocks: Vec<BlockNumbers>,
    /// Blocks that were looked into lately, and their places.
    near: [(usize, usize); NEAR],
}

impl Numbers {
    /// The number of what lies there.
    #[inline]
    pub(crate) fn of(&mut self, cell: *const u8) -> &mut u32 {
        let block = cell.addr() & !(BLOCK - 1);
        let near = block / BLOCK % NEAR;
        if self.near[near].0 != block {
            self.near[near] = (block, self.place(block));
        }
        &mut self.blocks[self.near[near].1][Block::granule_of(cell)]
    }

    #[inline(never)]
    fn place(&mut self, block: usize) -> usize {
        let next = self.blocks.len();
        let place = *self.places.entry(block).or_insert(next);
        if place == next {
            self.blocks.push(vec![0; BLOCK / GRANULE].into());
        }
        place
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_granule_has_a_number_of_its_own() {
        let mut numbers = Numbers::default();
        let cells: Vec<*const u8> = (1..4)
            .flat_map(|block| [1, 2, 77].map(|granule| block * BLOCK + granule * GRANULE))
            .map(|address| address as *const u8)
            .collect();
        for (n, cell) in cells.iter().enumerate() {
            assert_eq!(*numbers.of(*cell), 0);
            *numbers.of(*cell) = n as u32 + 1;
        }
        for (n, cell) in cells.iter().enumerate() {
            assert_eq!(*numbers.of(*cell), n as u32 + 1);
        }
    }
}
