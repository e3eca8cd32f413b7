//! Tells whether a cell was made since a position was noted, which means that an abort is about to discard it.
use super::space::{CELLS, WIDE};
use super::{Heap, HeapPosition};
use std::ops::Range;

impl Heap {
    /// Returns the stretch of memory of all cells made since `position`, if it is one.
    pub(crate) fn stretch_since(&self, position: &HeapPosition) -> Option<Range<u64>> {
        let [stretch, wide] =
            [CELLS, WIDE].map(|space| self.spaces[space].stretch_since(&position.spaces[space]));
        let is_one = wide?.is_empty() && self.large.len() == position.large;
        stretch.filter(|_| is_one)
    }

    /// Returns whether a cell or an actor was made since `position`. Something must refer to it, and it must not be larger than
    /// a block.
    pub(crate) fn is_since(&self, position: &HeapPosition, cell: *const u8) -> bool {
        let mut spaces = self.spaces.iter().zip(&position.spaces);
        spaces.any(|(space, then)| space.is_since(then, cell, self.last))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::heap::block::{BlockPool, BLOCK};
    use crate::heap::marks::{mark, GRANULES};
    use crate::heap::Heap;
    use crate::values::actor::{BehaviourId, Header};
    use crate::values::value::Value;
    use std::sync::Arc;

    /// Cells and actors.
    fn things(heap: &mut Heap, n: usize) -> Vec<*const u8> {
        let header = Header::new(BehaviourId::SINK, None, 0);
        let thing = |i| match i % 2 {
            0 => heap.cons(Value::NIL, Value::NIL).cons_pointer().cast(),
            _ => heap.actor(header, Value::NIL).address_pointer().cast(),
        };
        (0..n).map(thing).collect()
    }

    fn assert_since(heap: &mut Heap, before: &[*const u8], n: usize) {
        let start = heap.position();
        let since = things(heap, n);
        assert!(since.iter().all(|cell| heap.is_since(&start, *cell)));
        assert!(!before.iter().any(|cell| heap.is_since(&start, *cell)));
        heap.rewind(&start);
    }

    #[test]
    fn whoever_makes_and_forgets_again_and_again_takes_one_block() {
        let pool = Arc::new(BlockPool::default());
        let mut heap = Heap::new(pool.clone());
        let start = heap.position();
        let first = things(&mut heap, 1);
        heap.rewind(&start);
        let start = heap.position();
        assert_eq!(things(&mut heap, GRANULES)[0], first[0]);
        heap.rewind(&start);
        assert_eq!((pool.used(), things(&mut heap, 1)), (BLOCK, first));
    }

    #[test]
    fn what_is_forgotten_makes_no_collection_due() {
        let pool = Arc::new(BlockPool::default());
        let mut heap = Heap::new(pool.clone());
        let start = heap.position();
        things(&mut heap, 64 * GRANULES);
        assert!(pool.pace.has_allocated(32 * GRANULES));
        heap.rewind(&start);
        assert_eq!(pool.pace.since_collected(), 0);
    }

    #[test]
    fn what_was_made_since_lies_behind_the_position_in_rooms_of_all_kinds() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut before = Vec::new();
        for _ in 0..3 {
            // The rest of a block, and further blocks.
            assert_since(&mut heap, &before, 2 * GRANULES);
            before.append(&mut things(&mut heap, GRANULES / 2));
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
            before.append(&mut things(&mut heap, 70));
        }
        // While the next one marks, the holes are still between the marks of the last.
        heap.start_marking(2);
        for cell in &before {
            mark(*cell, 1, 2);
        }
        assert_since(&mut heap, &before, 2 * GRANULES);
        // Another thread's.
        let mut other = Heap::new(heap.pool.clone());
        let theirs = things(&mut other, 1);
        assert_since(&mut heap, &theirs, 1);
    }

    /// Holes are small, so the pace is not told of each: what it was not told of, it cannot take back.
    #[test]
    fn what_the_pace_was_not_told_of_is_not_taken_back_from_what_was_there_before() {
        let pool = Arc::new(BlockPool::default());
        let mut heap = Heap::new(pool.clone());
        let kept = things(&mut heap, GRANULES / 2);
        heap.start_marking(1);
        let live = kept.chunks(40).step_by(2).flatten();
        live.for_each(|cell| assert!(mark(*cell, 1, 1)));
        drop(heap.sweep());
        // Other threads, or turns before this one, were given something before the next collection begins.
        pool.pace.collected(0, 0, None);
        pool.pace.allocated(BLOCK);
        pool.pace.begun(0);
        // A turn that is aborted has filled a few holes meanwhile.
        let start = heap.position();
        things(&mut heap, 100);
        heap.rewind(&start);
        assert_eq!(pool.pace.since_begun(), 0);
        assert_eq!(pool.pace.since_collected(), BLOCK);
    }
}
