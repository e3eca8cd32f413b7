//! Keeps what an actor has become while a caller stood in, and forgets everything else that was made meanwhile. So a
//! question that changes an actor leaves as little behind as one that reads.
//!
//! What the actor holds is copied out, the heap goes back to where it was, and the copies go there, one after the other.
//!
//! Invariants:
//! 1. Everything that was made lies in one stretch of the heap, so what lies there is known by its address. Actors were not made,
//!    nor was anything armed (`footprints`).
//! 2. Only the one actor that became can have kept any of it. What was there before cannot point to what was made.
//! 3. The copies take no more room than the cells did, so there is room for them.
//! 4. Cells that others know of by more than their address are not copied: foreign values, of which the heap has a list, and slices,
//!    which point into another cell.
//! 5. Turns of that actor are this thread's alone: of a safe behaviour any thread may read what it holds, so then all of it stays
//!    (stand_in.rs).
use crate::heap::cell::cell_of;
use crate::heap::{Heap, HeapPosition};
use crate::values::actor::Actor;
use crate::values::value::Value;
use smallvec::SmallVec;
use std::ops::Range;

/// More is left where it is: copying it would take longer than the collector.
const MOST_CELLS: usize = 16;
const MOST_WORDS: usize = 256;
/// Words of a granule.
const GRANULE: usize = 2;

/// Forgets what was made since `position`, except what that actor holds, whose behaviour has `captures` captures. Returns
/// whether that was done: if what the actor holds cannot be copied, or is much, nothing is forgotten.
pub(super) fn forget_all_but(
    heap: &mut Heap,
    position: &HeapPosition,
    actor: &Actor,
    captures: usize,
) -> bool {
    try_to_forget(heap, position, actor, captures).is_some()
}

fn try_to_forget(
    heap: &mut Heap,
    position: &HeapPosition,
    actor: &Actor,
    captures: usize,
) -> Option<()> {
    let mut copies = Copies {
        made: heap.stretch_since(position)?,
        cells: SmallVec::new(),
        words: SmallVec::new(),
        parts: SmallVec::new(),
    };
    let state = copies.state(actor.state(), captures)?;
    copies.complete()?;
    heap.rewind(position);
    copies.put(heap);
    if state != actor.state() {
        actor.set(actor.header().behaviour(), state);
    }
    Some(())
}

struct Copies {
    /// The stretch of the heap that holds what was made. The first copy goes to the front of it.
    made: Range<u64>,
    /// The cells that were copied, and where among the words their copies begin.
    cells: SmallVec<[(u64, usize); MOST_CELLS]>,
    words: SmallVec<[u64; 32]>,
    /// The words that are values.
    parts: SmallVec<[Range<usize>; MOST_CELLS]>,
}

impl Copies {
    /// Returns the state of an actor with `captures` captures.
    fn state(&mut self, state: Value, captures: usize) -> Option<Value> {
        match captures {
            0 => Some(state),
            1 => self.value(state),
            _ if !self.made.contains(&state.word()) => Some(state),
            _ => {
                let row = self.copy(state.word(), captures, 0..captures)?;
                Some(Value::from_word(row))
            }
        }
    }

    /// Returns the value itself, or the copy of its cell.
    fn value(&mut self, value: Value) -> Option<Value> {
        let is_cell = !value.is_immediate() && !value.is_none();
        let cell = cell_of(value).expose_provenance() as u64;
        if !is_cell || !self.made.contains(&cell) {
            return Some(value);
        }
        let copy = match self.cells.iter().find(|(copied, _)| *copied == cell) {
            Some((_, at)) => self.place(*at),
            None if value.is_cons() => self.copy(cell, 2, 0..2)?,
            // Invariant 4.
            None if value.as_foreign().is_some() || value.sliced().is_some() => return None,
            None => {
                let parts = 1..1 + value.boxed_parts().len();
                self.copy(cell, GRANULE * value.boxed_granules(), parts)?
            }
        };
        Some(Value::from_word(value.word() - cell + copy))
    }

    /// Copies the words of a cell, of which `parts` are values. Returns where the copy will be.
    fn copy(&mut self, cell: u64, words: usize, parts: Range<usize>) -> Option<u64> {
        let at = self.words.len();
        if self.cells.len() == MOST_CELLS || at + words > MOST_WORDS {
            return None;
        }
        // SAFETY: a cell that something refers to, of so many words; see heap/cell.rs.
        let source = unsafe { std::slice::from_raw_parts(cell as *const u64, words) };
        self.words.extend_from_slice(source);
        // A row of captures may end in the middle of a granule.
        self.words
            .resize(self.words.len().next_multiple_of(GRANULE), 0);
        self.cells.push((cell, at));
        if !parts.is_empty() {
            self.parts.push(at + parts.start..at + parts.end);
        }
        Some(self.place(at))
    }

    fn place(&self, at: usize) -> u64 {
        self.made.start + (at * size_of::<u64>()) as u64
    }

    /// Copies what the copies refer to.
    fn complete(&mut self) -> Option<()> {
        let mut next = 0;
        while let Some(parts) = self.parts.get(next).cloned() {
            for at in parts {
                self.words[at] = self.value(Value::from_word(self.words[at]))?.word();
            }
            next += 1;
        }
        Some(())
    }

