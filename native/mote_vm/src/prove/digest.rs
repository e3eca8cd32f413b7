//! Digests of situations and of what is in them.
//!
//! 128 bits tell situations apart: among a billion of them, two have the same by accident with a chance of one in 10^20. Products
//! of 64 bits by 64 mix every bit of a word into every bit of the sum.
use crate::values::value::Value;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd6e8_feb8_6659_fd93;

fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// One word more.
pub(super) fn mixed(sum: u64, word: u64) -> u64 {
    folded(sum.rotate_left(29) ^ word ^ SECOND, FIRST)
}

/// The digest of a row of words.
pub(super) fn digest(words: &[Value]) -> u128 {
    let (mut a, mut b) = (FIRST ^ words.len() as u64, SECOND);
    for word in words {
        // Each half goes on by itself: a word that makes one of them 0 does not do so to the other.
        a = folded(a.rotate_left(23) ^ word.word(), FIRST).wrapping_add(b);
        b = folded(b.rotate_left(41) ^ word.word(), SECOND);
    }
    u128::from(folded(a, SECOND) ^ b) << 64 | u128::from(folded(b, FIRST) ^ a)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_bit_and_every_place_counts() {
        let row = [3u64, 0, u64::MAX, SECOND, FIRST].map(Value::from_word);
        let mut seen = std::collections::HashSet::from([digest(&row)]);
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
