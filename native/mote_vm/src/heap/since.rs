//! Whether a cell was made since a position was noted: what an abort is about to forget.
use super::{Heap, HeapPosition};

impl Heap {
    /// Of a cell that something refers to and that is not larger than a block. Made since then it lies in the rest of
    /// one of the rooms that the allocator was in, in a block taken since, or in a hole further on (mod.rs, invariants 1 and 4).
    pub(crate) fn is_since(&self, position: &HeapPosition, cell: *const u8) -> bool {
        let HeapPosition {
            cells,
            wide,
            actors,
            of_cells,
            of_actors,
            ..
        } = position;
        [cells, wide, actors].iter().any(|room| room.contains(cell))
            || self.of_cells.is_since(of_cells, cell, self.last)
            || self.of_actors.is_since(of_actors, cell, self.last)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::heap::block::{BlockPool, BLOCK, PAYLOAD};
    use crate::heap::marks::{mark, GRANULES};
    use crate::heap::Heap;
    use crate::values::value::Value;
    use std::sync::Arc;

    fn cells(heap: &mut Heap, n: usize) -> Vec<*const u8> {
        let cell = |_| heap.cons(Value::NIL, Value::NIL).cons_pointer().cast();
        (0..n).map(cell).collect()
    }

    fn assert_since(heap: &mut Heap, before: &[*const u8], n: usize) {
        let start = heap.position();
        let since = cells(heap, n);
        assert!(since.iter().all(|cell| heap.is_since(&start, *cell)));
        assert!(!before.iter().any(|cell| heap.is_since(&start, *cell)));
        heap.rewind(start);
    }

    #[test]
    fn whoever_makes_and_forgets_again_and_again_takes_one_block() {
        let pool = Arc::new(BlockPool::default());
        let mut heap = Heap::new(pool.clone());
        let start = heap.position();
        let first = cells(&mut heap, 1);
        assert_eq!(heap.rewind(start), PAYLOAD);
        let start = heap.position();
        assert_eq!(cells(&mut heap, GRANULES)[0], first[0]);
        assert_eq!(heap.rewind(start), PAYLOAD);
        assert_eq!((pool.used(), cells(&mut heap, 1)), (BLOCK, first));
    }

    #[test]
    fn what_was_made_since_lies_behind_the_position_in_rooms_of_all_kinds() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut before = Vec::new();
        for _ in 0..3 {
            // The rest of a block, and further blocks.
            assert_since(&mut heap, &before, 2 * GRANULES);
            before.append(&mut cells(&mut heap, GRANULES / 2));
        }
        // A collection leaves holes, of which the first are filled again.
        heap.start_marking(1);
        let live: Vec<_> = before.chunks(50).step_by(2).flatten().copied().collect();
        for cell in &live {
            mark(*cell, 1, 1);
        }
        drop(heap.sweep());
        let mut before = live;
        for _ in 0..5 {
            assert_since(&mut heap, &before, 2 * GRANULES);
            before.append(&mut cells(&mut heap, 70));
        }
        // While the next one marks, the holes are still between the marks of the last.
        heap.start_marking(2);
        for cell in &before {
            mark(*cell, 1, 2);
        }
        assert_since(&mut heap, &before, 2 * GRANULES);
        // Another thread's.
        let mut other = Heap::new(heap.pool.clone());
        let theirs = cells(&mut other, 1);
        assert_since(&mut heap, &theirs, 1);
    }
}
