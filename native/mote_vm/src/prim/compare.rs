//! Equality and the order of all terms: `==`, `===`, `<`, `max` and so on.
//!
//! This is the walk through tuples, lists and maps; what it finds at their leaves is compared in order.rs, which also says
//! what the order is.
//!
//! Terms may be a million levels deep or long, so nothing here recurses; and they may share parts so that they would
//! be exponentially large written out, so long comparisons remember what they have compared.
//!
//! A turn pays for what is looked at: `work` grows by one for each element of tuples, lists (head and tail of each cell)
//! and maps that is compared with another one, up to the first difference, and by one for 32 bytes of two binaries.
//! What is one and the same cell is not looked into.
use super::build::COPIED;
use super::order::{key_leaves, leaves_equal, leaves_same, order};
use super::types::as_binary;
use crate::map::{entries, Node};
use crate::value::Value;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;

/// What is asked about two terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    /// Their order; `1 == 1.0`.
    Order,
    /// Their order as keys of maps: equal is the same, and integers come before floats.
    Key,
    /// Whether they are equal.
    Equal,
    /// Whether they are the same.
    Same,
}

impl Question {
    /// The answer for two leaves whose words differ.
    #[inline(always)]
    fn leaves(self, a: Value, b: Value, work: &mut usize) -> Ordering {
        if a.is_boxed() && b.is_boxed() {
            *work += bytes_in_both(a, b) / COPIED;
        }
        match self {
            Question::Order => order(a, b),
            Question::Key => key_leaves(a, b),
            Question::Equal => differing(!leaves_equal(a, b)),
            Question::Same => differing(!leaves_same(a, b)),
        }
    }
}

/// The order of all terms. `Equal` is Elixir's `==`.
#[inline(always)]
pub(crate) fn compare(a: Value, b: Value, work: &mut usize) -> Ordering {
    if Value::both_fixnum(a, b) {
        // Tagging keeps the order.
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    compare_slowly(a, b, work)
}

/// `a < b`
#[inline(always)]
pub(crate) fn less(a: Value, b: Value, work: &mut usize) -> bool {
    compare(a, b, work).is_lt()
}

/// `a == b`: `1 == 1.0`, also inside of tuples and lists.
#[inline(always)]
pub(crate) fn equal(a: Value, b: Value, work: &mut usize) -> bool {
    if a == b {
        return true;
    }
    if Value::both_fixnum(a, b) {
        return false;
    }
    equal_slowly(a, b, work)
}

/// `a === b`: the same type and value; floats by their bits.
#[inline(always)]
pub(crate) fn same(a: Value, b: Value, work: &mut usize) -> bool {
    if a == b {
        return true;
    }
    // What has no cell has one word only: other word, other value.
    if a.is_immediate() || b.is_immediate() {
        return false;
    }
    same_slowly(a, b, work)
}

/// The order of keys in a map. Equal keys are the same key. Nobody pays for it: how many keys are compared is the
/// business of the tree that they are in.
#[inline(always)]
pub(crate) fn key_order(a: Value, b: Value) -> Ordering {
    if Value::both_fixnum(a, b) {
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    walk(a, b, Question::Key, &mut 0)
}

/// The larger; the first if they are equal.
#[inline(always)]
pub(crate) fn max(a: Value, b: Value, work: &mut usize) -> Value {
    if less(a, b, work) {
        b
    } else {
        a
    }
}

/// The smaller; the first if they are equal.
#[inline(always)]
pub(crate) fn min(a: Value, b: Value, work: &mut usize) -> Value {
    if less(b, a, work) {
        b
    } else {
        a
    }
}

#[cold]
#[inline(never)]
fn compare_slowly(a: Value, b: Value, work: &mut usize) -> Ordering {
    walk(a, b, Question::Order, work)
}

#[cold]
#[inline(never)]
fn equal_slowly(a: Value, b: Value, work: &mut usize) -> bool {
    walk(a, b, Question::Equal, work).is_eq()
}

#[cold]
#[inline(never)]
fn same_slowly(a: Value, b: Value, work: &mut usize) -> bool {
    walk(a, b, Question::Same, work).is_eq()
}

/// Of two binaries the size of the shorter one; 0 of anything else.
fn bytes_in_both(a: Value, b: Value) -> usize {
    match (as_binary(a), as_binary(b)) {
        (Some(a), Some(b)) => a.len().min(b.len()),
        _ => 0,
    }
}

/// For questions that only tell equal from different, and not which is less.
fn differing(different: bool) -> Ordering {
    if different {
        Ordering::Less
    } else {
        Ordering::Equal
    }
}

/// How many elements a comparison looks at before it begins to remember what it has found equal.
const PATIENCE: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Of a list's spine, or a tower of last elements, one pair in so many is remembered.
const SPARSE: usize = 64;

/// Compares two terms depth first, from the left. The first difference is the answer.
#[inline]
fn walk(a: Value, b: Value, question: Question, work: &mut usize) -> Ordering {
    if a == b {
        Ordering::Equal
    } else if Parts::of(a, b).is_none() {
        // The usual case needs none of what follows.
        question.leaves(a, b, work)
    } else {
        walk_compound(a, b, question, work)
    }
}

/// Pairs of values that wait to be compared, from `at` on.
struct Pairs<'h> {
    left: Cow<'h, [Value]>,
    right: Cow<'h, [Value]>,
    at: usize,
    question: Question,
}

impl<'h> Pairs<'h> {
    #[inline(always)]
    fn new(left: Cow<'h, [Value]>, right: Cow<'h, [Value]>, question: Question) -> Pairs<'h> {
        let at = 0;
        Pairs {
            left,
            right,
            at,
            question,
        }
    }
}

