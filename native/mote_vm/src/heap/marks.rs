//! Mark bits: one for each granule of a block, in two tables at its head, and the number of the collection that last
//! marked in it.
//!
//! Collections are numbered from 1, in order; the bits above that order say how many **young** ones have come since the last
//! **whole** one. A whole collection marks all that lives. A young one keeps what was marked since the last whole one, which is
//! **old**, and marks the rest (young.rs). A collection writes one table of a block, while allocators still look for holes in
//! the other, which has the marks of the one before.
//!
//! Invariants:
//! 1. A block's number is that of the last collection that marked in it, and says which table is that one's. The marker that
//!    is first to mark in a block writes what the other table begins with, and then sets the number: nothing, or for a young
//!    collection what is old. So a block that no collection has to visit costs none anything, and after marking, the
//!    blocks whose number is of the last whole one, or of one since, are those that hold something live.
//! 2. Between two collections no bit of the last one's table changes. The end of a collection takes back the marks of holes and
//!    blocks that were not used, and sees to those of cells that move (evacuation/), all while everything stands still.
//! 3. The number of a block that is in no heap, or new in one, is 0: nothing there is old. So the table that is idle has the marks
//!    of the collection before from when one has marked there until young.rs notes something, and those of no earlier life.
use super::block::{Block, BLOCK, GRANULE, PAYLOAD, RESERVED, TABLE};
use std::sync::atomic::{AtomicU64, Ordering};
use Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Granules of a block, and the first one that holds cells.
pub(crate) const GRANULES: usize = BLOCK / GRANULE;
pub(crate) const FIRST: usize = RESERVED / GRANULE;
/// Words of a table. The first ones would be for the tables themselves: the first of all is the block's number, the second is for
/// young.rs, and the first of the second table for vacating.rs.
pub(crate) const WORDS: usize = TABLE / 8;
const FIRST_WORD: usize = FIRST / 64;
const _: () = assert!(FIRST.is_multiple_of(64) && FIRST_WORD > 0);

/// Flags in a block's number: a thread is clearing the table; the second table is that of the number.
pub(super) const CLEARING: u64 = 1 << 63;
const SECOND: u64 = 1 << 62;
/// Bits of a number that are the collection's place in the order of all. Those above count the young ones since the last whole one.
const ORDER_BITS: u32 = 40;
const AGE_BITS: u32 = 22;

/// Returns the place of a collection in the order of all.
#[inline(always)]
pub(crate) fn order(number: u64) -> u64 {
    number & ((1 << ORDER_BITS) - 1)
}

/// Returns how many young collections have come since the last whole one, with this one.
#[inline(always)]
fn age(number: u64) -> u64 {
    number >> ORDER_BITS & ((1 << AGE_BITS) - 1)
}

/// Returns whether a collection is a young one.
#[inline(always)]
pub(crate) fn is_young(number: u64) -> bool {
    age(number) > 0
}

/// Returns the number of the collection after that one. The first is whole.
pub(crate) fn following(number: u64, young: bool) -> u64 {
    let age = match age(number) + 1 {
        age if young && number > 0 && age >> AGE_BITS == 0 => age,
        _ => 0,
    };
    (order(number) + 1) | (age << ORDER_BITS)
}

/// Returns whether what collection `seen` has met counts as live after collection `of`.
#[inline(always)]
pub(crate) fn still_counts(seen: u64, of: u64) -> bool {
    order(seen) + age(of) >= order(of)
}

/// One block's marks of one collection.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    table: *mut u64,
}

impl Marks {
    /// The marks of a block after collection `of`, or while it marks; of the one before, too, while the next one marks.
    #[inline(always)]
    pub(crate) fn of(block: Block, of: u64) -> Marks {
        // Acquire: see `prepare`.
        let number = number(block).load(Acquire);
        let is_later = order(number) > order(of);
        Marks::table(block, (number & SECOND != 0) != is_later)
    }

    /// The table of a block in which there are no marks while no collection marks.
    #[inline(always)]
    pub(super) fn idle(block: Block) -> Marks {
        Marks::table(block, number(block).load(Relaxed) & SECOND == 0)
    }

    #[inline(always)]
    fn table(block: Block, second: bool) -> Marks {
        // SAFETY: two tables lie at the head of each block.
        let table = unsafe { block.start().add(usize::from(second) * TABLE) };
        Marks {
            table: table.cast(),
        }
    }

    /// Clears all of them, where nobody else sets any.
    pub(super) fn clear(self) {
        (FIRST_WORD..WORDS).for_each(|at| self.word(at).store(0, Relaxed));
    }

    /// As `clear`, where most are clear: a page that nobody has written to is left to the system.
    fn clear_used(self) {
        (FIRST_WORD..WORDS)
            .map(|at| self.word(at))
            .filter(|word| word.load(Relaxed) != 0)
            .for_each(|word| word.store(0, Relaxed));
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

/// A word at the head of a block, beside its tables.
#[inline(always)]
pub(super) fn head(block: Block, second: bool, at: usize) -> &'static AtomicU64 {
    Marks::table(block, second).word(at)
}

#[inline(always)]
fn number(block: Block) -> &'static AtomicU64 {
    head(block, false, 0)
}

/// Returns whether collection `of` has anything live in the block.
pub(crate) fn has_any(block: Block, of: u64) -> bool {
    let number = number(block).load(Acquire);
    number != 0 && number & CLEARING == 0 && still_counts(number, of)
}

