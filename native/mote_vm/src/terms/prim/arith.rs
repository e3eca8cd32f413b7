//! Arithmetic of integers and floats, and the ways from floats to integers.
//!
//! An integer in company of a float counts as a float (`as f64`, the nearest one), as on the BEAM. Floats keep their
//! sign of zero: `neg` of 0.0 is -0.0.
use crate::heap::Heap;
use crate::values::value::Value;

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

#[cfg(test)]
mod tests {
    use super::super::testing::{fixnum, float, heap};
    use super::*;
    use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
    use proptest::prelude::*;

    type Of1 = fn(&mut Heap, Value) -> Value;
    type Of2 = fn(&mut Heap, Value, Value) -> Value;

    fn int(n: i64) -> Value {
        Value::integer(n).expect("a fixnum")
    }

    /// The integer that an i128 model expects.
    fn expected(n: i128) -> Option<i64> {
        let range = i128::from(FIXNUM_MIN)..=i128::from(FIXNUM_MAX);
        range.contains(&n).then_some(n as i64)
    }

    fn answer(value: Value) -> Option<i64> {
        (!value.is_none()).then(|| value.as_fixnum().expect("an integer"))
    }

    fn bits(value: Value) -> Option<u64> {
        (!value.is_none()).then(|| value.as_float().expect("a float").to_bits())
    }

    fn finite_bits(f: f64) -> Option<u64> {
        f.is_finite().then(|| f.to_bits())
    }

    #[test]
    fn the_ends_of_the_fixnum_range() {
        let mut heap = heap();
        let rows: [(Of2, i64, i64, Option<i64>); 18] = [
            (add, FIXNUM_MAX, 0, Some(FIXNUM_MAX)),
            (add, FIXNUM_MAX, 1, None),
            (add, FIXNUM_MIN, -1, None),
            (add, FIXNUM_MAX, FIXNUM_MIN, Some(-1)),
            (add, FIXNUM_MIN, FIXNUM_MIN, None),
            (sub, FIXNUM_MIN, 0, Some(FIXNUM_MIN)),
            (sub, FIXNUM_MIN, 1, None),
            (sub, 0, FIXNUM_MIN, None),
            (sub, -1, FIXNUM_MIN, Some(FIXNUM_MAX)),
            (sub, FIXNUM_MIN, FIXNUM_MIN, Some(0)),
            (sub, FIXNUM_MAX, -1, None),
            (mul, FIXNUM_MIN, 1, Some(FIXNUM_MIN)),
            (mul, FIXNUM_MIN, -1, None),
            (mul, FIXNUM_MAX, -1, Some(-FIXNUM_MAX)),
            (mul, 1 << 31, 1 << 31, None),
            (mul, 1 << 31, -(1 << 31), Some(FIXNUM_MIN)),
            (mul, FIXNUM_MIN, FIXNUM_MIN, None),
            (mul, 0, FIXNUM_MIN, Some(0)),
        ];
        for (i, (f, a, b, expected)) in rows.into_iter().enumerate() {
            assert_eq!(answer(f(&mut heap, int(a), int(b))), expected, "row {i}");
        }
        assert_eq!(answer(neg(&mut heap, int(FIXNUM_MIN))), None);
        assert_eq!(answer(neg(&mut heap, int(FIXNUM_MAX))), Some(-FIXNUM_MAX));
        assert_eq!(answer(abs(&mut heap, int(FIXNUM_MIN))), None);
        assert_eq!(answer(abs(&mut heap, int(-3))), Some(3));
    }

    #[test]
    fn division_of_integers() {
        let rows = [
            (7, 2, Some((3, 1))),
            (-7, 2, Some((-3, -1))),
            (7, -2, Some((-3, 1))),
            (-7, -2, Some((3, -1))),
            (7, 0, None),
            (FIXNUM_MIN, 1, Some((FIXNUM_MIN, 0))),
        ];
        for (a, b, expected) in rows {
            assert_eq!(
                answer(idiv(int(a), int(b))),
                expected.map(|(quotient, _)| quotient)
            );
            assert_eq!(answer(irem(int(a), int(b))), expected.map(|(_, rest)| rest));
        }
        assert_eq!(answer(idiv(int(FIXNUM_MIN), int(-1))), None);
        assert_eq!(answer(irem(int(FIXNUM_MIN), int(-1))), Some(0));
        assert!(idiv(Value::flonum(4.0).unwrap(), int(2)).is_none());
    }

    #[test]
    fn floats_at_the_edges() {
        let mut heap = heap();
        let rows: [(Of2, f64, f64, Option<f64>); 12] = [
            (mul, 1e308, 10.0, None),
            (mul, -1e308, 10.0, None),
            (add, f64::MAX, f64::MAX, None),
            (add, -0.0, -0.0, Some(-0.0)),
            (add, -0.0, 0.0, Some(0.0)),
            (sub, 0.0, 0.0, Some(0.0)),
            (mul, -1.0, 0.0, Some(-0.0)),
            (fdiv, 5e-324, 2.0, Some(0.0)),
            (mul, f64::MIN_POSITIVE, 0.5, Some(1.1125369292536007e-308)),
            (fdiv, 1.0, 0.0, None),
            (fdiv, 1.0, -0.0, None),
            (fdiv, 0.0, 0.0, None),
        ];
        for (i, (f, a, b, expected)) in rows.into_iter().enumerate() {
            let (a, b) = (heap.float(a), heap.float(b));
            assert_eq!(
                bits(f(&mut heap, a, b)),
                expected.map(f64::to_bits),
                "row {i}"
            );
        }
        let zero = heap.float(0.0);
        let negative = neg(&mut heap, zero);
        assert_eq!(bits(negative), Some((-0.0f64).to_bits()));
        assert_eq!(bits(abs(&mut heap, negative)), Some(0));
        assert_eq!(
            bits(fdiv(&mut heap, int(7), int(2))),
            Some(3.5f64.to_bits())
        );
        assert!(fdiv(&mut heap, int(7), int(0)).is_none());
    }

