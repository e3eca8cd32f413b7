use super::*;
use crate::testing::terms::{fixnum, float, heap};
use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use proptest::prelude::*;

type Of1 = fn(&mut Heap, Value) -> Value;
type Of2 = fn(&mut Heap, Value, Value) -> Value;

fn int(n: i64) -> Value {
    Value::integer(n).expect("a fixnum")
}

/// An integer, which is a fixnum if it can be.
fn answer(value: Value) -> Option<i128> {
    let n = (!value.is_none()).then(|| integers::as_i128(value).expect("an integer"))?;
    assert_eq!(
        value.is_fixnum(),
        i64::try_from(n).is_ok_and(|n| Value::integer(n).is_some())
    );
    Some(n)
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
    let (min, max) = (i128::from(FIXNUM_MIN), i128::from(FIXNUM_MAX));
    let rows: [(Of2, i64, i64, i128); 18] = [
        (add, FIXNUM_MAX, 0, max),
        (add, FIXNUM_MAX, 1, max + 1),
        (add, FIXNUM_MIN, -1, min - 1),
        (add, FIXNUM_MAX, FIXNUM_MIN, -1),
        (add, FIXNUM_MIN, FIXNUM_MIN, 2 * min),
        (sub, FIXNUM_MIN, 0, min),
        (sub, FIXNUM_MIN, 1, min - 1),
        (sub, 0, FIXNUM_MIN, -min),
        (sub, -1, FIXNUM_MIN, max),
        (sub, FIXNUM_MIN, FIXNUM_MIN, 0),
        (sub, FIXNUM_MAX, -1, max + 1),
        (mul, FIXNUM_MIN, 1, min),
        (mul, FIXNUM_MIN, -1, -min),
        (mul, FIXNUM_MAX, -1, -max),
        (mul, 1 << 31, 1 << 31, 1 << 62),
        (mul, 1 << 31, -(1 << 31), min),
        (mul, FIXNUM_MIN, FIXNUM_MIN, min * min),
        (mul, 0, FIXNUM_MIN, 0),
    ];
    for (i, (f, a, b, expected)) in rows.into_iter().enumerate() {
        assert_eq!(
            answer(f(&mut heap, int(a), int(b))),
            Some(expected),
            "row {i}"
        );
    }
    assert_eq!(answer(neg(&mut heap, int(FIXNUM_MIN))), Some(-min));
    assert_eq!(answer(neg(&mut heap, int(FIXNUM_MAX))), Some(-max));
    assert_eq!(answer(abs(&mut heap, int(FIXNUM_MIN))), Some(-min));
    assert_eq!(answer(abs(&mut heap, int(-3))), Some(3));
    // And back.
    let beyond = neg(&mut heap, int(FIXNUM_MIN));
    assert_eq!(neg(&mut heap, beyond), int(FIXNUM_MIN));
    assert_eq!(abs(&mut heap, beyond), beyond);
    assert_eq!(sub(&mut heap, beyond, int(1)), int(FIXNUM_MAX));
    assert_eq!(idiv(&mut heap, beyond, int(-1)), int(FIXNUM_MIN));
}

