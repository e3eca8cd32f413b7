use super::*;
use crate::base::atom::Atom;
use crate::base::work::Work;
use crate::heap::Heap;
use crate::testing::terms::uncounted::{compare, equal, key_order, same};
use crate::testing::terms::{heap, model, model_of, Built, Model};
use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MANY: i64 = if cfg!(miri) { 200 } else { 20_000 };

fn number(n: i64) -> Value {
    Value::fixnum(n)
}

fn empty(heap: &mut Heap) -> Value {
    from_entries(heap, Vec::new())
}

fn node<'h>(map: Value) -> Node<'h> {
    Node::of(map).expect("a map")
}

/// The invariants at the head of mod.rs.
fn check(map: Value) {
    fn level(at: Node<'_>, root: bool) -> usize {
        assert!(at.keys.len() <= WIDTH);
        assert!(at.atoms || at.keys.iter().all(|key| key.as_atom().is_none()));
        assert!(root || at.keys.len() >= LEAST, "{} entries", at.keys.len());
        if at.is_leaf() {
            assert_eq!(at.size, at.keys.len());
            return at.size;
        }
        assert!(at.keys.len() >= 2);
        let mut size = 0;
        for (i, key) in at.keys.iter().enumerate() {
            let child = at.child(i);
            assert_eq!(child.level + 1, at.level);
            assert!(at.atoms || !child.atoms);
            assert!(child.keys[0] == *key);
            size += level(child, false);
        }
        assert_eq!(size, at.size);
        size
    }
    level(node(map), true);
    let keys: Vec<Value> = entries(node(map)).map(|(key, _)| key).collect();
    assert_eq!(keys.len(), node(map).size);
    assert!(keys.windows(2).all(|two| key_order(two[0], two[1]).is_lt()));
}

fn contents(map: Value) -> Vec<(i64, i64)> {
    let pair = |(key, value): (Value, Value)| (key.fixnum_value(), value.fixnum_value());
    entries(node(map)).map(pair).collect()
}

/// Nodes that have no keys but fixnums have no atoms; those that have one more key may have.
#[test]
fn atoms_behind_integers() {
    let mut heap = heap();
    let [before, between, behind] = ["a", "m", "z"].map(|name| Value::atom(Atom::new(name)));
    let half = heap.float(0.5);
    for n in [0, 1, WIDTH as i64, 100, 1_100] {
        let mut integers = empty(&mut heap);
        for i in 0..n {
            integers = put(&mut heap, node(integers), number(i), number(-i));
        }
        for others in [
            vec![],
            vec![half],
            vec![half, between],
            vec![between, behind],
        ] {
            let mut map = integers;
            for key in &others {
                map = put(&mut heap, node(map), *key, *key);
            }
            check(map);
            for key in [half, before, between, behind] {
                let found = get(node(map), key, &mut Work::free());
                assert!(found == others.contains(&key).then_some(key), "{n}");
            }
            assert!(
                (0..n).all(|i| get(node(map), number(i), &mut Work::free()) == Some(number(-i)))
            );
            // Leaves with atoms are joined with others without.
            for i in (0..n).rev() {
                map = delete(&mut heap, node(map), number(i));
                check(map);
                assert!(
                    (others.iter()).all(|key| get(node(map), *key, &mut Work::free()).is_some())
                );
            }
        }
    }
}

/// Tries any number of keys, far from each other and next to each other, the smallest and the largest among them.
#[test]
fn each_integer_is_found_where_it_belongs() {
    let mut heap = heap();
    let ends = [FIXNUM_MIN, FIXNUM_MIN + 1, FIXNUM_MAX - 1, FIXNUM_MAX];
    for step in [1, 3] {
        for n in 1..=WIDTH as i64 {
            let mut keys: Vec<i64> = (0..n).map(|i| (i - n / 2) * step).collect();
            for outermost in [false, true] {
                if outermost {
                    (keys[0], keys[n as usize - 1]) = (FIXNUM_MIN, FIXNUM_MAX);
                }
                let entries = keys.iter().map(|key| (number(*key), number(key / 2)));
                let map = from_entries(&mut heap, entries.collect());
                for key in (-100..=100).chain(ends) {
                    let place = node(map).find(number(key), &mut Work::free());
                    assert_eq!(place, keys.binary_search(&key), "{key} of {n}");
                    let found = at_word(node(map), number(key), |_| None);
                    let expected = place.is_ok().then(|| number(key / 2));
                    assert!(found == Some(expected), "{key} of {n}");
                }
            }
        }
    }
}

