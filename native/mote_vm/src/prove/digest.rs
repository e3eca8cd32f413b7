//! Digests of situations and of what is in them.
//!
//! 96 bits tell situations apart: among a billion of them, two have the same by accident with a chance of one in 10^11. Products
//! of 64 bits by 64 mix every bit of a word into every bit of the sum.
use crate::values::value::Value;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd6e8_feb8_6659_fd93;

/// The digest of a situation.
pub(super) type Digest = [u32; 3];

#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// One word more.
#[inline]
pub(super) fn mixed(sum: u64, word: u64) -> u64 {
    folded(sum.rotate_left(29) ^ word ^ SECOND, FIRST)
}

/// Returns two sums over a row of `count` words.
fn sums(count: usize, words: impl Iterator<Item = u64>) -> (u64, u64) {
    let (mut a, mut b) = (FIRST ^ count as u64, SECOND);
    for word in words {
        // Each half goes on by itself: a word that makes one of them 0 does not do so to the other.
        a = folded(a.rotate_left(23) ^ word, FIRST).wrapping_add(b);
        b = folded(b.rotate_left(41) ^ word, SECOND);
    }
    (folded(a, SECOND) ^ b, folded(b, FIRST) ^ a)
}

/// The sum of the digests of what is in a situation: it has no order, and what changes is taken out of it and put in.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct DigestSum(u64, u64);

impl DigestSum {
    /// The digest of one thing: of what it is, and of those that it names, two of them in a word. What follows from the first word says
    /// how many there are of both.
    #[inline]
    pub(super) fn of(what: &[u64], mut names: impl Iterator<Item = u32>) -> DigestSum {
        let (mut a, mut b) = (FIRST, SECOND);
        let mut mix = |word: u64| {
            // Each half goes on by itself, as in `sums`.
            a = folded(a.rotate_left(23) ^ word, FIRST).wrapping_add(b);
            b = folded(b.rotate_left(41) ^ word, SECOND);
        };
        what.iter().for_each(|word| mix(*word));
        while let Some(name) = names.next() {
            let next = names.next().map_or(0, |next| u64::from(next) + 1);
            mix(u64::from(name) << 32 ^ next);
        }
        DigestSum(a, b)
    }

    #[inline]
    pub(super) fn add(&mut self, other: DigestSum) {
        self.0 = self.0.wrapping_add(other.0);
        self.1 = self.1.wrapping_add(other.1);
    }

    #[inline]
    pub(super) fn take(&mut self, other: DigestSum) {
        self.0 = self.0.wrapping_sub(other.0);
        self.1 = self.1.wrapping_sub(other.1);
    }

    pub(super) fn words(self) -> [u64; 2] {
        [self.0, self.1]
    }

    pub(super) fn digest(self) -> Digest {
        [self.0 as u32, (self.0 >> 32) as u32, self.1 as u32]
    }
}

/// The digest of a row of words.
pub(super) fn digest(words: &[Value]) -> u128 {
    let (a, b) = sums(words.len(), words.iter().map(|word| word.word()));
    u128::from(a) << 64 | u128::from(b)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_bit_and_every_place_counts() {
        let row = [3u64, 0, u64::MAX, SECOND, FIRST].map(Value::from_word);
        let mut seen = HashSet::from([digest(&row)]);
        for at in 0..row.len() {
            for bit in 0..64 {
                let mut other = row;
                other[at] = Value::from_word(row[at].word() ^ 1 << bit);
                assert!(seen.insert(digest(&other)));
            }
            assert!(seen.insert(digest(&row[..at])));
        }
        for at in 1..row.len() {
            let mut other = row;
            other.swap(at - 1, at);
            assert!(seen.insert(digest(&other)));
        }
    }
}
