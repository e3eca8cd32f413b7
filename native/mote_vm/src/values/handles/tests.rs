use super::*;

fn actor(n: usize) -> *const Actor {
    (n * 16) as *const Actor
}

fn found(handles: &Arc<Handles>, key: Key) -> Option<*const Actor> {
    let held = handles.hold(key).map(|held| held.actor);
    assert_eq!(handles.visit(key, |actor, _| actor), held);
    held
}

#[test]
fn one_actor_has_one_key_while_it_is_held() {
    let handles = Arc::new(Handles::default());
    let key = handles.acquire(actor(1), None);
    assert_eq!(handles.acquire(actor(1), None), key);
    assert_ne!(handles.acquire(actor(2), None), key);
    assert_eq!(found(&handles, key), Some(actor(1)));
    handles.release(key);
    assert_eq!(found(&handles, key), Some(actor(1)));
    handles.release(key);
    assert_eq!(found(&handles, key), None);
    assert_eq!(handles.len(), 1);
}

#[test]
fn a_key_says_where_its_actor_is_pinned() {
    let handles = Arc::new(Handles::default());
    let last = SponsorId(SponsorId::LIMIT as u16 - 1);
    let all = [None, Some(SponsorId(0)), Some(SponsorId(7)), Some(last)];
    for (n, pinned) in all.into_iter().enumerate() {
        let key = handles.acquire(actor(n + 1), pinned);
        assert_eq!(key.pinned(), pinned);
        assert_eq!(handles.visit(key, |_, pinned| pinned), Some(pinned));
    }
}

#[test]
fn who_holds_an_actor_keeps_it_though_its_key_is_released() {
    let handles = Arc::new(Handles::default());
    let key = handles.acquire(actor(1), None);
    let held = handles.hold(key);
    handles.release(key);
    let mut roots = Vec::new();
    handles.each(&mut |value| roots.push(value.address_pointer()));
    assert_eq!(roots, [actor(1)]);
    drop(held);
    assert_eq!(handles.len(), 0);
}

#[test]
fn many_are_held_up_to_a_key_of_no_actor_and_given_back_together() {
    let (handles, others) = (Arc::new(Handles::default()), Arc::new(Handles::default()));
    let pin = |n: usize| Some(SponsorId(n as u16)).filter(|_| n.is_multiple_of(2));
    let mut keys: Vec<Key> = (1..=5).map(|n| handles.acquire(actor(n), pin(n))).collect();
    keys[3].serial ^= 1;
    let mut many = HeldMany::default();
    assert!(many.is_for(&handles) && many.is_for(&others));
    handles.hold_each(&keys, &mut many);
    handles.hold_each(&keys[..1], &mut many);
    assert!(many.is_for(&handles) && !many.is_for(&others));
    // They are all of one machine.
    let key = others.acquire(actor(9), None);
    others.hold_each(&[key], &mut many);
    assert_eq!(many.len(), 4);
    let all: Vec<_> = (0..5).map(|at| many.get(at)).collect();
    let of = |n: usize| Some((actor(n), pin(n)));
    assert_eq!(all, [of(1), of(2), of(3), of(1), None]);
    keys[3].serial ^= 1;
    keys.iter().for_each(|key| handles.release(*key));
    assert_eq!((handles.len(), others.len()), (3, 1));
    drop(many);
    assert_eq!((handles.len(), others.len()), (0, 1));
}

#[test]
fn a_walk_meets_whoever_was_held_when_it_began() {
    let handles = Arc::new(Handles::default());
    let keys: Vec<Key> = (1..=10).map(|n| handles.acquire(actor(n), None)).collect();
    handles.begin();
    let mut met = Vec::new();
    let mut walk = || handles.walk(3, &mut |value| met.push(value.address_pointer()));
    assert!(walk());
    // Before the walk, and behind it.
    for n in [0, 4, 9] {
        handles.release(keys[n]);
    }
    handles.acquire(actor(11), None);
    while walk() {}
    // The walk is over: nobody notes anything down any more.
    handles.release(keys[1]);
    assert!(!walk());
    assert!((1..=10).all(|n| met.contains(&actor(n))));
}

#[test]
fn references_that_have_ended_are_released_before_a_walk_and_a_count() {
    for ended in [1, MANY - 1, MANY, 3 * MANY] {
        let handles = Arc::new(Handles::default());
        let keys: Vec<Key> = (1..=ended + 1)
            .map(|n| handles.acquire(actor(n), None))
            .collect();
        let calls = keys[1..].iter().filter(|key| handles.end(**key)).count();
        assert_eq!(calls, usize::from(ended >= MANY));
        assert_eq!(handles.is_unsettled(), ended >= MANY);
        if calls > 0 {
            handles.settle();
        }
        assert!(!handles.is_unsettled());
        let mut met = Vec::new();
        handles.begin();
        while handles.walk(100, &mut |value| met.push(value)) {}
        assert_eq!((met.len(), handles.len()), (1, 1));
        // A key that was left twice, as one can be copied, releases nothing that others hold.
        assert!(!handles.end(keys[1]) && handles.len() == 1);
    }
}

#[test]
fn what_has_ended_makes_room_before_the_table_grows() {
    let handles = Arc::new(Handles::default());
    let acquire = |n: usize| handles.acquire(actor(n), None);
    let first: Vec<Key> = (1..=FEW).map(acquire).collect();
    assert!(!first.iter().any(|key| handles.end(*key)));
    let second: Vec<Key> = (FEW + 1..=2 * FEW).map(acquire).collect();
    assert_eq!(handles.inner.lock().slots.len(), FEW);
    assert!(first.iter().all(|key| found(&handles, *key).is_none()));
    // Nothing has ended since, so it grows.
    let third = acquire(1);
    assert_eq!(handles.inner.lock().slots.len(), FEW + 1);
    assert!(second
        .iter()
        .chain([&third])
        .all(|key| found(&handles, *key).is_some()));
}

#[test]
fn forged_and_stale_keys_lead_to_nothing() {
    let handles = Arc::new(Handles::default());
    let key = handles.acquire(actor(1), None);
    let forged = Key {
        serial: key.serial ^ 1,
        ..key
    };
    assert_eq!(found(&handles, forged), None);
    handles.release(forged);
    assert_eq!(found(&handles, key), Some(actor(1)));
    handles.release(key);
    let again = handles.acquire(actor(3), None);
    assert_eq!(again.slot, key.slot);
    assert_eq!(found(&handles, key), None);
    handles.release(key);
    assert_eq!(found(&handles, again), Some(actor(3)));
}
