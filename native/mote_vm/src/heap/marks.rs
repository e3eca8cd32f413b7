//! Mark bits: one for each granule of a block, in two tables at its head, and the number of the collection that last
//! marked in it.
//!
//! Collections are numbered from 1. Collection n writes table n & 1, while allocators still look for holes in the
//! table of the one before.
//!
//! Invariants:
//! 1. A table belongs to collection n only when the block's number is n (or was, until n + 1 began); the marker that is first
//!    to mark in a block clears the table and then sets the number. So a block that no collection has to visit costs
//!    none anything, and after marking, the blocks with that number are those that hold something live.
//! 2. Between two collections no bit of the last one's table changes. The end of a collection takes back the marks of holes and
//!    blocks that were not used, and sees to those of cells that move (evacuation/), all while everything stands still.
use super::block::{Block, BLOCK, GRANULE, PAYLOAD, RESERVED, TABLE};
use std::sync::atomic::{AtomicU64, Ordering};
use Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Granules of a block, and the first one that holds cells.
pub(crate) const GRANULES: usize = BLOCK / GRANULE;
pub(crate) const FIRST: usize = RESERVED / GRANULE;
/// Words of a table. The first ones would be for the tables themselves: the first of all is the block's number, and the first of
/// the second table is for vacating.rs.
pub(crate) const WORDS: usize = TABLE / 8;
const FIRST_WORD: usize = FIRST / 64;
const _: () = assert!(FIRST.is_multiple_of(64) && FIRST_WORD > 0);

/// Flag in a block's number: a thread is clearing the table.
const CLEARING: u64 = 1 << 63;

/// One block's marks of one collection.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    table: *mut u64,
}

impl Marks {
    /// The marks that collection number `of` has made, or is making, in a block.
    #[inline(always)]
    pub(crate) fn of(block: Block, of: u64) -> Marks {
        // SAFETY: two tables lie at the head of each block.
        let table = unsafe { block.start().add((of & 1) as usize * TABLE) };
        Marks {
            table: table.cast(),
        }
    }

    #[inline(always)]
    pub(crate) fn word(self, at: usize) -> &'static AtomicU64 {
        // SAFETY: callers pass an index of a table; the words of tables are only ever used as atomics, and blocks
        // stay mapped while there is a heap.
        unsafe { AtomicU64::from_ptr(self.table.add(at)) }
    }

    /// Sets the bits of granules `from..to`. Others may set bits of the same words.
    pub(crate) fn set(self, from: usize, to: usize) {
        each_word(from, to, |at, bits| {
            if bits == u64::MAX {
                self.word(at).store(bits, Relaxed);
            } else {
                self.word(at).fetch_or(bits, Relaxed);
            }
        });
    }

    /// Returns whether the bit of a granule is set.
    pub(crate) fn has(self, granule: usize) -> bool {
        // Relaxed: as in holes.rs, the marks of a collection that is over (invariant 2).
        self.word(granule / 64).load(Relaxed) >> (granule % 64) & 1 == 1
    }

    /// Returns whether no bit is set.
    pub(crate) fn is_empty(self) -> bool {
        (FIRST_WORD..WORDS).all(|at| self.word(at).load(Relaxed) == 0)
    }

    /// Counts them among granules `from..to`.
    pub(crate) fn count(self, from: usize, to: usize) -> usize {
        let mut count = 0;
        each_word(from, to, |at, bits| {
            count += (self.word(at).load(Relaxed) & bits).count_ones() as usize;
        });
        count
    }

    /// Sets bits as `set` does, where nobody else sets or clears any.
    pub(crate) fn set_alone(self, from: usize, to: usize) {
        each_word(from, to, |at, bits| {
            let word = self.word(at);
            word.store(word.load(Relaxed) | bits, Relaxed);
        });
    }

    /// Clears bits as `unset` does, where nobody else sets or clears any.
    pub(crate) fn unset_alone(self, from: usize, to: usize) {
        each_word(from, to, |at, bits| {
            let word = self.word(at);
            word.store(word.load(Relaxed) & !bits, Relaxed);
        });
    }

    /// Clears them.
    pub(crate) fn unset(self, from: usize, to: usize) {
        each_word(from, to, |at, bits| {
            self.word(at).fetch_and(!bits, Relaxed);
        });
    }
}

