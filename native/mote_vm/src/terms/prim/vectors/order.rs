//! The least and the greatest element, and vectors in order.
use super::super::sorting::sort_in_runs;
use super::kernels::{Packed, Stored};
use super::*;
use crate::base::work::Work;
use std::cmp::Ordering;

/// Returns the position of the first of the least elements, or of the greatest. Returns `None` for no elements, or odd ones,
/// and if the turn is to end.
fn extreme(work: &mut Work, vector: Vector<'_>, greatest: bool) -> Option<usize> {
    fn first<T: Packed + PartialOrd>(
        work: &mut Work,
        all: &[Stored],
        greatest: bool,
        of: impl Fn(&[Stored], bool) -> Option<T>,
    ) -> Option<usize> {
        let mut found: Option<(usize, T)> = None;
        for (part, some) in all.chunks(ELEMENTS_AT_ONCE).enumerate() {
            work.pass(some.len()).ok()?;
            let x = of(some, greatest)?;
            let better = |best: &T| if greatest { *best < x } else { x < *best };
            if found.as_ref().is_none_or(|(_, best)| better(best)) {
                let i = some.iter().position(|e| T::load(*e) == x)?;
                found = Some((part * ELEMENTS_AT_ONCE + i, x));
            }
        }
        found.map(|(i, _)| i)
    }
    match vector {
        Floats(x) => first(work, x, greatest, kernels::extreme_float),
        Integers(x) => first(work, x, greatest, |x, greatest| {
            Some(kernels::extreme_integer(x, greatest))
        }),
    }
}

/// The vector, and where that is.
fn extreme_of<'h>(heap: &mut Heap, a: Value, greatest: bool) -> Option<(Vector<'h>, usize)> {
    let vector = walked(heap, a)?;
    Some((vector, extreme(&mut heap.work, vector, greatest)?))
}

fn extreme_value(heap: &mut Heap, a: Value, greatest: bool) -> Value {
    match extreme_of(heap, a, greatest) {
        Some((vector, i)) => vector.value(heap, &vector.elements()[i]),
        None => Value::NONE,
    }
}

/// `Mote.Vector.min(vector)`
pub(crate) fn vec_min(heap: &mut Heap, a: Value) -> Value {
    extreme_value(heap, a, false)
}

/// `Mote.Vector.max(vector)`
pub(crate) fn vec_max(heap: &mut Heap, a: Value) -> Value {
    extreme_value(heap, a, true)
}

/// `Mote.Vector.argmin(vector)`: the index of the first of the least.
pub(crate) fn vec_argmin(heap: &mut Heap, a: Value) -> Value {
    or_none(extreme_of(heap, a, false).map(|(_, i)| Value::fixnum(i as i64)))
}

/// `Mote.Vector.argmax(vector)`
pub(crate) fn vec_argmax(heap: &mut Heap, a: Value) -> Value {
    or_none(extreme_of(heap, a, true).map(|(_, i)| Value::fixnum(i as i64)))
}

/// Returns the elements as numbers. Returns `None` for odd ones, and if the turn is to end.
fn numbers<T>(
    work: &mut Work,
    all: &[[u8; ELEMENT]],
    of: impl Fn(&[u8; ELEMENT]) -> Option<T>,
) -> Option<Vec<T>> {
    let mut numbers = Vec::with_capacity(all.len());
    for some in all.chunks(ELEMENTS_AT_ONCE) {
        work.pass(some.len()).ok()?;
        for element in some {
            numbers.push(of(element)?);
        }
    }
    Some(numbers)
}

/// `Mote.Vector.sort(vector)`: ascending, and stable for the two zeros.
pub(crate) fn vec_sort(heap: &mut Heap, a: Value) -> Value {
    let Some(vector) = Vector::of(a) else {
        return Value::NONE;
    };
    let n = vector.elements().len();
    let levels = n.checked_ilog2().unwrap_or(0) as usize;
    if pay(heap, n.saturating_mul(levels)).is_none() {
        return Value::NONE;
    }
    // The numbers, and what is merged.
    or_none(heap.beside(2 * n * ELEMENT, |heap| sorted(heap, &vector)))
}

fn sorted(heap: &mut Heap, vector: &Vector<'_>) -> Option<Value> {
    let n = vector.elements().len();
    Some(match vector {
        Floats(x) => {
            let finite = |e: &_| Some(f64::from_le_bytes(*e)).filter(|f| f.is_finite());
            let mut sorted = numbers(&mut heap.work, x, finite)?;
            // Finite floats always compare.
            let order = |x: &f64, y: &f64| x.partial_cmp(y).unwrap_or(Ordering::Equal);
            sort_in_runs(&mut sorted, &mut heap.work, |run| run.sort_by(order), order).ok()?;
            let parts = sorted.chunks(ELEMENTS_AT_ONCE);
            floats(heap, n, parts.map(|some| some.iter().copied()))
        }
        Integers(x) => {
            let mut sorted = numbers(&mut heap.work, x, |e| Some(i64::from_le_bytes(*e)))?;
            let work = &mut heap.work;
            sort_in_runs(&mut sorted, work, <[i64]>::sort_unstable, i64::cmp).ok()?;
            let parts = sorted.chunks(ELEMENTS_AT_ONCE);
            integers(heap, n, parts.map(|some| some.iter().copied().map(Some)))
        }
    })
}
