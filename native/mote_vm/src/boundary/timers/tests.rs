use super::*;

fn id(serial: u64, place: u32) -> TimerId {
    TimerId {
        serial,
        thread: 7,
        place,
    }
}

fn arm(timers: &Timers, due: u64, n: usize) -> u32 {
    let target = Value::address((16 * (n + 1)) as *const _);
    timers.arm(due, 2 * n as u64, target, Value::NIL)
}

/// The numbers of the targets.
fn numbers(values: impl IntoIterator<Item = Value>) -> Vec<usize> {
    let addresses = values.into_iter().filter(|value| value.is_address());
    let number = |value: Value| value.address_pointer() as usize / 16 - 1;
    addresses.map(number).collect()
}

fn fired(timers: &Timers, now: u64) -> Vec<usize> {
    let mut due = Vec::new();
    while timers.fire(now, 3, &mut due) {}
    numbers(due.iter().map(|timer| timer.target))
}

#[test]
fn a_timer_that_was_adopted_is_cancelled_by_the_reference_that_it_had() {
    let [ended, heir] = [7, 1].map(|n| Timers::new(n, Arc::default()));
    let place = arm(&ended, 5, 1);
    heir.adopt(&ended, 2);
    assert_eq!(
        arm(&heir, 6, 1),
        place,
        "two references with one place and number"
    );
    let other = TimerId {
        thread: 8,
        ..id(2, place)
    };
    let take = |id| heir.take_adopted(id).map(|(due, _)| due);
    assert_eq!((take(other), heir.has_adopted(other)), (None, false));
    assert_eq!(take(id(4, place)), None);
    assert!(heir.has_adopted(id(2, place)));
    assert_eq!(take(id(2, place)), Some(5));
    assert_eq!((take(id(2, place)), heir.len()), (None, 1));
}

#[test]
fn timers_of_several_wheels_fire_in_the_order_of_their_times() {
    let quota = Arc::new(Quota::default());
    let [heir, one, other] = [1, 7, 8].map(|n| Timers::new(n, quota.clone()));
    for (n, due) in [7, 1, 500, 500, 90_000].into_iter().enumerate() {
        arm(&heir, due, n);
        arm(&one, due + 1, 10 + n);
        arm(&other, due + 3, 20 + n);
    }
    let held = quota.held();
    heir.adopt(&one, 30);
    heir.adopt(&other, 30);
    assert_eq!(heir.len(), 15);
    // The wheels themselves are charged from now on.
    assert_eq!(quota.held(), held + 2 * Wheel::<Timer>::EMPTY);
    assert_eq!(heir.next(), 1);
    assert_eq!(fired(&heir, 8), [1, 11, 21, 0, 10]);
    assert!(heir.next() <= 10);
    let late = [20, 2, 3, 12, 13, 22, 23];
    assert_eq!(fired(&heir, 600), late);
    assert_eq!(fired(&heir, 100_000), [4, 14, 24]);
    assert_eq!((heir.next(), heir.len(), quota.held()), (u64::MAX, 0, 0));
}

#[test]
fn to_hand_over_many_takes_no_longer_than_to_hand_over_one() {
    let [ended, heir] = [7, 1].map(|n| Timers::new(n, Arc::default()));
    for n in 0..1_000 {
        arm(&ended, 5, n);
    }
    let before = ended.state.lock().own.wheel.len();
    let lies = |timers: &Timers| {
        timers
            .state
            .lock()
            .wheels()
            .filter_map(|of| Some(of.wheel.get(0)? as *const Timer))
            .next()
    };
    let at = lies(&ended);
    heir.adopt(&ended, 2_000);
    assert_eq!((before, lies(&heir)), (1_000, at), "none of them has moved");
}

/// Invariant 5.
#[test]
fn a_walk_meets_what_was_armed_when_it_began_wherever_it_has_gone() {
    let [ended, heir] = [7, 1].map(|n| Timers::new(n, Arc::default()));
    let n = 1_000;
    let places: Vec<u32> = (0..n).map(|i| arm(&ended, i as u64, i)).collect();
    for i in n..n + 10 {
        arm(&heir, 5, i);
    }
    ended.begin();
    heir.begin();
    let mut met = Vec::new();
    let mut walk = |timers: &Timers, steps: usize| {
        let step = |_: &usize| timers.walk(10, &mut |value| met.push(value));
        (0..steps).take_while(step).count()
    };
    assert_eq!(walk(&ended, 3), 3);
    assert!(walk(&heir, 20) < 20, "the walk is over there");
    // Some fire, and some are taken out, which may fire somewhere else.
    assert_eq!(fired(&ended, 99).len(), 100);
    assert!(ended.take(id(2 * 500, places[500])).is_some());
    heir.adopt(&ended, 2 * n as u64);
    assert_eq!(fired(&heir, 200).len(), 111);
    arm(&heir, 5, 2 * n);
    let steps = walk(&ended, n) + walk(&heir, n);
    assert!(steps < n / 5, "{steps} steps");
    let mut met = numbers(met);
    met.sort_unstable();
    assert_eq!(met, (0..n + 10).collect::<Vec<_>>());
}

