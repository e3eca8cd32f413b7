//! Timers of a running machine: they fire in order and never early, a cancelled one never fires, and an abort neither
//! arms nor cancels. Most tests move the clock by hand.

use crate::build::{abort, send, send_after};
use crate::programs::{r, Assembler};
use crate::rig::{self, address, foreign, integers, quiet, until, Rig, Tap};
use crate::world::{self, show};
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::base::ids::TimerId;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::machine::{Machine, Quiet, Refusal};
use mote_vm::values::handles::Key;
use mote_vm::View;
use std::sync::{Arc, Mutex};

/// Messages that a tap has heard, as text and with the machine's time.
type Heard = Arc<Mutex<Vec<(u64, String)>>>;

fn ear(rig: &Rig) -> (Arc<Tap>, Heard) {
    let heard = Heard::default();
    let (to, machine) = (heard.clone(), rig.machine.clone());
    let tap = Tap::with(move |term, _| {
        to.lock().unwrap().push((machine.now(), show(term)));
    });
    (tap, heard)
}

/// `later(tap)`: n: tells the tap n after n milliseconds. `hands(tap, other)`: the same, and gives `other` the timer.
/// `cancels(tap)`: timer: cancels, and tells the tap the answer. `regrets(tap)`: n: arms and cancels in one turn.
/// `aborts(tap)`: timer: cancels it, arms another and aborts. `tells(tap)`: passes on.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (five, gone) = (a.int(5), a.atom("gone"));
    let after = |dst, delay, message| send_after(dst, delay, r(0), message);
    let cancel = |dst, timer| Instr::CancelTimer { dst, timer };
    a.behaviour("later", 1, 3, vec![after(2, r(1), r(1)), Instr::Done]);
    let code = vec![after(3, r(2), r(2)), send(r(1), r(3)), Instr::Done];
    a.behaviour("hands", 2, 4, code);
    let code = vec![cancel(2, r(1)), send(r(0), r(2)), Instr::Done];
    a.behaviour("cancels", 1, 3, code);
    let code = vec![after(2, r(1), r(1)), cancel(3, r(2)), Instr::Done];
    a.behaviour("regrets", 1, 4, code);
    let abort = abort(gone);
    let code = vec![cancel(2, r(1)), after(3, five, five), abort];
    a.behaviour("aborts", 1, 4, code);
    a.behaviour("tells", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    a.unit()
}

fn manual(sponsors: &[(&str, usize)]) -> Rig {
    Rig::by(ClockKind::Manual, sponsors, unit())
}

/// Lets that many milliseconds pass, moment by moment.
fn advance(machine: &Machine, milliseconds: u64) {
    quiet(machine);
    let limit = machine.now() + milliseconds;
    while machine
        .step_clock(limit, Quiet::Whole)
        .expect("a manual clock")
    {
        quiet(machine);
    }
}

fn actor(rig: &Rig, name: &str, tap: &Arc<Tap>) -> Key {
    rig.create(name, 1, |b| b.foreign(foreign(tap)))
}

/// An actor that hands its timers to `other`.
fn hands(rig: &Rig, sponsor: &str, tap: &Arc<Tap>, other: Key) -> Key {
    rig.create_on(sponsor, "hands", 2, |b| {
        b.foreign(foreign(tap));
        address(&rig.machine, b, other);
    })
}

/// A tap that keeps the references of timers, and an actor that passes them on to it.
fn collector(rig: &Rig) -> (Key, Arc<Mutex<Vec<TimerId>>>) {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let to = ids.clone();
    let tap = Tap::with(move |term, _| {
        let View::Timer(id) = term.view() else {
            panic!("no timer: {}", show(term))
        };
        to.lock().unwrap().push(id);
    });
    (actor(rig, "tells", &tap), ids)
}

fn texts(heard: &Heard) -> Vec<(u64, String)> {
    heard.lock().unwrap().clone()
}

fn at(moments: &[u64]) -> Vec<(u64, String)> {
    moments.iter().map(|at| (*at, at.to_string())).collect()
}

