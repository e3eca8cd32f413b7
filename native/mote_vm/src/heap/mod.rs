//! The heap: a bump allocator per thread over blocks of the machine's pool, with a space for cells, one for wide cells that are not
//! to skip holes, and one for actors (space.rs).
//!
//! Cells (all in granules of 16 bytes):
//!
//! ```text
//! actor     header, state                              see crate::values::actor
//! cons      head, tail
//! captures  value …                                    no header: the behaviour knows how many
//! boxed     header word, then by kind                  see cell.rs
//! ```
//!
//! Invariants:
//! 1. What lies between a [`HeapPosition`] and the allocator's position was made by the running turn; an abort forgets
//!    all of it, which is why nothing committed may point there.
//! 2. Foreign cells are kept and charged as foreigns.rs says.
//! 3. A cell is completely written before its `Value` is handed out.
//! 4. Between two collections mark bits do not change. Extents of a space up to `swept` are filled hole by hole in the order of
//!    the cursor, the others are filled once: so no granule is given twice between two collections.
//! 5. While a collection marks, each room that the allocator fills is marked in advance, as a whole, when the allocator
//!    comes to it. So everything made meanwhile is live for the collection, and no allocation has to take care of it.
mod appending;
mod bitstrings;
pub(crate) mod block;
mod buffers;
pub(crate) mod cell;
pub(crate) mod chunks;
pub(crate) mod evacuation;
mod foreigns;
pub(crate) mod free_pages;
pub(crate) mod holes;
pub(crate) mod key_positions;
pub(crate) mod make;
pub(crate) mod marks;
pub mod pace;
mod refill;
pub(crate) mod reserve;
pub(crate) mod residents;
#[cfg(all(test, not(loom)))]
mod savepoints;
pub(crate) mod since;
mod space;
pub(crate) mod sweep;
mod temporary;
#[cfg(all(test, not(loom)))]
mod tests;
pub(crate) mod vacating;
pub(crate) mod young;

use crate::base::work::Work;
use appending::Appending;
use block::{BlockPool, GRANULE};
pub(crate) use foreigns::ForeignCell;
use foreigns::Foreigns;
use key_positions::KeyPositions;
use space::{Space, SpacePosition, ACTORS, CELLS};
use std::ptr::NonNull;
use std::sync::Arc;

/// Slices of up to this many bytes are copied: a cell of them is no larger than one of a slice.
pub const COPIED_BYTES: usize = 24;

/// Up to this many bytes beside the heap are not counted: that would take longer than it is worth, and each thread has them once.
const SLIGHT: usize = 4096;

/// Runs of a single free granule are left alone by cells: switching to them costs more than they hold.
const SHORTEST_FOR_CELLS: usize = 2;

/// Cells of at least this many granules go to a space of their own rather than skip the holes that they do not fit into.
const LEAST_WIDE: usize = 16;

/// One thread's allocator.
pub(crate) struct Heap {
    spaces: [Space; 3],
    /// Bytes that it was given, and that the pace has not been told of.
    untold: usize,
    /// The block whose head is looked at next while a collection marks (sweep.rs).
    looked: usize,
    /// The collection whose marks the holes are between, and the one that is marking, or 0.
    last: u64,
    marking: u64,
    /// True if it matters which actors become others: one marks, or the next one may be a young one.
    watches: bool,
    large: Vec<NonNull<u8>>,
    foreigns: Foreigns,
    appending: Appending,
    /// See temporary.rs.
    spare: Vec<Vec<u8>>,
    pool: Arc<BlockPool>,
    exhausted: bool,
    /// Number of times that more has changed than where the next cell, actor and foreign value go.
    moves: u64,
    /// True while what is made was accepted before: it gets its memory even beyond the quota.
    insists: bool,
    /// Bytes that its turns may take beyond the quota, since what lives and waits leaves that much (threads/starved.rs).
    overdraft: usize,
    /// True if a turn would be given up without that.
    is_last: bool,
    /// Elements that primitives have walked over since the last time that a turn paid for it.
    pub(crate) work: Work,
    pub(crate) positions: KeyPositions,
    /// Number of allocations that succeed before one is refused.
    #[cfg(test)]
    pub(crate) refused_after: Option<usize>,
}

