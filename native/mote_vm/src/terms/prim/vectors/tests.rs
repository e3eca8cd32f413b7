//! What vectors are, hold and answer.
use super::super::lists::from_slice;
use super::*;
use crate::testing::terms::{elements, heap, Built, Model};
use proptest::prelude::*;

fn vector(heap: &mut Heap, all: &[f64]) -> Value {
    let all: Vec<Value> = all.iter().map(|f| heap.float(*f)).collect();
    let list = from_slice(heap, &all);
    vec_new(heap, names().f64, list)
}

fn integers_of(heap: &mut Heap, all: &[i64]) -> Value {
    let parts = all.chunks(ELEMENTS_AT_ONCE);
    integers(
        heap,
        all.len(),
        parts.map(|some| some.iter().copied().map(Some)),
    )
}

fn list_of(heap: &mut Heap, a: Value) -> Vec<Option<f64>> {
    let list = vec_to_list(heap, a);
    elements(list).0.into_iter().map(as_float).collect()
}

#[test]
fn it_is_the_struct_that_elixir_has() {
    let mut heap = heap();
    let vector = vector(&mut heap, &[1.0, -2.5]);
    let map = Node::of(vector).unwrap();
    assert!(map::named(map, names().structure) == Some(names().module));
    assert!(map::entries(map)
        .map(|(key, _)| key.as_atom().unwrap().name())
        .is_sorted());
    assert!(vec_size(vector) == Value::fixnum(2));
    assert_eq!(list_of(&mut heap, vector), [Some(1.0), Some(-2.5)]);
    assert_eq!(
        vec_to_binary(vector).as_bytes().unwrap()[8..],
        (-2.5f64).to_le_bytes()
    );
}

#[test]
fn elements_and_parts() {
    let mut heap = heap();
    let all: Vec<f64> = (0..1000).map(f64::from).collect();
    let whole = vector(&mut heap, &all);
    let at = Value::fixnum;
    assert_eq!(vec_get(&mut heap, whole, at(999)).as_float(), Some(999.0));
    for odd in [at(1000), at(-1), Value::NIL] {
        assert!(vec_get(&mut heap, whole, odd).is_none());
    }
    let part = vec_slice(&mut heap, whole, at(10), at(100));
    assert_eq!(
        list_of(&mut heap, part),
        all[10..110].iter().copied().map(Some).collect::<Vec<_>>()
    );
    assert!(
        vec_to_binary(part).sliced().is_some(),
        "the bytes are shared"
    );
    assert!(vec_slice(&mut heap, whole, at(10), at(991)).is_none());
    assert!(vec_slice(&mut heap, whole, at(i64::MAX >> 1), at(i64::MAX >> 1)).is_none());
    let twice = vec_concat(&mut heap, part, part);
    assert!(vec_size(twice) == at(200));
}

#[test]
fn sums_of_floats_are_made_in_lanes() {
    let mut heap = heap();
    let all: Vec<f64> = (0..1001).map(|i| 1.0 / f64::from(i + 1)).collect();
    let x = vector(&mut heap, &all);
    let mut sums = [0.0; 8];
    for (i, f) in all.iter().enumerate() {
        sums[i % 8] += f * f;
    }
    let expected = sums.iter().fold(0.0, |sum, lane| sum + lane);
    assert_eq!(vec_dot(&mut heap, x, x).as_float(), Some(expected));
    assert_eq!(vec_distance(&mut heap, x, x).as_float(), Some(0.0));
    let empty = vector(&mut heap, &[]);
    assert_eq!(vec_sum(&mut heap, empty).as_float(), Some(0.0));
    assert!(vec_dot(&mut heap, x, empty).is_none());
}

#[test]
fn integers_have_64_bits_and_no_more() {
    let mut heap = heap();
    let x = integers_of(&mut heap, &[i64::MAX, 1, i64::MIN]);
    assert!(vec_sum(&mut heap, x) == Value::fixnum(0));
    let wide = vec_get(&mut heap, x, Value::fixnum(0));
    assert_eq!(as_i128(wide), Some(i64::MAX.into()));
    let plus =
        |heap: &mut Heap, n| vec_map2(heap, Value::atom(Atom::new("add")), x, Value::fixnum(n));
    assert!(plus(&mut heap, 1).is_none() && plus(&mut heap, -1).is_none());
    let same = plus(&mut heap, 0);
    assert!(crate::testing::terms::uncounted::same(same, x));
    assert!(vec_dot(&mut heap, x, x).is_none());
    assert!(vec_distance(&mut heap, x, x) == Value::fixnum(0));
    assert!(
        vec_argmin(&mut heap, x) == Value::fixnum(2)
            && vec_argmax(&mut heap, x) == Value::fixnum(0)
    );
}

