//! Maps: reading, changing, and the ways from and to lists. What a map looks like inside is in crate::map.
use super::lists::{proper_length, Builder, Elements};
use crate::heap::Heap;
use crate::map::{self, entries, Node, FEW};
use crate::value::Value;

/// How many elements of a list an entry costs that has to find its place among others.
const SORTED: usize = 4;

/// `%{k1 => v1, …}` of a tuple `{k1, v1, …}`.
pub(crate) fn map_of(heap: &mut Heap, tuple: Value) -> Value {
    match tuple.as_tuple() {
        Some(parts) if parts.len().is_multiple_of(2) => {
            heap.work += parts.len();
            let pairs = parts.chunks_exact(2).map(|pair| (pair[0], pair[1]));
            map::from_puts(heap, pairs.collect())
        }
        _ => Value::NONE,
    }
}

/// `Map.get(map, key, default)`
#[inline(always)]
pub(crate) fn map_get(a: Value, key: Value, default: Value) -> Value {
    match Node::of(a) {
        Some(map) => map::get(map, key).unwrap_or(default),
        None => Value::NONE,
    }
}

/// `Map.fetch!(map, key)`: no answer without the key.
#[inline(always)]
pub(crate) fn map_fetch(a: Value, key: Value) -> Value {
    map_get(a, key, Value::NONE)
}

/// `Map.put(map, key, value)`
pub(crate) fn map_put(heap: &mut Heap, a: Value, key: Value, value: Value) -> Value {
    match Node::of(a) {
        Some(map) => map::put(heap, map, key, value),
        None => Value::NONE,
    }
}

/// `%{map | key => value}`: no answer without the key.
pub(crate) fn map_update(heap: &mut Heap, a: Value, key: Value, value: Value) -> Value {
    match Node::of(a) {
        Some(map) if map::get(map, key).is_some() => map::put(heap, map, key, value),
        _ => Value::NONE,
    }
}

/// `Map.delete(map, key)`
pub(crate) fn map_delete(heap: &mut Heap, a: Value, key: Value) -> Value {
    match Node::of(a) {
        Some(map) => map::delete(heap, map, key),
        None => Value::NONE,
    }
}

/// `Map.has_key?(map, key)`
pub(crate) fn map_has_key(a: Value, key: Value) -> Value {
    match Node::of(a) {
        Some(map) => Value::boolean(map::get(map, key).is_some()),
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
    let Some(n) = proper_length(a) else {
        return Value::NONE;
    };
    heap.work += n * SORTED;
    let pairs: Option<Vec<(Value, Value)>> = Elements::of(a)
        .map(|element| match element.as_tuple() {
            Some([key, value]) => Some((*key, *value)),
            _ => None,
        })
        .collect();
    match pairs {
        Some(pairs) => map::from_entries(heap, pairs),
        None => Value::NONE,
    }
}

/// `Map.merge(a, b)`: the values of `b` where both have a key.
pub(crate) fn map_merge(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (Node::of(a), Node::of(b)) {
        (Some(a), Some(b)) => {
            // A few entries are put one by one.
            heap.work += (a.size + b.size).min(a.size.min(b.size) * SORTED * FEW);
            map::merge(heap, a, b)
        }
        _ => Value::NONE,
    }
}

/// `Enum.to_list(a)`: the pairs of a map in the order of the keys; a list, proper or not, is itself.
pub(crate) fn to_list(heap: &mut Heap, a: Value) -> Value {
    if a.is_cons() || a == Value::EMPTY_LIST {
        return a;
    }
    list(heap, a, |heap, key, value| {
        heap.tuple(2, |i| if i == 0 { key } else { value })
    })
}

fn list(heap: &mut Heap, a: Value, element: impl Fn(&mut Heap, Value, Value) -> Value) -> Value {
    let Some(map) = Node::of(a) else {
        return Value::NONE;
    };
    heap.work += map.size;
    let mut list = Builder::new();
    for (key, value) in entries(map) {
        let element = element(heap, key, value);
        if element.is_none() || list.push(heap, element).is_none() {
            return Value::NONE;
        }
    }
    list.finish(Value::EMPTY_LIST)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{elements, heap};
    use super::*;

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
                map_get(odd, key, key),
                map_fetch(odd, key),
                map_put(&mut heap, odd, key, key),
                map_update(&mut heap, odd, key, key),
                map_delete(&mut heap, odd, key),
                map_has_key(odd, key),
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
        assert!(to_list(&mut heap, improper) == improper);
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
        assert!(map_fetch(map, number(2)) == number(30));
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
        assert!(map_get(map, number(1), Value::NIL) == Value::UNDEFINED);
        assert!(map_get(map, number(2), Value::NIL) == Value::NIL);
        assert!(map_fetch(map, number(2)).is_none());
        assert!(map_update(&mut heap, map, number(2), number(1)).is_none());
        assert!(map_delete(&mut heap, map, number(2)) == map);
        assert!(map_has_key(map, number(2)) == Value::FALSE);
        // An integer is another key than the float that it equals.
        assert!(map_fetch(map, heap.float(1.0)).is_none());
        let again = map_put(&mut heap, map, number(1), Value::UNDEFINED);
        assert!(again == map, "nothing changed, nothing is copied");
    }
}
