//! `Enum.sort/1` and `:lists.keysort/2`: lists in the order of terms.
//!
//! Invariants:
//! 1. What is equal keeps its order, so there is one answer, however it is found. Fixnums that are equal are the same value:
//!    those need not keep theirs.
//! 2. The turn has paid for n elements and for n log2 n steps before anything is compared. Comparisons that cost something of
//!    their own are those of [`sort_slowly`], one after the other: plain Elixir charges the same (lib/mote/total/sorting.ex).
//! 3. A list that is in order is the answer itself.
//! 4. What lies outside of the heap meanwhile is taken from the quota for as long: sorting takes long, and many threads may do so.
use super::compare::{compare, less};
use super::lists::{from_slice, proper_length, Elements};
use super::packed::Packing;
use super::sorting::{sort_in_runs, sort_slowly, RUN};
use super::types::{as_binary, is_integer};
use crate::base::work::Work;
use crate::base::work::COPIED;
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

/// The least number of tuples that are compared by numbers: for fewer, making these takes longer than it saves.
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

/// Returns whether `holds` is true of all values; `None` if the turn is to end.
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

/// Returns the packing of their keys, if that is worth it.
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
mod tests;
