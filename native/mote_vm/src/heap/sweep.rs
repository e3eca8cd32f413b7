//! The work of a collection on one heap, before and after marking.
//!
//! The collector calls this while the heap's thread stands still.
use super::block::{Block, GRANULE};
use super::marks::{self, order, Marks};
use super::space::{Extent, Space, ACTORS};
use super::{ForeignCell, Heap};

impl Heap {
    /// Collection `number` begins: from here on what is made is live for it (mod.rs, invariant 5).
    pub(crate) fn start_marking(&mut self, number: u64) {
        (self.marking, self.watches) = (number, true);
        for Space { room, .. } in &self.spaces {
            self.mark_in_advance(room.next, room.bytes() / GRANULE);
        }
    }

    /// Learns of what all heaps have in common; no collection begins or ends at this moment.
    pub(crate) fn join_collection(&mut self) {
        (self.marking, self.watches) = (self.pool.marking(), self.pool.watches());
        if order(self.pool.last()) > order(self.last) {
            self.last = self.pool.last();
        }
    }

    /// Returns whether a become matters to a collection: to one that marks, or to the next one.
    #[inline(always)]
    pub(crate) fn watches(&self) -> bool {
        self.watches
    }

    /// The collection that is marking, or 0.
    #[inline(always)]
    pub(crate) fn marking(&self) -> u64 {
        self.marking
    }

    /// Looks at the head of a block while a collection marks, at that of the next one the next time. The end of the
    /// collection looks at all of them while everything stands still; and where somebody watches which pages are in use,
    /// the first look at a page since then takes a thousand times as long as any other.
    pub(crate) fn look_ahead(&mut self) {
        let extent = self.extents().nth(self.looked).copied();
        match extent {
            Some(extent) => {
                std::hint::black_box(marks::has_any(extent.block, self.marking));
                self.looked += 1;
            }
            None => self.looked = 0,
        }
    }

    /// Everything is marked: lets go of the blocks and large cells in which nothing is. Answers with the foreign cells
    /// made since the last collection, live or not.
    pub(crate) fn sweep(&mut self) -> Vec<ForeignCell> {
        let number = self.marking;
        let rooms = self.spaces.each_ref().map(|space| space.room.left());
        for (block, first, end) in rooms.into_iter().flatten() {
            Marks::of(block, number).unset(first, end);
        }
        // They may have been marked for these rooms only.
        let emptied = rooms.map(|room| {
            let block = room.map(|(block, ..)| block);
            block.filter(|block| Marks::of(*block, number).is_empty())
        });
        let lives = |block| marks::has_any(block, number) && !emptied.contains(&Some(block));
        let pool = &self.pool;
        self.large.retain(|large| {
            let live = marks::is_marked(large.as_ptr(), number);
            if !live {
                pool.release_large(*large);
            }
            live
        });
        // Actors first: a block that both are in is given back with its extent for cells.
        for space in self.spaces.iter_mut().rev() {
            space.sweep(pool, lives);
        }
        self.moves += 1;
        self.last = number;
        self.marking = 0;
        self.foreigns.return_ahead(&self.pool);
        self.spare = Vec::new();
        std::mem::take(&mut self.foreigns.cells)
    }

    /// Shows the extents of actors.
    pub(crate) fn actor_extents(&self) -> &[Extent] {
        &self.spaces[ACTORS].extents
    }

    /// Returns whether a cell was made here.
    pub(crate) fn holds(&self, cell: *const u8) -> bool {
        self.extents().any(|extent| extent.block == Block::of(cell))
            || self
                .large
                .iter()
                .any(|large| large.as_ptr().cast_const() == cell)
    }

    /// Joins two heaps, after both were swept.
    pub(crate) fn join(mut self, mut other: Heap) -> Heap {
        for (space, more) in self.spaces.iter_mut().zip(&mut other.spaces) {
            space.join(more);
        }
        self.large.append(&mut other.large);
        self.foreigns.cells.append(&mut other.foreigns.cells);
        self
    }

    pub(super) fn extents(&self) -> impl Iterator<Item = &Extent> {
        self.spaces.iter().flat_map(|space| &space.extents)
    }

    /// Overwrites every hole, so that a reader of freed memory is found out. After a sweep.
    pub(crate) fn spoil(&self) {
        self.extents().for_each(|extent| extent.spoil(self.last));
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
        while heap.extents().count() < 3 {
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
        heap.rewind(&empty);
        heap.look_ahead();
        assert_eq!(heap.looked, 0);
    }
}
