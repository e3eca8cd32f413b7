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
//! 5. A node from which an atom can be reached as a key says so. One that says so need not have any: what was deleted still
//!    counts.
mod build;
mod edit;
mod texts;
mod tuples;
mod walk;

pub(crate) use build::{from_entries, from_pairs, from_puts, merge, FEW};
pub(crate) use edit::{delete, put, replace, update};
pub(crate) use walk::{entries, entries_after};

use crate::base::work::Work;
use crate::heap::cell::MAY_HAVE_ATOMS;
use crate::terms::prim::compare::key_order;
use crate::values::value::Value;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::marker::PhantomData;

/// The most entries of a node.
pub(crate) const WIDTH: usize = 32;
/// The fewest entries of a node that is not a root.
const LEAST: usize = 10;
/// More levels than any map has: with nodes of ten, memory ends first.
const LEVELS: usize = 18;

/// A map, or a node of one.
#[derive(Clone, Copy)]
pub(crate) struct Node<'h> {
    pub(crate) value: Value,
    pub(crate) level: u8,
    /// True if atoms may be among the keys of the map from here on.
    pub(crate) atoms: bool,
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
        let (class, size, keys, items) = value.as_map_node()?;
        Some(Node {
            value,
            level: class & !MAY_HAVE_ATOMS,
            atoms: class & MAY_HAVE_ATOMS != 0,
            size,
            keys,
            items,
        })
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.level == 0
    }

    /// Returns the position of that very word.
    #[inline(always)]
    fn position(self, key: Value) -> Option<usize> {
        self.keys.iter().position(|k| *k == key)
    }

    /// Returns the position of the key, or the one where it would be.
    fn find(self, key: Value, work: &mut Work) -> Result<usize, usize> {
        if self.keys.is_empty() {
            return Err(0);
        }
        // Comparing the names of atoms takes longer than comparing all words.
        let same = key.as_atom().and_then(|_| self.position(key));
        if let Some(at) = same {
            return Ok(at);
        }
        let (at, order) = match self.last_integer_up_to(key) {
            Some(at) => (at, in_order(self.keys[at]).cmp(&in_order(key))),
            None => {
                let (at, order) = self.search(key, work);
                (
                    at,
                    order.unwrap_or_else(|| key_order(self.keys[at], key, work)),
                )
            }
        };
        match order {
            Ordering::Equal => Ok(at),
            Ordering::Less => Err(at + 1),
            Ordering::Greater => Err(at),
        }
    }

    /// The last key that is not greater; the first if all are. There is one at least.
    #[inline(always)]
    fn last_up_to(self, key: Value, work: &mut Work) -> usize {
        match self.last_integer_up_to(key) {
            Some(at) => at,
            None => self.search(key, work).0,
        }
    }

    /// Finds the same for an integer, if there are only integers. None of the comparisons is a branch: half of them would be
    /// guessed wrong.
    #[inline(always)]
    fn last_integer_up_to(self, key: Value) -> Option<usize> {
        let (first, last) = (self.keys.first()?, self.keys.last()?);
        // Between two fixnums there is nothing else.
        if !key.is_fixnum() || !Value::both_fixnum(*first, *last) {
            return None;
        }
        let (mut from, mut count) = (0, self.keys.len());
        let mut halve = || {
            let half = count / 2;
            // SAFETY: there are keys, and `from + count` never exceeds how many.
            let middle = unsafe { self.keys.get_unchecked(from + half) };
            let above = in_order(*middle) > in_order(key);
            from = select_unpredictable(above, from, from + half);
            count -= half;
        };
        // From WIDTH to 1, as often for any number: a loop would end unforeseen where nodes differ.
        if self.keys.len() > 8 {
            halve();
            halve();
        }
        halve();
        halve();
        halve();
        Some(from)
    }

    /// Finds what `last_up_to` finds. Also returns how that key compares with the one that is searched, if they have been
    /// compared.
    #[inline(never)]
    fn search(self, key: Value, work: &mut Work) -> (usize, Option<Ordering>) {
        match self.keys {
            [.., _] if self.is_below_atoms() && key.as_atom().is_some() => {
                (self.keys.len() - 1, None)
            }
            _ => {
                let quickly = self.last_text_up_to(key, work);
                let quickly = quickly.or_else(|| self.last_tuple_up_to(key, work));
                quickly.unwrap_or_else(|| self.last_in_order(key, work))
            }
        }
    }

    /// Returns whether all keys are fixnums, which come before all atoms.
    #[inline(always)]
    fn is_below_atoms(self) -> bool {
        self.keys.last().is_some_and(|last| last.is_fixnum())
    }

    #[inline(always)]
    fn last_in_order(self, key: Value, work: &mut Work) -> (usize, Option<Ordering>) {
        self.last_by(work, |other, work| key_order(other, key, work))
    }

    /// Does the same as `search`, where `order` says how one of the keys compares with the one that is searched.
    #[inline(always)]
    fn last_by(
        self,
        work: &mut Work,
        order: impl Fn(Value, &mut Work) -> Ordering,
    ) -> (usize, Option<Ordering>) {
        let (mut from, mut count) = (0, self.keys.len());
        let mut known = None;
        while count > 1 {
            let half = count / 2;
            match order(self.keys[from + half], work) {
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

/// Returns a number that is in the same order as the fixnum: tagging keeps it.
#[inline(always)]
fn in_order(fixnum: Value) -> i64 {
    fixnum.word() as i64
}

/// The value at a key.
#[inline(always)]
pub(crate) fn get(map: Node<'_>, key: Value, work: &mut Work) -> Option<Value> {
    match at_word(map, key, |keys| keys.iter().position(|k| *k == key)) {
        Some(found) => found,
        None => at_any(map, key, work),
    }
}

/// Does the same as `get`, for an atom in few entries, and for an integer that is compared with integers only: words are
/// enough. Returns `None` if they are not. `position` finds an atom among the keys of one node.
#[inline(always)]
pub(crate) fn at_word(
    map: Node<'_>,
    key: Value,
    position: impl FnOnce(&[Value]) -> Option<usize>,
) -> Option<Option<Value>> {
    if key.is_fixnum() {
        return at_integer(map, key);
    }
    key.as_atom()?;
    // Most maps that are asked for an atom which they do not have are asked whether they are structs.
    if !map.atoms {
        return Some(None);
    }
    // Their order is by name, which takes longer.
    map.is_leaf()
        .then(|| position(map.keys).map(|at| map.items[at]))
}

#[inline(always)]
fn at_integer(map: Node<'_>, key: Value) -> Option<Option<Value>> {
    let mut node = map;
    while !node.is_leaf() {
        node = Node::of(*node.items.get(node.last_integer_up_to(key)?)?)?;
    }
    // Where it is if the keys are consecutive.
    let near = (key.word().wrapping_sub(node.keys.first()?.word()) >> 1) as usize;
    if node.keys.get(near) == Some(&key) {
        return Some(Some(node.items[near]));
    }
    let at = node.last_integer_up_to(key)?;
    Some((node.keys.get(at) == Some(&key)).then(|| node.items[at]))
}

#[inline(never)]
fn at_any(map: Node<'_>, key: Value, work: &mut Work) -> Option<Value> {
    let mut node = map;
    while !node.is_leaf() {
        node = node.child(node.last_up_to(key, work));
    }
    let at = match key.as_atom() {
        Some(_) => node.keys.iter().position(|k| *k == key)?,
        None => node.find(key, work).ok()?,
    };
    Some(node.items[at])
}

/// The value at an atom of a map of few entries.
#[inline(always)]
pub(crate) fn named(map: Node<'_>, key: Value) -> Option<Value> {
    let at = map.position(key)?;
    map.is_leaf().then(|| map.items[at])
}

/// The nodes on the way down to a key, and which child was taken in each.
struct Descent<'h> {
    steps: SmallVec<[(Value, usize); LEVELS]>,
    map: PhantomData<Node<'h>>,
}

impl<'h> Descent<'h> {
    fn new() -> Descent<'h> {
        Descent {
            steps: SmallVec::new(),
            map: PhantomData,
        }
    }

    fn push(&mut self, node: Node<'h>, at: usize) {
        self.steps.push((node.value, at));
    }

    /// Goes down to the leaf of a key.
    #[inline(always)]
    fn descend(&mut self, map: Node<'h>, key: Value, work: &mut Work) -> Node<'h> {
        let mut node = map;
        while !node.is_leaf() {
            let at = node.last_up_to(key, work);
            self.push(node, at);
            node = node.child(at);
        }
        node
    }

    fn pop(&mut self) -> Option<(Node<'h>, usize)> {
        let (node, at) = self.steps.pop()?;
        Some((Node::of(node)?, at))
    }
}

#[cfg(test)]
mod tests;
