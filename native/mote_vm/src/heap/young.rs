//! What a young collection starts from beside the roots: the old actors that have become another since the last collection.
//!
//! Cells never change, so what is old refers to nothing that is younger, except for what actors hold. Whoever makes an actor
//! become another notes that down, with a bit in the table of its block that is idle until the next collection marks there. That
//! collection, if it is a young one, marks in the same table: it begins with what is old, without these actors (marks.rs). So
//! they are met like any other thing that is not marked, by the one that is first, and a walk through the blocks with
//! such bits sees to it that each is met.
//!
//! Invariants:
//! 1. What is marked refers to nothing but what is marked when a collection ends, and until an actor becomes another: what was
//!    made while the collection marked is marked in advance. So only becomes that come later are noted, and all of them.
//! 2. The second word of a block is the number of the collection after which its idle table was cleared for these notes; notes
//!    that are older count no more.
//! 3. Nobody notes anything while a collection marks: barrier.rs sees to what becomes another then.
//! 4. Heaps watch becomes from the end of a collection on, or until the next one begins none does: then that one is whole.
use super::block::{Block, GRANULE};
use super::marks::{self, has_changes, noted_after, order, prepare, Marks, CLEARING};
use super::residents::Residents;
use super::Heap;
use crate::base::sync::{AcqRel, Acquire, Relaxed, Release};

impl Heap {
    /// Notes that an actor is about to become another, if it is old. No collection marks.
    pub(crate) fn note_change(&self, actor: *const u8) {
        let (block, granule) = (Block::of(actor), Block::granule_of(actor));
        let (word, bit) = (granule / 64, 1 << (granule % 64));
        // Relaxed, all: nobody marks, and notes are read when everything has stood still. Others set bits of the same word.
        let is_old = || Marks::of(block, self.last).word(word).load(Relaxed) & bit != 0;
        if marks::is_new(block) || !is_old() {
            return;
        }
        // Acquire: the table is seen cleared.
        if noted_after(block).load(Acquire) != self.last {
            clear_notes(block, self.last);
        }
        let notes = Marks::idle(block).word(word);
        if notes.load(Relaxed) & bit == 0 {
            notes.fetch_or(bit, Relaxed);
        }
    }
}

#[cold]
#[inline(never)]
fn clear_notes(block: Block, last: u64) {
    let after = noted_after(block);
    let seen = after.load(Acquire);
    let is_free = seen != last && seen & CLEARING == 0;
    if is_free
        && after
            .compare_exchange(seen, last | CLEARING, AcqRel, Relaxed)
            .is_ok()
    {
        Marks::idle(block).clear();
        // Release: whoever sees it finds the table cleared.
        after.store(last, Release);
    }
    while after.load(Acquire) != last {
        std::hint::spin_loop();
    }
}

/// Number of blocks that are looked at to tell how much of what was made survives.
const SAMPLE: usize = 32;

/// Estimates how many bytes of what lives after whole collection `number` had lived at the end of the one before, too. Called when
/// everything is marked, while everything stands still.
pub(crate) fn bytes_of_old<'h>(heaps: impl Iterator<Item = &'h Heap>, number: u64) -> usize {
    let mut blocks: Vec<Block> = heaps
        .flat_map(Heap::extents)
        .map(|extent| extent.block)
        .filter(|block| marks::has_any(*block, number))
        .collect();
    // Some have an extent of each kind.
    blocks.sort_unstable_by_key(|block| block.start().addr());
    blocks.dedup_by_key(|block| block.start().addr());
    let sample = blocks.iter().step_by(blocks.len().div_ceil(SAMPLE).max(1));
    let (n, old) = sample.fold((0, 0), |(n, old), block| (n + 1, old + marks::old(*block)));
    old * GRANULE * blocks.len() / n.max(1)
}

/// A walk through the actors that were noted, while a young collection marks.
pub(crate) struct Changed {
    residents: std::sync::Arc<Residents>,
    number: u64,
    extent: usize,
    word: usize,
}