/// Integers beyond the fixnums lie before them and behind them, and are in no order as words.
#[test]
fn fixnums_are_found_among_larger_integers() {
    let mut heap = heap();
    for (before, behind) in [(0, 0), (1, 0), (0, 1), (9, 0), (0, 9), (9, 9), (50, 50)] {
        for n in [1, 2, 9, 20, 100] {
            let far = |i: i64| (1 << 70) + i128::from(i);
            let mut keys: Vec<Value> = (0..before).map(|i| heap.wide_integer(-far(i))).collect();
            keys.extend((0..behind).map(|i| heap.wide_integer(far(i))));
            keys.extend((0..n).map(|i| number(3 * i - n)));
            keys.extend([FIXNUM_MIN, FIXNUM_MAX].map(number));
            let map = from_entries(&mut heap, keys.iter().map(|key| (*key, *key)).collect());
            check(map);
            for key in &keys {
                assert!(get(node(map), *key, &mut Work::free()) == Some(*key));
                let again = replace(&mut heap, node(map), *key, Value::NIL);
                check(again);
                assert!(get(node(again), *key, &mut Work::free()) == Some(Value::NIL));
            }
            for i in 0..n {
                assert!(get(node(map), number(3 * i - n + 1), &mut Work::free()).is_none());
            }
        }
    }
}

/// Checks after each key: the next one would put right what a new root does not say.
#[test]
fn a_root_of_two_halves_says_that_there_are_atoms() {
    let mut heap = heap();
    let mut map = empty(&mut heap);
    for i in 0..3 * WIDTH {
        let key = Value::atom(Atom::new(&format!("key{i}")));
        map = put(&mut heap, node(map), key, key);
        check(map);
    }
}

#[test]
fn from_nothing_up_and_down_again() {
    let mut heap = heap();
    let mut map = empty(&mut heap);
    check(map);
    let scrambled = |i: i64| i * 7919 % MANY;
    for i in 0..MANY {
        let before = map;
        map = put(&mut heap, node(map), number(scrambled(i)), number(i));
        assert_eq!(node(before).size as i64, i, "the map before is as it was");
        assert_eq!(node(map).size as i64, i + 1);
        if i % (MANY / 10) == 0 {
            check(map);
        }
    }
    check(map);
    for i in 0..MANY {
        assert!(get(node(map), number(scrambled(i)), &mut Work::free()) == Some(number(i)));
    }
    assert!(
        get(node(map), number(MANY), &mut Work::free()).is_none()
            && get(node(map), number(-1), &mut Work::free()).is_none()
    );
    for i in 0..MANY {
        map = delete(&mut heap, node(map), number(scrambled(MANY - 1 - i)));
        assert_eq!(node(map).size as i64, MANY - 1 - i);
        if i % (MANY / 10) == 0 {
            check(map);
        }
    }
    check(map);
    assert!(same(map, empty(&mut heap)));
}

#[test]
fn all_at_once_is_the_same_as_one_by_one() {
    let mut heap = heap();
    for n in [0, 1, 2, 31, 32, 33, 64, 65, 100, 1023, 1025, 2000] {
        let n = if cfg!(miri) { n.min(70) } else { n };
        let pairs = |step: i64| (0..n).map(move |i| (number(i * step % n), number(i * step % n)));
        let all = from_entries(&mut heap, pairs(1).rev().collect());
        check(all);
        let mut one = empty(&mut heap);
        for (key, value) in pairs(1) {
            one = put(&mut heap, node(one), key, value);
        }
        assert!(same(all, one) && equal(all, one) && compare(all, one).is_eq());
    }
}

