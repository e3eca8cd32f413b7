//! Maps from many entries at once: sorted, then packed level by level.
use super::{entries, get, put, replace, Node, WIDTH};
use crate::heap::Heap;
use crate::prim::compare::key_order;
use crate::value::Value;

/// A map is put together anew when the other one has more than one in that many of its entries.
pub(crate) const FEW: usize = 8;

/// A map of entries in any order; of several with the same key the last one counts, with its key: that may be another
/// zero. `NONE` when the memory is exhausted.
pub(crate) fn from_entries(heap: &mut Heap, all: Vec<(Value, Value)>) -> Value {
    build(heap, all, |_, later| later)
}

/// A map of entries that are put one after the other: of several with the same key the last one counts, but the key stays
/// the first one. `NONE` when the memory is exhausted.
pub(crate) fn from_puts(heap: &mut Heap, all: Vec<(Value, Value)>) -> Value {
    build(heap, all, |earlier, later| (earlier.0, later.1))
}

fn build(
    heap: &mut Heap,
    mut all: Vec<(Value, Value)>,
    choose: impl Fn((Value, Value), (Value, Value)) -> (Value, Value),
) -> Value {
    let ascending = all
        .windows(2)
        .all(|two| key_order(two[0].0, two[1].0).is_lt());
    if !ascending {
        // Stable, so that entries with the same key stay in order.
        all.sort_by(|a, b| key_order(a.0, b.0));
        all.dedup_by(|later, earlier| {
            let again = key_order(earlier.0, later.0).is_eq();
            if again {
                *earlier = choose(*earlier, *later);
            }
            again
        });
    }
    let (keys, items): (Vec<Value>, Vec<Value>) = all.into_iter().unzip();
    packed(heap, keys, items)
}

/// All entries of both; those of `b` count where both have a key, with their keys. `NONE` when the memory is exhausted.
pub(crate) fn merge(heap: &mut Heap, a: Node<'_>, b: Node<'_>) -> Value {
    if b.size < a.size / FEW {
        return entries(b).fold(a.value, |map, (key, value)| match Node::of(map) {
            Some(map) => replace(heap, map, key, value),
            None => Value::NONE,
        });
    }
    if a.size < b.size / FEW {
        return entries(a).fold(b.value, |map, (key, value)| match Node::of(map) {
            Some(map) if get(map, key).is_none() => put(heap, map, key, value),
            Some(map) => map.value,
            None => Value::NONE,
        });
    }
    let (mut keys, mut items) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (entries(a).peekable(), entries(b).peekable());
    while let (Some(l), Some(r)) = (left.peek(), right.peek()) {
        let order = key_order(l.0, r.0);
        let l = if order.is_le() { left.next() } else { None };
        let r = if order.is_ge() { right.next() } else { None };
        keys.extend(r.or(l).map(|entry| entry.0));
        items.extend(r.or(l).map(|entry| entry.1));
    }
    for (key, item) in left.chain(right) {
        keys.push(key);
        items.push(item);
    }
    packed(heap, keys, items)
}

/// A map of entries that are in order.
fn packed(heap: &mut Heap, mut keys: Vec<Value>, mut items: Vec<Value>) -> Value {
    let mut level = 0;
    loop {
        let count = keys.len();
        // At least one node; if several, then of nearly the same number of entries.
        let nodes = count.div_ceil(WIDTH).max(1);
        let (mut upper_keys, mut upper_items) = (Vec::new(), Vec::new());
        for i in 0..nodes {
            let range = count * i / nodes..count * (i + 1) / nodes;
            let (keys, items) = (&keys[range.clone()], &items[range]);
            let size = match level {
                0 => keys.len(),
                _ => items
                    .iter()
                    .filter_map(|child| Node::of(*child))
                    .map(|child| child.size)
                    .sum(),
            };
            let node = heap.map_node(level, size, keys.len(), |room| room.extend(keys, items));
            if node.is_none() || nodes == 1 {
                return node;
            }
            upper_keys.push(keys[0]);
            upper_items.push(node);
        }
        (keys, items) = (upper_keys, upper_items);
        level += 1;
    }
}
