//! Finding holes between the marked granules of a block.
use super::marks::Marks;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// The place from which the next hole is looked for.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cursor {
    /// Index into the extents of a space.
    pub(crate) extent: usize,
    /// Granule within its block.
    pub(crate) granule: usize,
}

/// The next run of at least `wanted` free granules within a range: its start and its end, or as far as `most` granules behind the
/// start.
pub(crate) fn next_hole(
    marks: Marks,
    within: Range<usize>,
    wanted: usize,
    most: usize,
) -> Option<(usize, usize)> {
    let mut at = within.start;
    loop {
        let start = find(marks, at..within.end, false);
        if start >= within.end {
            return None;
        }
        let limit = within.end.min(start.saturating_add(most.max(wanted)));
        let end = find(marks, start..limit, true);
        if end - start >= wanted {
            return Some((start, end));
        }
        at = end;
    }
}

/// The first granule within a range whose mark is `marked`; the end of the range if there is none.
fn find(marks: Marks, within: Range<usize>, marked: bool) -> usize {
    let mut word = within.start / 64;
    let mut skip = within.start % 64;
    while word * 64 < within.end {
        // Relaxed: the marks of a collection that is over (marks.rs, invariant 2).
        let bits = marks.word(word).load(Relaxed);
        let bits = if marked { bits } else { !bits } & (u64::MAX << skip);
        if bits != 0 {
            return within.end.min(word * 64 + bits.trailing_zeros() as usize);
        }
        word += 1;
        skip = 0;
    }
    within.end
}

#[cfg(test)]
mod tests {
    use super::super::block::BlockPool;
    use super::super::marks::{prepare, FIRST, GRANULES};
    use super::*;

    #[test]
    fn holes_are_found_between_marks() {
        let pool = BlockPool::default();
        let block = pool.acquire().unwrap();
        prepare(block, 1);
        let marks = Marks::of(block, 1);
        let next = |from, wanted| next_hole(marks, from..GRANULES, wanted, usize::MAX);
        assert_eq!(next(FIRST, 1), Some((FIRST, GRANULES)));
        marks.set(FIRST, FIRST + 100);
        marks.set(FIRST + 107, FIRST + 200);
        marks.set(FIRST + 208, FIRST + 209);
        assert_eq!(next(FIRST, 7), Some((FIRST + 100, FIRST + 107)));
        assert_eq!(next(FIRST, 8), Some((FIRST + 200, FIRST + 208)));
        assert_eq!(next(FIRST, 9), Some((FIRST + 209, GRANULES)));
        assert_eq!(next(FIRST + 201, 8).unwrap().0, FIRST + 209);
        // No more of it is looked at than somebody wants to know.
        let look = |wanted, most| next_hole(marks, FIRST..GRANULES, wanted, most);
        assert_eq!(look(2, 5), Some((FIRST + 100, FIRST + 105)));
        assert_eq!(look(2, 50), Some((FIRST + 100, FIRST + 107)));
        assert_eq!(look(8, 8), Some((FIRST + 200, FIRST + 208)));
        // A range ends where it says, in the midst of a hole as well.
        let within = |end, wanted| next_hole(marks, FIRST..end, wanted, usize::MAX);
        assert_eq!(within(FIRST + 104, 4), Some((FIRST + 100, FIRST + 104)));
        assert_eq!(within(FIRST + 104, 5), None);
        assert_eq!(within(FIRST + 100, 1), None);
        marks.set(FIRST + 209, GRANULES);
        assert_eq!(next(FIRST + 208, 1), None);
        pool.release(block);
    }
}
