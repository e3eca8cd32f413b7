use super::*;

fn pace() -> Pace {
    Pace::new(GcConfig {
        min: 100,
        ..GcConfig::default()
    })
}

fn queued(events: u64, grows: bool, shrinks: bool) -> impl Fn() -> Queued {
    move || Queued {
        events,
        grows,
        shrinks,
    }
}

#[test]
fn a_collection_is_put_off_while_what_is_queued_accounts_for_it() {
    let pace = pace();
    pace.allocated(EACH);
    let (one, two) = (queued(1, true, false), queued(2, true, false));
    assert!(pace.is_due() && !pace.put_off(&one) && pace.put_off(&two));
    // It is looked at again when twice as much is allocated.
    pace.allocated(EACH - 1);
    assert!(!pace.is_due());
    pace.allocated(1);
    assert!(pace.is_due() && !pace.put_off(&two));
    assert!(pace.put_off(queued(3, true, true)) && !pace.is_due());
}

#[test]
fn only_events_count_that_were_not_queued_at_the_last_collection() {
    let pace = pace();
    let all = |trend: (bool, bool)| queued(1 << 20, trend.0, trend.1);
    pace.allocated(100);
    assert!(pace.is_due() && pace.put_off(all((false, false))));
    pace.begun(1 << 20);
    pace.collected(0, 0, None);
    pace.allocated(100);
    assert!(pace.is_due());
    assert!(!pace.put_off(all((false, false))) && !pace.put_off(all((true, false))));
    assert!(pace.put_off(queued((1 << 20) + 1, false, false)));
    // Those of then are gone.
    pace.begun(1 << 20);
    pace.collected(0, 0, None);
    assert!(pace.counts_queued());
    pace.saw_queued(0);
    pace.allocated(100);
    assert!(!pace.counts_queued() && pace.put_off(all((true, false))));
}

#[test]
fn a_collection_waits_once_for_the_end_of_a_long_queue() {
    let pace = pace();
    let shrinks = |events| queued(events, false, true);
    for _ in 0..2 {
        pace.allocated(100);
        assert!(pace.is_due() && !pace.put_off(shrinks(LONG - 1)));
        assert!(pace.put_off(shrinks(LONG)));
        pace.allocated(49);
        assert!(!pace.is_due());
        pace.allocated(1);
        assert!(pace.is_due() && !pace.put_off(shrinks(LONG)));
        pace.collected(0, 0, None);
    }
}

#[test]
fn at_rest_a_quarter_is_enough_however_long_it_was_put_off_before() {
    let pace = Pace::new(GcConfig {
        min: 1_000,
        ..GcConfig::default()
    });
    let allocated = |bytes| {
        pace.allocated(bytes);
        pace.is_due_at_rest()
    };
    assert!(!allocated(249) && allocated(1));
    pace.allocated(750);
    assert!(pace.put_off(queued(1 << 20, true, false)) && pace.is_due_at_rest());
    pace.begun(0);
    pace.collected(2_000, 0, None);
    assert!(!allocated(999) && allocated(1));
    pace.freed(1);
    assert!(!pace.is_due_at_rest());
}

#[test]
fn marking_is_done_when_little_was_made_meanwhile_or_half_of_what_is_left() {
    for (left, grace) in [
        (usize::MAX, 1_000 / MEANWHILE),
        (100, 100 / OF_WHAT_IS_LEFT),
    ] {
        let pace = pace();
        pace.collected(1_000, 0, None);
        pace.allocated(5_000);
        pace.begun(0);
        pace.has_left(left);
        assert_eq!(pace.marked_by_now(), 0);
        pace.allocated(grace / 2);
        assert_eq!(pace.marked_by_now(), 500);
        pace.allocated(grace / 2);
        assert_eq!(pace.marked_by_now(), 1_000);
    }
}

#[test]
fn a_collection_begins_while_half_of_what_is_left_is_there_and_is_not_put_off_beyond() {
    let pace = pace();
    pace.collected(1_000, 0, None);
    assert_eq!(pace.threshold(), 2_000);
    pace.leaves(1_000, 156);
    pace.allocated(499);
    assert!(!pace.is_due());
    pace.allocated(1);
    assert!(pace.is_due() && !pace.put_off(queued(1 << 30, true, false)));
    // There is next to nothing: not all the time.
    pace.collected(1_000, 0, None);
    pace.leaves(10, 1_000);
    assert_eq!(pace.threshold(), 1_000);
}

#[test]
fn after_a_long_rest_a_little_garbage_is_enough() {
    let pace = pace();
    let due = |room| pace.until_due_at_long_rest(room, 0) == Some(Duration::ZERO);
    pace.allocated(LEAST_AT_LONG_REST);
    assert!(due(0) && !due(1));
    pace.collected(2 * AT_LONG_REST * LEAST_AT_LONG_REST, 0, None);
    pace.allocated(2 * LEAST_AT_LONG_REST);
    assert!(due(0) && !due(1));
}

#[test]
fn after_turns_a_long_rest_is_enough_unless_the_last_collection_was_in_one() {
    let pace = pace();
    let due = || pace.until_due_at_long_rest(0, 0);
    assert_eq!(due(), None);
    pace.has_worked();
    assert_eq!(due(), Some(Duration::ZERO));
    pace.begun(0);
    assert_eq!(due(), None);
    const PAUSE: u64 = 1_000_000_000;
    pace.collected(0, PAUSE, None);
    pace.settles(true);
    pace.has_worked();
    let most = Duration::from_nanos(PAUSE * SHARE_AT_LONG_REST);
    assert!(due().is_some_and(|due| due > most / 2 && due <= most));
    pace.settles(false);
    assert_eq!(due(), Some(Duration::ZERO));
}

#[test]
fn what_a_collection_has_left_mostly_empty_is_looked_at_in_a_long_rest_once() {
    let pace = pace();
    let due = |used| pace.until_due_at_long_rest(0, used);
    pace.begun(0);
    assert_eq!(due(10_000), None);
    pace.collected(1_000, 0, None);
    pace.settles(false);
    assert_eq!((due(2_000), due(2_002)), (None, Some(Duration::ZERO)));
    pace.begun(0);
    pace.collected(1_000, 0, None);
    pace.settles(true);
    assert_eq!(due(10_000), None);
}

/// Two threads have seen that a collection is due.
#[test]
fn of_two_threads_that_put_a_collection_off_neither_makes_it() {
    let pace = pace();
    pace.allocated(100);
    let grows = queued(1, true, false);
    assert!(pace.put_off(&grows) && pace.put_off(&grows));
}

#[test]
fn a_collection_for_want_of_memory_is_not_put_off() {
    let pace = pace();
    pace.allocated(50);
    assert!(pace.hurry(31));
    assert!(pace.is_due() && !pace.put_off(queued(1 << 30, true, false)));
}
