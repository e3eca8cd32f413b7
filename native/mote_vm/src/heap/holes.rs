//! Finding holes between the marked granules of a block.
use super::marks::{Marks, FIRST, GRANULES, WORDS};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Shorter runs of free granules are left alone: switching to them costs more than they hold.
pub(super) const SHORTEST: usize = 8;
/// Where memory is short, or much of it lies in holes, only these are.
pub(super) const SHORTEST_IF_SHORT: usize = 2;
/// Holes of that many granules are wide: there is room in them for what does not fit in others.
pub(super) const WIDE_HOLE: usize = 64;

/// Where to look for the next hole.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cursor {
    /// Index into the heap's blocks.
    pub(crate) block: usize,
    /// Granule within it.
    pub(crate) granule: usize,
}

/// The next run of free granules from `from` on that has one of these `lengths`: its start and its end.
pub(crate) fn next_hole(
    marks: Marks,
    from: usize,
    lengths: &Range<usize>,
) -> Option<(usize, usize)> {
    let mut at = from.max(FIRST);
    loop {
        let start = find(marks, at, false);
        if start >= GRANULES {
            return None;
        }
        let end = find(marks, start, true);
        if lengths.contains(&(end - start)) {
            return Some((start, end));
        }
        at = end;
    }
}

/// The run of free granules that this one, which is free, is in.
pub(super) fn around(marks: Marks, granule: usize) -> Range<usize> {
    let mut start = granule;
    while start > FIRST && !marks.has(start - 1) {
        start -= 1;
    }
    start..find(marks, granule, true)
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
        let next = |from, least: usize| next_hole(marks, from, &(least..usize::MAX));
        assert_eq!(next(0, 1), Some((FIRST, GRANULES)));
        marks.set(FIRST, FIRST + 100);
        marks.set(FIRST + 107, FIRST + 200);
        marks.set(FIRST + 208, FIRST + 209);
        // Seven granules are too short, eight are not.
        assert_eq!(next(0, 8), Some((FIRST + 200, FIRST + 208)));
        assert_eq!(next(0, 9), Some((FIRST + 209, GRANULES)));
        assert_eq!(next(FIRST + 201, 8).unwrap().0, FIRST + 209);
        // And some are too long.
        assert_eq!(next_hole(marks, 0, &(1..8)), Some((FIRST + 100, FIRST + 107)));
        assert_eq!(next_hole(marks, FIRST + 107, &(1..8)), None);
        assert_eq!(around(marks, FIRST + 203), FIRST + 200..FIRST + 208);
        marks.set(FIRST + 209, GRANULES);
        assert_eq!(next(FIRST + 208, 1), None);
        pool.release(block);
    }
}