fn each_word(from: usize, to: usize, mut act: impl FnMut(usize, u64)) {
    let mut at = from;
    while at < to {
        let word = at / 64;
        let end = to.min((word + 1) * 64);
        let upper = if end.is_multiple_of(64) {
            u64::MAX
        } else {
            (1 << (end % 64)) - 1
        };
        act(word, upper & (u64::MAX << (at % 64)));
        at = end;
    }
}

fn number(block: Block) -> &'static AtomicU64 {
    Marks::of(block, 0).word(0)
}

/// Returns whether collection `of` has marked anything in the block.
pub(crate) fn has_any(block: Block, of: u64) -> bool {
    number(block).load(Acquire) == of
}

/// Makes the block's table that of a collection, before anything is marked in it.
#[inline(always)]
pub(crate) fn prepare(block: Block, of: u64) {
    // Acquire: a cleared table is seen cleared.
    if number(block).load(Acquire) != of {
        clear(block, of);
    }
}

#[cold]
#[inline(never)]
fn clear(block: Block, of: u64) {
    let number = number(block);
    let seen = number.load(Acquire);
    let mine = seen != of
        && seen & CLEARING == 0
        && number
            .compare_exchange(seen, of | CLEARING, Acquire, Relaxed)
            .is_ok();
    if mine {
        let marks = Marks::of(block, of);
        (FIRST_WORD..WORDS).for_each(|at| marks.word(at).store(0, Relaxed));
        // Release: invariant 1.
        number.store(of, Release);
    }
    while number.load(Acquire) != of {
        std::hint::spin_loop();
    }
}

/// Marks a cell of `granules` granules. Returns whether it was not marked before. Only the first granule of a cell larger than
/// a block is marked.
#[inline(always)]
pub(crate) fn mark(cell: *const u8, granules: usize, of: u64) -> bool {
    let block = Block::of(cell);
    prepare(block, of);
    let marks = Marks::of(block, of);
    let first = Block::granule_of(cell);
    let bit = 1u64 << (first % 64);
    // AcqRel: for actors, see turns/marking/barrier.rs.
    if marks.word(first / 64).fetch_or(bit, AcqRel) & bit != 0 {
        return false;
    }
    if granules > 1 && granules * GRANULE <= PAYLOAD {
        marks.set(first + 1, first + granules);
    }
    true
}

/// Returns whether the cell's first granule is marked.
#[inline(always)]
pub(crate) fn is_marked(cell: *const u8, of: u64) -> bool {
    let block = Block::of(cell);
    let granule = Block::granule_of(cell);
    // Acquire, both: see `prepare` and turns/marking/barrier.rs.
    has_any(block, of)
        && Marks::of(block, of).word(granule / 64).load(Acquire) >> (granule % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::super::block::BlockPool;
    use super::*;

    #[test]
    fn a_table_is_cleared_by_the_first_who_marks_in_it() {
        let pool = BlockPool::default();
        let block = pool.acquire().unwrap();
        let cells = [0, 1, 100].map(|n| block.cell_at(FIRST + n).cast_const());
        assert!(!has_any(block, 1) && !is_marked(cells[0], 1));
        assert!(mark(cells[0], 1, 1) && !mark(cells[0], 1, 1));
        assert!(mark(cells[2], 3, 2));
        // The table before stays as it was, for allocators.
        assert_eq!(Marks::of(block, 1).word(FIRST_WORD).load(Relaxed), 1);
        assert!(is_marked(cells[2], 2) && !is_marked(cells[0], 2));
        assert!(mark(cells[1], 1, 3));
        assert!(!is_marked(cells[0], 3) && has_any(block, 3) && !has_any(block, 2));
        pool.release(block);
    }

    #[test]
    fn ranges_are_set_and_unset_exactly() {
        let pool = BlockPool::default();
        let block = pool.acquire().unwrap();
        prepare(block, 1);
        let marks = Marks::of(block, 1);
        let set = || -> Vec<usize> {
            let is = |g: &usize| marks.word(g / 64).load(Relaxed) >> (g % 64) & 1 == 1;
            (FIRST..GRANULES).filter(is).collect()
        };
        for (from, to) in [(3, 5), (60, 64), (64, 128), (10, 300), (200, 201)] {
            let (from, to) = (FIRST + from, FIRST + to);
            marks.set(from, to);
            assert_eq!(set(), (from..to).collect::<Vec<_>>());
            marks.unset(from, to);
            assert!(set().is_empty());
        }
        pool.release(block);
    }
}