#[test]
fn division_of_integers() {
    let mut heap = heap();
    let min = i128::from(FIXNUM_MIN);
    let rows = [
        (7, 2, Some((3, 1))),
        (-7, 2, Some((-3, -1))),
        (7, -2, Some((-3, 1))),
        (-7, -2, Some((3, -1))),
        (7, 0, None),
        (FIXNUM_MIN, 1, Some((min, 0))),
        (FIXNUM_MIN, -1, Some((-min, 0))),
    ];
    for (a, b, expected) in rows {
        let (quotient, rest) = (
            idiv(&mut heap, int(a), int(b)),
            irem(&mut heap, int(a), int(b)),
        );
        assert_eq!(answer(quotient), expected.map(|(quotient, _)| quotient));
        assert_eq!(answer(rest), expected.map(|(_, rest)| rest));
    }
    assert!(idiv(&mut heap, Value::flonum(4.0).unwrap(), int(2)).is_none());
    let big = heap.wide_integer(1 << 70);
    assert!(idiv(&mut heap, big, int(0)).is_none() && irem(&mut heap, big, int(0)).is_none());
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
    let end_of = |n: i128| [Some(n); 4];
    let rows: [(f64, [Option<i128>; 4]); 13] = [
        (0.0, [Some(0); 4]),
        (-0.0, [Some(0); 4]),
        (0.5, [Some(1), Some(0), Some(0), Some(1)]),
        (-0.5, [Some(-1), Some(0), Some(-1), Some(0)]),
        (1.5, [Some(2), Some(1), Some(1), Some(2)]),
        (2.5, [Some(3), Some(2), Some(2), Some(3)]),
        (-2.5, [Some(-3), Some(-2), Some(-3), Some(-2)]),
        (0.49999999999999994, [Some(0), Some(0), Some(0), Some(1)]),
        (5e-324, [Some(0), Some(0), Some(0), Some(1)]),
        (below_end, end_of(below_end as i128)),
        (end, end_of(1 << 62)),
        (-end, end_of(FIXNUM_MIN.into())),
        (-end - 1024.0, end_of(-(1 << 62) - 1024)),
    ];
    for (f, expected) in rows {
        let value = heap.float(f);
        let answers = [round, trunc, floor, ceil].map(|to| answer(to(&mut heap, value)));
        assert_eq!(answers, expected, "{f}");
    }
    for to in [round, trunc, floor, ceil] {
        assert_eq!(to(&mut heap, int(FIXNUM_MAX)), int(FIXNUM_MAX));
        assert!(to(&mut heap, Value::TRUE).is_none());
        let most = heap.float(f64::MAX);
        let whole = to(&mut heap, most);
        assert_eq!(as_f64(whole), Some(f64::MAX));
        assert_eq!(to(&mut heap, whole), whole);
    }
}

#[test]
fn what_is_no_number_has_no_answer() {
    let mut heap = heap();
    let big = heap.foreign(std::sync::Arc::new(crate::testing::terms::Beyond(true)));
    let tuple = heap.tuple(1, |_| int(1));
    let two: [Of2; 4] = [add, sub, mul, fdiv];
    let one: [Of1; 2] = [neg, abs];
    for odd in [Value::TRUE, Value::EMPTY_LIST, Value::UNDEFINED, big, tuple] {
        for good in [int(1), Value::flonum(1.5).unwrap()] {
            assert!(two.iter().all(|f| f(&mut heap, odd, good).is_none()));
            assert!(two.iter().all(|f| f(&mut heap, good, odd).is_none()));
            assert!(idiv(&mut heap, odd, good).is_none() && irem(&mut heap, good, odd).is_none());
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
        prop_assert_eq!(answer(add(&mut heap, a, b)), Some(x + y));
        prop_assert_eq!(answer(sub(&mut heap, a, b)), Some(x - y));
        prop_assert_eq!(answer(mul(&mut heap, a, b)), Some(x * y));
        prop_assert_eq!(answer(idiv(&mut heap, a, b)), x.checked_div(y));
        prop_assert_eq!(answer(irem(&mut heap, a, b)), x.checked_rem(y));
        prop_assert_eq!(answer(neg(&mut heap, a)), Some(-x));
        prop_assert_eq!(answer(abs(&mut heap, a)), Some(x.abs()));
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
        prop_assume!(x.abs() < 2f64.powi(120));
        let whole = |f: f64| Some(f as i128);
        prop_assert_eq!(answer(round(&mut heap, a)), whole(x.round()));
        prop_assert_eq!(answer(trunc(&mut heap, a)), whole(x));
        prop_assert_eq!(answer(floor(&mut heap, a)), whole(x.floor()));
        prop_assert_eq!(answer(ceil(&mut heap, a)), whole(x.ceil()));
    }
}
