use super::*;

#[test]
fn a_charge_is_given_back_when_it_goes() {
    let account = Account(Arc::new(Quota::new(160)));
    let charge = account.charge(100);
    assert!(charge.is_some() && account.charge(56).is_none());
    assert_eq!(account.0.held(), 100, "what is refused takes nothing");
    drop(charge);
    assert_eq!(account.0.held(), 0);
    let beyond = account.charge_anyway(200);
    assert_eq!(account.0.held(), 200);
    drop(beyond);
    assert_eq!(account.0.held(), 0);
}

#[test]
fn what_is_taken_is_within_the_limit_unless_it_must_be() {
    let quota = Quota::new(160);
    assert!(quota.take(100) && quota.take(60) && !quota.take(1));
    quota.take_anyway(5);
    assert_eq!((quota.held(), quota.for_blocks()), (165, 150));
    quota.give(65);
    assert!(quota.has(55) && !quota.has(56));
    assert!(!quota.take(61) && quota.take(60));
}

#[test]
fn messages_leave_room_for_turns_unless_few_wait() {
    let many = |limit, bytes| Quota::new(limit).take_for_messages(bytes, false);
    let much = 64 << 20;
    assert!(many(much, much / 8 * 7) && !many(much, much / 8 * 7 + 1));
    // Of little, more.
    assert!(many(16 << 20, 12 << 20) && !many(16 << 20, (12 << 20) + 1));
    let quota = Quota::new(160);
    assert!(!quota.take_for_messages(121, false) && quota.take_for_messages(160, true));
    assert!(!quota.take_for_messages(1, true));
}

#[test]
fn a_few_small_messages_have_room_after_each_collection_however_much_is_held() {
    let quota = Quota::new(16 << 20);
    quota.take_anyway(20 << 20);
    assert!(!quota.take_for_messages(100, true));
    for _ in 0..3 {
        quota.collected();
        assert!(
            !quota.take_for_messages(SMALL + 1, true) && !quota.take_for_messages(SMALL, false)
        );
        let taken = (0..100).filter(|_| quota.take_for_messages(SMALL, true));
        assert_eq!(taken.count() * SMALL, LEAST_SMALL_ONES);
    }
    // Without end it would be no limit.
    quota.take_anyway(2 << 20);
    quota.collected();
    assert!(!quota.take_for_messages(SMALL, true) && quota.keeps_all_out());
    // What is empty of it keeps out none, while its turn may have a block.
    quota.set_credit(1 << 20);
    assert!(quota.take_for_messages(SMALL, true) && !quota.keeps_all_out());
    quota.take_anyway(2 << 20);
    quota.set_credit(4 << 20);
    assert!(!quota.take_for_messages(SMALL, true) && quota.keeps_all_out());
}

#[test]
fn what_does_not_count_keeps_nothing_out() {
    let quota = Quota::new(160);
    quota.take_anyway(170);
    assert!(!quota.has_credit() && !quota.take(1) && !quota.has(1) && !quota.fits(1));
    quota.set_credit(20);
    assert!(
        quota.has_credit() && quota.has(5) && !quota.has(6) && quota.fits(10) && quota.take(10)
    );
    assert!(!quota.take_for_messages(1, true));
    assert_eq!(quota.held(), 180, "it is held all the same");
    // Three eighths do not count, at most, and not for many messages.
    quota.set_credit(180);
    assert!(quota.fits(40) && !quota.fits(41) && !quota.take_for_messages(1, false));
    assert!(quota.take_for_messages(40, true) && !quota.take_for_messages(1, true));
}

mod charges {
    //! One test for each charge: forgotten, or never given back, it is missing here.
    use super::*;
    use crate::base::atom::Atom;
    use crate::boundary::batch::{Batch, BatchLetters};
    use crate::boundary::parcel::{Builder, Parcel};
    use crate::boundary::refusal::{NotEntered, Refusal};
    use crate::boundary::room::Room;
    use crate::boundary::timers::{Message, Timers, TIMER_BYTES};
    use crate::heap::block::{BlockPool, BLOCK};
    use crate::heap::pace::Pace;
    use crate::heap::Heap;
    use crate::threads::inbox::{Contents, Entry, Inbox, Sender};
    use crate::turns::marking::garbage::{Cleared, Garbage};
    use crate::turns::queue::Event;
    use crate::values::actor::Actor;
    use crate::values::foreign::{LongBytes, CARRIED};
    use crate::values::handles::{Handles, Target};
    use crate::values::value::Value;
    use crate::values::walk::Walkable;

