//! Sums over one vector or two.
//!
//! Sums of floats are made in [`LANES`] lanes, the i-th of which adds every element whose index is i modulo their number,
//! and then the lanes from the first to the last; so the machine can add several at once, and everybody gets the same.
use super::*;

/// How many sums of floats are made beside each other.
const LANES: usize = 8;

/// The sum of `term` over pairs of elements, in lanes.
#[inline(always)]
fn lanes(x: &[[u8; ELEMENT]], y: &[[u8; ELEMENT]], term: impl Fn(f64, f64) -> f64) -> f64 {
    let of = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e);
    let mut sums = [0.0; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for i in 0..LANES {
            sums[i] += term(of(&x[i]), of(&y[i]));
        }
    }
    for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        sums[i] += term(of(x), of(y));
    }
    sums.into_iter().fold(0.0, |sum, lane| sum + lane)
}

/// A sum of integers, which may be large in between.
fn exact(heap: &mut Heap, mut terms: impl Iterator<Item = i128>) -> Value {
    match terms.try_fold(0i128, i128::checked_add) {
        Some(sum) => integer(heap, sum),
        None => Value::NONE,
    }
}

fn wide(e: &[u8; ELEMENT]) -> i128 {
    i64::from_le_bytes(*e).into()
}

/// `Mote.Vector.dot(a, b)`, of vectors of one size.
pub(crate) fn vec_dot(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (walked(heap, a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => {
            float(heap, lanes(x, y, |x, y| x * y))
        }
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            exact(heap, x.iter().zip(y).map(|(x, y)| wide(x) * wide(y)))
        }
        _ => Value::NONE,
    }
}

/// `Mote.Vector.squared_distance(a, b)`, of vectors of one size.
pub(crate) fn vec_distance(heap: &mut Heap, a: Value, b: Value) -> Value {
    match (walked(heap, a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => {
            float(heap, lanes(x, y, |x, y| (x - y) * (x - y)))
        }
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            // The square of a difference of 65 bits does not fit.
            let square = |(x, y)| {
                let difference: i128 = wide(x) - wide(y);
                difference.checked_mul(difference).unwrap_or(i128::MAX)
            };
            exact(heap, x.iter().zip(y).map(square))
        }
        _ => Value::NONE,
    }
}

/// `Mote.Vector.sum(vector)`
pub(crate) fn vec_sum(heap: &mut Heap, a: Value) -> Value {
    match walked(heap, a) {
        Some(Floats(x)) => float(heap, lanes(x, x, |x, _| x)),
        Some(Integers(x)) => exact(heap, x.iter().map(wide)),
        None => Value::NONE,
    }
}
