//! What a collection does with one heap, before and after marking, and how the room that it finds is used.
//!
//! Called by the collector while the heap's thread stands still.
use super::block::{Block, GRANULE, MARK_WORDS};
use super::holes::{self, Cursor};
use super::{Heap, PAYLOAD};
use std::ptr::NonNull;

/// What free granules are overwritten with under stress: no address of ours, no number that looks right.
const SPOILT: u8 = 0xDB;

impl Heap {
    /// Forgets all marks.
    pub(crate) fn clear_marks(&mut self) {
        for block in &self.blocks {
            clear(*block);
        }
        for large in &self.large {
            clear(Block::of(large.as_ptr()));
        }
    }

    /// Drops what is not marked; the bytes that stay.
    pub(crate) fn sweep(&mut self) -> usize {
        let mut live = 0;
        let pool = self.pool.clone();
        self.foreigns.retain(|foreign| {
            let marked = is_marked(foreign.cell.cast());
            if marked {
                live += foreign.bytes;
            } else {
                // SAFETY: invariant 2 of mod.rs; nothing reachable refers to the cell.
                unsafe { foreign.drop(&pool) };
            }
            marked
        });
        self.large.retain(|large| {
            let marked = is_marked(large.as_ptr());
            if marked {
                live += pool.large_bytes(*large);
            } else {
                pool.release_large(*large);
            }
            marked
        });
        self.blocks.retain(|block| {
            let marked = holes::marked(*block);
            live += marked * GRANULE;
            if marked == 0 {
                pool.release(*block);
            }
            marked > 0
        });
        self.swept = self.blocks.len();
        self.cursor = Cursor::default();
        self.next = std::ptr::null_mut();
        self.end = std::ptr::null_mut();
        if pool.pace.config.stress {
            self.spoil();
        }
        live
    }

    /// Both together, after both were swept.
    pub(crate) fn join(mut self, mut other: Heap) -> Heap {
        self.blocks.append(&mut other.blocks);
        self.large.append(&mut other.large);
        self.foreigns.append(&mut other.foreigns);
        self.swept = self.blocks.len();
        self
    }

    /// Room for `bytes` in the next hole that is large enough.
    pub(super) fn allocate_in_hole(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        debug_assert!(bytes <= PAYLOAD);
        while self.cursor.block < self.swept {
            let block = self.blocks[self.cursor.block];
            let granules = bytes / GRANULE;
            match holes::next_hole(block, self.cursor.granule, granules) {
                Some((start, end)) => {
                    self.cursor.granule = end;
                    self.pool.pace.allocated((end - start) * GRANULE);
                    let cell = block.cell_at(start);
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

    /// Overwrites every hole, so that a reader of freed memory is found out.
    fn spoil(&self) {
        for block in &self.blocks {
            let mut from = 0;
            while let Some((start, end)) = holes::next_hole(*block, from, 1) {
                let bytes = (end - start) * GRANULE;
                // SAFETY: unmarked granules hold nothing that can be reached.
                unsafe { std::ptr::write_bytes(block.cell_at(start), SPOILT, bytes) };
                from = end;
            }
        }
    }
}

fn clear(block: Block) {
    // SAFETY: a block has that many mark words; nobody else reads them during a collection.
    unsafe { std::ptr::write_bytes(block.marks(), 0, MARK_WORDS) };
}

/// Whether the cell's first granule is marked.
pub(crate) fn is_marked(cell: *const u8) -> bool {
    let granule = Block::granule_of(cell);
    // SAFETY: the word of this granule is among the block's mark words.
    unsafe { *Block::of(cell).marks().add(granule / 64) >> (granule % 64) & 1 == 1 }
}