// SAFETY: a heap is used by one thread at a time; the raw pointers are its own blocks' (block.rs, invariant 1).
unsafe impl Send for Heap {}

/// The allocator's position when a turn began.
#[derive(Clone, Copy)]
pub(crate) struct HeapPosition {
    spaces: [SpacePosition; 3],
    large: usize,
    foreigns: usize,
    moves: u64,
}

impl Heap {
    /// Offsets of the next cell's address and of the end of the room for cells, for native code.
    pub(crate) const NEXT: usize = Heap::offset_of(CELLS) + Space::NEXT;
    /// See `NEXT`.
    pub(crate) const END: usize = Heap::offset_of(CELLS) + Space::END;
    /// Like `NEXT`, for actors.
    pub(crate) const NEXT_ACTOR: usize = Heap::offset_of(ACTORS) + Space::NEXT;
    /// Like `END`, for actors.
    pub(crate) const END_OF_ACTORS: usize = Heap::offset_of(ACTORS) + Space::END;

    const fn offset_of(space: usize) -> usize {
        std::mem::offset_of!(Heap, spaces) + space * std::mem::size_of::<Space>()
    }

    pub(crate) fn new(pool: Arc<BlockPool>) -> Heap {
        let mut work = Work::free();
        work.lender = Some(pool.clone());
        Heap {
            spaces: [SHORTEST_FOR_CELLS, 1, LEAST_WIDE].map(Space::new),
            untold: 0,
            looked: 0,
            last: pool.last(),
            marking: pool.marking(),
            watches: pool.watches(),
            large: Vec::new(),
            foreigns: Foreigns::default(),
            appending: Appending::default(),
            spare: Vec::new(),
            pool,
            exhausted: false,
            moves: 0,
            insists: false,
            overdraft: 0,
            is_last: false,
            work,
            positions: KeyPositions::new(),
            #[cfg(test)]
            refused_after: None,
        }
    }

    /// Returns whether a test has this allocation refused.
    #[inline(always)]
    fn refuses(&mut self) -> bool {
        #[cfg(test)]
        if let Some(left) = &mut self.refused_after {
            let refuses = *left == 0;
            *left = left.saturating_sub(1);
            if refuses {
                self.refused_after = None;
                self.exhausted = true;
            }
            return refuses;
        }
        false
    }

    /// Runs `make`, which makes what was accepted before, and so cannot be refused memory.
    pub(crate) fn insist<T>(&mut self, make: impl FnOnce(&mut Heap) -> T) -> T {
        self.insists = true;
        let made = make(self);
        self.insists = false;
        made
    }

    /// The position to which [`Heap::rewind`] returns.
    #[inline(always)]
    pub(crate) fn position(&self) -> HeapPosition {
        HeapPosition {
            spaces: self.spaces.each_ref().map(Space::position),
            large: self.large.len(),
            foreigns: self.foreigns.cells.len(),
            moves: self.moves,
        }
    }

    /// Moves a position on to the present one.
    #[inline(always)]
    pub(crate) fn advance(&mut self, position: &mut HeapPosition) {
        if self.moves == position.moves {
            position.foreigns = self.foreigns.cells.len();
            for space in [CELLS, ACTORS] {
                position.spaces[space].room.next = self.spaces[space].room.next;
            }
        } else {
            self.advance_far(position);
        }
    }

    /// Not in line: it would take the registers of the loop over turns.
    #[cold]
    #[inline(never)]
    fn advance_far(&mut self, position: &mut HeapPosition) {
        self.appending.clear();
        self.end_of_spare();
        *position = self.position();
    }

