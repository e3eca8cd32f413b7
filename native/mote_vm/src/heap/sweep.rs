//! What a collection does with one heap, before and after marking, and how the holes and blocks that it finds are used.
//!
//! Called by the collector while the heap's thread stands still, except for allocation.
use super::block::{Block, GRANULE, PAYLOAD};
use super::holes::{self, Cursor};
use super::marks::{self, Marks};
use super::{ForeignCell, Heap};
use std::ptr::NonNull;

/// What free granules are overwritten with under stress: no address of ours, no number that looks right.
const SPOILT: u8 = 0xDB;

impl Heap {
    /// Collection `number` begins: from here on what is made is live for it (mod.rs, invariant 5).
    pub(crate) fn start_marking(&mut self, number: u64) {
        self.marking = number;
        let rest = (self.end as usize - self.next as usize) / GRANULE;
        self.mark_in_advance(self.next, rest);
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
        match self.blocks.get(self.looked) {
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
        let mut current = None;
        if self.next != self.end {
            let (block, rest) = (Block::of(self.next), Block::granule_of(self.next));
            let end = rest + (self.end as usize - self.next as usize) / GRANULE;
            let marks = Marks::of(block, number);
            marks.unset(rest, end);
            // It may have been marked for this room only.
            current = marks.is_empty().then_some(block);
        }
        let pool = &self.pool;
        self.large.retain(|large| {
            let live = marks::is_marked(large.as_ptr(), number);
            if !live {
                pool.release_large(*large);
            }
            live
        });
        self.blocks.retain(|block| {
            let live = marks::has_any(*block, number) && current != Some(*block);
            if !live {
                pool.release(*block);
            }
            live
        });
        self.swept = self.blocks.len();
        self.cursor = Cursor::default();
        self.next = std::ptr::null_mut();
        self.end = std::ptr::null_mut();
        self.moved = true;
        self.last = number;
        self.marking = 0;
        self.foreigns.return_ahead(&self.pool);
        std::mem::take(&mut self.foreigns.cells)
    }

    /// Whether a cell was made here.
    pub(crate) fn holds(&self, cell: *const u8) -> bool {
        self.blocks.contains(&Block::of(cell))
            || self
                .large
                .iter()
                .any(|large| large.as_ptr().cast_const() == cell)
    }

    /// Both together, after both were swept.
    pub(crate) fn join(mut self, mut other: Heap) -> Heap {
        self.blocks.append(&mut other.blocks);
        self.large.append(&mut other.large);
        self.foreigns.cells.append(&mut other.foreigns.cells);
        self.swept = self.blocks.len();
        self
    }

    /// Room for `bytes` in the next hole that is large enough.
    pub(super) fn allocate_in_hole(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        debug_assert!(bytes <= PAYLOAD);
        while self.cursor.block < self.swept {
            let block = self.blocks[self.cursor.block];
            let granules = bytes / GRANULE;
            let marks = Marks::of(block, self.last);
            match holes::next_hole(marks, self.cursor.granule, granules) {
                Some((start, end)) => {
                    self.cursor.granule = end;
                    self.pool.pace.allocated((end - start) * GRANULE);
                    let cell = block.cell_at(start);
                    self.mark_in_advance(cell, end - start);
                    self.next = block.cell_at(start + granules);
                    self.end = block.cell_at(end);
                    return NonNull::new(cell.cast());
                }
                None => {
                    self.cursor.block += 1;
                    self.cursor.granule = 0;
                }
            }
        }
        None
    }

    /// Overwrites every hole, so that a reader of freed memory is found out. After a sweep.
    pub(crate) fn spoil(&self) {
        for block in &self.blocks {
            let mut from = 0;
            while let Some((start, end)) = holes::next_hole(Marks::of(*block, self.last), from, 1) {
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
        while heap.blocks.len() < 3 {
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
