use super::*;
use crate::heap::block::BlockPool;
use crate::terms::prim::compare::compare;
use crate::testing::terms::{elements, heap, list, model, numbers, Built};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

    #[test]
    fn as_rust_sorts(models in proptest::collection::vec(model(), 0..40), pick: u64) {
        let mut built = Built::new();
        let all: Vec<Value> = models.iter().map(|model| built.value(model)).collect();
        // Some of them again, or with something before them that is often the same.
        let all: Vec<Value> = (all.iter().enumerate())
            .flat_map(|(i, value)| match (pick >> (i % 32)) & 3 {
                0 => vec![*value, all[0]],
                1 => vec![built.heap.tuple(2, |at| if at == 0 { Value::fixnum(i as i64 % 3) } else { *value })],
                _ => vec![*value],
            })
            .collect();
        let given = from_slice(&mut built.heap, &all);
        let mut expected = all.clone();
        expected.sort_by(|a, b| compare(*a, *b, &mut Work::free()));
        let answer = sort(&mut built.heap, given);
        prop_assert!(elements(answer) == (expected.clone(), Value::EMPTY_LIST));
        prop_assert!(sort(&mut built.heap, answer) == answer, "in order already");

        let pairs: Vec<Value> = (all.iter().enumerate())
            .map(|(i, value)| built.heap.tuple(2, |at| if at == 0 { Value::fixnum(i as i64) } else { *value }))
            .collect();
        let mut expected = pairs.clone();
        let second = |pair: &Value| pair.as_tuple().unwrap()[1];
        expected.sort_by(|a, b| compare(second(a), second(b), &mut Work::free()));
        let given = from_slice(&mut built.heap, &pairs);
        let answer = keysort(&mut built.heap, Value::fixnum(2), given);
        prop_assert!(elements(answer) == (expected, Value::EMPTY_LIST));
    }

    /// Some of them are as long as a comparison that costs something.
    #[test]
    fn binaries(texts in proptest::collection::vec(proptest::collection::vec(0u8..2, 0..COPIED + 4), 0..40), short: bool) {
        let mut heap = heap();
        let most = if short { COPIED - 1 } else { usize::MAX };
        let texts: Vec<&[u8]> = texts.iter().map(|text| &text[..text.len().min(most)]).collect();
        let all: Vec<Value> = texts.iter().map(|text| heap.bytes(text)).collect();
        let given = from_slice(&mut heap, &all);
        let bytes = |value: &Value| as_binary(*value).unwrap().to_vec();
        let sorted: Vec<Vec<u8>> = elements(sort(&mut heap, given)).0.iter().map(bytes).collect();
        let mut expected = texts.clone();
        expected.sort();
        prop_assert_eq!(&sorted, &expected);
        let pairs: Vec<Value> = (all.iter().enumerate())
            .map(|(i, text)| heap.tuple(2, |at| if at == 0 { Value::fixnum(i as i64) } else { *text }))
            .collect();
        let given = from_slice(&mut heap, &pairs);
        let sorted = elements(keysort(&mut heap, Value::fixnum(2), given)).0;
        let places: Vec<i64> = sorted.iter().map(|pair| pair.as_tuple().unwrap()[0].as_fixnum().unwrap()).collect();
        let mut expected: Vec<usize> = (0..texts.len()).collect();
        expected.sort_by_key(|i| texts[*i]);
        prop_assert!(places.iter().map(|i| *i as usize).eq(expected));
    }

    #[test]
    fn integers_and_floats(ints in proptest::collection::vec(-9i64..9, 0..300), float in 0usize..300) {
        let mut heap = heap();
        let given = list(&mut heap, &ints);
        let mut expected = ints.clone();
        expected.sort();
        prop_assert_eq!(numbers(sort(&mut heap, given)), &*expected);
        // One of them as a float: it stays where it was among its equals.
        let values: Vec<Value> = (ints.iter().enumerate())
            .map(|(i, n)| if i == float { Value::flonum(*n as f64).unwrap_or(Value::fixnum(*n)) } else { Value::fixnum(*n) })
            .collect();
        let given = from_slice(&mut heap, &values);
        let mut expected = values.clone();
        expected.sort_by(|a, b| compare(*a, *b, &mut Work::free()));
        prop_assert!(elements(sort(&mut heap, given)).0 == expected);
    }
}

#[test]
fn what_has_no_answer() {
    let mut heap = heap();
    let (one, two) = (Value::fixnum(1), Value::fixnum(2));
    let improper = heap.cons(one, two);
    for odd in [improper, one, Value::NIL] {
        assert!(sort(&mut heap, odd).is_none() && keysort(&mut heap, one, odd).is_none());
    }
    let single = list(&mut heap, &[7]);
    assert!(sort(&mut heap, single) == single && keysort(&mut heap, two, single) == single);
    let (pair, unit) = (heap.tuple(2, |_| one), heap.tuple(1, |_| one));
    let short = from_slice(&mut heap, &[pair, unit]);
    assert!(keysort(&mut heap, two, short).is_none());
    assert!(!keysort(&mut heap, one, short).is_none());
    for place in [0, -1, i64::MIN >> 2].map(Value::fixnum) {
        assert!(keysort(&mut heap, place, Value::EMPTY_LIST).is_none());
    }
    let float = Value::flonum(1.0).unwrap();
    assert!(keysort(&mut heap, float, short).is_none());
}