/// The collection after which the idle table of a block was cleared for what young.rs notes there.
#[inline(always)]
pub(super) fn noted_after(block: Block) -> &'static AtomicU64 {
    head(block, false, 1)
}

/// Returns whether there may be such notes in a block when collection `of` begins.
pub(super) fn has_changes(block: Block, of: u64) -> bool {
    // Relaxed: nobody has written since everything stood still.
    order(noted_after(block).load(Relaxed)) + 1 == order(of)
}

/// Returns whether nothing in a block was marked since it is in a heap.
#[inline(always)]
pub(super) fn is_new(block: Block) -> bool {
    number(block).load(Relaxed) == 0
}

/// Counts the granules of a block that are marked, and were so before: while nobody notes anything in its idle table.
pub(super) fn old(block: Block) -> usize {
    let [one, other] = [false, true].map(|second| Marks::table(block, second));
    let both = |at| one.word(at).load(Relaxed) & other.word(at).load(Relaxed);
    (FIRST_WORD..WORDS)
        .map(|at| both(at).count_ones() as usize)
        .sum()
}

/// Nothing that is in a block counts any more.
pub(super) fn forget(block: Block) {
    number(block).store(0, Relaxed);
    noted_after(block).store(0, Relaxed);
}

/// Makes one of the block's tables that of a collection, before anything is marked in it.
#[inline(always)]
pub(crate) fn prepare(block: Block, of: u64) -> Marks {
    // Acquire: a cleared table is seen cleared.
    let mut seen = number(block).load(Acquire);
    if seen & !SECOND != of {
        seen = begin(block, of);
    }
    Marks::table(block, seen & SECOND != 0)
}

/// Waits until a block is prepared by the thread that clears its table: what is old in it stays marked.
#[cold]
#[inline(never)]
fn prepared(block: Block) -> u64 {
    loop {
        // Acquire: as in `prepare`.
        let seen = number(block).load(Acquire);
        if seen & CLEARING == 0 {
            return seen;
        }
        std::hint::spin_loop();
    }
}

#[cold]
#[inline(never)]
fn begin(block: Block, of: u64) -> u64 {
    let number = number(block);
    loop {
        let seen = number.load(Acquire);
        if seen & !SECOND == of {
            return seen;
        }
        let begun = of | CLEARING | !seen & SECOND;
        let is_free = seen & CLEARING == 0;
        if is_free
            && number
                .compare_exchange(seen, begun, Acquire, Relaxed)
                .is_ok()
        {
            let marks = Marks::table(block, begun & SECOND != 0);
            match is_young(of) && seen != 0 && still_counts(seen, of) {
                true => marks.keep_old(block, of, seen),
                false => marks.clear(),
            }
            if seen == 0 {
                Marks::table(block, begun & SECOND == 0).clear_used();
            }
            // Release: invariant 1.
            number.store(begun & !CLEARING, Release);
            return begun & !CLEARING;
        }
        std::hint::spin_loop();
    }
}

impl Marks {
    /// Marks what is old, but not the actors that have become another since (young.rs).
    fn keep_old(self, block: Block, of: u64, seen: u64) {
        let old = Marks::table(block, seen & SECOND != 0);
        let changed = match has_changes(block, of) {
            true => u64::MAX,
            false => 0,
        };
        for at in FIRST_WORD..WORDS {
            let bits = old.word(at).load(Relaxed) & !(self.word(at).load(Relaxed) & changed);
            self.word(at).store(bits, Relaxed);
        }
    }
}

/// Marks a cell of `granules` granules. Returns whether it was not marked before. Only the first granule of a cell larger than
/// a block is marked.
#[inline(always)]
pub(crate) fn mark(cell: *const u8, granules: usize, of: u64) -> bool {
    let marks = prepare(Block::of(cell), of);
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

/// Returns whether the cell's first granule is marked. While a young collection marks, an old actor that has become another counts
/// as marked until somebody prepares its block.
#[inline(always)]
pub(crate) fn is_marked(cell: *const u8, of: u64) -> bool {
    let block = Block::of(cell);
    let granule = Block::granule_of(cell);
    // Acquire, both: see `prepare` and turns/marking/barrier.rs.
    let mut number = number(block).load(Acquire);
    if number & CLEARING != 0 {
        number = prepared(block);
    }
    number != 0
        && still_counts(number, of)
        && Marks::table(block, number & SECOND != 0)
            .word(granule / 64)
            .load(Acquire)
            >> (granule % 64)
            & 1
            == 1
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
        assert!(!is_marked(cells[0], 3) && has_any(block, 3) && !has_any(block, 4));
        pool.release(block);
    }

    #[test]
    fn what_is_old_is_marked_also_while_somebody_prepares_its_block() {
        let pool = BlockPool::default();
        let block = pool.acquire().unwrap();
        let cell = block.cell_at(FIRST).cast_const();
        let old = following(0, false);
        mark(cell, 1, old);
        let of = following(old, true);
        let seen = number(block).load(Relaxed);
        number(block).store(of | CLEARING | !seen & SECOND, Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                Marks::table(block, seen & SECOND == 0).keep_old(block, of, seen);
                number(block).store(of | !seen & SECOND, Release);
            });
            assert!(is_marked(cell, of));
        });
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
