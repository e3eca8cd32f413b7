//! The least and the greatest element, and vectors in order.
use super::super::sorting::sort_in_runs;
use super::*;
use crate::base::work::Over;
use std::cmp::Ordering;

/// Where the first of the least elements is, or of the greatest. `None` for no elements, or odd ones.
fn extreme(vector: Vector<'_>, greatest: bool) -> Option<usize> {
    fn first<T: PartialOrd + Copy>(all: impl Iterator<Item = T>, greatest: bool) -> Option<usize> {
        let better = |x: T, best: T| if greatest { best < x } else { x < best };
        let mut found: Option<(usize, T)> = None;
        for (i, x) in all.enumerate() {
            if found.is_none_or(|(_, best)| better(x, best)) {
                found = Some((i, x));
            }
        }
        found.map(|(i, _)| i)
    }
    match vector {
        Floats(x) => {
            let of = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e);
            let finite = x.iter().all(|e| of(e).is_finite());
            finite.then(|| first(x.iter().map(of), greatest)).flatten()
        }
        Integers(x) => first(x.iter().map(|e| i64::from_le_bytes(*e)), greatest),
    }
}

fn extreme_value(heap: &mut Heap, a: Value, greatest: bool) -> Value {
    let mut found = || {
        let vector = walked(heap, a)?;
        Some((vector, extreme(vector, greatest)?))
    };
    match found() {
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
    let index = walked(heap, a).and_then(|vector| extreme(vector, false));
    or_none(index.map(|i| Value::fixnum(i as i64)))
}

/// `Mote.Vector.argmax(vector)`
pub(crate) fn vec_argmax(heap: &mut Heap, a: Value) -> Value {
    let index = walked(heap, a).and_then(|vector| extreme(vector, true));
    or_none(index.map(|i| Value::fixnum(i as i64)))
}

/// `Mote.Vector.sort(vector)`: ascending, and stable for the two zeros.
pub(crate) fn vec_sort(heap: &mut Heap, a: Value) -> Value {
    let Some(vector) = Vector::of(a) else {
        return Value::NONE;
    };
    let n = vector.elements().len();
    // In order, and the bytes of that.
    let levels = n.checked_ilog2().unwrap_or(0) as usize;
    if pay(heap, n.saturating_mul(levels)).is_none() || !heap.fits(2 * n * ELEMENT) {
        return Value::NONE;
    }
    match vector {
        Floats(x) => {
            let mut sorted: Vec<f64> = x.iter().map(|e| f64::from_le_bytes(*e)).collect();
            if !sorted.iter().all(|f| f.is_finite()) {
                return Value::NONE;
            }
            // Finite floats always compare.
            let order = |x: &f64, y: &f64| x.partial_cmp(y).unwrap_or(Ordering::Equal);
            match sort_in_runs(&mut sorted, &mut heap.work, |run| run.sort_by(order), order) {
                Ok(()) => floats(heap, sorted.into_iter()),
                Err(Over) => Value::NONE,
            }
        }
        Integers(x) => {
            let mut sorted: Vec<i64> = x.iter().map(|e| i64::from_le_bytes(*e)).collect();
            match sort_in_runs(
                &mut sorted,
                &mut heap.work,
                <[i64]>::sort_unstable,
                i64::cmp,
            ) {
                Ok(()) => integers(heap, sorted.into_iter().map(Some)),
                Err(Over) => Value::NONE,
            }
        }
    }
}
