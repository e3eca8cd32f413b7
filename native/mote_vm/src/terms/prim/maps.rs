//! Maps: reading, changing, and the ways from and to lists. crate::terms::map says what a map looks like inside.
//!
//! A caller that looks up a key pays for its weight first (weight.rs): keys without parts weigh nothing.
use super::lists::{Elements, ListBuilder};
use super::sorting::push;
use super::weight::{place, weigh, PLACED};
use crate::base::work::{Over, Work};
use crate::heap::Heap;
use crate::terms::map::{self, entries, Node, FEW};
use crate::values::value::Value;

/// The map, if it is one, in which a place for the key can be looked for: it is paid for.
#[inline(always)]
fn searched<'h>(a: Value, key: Value, work: &mut Work) -> Option<Node<'h>> {
    let map = Node::of(a)?;
    place(key, work).is_ok().then_some(map)
}

/// `%{k1 => v1, …}` of a tuple `{k1, v1, …}`.
pub(crate) fn map_of(heap: &mut Heap, tuple: Value) -> Value {
    match tuple.as_tuple() {
        Some(parts) if parts.len().is_multiple_of(2) => {
            let work = &mut heap.work;
            let mut keys = parts.iter().step_by(2);
            let paid = work.count(parts.len());
            if paid
                .and_then(|()| keys.try_for_each(|key| place(*key, work)))
                .is_err()
            {
                return Value::NONE;
            }
            let pairs = parts.chunks_exact(2).map(|pair| (pair[0], pair[1]));
            map::from_puts(heap, pairs.collect())
        }
        _ => Value::NONE,
    }
}

/// `Map.get(map, key, default)`
#[inline(always)]
pub(crate) fn map_get(work: &mut Work, a: Value, key: Value, default: Value) -> Value {
    match searched(a, key, work) {
        Some(map) => map::get(map, key, work).unwrap_or(default),
        None => Value::NONE,
    }
}

/// `Map.fetch!(map, key)`: no answer without the key.
#[inline(always)]
pub(crate) fn map_fetch(work: &mut Work, a: Value, key: Value) -> Value {
    map_get(work, a, key, Value::NONE)
}

/// `Map.put(map, key, value)`
pub(crate) fn map_put(heap: &mut Heap, a: Value, key: Value, value: Value) -> Value {
    match searched(a, key, &mut heap.work) {
        Some(map) => map::put(heap, map, key, value),
        None => Value::NONE,
    }
}

/// `%{map | key => value}`: no answer without the key.
pub(crate) fn map_update(heap: &mut Heap, a: Value, key: Value, value: Value) -> Value {
    match searched(a, key, &mut heap.work) {
        Some(map) => map::update(heap, map, key, value),
        None => Value::NONE,
    }
}

/// `Map.delete(map, key)`
pub(crate) fn map_delete(heap: &mut Heap, a: Value, key: Value) -> Value {
    match searched(a, key, &mut heap.work) {
        Some(map) => map::delete(heap, map, key),
        None => Value::NONE,
    }
}

/// `Map.has_key?(map, key)`
pub(crate) fn map_has_key(work: &mut Work, a: Value, key: Value) -> Value {
    match searched(a, key, work) {
        Some(map) => Value::boolean(map::get(map, key, work).is_some()),
        None => Value::NONE,
    }
}

/// `map_size(map)`
pub(crate) fn map_size(a: Value) -> Value {
    match Node::of(a) {
        Some(map) => Value::fixnum(map.size as i64),
        None => Value::NONE,
    }
}

/// `Map.keys(map)`, in their order.
pub(crate) fn map_keys(heap: &mut Heap, a: Value) -> Value {
    list(heap, a, |_, key, _| key)
}

/// `Map.values(map)`, in the order of their keys.
pub(crate) fn map_values(heap: &mut Heap, a: Value) -> Value {
    list(heap, a, |_, _, value| value)
}

/// `Map.new(pairs)`: a proper list of tuples of two, or a map, which is itself.
pub(crate) fn map_new(heap: &mut Heap, a: Value) -> Value {
    if Node::of(a).is_some() {
        return a;
    }
    match pairs(heap, a) {
        Some(pairs) => map::from_pairs(heap, pairs),
        None => Value::NONE,
    }
}

/// The pairs of a proper list. One that is odd is the last that is paid for.
fn pairs(heap: &mut Heap, list: Value) -> Option<Vec<(Value, Value)>> {
    let mut pairs = Vec::new();
    let mut elements = Elements::of(list);
    for element in elements.by_ref() {
        heap.work.count(PLACED).ok()?;
        match element.as_tuple() {
            Some([key, value]) => {
                place(*key, &mut heap.work).ok()?;
                push(heap, &mut pairs, (*key, *value))?;
            }
            _ => return None,
        }
    }
    elements.ended_properly().then_some(pairs)
}

/// `Map.merge(a, b)`: the values of `b` where both have a key.
pub(crate) fn map_merge(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (Node::of(a), Node::of(b)) {
        (Some(a), Some(b)) if merging(a, b, &mut heap.work).is_ok() => map::merge(heap, a, b),
        _ => Value::NONE,
    }
}

