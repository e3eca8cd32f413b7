//! What a collection does with one heap, before and after marking, and how the holes and blocks that it finds are used.
//!
//! Called by the collector while the heap's thread stands still, except for allocation.
use super::block::{Block, GRANULE};
use super::holes;
use super::marks::{self, Marks};
use super::rooms::Room;
use super::{ForeignCell, Heap};

/// What free granules are overwritten with under stress: no address of ours, no number that looks right.
const SPOILT: u8 = 0xDB;

impl Heap {
    /// Collection `number` begins: from here on what is made is live for it (mod.rs, invariant 5).
    pub(crate) fn start_marking(&mut self, number: u64) {
        self.marking = number;
        for room in [self.cells, self.wide, self.actors] {
            self.mark_in_advance(room.next, room.bytes() / GRANULE);
        }
    }

    /// The thread whose heap this is begins; no collection begins or ends at this moment.
    pub(crate) fn join_collection(&mut self) {
        self.marking = self.pool.marking();
    }

    /// The collection that is marking, or 0.
    #[inline(always)]
    pub(crate) fn marking(&self) -> u64 {
        self.marking
    }

    /// Marks room that cells are going to be in, if a collection marks.
    #[inline]
    pub(super) fn mark_in_advance(&self, from: *const u8, granules: usize) {
        if self.marking != 0 && granules > 0 {
            let block = Block::of(from);
            marks::prepare(block, self.marking);
            let first = Block::granule_of(from);
            Marks::of(block, self.marking).set(first, first + granules);
        }
    }

    /// Looks at the head of a block while a collection marks, at that of the next one the next time. The end of the
    /// collection looks at all of them while everything stands still; and where somebody watches which pages are in use,
    /// the first look at a page since then takes a thousand times as long as any other.
    pub(crate) fn look_ahead(&mut self) {
        let mut blocks = self.of_cells.blocks.iter().chain(&self.of_actors.blocks);
        match blocks.nth(self.looked) {
            Some(block) => {
                std::hint::black_box(marks::has_any(*block, self.marking));
                self.looked += 1;
            }
            None => self.looked = 0,
        }
    }

    /// Everything is marked: lets go of the blocks and large cells in which nothing is. Answers with the foreign cells
    /// made since the last collection, live or not.
    pub(crate) fn sweep(&mut self) -> Vec<ForeignCell> {
        let number = self.marking;
        let rooms = [self.cells, self.wide, self.actors].map(|room| room.rest());
        for (block, first, end) in rooms.into_iter().flatten() {
            Marks::of(block, number).unset(first, end);
        }
        // They may have been marked for these rooms only.
        let rooms = rooms.into_iter().flatten().map(|(block, ..)| block);
        let emptied: Vec<Block> = rooms
            .filter(|block| Marks::of(*block, number).is_empty())
            .collect();
        let pool = &self.pool;
        self.large.retain(|large| {
            let live = marks::is_marked(large.as_ptr(), number);
            if !live {
                pool.release_large(*large);
            }
            live
        });
        for store in [&mut self.of_cells, &mut self.of_actors] {
            store.blocks.retain(|block| {
                let live = marks::has_any(*block, number) && !emptied.contains(block);
                if !live {
                    pool.release(*block);
                }
                live
            });
            store.is_swept();
        }
        (self.cells, self.wide, self.actors) = (Room::NONE, Room::NONE, Room::NONE);
        self.moved = true;
        self.last = number;
        self.shortest = match self.pool.is_tight() {
            true => holes::SHORTEST_IF_SHORT,
            false => holes::SHORTEST,
        };
        self.marking = 0;
        self.foreigns.return_ahead(&self.pool);
        std::mem::take(&mut self.foreigns.cells)
    }

    /// Whether a cell was made here.
    pub(crate) fn holds(&self, cell: *const u8) -> bool {
        let block = Block::of(cell);
        let stores = [&self.of_cells, &self.of_actors];
        stores.iter().any(|store| store.blocks.contains(&block))
            || self
                .large
                .iter()
                .any(|large| large.as_ptr().cast_const() == cell)
    }

    /// Both together, after both were swept.
    pub(crate) fn join(mut self, mut other: Heap) -> Heap {
        for (own, others) in [
            (&mut self.of_cells, &mut other.of_cells),
            (&mut self.of_actors, &mut other.of_actors),
        ] {
            own.blocks.append(&mut others.blocks);
            own.is_swept();
        }
        self.large.append(&mut other.large);
        self.foreigns.cells.append(&mut other.foreigns.cells);
        self
    }

    /// Overwrites every hole, so that a reader of freed memory is found out. After a sweep.
    pub(crate) fn spoil(&self) {
        for block in self.of_cells.blocks.iter().chain(&self.of_actors.blocks) {
            let mut from = 0;
            let marks = Marks::of(*block, self.last);
            while let Some((start, end)) = holes::next_hole(marks, from, &(1..usize::MAX)) {
                let bytes = (end - start) * GRANULE;
                // SAFETY: unmarked granules hold nothing that can be reached.
                unsafe { std::ptr::write_bytes(block.cell_at(start), SPOILT, bytes) };
                from = end;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;
    use crate::values::value::Value;
    use std::sync::Arc;

    #[test]
    fn the_heads_of_all_blocks_are_looked_at_in_turn() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let empty = heap.position();
        heap.look_ahead();
        assert_eq!(heap.looked, 0);
        while heap.of_cells.blocks.len() < 3 {
            heap.cons(Value::NIL, Value::NIL);
        }
        let rounds: Vec<_> = (0..6)
            .map(|_| {
                heap.look_ahead();
                heap.looked
            })
            .collect();
        assert_eq!(rounds, [1, 2, 3, 0, 1, 2]);
        // They are not there any more.
        heap.rewind(empty);
        heap.look_ahead();
        assert_eq!(heap.looked, 0);
    }
}