/// The serial numbers of timers, sorted.
fn serials(timers: &[SavedTimer]) -> Vec<u64> {
    let mut serials: Vec<u64> = timers.iter().map(|timer| timer.id.serial).collect();
    serials.sort_unstable();
    serials
}

/// saved.rs, invariants 1 and 4: whatever has become of those that were there.
#[test]
fn an_image_has_each_timer_of_its_moment_once_and_no_later_one() {
    for seed in 0..200_u64 {
        let quota = Arc::new(Quota::default());
        let [ended, heir] = [7, 1].map(|n| Timers::new(n, quota.clone()));
        let target = Value::address(std::ptr::dangling());
        let outside = || {
            let parcel = Parcel::atom(crate::base::atom::Atom::new("hello"));
            let armed = ended.arm_from_outside(50_000, target, parcel);
            armed.ok().expect("open").0
        };
        let n = 300;
        let mut places: Vec<TimerId> = (1..=n)
            .map(|i| id(2 * i as u64, arm(&ended, (i * 37 % 1000) as u64, i)))
            .collect();
        places.extend((0..n).map(|_| outside()));
        assert_eq!(
            fired(&ended, 50 + seed % 100).len() as u64,
            places.len() as u64 - ended.len()
        );
        let armed: Vec<u64> = {
            let mut armed = Vec::new();
            ended.each_armed(|_, id, _| armed.push(id.serial));
            armed.sort_unstable();
            armed
        };
        let saved = SavedTimers::new(&quota);
        ended.begin_saving(SponsorId(3), &saved);
        heir.begin_saving(SponsorId(4), &saved);
        let mut choice = seed;
        let mut later = n;
        let mut moved = false;
        while saved.are_awaited() {
            choice = choice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let owner = if moved { &heir } else { &ended };
            match (choice >> 33) % 8 {
                0 => drop(fired(owner, 150 + (choice >> 40) % 800)),
                1..=3 => {
                    let id = places[(choice >> 40) as usize % places.len()];
                    drop(if moved {
                        heir.take_adopted(id)
                    } else {
                        ended.take(id)
                    });
                }
                4 if !moved => {
                    later += 1;
                    arm(&ended, 40_000, later);
                    outside();
                }
                5 if choice >> 40 & 15 == 0 && !moved => {
                    heir.adopt(&ended, later as u64);
                    moved = true;
                }
                _ => {
                    ended.save_some(20);
                    heir.save_some(20);
                }
            }
        }
        let taken = saved.take();
        assert_eq!(serials(&taken), armed, "seed {seed}");
        assert!(taken
            .iter()
            .all(|timer| timer.sponsor == SponsorId(3) && timer.id.thread == 7));
        drop(taken);
        // What is read is charged until it goes.
        let with = quota.held();
        drop(saved);
        assert_eq!(with - quota.held(), armed.len() * size_of::<SavedTimer>());
    }
}

#[test]
fn messages_from_outside_that_an_image_has_read_are_charged_with_it() {
    let quota = Arc::new(Quota::default());
    let timers = Timers::new(1, quota.clone());
    let parcel = || {
        let mut builder = crate::boundary::parcel::Builder::new();
        builder.bytes(&[1; 1000]);
        builder.finish()
    };
    let armed = timers.arm_from_outside(5, Value::address(std::ptr::dangling()), parcel());
    let saved = SavedTimers::new(&quota);
    timers.begin_saving(SponsorId(1), &saved);
    assert!(timers.take(armed.ok().expect("open").0).is_some());
    let one = size_of::<SavedTimer>() + parcel().bytes();
    assert_eq!(quota.held(), one);
    // Where an image is given up, what leaves is noted no more.
    drop(saved);
    assert_eq!(quota.held(), 0);
}