/// Pays for a merge: a few entries are put one by one, of many all are gone through.
fn merging(a: Node<'_>, b: Node<'_>, work: &mut Work) -> Result<(), Over> {
    work.count((a.size + b.size).min(a.size.min(b.size) * PLACED * FEW))?;
    let mut weighed = |map: Node<'_>, times| {
        entries(map).try_for_each(|(key, _)| match key.is_immediate() {
            true => work.pass(1),
            false => weigh(key, times, work),
        })
    };
    if b.size < a.size / FEW {
        weighed(b, PLACED)
    } else if a.size < b.size / FEW {
        weighed(a, PLACED)
    } else {
        weighed(a, 1)?;
        weighed(b, 1)
    }
}

/// `Map.to_list(a)`: the pairs of a map in the order of the keys.
pub(crate) fn to_list(heap: &mut Heap, a: Value) -> Value {
    list(heap, a, |heap, key, value| {
        heap.tuple(2, |i| if i == 0 { key } else { value })
    })
}

fn list(heap: &mut Heap, a: Value, element: impl Fn(&mut Heap, Value, Value) -> Value) -> Value {
    let Some(map) = Node::of(a).filter(|map| heap.work.count(map.size).is_ok()) else {
        return Value::NONE;
    };
    let mut list = ListBuilder::new();
    for (key, value) in entries(map) {
        let element = element(heap, key, value);
        if element.is_none() || list.push(heap, element).is_none() || heap.work.pass(1).is_err() {
            return Value::NONE;
        }
    }
    list.finish(Value::EMPTY_LIST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::{elements, heap};

    fn number(n: i64) -> Value {
        Value::fixnum(n)
    }

    #[test]
    fn what_is_no_map_has_no_answer() {
        let mut heap = heap();
        for odd in [
            Value::NIL,
            Value::EMPTY_LIST,
            number(1),
            heap.tuple(2, |_| Value::NIL),
        ] {
            let key = Value::TRUE;
            let empty = map_new(&mut heap, Value::EMPTY_LIST);
            for answer in [
                map_get(&mut heap.work, odd, key, key),
                map_fetch(&mut heap.work, odd, key),
                map_put(&mut heap, odd, key, key),
                map_update(&mut heap, odd, key, key),
                map_delete(&mut heap, odd, key),
                map_has_key(&mut heap.work, odd, key),
                map_size(odd),
                map_keys(&mut heap, odd),
                map_values(&mut heap, odd),
                map_merge(&mut heap, odd, empty),
                map_merge(&mut heap, empty, odd),
            ] {
                assert!(answer.is_none(), "{odd:?}");
            }
        }
        let improper = heap.cons(Value::NIL, Value::NIL);
        let triple = heap.tuple(3, number_at);
        let triples = heap.cons(triple, Value::EMPTY_LIST);
        for odd in [improper, triples, Value::NIL] {
            assert!(map_new(&mut heap, odd).is_none());
        }
        assert!(map_of(&mut heap, triple).is_none() && map_of(&mut heap, number(1)).is_none());
        assert!(to_list(&mut heap, number(1)).is_none());
        assert!(to_list(&mut heap, improper).is_none());
    }

    fn number_at(i: usize) -> Value {
        number(i as i64)
    }

    #[test]
    fn the_last_of_several_equal_keys_counts() {
        let mut heap = heap();
        let tuple = heap.tuple(6, |i| number([2, 10, 1, 20, 2, 30][i]));
        let map = map_of(&mut heap, tuple);
        assert!(map_size(map) == number(2));
        assert!(map_fetch(&mut heap.work, map, number(2)) == number(30));
        let keys = map_keys(&mut heap, map);
        assert!(elements(keys).0 == [number(1), number(2)]);
        let values = map_values(&mut heap, map);
        assert!(elements(values).0 == [number(20), number(30)]);
    }

    #[test]
    fn missing_keys() {
        let mut heap = heap();
        let empty = map_new(&mut heap, Value::EMPTY_LIST);
        let map = map_put(&mut heap, empty, number(1), Value::UNDEFINED);
        assert!(map_get(&mut heap.work, map, number(1), Value::NIL) == Value::UNDEFINED);
        assert!(map_get(&mut heap.work, map, number(2), Value::NIL) == Value::NIL);
        assert!(map_fetch(&mut heap.work, map, number(2)).is_none());
        assert!(map_update(&mut heap, map, number(2), number(1)).is_none());
        assert!(map_delete(&mut heap, map, number(2)) == map);
        assert!(map_has_key(&mut heap.work, map, number(2)) == Value::FALSE);
        // An integer is another key than the float that it equals.
        let float = heap.float(1.0);
        assert!(map_fetch(&mut heap.work, map, float).is_none());
        let again = map_put(&mut heap, map, number(1), Value::UNDEFINED);
        assert!(again == map, "nothing changed, nothing is copied");
    }
}
