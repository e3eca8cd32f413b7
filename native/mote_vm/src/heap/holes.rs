//! Finding room between the marked granules of a block.
use super::block::{Block, BLOCK, GRANULE, MARK_WORDS, RESERVED};

/// Granules of a block.
const GRANULES: usize = BLOCK / GRANULE;
/// The first granule that holds cells.
const FIRST: usize = RESERVED / GRANULE;
/// Shorter runs of free granules are left alone: switching to them costs more than they hold.
const SHORTEST: usize = 8;

/// Where to look for the next hole.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Cursor {
    /// Index into the heap's blocks.
    pub(crate) block: usize,
    /// Granule within it.
    pub(crate) granule: usize,
}

/// The next run of at least `wanted` free granules from `from` on: its start and its end.
pub(crate) fn next_hole(block: Block, from: usize, wanted: usize) -> Option<(usize, usize)> {
    let wanted = wanted.max(SHORTEST);
    let mut at = from.max(FIRST);
    loop {
        let start = find(block, at, false);
        if start >= GRANULES {
            return None;
        }
        let end = find(block, start, true);
        if end - start >= wanted {
            return Some((start, end));
        }
        at = end;
    }
}

/// How many granules are marked.
pub(crate) fn marked(block: Block) -> usize {
    (0..MARK_WORDS)
        // SAFETY: a block has that many mark words, and only the collector writes them, not now.
        .map(|i| unsafe { *block.marks().add(i) }.count_ones() as usize)
        .sum()
}

/// The first granule from `at` on whose mark is `marked`; the number of granules if there is none.
fn find(block: Block, at: usize, marked: bool) -> usize {
    let mut word = at / 64;
    let mut skip = at % 64;
    while word < MARK_WORDS {
        // SAFETY: as above.
        let bits = unsafe { *block.marks().add(word) };
        let bits = if marked { bits } else { !bits } & (u64::MAX << skip);
        if bits != 0 {
            return word * 64 + bits.trailing_zeros() as usize;
        }
        word += 1;
        skip = 0;
    }
    GRANULES
}

#[cfg(test)]
mod tests {
    use super::super::block::BlockPool;
    use super::*;

    fn mark(block: Block, granules: std::ops::Range<usize>) {
        for g in granules {
            // SAFETY: a test's own block.
            unsafe { *block.marks().add(g / 64) |= 1 << (g % 64) };
        }
    }

    #[test]
    fn holes_are_found_between_marks() {
        let pool = BlockPool::default();
        let block = pool.acquire().unwrap();
        assert_eq!(next_hole(block, 0, 1), Some((FIRST, GRANULES)));
        mark(block, FIRST..FIRST + 100);
        mark(block, FIRST + 107..FIRST + 200);
        mark(block, FIRST + 208..FIRST + 209);
        // Seven granules are too short, eight are not.
        assert_eq!(next_hole(block, 0, 1), Some((FIRST + 200, FIRST + 208)));
        assert_eq!(next_hole(block, 0, 9), Some((FIRST + 209, GRANULES)));
        assert_eq!(next_hole(block, FIRST + 201, 1).unwrap().0, FIRST + 209);
        mark(block, FIRST + 209..GRANULES);
        assert_eq!(next_hole(block, FIRST + 208, 1), None);
        assert_eq!(marked(block), GRANULES - FIRST - 7 - 8);
        pool.release(block);
    }
}