#[test]
fn atoms_are_in_the_order_of_their_names() {
    let mut heap = heap();
    let mut built = Built::new();
    let mut names = ["zebra", "ant", "mule", "ape", "", "Zoo"];
    let mut map = empty(&mut heap);
    for name in names {
        let key = built.value(&Model::Atom(name));
        map = put(&mut heap, node(map), key, key);
        assert!(get(node(map), key, &mut Work::free()) == Some(key));
    }
    names.sort_unstable();
    let found: Vec<&str> = entries(node(map))
        .filter_map(|(key, _)| Some(key.as_atom()?.name()))
        .collect();
    assert_eq!(found, names);
}

#[test]
fn integers_come_before_floats_and_zeros_are_two() {
    let mut heap = heap();
    let floats = [-0.0, 0.0, 0.5].map(|f| heap.float(f));
    let keys = [number(-1), number(7), floats[0], floats[1], floats[2]];
    let mut map = empty(&mut heap);
    for key in keys.iter().rev() {
        map = put(&mut heap, node(map), *key, *key);
    }
    let found: Vec<Value> = entries(node(map)).map(|(key, _)| key).collect();
    assert!(found == keys);
}

#[test]
fn maps_compare_by_size_then_keys_then_values() {
    let mut built = Built::new();
    let int = Model::Int;
    let map = |pairs: &[(Model, Model)]| Model::Map(pairs.to_vec());
    let ascending = [
        map(&[]),
        map(&[(int(9), int(9))]),
        map(&[(Model::Float(1.0), int(0))]),
        map(&[(int(1), int(1)), (int(2), int(1))]),
        map(&[(int(1), int(1)), (int(2), int(2))]),
        map(&[(int(1), int(0)), (int(3), int(0))]),
        map(&[(int(1), int(0)), (Model::Float(0.5), int(0))]),
    ];
    let values = ascending.each_ref().map(|m| built.value(m));
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            assert_eq!(
                compare(*a, *b),
                i.cmp(&j),
                "{:?}, {:?}",
                ascending[i],
                ascending[j]
            );
        }
    }
    let one = built.value(&map(&[(Model::Atom("a"), int(1))]));
    let float = built.value(&map(&[(Model::Atom("a"), Model::Float(1.0))]));
    assert!(equal(one, float) && !same(one, float) && compare(one, float).is_eq());
    let key = built.value(&map(&[(int(1), int(1))]));
    let float_key = built.value(&map(&[(Model::Float(1.0), int(1))]));
    assert!(!equal(key, float_key) && compare(key, float_key).is_lt());
}

#[test]
fn depth_costs_no_native_stack() {
    // The stack of a test, 2 MB, has no 16 bytes for each: less than the least frame.
    let n = if cfg!(miri) { 200 } else { 140_000 };
    let mut heap = heap();
    type Level = fn(Value, i64) -> Vec<(Value, Value)>;
    let levels: [Level; 3] = [
        |below, _| vec![(number(1), below)],
        |below, _| vec![(below, number(1))],
        |below, i| vec![(number(i), number(1)), (below, number(2))],
    ];
    for level in levels {
        let mut tower = |bottom: i64| {
            let bottom = vec![(number(bottom), number(0)), (number(0), number(0))];
            let bottom = from_entries(&mut heap, bottom);
            (0..n).fold(bottom, |below, i| from_entries(&mut heap, level(below, i)))
        };
        let (a, b, c) = (tower(1), tower(1), tower(2));
        assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq() && key_order(a, b).is_eq());
        assert!(!same(a, c) && !equal(a, c) && compare(a, c).is_lt() && key_order(c, a).is_gt());
    }
}

#[test]
fn sharing_is_not_written_out() {
    let mut heap = heap();
    let mut shared = |bottom: i64| {
        (0..500).fold(number(bottom), |below, _| {
            let pairs = (0..if below.is_fixnum() { 2 } else { 40 }).map(|i| (number(i), below));
            from_entries(&mut heap, pairs.collect())
        })
    };
    let (a, b) = (shared(1), shared(1));
    assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
    assert!(compare(a, shared(2)).is_lt());
}

