//! The rooms that an allocator fills, and the blocks that they are in.
//!
//! A heap fills three rooms at once: one with cells, one with those that are too wide for the rest of that, and one with actors.
//! A room is a hole or a block. Without a room for what is wide, one node of a map would end the use of all holes that are
//! too short for it.
use super::block::{Block, BlockPool, GRANULE, PAYLOAD};
use super::holes::{self, Cursor, WIDE_HOLE};
use super::marks::Marks;
use super::Heap;
use std::ptr::NonNull;

/// Cells of more bytes do not end the use of a room that they do not fit into, if that has more than as many left.
const WIDE: usize = 128;
/// Cells of more bytes rather go to a fresh block than to a hole far away.
const VERY_WIDE: usize = 4 * WIDE_HOLE * GRANULE;

/// Memory that is filled from the front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub(super) next: *mut u8,
    pub(super) end: *mut u8,
}

impl Room {
    /// Where the two are, for native code.
    pub(super) const NEXT: usize = std::mem::offset_of!(Room, next);
    /// See `NEXT`.
    pub(super) const END: usize = std::mem::offset_of!(Room, end);
    /// No memory at all.
    pub(super) const NONE: Room = Room {
        next: std::ptr::null_mut(),
        end: std::ptr::null_mut(),
    };

