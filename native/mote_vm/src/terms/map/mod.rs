//! Maps: persistent search trees of wide nodes, sorted by key.
//!
//! A map of up to [`WIDTH`] entries is one cell, a leaf: its keys in order, then its values. A larger one is a B+ tree
//! of such leaves; an inner node has the lowest key of each child, then the children. A change copies the nodes from the
//! root to one leaf and shares the rest with the map before.
//!
//! They are sorted trees rather than hash tries for four reasons. The machine and the reference iterate in the same order,
//! without knowing each other's hash. Maps compare by walking along two sorted sequences. No message can be made of keys that
//! collide. And a value that the machine cannot look into only needs to be comparable. Finding a key takes `log2(n)` comparisons
//! that are mostly within a few cache lines. A caller that looks up a key has paid for them (prim/weight.rs); if the heap's work
//! is used up meanwhile, the result means nothing.
//!
//! Invariants:
//! 1. The keys of a map are in ascending [`key_order`](crate::terms::prim::compare::key_order), no two of them equal.
//! 2. All leaves of a map have the same depth; a node's level is its distance from them.
//! 3. A node has at most [`WIDTH`] entries; one that is not a root has at least [`LEAST`]; an inner root has two.
//! 4. An inner node's keys are the lowest keys of its children, and its size the sum of theirs.
mod build;
mod edit;
mod walk;

pub(crate) use build::{from_entries, from_pairs, from_puts, merge, FEW};
pub(crate) use edit::{delete, put, replace};
pub(crate) use walk::entries;

use crate::base::work::Work;
use crate::terms::prim::compare::key_order;
use crate::values::value::Value;
use std::cmp::Ordering;
use std::marker::PhantomData;

/// The most entries of a node.
pub(crate) const WIDTH: usize = 32;
/// The fewest entries of a node that is not a root.
const LEAST: usize = 10;
/// This many keys are looked at together.
const STRIDE: usize = 8;
/// More levels than any map has: with nodes of ten, memory ends first.
const LEVELS: usize = 18;

/// A map, or a node of one.
#[derive(Clone, Copy)]
pub(crate) struct Node<'h> {
    pub(crate) value: Value,
    pub(crate) level: u8,
    /// Entries of the whole map from here on.
    pub(crate) size: usize,
    pub(crate) keys: &'h [Value],
    /// Values in a leaf, children in an inner node.
    pub(crate) items: &'h [Value],
}

impl<'h> Node<'h> {
    /// The map, if it is one.
    #[inline(always)]
    pub(crate) fn of(value: Value) -> Option<Node<'h>> {
        let (level, size, keys, items) = value.as_map_node()?;
        Some(Node {
            value,
            level,
            size,
            keys,
            items,
        })
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.level == 0
    }

    /// Where the key is, or where it would be.
    fn find(self, key: Value, work: &mut Work) -> Result<usize, usize> {
        if self.keys.is_empty() {
            return Err(0);
        }
        let (at, order) = self.search(key, work);
        match order.unwrap_or_else(|| key_order(self.keys[at], key, work)) {
            Ordering::Equal => Ok(at),
            Ordering::Less => Err(at + 1),
            Ordering::Greater => Err(at),
        }
    }

    /// The last key that is not greater; the first if all are. There is one at least.
    #[inline(always)]
    fn last_up_to(self, key: Value, work: &mut Work) -> usize {
        self.search(key, work).0
    }

    /// The same, and how that key compares with the one that is searched, if they have been compared.
    #[inline(always)]
    fn search(self, key: Value, work: &mut Work) -> (usize, Option<Ordering>) {
        match self.keys {
            // Between two fixnums there is nothing else, and tagging keeps their order.
            [first, .., last] if key.is_fixnum() && Value::both_fixnum(*first, *last) => {
                (last_word_up_to(self.keys, key), None)
            }
            [.., _] if self.is_below_atoms() && key.as_atom().is_some() => {
                (self.keys.len() - 1, None)
            }
            _ => self.last_in_order(key, work),
        }
    }

    /// Whether all keys are fixnums, which come before all atoms.
    #[inline(always)]
    fn is_below_atoms(self) -> bool {
        self.keys.last().is_some_and(|last| last.is_fixnum())
    }

    #[inline(always)]
    fn last_in_order(self, key: Value, work: &mut Work) -> (usize, Option<Ordering>) {
        let (mut from, mut count) = (0, self.keys.len());
        let mut known = None;
        while count > 1 {
            let half = count / 2;
            match key_order(self.keys[from + half], key, work) {
                Ordering::Equal => return (from + half, Some(Ordering::Equal)),
                Ordering::Less => {
                    from += half;
                    known = Some(Ordering::Less);
                }
                Ordering::Greater => {}
            }
            count -= half;
        }
        (from, known)
    }

    /// The child that has the key, if any has.
    #[inline(always)]
    fn child(self, at: usize) -> Node<'h> {
        match Node::of(self.items[at]) {
            Some(child) => child,
            None => unreachable!("an inner node has nodes as children"),
        }
    }
}

/// As `last_up_to`, where the words are in the order of the keys. First among every eighth, then among eight: so most
/// comparisons do not wait for each other, and none of them has to be guessed, as half of a binary search's would be.
#[inline(always)]
fn last_word_up_to(keys: &[Value], key: Value) -> usize {
    let up_to = |k: &Value| usize::from(k.word() as i64 <= key.word() as i64);
    let from = STRIDE
        * keys
            .iter()
            .step_by(STRIDE)
            .skip(1)
            .map(up_to)
            .sum::<usize>();
    let block = &keys[from..];
    let within: usize = match block.first_chunk::<STRIDE>() {
        Some(eight) => eight[1..].iter().map(up_to).sum(),
        None => block[1..].iter().map(up_to).sum(),
    };
    from + within
}

/// The value at a key.
#[inline(always)]
pub(crate) fn get(map: Node<'_>, key: Value, work: &mut Work) -> Option<Value> {
    let mut node = map;
    while !node.is_leaf() {
        node = node.child(node.last_up_to(key, work));
    }
    // Atoms are found as words; their order is by name, which takes longer. Most maps that are asked for one which they do
    // not have are asked whether they are structs.
    let at = if key.as_atom().is_some() {
        if node.is_below_atoms() {
            return None;
        }
        node.keys.iter().position(|k| *k == key)?
    } else if key.is_fixnum() && !node.keys.is_empty() {
        let at = node.last_up_to(key, work);
        (node.keys[at] == key).then_some(at)?
    } else {
        node.find(key, work).ok()?
    };
    Some(node.items[at])
}

/// The value at an atom of a map of few entries.
pub(crate) fn named(map: Node<'_>, key: Value) -> Option<Value> {
    let at = map.keys.iter().position(|k| *k == key)?;
    map.is_leaf().then(|| map.items[at])
}

/// The nodes on the way down to a key, and which child was taken in each.
struct Descent<'h> {
    steps: [(Value, usize); LEVELS],
    depth: usize,
    map: PhantomData<Node<'h>>,
}

impl<'h> Descent<'h> {
    fn new() -> Descent<'h> {
        Descent {
            steps: [(Value::NONE, 0); LEVELS],
            depth: 0,
            map: PhantomData,
        }
    }

    fn push(&mut self, node: Node<'h>, at: usize) {
        self.steps[self.depth] = (node.value, at);
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<(Node<'h>, usize)> {
        self.depth = self.depth.checked_sub(1)?;
        let (node, at) = self.steps[self.depth];
        Some((Node::of(node)?, at))
    }
}

#[cfg(test)]
mod tests;
