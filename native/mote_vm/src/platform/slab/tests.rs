use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_burst_leaves_no_room_behind_though_one_thing_stays() {
    let n = if cfg!(miri) { 700 } else { 300_000 };
    let mut slab = Slab::new();
    let numbers: Vec<u32> = (0..n).map(|i| slab.insert(i).0).collect();
    assert!(slab.bytes() >= (n as usize - 128) * size_of::<SlabPlace<i32>>() && slab.mapped > 3);
    let stays = n / 2;
    for i in (0..n).filter(|i| *i != stays) {
        assert_eq!(slab.remove(numbers[i as usize]), Some(i));
    }
    assert_eq!(
        (slab.len(), slab.get(numbers[stays as usize])),
        (1, Some(&stays))
    );
    // The first, the one that it is in, and one more.
    assert!(slab.mapped <= 3);
    let met = (0..).take_while(|_| slab.walk(1, |_| ())).count();
    assert_eq!(met, 0, "no walk has begun");
}

#[test]
fn room_is_used_again_before_there_is_more() {
    let n = Slab::<u64>::PLACES * 4;
    let mut slab = Slab::new();
    for round in 0..10 {
        let numbers: Vec<u32> = (0..n).map(|i| slab.insert(u64::from(i)).0).collect();
        assert!(slab.mapped <= 6 + round, "one stays each time");
        for number in &numbers[1..] {
            slab.remove(*number);
        }
    }
    assert!(
        slab.len() == 10 && slab.mapped <= 3,
        "{} pages",
        slab.mapped
    );
}

#[derive(Clone, Debug)]
enum Step {
    Insert(usize),
    Remove(usize, usize),
    Begin,
    Walk(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let few: usize = if cfg!(miri) { 200 } else { 1_500 };
    let step = prop_oneof![
        3 => (1..few).prop_map(Step::Insert),
        3 => (0..few, 1..few).prop_map(|(from, n)| Step::Remove(from, n)),
        1 => Just(Step::Begin),
        3 => (1..few).prop_map(Step::Walk),
    ];
    proptest::collection::vec(step, 0..if cfg!(miri) { 10 } else { 40 })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Things are found under their numbers, no stamp comes again, and each thing is met by the walk or was taken out ahead of it.
    #[test]
    fn it_is_a_map_that_can_be_walked_through(steps in steps()) {
        let mut slab: Slab<usize> = Slab::new();
        let mut model: BTreeMap<u32, usize> = BTreeMap::new();
        let mut stamps = BTreeSet::new();
        let (mut missing, mut walks) = (BTreeSet::new(), false);
        let mut next = 0;
        for step in steps {
            match step {
                Step::Insert(n) => for _ in 0..n {
                    let (number, stamp) = slab.insert(next);
                    prop_assert!(stamps.insert((number, stamp)), "a stamp came again");
                    prop_assert_eq!(slab.stamp(number), Some(stamp));
                    prop_assert!(model.insert(number, next).is_none());
                    next += 1;
                },
                Step::Remove(from, n) => {
                    let numbers: Vec<u32> = model.keys().copied().skip(from).take(n).collect();
                    for number in numbers {
                        let ahead = slab.is_ahead(number);
                        let thing = slab.remove(number);
                        prop_assert_eq!(thing, model.remove(&number));
                        prop_assert_eq!((slab.get(number), slab.stamp(number)), (None, None));
                        if ahead {
                            thing.map(|thing| missing.remove(&thing));
                        }
                    }
                }
                Step::Begin => {
                    slab.begin_walk();
                    (missing, walks) = (model.values().copied().collect(), true);
                }
                Step::Walk(n) => {
                    let mut shown = 0;
                    let more = slab.walk(n, |thing| {
                        missing.remove(thing);
                        shown += 1;
                    });
                    prop_assert!(shown <= n);
                    if !more && walks {
                        prop_assert!(missing.is_empty(), "{} things not met", missing.len());
                        walks = false;
                    }
                }
            }
            prop_assert_eq!(slab.len(), model.len());
            let mut all = BTreeSet::new();
            slab.each(|thing| { all.insert(*thing); });
            prop_assert!(all.iter().eq(model.values().collect::<BTreeSet<_>>().into_iter()));
            let there = slab.pages.iter().filter(|page| page.places.is_some()).count();
            let used = slab.pages.iter().filter(|page| page.used > 0).count();
            prop_assert_eq!(there, slab.mapped);
            prop_assert!(there <= used + 2);
        }
    }
}