    /// The whole of a block.
    fn block(block: Block) -> Room {
        Room {
            next: block.first_cell(),
            end: block.end(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.end as usize - self.next as usize
    }

    /// The first of these bytes, if there are so many.
    #[inline(always)]
    pub(super) fn take(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        if (self.end as usize) - (self.next as usize) < bytes {
            return None;
        }
        let cell = self.next;
        // SAFETY: checked just above that `bytes` remain in the room.
        self.next = unsafe { cell.add(bytes) };
        // SAFETY: `next` is never null while bytes remain.
        Some(unsafe { NonNull::new_unchecked(cell as *mut u64) })
    }

    /// Whether the cell lies in it.
    pub(super) fn contains(&self, cell: *const u8) -> bool {
        (self.next.addr()..self.end.addr()).contains(&cell.addr())
    }

    /// The block that it is in and its granules, if anything is left of it.
    pub(super) fn rest(&self) -> Option<(Block, usize, usize)> {
        (self.next != self.end).then(|| {
            let first = Block::granule_of(self.next);
            (Block::of(self.next), first, first + self.bytes() / GRANULE)
        })
    }
}

/// Blocks of one kind.
#[derive(Default)]
pub(super) struct Store {
    pub(super) blocks: Vec<Block>,
    /// How many of the blocks were there at the last collection, and where the next hole is looked for in them: a narrow one, and
    /// a wide one.
    pub(super) swept: usize,
    pub(super) narrow: Cursor,
    pub(super) wide: Cursor,
}

/// What of a store changes between two collections.
#[derive(Clone, Copy)]
pub(super) struct StorePosition {
    blocks: usize,
    narrow: Cursor,
    wide: Cursor,
}

impl Store {
    pub(super) fn position(&self) -> StorePosition {
        StorePosition {
            blocks: self.blocks.len(),
            narrow: self.narrow,
            wide: self.wide,
        }
    }

    /// Lets go of the blocks taken since then; how many were taken, and the room that is left instead of that of then, if
    /// there was none. The first block stays: whoever makes and forgets a little again and again would take it each time anew.
    pub(super) fn rewind(&mut self, to: StorePosition, pool: &BlockPool) -> (usize, Option<Room>) {
        let emptied = self.blocks.len() - to.blocks;
        let kept = to.blocks.max(1).min(self.blocks.len());
        for block in self.blocks.drain(kept..) {
            pool.release(block);
        }
        (self.narrow, self.wide) = (to.narrow, to.wide);
        let first = self.blocks.first().filter(|_| to.blocks == 0);
        (emptied, first.map(|first| Room::block(*first)))
    }

    /// Whether the cell of a block lies in a hole that was filled since then, or in a block that was taken since.
    pub(super) fn is_since(&self, then: &StorePosition, cell: *const u8, last: u64) -> bool {
        let block = Block::of(cell);
        let Some(at) = self.blocks.iter().position(|own| *own == block) else {
            return false;
        };
        if at >= then.blocks {
            return true;
        }
        let granule = Block::granule_of(cell);
        let marks = Marks::of(block, last);
        if at >= self.swept || marks.has(granule) {
            return false;
        }
        let place = Cursor { block: at, granule };
        let hole = holes::around(marks, granule);
        let then = match hole.len() < WIDE_HOLE {
            true => then.narrow,
            false => then.wide,
        };
        place >= then
    }

    /// All of them were swept.
    pub(super) fn is_swept(&mut self) {
        self.swept = self.blocks.len();
        (self.narrow, self.wide) = Default::default();
    }

    /// The next hole of at least `wanted` granules, among the narrow or the wide ones, between the marks of a collection.
    fn hole(&mut self, wide: bool, wanted: usize, last: u64) -> Option<Room> {
        let lengths = match wide {
            true => wanted.max(WIDE_HOLE)..usize::MAX,
            false => wanted..WIDE_HOLE,
        };
        let cursor = if wide { &mut self.wide } else { &mut self.narrow };
        while cursor.block < self.swept {
            let block = self.blocks[cursor.block];
            match holes::next_hole(Marks::of(block, last), cursor.granule, &lengths) {
                Some((start, end)) => {
                    cursor.granule = end;
                    return Some(Room {
                        next: block.cell_at(start),
                        end: block.cell_at(end),
                    });
                }
                None => {
                    cursor.block += 1;
                    cursor.granule = 0;
                }
            }
        }
        None
    }
}

impl Heap {
    #[cold]
    #[inline(never)]
    pub(super) fn allocate_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moved = true;
        if bytes > PAYLOAD {
            let large = self.pool.acquire_large(bytes, self.insists);
            self.exhausted |= large.is_none();
            if let Some(large) = large {
                self.large.push(large);
                self.mark_in_advance(large.as_ptr(), 1);
            }
            return large.map(NonNull::cast);
        }
        let wanted = bytes / GRANULE;
        if bytes > WIDE && self.cells.bytes() > WIDE {
            if let Some(cell) = self.wide.take(bytes) {
                return Some(cell);
            }
            self.wide = self.wide_room(bytes)?;
            return self.wide.take(bytes);
        }
        let narrow = self
            .of_cells
            .hole(false, wanted.max(self.shortest), self.last);
        self.cells = match narrow {
            Some(hole) => self.enter(hole),
            // What is left of the room for what is wide serves as well.
            None if self.wide.bytes() >= bytes.max(WIDE) => {
                std::mem::replace(&mut self.wide, Room::NONE)
            }
            None => self.wide_room(bytes)?,
        };
        self.cells.take(bytes)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn allocate_actors_slowly(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        self.moved = true;
        let wanted = bytes / GRANULE;
        // Each place is worth having.
        let (store, last) = (&mut self.of_actors, self.last);
        let hole = store
            .hole(false, wanted, last)
            .or_else(|| store.hole(true, wanted, last));
        self.actors = match hole {
            Some(hole) => self.enter(hole),
            None => {
                let block = self.take_block()?;
                self.of_actors.blocks.push(block);
                self.enter(Room::block(block))
            }
        };
        self.actors.take(bytes)
    }

    /// A wide hole or a block.
    fn wide_room(&mut self, bytes: usize) -> Option<Room> {
        let hole = |heap: &mut Heap| heap.of_cells.hole(true, bytes / GRANULE, heap.last);
        let found = if bytes > VERY_WIDE { None } else { hole(self) };
        if let Some(hole) = found {
            return Some(self.enter(hole));
        }
        let Some(block) = self.take_block() else {
            let hole = hole(self)?;
            self.exhausted = false;
            return Some(self.enter(hole));
        };
        self.of_cells.blocks.push(block);
        Some(self.enter(Room::block(block)))
    }

    fn take_block(&mut self) -> Option<Block> {
        let block = match self.insists {
            true => self.pool.acquire_anyway(),
            false => self.pool.acquire(),
        };
        self.exhausted |= block.is_none();
        block
    }

    /// Begins to fill a room.
    fn enter(&mut self, room: Room) -> Room {
        self.pool.pace.allocated(room.bytes());
        self.mark_in_advance(room.next, room.bytes() / GRANULE);
        room
    }
}
