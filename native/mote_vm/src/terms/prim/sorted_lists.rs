//! `Enum.sort/1` and `:lists.keysort/2`: lists in the order of terms.
//!
//! Invariants:
//! 1. What is equal keeps its order, so there is one answer, however it is found. Fixnums that are equal are the same value:
//!    those need not keep theirs.
//! 2. The turn has paid for n elements and for n log2 n steps before anything is compared. Comparisons that cost something of
//!    their own are those of [`sort_slowly`], one after the other: plain Elixir charges the same (lib/mote/total/sorting.ex).
//! 3. A list that is in order is the answer itself.
//! 4. What lies outside of the heap meanwhile is taken from the quota for as long: sorting takes long, and many threads may do so.
use super::build::COPIED;
use super::compare::{compare, less};
use super::lists::{from_slice, proper_length, Elements};
use super::packed::Packing;
use super::sorting::{sort_in_runs, sort_slowly, RUN};
use super::types::{as_binary, is_integer};
use crate::base::work::Work;
use crate::heap::Heap;
use crate::platform::prefetch::prefetch;
use crate::values::value::Value;
use std::cmp::Ordering;

/// An element, and what is compared of it first.
#[derive(Clone, Copy)]
struct Element<K> {
    key: K,
    whole: Value,
}

/// A short binary, and its first bytes as a number, which is in the same order as far as it goes.
#[derive(Clone, Copy)]
struct Text {
    beginning: u64,
    whole: Value,
}

/// So many tuples are compared by numbers: of fewer, making these takes longer than it saves.
const MANY: usize = 32;

/// `Enum.sort(list)`
pub(crate) fn sort(heap: &mut Heap, list: Value) -> Value {
    let in_order = |all: &mut Vec<Value>, heap: &mut Heap| {
        let merged = size_of_val(all.as_slice());
        if every(all, &mut heap.work, |value| value.is_fixnum())? {
            let run = |run: &mut [Value]| run.sort_unstable_by_key(tagged);
            let order = |a: &Value, b: &Value| tagged(a).cmp(&tagged(b));
            return heap.beside(merged, |heap| {
                sort_in_runs(all, &mut heap.work, run, order).ok()
            });
        }
        if every(all, &mut heap.work, |value| value.is_immediate())? {
            let run = |run: &mut [Value]| run.sort_by(immediates);
            return heap.beside(merged, |heap| {
                sort_in_runs(all, &mut heap.work, run, immediates).ok()
            });
        }
        if every(all, &mut heap.work, |value| short_text(value).is_some())? {
            return by_texts(heap, all, |value| value);
        }
        match packed(all, |value| value, &mut heap.work) {
            Some(packing) => by_numbers(heap, all, &packing, |value| value),
            None => heap.beside(merged, |heap| {
                sort_slowly(all, &mut heap.work, |a, b, work| compare(*a, *b, work)).ok()
            }),
        }
    };
    sorted(heap, list, in_order).unwrap_or(Value::NONE)
}

/// `:lists.keysort(n, list)`: tuples by their n-th elements. As in Erlang, a list of one may have anything in it.
pub(crate) fn keysort(heap: &mut Heap, n: Value, list: Value) -> Value {
    if !is_integer(n) || less(n, Value::fixnum(1), &mut heap.work) {
        return Value::NONE;
    }
    // What is beyond all fixnums is beyond the end of any tuple, too.
    let at = n.as_fixnum().map_or(usize::MAX, |n| n as usize) - 1;
    let key = |value: Value| value.as_tuple().and_then(|of| of.get(at)).copied();
    let in_order = |all: &mut Vec<Value>, heap: &mut Heap| {
        if !every(all, &mut heap.work, |value| key(value).is_some())? {
            return None;
        }
        let key = |value: Value| key(value).unwrap_or(Value::NIL);
        if every(all, &mut heap.work, |value| {
            short_text(key(value)).is_some()
        })? {
            return by_texts(heap, all, key);
        }
        if let Some(packing) = packed(all, key, &mut heap.work) {
            return by_numbers(heap, all, &packing, key);
        }
        let at_once = every(all, &mut heap.work, |value| key(value).is_immediate())?;
        by_keys(heap, all, key, |elements, work| match at_once {
            true => {
                let order = |a: &Element<Value>, b: &Element<Value>| immediates(&a.key, &b.key);
                sort_in_runs(elements, work, |run| run.sort_by(order), order).ok()
            }
            false => sort_slowly(elements, work, |a, b, work| compare(a.key, b.key, work)).ok(),
        })
    };
    sorted(heap, list, in_order).unwrap_or(Value::NONE)
}

