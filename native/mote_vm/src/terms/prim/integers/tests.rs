use super::super::compare::{compare, same};
use super::super::{arith, bits};
use super::*;
use crate::base::work::Work;
use crate::testing::terms::{fixnum, heap};
use proptest::collection::vec;
use proptest::prelude::*;

/// Numbers of some hundred bits, those around powers of two often.
fn integer() -> impl Strategy<Value = BigInt> {
    let limbs = (any::<bool>(), vec(any::<u32>(), 0..14));
    let border = (any::<bool>(), 0u32..400, -2i32..=2);
    prop_oneof![
        limbs.prop_map(|(negative, limbs)| signed(negative, BigUint::new(limbs).into())),
        border.prop_map(|(negative, bits, off)| {
            signed(negative, (BigInt::from(1) << bits) + off)
        }),
        fixnum().prop_map(BigInt::from),
    ]
}

fn signed(negative: bool, n: BigInt) -> BigInt {
    if negative {
        -n
    } else {
        n
    }
}

fn number(a: Value) -> Option<BigInt> {
    let mut room = [0];
    let n = Signed::of(a, &mut room)?.to_integer();
    // One form for each.
    assert_eq!(
        a.is_fixnum(),
        i64::try_from(&n).is_ok_and(|n| Value::integer(n).is_some())
    );
    assert!(a.is_fixnum() || as_big(a).is_some_and(|big| big.limbs().last() != Some(&0)));
    Some(n)
}

fn ones(heap: &mut Heap, limbs: usize) -> Value {
    heap.integer(false, &vec![u64::MAX; limbs])
}

/// Tries both sides of the limit at which products are made limb by limb.
#[test]
fn products_of_short_and_long_factors() {
    let mut heap = heap();
    let heap = &mut heap;
    for shorter in limbs::SHORT - 1..=limbs::SHORT + 1 {
        let (a, b) = (ones(heap, shorter), ones(heap, limbs::SHORT + 9));
        let expected = number(a).zip(number(b)).map(|(n, m)| n * m);
        assert_eq!(number(arith::mul(heap, a, b)), expected);
        assert_eq!(number(arith::mul(heap, b, a)), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 6 } else { 2000 }))]

    #[test]
    fn whatever_their_sizes(n in integer(), m in integer(), by in 0i64..300) {
        let mut heap = heap();
        let heap = &mut heap;
        let (a, b) = (value(heap, &n), value(heap, &m));
        prop_assert_eq!(number(arith::add(heap, a, b)), Some(&n + &m));
        prop_assert_eq!(number(arith::sub(heap, a, b)), Some(&n - &m));
        prop_assert_eq!(number(arith::mul(heap, a, b)), Some(&n * &m));
        prop_assert_eq!(number(arith::neg(heap, a)), Some(-&n));
        prop_assert_eq!(number(arith::abs(heap, a)), Some(n.magnitude().clone().into()));
        prop_assert_eq!(number(bits::band(heap, a, b)), Some(&n & &m));
        prop_assert_eq!(number(bits::bor(heap, a, b)), Some(&n | &m));
        prop_assert_eq!(number(bits::bxor(heap, a, b)), Some(&n ^ &m));
        prop_assert_eq!(number(bits::bnot(heap, a)), Some(!&n));
        let shift = Value::fixnum(by);
        prop_assert_eq!(number(bits::bsl(heap, a, shift)), Some(&n << by));
        prop_assert_eq!(number(bits::bsr(heap, a, shift)), Some(&n >> by));
        let (quotient, rest) = (arith::idiv(heap, a, b), arith::irem(heap, a, b));
        let zero = m == BigInt::ZERO;
        prop_assert_eq!(number(quotient), (!zero).then(|| &n / &m));
        prop_assert_eq!(number(rest), (!zero).then(|| &n % &m));
        prop_assert_eq!(compare(a, b, &mut Work::free()), n.cmp(&m));
        prop_assert_eq!(same(a, b, &mut Work::free()), n == m);
        prop_assert_eq!(text(heap, a), Some(n.to_string()));
        let low: BigInt = &n & BigInt::from(u64::MAX);
        prop_assert_eq!(lowest_bits(a).map(BigInt::from), Some(low));
        let mask = BigInt::from(u64::MAX);
        prop_assert_eq!(number(wrapped(heap, a, b, u64::wrapping_add)), Some((&n + &m) & &mask));
        prop_assert_eq!(number(wrapped(heap, a, b, u64::wrapping_sub)), Some((&n - &m) & &mask));
        prop_assert_eq!(number(wrapped(heap, a, b, u64::wrapping_mul)), Some((&n * &m) & &mask));
    }

    #[test]
    fn floats_without_a_fraction(n in integer()) {
        let mut heap = heap();
        let a = value(&mut heap, &n);
        let Some(f) = arith::as_f64(a) else { return Ok(()) };
        let whole = arith::trunc(&mut heap, Value::flonum(f).unwrap_or(a));
        prop_assert_eq!(arith::as_f64(whole), Some(f));
    }
}