#[test]
fn timers_fire_in_order_each_at_its_moment() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let later = actor(&rig, "later", &tap);
    for delay in [70, 5, 100_000, 0, 64, 5, 4_096] {
        rig.send(later, integers(&[delay]));
    }
    advance(&rig.machine, 4);
    assert_eq!(texts(&heard), at(&[0]));
    advance(&rig.machine, 60);
    assert_eq!(texts(&heard), at(&[0, 5, 5, 64]));
    advance(&rig.machine, 1 << 20);
    assert_eq!(texts(&heard), at(&[0, 5, 5, 64, 70, 4_096, 100_000]));
    assert_eq!(rig.machine.now(), 64 + (1 << 20));
    rig.send(later, integers(&[10]));
    advance(&rig.machine, 10);
    assert_eq!(texts(&heard).last(), Some(&(74 + (1 << 20), "10".into())));
}

#[test]
fn a_thread_goes_on_to_the_moment_that_is_waited_for() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let later = actor(&rig, "later", &tap);
    for delay in [5, 64, 100_000, 3_000_000] {
        rig.send(later, integers(&[delay]));
    }
    quiet(&rig.machine);
    assert_eq!(rig.machine.step_clock(1 << 20, Quiet::Whole), Some(true));
    quiet(&rig.machine);
    assert_eq!(texts(&heard), at(&[5, 64, 100_000]));
    assert_eq!(rig.machine.now(), 1 << 20);
    // Not at once if the thread is awake, for whatever reason.
    until(|| rig.machine.step_clock(1 << 20, Quiet::Whole) == Some(false));
    assert_eq!(rig.machine.now(), 1 << 20);
}

#[test]
fn time_stands_still_when_nobody_waits_any_more() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let later = actor(&rig, "later", &tap);
    for delay in [5, 64] {
        rig.send(later, integers(&[delay]));
    }
    quiet(&rig.machine);
    rig.machine.pause();
    // What is due waits for the machine to go on; whoever wanted more has given up meanwhile. No step is taken at once if the
    // thread is awake, for whatever reason.
    until(|| rig.machine.step_clock(100, Quiet::Whole) == Some(true) && rig.machine.now() == 5);
    assert_eq!(rig.machine.step_clock(0, Quiet::Whole), Some(false));
    rig.machine.resume();
    quiet(&rig.machine);
    assert_eq!((texts(&heard), rig.machine.now()), (at(&[5]), 5));
}

#[test]
fn the_system_s_clock_moves_by_itself() {
    let rig = Rig::new(&[("main", 1)], unit());
    let (tap, heard) = ear(&rig);
    let later = actor(&rig, "later", &tap);
    rig.send(later, integers(&[30]));
    rig.send(later, integers(&[3]));
    assert_eq!(rig.machine.step_clock(1 << 30, Quiet::Whole), None);
    until(|| tap.count() == 2);
    // In which order depends on when each turn came.
    for (at, delay) in texts(&heard) {
        assert!(at >= delay.parse().unwrap(), "{delay} at {at}");
    }
}

#[test]
fn a_cancelled_timer_never_fires() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let (answers, answered) = ear(&rig);
    let cancels = actor(&rig, "cancels", &answers);
    let hands = hands(&rig, "main", &tap, cancels);
    rig.send(hands, integers(&[10]));
    rig.send(actor(&rig, "regrets", &tap), integers(&[20]));
    advance(&rig.machine, 100);
    assert_eq!(texts(&heard), []);
    // What is no reference is no timer.
    rig.send(cancels, integers(&[7]));
    rig.quiet();
    let answered = texts(&answered);
    assert_eq!(answered, [(0, ":ok".into()), (100, ":undefined".into())]);
    assert_eq!(rig.machine.info().counts().timers, 0);
}

#[test]
fn an_abort_neither_cancels_nor_arms() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let aborts = actor(&rig, "aborts", &tap);
    rig.send(hands(&rig, "main", &tap, aborts), integers(&[10]));
    advance(&rig.machine, 100);
    assert_eq!(texts(&heard), at(&[10]));
}

