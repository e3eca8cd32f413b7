//! Adding, replacing and removing one entry: the way from the root to its leaf is copied.
//!
//! `None` always means that memory ran out.
use super::{Descent, Node, LEAST, WIDTH};
use crate::heap::Heap;
use crate::values::value::Value;

/// Entries that lie behind each other: keys, and as many items.
type KeyRun<'h> = (&'h [Value], &'h [Value]);

/// A node's level, and whether atoms may be among the keys from there on.
type Sort = (u8, bool);

/// The result of an edit of a node: one node, or two when it had too many entries.
#[derive(Clone, Copy)]
enum Grown {
    One(Value),
    Two(Value, Value),
}

/// The map with that value at that key, which stays the one that is there; `NONE` when the memory is exhausted.
pub(crate) fn put(heap: &mut Heap, map: Node<'_>, key: Value, value: Value) -> Value {
    set(heap, map, key, value, |there| Some(there.unwrap_or(key)))
}

/// Does what `put` does, if the key is there; `NONE` otherwise.
pub(crate) fn update(heap: &mut Heap, map: Node<'_>, key: Value, value: Value) -> Value {
    set(heap, map, key, value, |there| there)
}

/// Puts `value` under this very key: the one that is there may be another zero.
pub(crate) fn replace(heap: &mut Heap, map: Node<'_>, key: Value, value: Value) -> Value {
    set(heap, map, key, value, |_| Some(key))
}

/// Puts `value` under the key that `choose` makes of the one that is there, if any is: none, and there is no map.
#[inline(always)]
fn set(
    heap: &mut Heap,
    map: Node<'_>,
    key: Value,
    value: Value,
    choose: impl FnOnce(Option<Value>) -> Option<Value>,
) -> Value {
    let mut path = Descent::new();
    let leaf = path.descend(map, key, &mut heap.work);
    let named = key.as_atom();
    let found = match named.and_then(|_| heap.positions.of(key, leaf.keys)) {
        Some(at) => Ok(at),
        None => leaf.find(key, &mut heap.work),
    };
    let Some(key) = choose(found.ok().map(|at| leaf.keys[at])) else {
        return Value::NONE;
    };
    match found {
        // Nothing changes.
        Ok(at) if leaf.items[at] == value && leaf.keys[at] == key => map.value,
        // Most maps that are the state of an actor: one node, and nothing moves.
        Ok(at) if map.is_leaf() => with(heap, map, at, (&[key], &[value]), map.size),
        _ => set_below(heap, leaf, &mut path, found, (&[key], &[value])),
    }
}

/// Puts an entry into a leaf, where it was found or where it would be, and makes the nodes above anew.
#[inline(never)]
fn set_below(
    heap: &mut Heap,
    leaf: Node<'_>,
    path: &mut Descent<'_>,
    found: Result<usize, usize>,
    entry: KeyRun<'_>,
) -> Value {
    let (at, replaced) = match found {
        Ok(at) => (at, 1),
        Err(at) => (at, 0),
    };
    let added = 1 - replaced;
    up(|| {
        let mut made = splice(heap, leaf, at, replaced, entry, leaf.size + added)?;
        while let Some((parent, at)) = path.pop() {
            made = adopt(heap, parent, at, 1, made, parent.size + added)?;
        }
        root(heap, made)
    })
}

/// The map without that key; `NONE` when the memory is exhausted.
pub(crate) fn delete(heap: &mut Heap, map: Node<'_>, key: Value) -> Value {
    let mut path = Descent::new();
    let leaf = path.descend(map, key, &mut heap.work);
    let Ok(at) = leaf.find(key, &mut heap.work) else {
        return map.value;
    };
    up(|| {
        let mut made = splice(heap, leaf, at, 1, (&[], &[]), leaf.size - 1)?;
        while let Some((parent, at)) = path.pop() {
            let size = parent.size - 1;
            let small = match made {
                Grown::One(node) => Node::of(node).filter(|node| node.keys.len() < LEAST),
                Grown::Two(..) => None,
            };
            made = match small {
                // By invariant 3 the parent has another child.
                Some(node) if at > 0 => {
                    let joined = join(heap, parent.child(at - 1), node)?;
                    adopt(heap, parent, at - 1, 2, joined, size)?
                }
                Some(node) => {
                    let joined = join(heap, node, parent.child(1))?;
                    adopt(heap, parent, 0, 2, joined, size)?
                }
                None => adopt(heap, parent, at, 1, made, size)?,
            };
        }
        root(heap, made)
    })
}

fn up(change: impl FnOnce() -> Option<Value>) -> Value {
    change().unwrap_or(Value::NONE)
}