/// [`walk`] for terms of any depth.
///
/// The stack is explicit, and grows only where something is left to compare behind a pair: a list's spine or a tower
/// of last elements costs none.
///
/// A pair that is remembered and met again was found equal before (it cannot be still open, for that would be a
/// cycle). So were two cells that were both found equal to a third: as many pairs are entered as there are cells, not
/// as there are pairs of them, even where sharing makes the written-out terms exponentially large.
///
/// Of two maps of the same size all keys come before all values, as in Elixir.
fn walk_compound(a: Value, b: Value, question: Question, work: &mut usize) -> Ordering {
    let mut looked_at = 0;
    let order = walk_counting(a, b, question, &mut looked_at);
    // The pair itself is no element of anything.
    *work += looked_at - 1;
    order
}

fn walk_counting(a: Value, b: Value, question: Question, looked_at: &mut usize) -> Ordering {
    let (a, b) = ([a], [b]);
    let mut pairs = Pairs::new(Cow::Borrowed(&a), Cow::Borrowed(&b), question);
    let mut pending: Vec<Pairs> = Vec::new();
    let mut alike = Alike::default();
    loop {
        while pairs.at < pairs.left.len() {
            let (x, y) = (pairs.left[pairs.at], pairs.right[pairs.at]);
            pairs.at += 1;
            *looked_at += 1;
            if x == y {
                continue;
            }
            let question = pairs.question;
            let Some(parts) = Parts::of(x, y) else {
                match question.leaves(x, y, looked_at) {
                    Ordering::Equal => continue,
                    different => return different,
                }
            };
            let (n, m) = parts.sizes();
            if n != m {
                return n.cmp(&m);
            }
            let more = pairs.at < pairs.left.len();
            if *looked_at > PATIENCE {
                let branches = more || matches!(parts, Parts::Maps(..));
                if (branches || looked_at.is_multiple_of(SPARSE)) && !alike.join(x, y, question) {
                    continue;
                }
            }
            let inner = match parts {
                Parts::Cells(xs, ys) => Pairs::new(Cow::Borrowed(xs), Cow::Borrowed(ys), question),
                Parts::Maps(x, y) => {
                    let ((x_keys, x_values), (y_keys, y_values)) = (columns(x), columns(y));
                    if more {
                        pending.push(std::mem::replace(
                            &mut pairs,
                            Pairs::new(x_values, y_values, question),
                        ));
                    } else {
                        pairs = Pairs::new(x_values, y_values, question);
                    }
                    pending.push(std::mem::replace(
                        &mut pairs,
                        Pairs::new(x_keys, y_keys, Question::Key),
                    ));
                    continue;
                }
            };
            let rest = std::mem::replace(&mut pairs, inner);
            if more {
                pending.push(rest);
            }
        }
        match pending.pop() {
            Some(next) => pairs = next,
            None => return Ordering::Equal,
        }
    }
}

/// Cells that were found equal, in classes (union and find). What is equal for one question need not be for another.
#[derive(Default)]
struct Alike(FxHashMap<(Value, Question), Value>);

impl Alike {
    /// Makes one class of two; `false` if they are one already.
    fn join(&mut self, a: Value, b: Value, question: Question) -> bool {
        let (a, b) = (self.head(a, question), self.head(b, question));
        if a != b {
            self.0.insert((a, question), b);
        }
        a != b
    }

    /// The head of a value's class. Makes the way there shorter for those who come later.
    fn head(&mut self, value: Value, question: Question) -> Value {
        let mut at = value;
        while let Some(next) = self.0.get(&(at, question)).copied() {
            if let Some(beyond) = self.0.get(&(next, question)).copied() {
                self.0.insert((at, question), beyond);
            }
            at = next;
        }
        at
    }
}

/// The keys of a map in order, and their values.
fn columns<'h>(map: Node<'h>) -> (Cow<'h, [Value]>, Cow<'h, [Value]>) {
    if map.is_leaf() {
        return (Cow::Borrowed(map.keys), Cow::Borrowed(map.items));
    }
    let (keys, values): (Vec<Value>, Vec<Value>) = entries(map).unzip();
    (Cow::Owned(keys), Cow::Owned(values))
}

/// What is inside of two values of the same kind.
enum Parts<'h> {
    /// The elements of tuples, or head and tail of lists.
    Cells(&'h [Value], &'h [Value]),
    Maps(Node<'h>, Node<'h>),
}

impl<'h> Parts<'h> {
    #[inline(always)]
    fn of(a: Value, b: Value) -> Option<Parts<'h>> {
        if a.is_cons() && b.is_cons() {
            return Some(Parts::Cells(cell(a), cell(b)));
        }
        if !a.is_boxed() || !b.is_boxed() {
            return None;
        }
        if let Some(elements) = a.as_tuple() {
            return Some(Parts::Cells(elements, b.as_tuple()?));
        }
        Some(Parts::Maps(Node::of(a)?, Node::of(b)?))
    }

    #[inline(always)]
    fn sizes(&self) -> (usize, usize) {
        match self {
            Parts::Cells(a, b) => (a.len(), b.len()),
            Parts::Maps(a, b) => (a.size, b.size),
        }
    }
}

/// Head and tail of a value known to be a non-empty list.
#[inline(always)]
fn cell<'h>(list: Value) -> &'h [Value] {
    // SAFETY: a list cell is two values; the pointer is good by value.rs, invariant 1 (see the head of heap/cell.rs).
    unsafe { std::slice::from_raw_parts(list.cons_pointer(), 2) }
}

#[cfg(test)]
mod tests;
