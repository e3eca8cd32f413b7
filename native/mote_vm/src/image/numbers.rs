//! The numbers of cells and actors while an image is written: found by where they lie.
//!
//! Invariants:
//! 1. A granule that was not given a number has 0.
//! 2. The numbers of a block stay where they are for as long as these are looked up.
use super::chunks::{WalkChunk, CHUNK};
use crate::heap::block::{Block, BLOCK, GRANULE};
use crate::platform::prefetch::prefetch;
use rustc_hash::FxHashMap;
use std::ptr::NonNull;

/// Blocks whose numbers are in one chunk.
const IN_CHUNK: usize = CHUNK / (BLOCK / GRANULE * size_of::<u32>());

/// Blocks that are found without a search: two gigabytes of them where they lie side by side.
const NEAR: usize = 1 << 10;

/// A number for each granule of the blocks that were met.
pub(crate) struct Numbers {
    places: FxHashMap<usize, usize>,
    chunks: Vec<WalkChunk>,
    /// Blocks that were looked into lately, and where their numbers are; no block has the address 0.
    near: Box<[(usize, NonNull<u32>)]>,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers {
            places: FxHashMap::default(),
            chunks: Vec::new(),
            near: vec![(0, NonNull::dangling()); NEAR].into(),
        }
    }
}

impl Numbers {
    /// The number of what lies there. Tags in the address do not matter, which are below a granule.
    #[inline]
    pub(crate) fn of(&mut self, cell: *const u8) -> &mut u32 {
        let block = cell.addr() & !(BLOCK - 1);
        let near = block / BLOCK % NEAR;
        let (of, mut numbers) = self.near[near];
        if of != block {
            numbers = self.place(block);
            self.near[near] = (block, numbers);
        }
        // SAFETY: a block has as many numbers as granules (invariant 2), and nobody else looks at them: `self` is borrowed.
        unsafe { numbers.add(Block::granule_of(cell)).as_mut() }
    }

    /// Prefetches a number that is soon looked for, if its block was looked into lately.
    #[inline]
    pub(crate) fn expect(&self, cell: *const u8) {
        let block = cell.addr() & !(BLOCK - 1);
        let (of, numbers) = self.near[block / BLOCK % NEAR];
        if of == block {
            let number = numbers.as_ptr().wrapping_add(Block::granule_of(cell));
            prefetch(number.cast_const().cast());
        }
    }

    #[inline(never)]
    fn place(&mut self, block: usize) -> NonNull<u32> {
        let next = self.places.len();
        let place = *self.places.entry(block).or_insert(next);
        if place == self.chunks.len() * IN_CHUNK {
            self.chunks.push(WalkChunk::new());
        }
        let chunk = self.chunks[place / IN_CHUNK].start();
        // SAFETY: there is room for the numbers of so many blocks.
        unsafe { chunk.add(place % IN_CHUNK * (BLOCK / GRANULE)) }
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
