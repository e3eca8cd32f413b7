//! Arithmetic of integers and floats, and the ways from floats to integers.
//!
//! An integer combined with a float counts as a float (`as f64`, the nearest one), as on the BEAM. Floats keep their sign of
//! zero: `neg` of 0.0 is -0.0.
//!
//! This file has the operations whose operands and results are fixnums; integers.rs does the rest.
use super::integers::{self, Operation};
use crate::heap::Heap;
use crate::values::value::Value;

/// 2^62: the first float above the fixnum range; its negative is the range's smallest integer.
const FIXNUM_END: f64 = (1u64 << 62) as f64;

/// `a + b`
pub(crate) fn add(heap: &mut Heap, a: Value, b: Value) -> Value {
    fixnum_sum(a, b).unwrap_or_else(|| add_slowly(heap, a, b))
}

/// `a - b`
pub(crate) fn sub(heap: &mut Heap, a: Value, b: Value) -> Value {
    fixnum_difference(a, b).unwrap_or_else(|| sub_slowly(heap, a, b))
}

/// `a * b`
pub(crate) fn mul(heap: &mut Heap, a: Value, b: Value) -> Value {
    fixnum_product(a, b).unwrap_or_else(|| mul_slowly(heap, a, b))
}

/// The sum of fixnums, if it is one.
#[inline(always)]
pub(crate) fn fixnum_sum(a: Value, b: Value) -> Option<Value> {
    if !Value::both_fixnum(a, b) {
        return None;
    }
    // 2n + (2m + 1): the tagged sum, and i64 overflows exactly where the fixnum range does.
    let sum = (a.word() as i64 - 1).checked_add(b.word() as i64)?;
    Some(Value::from_word(sum as u64))
}

/// The difference of fixnums, if it is one.
#[inline(always)]
pub(crate) fn fixnum_difference(a: Value, b: Value) -> Option<Value> {
    if !Value::both_fixnum(a, b) {
        return None;
    }
    // (2n + 1) - 2m
    let difference = (a.word() as i64).checked_sub(b.word() as i64 - 1)?;
    Some(Value::from_word(difference as u64))
}

/// The product of fixnums, if it is one.
#[inline(always)]
pub(crate) fn fixnum_product(a: Value, b: Value) -> Option<Value> {
    if !Value::both_fixnum(a, b) {
        return None;
    }
    // 2n * m is even, so the tag can be put back without a carry.
    let even = (a.word() as i64 - 1).checked_mul(b.fixnum_value())?;
    Some(Value::from_word((even | 1) as u64))
}

/// `a + b`, not of fixnums whose result is one.
#[cold]
#[inline(never)]
pub(crate) fn add_slowly(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_numbers(heap, Operation::Add, a, b, |x, y| x + y)
}

/// `a - b`, not of fixnums whose result is one.
#[cold]
#[inline(never)]
pub(crate) fn sub_slowly(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_numbers(heap, Operation::Sub, a, b, |x, y| x - y)
}

/// `a * b`, not of fixnums whose result is one.
#[cold]
#[inline(never)]
pub(crate) fn mul_slowly(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_numbers(heap, Operation::Mul, a, b, |x, y| x * y)
}

/// `a / b`, always a float.
pub(crate) fn fdiv(heap: &mut Heap, a: Value, b: Value) -> Value {
    // Division by 0.0 or -0.0 gives an infinity or NaN, neither of which is an answer anyway.
    with_floats(heap, a, b, |x, y| x / y)
}

/// `div(a, b)`, towards zero.
pub(crate) fn idiv(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_divisor(heap, Operation::Div, a, b, |n, m| n / m)
}

/// `rem(a, b)`, with the sign of `a`.
pub(crate) fn irem(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_divisor(heap, Operation::Rem, a, b, |n, m| n % m)
}

