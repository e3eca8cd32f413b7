//! `--`, the difference of two lists.
//!
//! The elements to be removed are sorted, by a [`sketch`] that distinguishes most values quickly, and in their order where
//! their sketches are equal. So an element is found after some comparisons, however many look like it. Both sides pay for each element as for a
//! key of a map (weight.rs).
use super::compare::key_order;
use super::lists::{proper_length, Elements, ListBuilder};
use super::sorting::{push, sort_slowly};
use super::weight::place;
use crate::base::work::{Over, Work};
use crate::heap::Heap;
use crate::values::value::{Value, FLONUM_ZERO};
use rustc_hash::FxHasher;
use std::cmp::Ordering;
use std::hash::Hasher;

/// `left -- right`: for each element of `right`, the first `===` one in `left` goes. Shares what lies behind the last
/// element that went.
pub(crate) fn subtract(heap: &mut Heap, left: Value, right: Value) -> Value {
    if proper_length(left, &mut heap.work).is_none() {
        return Value::NONE;
    }
    let Some(mut unwanted) = Unwanted::of(right, heap) else {
        return Value::NONE;
    };
    let mut list = ListBuilder::new();
    let mut elements = Elements::of(left);
    while unwanted.count > 0 {
        let Some(element) = elements.next() else {
            break;
        };
        match unwanted.take(element, &mut heap.work) {
            Ok(true) => {}
            Ok(false) if list.push(heap, element).is_some() => {}
            _ => return Value::NONE,
        }
    }
    list.finish(elements.rest())
}

/// The elements that `--` has still to remove.
struct Unwanted {
    /// Elements in order, each once.
    all: Vec<ToRemove>,
    count: usize,
}

/// An element, and how many like it are still to be removed.
#[derive(Clone, Copy)]
struct ToRemove {
    sketch: u64,
    element: Value,
    left: usize,
}

impl ToRemove {
    fn order(&self, sketch: u64, element: Value, work: &mut Work) -> Ordering {
        let glance = self.sketch.cmp(&sketch);
        glance.then_with(|| key_order(self.element, element, work))
    }
}

impl Unwanted {
    /// The elements of a proper list. `None` for another, and if the turn is to end.
    fn of(list: Value, heap: &mut Heap) -> Option<Unwanted> {
        let mut all = Vec::new();
        let mut elements = Elements::of(list);
        for element in elements.by_ref() {
            heap.work.count(1).ok()?;
            place(element, &mut heap.work).ok()?;
            let sketch = sketch(element, DEPTH);
            let left = 1;
            push(
                heap,
                &mut all,
                ToRemove {
                    sketch,
                    element,
                    left,
                },
            )?;
        }
        if !elements.ended_properly() {
            return None;
        }
        let (count, work) = (all.len(), &mut heap.work);
        sort_slowly(&mut all, work, |a, b, work| {
            a.order(b.sketch, b.element, work)
        })
        .ok()?;
        all.dedup_by(|later, earlier| {
            let again =
                work.pass(1).is_ok() && earlier.order(later.sketch, later.element, work).is_eq();
            earlier.left += usize::from(again);
            again
        });
        (!work.is_over()).then_some(Unwanted { all, count })
    }

