//! Equality and order over types, depth, length and shared parts, and what turns pay for them.
use super::super::compare as counted;
use super::{BEFORE_REMEMBERING, SPARSE};
use crate::base::lent::tests::Bounded;
use crate::base::work::Work;
use crate::heap::Heap;
use crate::terms::map::from_entries;
use crate::testing::terms::uncounted::{compare, equal, less, max, min, same};
use crate::testing::terms::{bits_of, heap, model, model_of, Built, Model};
use crate::values::foreign::Class;
use crate::values::value::Value;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;

/// Levels for which the stack of a test, 2 MB, has no ten bytes each: less than the least frame.
const MANY: usize = if cfg!(miri) { 500 } else { 210_000 };

/// The bits of bytes, and as many zeros behind them.
fn bits_behind(bytes: &[u8], zeros: usize) -> Vec<bool> {
    let mut bits = bits_of(bytes);
    bits.resize(bits.len() + zeros, false);
    bits
}

#[test]
fn one_of_each_type_in_their_order() {
    let mut built = Built::new();
    let ascending = [
        Model::Big(-(1 << 70)),
        Model::Int(crate::values::value::FIXNUM_MIN),
        Model::Float(-1.0e10),
        Model::Int(-1),
        Model::Float(-5e-324),
        Model::Int(0),
        Model::Float(5e-324),
        Model::Float(0.5),
        Model::Int(1),
        Model::Int(crate::values::value::FIXNUM_MAX),
        Model::Float(4611686018427387904.0),
        Model::Big((1 << 62) + 1),
        Model::Big(1 << 70),
        Model::Float(f64::MAX),
        Model::Atom("B"),
        Model::Atom("a"),
        Model::Atom("aa"),
        Model::Atom("b"),
        Model::Atom("nil"),
        Model::Opaque(Class::Timer, 0),
        Model::Opaque(Class::Reference, 1),
        Model::Opaque(Class::Reference, 2),
        Model::Opaque(Class::Function, 0),
        Model::Opaque(Class::Port, 0),
        Model::Address(0),
        Model::Address(1),
        Model::On("aa", 1),
        Model::On("b", 0),
        Model::On("b", 1),
        Model::Opaque(Class::Address, 0),
        Model::Opaque(Class::Address, 1),
        Model::Opaque(Class::Pid, 0),
        Model::Tuple(vec![]),
        Model::Tuple(vec![Model::Bytes(vec![1])]),
        Model::Tuple(vec![Model::Int(1), Model::Int(1)]),
        Model::Tuple(vec![Model::Int(1), Model::Atom("a")]),
        Model::Opaque(Class::Map, 0),
        Model::List(vec![], None),
        Model::List(vec![Model::Int(1)], Some(Box::new(Model::Int(2)))),
        Model::List(vec![Model::Int(1)], None),
        Model::List(vec![Model::Int(1), Model::Int(2)], None),
        Model::List(vec![Model::Int(2)], None),
        Model::Bytes(vec![]),
        Model::Bits(vec![false; 7], 3),
        Model::Bits(bits_behind(&[0], 5), 7),
        Model::Bytes(vec![1]),
        Model::Bytes(vec![1; 300]),
        Model::Bits(bits_behind(&[1; 300], 4), 5),
        Model::Bytes(vec![2]),
        Model::Bits(bits_behind(&[2], 3), 1),
        Model::Bits(vec![true], 4),
    ];
    let values: Vec<Value> = ascending.iter().map(|m| built.value(m)).collect();
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            assert_eq!(
                compare(*a, *b),
                i.cmp(&j),
                "{:?}, {:?}",
                ascending[i],
                ascending[j]
            );
            assert_eq!(less(*a, *b), i < j);
            assert_eq!(equal(*a, *b), i == j);
            assert_eq!(same(*a, *b), i == j);
        }
    }
}

