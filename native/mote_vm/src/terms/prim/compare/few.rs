//! Tuples of few elements: most keys of maps, and most of what is sorted. They are compared without what a walk of any depth
//! needs.
//!
//! Invariants:
//! 1. The answer, and the number of elements that were looked at, are those of [`walk_counting`](super::walk_counting).
//! 2. At most [`FEW`] pairs of elements are looked at, so it does no harm that they are counted when all is over.
use super::pairs::Parts;
use super::{bytes_in_both, Comparison};
use crate::base::work::COPIED;
use crate::values::value::Value;
use std::cmp::Ordering;

/// The most elements, those of tuples within tuples among them.
const FEW: usize = 16;
/// Greatest depth of tuples in each other.
const LEVELS: usize = 3;

/// The answer, and how many elements were looked at, for tuples of one size whose first difference, if there is one, is that of two fixnums: most keys. `None` for others.
#[inline(always)]
pub(super) fn decided_by_fixnums(a: Value, b: Value) -> Option<(Ordering, usize)> {
    let (a, b) = (a.as_tuple()?, b.as_tuple()?);
    if a.len() != b.len() || a.len() > FEW {
        return None;
    }
    let mut at = 0;
    while at < a.len() {
        let (x, y) = (a[at], b[at]);
        at += 1;
        if x != y {
            // Tagging keeps the order.
            let order = (x.word() as i64).cmp(&(y.word() as i64));
            return Value::both_fixnum(x, y).then_some((order, at));
        }
    }
    Some((Ordering::Equal, at))
}

/// The answer, and how many elements were looked at; `None` for two values that are no tuples, or in which more may have to be
/// compared than a few leaves.
pub(super) fn few(a: Value, b: Value, question: Comparison) -> Option<(Ordering, usize)> {
    let mut looked_at = 0;
    let order = tuples(
        a.as_tuple()?,
        b.as_tuple()?,
        question,
        LEVELS - 1,
        &mut looked_at,
    )?;
    Some((order, looked_at))
}

fn tuples(
    a: &[Value],
    b: &[Value],
    question: Comparison,
    levels: usize,
    looked_at: &mut usize,
) -> Option<Ordering> {
    if a.len() != b.len() {
        return Some(a.len().cmp(&b.len()));
    }
    if *looked_at + a.len() > FEW {
        return None;
    }
    for (x, y) in a.iter().zip(b) {
        *looked_at += 1;
        let order = elements(*x, *y, question, levels, looked_at)?;
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}

#[inline(always)]
fn elements(
    x: Value,
    y: Value,
    question: Comparison,
    levels: usize,
    looked_at: &mut usize,
) -> Option<Ordering> {
    if x == y {
        return Some(Ordering::Equal);
    }
    if Value::both_fixnum(x, y) {
        // Tagging keeps the order.
        return Some((x.word() as i64).cmp(&(y.word() as i64)));
    }
    if !x.is_boxed() || !y.is_boxed() {
        let lists = x.is_cons() && y.is_cons();
        return (!lists).then(|| question.leaves(x, y));
    }
    if let (Some(x), Some(y)) = (x.as_tuple(), y.as_tuple()) {
        return match levels {
            0 => None,
            _ => tuples(x, y, question, levels - 1, looked_at),
        };
    }
    let is_leaf = Parts::of(x, y).is_none() && bytes_in_both(x, y) < COPIED;
    is_leaf.then(|| question.leaves(x, y))
}
