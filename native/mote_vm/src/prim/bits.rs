//! Integers as strings of bits, in two's complement of unlimited width.
use super::arith::integer;
use crate::value::Value;

/// `a &&& b`
pub(crate) fn band(a: Value, b: Value) -> Value {
    with_integers(a, b, |n, m| n & m)
}

/// `a ||| b`
pub(crate) fn bor(a: Value, b: Value) -> Value {
    with_integers(a, b, |n, m| n | m)
}

/// `Bitwise.bxor(a, b)`
pub(crate) fn bxor(a: Value, b: Value) -> Value {
    with_integers(a, b, |n, m| n ^ m)
}

/// `Bitwise.bnot(a)`
pub(crate) fn bnot(a: Value) -> Value {
    match a.as_fixnum() {
        Some(n) => Value::fixnum(!n),
        None => Value::NONE,
    }
}

/// `a <<< count`
pub(crate) fn bsl(a: Value, count: Value) -> Value {
    match (a.as_fixnum(), count.as_fixnum()) {
        (Some(n), Some(count)) => shift_left(n, count),
        _ => Value::NONE,
    }
}

/// `a >>> count`
pub(crate) fn bsr(a: Value, count: Value) -> Value {
    match (a.as_fixnum(), count.as_fixnum()) {
        // A fixnum's negative fits an i64.
        (Some(n), Some(count)) => shift_left(n, -count),
        _ => Value::NONE,
    }
}

/// Results of `f` must be fixnums, as those of all bitwise operations without shifts are.
#[inline(always)]
fn with_integers(a: Value, b: Value, f: impl FnOnce(i64, i64) -> i64) -> Value {
    if Value::both_fixnum(a, b) {
        Value::fixnum(f(a.fixnum_value(), b.fixnum_value()))
    } else {
        Value::NONE
    }
}

fn shift_left(n: i64, count: i64) -> Value {
    match count {
        // Beyond 63 bits only the sign is left.
        ..=0 => Value::fixnum(n >> count.unsigned_abs().min(63)),
        // 63 bits shifted by 62 fit an i128 with room to spare.
        1..=62 => i64::try_from((n as i128) << count).map_or(Value::NONE, integer),
        _ if n == 0 => Value::fixnum(0),
        _ => Value::NONE,
    }
}
