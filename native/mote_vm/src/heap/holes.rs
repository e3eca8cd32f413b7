//! Finding holes between the marked granules of a block.
use super::marks::{Marks, FIRST, GRANULES, WORDS};
use std::sync::atomic::Ordering::Relaxed;

/// Shorter runs of free granules are left alone: switching to them costs more than they hold.
const SHORTEST: usize = 8;

/// Where to look for the next hole.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cursor {
    /// Index into the heap's blocks.
    pub(crate) block: usize,
    /// Granule within it.
    pub(crate) granule: usize,
}

/// The next run of at least `wanted` free granules from `from` on: its start and its end.
pub(crate) fn next_hole(marks: Marks, from: usize, wanted: usize) -> Option<(usize, usize)> {
    let wanted = wanted.max(SHORTEST);
    let mut at = from.max(FIRST);
    loop {
        let start = find(marks, at, false);
        if start >= GRANULES {
            return None;
        }
        let end = find(marks, start, true);
        if end - start >= wanted {
            return Some((start, end));
        }
        at = end;
    }
}

/// The first granule from `at` on whose mark is `marked`; the number of granules if there is none.
fn find(marks: Marks, at: usize, marked: bool) -> usize {
    let mut word = at / 64;
    let mut skip = at % 64;
    while word < WORDS {
        // Relaxed: the marks of a collection that is over (marks.rs, invariant 2).
        let bits = marks.word(word).load(Relaxed);
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
    use super::super::marks::prepare;
    use super::*;

    #[test]
    fn holes_are_found_between_marks() {
        let pool = BlockPool::default();
        let block = pool.acquire().unwrap();
        prepare(block, 1);
        let marks = Marks::of(block, 1);
        assert_eq!(next_hole(marks, 0, 1), Some((FIRST, GRANULES)));
        marks.set(FIRST, FIRST + 100);
        marks.set(FIRST + 107, FIRST + 200);
        marks.set(FIRST + 208, FIRST + 209);
        // Seven granules are too short, eight are not.
        assert_eq!(next_hole(marks, 0, 1), Some((FIRST + 200, FIRST + 208)));
        assert_eq!(next_hole(marks, 0, 9), Some((FIRST + 209, GRANULES)));
        assert_eq!(next_hole(marks, FIRST + 201, 1).unwrap().0, FIRST + 209);
        marks.set(FIRST + 209, GRANULES);
        assert_eq!(next_hole(marks, FIRST + 208, 1), None);
        pool.release(block);
    }
}