impl Changed {
    /// Begins the walk of collection `number` through the actors that were there at the end of the one before.
    pub(crate) fn new(residents: std::sync::Arc<Residents>, number: u64) -> Changed {
        Changed {
            residents,
            number,
            extent: 0,
            word: 0,
        }
    }

    /// Shows those in the next few words of marks. Returns whether there are more.
    pub(crate) fn take(&mut self, most: usize, mut show: impl FnMut(*const u8)) -> bool {
        for _ in 0..most {
            let Some((block, words)) = self.residents.extent(self.extent) else {
                return false;
            };
            let at = self.word.max(words.start);
            if at >= words.end || !has_changes(block, self.number) {
                (self.extent, self.word) = (self.extent + 1, 0);
                continue;
            }
            self.word = at + 1;
            let new = prepare(block, self.number).word(at).load(Relaxed);
            let mut left = self.residents.word_of(self.extent, at) & !new;
            while left != 0 {
                show(block.cell_at(at * 64 + left.trailing_zeros() as usize));
                left &= left - 1;
            }
        }
        true
    }
}

/// Returns whether an actor that collection `number` has just marked is one that was noted.
pub(crate) fn is_old(actor: *const u8, number: u64) -> bool {
    let (block, before) = (Block::of(actor), order(number) - 1);
    marks::is_young(number)
        && has_changes(block, number)
        && Marks::of(block, before).has(Block::granule_of(actor))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::block::BlockPool;
    use super::super::marks::{following, mark};
    use super::*;
    use crate::values::actor::{BehaviourId, Header};
    use crate::values::value::Value;
    use std::sync::{Arc, Barrier};

    #[test]
    fn what_two_collections_have_found_is_old() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let header = Header::new(BehaviourId::SINK, None, 0);
        let mut all: Vec<*const u8> = Vec::new();
        for (number, old) in [(1, 0), (2, 10), (3, 20)] {
            for _ in 0..10 {
                let actor = heap.actor(header, Value::NIL).address_pointer();
                all.push(actor.cast());
            }
            all.iter()
                .for_each(|actor| assert!(mark(*actor, 1, number)));
            assert_eq!(bytes_of_old([&heap].into_iter(), number), old * GRANULE);
        }
    }

    /// Threads note neighbours after each of some collections, also those who have just begun.
    #[test]
    fn no_note_is_lost_where_several_note_in_one_block() {
        const EACH: usize = 3;
        let pool = Arc::new(BlockPool::default());
        let mut heaps = [(); 3].map(|()| Heap::new(pool.clone()));
        let header = Header::new(BehaviourId::SINK, None, 0);
        let actors: Vec<_> = (0..heaps.len() * EACH)
            .map(|_| heaps[0].actor(header, Value::NIL).address_pointer())
            .map(|actor| actor.cast::<u8>() as usize)
            .collect();
        let mut number = 0;
        for round in 0..if cfg!(miri) { 5 } else { 500 } {
            number = following(number, round % 7 != 0);
            pool.begins(number);
            heaps.iter_mut().for_each(|heap| heap.start_marking(number));
            for actor in &actors {
                mark(*actor as *const u8, 1, number);
            }
            pool.ends(number);
            for heap in &mut heaps {
                heap.sweep();
            }
            let all = Barrier::new(heaps.len());
            std::thread::scope(|scope| {
                for (n, heap) in heaps.iter_mut().enumerate() {
                    let (all, actors) = (&all, &actors);
                    scope.spawn(move || {
                        all.wait();
                        for actor in actors.iter().skip(n).step_by(3) {
                            heap.note_change(*actor as *const u8);
                        }
                    });
                }
            });
            let residents = Arc::new(Residents::of(number, heaps.iter()));
            let mut changed = Changed::new(residents, following(number, true));
            let mut shown = Vec::new();
            while changed.take(8, |actor| shown.push(actor as usize)) {}
            assert_eq!(shown, actors, "round {round}");
            // They are read before that collection ends.
            number = following(number, true);
        }
    }
}
