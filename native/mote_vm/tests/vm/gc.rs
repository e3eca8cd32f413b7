//! What is collected, and what keeps an actor: one test for each kind of root.

use crate::build::{becomes, call, create, is, op, send, send_after};
use crate::encode;
use crate::programs::{r, Assembler};
use crate::rig::{self, address, foreign, int, integers, until, Rig, Tap, PATIENCE};
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::heap::pace::Stress;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::{Class, Foreign};
use mote_vm::values::handles::Key;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;

/// `hold(x)`: becomes `hold(message)`. `tell(x)`: sends x the message. `later(x)`: sends x the message after that many
/// milliseconds. `wait(x)`: spins for that many steps and then sends the number to x. `heap(x)`: creates as many
/// `hold`s that hold each other, one for each message of itself. `pair(x, y)`: becomes `pair(message, y)`.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let spin = rig::spin(&mut a);
    let hold = a.behaviour_used("hold", 1);
    let (zero, one) = (a.int(0), a.int(1));
    a.behaviour("hold", 1, 2, vec![becomes(hold, [r(1)]), Instr::Done]);
    a.behaviour("tell", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    let later = send_after(2, r(1), r(0), r(1));
    a.behaviour("later", 1, 3, vec![later, Instr::Done]);
    let code = vec![call(2, spin, [r(1)]), send(r(0), r(1)), Instr::Done];
    a.behaviour("wait", 1, 3, code);
    let heap = a.behaviour_used("heap", 1);
    let code = vec![
        is(r(1), zero, 2),
        Instr::Done,
        create(2, hold, [r(0)]),
        Instr::SelfAddress { dst: 3 },
        op(4, Primitive::Sub, [r(1), one]),
        send(r(3), r(4)),
        becomes(heap, [r(2)]),
        Instr::Done,
    ];
    a.behaviour("heap", 1, 5, code);
    let pair = a.behaviour_used("pair", 2);
    let next = becomes(pair, [r(2), r(1)]);
    a.behaviour("pair", 2, 3, vec![next, Instr::Done]);
    a.unit()
}

fn one() -> Rig {
    Rig::new(&[("main", 1)], unit())
}

fn live(rig: &Rig) -> u64 {
    rig.collect().live_actors
}

/// Becomes a holder of these.
fn link(rig: &Rig, from: Key, to: &[Key]) {
    let mut builder = Builder::new();
    builder.tuple(to.len());
    for key in to {
        address(&rig.machine, &mut builder, *key);
    }
    rig.send(from, builder.finish());
}

/// Holds a thread up in a look at one of its actors until this is dropped: what is sent there waits.
fn hold_up(rig: &Rig, key: Key) -> Sender<()> {
    let (enter, entered) = channel();
    let (leave, left) = channel::<()>();
    assert!(rig.machine.inspect(
        key,
        Box::new(move |_, _| {
            let _ = enter.send(());
            let _ = left.recv_timeout(PATIENCE);
        })
    ));
    entered.recv_timeout(PATIENCE).expect("entered");
    leave
}