#[test]
fn the_outside_arms_and_cancels() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let tells = actor(&rig, "tells", &tap);
    let machine = &rig.machine;
    let arm = |delay| machine.send_after(delay, tells, None, integers(&[delay as i64]));
    let (first, second) = (arm(10).unwrap(), arm(20).unwrap());
    assert_ne!(first, second);
    advance(machine, 4);
    assert_eq!(machine.cancel_timer(second), Some(16));
    assert_eq!(machine.cancel_timer(second), None);
    advance(machine, 100);
    assert_eq!(texts(&heard), at(&[10]));
    assert_eq!(machine.cancel_timer(first), None);
    // A place that is taken again does not belong to the old reference.
    let third = arm(30).unwrap();
    assert_eq!(third.place, first.place);
    assert_eq!(machine.cancel_timer(first), None);
    assert_eq!(
        machine.cancel_timer(TimerId {
            thread: 999,
            ..third
        }),
        None
    );
    assert_eq!(machine.cancel_timer(third), Some(30));
    machine.release(tells);
    let refused = machine.send_after(1, tells, None, integers(&[1]));
    assert_eq!(refused, Err(Refusal::Unknown));
}

#[test]
fn what_a_timer_from_outside_carries_is_kept() {
    let rig = manual(&[("main", 1)]);
    let (tap, heard) = ear(&rig);
    let machine = &rig.machine;
    let tells = actor(&rig, "tells", &tap);
    let carried = actor(&rig, "tells", &tap);
    let mut builder = mote_vm::boundary::parcel::Builder::new();
    address(machine, &mut builder, carried);
    assert!(machine.send_after(5, tells, None, builder.finish()).is_ok());
    machine.release(carried);
    machine.release(tells);
    for (live, passed) in [(2, 4), (0, 1)] {
        advance(machine, passed);
        assert_eq!(rig::collect(machine).live_actors, live);
    }
    assert_eq!(texts(&heard), [(5, "address".into())]);
}

#[test]
fn references_stay_good_when_their_sponsor_goes() {
    let rig = manual(&[("main", 1), ("west", 1)]);
    let (tap, heard) = ear(&rig);
    let (keeper, ids) = collector(&rig);
    let hands = hands(&rig, "west", &tap, keeper);
    for delay in [30, 10, 20] {
        rig.send(hands, integers(&[delay]));
    }
    rig.quiet();
    let west = Atom::new("west");
    rig.machine.remove_sponsor(west).expect("removed");
    let ids = ids.lock().unwrap().clone();
    assert_eq!(rig.machine.cancel_timer(ids[2]), Some(20));
    assert_eq!(rig.machine.cancel_timer(ids[2]), None);
    advance(&rig.machine, 15);
    assert_eq!(texts(&heard), at(&[10]));
    assert_eq!(rig.machine.cancel_timer(ids[1]), None);
    // A new thread of the same number gives other references.
    rig.machine
        .add_sponsor(&world::sponsor("west", 1))
        .expect("added");
    assert_eq!(rig.machine.cancel_timer(ids[0]), Some(15));
    assert_eq!(rig.machine.info().counts().timers, 0);
}

/// Threads arm timers that are due at once or nearly, and everybody cancels them: each fires or was cancelled, never
/// both, never neither.
#[test]
fn a_timer_fires_or_is_cancelled() {
    let rig = Rig::new(&[("main", 1), ("west", 2)], unit());
    let (tap, _) = ear(&rig);
    let (keeper, ids) = collector(&rig);
    let actors: Vec<Key> = (0..8).map(|_| hands(&rig, "west", &tap, keeper)).collect();
    let rounds = if rig::stressed() { 20 } else { 400 };
    let mut cancelled = 0;
    let mut armed = 0;
    for round in 0..rounds {
        for actor in &actors {
            rig.send(*actor, integers(&[round % 3]));
            armed += 1;
        }
        let known = std::mem::take(&mut *ids.lock().unwrap());
        let machine = &rig.machine;
        cancelled += std::thread::scope(|scope| {
            let halves = known.chunks(known.len().div_ceil(2).max(1));
            let cancellers: Vec<_> = halves
                .map(|half| {
                    let all = &known;
                    scope.spawn(move || {
                        let both = half.iter().chain(all);
                        both.filter(|id| machine.cancel_timer(**id).is_some())
                            .count()
                    })
                })
                .collect();
            cancellers
                .into_iter()
                .map(|c| c.join().unwrap())
                .sum::<usize>()
        });
    }
    until(|| tap.count() as usize + cancelled == armed);
    until(|| rig.machine.info().counts().timers == 0);
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(tap.count() as usize + cancelled, armed);
}