    /// Forgets everything allocated since `position`. No value made since then may be used again, and what it took makes no
    /// collection due any more.
    #[inline]
    pub(crate) fn rewind(&mut self, position: &HeapPosition) {
        // SAFETY: the cells are forgotten with them.
        unsafe { self.foreigns.truncate(position.foreigns, &self.pool) };
        self.appending.clear();
        self.exhausted = false;
        if self.moves == position.moves {
            for space in [CELLS, ACTORS] {
                self.spaces[space].room.next = position.spaces[space].room.next;
            }
        } else {
            self.rewind_far(position);
        }
    }

    #[inline(never)]
    fn rewind_far(&mut self, position: &HeapPosition) {
        self.end_of_spare();
        if self.marking != 0 {
            self.spaces[ACTORS].bury_since(&position.spaces[ACTORS], self.last);
        }
        let spaces = self.spaces.iter_mut().zip(&position.spaces);
        let freed = spaces
            .map(|(space, to)| space.rewind(to, &self.pool))
            .sum::<usize>();
        // What the pace was not told of it cannot take back.
        let untold = self.untold.min(freed);
        self.untold -= untold;
        self.pool.pace.freed(freed - untold);
        for large in self.large.drain(position.large..) {
            self.pool.release_large(large);
        }
        self.moves += 1;
    }

    /// Bytes that it has been given and not used yet.
    pub(crate) fn room(&self) -> usize {
        self.spaces.iter().map(|space| space.room.bytes()).sum()
    }

    /// Returns whether an allocation failed since the last rewind, and was not forgiven.
    #[inline(always)]
    pub(crate) fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// Forgets that an allocation failed: nothing depends on what was not made.
    pub(crate) fn forgive(&mut self) {
        self.exhausted = false;
    }

    /// Room for a cell of `granules`, or `None` when the memory is exhausted.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, granules: usize) -> Option<NonNull<u64>> {
        let bytes = granules * GRANULE;
        if self.refuses() {
            return None;
        }
        match self.spaces[CELLS].room.take(bytes) {
            Some(cell) => Some(cell),
            None => self.allocate_slowly(bytes),
        }
    }

    /// Returns room for `count` consecutive actors, or `None` when the memory is exhausted.
    #[inline(always)]
    pub(crate) fn allocate_actors(&mut self, count: usize) -> Option<NonNull<u64>> {
        let bytes = count * GRANULE;
        if self.refuses() {
            return None;
        }
        match self.spaces[ACTORS].room.take(bytes) {
            Some(first) => Some(first),
            None => self.allocate_actors_slowly(bytes),
        }
    }

    /// Returns whether there is room for `bytes` more. If not, the memory counts as exhausted.
    pub(crate) fn fits(&mut self, bytes: usize) -> bool {
        let fits = !self.refuses() && (self.pool.fits(bytes) || self.can_overdraw(bytes));
        self.exhausted |= !fits;
        fits
    }

    /// Runs `run`, which uses `bytes` bytes beside the heap, and takes them from the quota meanwhile, if they are more than
    /// [`SLIGHT`]. Returns `None` if there is no room for them; the memory counts as exhausted then.
    pub(crate) fn beside<T>(
        &mut self,
        bytes: usize,
        run: impl FnOnce(&mut Heap) -> Option<T>,
    ) -> Option<T> {
        let counts = bytes > SLIGHT;
        if self.refuses() || (counts && !self.lends(bytes)) {
            self.exhausted = true;
            return None;
        }
        let answer = run(self);
        if counts {
            self.pool.quota.give(bytes);
        }
        answer
    }

    /// Takes room for bytes that are used beside the heap for a while. Returns whether there was any.
    fn lends(&mut self, bytes: usize) -> bool {
        if self.pool.lend(bytes) {
            return true;
        }
        let overdraws = self.overdraws(bytes);
        if overdraws {
            self.pool.quota.take_anyway(bytes);
        }
        overdraws
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: the cells stay in the pool's blocks, but nothing runs any more that could read them.
        unsafe { self.foreigns.truncate(0, &self.pool) };
        self.foreigns.return_ahead(&self.pool);
    }
}
