//! A space: blocks for things of one kind, and the room in them that is being filled.
//!
//! A heap has one for cells, one for wide cells that do not fit into the holes of the first (refill.rs), and one for actors. Actors
//! are all of one size, and pointers to them are addresses that others keep, so they stay where they are: in blocks of their own
//! each place is used again by itself, and no actor keeps a block from which all cells have gone.
//!
//! Invariants:
//! 1. An extent is of one space. Only the first block of a heap has extents of both spaces, so that a small machine takes one
//!    block for each thread; any other extent is a whole block.
//! 2. Whoever lets go of the extent that a block begins with gives the block back. Of a block with two extents, both are let go
//!    of at the same time.
use super::block::{Block, BlockPool, GRANULE};
use super::holes::{next_hole, Cursor};
use super::marks::{Marks, FIRST, GRANULES};
use super::residents;
use std::ops::Range;
use std::ptr::NonNull;

/// Byte that overwrites free granules under stress: no address of ours, no number that looks right.
const SPOILT: u8 = 0xDB;
/// The first granule of actors in a block that both spaces share: they have a quarter.
const SHARED_FROM: usize = GRANULES - (GRANULES - FIRST) / 4;

/// The spaces of a heap: for cells, for actors, and for wide cells. The first two are what nearly every turn looks at: they lie
/// beside each other.
pub(super) const CELLS: usize = 0;
pub(super) const ACTORS: usize = 1;
pub(super) const WIDE: usize = 2;

/// Memory that is filled from the front.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) next: *mut u8,
    end: *mut u8,
}

impl Stretch {
    /// No memory at all.
    pub(super) const NONE: Stretch = Stretch {
        next: std::ptr::null_mut(),
        end: std::ptr::null_mut(),
    };

    pub(super) fn bytes(&self) -> usize {
        self.end as usize - self.next as usize
    }

    /// Takes the first bytes, if there are enough.
    #[inline(always)]
    pub(super) fn take(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        if self.bytes() < bytes {
            return None;
        }
        let cell = self.next;
        // SAFETY: checked just above that `bytes` remain.
        self.next = unsafe { cell.add(bytes) };
        // SAFETY: `next` is never null while bytes remain.
        Some(unsafe { NonNull::new_unchecked(cell.cast()) })
    }

    /// Buries all of it, so that nobody takes what is there for actors.
    pub(super) fn bury(&self) {
        (0..self.bytes() / GRANULE).for_each(|at| residents::bury(self.next, at));
    }

    fn contains(&self, cell: *const u8) -> bool {
        (self.next.addr()..self.end.addr()).contains(&cell.addr())
    }

    /// The block that it is in, and its granules, if anything is left of it.
    pub(super) fn left(&self) -> Option<(Block, usize, usize)> {
        let granules = self.bytes() / GRANULE;
        let first = Block::granule_of(self.next);
        (granules > 0).then(|| (Block::of(self.next), first, first + granules))
    }
}

/// The part of a block that a space has.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(super) block: Block,
    first: u32,
    end: u32,
}

impl Extent {
    /// Granules `first..end`.
    fn new(block: Block, first: usize, end: usize) -> Extent {
        Extent {
            block,
            first: first as u32,
            end: end as u32,
        }
    }

    /// All of a block.
    pub(super) fn whole(block: Block) -> Extent {
        Extent::new(block, FIRST, GRANULES)
    }

    /// A block for both spaces: what cells have of it, and what actors have.
    pub(super) fn shared(block: Block) -> (Extent, Extent) {
        let cells = Extent::new(block, FIRST, SHARED_FROM);
        (cells, Extent::new(block, SHARED_FROM, GRANULES))
    }

