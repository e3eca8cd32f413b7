//! Sums over one vector or two.
//!
//! Sums of floats are made in [`LANES`](kernels::LANES) lanes, the i-th of which adds every element whose index is i modulo their number,
//! and then the lanes from the first to the last; so the machine can add several at once, and every form gets the same sum.
use super::kernels::{Packed, Stored, LANES};
use super::*;

/// The sum of `term` over pairs of elements, in lanes; none if the turn is to end.
#[inline(always)]
fn lanes(heap: &mut Heap, x: &[Stored], y: &[Stored], term: impl Fn(f64, f64) -> f64) -> Value {
    let mut sums = [0.0; LANES];
    // A part has as many elements for each lane, but for the last one.
    const { assert!(ELEMENTS_AT_ONCE.is_multiple_of(LANES)) }
    for (x, y) in x.chunks(ELEMENTS_AT_ONCE).zip(y.chunks(ELEMENTS_AT_ONCE)) {
        if heap.work.pass(x.len()).is_err() {
            return Value::NONE;
        }
        kernels::add_lanes(x, y, &mut sums, &term);
    }
    float(heap, sums.into_iter().fold(0.0, |sum, lane| sum + lane))
}

/// The sum of what `part` makes of parts of two vectors of integers; none if the turn is to end.
#[inline(always)]
fn exact(
    heap: &mut Heap,
    x: &[Stored],
    y: &[Stored],
    part: impl Fn(&[Stored], &[Stored]) -> Option<i128>,
) -> Value {
    let mut sum = 0i128;
    for (x, y) in x.chunks(ELEMENTS_AT_ONCE).zip(y.chunks(ELEMENTS_AT_ONCE)) {
        match part(x, y).and_then(|more| sum.checked_add(more)) {
            Some(more) if heap.work.pass(x.len()).is_ok() => sum = more,
            _ => return Value::NONE,
        }
    }
    integer(heap, sum)
}

/// The sum of the squares of differences of integers, which may be large in between.
fn squares(x: &[Stored], y: &[Stored]) -> Option<i128> {
    let pairs = x.iter().zip(y);
    let mut differences = pairs.map(|(x, y)| i128::from(i64::load(*x)) - i128::from(i64::load(*y)));
    differences.try_fold(0i128, |sum, d| sum.checked_add(d.checked_mul(d)?))
}

/// `Mote.Vector.dot(a, b)`, of vectors of one size.
pub(crate) fn vec_dot(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (walked(heap, a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => lanes(heap, x, y, |x, y| x * y),
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            exact(heap, x, y, kernels::dot)
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
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => exact(heap, x, y, squares),
        _ => Value::NONE,
    }
}

/// `Mote.Vector.sum(vector)`
pub(crate) fn vec_sum(heap: &mut Heap, a: Value) -> Value {
    match walked(heap, a) {
        Some(Floats(x)) => lanes(heap, x, x, |x, _| x),
        Some(Integers(x)) => exact(heap, x, x, |x, _| Some(kernels::sum(x))),
        None => Value::NONE,
    }
}
