//! Maps from many entries at once: sorted, then packed level by level.
//!
//! Invariants:
//! 1. No node is looked into before it is certain that there was memory for it: a caller that puts entries one by one stops at
//!    the first that is refused.
use super::{entries, get, put, replace, Node, WIDTH};
use crate::base::work::{Over, Work};
use crate::heap::Heap;
use crate::terms::prim::compare::key_order;
use crate::terms::prim::sorting::{sort_in_runs, sort_slowly};
use crate::values::value::Value;
use std::cmp::Ordering;

/// A map is put together anew when the other one has more than one in this many of its entries.
pub(crate) const FEW: usize = 8;

type KeyAndItem = (Value, Value);

/// A map of what was accepted before, in any order, for which nobody pays; of several entries with the same key the last
/// one counts, with its key: that may be another zero. `NONE` when the memory is exhausted.
pub(crate) fn from_entries(heap: &mut Heap, all: Vec<KeyAndItem>) -> Value {
    let all = sorted(all, &mut Work::free(), |_, later| later);
    build(heap, all, |_, _| Ok(()))
}

/// The map of these pairs, made within a turn.
pub(crate) fn from_pairs(heap: &mut Heap, all: Vec<KeyAndItem>) -> Value {
    let all = sorted(all, &mut heap.work, |_, later| later);
    build(heap, all, within_turn)
}

/// A map of entries that are put one after the other: of several with the same key the last one counts, but the key stays
/// the first one. `NONE` when the memory is exhausted.
pub(crate) fn from_puts(heap: &mut Heap, all: Vec<KeyAndItem>) -> Value {
    let all = sorted(all, &mut heap.work, |earlier, later| (earlier.0, later.1));
    build(heap, all, within_turn)
}

fn sorted(
    mut all: Vec<KeyAndItem>,
    work: &mut Work,
    choose: impl Fn(KeyAndItem, KeyAndItem) -> KeyAndItem,
) -> Result<Vec<KeyAndItem>, Over> {
    let order = |a: &KeyAndItem, b: &KeyAndItem, work: &mut Work| key_order(a.0, b.0, work);
    let ascending = all
        .windows(2)
        .all(|two| work.pass(1).is_ok() && order(&two[0], &two[1], work).is_lt());
    if !ascending {
        // Stable, so that entries with the same key stay in order.
        match all
            .iter()
            .all(|entry| entry.0.is_immediate() && work.pass(1).is_ok())
        {
            true => {
                let order = |a: &KeyAndItem, b: &KeyAndItem| key_order(a.0, b.0, &mut Work::free());
                sort_in_runs(&mut all, work, |run| run.sort_by(order), order)?
            }
            false => sort_slowly(&mut all, work, order)?,
        }
        all.dedup_by(|later, earlier| {
            let again = work.pass(1).is_ok() && order(earlier, later, work).is_eq();
            if again {
                *earlier = choose(*earlier, *later);
            }
            again
        });
    }
    match work.is_over() {
        true => Err(Over),
        false => Ok(all),
    }
}

/// Counts steps, after which the turn may be to end.
type Pass = fn(&mut Heap, usize) -> Result<(), Over>;

fn within_turn(heap: &mut Heap, steps: usize) -> Result<(), Over> {
    heap.work.pass(steps)
}

fn build(heap: &mut Heap, all: Result<Vec<KeyAndItem>, Over>, pass: Pass) -> Value {
    match all {
        Ok(all) => packed(heap, all, pass),
        Err(Over) => Value::NONE,
    }
}

/// All entries of both; those of `b` count where both have a key, with their keys. `NONE` when the memory is exhausted.
pub(crate) fn merge(heap: &mut Heap, a: Node<'_>, b: Node<'_>) -> Value {
    if b.size < a.size / FEW {
        return put_each(heap, a, b, |heap, map, key, value| {
            replace(heap, map, key, value)
        });
    }
    if a.size < b.size / FEW {
        return put_each(heap, b, a, |heap, map, key, value| {
            match get(map, key, &mut heap.work) {
                None => put(heap, map, key, value),
                Some(_) => map.value,
            }
        });
    }
    let most = a.size + b.size;
    let both = heap.beside(most * size_of::<KeyAndItem>(), |heap| {
        Some(merge_entries(heap, a, b))
    });
    both.unwrap_or(Value::NONE)
}

fn merge_entries(heap: &mut Heap, a: Node<'_>, b: Node<'_>) -> Value {
    let mut all = Vec::with_capacity(a.size + b.size);
    let (mut left, mut right) = (entries(a).peekable(), entries(b).peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) => key_order(l.0, r.0, &mut heap.work),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return packed(heap, all, within_turn),
        };
        if heap.work.pass(1).is_err() {
            return Value::NONE;
        }
        let l = if order.is_le() { left.next() } else { None };
        let r = if order.is_ge() { right.next() } else { None };
        all.extend(r.or(l));
    }
}

/// The map with each of a few entries put to it in turn, as `put_one` does it.
fn put_each(
    heap: &mut Heap,
    mut map: Node<'_>,
    few: Node<'_>,
    put_one: impl Fn(&mut Heap, Node<'_>, Value, Value) -> Value,
) -> Value {
    for (key, value) in entries(few) {
        let made = put_one(heap, map, key, value);
        if made.is_none() || heap.work.pass(1).is_err() {
            return Value::NONE;
        }
        match Node::of(made) {
            Some(node) => map = node,
            None => unreachable!("a map with one entry more is a map"),
        }
    }
    map.value
}

/// A map of entries that are in order. `NONE` when the memory is exhausted, and if the turn is to end.
fn packed(heap: &mut Heap, mut all: Vec<KeyAndItem>, pass: Pass) -> Value {
    let mut level = 0;
    loop {
        let count = all.len();
        // At least one node; if several, then of nearly the same number of entries.
        let nodes = count.div_ceil(WIDTH).max(1);
        let mut upper = Vec::with_capacity(nodes);
        for i in 0..nodes {
            let some = &all[count * i / nodes..count * (i + 1) / nodes];
            let node = packed_node(heap, level, some);
            if node.is_none() || nodes == 1 {
                return node;
            }
            if pass(heap, some.len()).is_err() {
                return Value::NONE;
            }
            upper.push((some[0].0, node));
        }
        all = upper;
        level += 1;
    }
}

/// A node of entries that are in order: of values, or of the nodes below.
fn packed_node(heap: &mut Heap, level: u8, all: &[KeyAndItem]) -> Value {
    let below = || all.iter().filter_map(|(_, child)| Node::of(*child));
    let (size, atoms) = match level {
        0 => (
            all.len(),
            all.iter().any(|(key, _)| key.as_atom().is_some()),
        ),
        _ => (
            below().map(|child| child.size).sum(),
            below().any(|child| child.atoms),
        ),
    };
    let (mut keys, mut items) = ([Value::NIL; WIDTH], [Value::NIL; WIDTH]);
    for (i, (key, item)) in all.iter().enumerate() {
        (keys[i], items[i]) = (*key, *item);
    }
    heap.map_node((level, atoms), size, all.len(), |room| {
        room.extend(&keys[..all.len()], &items[..all.len()])
    })
}