    pub(super) fn granules(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// Its first granule, and the one behind its last.
    pub(super) fn bounds(&self) -> (usize, usize) {
        (self.first as usize, self.end as usize)
    }

    /// Returns whether the extent is all of a block.
    pub(super) fn is_whole(&self) -> bool {
        self.bounds() == (FIRST, GRANULES)
    }

    fn contains(&self, cell: *const u8) -> bool {
        let granules = self.first as usize..self.end as usize;
        self.block == Block::of(cell) && granules.contains(&Block::granule_of(cell))
    }

    /// All of it, to be filled.
    pub(super) fn room(&self) -> Stretch {
        self.room_of(self.first as usize, self.end as usize)
    }

    fn room_of(&self, first: usize, end: usize) -> Stretch {
        Stretch {
            next: self.block.cell_at(first),
            end: self.block.cell_at(end),
        }
    }

    /// The next hole of at least `wanted` granules from a granule on, or the first `most` of it, and the granule behind that.
    fn hole(&self, from: usize, wanted: usize, most: usize, last: u64) -> Option<(Stretch, usize)> {
        let within = from.max(self.first as usize)..self.end as usize;
        let (start, end) = next_hole(Marks::of(self.block, last), within, wanted, most)?;
        Some((self.room_of(start, end), end))
    }

    /// Overwrites what is not marked, so that a reader of freed memory is found out.
    pub(super) fn spoil(&self, last: u64) {
        let mut from = 0;
        while let Some((hole, end)) = self.hole(from, 1, usize::MAX, last) {
            // SAFETY: unmarked granules hold nothing that can be reached.
            unsafe { std::ptr::write_bytes(hole.next, SPOILT, hole.bytes()) };
            from = end;
        }
    }

    /// Lets go of it (invariant 2).
    pub(super) fn let_go(self, pool: &BlockPool) {
        if self.first as usize == FIRST {
            pool.release(self.block);
        }
    }
}

/// The blocks for things of one kind.
pub(super) struct Space {
    /// The room that is being filled: a hole, or an extent.
    pub(super) room: Stretch,
    pub(super) extents: Vec<Extent>,
    /// Number of extents that were there at the last collection, and the place in them from which the next hole is looked for.
    swept: usize,
    cursor: Cursor,
    /// The shortest holes that are filled.
    shortest: usize,
    /// Bytes of holes that were filled so far.
    pub(super) filled: usize,
}

/// The state of a space when a turn began.
#[derive(Clone, Copy)]
pub(super) struct SpacePosition {
    pub(super) room: Stretch,
    extents: usize,
    cursor: Cursor,
    filled: usize,
}

impl Space {
    /// Offsets of the position in the room and of its end, for native code.
    pub(super) const NEXT: usize =
        std::mem::offset_of!(Space, room) + std::mem::offset_of!(Stretch, next);
    /// See `NEXT`.
    pub(super) const END: usize =
        std::mem::offset_of!(Space, room) + std::mem::offset_of!(Stretch, end);

    /// Creates an empty space, in which holes of at least `shortest` granules are filled.
    pub(super) fn new(shortest: usize) -> Space {
        Space {
            room: Stretch::NONE,
            extents: Vec::new(),
            swept: 0,
            cursor: Cursor::default(),
            shortest,
            filled: 0,
        }
    }

    #[inline(always)]
    pub(super) fn position(&self) -> SpacePosition {
        SpacePosition {
            room: self.room,
            extents: self.extents.len(),
            cursor: self.cursor,
            filled: self.filled,
        }
    }

    /// Buries what was made since a position in holes that were taken since: see residents.rs.
    pub(super) fn bury_since(&self, then: &SpacePosition, last: u64) {
        self.holes(then.cursor, self.shortest, last)
            .take_while(|(_, behind)| *behind <= self.cursor)
            .for_each(|(hole, _)| hole.bury());
    }

    /// The room that nothing is in, as far as it comes in stretches of at least `wanted` granules.
    pub(super) fn free(&self, wanted: usize, last: u64) -> impl Iterator<Item = Stretch> + '_ {
        let holes = self.holes(self.cursor, wanted, last).map(|(hole, _)| hole);
        std::iter::once(self.room).chain(holes)
    }