#[test]
fn numbers_are_equal_across_types_but_not_the_same() {
    let mut built = Built::new();
    let mut pair = |a: Model, b: Model| {
        let (a, b) = (built.value(&a), built.value(&b));
        (equal(a, b), same(a, b), compare(a, b) == Ordering::Equal)
    };
    let nested = |m| Model::Tuple(vec![Model::List(vec![m, Model::Atom("a")], None)]);
    let equal_not_same = (true, false, true);
    let different = (false, false, false);
    assert_eq!(pair(Model::Int(1), Model::Float(1.0)), equal_not_same);
    assert_eq!(
        pair(nested(Model::Int(1)), nested(Model::Float(1.0))),
        equal_not_same
    );
    assert_eq!(pair(Model::Float(0.0), Model::Float(-0.0)), equal_not_same);
    assert_eq!(pair(Model::Int(0), Model::Float(-0.0)), equal_not_same);
    assert_eq!(
        pair(Model::Big(1 << 70), Model::Float(2f64.powi(70))),
        equal_not_same
    );
    assert_eq!(
        pair(Model::Float(1e300), Model::Float(1e300)),
        (true, true, true)
    );
    // 2^53 + 1 is no float; converting would make these equal.
    let odd = (1i64 << 53) + 1;
    assert_eq!(pair(Model::Int(odd), Model::Float(odd as f64)), different);
    assert_eq!(
        pair(Model::Int(odd - 1), Model::Float(odd as f64)),
        equal_not_same
    );
    assert_eq!(
        pair(
            Model::Int(crate::values::value::FIXNUM_MAX),
            Model::Float(2f64.powi(62))
        ),
        different
    );
    assert_eq!(
        pair(
            Model::Int(crate::values::value::FIXNUM_MIN),
            Model::Float(-(2f64.powi(62)))
        ),
        equal_not_same
    );
}

#[test]
fn max_and_min_prefer_the_first() {
    let (one, float) = (Value::fixnum(1), Value::flonum(1.0).unwrap());
    assert!(max(one, float) == one && max(float, one) == float);
    assert!(min(one, float) == one && min(float, one) == float);
    assert!(max(one, Value::fixnum(2)) == Value::fixnum(2));
    assert!(min(one, Value::TRUE) == one && min(Value::TRUE, one) == one);
}

fn tower(heap: &mut Heap, bottom: Value, level: fn(&mut Heap, Value) -> Value) -> Value {
    (0..MANY).fold(bottom, |below, _| level(heap, below))
}

#[test]
fn depth_costs_no_native_stack() {
    let levels: [fn(&mut Heap, Value) -> Value; 5] = [
        |heap, below| heap.cons(Value::NIL, below),
        |heap, below| heap.cons(below, Value::EMPTY_LIST),
        |heap, below| heap.tuple(1, |_| below),
        |heap, below| heap.tuple(2, |i| if i == 0 { below } else { Value::NIL }),
        |heap, below| heap.tuple(2, |i| if i == 1 { below } else { Value::NIL }),
    ];
    for level in levels {
        let mut heap = heap();
        let a = tower(&mut heap, Value::fixnum(1), level);
        let b = tower(&mut heap, Value::fixnum(1), level);
        let c = tower(&mut heap, Value::flonum(1.0).unwrap(), level);
        let d = tower(&mut heap, Value::fixnum(2), level);
        assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
        assert!(!same(a, c) && equal(a, c) && compare(a, c).is_eq());
        assert!(!same(a, d) && !equal(a, d) && compare(a, d).is_lt() && compare(d, a).is_gt());
    }
}

#[test]
fn long_lists_of_tuples() {
    let mut heap = heap();
    let mut list = |last: i64| {
        (0..MANY as i64).rev().fold(Value::EMPTY_LIST, |tail, n| {
            let n = if n == MANY as i64 - 1 { last } else { n };
            let head = heap.tuple(1, |_| Value::fixnum(n));
            heap.cons(head, tail)
        })
    };
    let (a, b, c) = (list(7), list(7), list(8));
    assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
    assert!(!same(a, c) && !equal(a, c) && compare(a, c).is_lt());
}

#[test]
fn sharing_is_not_written_out() {
    // Each of these has 2^500 leaves in 500 cells.
    let levels: [fn(&mut Heap, Value) -> Value; 3] = [
        |heap, below| heap.tuple(2, |_| below),
        |heap, below| heap.cons(below, below),
        |heap, below| heap.tuple(3, |i| if i == 1 { Value::NIL } else { below }),
    ];
    for level in levels {
        let mut heap = heap();
        let mut shared =
            |bottom: i64| (0..500).fold(Value::fixnum(bottom), |below, _| level(&mut heap, below));
        let (a, b) = (shared(1), shared(1));
        assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
        assert!(compare(a, shared(2)).is_lt());
    }
}