#[test]
fn what_has_no_answer() {
    let mut heap = heap();
    let (zero, one) = (vector(&mut heap, &[0.0]), vector(&mut heap, &[1.0]));
    let ints = integers_of(&mut heap, &[1]);
    let name = |name| Value::atom(Atom::new(name));
    assert!(vec_map2(&mut heap, name("div"), one, zero).is_none());
    assert!(vec_map2(&mut heap, name("add"), one, ints).is_none());
    assert!(vec_map2(&mut heap, name("pow"), one, one).is_none());
    assert!(vec_concat(&mut heap, one, ints).is_none());
    let empty = vector(&mut heap, &[]);
    assert!(vec_min(&mut heap, empty).is_none() && vec_argmax(&mut heap, empty).is_none());
    let nan = heap.bytes(&f64::NAN.to_le_bytes());
    assert!(vec_from_binary(&mut heap, names().f64, nan).is_none());
    // Made by hand, past the check.
    let odd = made(&mut heap, names().f64, nan);
    assert!(vec_get(&mut heap, odd, Value::fixnum(0)).is_none());
    assert!(vec_sort(&mut heap, odd).is_none() && vec_min(&mut heap, odd).is_none());
    assert!(vec_sum(&mut heap, odd).is_none() && vec_to_list(&mut heap, odd).is_none());
    let mut built = Built::new();
    for model in [Model::Int(1), Model::Map(vec![]), Model::List(vec![], None)] {
        let value = built.value(&model);
        assert!(vec_size(value).is_none() && vec_sum(&mut heap, value).is_none());
    }
}

#[test]
fn from_tensors() {
    let mut heap = heap();
    let bytes = heap.bytes(&[0x00, 0x00, 0x80, 0x3F, 0xFF, 0xFF, 0xFF, 0xFF]);
    let mut of = |letter, bits| {
        let kind = heap.tuple(2, |i| {
            if i == 0 {
                Value::atom(Atom::new(letter))
            } else {
                Value::fixnum(bits)
            }
        });
        let vector = vec_from_binary(&mut heap, kind, bytes);
        (!vector.is_none()).then(|| list_of(&mut heap, vector))
    };
    assert_eq!(of("u", 8).map(|list| list.len()), Some(8));
    assert_eq!(of("s", 32), Some(vec![Some(1_065_353_216.0), Some(-1.0)]));
    assert_eq!(of("f", 32), None, "the second one is no number");
    assert_eq!(of("bf", 16), None);
}

/// One that takes several looks.
fn long(heap: &mut Heap) -> (Vec<f64>, Value, Value) {
    let all: Vec<f64> = (0..3 * ELEMENTS_AT_ONCE + 3)
        .map(|i| (i * 7919 % 50_021) as f64)
        .collect();
    let integers: Vec<i64> = all.iter().map(|f| *f as i64).collect();
    let floats = vector(heap, &all);
    (all, floats, integers_of(heap, &integers))
}

#[test]
fn long_ones_are_the_same_part_by_part() {
    let mut heap = heap();
    let (all, floats, integers) = long(&mut heap);
    let add = Value::atom(Atom::new("add"));
    let mut sums = [0.0; 8];
    for (i, f) in all.iter().enumerate() {
        sums[i % 8] += f;
    }
    let sum: f64 = sums.iter().sum();
    assert_eq!(vec_sum(&mut heap, floats).as_float(), Some(sum));
    assert!(vec_sum(&mut heap, integers) == Value::fixnum(all.iter().map(|f| *f as i64).sum()));
    let at = |greatest| {
        let better = |a: f64, b: f64| if greatest { a > b } else { a < b };
        let index = (1..all.len()).fold(
            0,
            |best, i| if better(all[i], all[best]) { i } else { best },
        );
        Value::fixnum(index as i64)
    };
    for vector in [floats, integers] {
        assert!(vec_argmin(&mut heap, vector) == at(false));
        assert!(vec_argmax(&mut heap, vector) == at(true));
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        let made = vec_sort(&mut heap, vector);
        assert!(list_of(&mut heap, made)
            .into_iter()
            .eq(sorted.into_iter().map(Some)));
        for other in [vector, vec_get(&mut heap, vector, Value::fixnum(1))] {
            let made = vec_map2(&mut heap, add, vector, other);
            let more =
                |(i, f): (usize, &f64)| Some(f + if other == vector { all[i] } else { all[1] });
            assert!(list_of(&mut heap, made)
                .into_iter()
                .eq(all.iter().enumerate().map(more)));
        }
        let twice = vec_concat(&mut heap, vector, vector);
        let again = all.iter().chain(&all).copied().map(Some);
        assert!(list_of(&mut heap, twice).into_iter().eq(again));
    }
}

