//! Integers as strings of bits, in two's complement of unlimited width.
use super::integers::{operate, shift, Operation};
use crate::heap::Heap;
use crate::values::value::Value;

/// `a &&& b`
pub(crate) fn band(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_integers(heap, Operation::And, a, b, |n, m| n & m)
}

/// `a ||| b`
pub(crate) fn bor(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_integers(heap, Operation::Or, a, b, |n, m| n | m)
}

/// `Bitwise.bxor(a, b)`
pub(crate) fn bxor(heap: &mut Heap, a: Value, b: Value) -> Value {
    with_integers(heap, Operation::Xor, a, b, |n, m| n ^ m)
}

/// `Bitwise.bnot(a)`
pub(crate) fn bnot(heap: &mut Heap, a: Value) -> Value {
    match a.as_fixnum() {
        Some(n) => Value::fixnum(!n),
        // -1 has all bits.
        None => operate(heap, Operation::Xor, a, Value::fixnum(-1)),
    }
}

/// `a <<< count`
pub(crate) fn bsl(heap: &mut Heap, a: Value, count: Value) -> Value {
    match as_count(count) {
        Some(count) => shift_left(heap, a, count),
        None => Value::NONE,
    }
}

/// `a >>> count`
pub(crate) fn bsr(heap: &mut Heap, a: Value, count: Value) -> Value {
    match as_count(count) {
        Some(count) => shift_left(heap, a, -count),
        None => Value::NONE,
    }
}

/// Results of `f` must be fixnums, as those of all bitwise operations without shifts are.
#[inline(always)]
fn with_integers(
    heap: &mut Heap,
    operation: Operation,
    a: Value,
    b: Value,
    f: impl FnOnce(i64, i64) -> i64,
) -> Value {
    if Value::both_fixnum(a, b) {
        Value::fixnum(f(a.fixnum_value(), b.fixnum_value()))
    } else {
        operate(heap, operation, a, b)
    }
}

/// Returns how far to shift. A count beyond the fixnums shifts as far as any can, with the same result.
fn as_count(count: Value) -> Option<i64> {
    match count.as_fixnum() {
        Some(count) => Some(count),
        None => match count.as_big()?.is_negative() {
            true => Some(-i64::MAX),
            false => Some(i64::MAX),
        },
    }
}

fn shift_left(heap: &mut Heap, a: Value, count: i64) -> Value {
    match (a.as_fixnum(), count) {
        // Beyond 63 bits only the sign is left.
        (Some(n), ..=0) => Value::fixnum(n >> count.unsigned_abs().min(63)),
        // 63 bits shifted by 62 fit an i128 with room to spare.
        (Some(n), 1..=62) => heap.wide_integer(i128::from(n) << count),
        _ => shift(heap, a, count),
    }
}

#[cfg(test)]
mod tests {
    use super::super::integers::as_i128;
    use super::*;
    use crate::testing::terms::{fixnum, heap};
    use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
    use proptest::prelude::*;

    fn int(n: i64) -> Value {
        Value::integer(n).expect("a fixnum")
    }

    #[test]
    fn shifts_at_the_ends() {
        let mut heap = heap();
        let rows: [(i64, i64, i128); 22] = [
            (1, 61, 1 << 61),
            (1, 62, 1 << 62),
            (-1, 62, FIXNUM_MIN.into()),
            (-1, 63, -(1 << 63)),
            (-2, 62, -(1 << 63)),
            (3, 61, 3 << 61),
            (1, 64, 1 << 64),
            (-1, 100, -(1 << 100)),
            (0, 62, 0),
            (0, 64, 0),
            (0, FIXNUM_MAX, 0),
            (0, FIXNUM_MIN, 0),
            (5, 0, 5),
            (5, -1, 2),
            (-5, -1, -3),
            (FIXNUM_MAX, -61, 1),
            (FIXNUM_MAX, -62, 0),
            (FIXNUM_MIN, -62, -1),
            (FIXNUM_MAX, -64, 0),
            (FIXNUM_MIN, -64, -1),
            (7, FIXNUM_MIN, 0),
            (-7, FIXNUM_MIN, -1),
        ];
        for (n, count, expected) in rows {
            let left = bsl(&mut heap, int(n), int(count));
            assert_eq!(as_i128(left), Some(expected), "{n} {count}");
            if count > FIXNUM_MIN {
                let right = bsr(&mut heap, int(n), int(-count));
                assert_eq!(as_i128(right), Some(expected), "{n} {count}");
            }
        }
        assert!(bsl(&mut heap, int(1), int(FIXNUM_MAX)).is_none());
        assert!(bsr(&mut heap, int(1), int(FIXNUM_MIN)).is_none());
        assert!(bsl(&mut heap, int(0), Value::TRUE).is_none());
        assert!(bsr(&mut heap, Value::TRUE, int(0)).is_none());
        assert!(bsr(&mut heap, Value::TRUE, int(100)).is_none());
    }

    #[test]
    fn only_integers_have_bits() {
        let mut heap = heap();
        let float = Value::flonum(1.0).unwrap();
        for f in [band, bor, bxor, bsl, bsr] {
            assert!(f(&mut heap, int(1), float).is_none() && f(&mut heap, float, int(1)).is_none());
        }
        assert!(bnot(&mut heap, float).is_none() && bnot(&mut heap, Value::NIL).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        #[test]
        fn as_in_wide_integers(a in fixnum(), b in fixnum(), up in 0u32..60, count in 0i64..62) {
            let mut heap = heap();
            let (n, m) = (i128::from(a) << up, i128::from(b));
            let (x, y) = (heap.wide_integer(n), int(b));
            prop_assert_eq!(as_i128(band(&mut heap, x, y)), Some(n & m));
            prop_assert_eq!(as_i128(bor(&mut heap, x, y)), Some(n | m));
            prop_assert_eq!(as_i128(bxor(&mut heap, y, x)), Some(n ^ m));
            prop_assert_eq!(as_i128(bnot(&mut heap, x)), Some(!n));
            prop_assert_eq!(as_i128(bsl(&mut heap, y, int(count))), Some(m << count));
            prop_assert_eq!(as_i128(bsr(&mut heap, x, int(count))), Some(n >> count));
        }
    }
}