/// Two terms with many cells that are equal to many others, which are not in the same places.
#[test]
fn what_is_equal_to_a_third_is_not_compared() {
    let mut heap = heap();
    let (levels, copies) = if cfg!(miri) { (10, 4) } else { (40, 300) };
    let mut sides = [1, 2].map(|side| {
        let mut level: Vec<Value> = (0..copies).map(|_| heap.tuple(1, number)).collect();
        for n in 0..levels {
            level = (0..copies)
                .map(|i| {
                    let other = (i * 7 + side * 31 + n * 13) % copies;
                    let parts = [level[i], level[other]];
                    heap.tuple(2, |i| parts[i])
                })
                .collect();
        }
        level[0]
    });
    let mut work = Work::free();
    assert!(counted::same(sides[0], sides[1], &mut work));
    let (cells, work) = (2 * levels * copies, work.counted());
    assert!(
        work < BEFORE_REMEMBERING + SPARSE * cells,
        "{work} for {cells}"
    );
    sides[1] = heap.tuple(2, |i| sides[i]);
    assert!(!same(sides[0], sides[1]));
}

/// The memory that a comparison takes beside the heap is lent: for depth it must be, and what it remembers is forgone.
#[test]
fn memory_that_comparing_takes_is_lent() {
    let mut heap = heap();
    let [wide, other] = [(); 2].map(|()| {
        let element = |heap: &mut Heap| heap.tuple(2, |i| Value::fixnum(i as i64));
        (0..100 * BEFORE_REMEMBERING / SPARSE).fold(Value::EMPTY_LIST, |list, _| {
            let element = element(&mut heap);
            heap.cons(element, list)
        })
    });
    let [deep, twin] = [(); 2].map(|()| {
        tower(&mut heap, Value::NIL, |heap, first| {
            heap.tuple(2, |at| if at == 0 { first } else { Value::NIL })
        })
    });
    for (a, b, limit, is_enough) in [
        (wide, other, 0, true),
        (deep, twin, usize::MAX, true),
        (deep, twin, 1 << 10, false),
    ] {
        let bounded = Bounded::of(limit);
        let mut work = Work::free();
        work.lender = Some(bounded.clone());
        let order = counted::compare(a, b, &mut work);
        assert_eq!((work.take_lack(), work.is_over()), (!is_enough, !is_enough));
        assert!(!is_enough || order.is_eq());
        assert_eq!(bounded.lent.load(Relaxed), 0);
    }
}

#[test]
fn turns_pay_for_what_is_looked_at() {
    let mut heap = heap();
    let mut list = |last: i64| {
        (0..100).fold(Value::EMPTY_LIST, |tail, n| {
            heap.cons(number(if n == 99 { last } else { n } as usize), tail)
        })
    };
    let (a, b, c) = (list(99), list(99), list(7));
    let [short, long] = [10, 20].map(|n| heap.tuple(n, number));
    let texts = [0, 0, 1].map(|first| heap.bytes(&[&[first], &[7; 6399][..]].concat()));
    let paid = |a, b| {
        let mut work = [(); 3].map(|()| Work::free());
        counted::same(a, b, &mut work[0]);
        counted::equal(a, b, &mut work[1]);
        counted::less(a, b, &mut work[2]);
        let work = work.map(|work| work.counted());
        assert!(work[0] == work[1] && work[1] == work[2], "{work:?}");
        work[0]
    };
    assert_eq!(paid(a, b), 200);
    assert_eq!(paid(a, a), 0);
    // The first element differs, and nothing is looked at where sizes do.
    assert_eq!(paid(a, c), 1);
    assert_eq!(paid(short, long), 0);
    assert_eq!(paid(short, heap.tuple(10, number)), 10);
    assert_eq!(paid(texts[0], texts[1]), 200);
    assert_eq!(paid(texts[0], texts[2]), 200);
    assert_eq!(paid(number(1), number(2)), 0);
}