/// work.rs, invariant 3.
#[test]
fn they_look_whether_the_machine_stops() {
    let mut heap = heap();
    let (_, floats, integers) = long(&mut heap);
    let list = vec_to_list(&mut heap, floats);
    let binary = vec_to_binary(floats);
    let add = Value::atom(Atom::new("add"));
    type Step = fn(&mut Heap, [Value; 4]) -> Value;
    let steps: [(&str, Step); 12] = [
        ("sum", |heap, [v, ..]| vec_sum(heap, v)),
        ("dot", |heap, [v, ..]| vec_dot(heap, v, v)),
        ("distance", |heap, [v, ..]| vec_distance(heap, v, v)),
        ("min", |heap, [v, ..]| vec_min(heap, v)),
        ("argmax", |heap, [v, ..]| vec_argmax(heap, v)),
        ("sort", |heap, [v, ..]| vec_sort(heap, v)),
        ("add", |heap, [v, _, _, add]| vec_map2(heap, add, v, v)),
        ("add one", |heap, [v, _, _, add]| {
            vec_map2(heap, add, v, Value::fixnum(1))
        }),
        ("concat", |heap, [v, ..]| vec_concat(heap, v, v)),
        ("new", |heap, [_, list, ..]| {
            vec_new(heap, names().f64, list)
        }),
        ("to_list", |heap, [v, ..]| vec_to_list(heap, v)),
        ("from_binary", |heap, [_, _, binary, _]| {
            vec_from_binary(heap, names().f64, binary)
        }),
    ];
    heap.work.end_with(std::sync::Arc::new(true.into()));
    for vector in [floats, integers] {
        for (name, step) in &steps {
            heap.work.allow(u64::MAX);
            assert!(
                step(&mut heap, [vector, list, binary, add]).is_none(),
                "{name}"
            );
            assert!(heap.work.is_over(), "{name}");
        }
    }
}

/// Integers, of which most are small and some at the ends.
fn integer_elements() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let one = prop_oneof![
        8 => -1000i64..1000,
        1 => any::<i32>().prop_map(i64::from),
        1 => any::<i64>(),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(1 << 31), Just(0)],
    ];
    // Some vectors are small altogether, or hardly any has a sum.
    let small = (-1000i64..1000, -1000i64..1000);
    prop_oneof![
        proptest::collection::vec((one.clone(), one), 0..70),
        proptest::collection::vec(small, 0..70)
    ]
}

fn float_elements() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let one = prop_oneof![
        8 => (-8i8..8).prop_map(|n| f64::from(n) / 4.0),
        2 => any::<f64>().prop_filter("finite", |f| f.is_finite()),
        1 => prop_oneof![Just(-0.0), Just(f64::MAX), Just(f64::MIN_POSITIVE)],
    ];
    proptest::collection::vec((one.clone(), one), 0..70)
}