    /// Writes the copies to where they were said to be.
    fn put(self, heap: &mut Heap) {
        if self.words.is_empty() {
            return;
        }
        // Invariant 3.
        let place = heap.allocate(self.words.len() / GRANULE).expect("room");
        debug_assert_eq!(place.as_ptr().expose_provenance() as u64, self.made.start);
        // SAFETY: made for so many words just now.
        unsafe {
            std::ptr::copy_nonoverlapping(self.words.as_ptr(), place.as_ptr(), self.words.len())
        };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::block::BLOCK;
    use crate::testing::terms::uncounted::same;
    use crate::testing::terms::{list, model, numbers, Built, Model};
    use crate::values::actor::{BehaviourId, Header};
    use proptest::prelude::*;

    /// Returns the new state of an actor with these captures, some of which were there before.
    fn kept(built: &mut Built, captures: &[(Model, bool)]) -> Option<(Vec<Value>, u64)> {
        let n = captures.len();
        let old =
            |built: &mut Built, (model, is_old): &(Model, bool)| is_old.then(|| built.value(model));
        let olds: Vec<_> = captures.iter().map(|c| old(built, c)).collect();
        let header = Header::new(BehaviourId::SINK, None, 0);
        let actor = built.heap.actor(header, Value::NIL);
        // SAFETY: made just now.
        let actor = unsafe { &*actor.address_pointer() };
        built.heap.cons(Value::NIL, Value::NIL);
        let position = built.heap.position();
        // A message, and what it is answered with.
        list(&mut built.heap, &[1, 2, 3]);
        let pairs = captures.iter().zip(olds);
        let values: Vec<_> = pairs
            .map(|((model, _), old)| old.unwrap_or_else(|| built.value(model)))
            .collect();
        let state = built.heap.captures(n, |i| values[i]).expect("memory");
        actor.set(BehaviourId::SINK, state);
        list(&mut built.heap, &[4, 5, 6]);
        let was = built.heap.position();
        let forgotten = forget_all_but(&mut built.heap, &position, actor, n);
        let made = built.heap.stretch_since(&position).expect("one stretch");
        if !forgotten {
            // Nothing has changed.
            assert_eq!(actor.state(), state);
            assert_eq!(
                built
                    .heap
                    .stretch_since(&was)
                    .map(|rest| rest.start == rest.end),
                Some(true)
            );
            return None;
        }
        // What comes next does not touch what was kept.
        list(&mut built.heap, &[7; 500]);
        Some((actor.captured(n).collect(), made.end - made.start))
    }

    proptest! {
        #[test]
        fn what_it_holds_is_the_same_and_the_rest_is_forgotten(
            captures in prop::collection::vec((model(), any::<bool>()), 0..4)
        ) {
            let mut built = Built::new();
            let Some((values, bytes)) = kept(&mut built, &captures) else {
                return Ok(());
            };
            prop_assert!(bytes <= (MOST_WORDS * size_of::<u64>()) as u64);
            for (value, (model, _)) in values.into_iter().zip(&captures) {
                let again = built.value(model);
                prop_assert!(same(value, again), "{model:?}");
            }
        }
    }

    #[test]
    fn what_was_there_before_takes_no_room_again() {
        let few = || Model::Tuple(vec![Model::Int(1), Model::Int(2)]);
        let mut built = Built::new();
        let (_, nothing) = kept(&mut built, &[(Model::Int(7), false)]).expect("kept");
        let (_, row) = kept(&mut built, &[(few(), true), (few(), true)]).expect("kept");
        let (_, all) = kept(&mut built, &[(few(), true), (few(), false)]).expect("kept");
        assert_eq!((nothing, row, all), (0, 16, 48));
    }

    #[test]
    fn a_part_that_is_there_twice_is_copied_once() {
        let mut built = Built::new();
        let actor = built
            .heap
            .actor(Header::new(BehaviourId::SINK, None, 0), Value::NIL);
        // SAFETY: made just now.
        let actor = unsafe { &*actor.address_pointer() };
        built.heap.cons(Value::NIL, Value::NIL);
        let position = built.heap.position();
        let part = list(&mut built.heap, &[1]);
        let pair = built.heap.tuple(3, |_| part);
        actor.set(BehaviourId::SINK, pair);
        assert!(forget_all_but(&mut built.heap, &position, actor, 1));
        let parts = actor.state().as_tuple().expect("a tuple");
        assert!(parts.iter().all(|again| *again == parts[0]));
        assert_eq!(numbers(parts[0]), [1]);
    }

    #[test]
    fn what_is_known_by_more_than_its_address_stays_where_it_is() {
        let mut built = Built::new();
        assert!(kept(&mut built, &[(Model::Beyond(true), true)]).is_some());
        assert!(kept(&mut built, &[(Model::Beyond(true), false)]).is_none());
        let many = Model::Tuple(vec![Model::Int(1); MOST_WORDS]);
        assert!(kept(&mut built, &[(many.clone(), true)]).is_some());
        assert!(kept(&mut built, &[(many, false)]).is_none());
        let deep = Model::List(vec![Model::Int(1); MOST_CELLS + 1], None);
        assert!(kept(&mut built, &[(deep, false)]).is_none());
    }

    /// Cells are made partly in the next block.
    #[test]
    fn a_second_room_is_left_as_it_is() {
        let mut built = Built::new();
        let position = built.heap.position();
        list(&mut built.heap, &vec![1; BLOCK / 16]);
        assert!(built.heap.stretch_since(&position).is_none());
        let position = built.heap.position();
        assert!(built.heap.stretch_since(&position).is_some());
        built.heap.tuple(BLOCK, |_| Value::NIL);
        assert!(built.heap.stretch_since(&position).is_none());
    }
}