    /// Longer than what an inbox takes ahead.
    const TEXT: &[u8] = &[7; 5000];

    fn actor() -> *const Actor {
        const SOMEWHERE: usize = 16;
        SOMEWHERE as *const Actor
    }

    fn parcel() -> Parcel {
        let mut builder = Builder::new();
        builder.bytes(TEXT);
        builder.finish()
    }

    /// Returns a function that writes a tuple with a binary of the outside.
    fn shared(bytes: usize) -> impl Fn(&mut Builder) {
        move |builder| {
            builder.tuple(2);
            builder.atom(Atom::OK);
            builder.foreign(Arc::new(LongBytes(vec![7; bytes].into())));
        }
    }

    fn parcel_of(write: impl Fn(&mut Builder)) -> Parcel {
        let mut builder = Builder::new();
        write(&mut builder);
        builder.finish()
    }

    fn batch(n: usize) -> Box<Batch> {
        batch_of(n, |builder| builder.bytes(TEXT))
    }

    fn batch_of(n: usize, write: impl Fn(&mut Builder)) -> Box<Batch> {
        let handles = Arc::new(Handles::default());
        let (mut letters, mut builder) = (BatchLetters::default(), Builder::new());
        for _ in 0..n {
            let key = handles.acquire(std::ptr::without_provenance(48), None);
            letters.address(handles.hold(key).expect("held"));
            write(&mut builder);
            letters.end(&builder);
        }
        letters.seal(builder)
    }

    fn inbox(limit: usize, room: usize) -> (Arc<Quota>, Inbox) {
        let quota = Arc::new(Quota::new(limit));
        let inbox = Inbox::new(quota.clone(), Arc::default());
        inbox.open(&Arc::new(Room::new(room, false)));
        (quota, inbox)
    }

    /// Drains, and closes if that is not all.
    fn emptied(quota: &Quota, inbox: &Inbox, close: bool) -> bool {
        let mut contents = Contents::default();
        match close {
            true => inbox.close(&mut contents),
            false => inbox.drain(&mut contents),
        }
        contents.len() > 0 && quota.held() == 0
    }

    #[test]
    fn entries_of_an_inbox() {
        for close in [false, true] {
            let (quota, inbox) = inbox(usize::MAX, usize::MAX);
            assert!(inbox.push(Entry::Alarm).is_ok());
            let alarm = quota.held();
            assert!(alarm > 0);
            assert!(inbox
                .push(Entry::Message(Target(actor()), parcel()))
                .is_ok());
            assert!(quota.held() >= 2 * alarm + TEXT.len());
            assert!(emptied(&quota, &inbox, close));
        }
    }

    #[test]
    fn events_from_other_threads() {
        let (quota, inbox) = inbox(usize::MAX, usize::MAX);
        let event = Event {
            target: actor(),
            message: Value::NIL,
        };
        assert!(inbox.push_events(&mut vec![event; 3], None).is_ok());
        assert_eq!(quota.held(), 3 * size_of::<Event>());
        assert!(emptied(&quota, &inbox, false));
    }

    #[test]
    fn messages_from_outside_only_as_far_as_there_is_room_and_memory() {
        let send = |inbox: &Inbox| {
            inbox.push_from_outside(
                Entry::Message(Target(actor()), parcel()),
                &mut None,
                Sender::GoesOn,
            )
        };
        let (quota, small) = inbox(usize::MAX, 1);
        assert!(send(&small).is_ok());
        let one = quota.held();
        assert!(one > TEXT.len());
        assert!(matches!(
            send(&small),
            Err((NotEntered::Refused(Refusal::Full { .. }), _))
        ));
        assert_eq!(quota.held(), one, "what is refused takes nothing");
        assert!(emptied(&quota, &small, true));
        let (quota, poor) = inbox(2 * one, usize::MAX);
        assert!(send(&poor).is_ok() && send(&poor).is_ok());
        assert!(matches!(
            send(&poor),
            Err((NotEntered::Refused(Refusal::NoMemory), _))
        ));
        assert_eq!(quota.held(), 2 * one);
    }

