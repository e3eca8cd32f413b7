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

/// Of a row of words, as many as it has.
fn sums(count: usize, words: impl Iterator<Item = u64>) -> (u64, u64) {
    let (mut a, mut b) = (FIRST ^ count as u64, SECOND);
    for word in words {
        // Each half goes on by itself: a word that makes one of them 0 does not do so to the other.
        a = folded(a.rotate_left(23) ^ word, FIRST).wrapping_add(b);
        b = folded(b.rotate_left(41) ^ word, SECOND);
    }
    (folded(a, SECOND) ^ b, folded(b, FIRST) ^ a)
}

/// The digest of a row of words.
pub(super) fn digest(words: &[Value]) -> u128 {
    let (a, b) = sums(words.len(), words.iter().map(|word| word.word()));
    u128::from(a) << 64 | u128::from(b)
}

/// The digest of a row of bytes.
pub(super) fn digest_of_bytes(bytes: &[u8]) -> Digest {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    let (a, b) = sums(bytes.len(), words.map(|word| u64::from_ne_bytes(*word)));
    [a as u32, (a >> 32) as u32, b as u32]
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

    #[test]
    fn also_of_bytes() {
        let row: Vec<u8> = (0..21).map(|n| n * 11).collect();
        let mut seen = HashSet::from([digest_of_bytes(&row)]);
        for at in 0..row.len() {
            for bit in 0..8 {
                let mut other = row.clone();
                other[at] ^= 1 << bit;
                assert!(seen.insert(digest_of_bytes(&other)));
            }
            assert!(seen.insert(digest_of_bytes(&row[..at])));
        }
        // A zero at the end is one more.
        assert!(seen.insert(digest_of_bytes(&[&row[..], &[0]].concat())));
    }
}
