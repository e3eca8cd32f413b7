//! Pages that nothing is in, of a machine that rests.
//!
//! Blocks go back to the system when they are empty, and cells move until few blocks are sparse (evacuation/). For a large machine that
//! is enough. A small one, which lives in a few blocks of which the last ones are half empty, would keep twice what lives. So
//! its blocks give back the pages of their holes as well.
//!
//! Invariants:
//! 1. Only room that will be filled before it is read goes back: the rest of the present room, and the holes from the cursor on.
//! 2. A block of which pages went back has small pages: the system would join them to a huge page again, and fill it.
use super::block::{Block, BLOCK, GRANULE};
use super::Heap;
use crate::platform::pages;

/// The most bytes of a machine that gives back pages. A pause looks at all of them.
pub(crate) const SMALL: usize = 16 * BLOCK;
/// Bytes of a hole that is worth a call of the system.
const WORTH: usize = 16 << 10;

impl Heap {
    /// Lets the system have the pages that nothing is in. After a sweep.
    pub(crate) fn let_go_of_pages(&self) {
        let free = |space| super::Space::free(space, WORTH / GRANULE, self.last);
        for room in self.spaces.iter().flat_map(free) {
            if room.bytes() < WORTH {
                continue;
            }
            let block = Block::of(room.next).start();
            // SAFETY: invariant 1, and a block is whole pages.
            unsafe {
                pages::ask_for_huge(block, BLOCK, false);
                pages::let_go_within(room.next, room.bytes());
            }
        }
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri, mote_portable))))]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;
    use crate::heap::marks::mark;
    use crate::values::value::Value;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    /// Pages of the heap that are in memory.
    fn resident(heap: &Heap) -> usize {
        let mut pages = vec![0u8; BLOCK / pages::page()];
        // Two extents may share a block.
        let blocks: BTreeSet<_> = heap.extents().map(|extent| extent.block.start()).collect();
        let counted = blocks.into_iter().map(|block| {
            // SAFETY: a block is mapped, and there is a byte for each of its pages.
            let status = unsafe { libc::mincore(block.cast(), BLOCK, pages.as_mut_ptr()) };
            assert_eq!(status, 0);
            pages.iter().filter(|page| **page & 1 == 1).count()
        });
        counted.sum()
    }

    fn list(heap: &mut Heap, n: usize) -> Vec<Value> {
        let number = |i| Value::fixnum(i as i64);
        (0..n).map(|i| heap.cons(number(i), Value::NIL)).collect()
    }

    #[test]
    fn pages_without_cells_go_back_and_the_others_stay() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let per_page = pages::page() / GRANULE;
        let cells = list(&mut heap, 500 * per_page);
        let full = resident(&heap);
        assert!(full > 490);
        // A tenth lives, in stretches of twenty pages.
        heap.start_marking(1);
        let live: Vec<_> = cells.chunks(20 * per_page).step_by(10).flatten().collect();
        live.iter().for_each(|cell| {
            mark(cell.cons_pointer().cast(), 1, 1);
        });
        heap.sweep();
        heap.let_go_of_pages();
        let rest = resident(&heap);
        assert!((60..100).contains(&rest), "{rest} of {full}");
        let heads = |cells: &[&Value]| -> Vec<_> {
            let head = |cell: &&Value| cell.as_cons().and_then(|(head, _)| head.as_fixnum());
            cells.iter().map(head).collect()
        };
        let was = heads(&live);
        // What is made next, in the holes, touches pages again, and nothing else.
        list(&mut heap, 450 * per_page);
        assert!(resident(&heap) > 490);
        assert_eq!(heads(&live), was);
    }
}
