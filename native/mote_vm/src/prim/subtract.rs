//! `--`, the difference of two lists, in time linear in their lengths for the usual elements.
use super::compare::same;
use super::lists::{proper_length, Builder, Elements};
use crate::heap::Heap;
use crate::value::Value;
use rustc_hash::FxHashMap;

/// `left -- right`: for each element of `right`, the first `===` one in `left` goes. Shares what lies behind the last
/// element that went.
pub(crate) fn subtract(heap: &mut Heap, left: Value, right: Value) -> Value {
    if proper_length(left).is_none() {
        return Value::NONE;
    }
    let Some(mut unwanted) = Unwanted::of(right) else {
        return Value::NONE;
    };
    let mut list = Builder::new();
    let mut elements = Elements::of(left);
    while unwanted.count > 0 {
        let Some(element) = elements.next() else {
            break;
        };
        if !unwanted.take(element) && list.push(heap, element).is_none() {
            return Value::NONE;
        }
    }
    list.finish(elements.rest())
}

/// What `--` has still to remove. Immediate values are the same only as the same word, so those are counted in a
/// table; only others have to be searched one by one.
struct Unwanted {
    immediates: FxHashMap<Value, usize>,
    others: Vec<Value>,
    count: usize,
}

impl Unwanted {
    /// The elements of a proper list.
    fn of(list: Value) -> Option<Unwanted> {
        let mut unwanted = Unwanted {
            immediates: FxHashMap::default(),
            others: Vec::new(),
            count: 0,
        };
        let mut elements = Elements::of(list);
        for element in elements.by_ref() {
            unwanted.count += 1;
            if element.is_immediate() {
                *unwanted.immediates.entry(element).or_default() += 1;
            } else {
                unwanted.others.push(element);
            }
        }
        elements.ended_properly().then_some(unwanted)
    }

    /// Takes out one like `element`; whether there was one.
    fn take(&mut self, element: Value) -> bool {
        let found = if element.is_immediate() {
            match self.immediates.get_mut(&element) {
                Some(n) if *n > 0 => {
                    *n -= 1;
                    true
                }
                _ => false,
            }
        } else {
            // Whichever of several equal ones goes makes no difference.
            match self.others.iter().position(|other| same(*other, element)) {
                Some(at) => {
                    self.others.swap_remove(at);
                    true
                }
                None => false,
            }
        };
        self.count -= found as usize;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::lists::{from_slice, member, reverse};
    use super::super::testing::{elements, heap, model, model_of, Built, Model};
    use super::*;
    use proptest::prelude::*;

    fn list(heap: &mut Heap, numbers: &[i64]) -> Value {
        let values: Vec<Value> = numbers.iter().map(|n| Value::fixnum(*n)).collect();
        from_slice(heap, &values)
    }

    fn numbers(list: Value) -> Vec<i64> {
        let (elements, end) = elements(list);
        assert!(end == Value::EMPTY_LIST);
        elements.iter().map(|n| n.as_fixnum().unwrap()).collect()
    }

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
        let many = if cfg!(miri) { 500 } else { 1_000_000 };
        let mut heap = heap();
        let all: Vec<i64> = (0..many).collect();
        let left = list(&mut heap, &all);
        let backwards = reverse(&mut heap, left);
        assert!(subtract(&mut heap, left, backwards) == Value::EMPTY_LIST);
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
                prop_assert!(member(value, left_list) == Value::boolean(found));
            }
        }
    }
}