    /// The holes from a place on, each with the place behind it.
    fn holes(
        &self,
        mut at: Cursor,
        wanted: usize,
        last: u64,
    ) -> impl Iterator<Item = (Stretch, Cursor)> + '_ {
        std::iter::from_fn(move || {
            while at.extent < self.swept {
                let extent = &self.extents[at.extent];
                if let Some((hole, end)) = extent.hole(at.granule, wanted, usize::MAX, last) {
                    at.granule = end;
                    return Some((hole, at));
                }
                at.extent += 1;
                at.granule = 0;
            }
            None
        })
    }

    /// Returns to a position. The first extent stays: whoever makes and forgets a little again and again would take its block each
    /// time anew. Returns the bytes of extents and holes that it was given since then.
    pub(super) fn rewind(&mut self, to: &SpacePosition, pool: &BlockPool) -> usize {
        let emptied = self.extents[to.extents..]
            .iter()
            .map(Extent::granules)
            .sum::<usize>();
        let kept = to.extents.max(1).min(self.extents.len());
        self.extents
            .drain(kept..)
            .for_each(|extent| extent.let_go(pool));
        self.room = match self.extents.first() {
            Some(first) if to.extents == 0 => first.room(),
            _ => to.room,
        };
        self.cursor = to.cursor;
        let filled = std::mem::replace(&mut self.filled, to.filled) - to.filled;
        emptied * GRANULE + filled
    }

    /// Returns the stretch of everything made here since `then`, if the room is still the same and no hole was taken beside it.
    pub(super) fn stretch_since(&self, then: &SpacePosition) -> Option<Range<u64>> {
        let is_same = self.room.end == then.room.end && self.filled == then.filled;
        is_same.then(|| then.room.next.addr() as u64..self.room.next.addr() as u64)
    }

    /// Returns whether a cell that something refers to was made here since `then`. Such a cell lies in the rest of that room,
    /// in an extent taken since, or in a hole further on (mod.rs, invariants 1 and 4).
    pub(super) fn is_since(&self, then: &SpacePosition, cell: *const u8, last: u64) -> bool {
        if then.room.contains(cell) {
            return true;
        }
        let Some(at) = self.extents.iter().position(|extent| extent.contains(cell)) else {
            return false;
        };
        let place = Cursor {
            extent: at,
            granule: Block::granule_of(cell),
        };
        let is_free = || !Marks::of(Block::of(cell), last).has(place.granule);
        at >= then.extents || at < self.swept && place >= then.cursor && is_free()
    }

    /// Returns whether there may be holes to fill.
    pub(super) fn has_holes(&self) -> bool {
        self.cursor.extent < self.swept
    }

    /// The next hole of at least `wanted` granules.
    pub(super) fn next_hole(&mut self, wanted: usize, last: u64) -> Option<Stretch> {
        let (hole, end) = self.find_hole(wanted, usize::MAX, last)?;
        self.passes(hole, end);
        Some(hole)
    }

    /// The front of the next hole, if that has at least `granules` granules. No hole is skipped, and the rest of this one is the next.
    pub(super) fn front_of_next_hole(&mut self, granules: usize, last: u64) -> Option<Stretch> {
        let (front, end) = self.find_hole(0, granules, last)?;
        if front.bytes() < granules * GRANULE {
            // The next look begins here.
            self.cursor.granule = Block::granule_of(front.next);
            return None;
        }
        self.passes(front, end);
        Some(front)
    }

    fn find_hole(&mut self, wanted: usize, most: usize, last: u64) -> Option<(Stretch, usize)> {
        let (wanted, cursor) = (wanted.max(self.shortest), &mut self.cursor);
        while cursor.extent < self.swept {
            let extent = &self.extents[cursor.extent];
            let hole = extent.hole(cursor.granule, wanted, most, last);
            if hole.is_some() {
                return hole;
            }
            cursor.extent += 1;
            cursor.granule = 0;
        }
        None
    }

    fn passes(&mut self, hole: Stretch, end: usize) {
        self.cursor.granule = end;
        self.filled += hole.bytes();
    }

    /// Lets go of the extents of blocks in which nothing lives. Holes are looked for in the others from now on.
    pub(super) fn sweep(&mut self, pool: &BlockPool, lives: impl Fn(Block) -> bool) {
        self.extents.retain(|extent| {
            let live = lives(extent.block);
            if !live {
                extent.let_go(pool);
            }
            live
        });
        self.room = Stretch::NONE;
        self.swept = self.extents.len();
        self.cursor = Cursor::default();
    }

    /// Takes extents out of the space: nothing is filled there any more.
    pub(super) fn leave(&mut self, leaves: impl Fn(&Extent) -> bool) -> Vec<Extent> {
        let (swept, at_cursor) = (self.swept, self.cursor.extent);
        let mut at = 0;
        let goes = |extent: &mut Extent| {
            let goes = leaves(extent);
            if goes {
                self.swept -= usize::from(at < swept);
                self.cursor.extent -= usize::from(at < at_cursor);
                if at == at_cursor {
                    self.cursor.granule = 0;
                }
                if self.room.bytes() > 0 && extent.contains(self.room.next) {
                    self.room = Stretch::NONE;
                }
            }
            at += 1;
            goes
        };
        self.extents.extract_if(.., goes).collect()
    }

    /// Takes an extent in, whose holes are filled as those of the last collection.
    pub(super) fn take_in(&mut self, extent: Extent) {
        self.extents.insert(self.swept, extent);
        self.swept += 1;
    }

    /// Adds another, after both were swept.
    pub(super) fn join(&mut self, other: &mut Space) {
        self.extents.append(&mut other.extents);
        self.swept = self.extents.len();
    }
}