/// `-a`
pub(crate) fn neg(heap: &mut Heap, a: Value) -> Value {
    match a.as_fixnum() {
        // A fixnum's opposite fits an i64.
        Some(n) => heap.wide_integer((-n).into()),
        None => match a.as_float() {
            Some(f) => heap.float(-f),
            None => integers::negated(heap, a, false),
        },
    }
}

/// `abs(a)`
pub(crate) fn abs(heap: &mut Heap, a: Value) -> Value {
    match a.as_fixnum() {
        Some(n) => heap.wide_integer(n.abs().into()),
        None => match a.as_float() {
            Some(f) => heap.float(f.abs()),
            None => integers::negated(heap, a, true),
        },
    }
}

/// `round(a)`: halves away from zero.
pub(crate) fn round(heap: &mut Heap, a: Value) -> Value {
    to_integer(heap, a, f64::round)
}

/// `trunc(a)`: towards zero.
pub(crate) fn trunc(heap: &mut Heap, a: Value) -> Value {
    to_integer(heap, a, f64::trunc)
}

/// `floor(a)`: downwards.
pub(crate) fn floor(heap: &mut Heap, a: Value) -> Value {
    to_integer(heap, a, f64::floor)
}

/// `ceil(a)`: upwards.
pub(crate) fn ceil(heap: &mut Heap, a: Value) -> Value {
    to_integer(heap, a, f64::ceil)
}

/// The number as a float; `None` for anything that is not a number, and for integers beyond all floats.
#[inline(always)]
pub fn as_f64(a: Value) -> Option<f64> {
    match a.as_fixnum() {
        Some(n) => Some(n as f64),
        None if a.is_flonum() => Some(a.flonum_value()),
        None => boxed_f64(a),
    }
}

#[cold]
#[inline(never)]
fn boxed_f64(a: Value) -> Option<f64> {
    if !a.is_boxed() || a.is_none() {
        return None;
    }
    a.as_float().or_else(|| a.as_big()?.to_f64())
}

/// The float, if it is finite.
#[inline(always)]
pub(crate) fn finite(heap: &mut Heap, f: f64) -> Value {
    if f.is_finite() {
        heap.float(f)
    } else {
        Value::NONE
    }
}

#[inline(always)]
fn with_floats(heap: &mut Heap, a: Value, b: Value, f: impl FnOnce(f64, f64) -> f64) -> Value {
    match (as_f64(a), as_f64(b)) {
        (Some(x), Some(y)) => finite(heap, f(x, y)),
        _ => Value::NONE,
    }
}

/// The result for two numbers that are not both fixnums, or whose result is not a fixnum.
fn with_numbers(
    heap: &mut Heap,
    operation: Operation,
    a: Value,
    b: Value,
    f: impl FnOnce(f64, f64) -> f64,
) -> Value {
    match integers::is_number(a) && integers::is_number(b) {
        true => integers::operate(heap, operation, a, b),
        false => with_floats(heap, a, b, f),
    }
}

fn with_divisor(
    heap: &mut Heap,
    operation: Operation,
    a: Value,
    b: Value,
    f: impl FnOnce(i64, i64) -> i64,
) -> Value {
    match (a.as_fixnum(), b.as_fixnum()) {
        (Some(_), Some(0)) => Value::NONE,
        // Fixnums are 63 bits wide: the smallest by -1 fits an i64.
        (Some(n), Some(m)) => heap.wide_integer(f(n, m).into()),
        _ => integers::operate(heap, operation, a, b),
    }
}

fn to_integer(heap: &mut Heap, a: Value, rounded: impl FnOnce(f64) -> f64) -> Value {
    if integers::is_number(a) {
        return a;
    }
    match a.as_float().map(rounded) {
        Some(f) if (-FIXNUM_END..FIXNUM_END).contains(&f) => Value::fixnum(f as i64),
        Some(f) => integers::of_float(heap, f),
        None => Value::NONE,
    }
}

#[cfg(test)]
mod tests;