    /// Takes out one like `element`; whether there was one.
    fn take(&mut self, element: Value, work: &mut Work) -> Result<bool, Over> {
        work.pass(1)?;
        place(element, work)?;
        let sketch = sketch(element, DEPTH);
        let found = self
            .all
            .binary_search_by(|alike| alike.order(sketch, element, work));
        match found.map(|at| &mut self.all[at].left) {
            Ok(left) if *left > 0 => {
                *left -= 1;
                self.count -= 1;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Depth to which a sketch looks, and number of elements of each tuple and list that it looks at.
const DEPTH: u32 = 3;
const BREADTH: usize = 4;

/// A number that equal values have in common, and others rarely: what is seen at a glance.
fn sketch(value: Value, depth: u32) -> u64 {
    if value.is_immediate() {
        return value.word();
    }
    let mut hasher = FxHasher::default();
    if let Some(f) = value.as_float() {
        // Both zeros are one number here.
        if f == 0.0 {
            return FLONUM_ZERO;
        }
        hasher.write_u64(f.to_bits());
    } else if let Some(bytes) = value.as_bytes() {
        hasher.write_usize(bytes.len());
        hasher.write(&bytes[..bytes.len().min(32)]);
    } else if depth == 0 {
        return 0;
    } else if let Some(elements) = value.as_tuple() {
        hasher.write_usize(elements.len());
        for element in elements.iter().take(BREADTH) {
            hasher.write_u64(sketch(*element, depth - 1));
        }
    } else {
        for element in Elements::of(value).take(BREADTH) {
            hasher.write_u64(sketch(element, depth - 1));
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::lists::{from_slice, member, reverse};
    use super::*;
    use crate::testing::terms::uncounted::same;
    use crate::testing::terms::{elements, heap, list, model, model_of, numbers, Built, Model};
    use proptest::prelude::*;

    #[test]
    fn subtract_removes_the_first_of_each() {
        let mut heap = heap();
        let rows: [(&[i64], &[i64], &[i64]); 8] = [
            (&[1, 2, 1, 3, 1], &[1, 1], &[2, 3, 1]),
            (&[1, 2, 3], &[], &[1, 2, 3]),
            (&[1, 2, 3], &[4], &[1, 2, 3]),
            (&[1, 2, 3], &[3, 2, 1], &[]),
            (&[1, 2, 3, 4], &[2], &[1, 3, 4]),
            (&[1, 1], &[1, 1, 1], &[]),
            (&[], &[1], &[]),
            (&[5, 6], &[5], &[6]),
        ];
        for (left, right, expected) in rows {
            let (left, right) = (list(&mut heap, left), list(&mut heap, right));
            assert_eq!(numbers(subtract(&mut heap, left, right)), expected);
        }
        let proper = list(&mut heap, &[1]);
        let improper = heap.cons(Value::fixnum(1), Value::NIL);
        for (left, right) in [
            (improper, proper),
            (proper, improper),
            (improper, Value::EMPTY_LIST),
        ] {
            assert!(subtract(&mut heap, left, right).is_none());
        }
        assert!(subtract(&mut heap, proper, Value::NIL).is_none());
    }

    #[test]
    fn what_is_left_behind_the_last_removed_is_shared() {
        let mut heap = heap();
        let (left, right) = (list(&mut heap, &[1, 2, 3]), list(&mut heap, &[1]));
        let (_, rest) = left.as_cons().unwrap();
        assert!(subtract(&mut heap, left, right) == rest);
        assert!(subtract(&mut heap, left, Value::EMPTY_LIST) == left);
    }

    #[test]
    fn long_lists_take_linear_time() {
        // By pairs it would take minutes.
        let many = if cfg!(miri) { 500 } else { 300_000 };
        let mut heap = heap();
        let all: Vec<i64> = (0..many).collect();
        let left = list(&mut heap, &all);
        let backwards = reverse(&mut heap, left);
        assert!(subtract(&mut heap, left, backwards) == Value::EMPTY_LIST);
        let pairs = |heap: &mut Heap, from: i64| {
            let all = (from..from + many).map(|n| heap.tuple(2, |_| Value::fixnum(n)));
            let all: Vec<Value> = all.collect();
            from_slice(heap, &all)
        };
        let (left, right) = (pairs(&mut heap, 0), pairs(&mut heap, many / 2));
        let rest = subtract(&mut heap, left, right);
        assert_eq!(elements(rest).0.len(), many as usize / 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

        #[test]
        fn subtract_and_member_as_the_model_says(
            left in proptest::collection::vec(model(), 0..12),
            right in proptest::collection::vec(model(), 0..6),
        ) {
            let mut built = Built::new();
            let mut expected = left.clone();
            for unwanted in &right {
                if let Some(at) = expected.iter().position(|m| model_of::same(m, unwanted)) {
                    expected.remove(at);
                }
            }
            let [left_list, right_list, expected] =
                [left.clone(), right.clone(), expected].map(|m| built.value(&Model::List(m, None)));
            let answer = subtract(&mut built.heap, left_list, right_list);
            prop_assert!(same(answer, expected));
            for unwanted in &right {
                let found = left.iter().any(|m| model_of::same(m, unwanted));
                let value = built.value(unwanted);
                prop_assert!(member(&mut built.heap, value, left_list) == Value::boolean(found));
            }
        }
    }
}