/// Elements behind a difference are not gone through, also in large maps.
#[test]
fn turns_do_not_pay_for_what_is_not_looked_at() {
    let mut heap = heap();
    let mut large = |first: usize| {
        let entries = (first..first + 1000).map(|n| (number(n), number(n)));
        from_entries(&mut heap, entries.collect())
    };
    let (a, b, c) = (large(0), large(0), large(1));
    let paid = |a, b| {
        let mut work = Work::free();
        counted::equal(a, b, &mut work);
        work.counted()
    };
    assert_eq!((paid(a, b), paid(a, c)), (2000, 1));
}

#[test]
fn what_cannot_be_paid_ends() {
    let mut heap = heap();
    let mut tree = || (0..1000).fold(number(1), |below, _| heap.tuple(2, |_| below));
    let (a, b) = (tree(), tree());
    let asked: [fn(Value, Value, &mut Work); 3] = [
        |a, b, work| _ = counted::same(a, b, work),
        |a, b, work| _ = counted::compare(a, b, work),
        |a, b, work| _ = counted::equal(a, b, work),
    ];
    for ask in asked {
        let mut work = Work::free();
        work.allow(100);
        ask(a, b, &mut work);
        assert!(work.is_over());
    }
}

fn number(n: usize) -> Value {
    Value::fixnum(n as i64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

    #[test]
    fn as_the_model_says(a in model(), b in model()) {
        let mut built = Built::new();
        let (x, y) = (built.value(&a), built.value(&b));
        let expected = model_of::compare(&a, &b);
        prop_assert_eq!(compare(x, y), expected);
        prop_assert_eq!(compare(y, x), expected.reverse());
        prop_assert_eq!(less(x, y), expected.is_lt());
        prop_assert_eq!(equal(x, y), expected.is_eq());
        prop_assert_eq!(same(x, y), model_of::same(&a, &b));
    }

    #[test]
    fn as_keys_equal_is_the_same(a in model(), b in model()) {
        let mut built = Built::new();
        let (x, y) = (built.value(&a), built.value(&b));
        let order = counted::key_order(x, y, &mut Work::free());
        prop_assert_eq!(order.is_eq(), model_of::same(&a, &b));
        prop_assert_eq!(counted::key_order(y, x, &mut Work::free()), order.reverse());
    }

    #[test]
    fn a_copy_is_the_same(a in model()) {
        let mut built = Built::new();
        let (x, y) = (built.value(&a), built.value(&a));
        prop_assert!(same(x, y) && equal(x, y) && compare(x, y).is_eq());
    }

    #[test]
    fn the_order_is_transitive(models in proptest::collection::vec(model(), 3)) {
        let mut built = Built::new();
        let mut v: Vec<Value> = models.iter().map(|m| built.value(m)).collect();
        v.sort_by(|a, b| compare(*a, *b));
        prop_assert!(compare(v[0], v[1]).is_le() && compare(v[1], v[2]).is_le());
        let (ab, bc) = (compare(v[0], v[1]), compare(v[1], v[2]));
        prop_assert_eq!(compare(v[0], v[2]), ab.then(bc));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

    #[test]
    fn few_elements_compare_as_many_do(
        elements in proptest::collection::vec((model(), model(), 0u8..4), 0..6),
        deeper in 0usize..5,
    ) {
        let tuple = |of: fn(&(Model, Model, u8)) -> &Model| {
            let flat = Model::Tuple(elements.iter().map(|element| of(element).clone()).collect());
            (0..deeper).fold(flat, |inner, _| Model::Tuple(vec![Model::Int(1), inner]))
        };
        let mut built = Built::new();
        let a = built.value(&tuple(|(left, ..)| left));
        let b = built.value(&tuple(|(left, right, other)| if *other == 0 { right } else { left }));
        for question in [
            super::Comparison::Order,
            super::Comparison::Key,
            super::Comparison::Equal,
            super::Comparison::Same,
        ] {
            let Some((order, looked_at)) = super::few::few(a, b, question) else { continue };
            let mut work = Work::free();
            let mut steps = super::Steps::new(&mut work, false);
            let expected = super::walk_counting(a, b, question, &mut steps).ok();
            prop_assert!(steps.report_steps().is_ok());
            let equal = expected.map(Ordering::is_eq);
            match question {
                super::Comparison::Order | super::Comparison::Key => prop_assert_eq!(Some(order), expected),
                _ => prop_assert_eq!(Some(order.is_eq()), equal),
            }
            prop_assert_eq!(looked_at, work.counted());
        }
    }
}