/// The topmost node of what was made.
fn root(heap: &mut Heap, made: Grown) -> Option<Value> {
    match made {
        Grown::Two(left, right) => {
            let children = [left, right];
            let [a, b] = children.map(|node| Node::of(node).map(|node| (node, node.keys[0])));
            let ((a, key_a), (b, key_b)) = (a?, b?);
            node(
                heap,
                // Halves of one node say the same.
                (a.level + 1, a.atoms),
                a.size + b.size,
                &[(&[key_a, key_b], &children)],
            )
        }
        Grown::One(mut value) => {
            while let Some(node) = Node::of(value).filter(|n| !n.is_leaf() && n.keys.len() == 1) {
                value = node.items[0];
            }
            Some(value)
        }
    }
}

/// `parent` with `made` in place of `replaced` children from `at` on.
fn adopt(
    heap: &mut Heap,
    parent: Node<'_>,
    at: usize,
    replaced: usize,
    made: Grown,
    size: usize,
) -> Option<Grown> {
    let lowest = |node| Some(Node::of(node)?.keys[0]);
    match made {
        Grown::One(one) => {
            let entry = (&[lowest(one)?][..], &[one][..]);
            splice(heap, parent, at, replaced, entry, size)
        }
        Grown::Two(one, two) => {
            let entries = (&[lowest(one)?, lowest(two)?][..], &[one, two][..]);
            splice(heap, parent, at, replaced, entries, size)
        }
    }
}

/// A node with `with` in place of `replaced` entries from `at` on.
fn splice(
    heap: &mut Heap,
    node: Node<'_>,
    at: usize,
    replaced: usize,
    with: KeyRun<'_>,
    size: usize,
) -> Option<Grown> {
    if replaced == with.0.len() {
        let made = self::with(heap, node, at, with, size);
        return (!made.is_none()).then_some(Grown::One(made));
    }
    let sort = (node.level, node.atoms || have_atoms(node.level, with));
    let before = (&node.keys[..at], &node.items[..at]);
    let behind = (&node.keys[at + replaced..], &node.items[at + replaced..]);
    pack(heap, sort, size, [before, with, behind])
}

/// A node with `run` in place of as many entries from `at` on: nothing moves. `NONE` when the memory is exhausted.
#[inline(always)]
fn with(heap: &mut Heap, node: Node<'_>, at: usize, run: KeyRun<'_>, size: usize) -> Value {
    let sort = (node.level, node.atoms || have_atoms(node.level, run));
    heap.map_node(sort, size, node.keys.len(), |entries| {
        entries.extend(node.keys, node.items);
        entries.replace(at, run);
    })
}

/// Two neighbours as one node if they fit, or as two of the same number of entries.
fn join(heap: &mut Heap, a: Node<'_>, b: Node<'_>) -> Option<Grown> {
    let runs = [(a.keys, a.items), (b.keys, b.items), (&[][..], &[][..])];
    pack(heap, (a.level, a.atoms || b.atoms), a.size + b.size, runs)
}

/// Returns whether atoms may be among the keys from there on.
fn have_atoms(level: u8, (keys, items): KeyRun<'_>) -> bool {
    match level {
        0 => keys.iter().any(|key| key.as_atom().is_some()),
        _ => (items.iter()).any(|child| Node::of(*child).is_some_and(|child| child.atoms)),
    }
}

fn pack(heap: &mut Heap, sort: Sort, size: usize, runs: [KeyRun<'_>; 3]) -> Option<Grown> {
    let count: usize = runs.iter().map(|run| run.0.len()).sum();
    if count <= WIDTH {
        return Some(Grown::One(node(heap, sort, size, &runs)?));
    }
    let half = count / 2;
    let left = runs_of(runs, 0, half);
    let right = runs_of(runs, half, count);
    let left_size = match sort.0 {
        0 => half,
        _ => sizes(&left),
    };
    Some(Grown::Two(
        node(heap, sort, left_size, &left)?,
        node(heap, sort, size - left_size, &right)?,
    ))
}

/// Returns the parts of the runs that lie between two positions in all of them together.
fn runs_of(runs: [KeyRun<'_>; 3], from: usize, to: usize) -> [KeyRun<'_>; 3] {
    let mut start = 0;
    runs.map(|(keys, items)| {
        let range =
            from.saturating_sub(start).min(keys.len())..to.saturating_sub(start).min(keys.len());
        start += keys.len();
        (&keys[range.clone()], &items[range])
    })
}

fn sizes(runs: &[KeyRun<'_>]) -> usize {
    let children = runs.iter().flat_map(|run| run.1);
    children
        .filter_map(|child| Node::of(*child))
        .map(|child| child.size)
        .sum()
}

fn node(heap: &mut Heap, sort: Sort, size: usize, runs: &[KeyRun<'_>]) -> Option<Value> {
    let count = runs.iter().map(|run| run.0.len()).sum();
    let made = heap.map_node(sort, size, count, |entries| {
        for (keys, items) in runs {
            entries.extend(keys, items);
        }
    });
    (!made.is_none()).then_some(made)
}