    #[test]
    fn messages_of_other_machines_only_as_far_as_there_is_memory() {
        let send = |inbox: &Inbox| inbox.push_between(Entry::Message(Target(actor()), parcel()));
        let (quota, small) = inbox(usize::MAX, 1);
        assert!(send(&small).is_ok() && send(&small).is_ok(), "without room");
        let two = quota.held();
        assert!(two > 2 * TEXT.len());
        assert!(emptied(&quota, &small, true));
        assert!(matches!(send(&small), Err((NotEntered::Closed, _))));
        let (quota, poor) = inbox(two, usize::MAX);
        assert!(send(&poor).is_ok() && send(&poor).is_ok());
        assert!(matches!(
            send(&poor),
            Err((NotEntered::Refused(Refusal::NoMemory), _))
        ));
        assert_eq!(quota.held(), two, "what is refused takes nothing");
        assert!(emptied(&quota, &poor, false));
    }

    #[test]
    fn batches_as_far_as_there_is_room_and_memory() {
        let (quota, small) = inbox(usize::MAX, 2);
        let entered = |inbox: &Inbox, n| inbox.push_batch(batch(n)).ok().expect("open").0;
        assert_eq!(entered(&small, 3), 2);
        let two = quota.held();
        assert!(two > 2 * TEXT.len());
        assert_eq!(entered(&small, 3), 0);
        assert_eq!(quota.held(), two, "what is refused takes nothing");
        assert!(emptied(&quota, &small, false));
        let (quota, poor) = inbox(2 * TEXT.len(), usize::MAX);
        assert_eq!((entered(&poor, 3), quota.held()), (0, 0));
    }

    #[test]
    fn binaries_of_the_outside_wherever_they_wait() {
        const MUCH: usize = 1 << 20;
        let limit = 2 * MUCH + MUCH / 2;
        let message = || Entry::Message(Target(actor()), parcel_of(shared(MUCH)));
        let pushes: [fn(&Inbox, Entry) -> bool; 2] = [
            |inbox, entry| {
                let sent = inbox.push_from_outside(entry, &mut None, Sender::GoesOn);
                sent.is_ok()
            },
            |inbox, entry| inbox.push_between(entry).is_ok(),
        ];
        for push in pushes {
            let (quota, inbox) = inbox(limit, usize::MAX);
            assert!(push(&inbox, message()) && push(&inbox, message()));
            let two = quota.held();
            assert!(two > 2 * MUCH && !push(&inbox, message()));
            assert_eq!(quota.held(), two, "what is refused takes nothing");
            assert!(emptied(&quota, &inbox, false));
        }
        let (quota, poor) = inbox(limit, usize::MAX);
        let entered = |n| {
            let entered = poor.push_batch(batch_of(n, shared(MUCH)));
            entered.ok().expect("open").0
        };
        assert_eq!((entered(3), quota.held()), (0, 0));
        assert_eq!(entered(2), 2);
        assert!(quota.held() > 2 * MUCH);
        assert!(emptied(&quota, &poor, true));
        let quota = Arc::new(Quota::new(limit));
        let timers = Timers::new(1, quota.clone());
        let target = Value::address(actor());
        let arm = || timers.arm_from_outside(2, target, parcel_of(shared(MUCH)));
        let armed = [arm(), arm()].map(|armed| armed.ok().expect("room").0);
        assert!(quota.held() > 2 * MUCH && arm().is_err());
        assert!(timers.take(armed[0]).is_some());
        timers.fire(2, 9, &mut Vec::new());
        assert_eq!(quota.held(), 0);
    }