/// The elements as they are stored.
fn stored(a: Value) -> Option<Vec<[u8; ELEMENT]>> {
    (!a.is_none()).then(|| Vector::of(a).unwrap().elements().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    #[test]
    fn integers_are_exact(pairs in integer_elements()) {
        let mut heap = heap();
        let (x, y): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let [a, b] = [&x, &y].map(|all| integers_of(&mut heap, all));
        type Exact = fn(i64, i64) -> Option<i64>;
        let operations: [(&str, Exact); 6] = [
            ("add", i64::checked_add),
            ("sub", i64::checked_sub),
            ("mul", i64::checked_mul),
            ("div", i64::checked_div),
            ("min", |x, y| Some(x.min(y))),
            ("max", |x, y| Some(x.max(y))),
        ];
        for (name, f) in operations {
            let atom = Value::atom(Atom::new(name));
            let all: Option<Vec<_>> = pairs.iter().map(|(x, y)| f(*x, *y).map(i64::to_le_bytes)).collect();
            let made = vec_map2(&mut heap, atom, a, b);
            prop_assert_eq!(stored(made), all, "{}", name);
            let Some(y) = y.first().copied() else { continue };
            let all: Option<Vec<_>> = x.iter().map(|x| f(*x, y).map(i64::to_le_bytes)).collect();
            let y = heap.wide_integer(y.into());
            let made = vec_map2(&mut heap, atom, a, y);
            prop_assert_eq!(stored(made), all, "{} with one", name);
        }
        let fits = |sum: Option<i128>| sum.filter(|n| i64::try_from(*n).is_ok());
        let wide = pairs.iter().map(|(x, y)| i128::from(*x) * i128::from(*y));
        let dot = wide.clone().try_fold(0, i128::checked_add);
        let of = |a: Value| if a.is_none() { None } else { as_i128(a) };
        // Where 127 bits are exceeded on the way it depends on the order.
        if dot.is_some() && wide.map(i128::abs).try_fold(0, i128::checked_add).is_some() {
            prop_assert_eq!(of(vec_dot(&mut heap, a, b)), fits(dot));
        }
        let sum = x.iter().map(|x| i128::from(*x)).sum();
        prop_assert_eq!(of(vec_sum(&mut heap, a)), fits(Some(sum)));
        prop_assert_eq!(of(vec_min(&mut heap, a)), x.iter().min().map(|x| (*x).into()));
        prop_assert_eq!(of(vec_max(&mut heap, a)), x.iter().max().map(|x| (*x).into()));
        let first = |best: i64| x.iter().position(|x| *x == best).map(|i| i as i128);
        prop_assert_eq!(of(vec_argmin(&mut heap, a)), x.iter().min().and_then(|x| first(*x)));
        prop_assert_eq!(of(vec_argmax(&mut heap, a)), x.iter().max().and_then(|x| first(*x)));
    }

    #[test]
    fn floats_are_computed_one_by_one(pairs in float_elements()) {
        let mut heap = heap();
        let (x, y): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let [a, b] = [&x, &y].map(|all| vector(&mut heap, all));
        type Each = fn(f64, f64) -> f64;
        let operations: [(&str, Each); 6] = [
            ("add", |x, y| x + y),
            ("sub", |x, y| x - y),
            ("mul", |x, y| x * y),
            ("div", |x, y| x / y),
            ("min", |x, y| if y < x { y } else { x }),
            ("max", |x, y| if x < y { y } else { x }),
        ];
        let good = |f: f64| f.is_finite().then(|| f.to_le_bytes());
        for (name, f) in operations {
            let atom = Value::atom(Atom::new(name));
            let all: Option<Vec<_>> = pairs.iter().map(|(x, y)| good(f(*x, *y))).collect();
            let made = vec_map2(&mut heap, atom, a, b);
            prop_assert_eq!(stored(made), all, "{}", name);
            let Some(y) = y.first().copied() else { continue };
            let all: Option<Vec<_>> = x.iter().map(|x| good(f(*x, y))).collect();
            let y = heap.float(y);
            let made = vec_map2(&mut heap, atom, a, y);
            prop_assert_eq!(stored(made), all, "{} with one", name);
        }
        for greatest in [false, true] {
            let better = |x: f64, best: f64| if greatest { best < x } else { x < best };
            let first = (0..x.len()).reduce(|best, i| if better(x[i], x[best]) { i } else { best });
            let (extreme, at) = match greatest {
                false => (vec_min(&mut heap, a), vec_argmin(&mut heap, a)),
                true => (vec_max(&mut heap, a), vec_argmax(&mut heap, a)),
            };
            let bits = |a: Value| if a.is_none() { None } else { as_float(a).map(f64::to_bits) };
            prop_assert_eq!(bits(extreme), first.map(|i| x[i].to_bits()));
            prop_assert_eq!(at.is_none(), first.is_none());
            if let Some(i) = first {
                prop_assert_eq!(at.fixnum_value(), i as i64);
            }
        }
    }
}

/// Lengths around those of blocks and lanes, and of what is in the heap.
fn lengths() -> impl Iterator<Item = usize> {
    (0..70).chain(126..132).chain([1_000, 40_000])
}

/// What is in the heap is made anew.
fn in_place(n: usize) -> bool {
    n > 128
}

#[test]
fn a_result_in_the_place_of_an_operand_is_the_same() {
    let mut heap = heap();
    for n in lengths() {
        let given: Vec<i64> = (0..n as i64).map(|i| i * 37 % 23 - 9).collect();
        for (name, _) in ElementOperation::ALL {
            let name = Value::atom(Atom::new(name));
            let [x, y] = [7, 3].map(|by| {
                let all: Vec<i64> = given.iter().map(|i| i * by + 500).collect();
                integers_of(&mut heap, &all)
            });
            let add = Value::atom(Atom::new("add"));
            let fresh = |heap: &mut Heap| vec_map2(heap, add, x, y);
            let (expected, place) = (fresh(&mut heap), fresh(&mut heap));
            let expected = vec_map2(&mut heap, name, x, expected);
            let made = vec_map2_right(&mut heap, name, x, place);
            assert!(
                (made == place) == in_place(n) && stored(made) == stored(expected),
                "{n}"
            );
            let (expected, place) = (fresh(&mut heap), fresh(&mut heap));
            let expected = vec_map2(&mut heap, name, expected, expected);
            let made = vec_map2_left(&mut heap, name, place, place);
            assert!(
                (made == place) == in_place(n) && stored(made) == stored(expected),
                "{n}"
            );
        }
    }
}

#[test]
fn an_operand_stays_as_it_is_where_there_is_no_answer() {
    let mut heap = heap();
    let [add, mul, sub] = ["add", "mul", "sub"].map(|name| Value::atom(Atom::new(name)));
    let zero = Value::fixnum(0);
    for n in (1..70).chain(126..132) {
        for at in 0..n {
            let with = |one: i64, other: i64| -> Vec<i64> {
                (0..n).map(|i| if i == at { one } else { other }).collect()
            };
            let large = integers_of(&mut heap, &with(i64::MAX, 3));
            let place = vec_map2(&mut heap, add, large, zero);
            let before = stored(place);
            for (name, other) in [(add, 1), (mul, 1 << 40), (sub, -1)] {
                let other = integers_of(&mut heap, &with(other, 0));
                let found = vec_map2(&mut heap, name, place, other);
                let made = vec_map2_left(&mut heap, name, place, other);
                assert!(made.is_none() && found.is_none(), "{n} {at}");
            }
            assert_eq!(stored(place), before);
            let floats: Vec<f64> = with(1, 0).iter().map(|i| *i as f64 * 1e308).collect();
            let floats = vector(&mut heap, &floats);
            let place = vec_map2(&mut heap, add, floats, zero);
            let before = stored(place);
            assert!(
                vec_map2_right(&mut heap, add, floats, place).is_none(),
                "{n} {at}"
            );
            assert_eq!(stored(place), before);
        }
    }
    // Of another size.
    let [one, two] = [1, 2].map(|n| integers_of(&mut heap, &vec![1; n]));
    assert!(vec_map2_right(&mut heap, add, two, one).is_none());
}

#[test]
fn what_is_dropped_is_used_again() {
    let mut heap = heap();
    let add = Value::atom(Atom::new("add"));
    for n in lengths() {
        let x = integers_of(&mut heap, &vec![1; n]);
        let held = heap.position();
        let quota = heap.foreign_bytes();
        let mut places = Vec::new();
        for _ in 0..3 {
            let made = vec_map2(&mut heap, add, x, Value::fixnum(1));
            let elements = Vector::of(made).unwrap().elements();
            places.push((made, elements.as_ptr()));
            assert!(elements.iter().all(|e| *e == 2i64.to_le_bytes()));
            vec_drop(&mut heap, made);
        }
        assert!(places.iter().all(|(made, _)| *made == places[0].0), "{n}");
        if n < 30_000 {
            assert!(places.iter().all(|place| *place == places[0]), "{n}");
        }
        assert_eq!(heap.foreign_bytes(), quota, "{n}");
        heap.rewind(&held);
    }
    // Where something was made since, the cell stays, and says that it is no longer what it was.
    let x = integers_of(&mut heap, &[1; 1_000]);
    let made = vec_map2(&mut heap, add, x, x);
    let behind = heap.cons(Value::NIL, Value::NIL);
    let binary = Vector::binary(made).unwrap();
    let granules = binary.boxed_granules();
    vec_drop(&mut heap, made);
    assert!(binary.foreign_box().is_none() && binary.boxed_granules() == granules);
    assert!(behind.as_cons().is_some());
    // Anything else is left alone.
    assert!(vec_drop(&mut heap, Value::UNDEFINED) == Value::NIL);
}