/// The actors that are live in a collection that is asked for while a thread is held up.
fn collect_during(rig: &Rig, hold: Sender<()>) -> u64 {
    let (tell, told) = channel();
    let machine = rig.machine.clone();
    rig.machine.collect(move || {
        let _ = tell.send(machine.info().gc.live_actors);
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    drop(hold);
    told.recv_timeout(PATIENCE).expect("collected")
}

fn holder(rig: &Rig) -> Key {
    rig.create("hold", 1, |b| b.empty_list())
}

#[test]
fn unreachable_actors_and_cycles_are_collected() {
    let rig = one();
    let keys = [(); 4].map(|_| holder(&rig));
    let [a, b, c, d] = keys;
    // a -> b -> c -> a, d -> d, c -> d.
    link(&rig, a, &[b]);
    link(&rig, b, &[c]);
    link(&rig, c, &[a, d]);
    link(&rig, d, &[d]);
    rig.quiet();
    assert_eq!(live(&rig), 4);
    for key in [b, c, d] {
        rig.machine.release(key);
        assert_eq!(live(&rig), 4);
    }
    link(&rig, a, &[]);
    rig.quiet();
    assert_eq!(live(&rig), 1);
    rig.machine.release(a);
    assert_eq!(live(&rig), 0);
}

#[test]
fn a_handle_keeps_its_actor_until_the_last_is_released() {
    let rig = one();
    let key = holder(&rig);
    let found = Arc::new(AtomicUsize::new(0));
    let seen = found.clone();
    assert!(rig.machine.inspect(
        key,
        Box::new(move |_, _| {
            seen.fetch_add(1, SeqCst);
        })
    ));
    rig.quiet();
    assert_eq!(found.load(SeqCst), 1);
    assert_eq!(live(&rig), 1);
    rig.machine.release(key);
    assert_eq!(live(&rig), 0);
}

#[test]
fn a_parcel_keeps_the_actors_whose_addresses_are_in_it() {
    let rig = one();
    let key = holder(&rig);
    let mut builder = Builder::new();
    address(&rig.machine, &mut builder, key);
    rig.machine.release(key);
    assert_eq!(live(&rig), 1);
    let parcel = builder.finish();
    assert_eq!(live(&rig), 1);
    let keeper = holder(&rig);
    rig.send(keeper, parcel);
    rig.quiet();
    assert_eq!((live(&rig), rig.machine.info().handles), (2, 1));
    rig.send(keeper, integers(&[0]));
    rig.quiet();
    assert_eq!(live(&rig), 1);
}

/// Does something to an actor that refers to another one, forgets both while a turn goes on before, and sees what a
/// collection in between has left.
fn kept_while_busy(sponsors: &[(&str, usize)], send: impl Fn(&Rig, Key)) {
    let rig = Rig::new(sponsors, unit());
    let (tap, behind) = (Tap::new(), Tap::new());
    let target = rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
    // Collects while the message waits behind a turn that takes its time.
    let wait = rig.create("wait", 1, |b| b.foreign(foreign(&behind)));
    rig.send(wait, integers(&[3_000_000]));
    send(&rig, target);
    rig.machine.release(target);
    rig.machine.release(wait);
    rig.collect();
    rig.quiet();
    assert_eq!(tap.count(), 1);
    assert_eq!(behind.count(), 1);
    assert_eq!(live(&rig), 0);
}

#[test]
fn a_message_that_waits_to_enter_keeps_its_target() {
    kept_while_busy(&[("main", 1)], |rig, target| {
        rig.send(target, integers(&[1]))
    });
}

#[test]
fn addresses_inside_of_what_waits_to_enter_are_kept() {
    // The collection is asked for on one thread while the parcel waits at another, behind a long turn.
    let rig = Rig::new(&[("main", 1), ("side", 1)], unit());
    let tap = Tap::new();
    let inner = rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
    let keeper = rig.create_on("side", "hold", 1, |b| b.empty_list());
    let mut builder = Builder::new();
    builder.tuple(2);
    builder.bytes(b"raw words before what follows");
    builder.list(2);
    builder.float(1.0e300);
    builder.on();
    builder.atom(Atom::new("main"));
    address(&rig.machine, &mut builder, inner);
    builder.empty_list();
    let hold = hold_up(&rig, keeper);
    rig.send_by("side", keeper, builder.finish());
    rig.machine.release(inner);
    assert_eq!(collect_during(&rig, hold), 2);
    rig.quiet();
    assert_eq!(live(&rig), 2);
    assert_eq!(
        rig.captures(keeper),
        ["{\"raw words before what follows\", [1e300 | [on(:main, address) | []]]}"]
    );
    rig.send_by("side", keeper, integers(&[0]));
    rig.quiet();
    assert_eq!(live(&rig), 1);
}

#[test]
fn a_queued_event_keeps_its_target_and_what_is_in_its_message() {
    let rig = one();
    let tap = Tap::new();
    let [inner, keeper] = [(); 2].map(|_| holder(&rig));
    let wait = rig.create("wait", 1, |b| b.foreign(foreign(&tap)));
    let hold = hold_up(&rig, keeper);
    // A turn this long ends its batch: the collection comes behind it, and before the next event.
    rig.send(wait, integers(&[100_000]));
    link(&rig, keeper, &[inner]);
    for key in [wait, inner, keeper] {
        rig.machine.release(key);
    }
    // Not the one that waited: its event is gone. Under stress another collection may have to be over before.
    let found = collect_during(&rig, hold);
    assert!(found == 2 || rig::stressed(), "{found}");
    rig.quiet();
    assert_eq!(live(&rig), 0);
}

#[test]
fn chains_of_events_survive_collections() {
    let rig = one();
    let tap = Tap::new();
    // A chain of tells: what the first is sent stays queued, between one turn and the next, until the tap has it.
    let mut first = rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
    for _ in 0..200 {
        let next = rig.create("tell", 1, |b| address(&rig.machine, b, first));
        rig.machine.release(first);
        first = next;
    }
    let held = holder(&rig);
    for _ in 0..50 {
        let mut builder = Builder::new();
        builder.tuple(1);
        address(&rig.machine, &mut builder, held);
        rig.send(first, builder.finish());
        rig.collect();
    }
    rig.machine.release(held);
    rig.machine.release(first);
    rig.quiet();
    assert_eq!(tap.count(), 50);
    assert_eq!(live(&rig), 0);
}

#[test]
fn an_armed_timer_keeps_its_target_and_nothing_after_it_fired() {
    let rig = one();
    // A busy host may let the time pass before anybody looks.
    until(|| {
        let tap = Tap::new();
        let target = rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
        let later = rig.create("later", 1, |b| address(&rig.machine, b, target));
        rig.send(later, integers(&[200]));
        rig.quiet();
        rig.machine.release(target);
        rig.machine.release(later);
        let kept = live(&rig);
        let in_time = tap.count() == 0;
        assert!(kept == 1 || !in_time, "{kept}");
        until(|| tap.count() == 1);
        rig.quiet();
        assert_eq!(live(&rig), 0);
        in_time
    });
}

#[test]
fn events_between_sponsors_and_threads_keep_their_actors() {
    let rig = Rig::new(&[("one", 2), ("two", 2)], unit());
    let tap = Tap::new();
    for round in 0..50 {
        let pinned = ["one", "two"][round % 2];
        let mut key = rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
        for hop in 0..20 {
            let on = if hop % 3 == 0 { pinned } else { "one" };
            let next = match hop % 2 {
                0 => rig.create_on(on, "tell", 1, |b| address(&rig.machine, b, key)),
                _ => rig.create("tell", 1, |b| address(&rig.machine, b, key)),
            };
            rig.machine.release(key);
            key = next;
        }
        rig.send_by(["two", "one"][round % 2], key, integers(&[1]));
        rig.machine.release(key);
        rig.machine.collect(|| ());
    }
    rig.quiet();
    assert_eq!(tap.count(), 50);
    assert_eq!(live(&rig), 0);
}

/// A foreign value that counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Foreign for Counted {
    fn class(&self) -> Class {
        Class::Map
    }
    fn compare(&self, _other: &dyn Foreign) -> Ordering {
        Ordering::Equal
    }
}

#[test]
fn foreign_values_are_dropped_once_and_only_with_their_holder() {
    let rig = one();
    let count = Arc::new(AtomicUsize::new(0));
    let make = || {
        count.fetch_add(1, SeqCst);
        Arc::new(Counted(count.clone()))
    };
    let keys: Vec<Key> = (0..100)
        .map(|_| rig.create("hold", 1, |b| b.foreign(make())))
        .collect();
    rig.collect();
    assert_eq!(count.load(SeqCst), 100);
    for key in &keys[..40] {
        rig.machine.release(*key);
    }
    rig.collect();
    assert_eq!(count.load(SeqCst), 60);
    for key in &keys[40..70] {
        rig.send(*key, integers(&[0]));
    }
    rig.quiet();
    rig.collect();
    assert_eq!(count.load(SeqCst), 30);
    drop(rig);
    assert_eq!(count.load(SeqCst), 0);
}

/// Actors that are alike; `write` writes their captures.
fn row(
    rig: &Rig,
    (name, captures): (&str, usize),
    count: usize,
    write: impl FnOnce(&mut Builder),
) -> Vec<Key> {
    let (module, name) = (Atom::new("Test"), Atom::new(name));
    let found = rig.machine.behaviour(module, name, captures);
    let (behaviour, _) = found.expect("a behaviour of that name");
    let mut builder = Builder::new();
    builder.tuple(captures);
    write(&mut builder);
    let row = rig
        .machine
        .create_row(&behaviour, None, builder.finish(), count);
    row.expect("room")
}

#[test]
fn captures_that_a_row_of_actors_shares_count_once() {
    let rig = one();
    let count = 1_000;
    for (name, captures, bytes) in [("hold", 1, 0), ("pair", 2, 16)] {
        let row = row(&rig, (name, captures), count, |b| {
            (0..captures as i64).for_each(|n| int(b, n));
        });
        let held = rig.collect();
        assert_eq!(held.live_actors, count as u64);
        assert_eq!(held.live_bytes, 16 * count + bytes);
        row.into_iter().for_each(|key| rig.machine.release(key));
    }
}

/// Makes every third actor become, again and again, while collections mark or between them.
#[test]
fn actors_of_a_row_keep_what_they_share_though_others_become() {
    for stress in [Stress::Standing, Stress::Running] {
        let rig = Rig::under(stress, usize::MAX, &[("main", 2)], unit());
        let shared = holder(&rig);
        let row = row(&rig, ("pair", 2), 60, |b| {
            address(&rig.machine, b, shared);
            b.bytes(b"shared");
        });
        rig.machine.release(shared);
        for n in 0..20 {
            let becoming = row.iter().step_by(3).skip(n);
            becoming.for_each(|key| rig.send(*key, integers(&[n as i64])));
        }
        rig.quiet();
        for (i, key) in row.iter().enumerate() {
            let first = match i % 3 {
                0 => (i / 3).to_string(),
                _ => "address".to_string(),
            };
            let held = rig.captures(*key);
            assert_eq!(held, [first, "\"shared\"".to_string()], "{i}");
        }
        assert_eq!(rig.collect().live_actors, 61);
    }
}

#[test]
fn large_cells_are_kept_and_freed() {
    let rig = one();
    let count = 400_000;
    let key = rig.create("hold", 1, |b| {
        b.tuple(count);
        for n in 0..count as i64 {
            int(b, n);
        }
    });
    // Above two megabytes: in memory of its own.
    let held = rig.collect();
    assert!(held.live_bytes > 8 * count, "{held:?}");
    assert!(rig.captures(key)[0].ends_with("399999}"));
    let before = rig.machine.info();
    rig.send(key, integers(&[0]));
    rig.quiet();
    assert_eq!(rig.collect().live_bytes, 16);
    let after = rig.machine.info();
    assert!(before.mapped_bytes - after.mapped_bytes >= 8 * count);
    assert!(before.heap_bytes - after.heap_bytes >= 8 * count);
}

/// Units are loaded while collections mark beside turns, which have not heard of their constants.
#[test]
fn constants_of_units_that_are_loaded_meanwhile_are_good() {
    let unit = |n: i64| {
        let mut a = Assembler::default();
        let (keep, constant) = (a.behaviour_used("keep", 1), a.integers(&[n, n + 1]));
        let become_it = becomes(keep, [constant]);
        a.behaviour("keep", 1, 2, vec![become_it, Instr::Done]);
        encode::encode(&a.unit())
    };
    let rig = Rig::under(Stress::Running, usize::MAX, &[("main", 1)], self::unit());
    let rounds = if cfg!(miri) { 3 } else { 300 };
    let mut last = None;
    for n in 0..rounds {
        rig.machine.load(&unit(n), &|_, _| None).expect("loads");
        let key = rig.create("keep", 1, |b| b.empty_list());
        // So much that collections still go on when the next unit is loaded.
        (0..20).for_each(|_| rig.send(key, integers(&[0])));
        last = Some(key);
    }
    rig.quiet();
    let n = rounds - 1;
    let captures = rig.captures(last.expect("created"));
    assert_eq!(captures, [format!("{{{n}, {}}}", n + 1)]);
    assert_eq!(rig.world.lock().unwrap().faults.try_recv().ok(), None);
}