    #[test]
    fn binaries_of_the_outside_only_where_they_are() {
        let mut builder = Builder::new();
        builder.list(2);
        shared(5)(&mut builder);
        let (position, before) = (builder.position(), builder.external_bytes());
        shared(70)(&mut builder);
        let (one, two) = (5 + CARRIED, 75 + 2 * CARRIED);
        assert_eq!((before, builder.external_bytes()), (one, two));
        builder.rewind(position);
        assert_eq!(builder.external_bytes(), one);
        let words = builder.finish().bytes() - one;
        assert_eq!(words, 4 * 2 * size_of::<Value>());
        // Three in one piece, and each by itself.
        let batch = batch_of(3, shared(1_000));
        let apart: Vec<usize> = batch.split().iter().map(|(_, one)| one.bytes()).collect();
        assert_eq!(apart, [parcel_of(shared(1_000)).bytes(); 3]);
    }

    #[test]
    fn timers_with_the_parcels_of_those_from_outside() {
        let quota = Arc::new(Quota::new(usize::MAX));
        let [timers, heir] = [(); 2].map(|()| Timers::new(1, quota.clone()));
        let target = Value::address(actor());
        let arm = |due| {
            timers
                .arm_from_outside(due, target, parcel())
                .ok()
                .expect("open")
                .0
        };
        timers.arm(1, 2, target, Value::NIL);
        assert_eq!(quota.held(), TIMER_BYTES);
        let ids = [2, 3, 4].map(arm);
        let one = TIMER_BYTES + parcel().bytes();
        assert!(one > TEXT.len());
        assert_eq!(quota.held(), TIMER_BYTES + 3 * one);
        assert!(timers.take(ids[2]).is_some());
        assert_eq!(quota.held(), TIMER_BYTES + 2 * one);
        let mut due = Vec::new();
        timers.fire(2, 9, &mut due);
        assert!(matches!(due[1].message, Message::Parcel(_)));
        assert_eq!((due.len(), quota.held()), (2, one));
        heir.adopt(&timers, 2);
        assert!(quota.held() > one, "with the wheel");
        assert!(heir.take_adopted(ids[1]).is_some());
        assert_eq!(quota.held(), 0);
        assert!(heir.arm_from_outside(9, target, parcel()).is_ok());
        heir.clear();
        assert_eq!(quota.held(), 0);
    }

    #[test]
    fn timers_from_outside_only_as_far_as_there_is_memory() {
        let one = TIMER_BYTES + parcel().bytes();
        let quota = Arc::new(Quota::new(2 * one));
        let timers = Timers::new(1, quota.clone());
        let target = Value::address(actor());
        let arm = || timers.arm_from_outside(2, target, parcel());
        assert!(arm().is_ok() && arm().is_ok());
        assert!(matches!(
            arm(),
            Err((NotEntered::Refused(Refusal::NoMemory), _))
        ));
        assert_eq!(quota.held(), 2 * one, "what is refused takes nothing");
        // A turn was asked before, and is not refused any more.
        timers.arm(2, 2, target, Value::NIL);
        assert_eq!(quota.held(), 2 * one + TIMER_BYTES);
        let mut due = Vec::new();
        timers.fire(2, 9, &mut due);
        assert_eq!((due.len(), quota.held()), (3, 0));
        assert!(arm().is_ok());
    }

    #[test]
    fn blocks_large_cells_and_long_binaries() {
        let limit = 8 * BLOCK;
        let pool = Arc::new(BlockPool::new(limit, Pace::default()));
        let mut heap = Heap::new(pool.clone());
        assert!(!heap.cons(Value::NIL, Value::NIL).is_none());
        assert_eq!(pool.quota.held(), BLOCK);
        let wide = heap.tuple(BLOCK / 4, |_| Value::NIL);
        assert!(!wide.is_none() && pool.quota.held() >= 3 * BLOCK);
        let before = pool.quota.held();
        let long = heap.owned_bytes(vec![1; 100_000]);
        assert!(!long.is_none() && pool.quota.held() >= before + 100_000);
        // What is refused takes nothing.
        let before = pool.quota.held();
        assert!(heap.tuple(limit / 8, |_| Value::NIL).is_none() && heap.exhausted());
        assert_eq!(pool.quota.held(), before);
        // What was accepted gets its place all the same.
        let insisted = heap.insist(|heap| heap.tuple(limit / 8, |_| Value::NIL));
        assert!(!insisted.is_none() && pool.quota.held() >= before + limit);
        assert!(pool.is_short());
    }