#[test]
fn products_and_quotients_of_thousands_of_digits() {
    let mut heap = heap();
    let sizes: &[usize] = if cfg!(miri) {
        &[5]
    } else {
        &[40, 70, 130, 300, 1_000, 2_500]
    };
    for (i, n) in sizes.iter().enumerate() {
        let limbs = |from: u64, count| -> Vec<u64> {
            let mixed = |i: u64| {
                (from + i)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .rotate_left(31)
            };
            (1..=count as u64).map(mixed).collect()
        };
        let a = heap.integer(i % 2 == 0, &limbs(7, *n));
        let b = heap.integer(false, &limbs(1_000_000, n / 2 + i));
        let rest = heap.integer(i % 2 == 0, &limbs(99, n / 3));
        let product = arith::mul(&mut heap, a, b);
        let sum = arith::add(&mut heap, product, rest);
        let (quotient, left) = (
            arith::idiv(&mut heap, sum, b),
            arith::irem(&mut heap, sum, b),
        );
        assert_eq!(number(quotient), number(a));
        assert_eq!(number(left), number(rest));
        let digits = text(&mut heap, sum).expect("digits");
        assert_eq!(digits.parse().ok(), number(sum));
    }
}

#[test]
fn what_is_too_large_is_refused_before_anything_is_counted() {
    let mut heap = heap();
    let half = ones(&mut heap, MOST_LIMBS / 2 + 1);
    assert!(arith::mul(&mut heap, half, half).is_none() && heap.work.is_none());
    let one = Value::fixnum(1);
    let most = Value::fixnum((MOST_LIMBS * LIMB) as i64);
    assert!(bits::bsl(&mut heap, one, most).is_none() && heap.work.is_none());
    let last = Value::fixnum((MOST_LIMBS * LIMB) as i64 - 1);
    assert!(!bits::bsl(&mut heap, one, last).is_none());
    let all = ones(&mut heap, MOST_LIMBS);
    assert!(arith::add(&mut heap, all, one).is_none());
    let less = arith::sub(&mut heap, all, one);
    assert!(!less.is_none() && !heap.exhausted());
    assert!(arith::as_f64(all).is_none());
}

#[test]
fn what_128_bits_hold_costs_nothing() {
    let mut heap = heap();
    let heap = &mut heap;
    let (least, most) = (heap.wide_integer(i128::MIN), heap.wide_integer(i128::MAX));
    let [one, minus, up, down] = [1, -1, 100, -1_000].map(Value::fixnum);
    let two_to_63 = heap.wide_integer(1 << 63);
    arith::sub(heap, most, one);
    arith::irem(heap, least, minus);
    text(heap, least);
    for count in [down, minus, Value::fixnum(0), Value::fixnum(63)] {
        bits::bsl(heap, two_to_63, count);
        bits::bsl(heap, minus, count);
    }
    assert!(heap.work.is_none());
    arith::idiv(heap, least, minus);
    assert_eq!(
        heap.work.counted(),
        BEGUN + 3 / VISITED + QUOTIENT * (2 / SQUARE)
    );
    bits::bsl(heap, two_to_63, up);
    assert!(heap.work.counted() >= 2 * BEGUN);
}

#[test]
fn what_cannot_be_paid_for_is_not_done() {
    let mut heap = heap();
    let a = ones(&mut heap, 2_000);
    heap.work.allow(1_000);
    assert!(arith::mul(&mut heap, a, a).is_none() && heap.work.is_over());
    heap.work.allow(1_000);
    assert!(text(&mut heap, a).is_none() && heap.work.is_over());
    heap.work.allow(1_000);
    assert!(!arith::add(&mut heap, a, a).is_none());
    assert_eq!(heap.work.counted(), BEGUN + 4_000 / VISITED);
    heap.work.allow(u64::MAX);
    assert!(!arith::mul(&mut heap, a, a).is_none());
    let product = 2_000 * ROOT * 44 / SQUARE;
    assert_eq!(heap.work.counted(), BEGUN + 4_000 / VISITED + product);
}
