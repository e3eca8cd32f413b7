//! The digests of situations that turns have led to, by what was foretold of them (foretold.rs). It forgets what others take the
//! place of.
//!
//! Invariants:
//! 1. What is kept for something foretold is the digest of that, and nothing else. A digest (likeness.rs) depends on nothing that
//!    is not foretold. So it makes no difference whether something is kept, but for the time.
//! 2. Any thread reads and writes any entry at any time. The last word of one is made of the other two and of what was foretold: where two
//!    threads have written at once, it does not fit.
use super::digest::Digest;
use crate::platform::prefetch::prefetch;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Entries: as few, and as many.
const FEWEST: usize = 1 << 8;
const MOST: usize = 1 << 20;

type KeptOutcome = [AtomicU64; 3];

/// See the head of this file.
#[derive(Default)]
pub(super) struct Outcomes(Vec<KeptOutcome>);

impl Outcomes {
    /// Makes room for what comes of so many situations.
    pub(super) fn make_room(&mut self, situations: usize) {
        let entries = situations.next_power_of_two().clamp(FEWEST, MOST);
        if entries != self.0.len() {
            // The old ones go first.
            self.0 = Vec::new();
            self.0.resize_with(entries, KeptOutcome::default);
        }
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<KeptOutcome>()
    }

    #[inline]
    fn of(&self, foretold: Digest) -> &KeptOutcome {
        &self.0[foretold[1] as usize & (self.0.len() - 1)]
    }

    /// Calls for an entry.
    #[inline]
    pub(super) fn prefetch(&self, foretold: Digest) {
        prefetch((&raw const *self.of(foretold)).cast());
    }

    /// The digest of what was foretold so, if it is kept.
    #[inline]
    pub(super) fn get(&self, foretold: Digest) -> Option<Digest> {
        // Relaxed: invariant 2, and nothing else is read by what is read here.
        let [a, b, check] = self.of(foretold).each_ref().map(|word| word.load(Relaxed));
        let is_kept = (b >> 32) as u32 == foretold[2] && check == checked(foretold, a, b);
        is_kept.then_some([a as u32, (a >> 32) as u32, b as u32])
    }

    pub(super) fn put(&self, foretold: Digest, digest: Digest) {
        let a = u64::from(digest[1]) << 32 | u64::from(digest[0]);
        let b = u64::from(foretold[2]) << 32 | u64::from(digest[2]);
        let words = [a, b, checked(foretold, a, b)];
        for (entry, word) in self.of(foretold).iter().zip(words) {
            entry.store(word, Relaxed);
        }
    }
}

/// The last word of an entry. It is not 0 where all else is.
#[inline]
fn checked(foretold: Digest, a: u64, b: u64) -> u64 {
    let known = u64::from(foretold[1]) << 32 | u64::from(foretold[0]);
    !known ^ a ^ b.rotate_left(17)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_put_last() {
        let mut outcomes = Outcomes::default();
        outcomes.make_room(0);
        assert_eq!(outcomes.get([0; 3]), None);
        let foretold = |n: u32| [n * 7, n, !n];
        for n in 0..1_000 {
            outcomes.put(foretold(n), [n, n + 1, n + 2]);
            assert_eq!(outcomes.get(foretold(n)), Some([n, n + 1, n + 2]));
        }
        // Others have taken their places, or are like them in part.
        assert_eq!(outcomes.get(foretold(999 - FEWEST as u32)), None);
        for at in 0..3 {
            let mut other = foretold(999);
            other[at] ^= 1 << 31;
            assert_eq!(outcomes.get(other), None);
        }
    }

    #[test]
    fn an_entry_of_two_writers_is_none() {
        let mut outcomes = Outcomes::default();
        outcomes.make_room(0);
        let (one, other) = ([1, 2, 3], [4, 2, 3]);
        outcomes.put(one, [5, 6, 7]);
        let first = outcomes.of(one)[0].load(Relaxed);
        outcomes.put(other, [8, 9, 10]);
        outcomes.of(one)[0].store(first, Relaxed);
        assert_eq!((outcomes.get(one), outcomes.get(other)), (None, None));
    }
}
