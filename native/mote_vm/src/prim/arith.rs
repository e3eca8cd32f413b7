//! Arithmetic of integers and floats, and the ways from floats to integers.
//!
//! An integer in company of a float counts as a float (`as f64`, the nearest one), as on the BEAM. Floats keep their
//! sign of zero: `neg` of 0.0 is -0.0.
use crate::heap::Heap;
use crate::value::Value;

/// 2^62: the first float above the fixnum range; its negative is the range's smallest integer.
const FIXNUM_END: f64 = (1u64 << 62) as f64;

/// `a + b`
#[inline(always)]
pub(crate) fn add(heap: &mut Heap, a: Value, b: Value) -> Value {
    if Value::both_fixnum(a, b) {
        // 2n + (2m + 1): the tagged sum, and i64 overflows exactly where the fixnum range does.
        return tagged((a.word() as i64 - 1).checked_add(b.word() as i64));
    }
    add_slowly(heap, a, b)
}

/// `a - b`
#[inline(always)]
pub(crate) fn sub(heap: &mut Heap, a: Value, b: Value) -> Value {
    if Value::both_fixnum(a, b) {
        // (2n + 1) - 2m
        return tagged((a.word() as i64).checked_sub(b.word() as i64 - 1));
    }
    sub_slowly(heap, a, b)
}

/// `a * b`
#[inline(always)]
pub(crate) fn mul(heap: &mut Heap, a: Value, b: Value) -> Value {
    if Value::both_fixnum(a, b) {
        // 2n * m is even, so the tag can be put back without a carry.
        let product = (a.word() as i64 - 1).checked_mul(b.fixnum_value());
        return tagged(product.map(|even| even | 1));
    }
    mul_slowly(heap, a, b)
}

#[cold]
#[inline(never)]
fn add_slowly(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_floats(heap, a, b, |x, y| x + y)
}

#[cold]
#[inline(never)]
fn sub_slowly(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_floats(heap, a, b, |x, y| x - y)
}

#[cold]
#[inline(never)]
fn mul_slowly(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_floats(heap, a, b, |x, y| x * y)
}

/// `a / b`, always a float.
pub(crate) fn fdiv(heap: &mut Heap, a: Value, b: Value) -> Value {
    // Division by 0.0 or -0.0 gives an infinity or NaN, which is no answer anyway.
    with_floats(heap, a, b, |x, y| x / y)
}

/// `div(a, b)`, towards zero.
pub(crate) fn idiv(a: Value, b: Value) -> Value {
    with_divisor(a, b, |n, m| n / m)
}

/// `rem(a, b)`, with the sign of `a`.
pub(crate) fn irem(a: Value, b: Value) -> Value {
    with_divisor(a, b, |n, m| n % m)
}

/// `-a`
pub(crate) fn neg(heap: &mut Heap, a: Value) -> Value {
    match a.as_fixnum() {
        Some(n) => integer(-n),
        None => with_float(heap, a, |f| -f),
    }
}

/// `abs(a)`
pub(crate) fn abs(heap: &mut Heap, a: Value) -> Value {
    match a.as_fixnum() {
        Some(n) => integer(n.abs()),
        None => with_float(heap, a, f64::abs),
    }
}

/// `round(a)`: halves away from zero.
pub(crate) fn round(a: Value) -> Value {
    to_integer(a, f64::round)
}

/// `trunc(a)`: towards zero.
pub(crate) fn trunc(a: Value) -> Value {
    to_integer(a, f64::trunc)
}

/// `floor(a)`: downwards.
pub(crate) fn floor(a: Value) -> Value {
    to_integer(a, f64::floor)
}

/// `ceil(a)`: upwards.
pub(crate) fn ceil(a: Value) -> Value {
    to_integer(a, f64::ceil)
}

/// The number as a float; `None` for what is no number, and for big integers.
#[inline(always)]
pub(crate) fn as_f64(a: Value) -> Option<f64> {
    match a.as_fixnum() {
        Some(n) => Some(n as f64),
        None => a.as_float(),
    }
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

/// The integer, if it is a fixnum.
#[inline(always)]
pub(crate) fn integer(n: i64) -> Value {
    Value::integer(n).unwrap_or(Value::NONE)
}

#[inline(always)]
fn tagged(word: Option<i64>) -> Value {
    match word {
        Some(word) => Value::from_word(word as u64),
        None => Value::NONE,
    }
}

#[inline(always)]
fn with_floats(heap: &mut Heap, a: Value, b: Value, f: impl FnOnce(f64, f64) -> f64) -> Value {
    match (as_f64(a), as_f64(b)) {
        (Some(x), Some(y)) => finite(heap, f(x, y)),
        _ => Value::NONE,
    }
}

fn with_float(heap: &mut Heap, a: Value, f: impl FnOnce(f64) -> f64) -> Value {
    match a.as_float() {
        Some(x) => heap.float(f(x)),
        None => Value::NONE,
    }
}

fn with_divisor(a: Value, b: Value, f: impl FnOnce(i64, i64) -> i64) -> Value {
    match (a.as_fixnum(), b.as_fixnum()) {
        // Fixnums are 63 bits wide: the smallest by -1 cannot overflow an i64, and `integer` refuses the quotient.
        (Some(n), Some(m)) if m != 0 => integer(f(n, m)),
        _ => Value::NONE,
    }
}

fn to_integer(a: Value, rounded: impl FnOnce(f64) -> f64) -> Value {
    if a.is_fixnum() {
        return a;
    }
    match a.as_float().map(rounded) {
        Some(f) if (-FIXNUM_END..FIXNUM_END).contains(&f) => Value::fixnum(f as i64),
        _ => Value::NONE,
    }
}