    /// Checks foreign values from a parcel that waits, into a heap, and on to what a collection has left.
    #[test]
    fn foreign_values_wherever_they_are() {
        let pool = Arc::new(BlockPool::new(usize::MAX, Pace::default()));
        let inbox = Inbox::new(pool.quota.clone(), Arc::default());
        inbox.open(&Arc::new(Room::new(usize::MAX, false)));
        let message = Entry::Message(Target(actor()), parcel_of(shared(100_000)));
        assert!(inbox.push(message).is_ok());
        let least = 100_000 + CARRIED;
        assert!(pool.quota.held() >= least);
        let mut contents = Contents::default();
        inbox.drain(&mut contents);
        assert_eq!(pool.quota.held(), 0);
        let mut heap = Heap::new(pool.clone());
        for entry in contents.entries.drain(..) {
            let Entry::Message(_, parcel) = entry else {
                panic!("a message")
            };
            assert!(!parcel.unpack(&mut heap, &mut Vec::new()).is_none());
        }
        assert!(pool.quota.held() >= BLOCK + least);
        let garbage = Garbage::default();
        for number in 1..=2 {
            heap.start_marking(number);
            garbage.begin(Vec::new(), false);
            garbage.foreigns(heap.sweep());
            while garbage.clear_some(&pool, number) == Cleared::Some {}
        }
        // It was live for the first, as everything that is made while it marks, and nobody has marked it for the second.
        assert_eq!(pool.quota.held(), 0);
    }

    #[test]
    fn the_tables_of_addresses_that_are_held() {
        let quota = Arc::new(Quota::new(usize::MAX));
        let handles = Handles::new(quota.clone());
        let actors = (1..=10_000).map(|n| std::ptr::without_provenance(16 * n));
        let keys: Vec<_> = actors.map(|actor| handles.acquire(actor, None)).collect();
        let held = quota.held();
        assert!(held > 10_000 * 60);
        keys.iter().for_each(|key| handles.release(*key));
        handles.acquire(actor(), None);
        assert_eq!(quota.held(), held, "they do not shrink");
        let key = handles.acquire(std::ptr::without_provenance(48), None);
        // In the middle of a walk, which is not for what is released later.
        handles.begin();
        handles.discharge();
        assert_eq!(quota.held(), 0);
        handles.release(key);
        assert_eq!(quota.held(), 0);
        handles.acquire(std::ptr::without_provenance(32), None);
        assert!(quota.held() > 0);
        drop(handles);
        assert_eq!(quota.held(), 0);
    }

    #[test]
    fn the_tables_of_addresses_that_come_and_go() {
        let quota = Arc::new(Quota::new(usize::MAX));
        let handles = Handles::new(quota.clone());
        let mut keys = Vec::new();
        let (mut held, mut random) = (0, 1_usize);
        for n in 1..=100_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(n);
            // About a thousand at a time, which go from amid others.
            if keys.len() > 1_000 {
                handles.release(keys.swap_remove((random >> 33) % keys.len()));
            }
            let actor = std::ptr::without_provenance((random >> 20) & !15);
            keys.push(handles.acquire(actor, None));
            assert!(quota.held() >= held, "they do not shrink");
            held = quota.held();
            assert!(held < 1 << 20);
        }
    }

    #[test]
    fn the_end_gives_back_what_the_heaps_held() {
        let pool = Arc::new(BlockPool::new(8 * BLOCK, Pace::default()));
        let mut heap = Heap::new(pool.clone());
        assert!(!heap.cons(Value::NIL, Value::NIL).is_none());
        assert!(pool.quota.held() > 0);
        drop(heap);
        // SAFETY: no heap is left, and nobody reads what was in it.
        unsafe { pool.free_everything() };
        assert_eq!(pool.quota.held(), 0);
    }
}
