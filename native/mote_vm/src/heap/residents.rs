//! The actors that the last collection has found alive, in the order of their addresses, some at a time.
//!
//! Actors never move, and lie in blocks of their own. So a walk through the marks of these blocks comes to each actor once that is alive
//! all the time, whatever is made and freed meanwhile, and needs no list of them.
//!
//! Invariants:
//! 1. A marked granule of an extent of actors holds an actor, or is **buried**: what was marked in advance and has not become an actor, or
//!    was one of a turn that was undone, is overwritten when the allocator leaves it (refill.rs, [`Heap::rewind`]), or loses its mark at
//!    the end of the collection (sweep.rs).
//! 2. Marks are those of a collection that is over, and whoever reads them keeps the next one from ending meanwhile: it is a thread between
//!    two turns, or stands in for one. So the extents are still the same, and what is marked is still there.
use super::block::{Block, BLOCK, GRANULE};
use super::marks::{Marks, FIRST, WORDS};
use super::space::Extent;
use super::Heap;
use crate::base::sync::Relaxed;
use crate::values::actor::{Actor, Header};
use crate::values::value::Value;
use std::ops::Range;

/// Words of marks that are walked through at once, and granules.
const SLICE_WORDS: usize = 8;
pub(crate) const SLICE_GRANULES: usize = SLICE_WORDS * 64;

/// Puts something in the place of an actor that is none.
pub(super) fn bury(room: *mut u8, at: usize) {
    let cell = room.wrapping_add(at * GRANULE).cast::<Actor>();
    // SAFETY: a free granule of a room, which has the size and alignment of an actor.
    unsafe { cell.write(Actor::new(Header::BURIED, Value::NONE)) };
}

/// The extents that actors were in when a collection ended.
#[derive(Default)]
pub(crate) struct Residents {
    number: u64,
    /// The extents, in the order of their addresses.
    extents: Vec<Extent>,
}

// SAFETY: it only says where blocks are; who may read there says invariant 2.
unsafe impl Sync for Residents {}

/// Some granules next to one another, with a bit for each that is still to be looked at.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ResidentSlice {
    /// The address of the first.
    pub start: u64,
    /// The bits.
    pub bits: [u64; SLICE_WORDS],
}

impl Residents {
    /// Collection `number` has ended in these heaps.
    pub(crate) fn of<'h>(number: u64, heaps: impl Iterator<Item = &'h Heap>) -> Residents {
        let mut extents: Vec<Extent> = heaps.flat_map(Heap::actor_extents).copied().collect();
        extents.sort_unstable_by_key(|extent| extent.block.start());
        Residents { number, extents }
    }

    /// The first actors at or behind an address.
    pub(crate) fn slice_from(&self, address: u64) -> Option<ResidentSlice> {
        let within = block_of(address);
        let first = self.extents.partition_point(|e| start_of(e) < within);
        self.extents[first..].iter().find_map(|extent| {
            let from = match start_of(extent) == within {
                true => word_of(address),
                false => FIRST / 64,
            };
            let at = (from..WORDS).find(|at| self.word(extent, *at) != 0)?;
            let mut slice = ResidentSlice {
                start: start_of(extent) + (at * 64 * GRANULE) as u64,
                bits: [0; SLICE_WORDS],
            };
            for (bits, at) in slice.bits.iter_mut().zip(at..WORDS) {
                *bits = self.word(extent, at);
            }
            Some(slice)
        })
    }

    /// Leaves what the last collection has found alive, too. Nothing is left of what never was a slice.
    pub(crate) fn narrow(&self, slice: &mut ResidentSlice) {
        let (block, first) = (block_of(slice.start), word_of(slice.start));
        let extent = self.extents.binary_search_by_key(&block, start_of).ok();
        for (at, bits) in slice.bits.iter_mut().enumerate() {
            let is_within = first >= FIRST / 64 && first + at < WORDS;
            *bits &= match extent.filter(|_| is_within) {
                Some(extent) => self.word(&self.extents[extent], first + at),
                None => 0,
            };
        }
    }

    /// The block of the extent at a place in their order, and the words of marks that it has.
    pub(super) fn extent(&self, at: usize) -> Option<(Block, Range<usize>)> {
        let extent = self.extents.get(at)?;
        let (first, end) = extent.bounds();
        Some((extent.block, first / 64..end.div_ceil(64)))
    }

    /// A word of the marks of the extent at a place in their order.
    pub(super) fn word_of(&self, at: usize, word: usize) -> u64 {
        self.word(&self.extents[at], word)
    }

    /// A word of the marks of an extent.
    fn word(&self, extent: &Extent, at: usize) -> u64 {
        let (first, end) = extent.bounds();
        // Relaxed: the marks of a collection that is over.
        let marked = Marks::of(extent.block, self.number).word(at).load(Relaxed);
        marked & below(end, at) & !below(first, at)
    }
}

/// The bits of the granules before that one in a word.
fn below(granule: usize, word: usize) -> u64 {
    match granule.saturating_sub(word * 64) {
        some @ 0..64 => (1 << some) - 1,
        _ => u64::MAX,
    }
}

fn start_of(extent: &Extent) -> u64 {
    extent.block.start().addr() as u64
}

fn block_of(address: u64) -> u64 {
    address & !(BLOCK as u64 - 1)
}

fn word_of(address: u64) -> usize {
    (address - block_of(address)) as usize / GRANULE / 64
}

impl ResidentSlice {
    /// Returns whether nothing is left to be looked at.
    pub(crate) fn is_empty(&self) -> bool {
        self.bits == [0; SLICE_WORDS]
    }

    /// The address behind it.
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add((SLICE_GRANULES * GRANULE) as u64)
    }

    /// The actors that are still to be looked at, with their places.
    pub(crate) fn actors(&self) -> impl Iterator<Item = (usize, *const Actor)> {
        // What was never a slice may begin anywhere.
        let start = block_of(self.start) + (word_of(self.start) * 64 * GRANULE) as u64;
        let bits = self.bits;
        bits.into_iter().enumerate().flat_map(move |(word, bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let at = word * 64 + left.trailing_zeros() as usize;
                left &= left.checked_sub(1)?;
                Some((at, (start + (at * GRANULE) as u64) as *const Actor))
            })
        })
    }

    /// Notes that a place was looked at.
    pub(crate) fn is_seen(&mut self, at: usize) {
        self.bits[at / 64] &= !(1 << (at % 64));
    }
}
