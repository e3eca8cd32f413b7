//! Sums over one vector or two.
//!
//! Sums of floats are made in [`LANES`] lanes, the i-th of which adds every element whose index is i modulo their number,
//! and then the lanes from the first to the last; so the machine can add several at once, and every form gets the same sum.
use super::*;

/// Number of sums of floats that are made beside each other.
const LANES: usize = 8;

/// The sum of `term` over pairs of elements, in lanes; none if the turn is to end.
#[inline(always)]
fn lanes(
    heap: &mut Heap,
    x: &[[u8; ELEMENT]],
    y: &[[u8; ELEMENT]],
    term: impl Fn(f64, f64) -> f64,
) -> Value {
    let of = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e);
    let mut sums = [0.0; LANES];
    // A part has as many elements for each lane, but for the last one.
    const { assert!(ELEMENTS_AT_ONCE.is_multiple_of(LANES)) }
    for (x, y) in x.chunks(ELEMENTS_AT_ONCE).zip(y.chunks(ELEMENTS_AT_ONCE)) {
        if heap.work.pass(x.len()).is_err() {
            return Value::NONE;
        }
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        for (x, y) in x.iter().zip(y) {
            for i in 0..LANES {
                sums[i] += term(of(&x[i]), of(&y[i]));
            }
        }
        for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
            sums[i] += term(of(x), of(y));
        }
    }
    float(heap, sums.into_iter().fold(0.0, |sum, lane| sum + lane))
}

/// The sum of `term` over pairs of integers, which may be large in between; none if the turn is to end.
#[inline(always)]
fn exact(
    heap: &mut Heap,
    x: &[[u8; ELEMENT]],
    y: &[[u8; ELEMENT]],
    term: impl Fn(i128, i128) -> i128,
) -> Value {
    let of = |e: &[u8; ELEMENT]| i128::from(i64::from_le_bytes(*e));
    let mut sum = 0i128;
    for (x, y) in x.chunks(ELEMENTS_AT_ONCE).zip(y.chunks(ELEMENTS_AT_ONCE)) {
        let mut terms = x.iter().zip(y).map(|(x, y)| term(of(x), of(y)));
        match terms.try_fold(sum, i128::checked_add) {
            Some(more) if heap.work.pass(x.len()).is_ok() => sum = more,
            _ => return Value::NONE,
        }
    }
    integer(heap, sum)
}

/// `Mote.Vector.dot(a, b)`, of vectors of one size.
pub(crate) fn vec_dot(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (walked(heap, a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => lanes(heap, x, y, |x, y| x * y),
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            exact(heap, x, y, |x, y| x * y)
        }
        _ => Value::NONE,
    }
}

/// `Mote.Vector.squared_distance(a, b)`, of vectors of one size.
pub(crate) fn vec_distance(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (walked(heap, a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => {
            lanes(heap, x, y, |x, y| (x - y) * (x - y))
        }
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            exact(heap, x, y, |x, y| {
                // The square of a difference of 65 bits does not fit.
                let difference = x - y;
                difference.checked_mul(difference).unwrap_or(i128::MAX)
            })
        }
        _ => Value::NONE,
    }
}

/// `Mote.Vector.sum(vector)`
pub(crate) fn vec_sum(heap: &mut Heap, a: Value) -> Value {
    match walked(heap, a) {
        Some(Floats(x)) => lanes(heap, x, x, |x, _| x),
        Some(Integers(x)) => exact(heap, x, x, |x, _| x),
        None => Value::NONE,
    }
}
