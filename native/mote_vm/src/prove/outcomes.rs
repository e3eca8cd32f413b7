//! The situations that turns have led to, by what was foretold of them (foretold.rs). It forgets what others take the place of.
//!
//! Invariants:
//! 1. What is kept for something foretold is the number of the situation that it is of, and nothing else. Which one that is (likeness.rs)
//!    depends on nothing that is not foretold. So it makes no difference whether something is kept, but for the time.
//! 2. It changes only while situations are taken up (known.rs): whoever looks reads it as it is.
use super::digest::Digest;
use crate::platform::prefetch::prefetch;

/// Rows of entries: as few, and as many.
const FEWEST: usize = 1 << 6;
const MOST: usize = 1 << 19;

/// The newest first. A row is a line of a cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct OutcomeRow([(Digest, u32); 4]);

/// No situation has this number.
const NONE: u32 = u32::MAX;

/// See the head of this file.
#[derive(Default)]
pub(super) struct Outcomes(Vec<OutcomeRow>);

impl Outcomes {
    /// Makes room for what comes of so many situations.
    pub(super) fn make_room(&mut self, situations: usize) {
        let rows = (situations / 2).next_power_of_two().clamp(FEWEST, MOST);
        if rows != self.0.len() {
            // The old ones go first.
            self.0 = Vec::new();
            self.0.resize(rows, OutcomeRow([([0; 3], NONE); 4]));
        }
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<OutcomeRow>()
    }

    #[inline]
    fn row(&self, foretold: Digest) -> usize {
        foretold[1] as usize & (self.0.len() - 1)
    }

    /// Calls for a row.
    #[inline]
    pub(super) fn prefetch(&self, foretold: Digest) {
        prefetch((&raw const self.0[self.row(foretold)]).cast());
    }

    /// The number of the situation of which that was foretold, if it is kept.
    #[inline]
    pub(super) fn get(&self, foretold: Digest) -> Option<u32> {
        let mut row = self.0[self.row(foretold)].0.iter();
        let kept = row.find(|(of, number)| *of == foretold && *number != NONE);
        kept.map(|(_, number)| *number)
    }

    /// Keeps it, and forgets the oldest of its row.
    pub(super) fn put(&mut self, foretold: Digest, number: u32) {
        if self.get(foretold).is_some() {
            return;
        }
        let at = self.row(foretold);
        let OutcomeRow(row) = &mut self.0[at];
        row.copy_within(..3, 1);
        row[0] = (foretold, number);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_row_are_kept() {
        let mut outcomes = Outcomes::default();
        outcomes.make_room(0);
        assert_eq!(outcomes.get([0; 3]), None);
        let foretold = |n: u32| [n * 7, n, !n];
        let put = 1_000;
        for n in 0..put {
            outcomes.put(foretold(n), n + 1);
            assert_eq!(outcomes.get(foretold(n)), Some(n + 1));
        }
        // Four of a row, and what is like one of them in part is none of them.
        let kept = put - 4 * FEWEST as u32;
        assert!((0..kept).all(|n| outcomes.get(foretold(n)).is_none()));
        assert!((kept..put).all(|n| outcomes.get(foretold(n)) == Some(n + 1)));
        for at in 0..3 {
            let mut other = foretold(999);
            other[at] ^= 1 << 31;
            assert_eq!(outcomes.get(other), None);
        }
    }
}