/// Sorting costs as much as the comparisons of [`sort_slowly`] count, and what is paid before them.
#[test]
fn what_comparisons_cost() {
    let mut heap = heap();
    let pairs =
        [(2, 1), (1, 2), (1, 1)].map(|(a, b)| heap.tuple(2, |at| Value::fixnum([a, b][at])));
    let given = from_slice(&mut heap, &pairs);
    heap.work.allow(1000);
    let answer = sort(&mut heap, given);
    assert!(elements(answer).0 == [pairs[2], pairs[1], pairs[0]]);
    // Three elements, three steps; (2, 1) and (1, 2) differ at once, as (2, 1) and (1, 1) do; the others at the second.
    assert_eq!(heap.work.counted(), 3 + 3 + 1 + 1 + 2);
}

/// Sorting costs the same where numbers are compared in place of tuples.
#[test]
fn comparisons_of_tuples_cost_the_same_in_any_number() {
    let mut heap = heap();
    for n in [2, MANY - 1, MANY, 10 * MANY] {
        let number = |n: usize| Value::fixnum(n as i64);
        let tuples: Vec<Value> = (0..n)
            .map(|i| {
                let inner = heap.tuple(2, |at| number([i * 7 % 3, i % 2][at]));
                let elements = [number(i * 17 % 5), inner, number(i * 11 % 13)];
                heap.tuple(3, |at| elements[at])
            })
            .collect();
        let (mut expected, mut compared) = (tuples.clone(), Work::free());
        let in_order = sort_slowly(&mut expected, &mut compared, |a, b, work| {
            compare(*a, *b, work)
        });
        assert!(in_order.is_ok());
        let cost = n + n * n.ilog2() as usize + compared.counted();
        let given = from_slice(&mut heap, &tuples);
        heap.work.allow(u64::MAX);
        assert!(elements(sort(&mut heap, given)).0 == expected);
        assert_eq!(heap.work.counted(), cost, "{n}");
        let whole: Vec<Value> = (tuples.iter()).map(|key| heap.tuple(1, |_| *key)).collect();
        let given = from_slice(&mut heap, &whole);
        heap.work.allow(u64::MAX);
        let sorted = elements(keysort(&mut heap, number(1), given)).0;
        assert!(sorted
            .iter()
            .map(|whole| whole.as_tuple().unwrap()[0])
            .eq(expected));
        assert_eq!(heap.work.counted(), cost, "{n} keys");
    }
}

/// Invariant 4, at its most: the elements, and twice with their keys.
#[test]
fn what_lies_outside_of_the_heap_counts_meanwhile() {
    let (pool, n) = (Arc::new(BlockPool::default()), 1_000);
    let mut heap = Heap::new(pool.clone());
    let given = list(&mut heap, &(0..n as i64).rev().collect::<Vec<i64>>());
    let (before, mut meanwhile) = (pool.quota.held(), 0);
    let answer = sorted(&mut heap, given, |all, heap| {
        by_keys(
            heap,
            all,
            |value| value,
            |_, _| {
                meanwhile = pool.quota.held();
                Some(())
            },
        )
    });
    assert!(answer == Some(given));
    let outside = n * size_of::<Value>() + 2 * n * size_of::<Element<Value>>();
    assert_eq!(meanwhile, before + outside);
    assert_eq!(pool.quota.held(), before);
    assert!(sorted(&mut heap, given, |_, _| None).is_none());
    assert_eq!(pool.quota.held(), before, "also without an answer");
}

#[test]
fn long_lists() {
    let many: i64 = if cfg!(miri) { 500 } else { 300_000 };
    let mut heap = heap();
    let scattered = |i: i64| i * 7_919 % many;
    let all: Vec<i64> = (0..many).map(scattered).collect();
    let given = list(&mut heap, &all);
    let mut expected = all.clone();
    expected.sort();
    assert!(numbers(sort(&mut heap, given)) == expected);
    let pairs: Vec<Value> = (all.iter())
        .map(|n| heap.tuple(2, |at| Value::fixnum(if at == 0 { n / 2 } else { *n })))
        .collect();
    let given = from_slice(&mut heap, &pairs);
    for sorted in [
        sort(&mut heap, given),
        keysort(&mut heap, Value::fixnum(1), given),
    ] {
        let keys = elements(sorted)
            .0
            .into_iter()
            .map(|pair| pair.as_tuple().unwrap()[0]);
        let keys: Vec<i64> = keys.map(|key| key.as_fixnum().unwrap()).collect();
        assert!(keys.is_sorted() && keys.len() == all.len());
    }
}