    #[test]
    fn floats_to_integers() {
        let mut heap = heap();
        let end = 2f64.powi(62);
        let below_end = 4611686018427387392.0;
        // Argument, then round, trunc, floor, ceil.
        let rows: [(f64, [Option<i64>; 4]); 14] = [
            (0.0, [Some(0); 4]),
            (-0.0, [Some(0); 4]),
            (0.5, [Some(1), Some(0), Some(0), Some(1)]),
            (-0.5, [Some(-1), Some(0), Some(-1), Some(0)]),
            (1.5, [Some(2), Some(1), Some(1), Some(2)]),
            (2.5, [Some(3), Some(2), Some(2), Some(3)]),
            (-2.5, [Some(-3), Some(-2), Some(-3), Some(-2)]),
            (0.49999999999999994, [Some(0), Some(0), Some(0), Some(1)]),
            (5e-324, [Some(0), Some(0), Some(0), Some(1)]),
            (below_end, [Some(below_end as i64); 4]),
            (end, [None; 4]),
            (-end, [Some(FIXNUM_MIN); 4]),
            (-end - 1024.0, [None; 4]),
            (f64::MAX, [None; 4]),
        ];
        for (f, expected) in rows {
            let value = heap.float(f);
            let answers = [round, trunc, floor, ceil].map(|to| answer(to(value)));
            assert_eq!(answers, expected, "{f}");
        }
        for to in [round, trunc, floor, ceil] {
            assert_eq!(answer(to(int(FIXNUM_MAX))), Some(FIXNUM_MAX));
            assert!(to(Value::TRUE).is_none());
        }
    }

    #[test]
    fn what_is_no_number_has_no_answer() {
        let mut heap = heap();
        let big = heap.foreign(std::sync::Arc::new(super::super::testing::Big(1 << 70)));
        let tuple = heap.tuple(1, |_| int(1));
        let two: [Of2; 4] = [add, sub, mul, fdiv];
        let one: [Of1; 2] = [neg, abs];
        for odd in [Value::TRUE, Value::EMPTY_LIST, Value::UNDEFINED, big, tuple] {
            for good in [int(1), Value::flonum(1.5).unwrap()] {
                assert!(two.iter().all(|f| f(&mut heap, odd, good).is_none()));
                assert!(two.iter().all(|f| f(&mut heap, good, odd).is_none()));
                assert!(idiv(odd, good).is_none() && irem(good, odd).is_none());
            }
            assert!(one.iter().all(|f| f(&mut heap, odd).is_none()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        #[test]
        fn integers_as_in_128_bits(a in fixnum(), b in fixnum()) {
            let mut heap = heap();
            let (x, y) = (i128::from(a), i128::from(b));
            let (a, b) = (int(a), int(b));
            prop_assert_eq!(answer(add(&mut heap, a, b)), expected(x + y));
            prop_assert_eq!(answer(sub(&mut heap, a, b)), expected(x - y));
            prop_assert_eq!(answer(mul(&mut heap, a, b)), expected(x * y));
            prop_assert_eq!(answer(idiv(a, b)), x.checked_div(y).and_then(expected));
            prop_assert_eq!(answer(irem(a, b)), x.checked_rem(y).and_then(expected));
            prop_assert_eq!(answer(neg(&mut heap, a)), expected(-x));
            prop_assert_eq!(answer(abs(&mut heap, a)), expected(x.abs()));
        }

        #[test]
        fn floats_as_in_rust(x in float(), y in float(), n in fixnum()) {
            let mut heap = heap();
            let (a, b, i) = (heap.float(x), heap.float(y), int(n));
            prop_assert_eq!(bits(add(&mut heap, a, b)), finite_bits(x + y));
            prop_assert_eq!(bits(sub(&mut heap, a, b)), finite_bits(x - y));
            prop_assert_eq!(bits(mul(&mut heap, a, b)), finite_bits(x * y));
            prop_assert_eq!(bits(fdiv(&mut heap, a, b)), finite_bits(x / y));
            prop_assert_eq!(bits(add(&mut heap, a, i)), finite_bits(x + n as f64));
            prop_assert_eq!(bits(sub(&mut heap, i, b)), finite_bits(n as f64 - y));
            prop_assert_eq!(bits(mul(&mut heap, a, i)), finite_bits(x * n as f64));
            prop_assert_eq!(bits(neg(&mut heap, a)), finite_bits(-x));
            let whole = |f: f64| if f.abs() < 2f64.powi(100) { expected(f as i128) } else { None };
            prop_assert_eq!(answer(round(a)), whole(x.round()));
            prop_assert_eq!(answer(trunc(a)), whole(x));
            prop_assert_eq!(answer(floor(a)), whole(x.floor()));
            prop_assert_eq!(answer(ceil(a)), whole(x.ceil()));
        }
    }
}
