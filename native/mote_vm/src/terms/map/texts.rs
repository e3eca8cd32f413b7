//! Finding a short binary among the keys of a node that are short binaries, too: names, and whatever stands for one.
//!
//! The order is that of [`key_order`](crate::terms::prim::compare::key_order). What makes this quicker is that eight bytes are
//! compared at once, without a call, and that keys which may be compared next are on their way from memory before that is known.
use super::Node;
use crate::base::work::Work;
use crate::platform::prefetch::prefetch;
use crate::terms::prim::compare::key_order;
use crate::values::value::Value;
use std::cmp::Ordering;

/// Bytes that are compared at once.
const WORD: usize = size_of::<u64>();

impl Node<'_> {
    /// Finds what `last_in_order` finds. Returns `None` for a key that is no binary whose bytes are in its cell.
    #[inline(always)]
    pub(super) fn last_text_up_to(
        self,
        key: Value,
        work: &mut Work,
    ) -> Option<(usize, Option<Ordering>)> {
        let bytes = key.short_bytes()?;
        self.fetch_middles();
        Some(self.last_by(work, |other, work| match other.short_bytes() {
            Some(other) => by_words(other, bytes),
            None => key_order(other, key, work),
        }))
    }

    /// Fetches the keys that the first three comparisons may need.
    #[inline(always)]
    fn fetch_middles(self) {
        let eighth = self.keys.len() / 8;
        if eighth == 0 {
            return;
        }
        for at in (1..8).map(|i| i * eighth) {
            prefetch(self.keys[at].word() as *const u8);
        }
    }
}

/// The order of two binaries.
#[inline(always)]
fn by_words(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    let mut at = 0;
    while at + WORD <= common {
        let order = word(a, at).cmp(&word(b, at));
        if order.is_ne() {
            return order;
        }
        at += WORD;
    }
    if common >= WORD {
        // Bytes that are equal may be compared once more.
        let last = common - WORD;
        return (word(a, last).cmp(&word(b, last))).then(a.len().cmp(&b.len()));
    }
    let mut pairs = a.iter().zip(b);
    let differing = pairs.find(|(a, b)| a != b);
    differing.map_or(a.len().cmp(&b.len()), |(a, b)| a.cmp(b))
}

/// Eight bytes as a number that is in their order.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes[at..].first_chunk();
    u64::from_be_bytes(*word.unwrap_or(&[0; WORD]))
}
