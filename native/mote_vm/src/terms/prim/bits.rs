//! Integers as strings of bits, in two's complement of unlimited width.
use super::arith::integer;
use crate::values::value::Value;

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

#[cfg(test)]
mod tests {
    use super::super::testing::fixnum;
    use super::*;
    use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
    use proptest::prelude::*;

    fn int(n: i64) -> Value {
        Value::integer(n).expect("a fixnum")
    }

    #[test]
    fn shifts_of_any_count() {
        let rows = [
            (1, 61, Some(1 << 61)),
            (1, 62, None),
            (-1, 62, Some(FIXNUM_MIN)),
            (-1, 63, None),
            (-2, 62, None),
            (3, 61, None),
            (1, 64, None),
            (1, FIXNUM_MAX, None),
            (0, 62, Some(0)),
            (0, 64, Some(0)),
            (0, FIXNUM_MAX, Some(0)),
            (0, FIXNUM_MIN, Some(0)),
            (5, 0, Some(5)),
            (5, -1, Some(2)),
            (-5, -1, Some(-3)),
            (FIXNUM_MAX, -61, Some(1)),
            (FIXNUM_MAX, -62, Some(0)),
            (FIXNUM_MIN, -62, Some(-1)),
            (FIXNUM_MAX, -64, Some(0)),
            (FIXNUM_MIN, -64, Some(-1)),
            (7, FIXNUM_MIN, Some(0)),
            (-7, FIXNUM_MIN, Some(-1)),
        ];
        for (n, count, expected) in rows {
            assert_eq!(bsl(int(n), int(count)).as_fixnum(), expected, "{n} {count}");
            if count > FIXNUM_MIN {
                assert_eq!(
                    bsr(int(n), int(-count)).as_fixnum(),
                    expected,
                    "{n} {count}"
                );
            }
        }
        assert!(bsr(int(1), int(FIXNUM_MIN)).is_none());
        assert!(bsl(int(0), Value::TRUE).is_none() && bsr(Value::TRUE, int(0)).is_none());
    }

    #[test]
    fn only_integers_have_bits() {
        let float = Value::flonum(1.0).unwrap();
        for f in [band, bor, bxor, bsl, bsr] {
            assert!(f(int(1), float).is_none() && f(float, int(1)).is_none());
        }
        assert!(bnot(float).is_none() && bnot(Value::NIL).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        #[test]
        fn as_in_wide_integers(a in fixnum(), b in fixnum(), count in 0i64..62) {
            let (x, y) = (int(a), int(b));
            prop_assert_eq!(band(x, y).as_fixnum(), Some(a & b));
            prop_assert_eq!(bor(x, y).as_fixnum(), Some(a | b));
            prop_assert_eq!(bxor(x, y).as_fixnum(), Some(a ^ b));
            prop_assert_eq!(bnot(x).as_fixnum(), Some(!a));
            let product = i128::from(a) * (1i128 << count);
            let expected = i64::try_from(product).ok().and_then(Value::integer);
            prop_assert_eq!(bsl(x, int(count)).word(), expected.unwrap_or(Value::NONE).word());
            let quotient = i128::from(a).div_euclid(1i128 << count);
            prop_assert_eq!(bsr(x, int(count)).as_fixnum(), Some(quotient as i64));
        }
    }
}