#[test]
fn a_full_machine_makes_no_map() {
    use crate::heap::block::{BlockPool, BLOCK};
    use crate::heap::pace::Pace;
    let pool = BlockPool::new(2 * BLOCK, Pace::default());
    let mut heap = Heap::new(std::sync::Arc::new(pool));
    let mut map = empty(&mut heap);
    let mut n = 0;
    while !map.is_none() {
        n += 1;
        map = put(&mut heap, node(map), number(n), number(n));
    }
    assert!(heap.exhausted() && n > 100);
}

#[derive(Clone, Debug)]
enum Change {
    Put(i64, i64),
    Delete(i64),
    Merge(Vec<(i64, i64)>),
}

fn change() -> impl Strategy<Value = Change> {
    let key = || prop_oneof![0..200i64, 0..20i64];
    prop_oneof![
        6 => (key(), any::<i32>()).prop_map(|(k, v)| Change::Put(k, v.into())),
        5 => key().prop_map(Change::Delete),
        1 => proptest::collection::vec((key(), 0..9i64), 0..80).prop_map(Change::Merge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 300 }))]

    #[test]
    fn as_an_ordered_map_of_rust(changes in proptest::collection::vec(change(), 0..300)) {
        let mut heap = heap();
        let mut expected = BTreeMap::new();
        let mut map = empty(&mut heap);
        for change in changes {
            match change {
                Change::Put(key, value) => {
                    expected.insert(key, value);
                    map = put(&mut heap, node(map), number(key), number(value));
                }
                Change::Delete(key) => {
                    expected.remove(&key);
                    map = delete(&mut heap, node(map), number(key));
                }
                Change::Merge(pairs) => {
                    expected.extend(pairs.iter().copied());
                    let pairs = pairs.iter().map(|(k, v)| (number(*k), number(*v)));
                    let other = from_entries(&mut heap, pairs.collect());
                    check(other);
                    map = merge(&mut heap, node(map), node(other));
                }
            }
        }
        check(map);
        prop_assert_eq!(contents(map), expected.clone().into_iter().collect::<Vec<_>>());
        for key in 0..200 {
            let found = get(node(map), number(key), &mut Work::free()).map(|value| value.fixnum_value());
            prop_assert_eq!(found, expected.get(&key).copied());
        }
    }

    #[test]
    fn keys_of_all_kinds(keys in proptest::collection::vec(model(), 0..120), gone in 0..120usize) {
        let mut built = Built::new();
        let mut map = empty(&mut built.heap);
        let mut distinct: Vec<&Model> = Vec::new();
        for key in &keys {
            let value = built.value(key);
            map = put(&mut built.heap, node(map), value, value);
            if !distinct.iter().any(|k| model_of::same(k, key)) {
                distinct.push(key);
            }
        }
        check(map);
        prop_assert_eq!(node(map).size, distinct.len());
        for key in &keys {
            // Another copy of the key finds it.
            let value = built.value(key);
            prop_assert!(get(node(map), value, &mut Work::free()).is_some());
        }
        let (gone, left) = distinct.split_at(gone.min(distinct.len()));
        let [mut few, many] = [gone, left].map(|keys| {
            let entries = keys.iter().map(|key| (built.value(key), Value::NIL)).collect();
            from_entries(&mut built.heap, entries)
        });
        check(many);
        for key in gone {
            let value = built.value(key);
            map = delete(&mut built.heap, node(map), value);
        }
        check(map);
        for key in &distinct {
            let value = built.value(key);
            let is_left = left.iter().any(|other| model_of::same(other, key));
            prop_assert_eq!(get(node(map), value, &mut Work::free()).is_some(), is_left);
            prop_assert_eq!(get(node(many), value, &mut Work::free()).is_some(), is_left);
        }
        few = merge(&mut built.heap, node(few), node(many));
        check(few);
        prop_assert_eq!(node(few).size, distinct.len());
    }
}

