use super::*;
use proptest::prelude::*;

/// Everything due until `now`, as it leaves.
fn fired(wheel: &mut Wheel<usize>, now: u64) -> Vec<(u64, usize)> {
    std::iter::from_fn(|| wheel.pop(now))
        .map(|(due, _, item)| (due, item))
        .collect()
}

#[test]
fn items_leave_in_order_of_their_time_then_of_coming() {
    let mut wheel = Wheel::new();
    for (item, due) in [20, 10, 20, 5_000, 0, 300_000_000].into_iter().enumerate() {
        wheel.insert(due, item);
    }
    assert_eq!(fired(&mut wheel, 20), [(0, 4), (10, 1), (20, 0), (20, 2)]);
    assert_eq!(fired(&mut wheel, 4_999), []);
    assert_eq!(
        fired(&mut wheel, 300_000_000),
        [(5_000, 3), (300_000_000, 5)]
    );
    assert_eq!(wheel.next(), None);
}

#[test]
fn the_next_look_is_never_too_late_and_comes_closer() {
    let mut wheel = Wheel::new();
    wheel.insert(1_000_000, 0);
    let mut looks = 0;
    while wheel.len() > 0 {
        let next = wheel.next().unwrap();
        assert!(next <= 1_000_000);
        wheel.pop(next);
        looks += 1;
    }
    assert!(looks <= LEVELS, "{looks} looks for one item");
}

#[test]
fn what_is_late_or_never_due_is_kept_too() {
    let mut wheel = Wheel::new();
    assert_eq!(fired(&mut wheel, 500), []);
    wheel.insert(3, 1);
    wheel.insert(u64::MAX, 2);
    assert_eq!(fired(&mut wheel, 500), [(500, 1)]);
    assert_eq!(fired(&mut wheel, u64::MAX), [(END, 2)]);
    wheel.insert(0, 3);
    assert_eq!(fired(&mut wheel, END), [(END, 3)]);
}

#[test]
fn a_stale_place_is_nobody_s() {
    let mut wheel = Wheel::new();
    let place = wheel.insert(5, 'a');
    assert_eq!(wheel.remove(place), Some((5, 'a')));
    assert_eq!(wheel.remove(place), None);
    assert_eq!(wheel.get(7), None);
}

#[test]
fn room_is_given_back_when_nothing_waits() {
    let n = if cfg!(miri) { 1_100 } else { 100_000 };
    let mut wheel = Wheel::new();
    for item in 0..n {
        wheel.insert(item as u64 % 977, item);
    }
    assert_eq!(fired(&mut wheel, 1_000).len(), n);
    assert_eq!((wheel.entries.len(), wheel.chunks.len()), (0, 0));
    let a_page_of_each = 2 * (66 << 10);
    assert!(wheel.bytes() <= a_page_of_each, "{} bytes", wheel.bytes());
}

/// One item that waits for long keeps no more than the pages that it is in.
#[test]
fn room_of_a_burst_is_given_back_while_something_waits() {
    let n = if cfg!(miri) { 1_100 } else { 300_000 };
    let mut wheel = Wheel::new();
    for item in 0..n {
        wheel.insert(item as u64 % 977, item);
        if item == n / 2 {
            wheel.insert(1 << 30, n);
        }
    }
    assert!(wheel.bytes() >= n * (Wheel::<usize>::ENTRY - size_of::<ListedPlace>()));
    assert_eq!(fired(&mut wheel, 1_000).len(), n);
    let pages = 5 * (64 << 10);
    assert!(wheel.bytes() <= pages, "{} bytes", wheel.bytes());
    assert_eq!(fired(&mut wheel, 1 << 30), [(1 << 30, n)]);
}

/// Arming far ahead and cancelling at once, again and again, needs no more room than not doing so.
#[test]
fn places_of_items_that_are_gone_do_not_pile_up() {
    let mut wheel = Wheel::new();
    for item in 0..LISTS {
        wheel.insert(50 << BITS | item as u64, item);
    }
    for _ in 0..1_000 {
        let place = wheel.insert(50 << BITS, LISTS);
        wheel.remove(place);
        let alone = wheel.insert(51 << BITS, LISTS);
        wheel.remove(alone);
    }
    let most = 2 * LISTS / CHUNK + 4;
    assert!(wheel.chunks.len() <= most, "{} chunks", wheel.chunks.len());
    assert!(wheel.entries.len() <= LISTS + 2);
    wheel.remove(3);
    let left = fired(&mut wheel, END).into_iter().map(|(_, item)| item);
    assert!(left.eq((0..LISTS).filter(|item| *item != 3)));
}

/// Nobody is made to look where nothing waits.
#[test]
fn a_list_of_which_all_are_gone_is_none() {
    let mut wheel = Wheel::new();
    let places = [10, 10, 11, 900].map(|due| wheel.insert(due, 0));
    for (place, next) in places
        .into_iter()
        .zip([Some(10), Some(11), Some(896), None])
    {
        wheel.remove(place);
        assert_eq!(wheel.next(), next);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Remove(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let delay = prop_oneof![0..3u64, 0..200u64, 0..20_000u64, 0..1u64 << 40];
    let step = prop_oneof![
        4 => delay.clone().prop_map(Step::Insert),
        2 => (0..64usize).prop_map(Step::Remove),
        2 => delay.prop_map(Step::Pass),
    ];
    let most = if cfg!(miri) { 20 } else { 200 };
    proptest::collection::vec(step, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The wheel does what a sorted list does.
    #[test]
    fn it_is_a_sorted_list(steps in steps()) {
        let mut wheel = Wheel::new();
        let mut model: Vec<(u64, usize, u32)> = Vec::new();
        let mut now = 0;
        for (item, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(delay) => {
                    let place = wheel.insert(now + delay, item);
                    model.push((now + delay, item, place));
                    model.sort();
                }
                Step::Remove(n) if !model.is_empty() => {
                    let (due, item, place) = model.remove(n % model.len());
                    prop_assert_eq!(wheel.remove(place), Some((due, item)));
                }
                Step::Remove(_) => {}
                Step::Pass(time) => {
                    now = (now + time).min(END);
                    let due = model.partition_point(|(due, _, _)| *due <= now);
                    let expected: Vec<_> = model.drain(..due).map(|(due, item, _)| (due, item)).collect();
                    prop_assert_eq!(fired(&mut wheel, now), expected);
                }
            }
            prop_assert_eq!(wheel.len(), model.len());
            if let Some((due, _, _)) = model.first() {
                let next = wheel.next().unwrap();
                prop_assert!(now <= next.max(now) && next <= *due);
            }
        }
        let left = std::iter::from_fn(|| wheel.pop(END));
        let left: Vec<_> = left.map(|(due, place, item)| (due, item, place)).collect();
        prop_assert_eq!(left, model);
    }
}