/// The list of what `in_order` makes of the elements of a proper list. `None` for any other list, and where `in_order` says so.
fn sorted(
    heap: &mut Heap,
    list: Value,
    in_order: impl FnOnce(&mut Vec<Value>, &mut Heap) -> Option<()>,
) -> Option<Value> {
    let n = proper_length(list, &mut heap.work)?;
    if n < 2 {
        return Some(list);
    }
    let steps = n.saturating_mul(n.ilog2() as usize);
    heap.work.count(steps).ok()?;
    heap.beside(n * size_of::<Value>(), |heap| {
        let mut all = Vec::with_capacity(n);
        for element in Elements::of(list) {
            heap.work.pass(1).ok()?;
            if element.is_boxed() {
                // It is looked into soon.
                prefetch(element.boxed_pointer().cast());
            }
            all.push(element);
        }
        in_order(&mut all, heap)?;
        if heap.work.is_over() {
            return None;
        }
        let mut elements = Elements::of(list).zip(&all);
        let is_as_before =
            elements.all(|(before, now)| before == *now && heap.work.pass(1).is_ok());
        match is_as_before {
            true => Some(list),
            false => Some(from_slice(heap, &all)),
        }
    })
}

/// Whether it holds of all of them; `None` if the turn is to end.
fn every(all: &[Value], work: &mut Work, holds: impl Fn(Value) -> bool) -> Option<bool> {
    for some in all.chunks(RUN) {
        work.pass(some.len()).ok()?;
        if !some.iter().all(|value| holds(*value)) {
            return Some(false);
        }
    }
    Some(true)
}

/// Puts them in the order in which `sort` puts them with their keys. `None` if that says so, and where there is no memory.
fn by_keys<K: Copy>(
    heap: &mut Heap,
    all: &mut [Value],
    key: impl Fn(Value) -> K,
    sort: impl FnOnce(&mut Vec<Element<K>>, &mut Work) -> Option<()>,
) -> Option<()> {
    // And what is merged.
    let room = 2 * all.len() * size_of::<Element<K>>();
    heap.beside(room, |heap| {
        let mut elements = Vec::with_capacity(all.len());
        for some in all.chunks(RUN) {
            heap.work.pass(some.len()).ok()?;
            elements.extend(some.iter().map(|whole| Element {
                key: key(*whole),
                whole: *whole,
            }));
        }
        sort(&mut elements, &mut heap.work)?;
        for (some, sorted) in all.chunks_mut(RUN).zip(elements.chunks(RUN)) {
            heap.work.pass(some.len()).ok()?;
            for (place, element) in some.iter_mut().zip(sorted) {
                *place = element.whole;
            }
        }
        Some(())
    })
}

/// Puts them in the order of their short binaries.
fn by_texts(heap: &mut Heap, all: &mut [Value], text: impl Fn(Value) -> Value) -> Option<()> {
    let key = |value: Value| Text::of(text(value));
    let order = |a: &Element<Text>, b: &Element<Text>| a.key.cmp(&b.key);
    by_keys(heap, all, key, |elements, work| {
        sort_in_runs(elements, work, |run| run.sort_by(order), order).ok()
    })
}

/// The bytes of a binary of so few that comparing them costs nothing.
#[inline]
fn short_text<'h>(value: Value) -> Option<&'h [u8]> {
    as_binary(value).filter(|bytes| bytes.len() < COPIED)
}

impl Text {
    fn of(whole: Value) -> Text {
        let mut beginning = [0; size_of::<u64>()];
        for (to, from) in beginning.iter_mut().zip(short_text(whole).unwrap_or(&[])) {
            *to = *from;
        }
        Text {
            beginning: u64::from_be_bytes(beginning),
            whole,
        }
    }

    #[inline(always)]
    fn cmp(&self, other: &Text) -> Ordering {
        let bytes = |text: &Text| short_text(text.whole).unwrap_or(&[]);
        let first = self.beginning.cmp(&other.beginning);
        first.then_with(|| bytes(self).cmp(bytes(other)))
    }
}

/// How their keys are packed, if that is worth it.
fn packed(all: &[Value], key: impl Fn(Value) -> Value, work: &mut Work) -> Option<Packing> {
    match all.len() < MANY {
        true => None,
        false => Packing::of(all, key, work),
    }
}

/// Puts them in the order of tuples, where their numbers mostly tell.
fn by_numbers(
    heap: &mut Heap,
    all: &mut [Value],
    packing: &Packing,
    tuple: impl Fn(Value) -> Value,
) -> Option<()> {
    let number = |value: Value| packing.number(tuple(value));
    let order = |a: &Element<u64>, b: &Element<u64>, work: &mut Work| {
        if a.key == b.key {
            return compare(tuple(a.whole), tuple(b.whole), work);
        }
        // As many as a comparison of the tuples counts: invariant 2.
        let _ = work.count(packing.looked_at(a.key, b.key));
        a.key.cmp(&b.key)
    };
    by_keys(heap, all, number, |elements, work| {
        sort_slowly(elements, work, order).ok()
    })
}

/// A fixnum as a number: tagging keeps the order.
#[inline(always)]
fn tagged(fixnum: &Value) -> i64 {
    fixnum.word() as i64
}

/// Comparing two of these costs nothing.
#[inline(always)]
fn immediates(a: &Value, b: &Value) -> Ordering {
    if a.is_flonum() && b.is_flonum() {
        let order = a.flonum_value().partial_cmp(&b.flonum_value());
        // They are finite, so they compare.
        return order.unwrap_or(Ordering::Equal);
    }
    compare(*a, *b, &mut Work::free())
}

#[cfg(test)]
mod tests {
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

    /// As much as the comparisons of [`sort_slowly`] count, and what is paid before them.
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

    /// Also where their numbers are compared instead.
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
}