/// Among others of the same size, of other sizes, and others.
#[test]
fn tuples_are_found_where_they_belong() {
    let small = || {
        prop_oneof![
            (0i64..3).prop_map(Model::Int),
            (0i64..3).prop_map(Model::Int),
            model()
        ]
    };
    let integers = || (-3i64..3).prop_map(Model::Int);
    let of_size = |size: usize| {
        prop_oneof![
            20 => proptest::collection::vec(integers(), size).prop_map(Model::Tuple),
            1 => proptest::collection::vec(small(), size).prop_map(Model::Tuple),
            1 => proptest::collection::vec(integers(), 0..6).prop_map(Model::Tuple),
        ]
    };
    let keys = (1usize..6).prop_flat_map(|size| proptest::collection::vec(of_size(size), 2..60));
    let cases = if cfg!(miri) { 8 } else { 1_000 };
    proptest!(ProptestConfig::with_cases(cases), |(models in keys)| {
        let mut built = Built::new();
        let all: Vec<Value> = models.iter().map(|model| built.value(model)).collect();
        // Half of them are there.
        let there = all.iter().step_by(2).map(|key| (*key, *key));
        let map = from_entries(&mut built.heap, there.collect());
        check(map);
        let there: Vec<Value> = entries(node(map)).map(|(key, _)| key).collect();
        for key in all {
            let place = there.binary_search_by(|other| key_order(*other, key));
            let found = get(node(map), key, &mut Work::free());
            prop_assert!(found == place.ok().map(|at| there[at]));
            if node(map).is_leaf() {
                prop_assert_eq!(node(map).find(key, &mut Work::free()), place);
            }
        }
    });
}

/// Binaries of all lengths, of which each begins as others do, with bytes beyond ASCII and such as end a string elsewhere.
#[test]
fn each_binary_is_found_where_it_belongs() {
    let mut heap = heap();
    let beginnings: Vec<Vec<u8>> = (0..40usize)
        .map(|n| (0..n).map(|i| (i / 8) as u8).collect())
        .collect();
    let ends: [&[u8]; 5] = [b"", b"\0", b"\x7f", b"\x80", b"\xff\0"];
    let all = beginnings
        .iter()
        .flat_map(|start| ends.map(|end| [start, end].concat()));
    let mut all: Vec<Vec<u8>> = all.chain([vec![7; 200], vec![0; 200]]).collect();
    all.sort();
    all.dedup();
    let binaries: Vec<Value> = all.iter().map(|bytes| heap.bytes(bytes)).collect();
    for step in [1, 2, 3, 7] {
        let some = binaries.iter().step_by(step);
        let map = from_entries(&mut heap, some.clone().map(|key| (*key, *key)).collect());
        for (i, bytes) in all.iter().enumerate() {
            let key = heap.bytes(bytes);
            let found = get(node(map), key, &mut Work::free());
            let expected = (i % step == 0).then(|| binaries[i]);
            assert!(found == expected, "{bytes:?}, {step}");
        }
        assert!(entries(node(map)).map(|entry| entry.0).eq(some.copied()));
    }
}

/// More atoms than guesses, at other positions in each map, of which every one is asked and changed in turn.
#[test]
fn atoms_are_found_where_others_had_them_elsewhere() {
    let mut heap = heap();
    let atoms: Vec<Value> = (0..300)
        .map(|n| Value::atom(Atom::new(&format!("position {n}"))))
        .collect();
    let shapes: Vec<&[Value]> = (1..=WIDTH).flat_map(|n| atoms.chunks(n).take(12)).collect();
    let maps: Vec<Value> = shapes
        .iter()
        .map(|keys| from_entries(&mut heap, keys.iter().map(|key| (*key, *key)).collect()))
        .collect();
    for (keys, map) in shapes.iter().zip(&maps) {
        for key in &atoms {
            let positions = &mut heap.positions;
            let found = at_word(node(*map), *key, |there| positions.of(*key, there));
            let is_there = keys.contains(key);
            assert!(found == Some(is_there.then_some(*key)));
            let changed = update(&mut heap, node(*map), *key, Value::NIL);
            assert_eq!(changed.is_none(), !is_there);
            if is_there {
                let now = get(node(changed), *key, &mut Work::free());
                assert!(now == Some(Value::NIL) && node(changed).size == keys.len());
            }
        }
    }
}
