//! Savepoints against a model: what a heap forgets, whatever turns and stand-ins made before.
use super::block::{BlockPool, GRANULE, PAYLOAD};
use super::{Heap, HeapPosition, LEAST_WIDE};
use crate::values::foreign::LongBytes;
use crate::values::value::Value;
use proptest::prelude::*;
use std::sync::Arc;

/// A thing that a turn makes.
#[derive(Clone, Debug)]
enum Made {
    Cells(usize),
    Wide,
    Large,
    Foreign,
    Appended(usize),
}

#[derive(Clone, Debug)]
enum Step {
    /// A turn, and whether it commits.
    Turn(Vec<Made>, bool),
    /// A stand-in runs turns, and forgets what all of them made.
    StandIn(Vec<(Vec<Made>, bool)>),
}

fn makes() -> impl Strategy<Value = Vec<Made>> {
    let made = prop_oneof![
        4 => (1..40usize).prop_map(Made::Cells),
        1 => Just(Made::Wide),
        1 => Just(Made::Large),
        4 => Just(Made::Foreign),
        2 => (1..4usize).prop_map(Made::Appended),
    ];
    prop::collection::vec(made, 0..4)
}

fn step() -> impl Strategy<Value = Step> {
    let turn = || (makes(), any::<bool>());
    prop_oneof![
        3 => turn().prop_map(|(made, commits)| Step::Turn(made, commits)),
        1 => prop::collection::vec(turn(), 0..4).prop_map(Step::StandIn),
    ]
}

fn make(heap: &mut Heap, made: &Made) {
    match *made {
        Made::Cells(n) => (0..n).for_each(|_| {
            heap.cons(Value::NIL, Value::NIL);
        }),
        Made::Wide => {
            heap.allocate(LEAST_WIDE);
        }
        Made::Large => {
            heap.allocate(PAYLOAD / GRANULE + 1);
        }
        Made::Foreign => {
            heap.foreign(Arc::new(LongBytes(vec![7; 100].into())));
        }
        Made::Appended(times) => {
            let mut text = heap.owned_bytes(vec![1; 200]);
            for n in 0..times {
                let bytes = [text.as_binary().expect("a text"), &[n as u8]].concat();
                text = match heap.append(text, &[n as u8]) {
                    Some(longer) => longer,
                    None => heap.appended(text, bytes.clone()),
                };
                assert_eq!(text.as_binary(), Some(&bytes[..]));
            }
        }
    }
}

/// A turn as turns/turn.rs runs it.
fn turn(heap: &mut Heap, savepoint: &mut HeapPosition, made: &[Made], commits: bool) {
    heap.advance(savepoint);
    let before = heap.stamp();
    made.iter().for_each(|made| make(heap, made));
    if !commits {
        heap.rewind(savepoint);
        assert_eq!(heap.stamp(), before);
    }
}

proptest! {
    #[test]
    fn a_heap_forgets_what_was_made_since_and_nothing_else(steps in prop::collection::vec(step(), 1..30)) {
        let pool = Arc::new(BlockPool::default());
        let mut heap = Heap::new(pool.clone());
        // The first extent stays where it is forgotten, so there is one.
        heap.cons(Value::NIL, Value::NIL);
        let mut savepoint = heap.position();
        for step in steps {
            match step {
                Step::Turn(made, commits) => turn(&mut heap, &mut savepoint, &made, commits),
                Step::StandIn(turns) => {
                    let (position, before) = (heap.position(), heap.stamp());
                    for (made, commits) in turns {
                        turn(&mut heap, &mut savepoint, &made, commits);
                    }
                    heap.rewind(&position);
                    prop_assert_eq!(heap.stamp(), before);
                }
            }
        }
    }
}
