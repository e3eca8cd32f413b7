//! What a stand-in leaves: nothing in memory, and to the thread long turns, large values, timers and all that comes meanwhile.
// Elsewhere it is not known how much stack a caller has, and the thread is woken.
#![cfg(all(any(target_os = "linux", target_vendor = "apple"), not(mote_portable)))]

use crate::rig::{self, foreign, int, integers, long, stressed, until, Rig, Tap, PATIENCE};
use crate::threads_stand_in::{ask, asleep, rig, rig_of, stand_ins, tap, teller, unit, LONG};
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::Builder;
use mote_vm::machine::Quiet;
use mote_vm::values::foreign::Carrier;
use mote_vm::values::handles::Key;
use mote_vm::watching::shown_turn::{SeenOutcome, TurnSeen};
use mote_vm::watching::trace::{Filter, Witness};
use mote_vm::Term;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Checks that what a request carries is dropped with the last turn that it led to, unless one of them may have kept it.
#[test]
fn what_nobody_can_have_kept_is_forgotten_at_once() {
    if stressed() {
        return;
    }
    // It never collects by itself, which would forget as well.
    let rig = rig(1);
    let (carried, told_here) = (Tap::new(), Arc::new(AtomicU64::new(0)));
    let (here, count) = (std::thread::current().id(), told_here.clone());
    let tap = Tap::with(move |_, _| {
        count.fetch_add((std::thread::current().id() == here) as u64, SeqCst);
    });
    let tell = teller(&rig, "tell", &tap);
    let held = rig.machine.hold(tell).expect("it is there");
    let both = rig.create("both", 1, |b| b.address(held));
    let count = rig.create("count", 2, |b| {
        b.foreign(foreign(&tap));
        int(b, 0);
    });
    let later = teller(&rig, "later", &tap);
    let keep = rig.create("keep", 2, |b| {
        b.foreign(foreign(&tap));
        int(b, 0);
    });
    let collect = || {
        rig.collect();
        until(|| Arc::strong_count(&carried) == 1);
    };
    // How many are left of what a request carried when a stand-in has run all of the turns that it led to, which tell the
    // tap so many times. The thread may wake at any time by itself, and run some of them: what those have made waits for
    // a collection, and somebody asks again.
    let left = |target, tells| loop {
        asleep(&rig);
        let before = told_here.load(SeqCst);
        let mut request = Builder::new();
        request.foreign(foreign(&carried));
        ask(&rig, target, request.finish());
        if told_here.load(SeqCst) == before + tells {
            return Arc::strong_count(&carried) - 1;
        }
        rig.quiet();
        collect();
    };
    // Where the thread wakes while a stand-in runs, what that has made may wait for a collection, too: now and then, of three hundred.
    let mut kept = 0;
    let mut forgets = |target, tells| {
        while left(target, tells) > 0 {
            kept += 1;
            assert!(kept <= 30);
            collect();
        }
    };
    for _ in 0..100 {
        forgets(tell, 1);
        // Passed on within the machine, and done.
        forgets(both, 2);
    }
    // It becomes, and keeps nothing of what it was told.
    for n in 1..=100 {
        forgets(count, 1);
        assert!(rig.captures(count)[1].parse::<u64>().expect("a number") >= n);
    }
    // It keeps what it was told.
    assert_eq!(left(keep, 1), 1);
    rig.collect();
    assert_eq!(Arc::strong_count(&carried), 2);
    asleep(&rig);
    ask(&rig, keep, integers(&[1]));
    collect();
    // It arms a timer: the message waits there.
    let came = tap.count();
    asleep(&rig);
    ask(&rig, later, integers(&[1]));
    until(|| tap.count() > came);
}

/// A thread that never ran a turn has no block: each stand-in takes one, and gives it back.
#[test]
fn what_is_forgotten_at_once_makes_no_collection_due() {
    if stressed() {
        return;
    }
    let rig = Rig::new(&[("main", 1)], unit());
    let tell = teller(&rig, "tell", &Tap::new());
    for n in 0..50 {
        asleep(&rig);
        ask(&rig, tell, integers(&[n, n]));
    }
    // The thread itself looks whether one is due.
    rig.send(tell, integers(&[0]));
    rig.quiet();
    assert_eq!(rig.machine.info().gc.collections, 0);
}

#[test]
fn a_long_turn_is_left_to_the_thread_and_stays_the_first() {
    let rig = rig(1);
    let (tap, told) = tap();
    let work = teller(&rig, "work", &tap);
    let both = rig.create("both", 1, |b| rig::address(&rig.machine, b, work));
    for round in 0..20 {
        asleep(&rig);
        ask(&rig, both, integers(&[LONG + round]));
        let (message, thread) = told.recv_timeout(PATIENCE).expect("told");
        assert_eq!(message, (LONG + round).to_string());
        assert_ne!(thread, std::thread::current().id());
        let (message, _) = told.recv_timeout(PATIENCE).expect("told");
        assert_eq!(message, "0");
        rig.quiet();
    }
    // It was begun twice, but it was one turn, and no turn was aborted.
    let counts = rig.threads("main")[0];
    assert_eq!((counts.turns, counts.aborts_fuel), (60, 0));
    assert!(counts.stand_ins > 0);
    assert!(rig.world.lock().unwrap().aborts.try_recv().is_err());
}

/// Unpacking and sending on take their time as well.
#[test]
fn what_is_large_is_left_to_the_thread() {
    let rig = rig(1);
    let (tap, told) = tap();
    let (tell, mark) = (teller(&rig, "tell", &tap), teller(&rig, "mark", &tap));
    let thread_of = |actor: Key, size: usize| {
        asleep(&rig);
        ask(&rig, actor, integers(&vec![1; size]));
        rig.quiet();
        told.recv_timeout(PATIENCE).expect("told").1
    };
    let me = std::thread::current().id();
    assert_eq!(thread_of(tell, 100), me);
    assert_ne!(thread_of(tell, 300), me);
    assert_eq!(thread_of(mark, 300), me);
    assert_ne!(thread_of(mark, 10_000), me);
    assert_eq!(thread_of(tell, 100), me);
    assert_eq!(rig.turns(), 5);
}

#[test]
fn what_is_left_to_the_thread_is_waited_for() {
    let rig = rig(1);
    let tap = Tap::new();
    let work = teller(&rig, "work", &tap);
    let rounds = if long() { 20_000 } else { 500 };
    for round in 1..=rounds {
        if round % 3 == 0 {
            asleep(&rig);
        }
        ask(&rig, work, integers(&[LONG]));
        rig.quiet();
        assert_eq!(tap.count(), round);
    }
    assert!(stand_ins(&rig) > 0);
}

#[test]
fn the_sleeper_hears_of_a_timer() {
    let rig = rig(1);
    let (tap, told) = tap();
    let later = teller(&rig, "later", &tap);
    asleep(&rig);
    ask(&rig, later, integers(&[3]));
    assert_eq!(stand_ins(&rig), 1);
    assert!(told.recv_timeout(PATIENCE).is_ok());
}

#[test]
fn who_is_not_answered_wakes_the_thread() {
    let rig = rig(1);
    let (tap, _told) = tap();
    let tell = teller(&rig, "tell", &tap);
    asleep(&rig);
    let parks = rig.threads("main")[0].parks;
    rig.machine
        .ask(tell, None, integers(&[1]), &|| false)
        .expect("room");
    until(|| rig.threads("main")[0].parks > parks);
    rig.quiet();
}

#[test]
fn a_panic_is_a_fault_of_the_machine_and_spares_the_caller() {
    let rig = rig(1);
    let tap = Tap::with(|_, _| panic!("broken"));
    let tell = teller(&rig, "tell", &tap);
    asleep(&rig);
    ask(&rig, tell, integers(&[1]));
    let fault = rig.world.lock().unwrap().faults.recv_timeout(PATIENCE);
    assert_eq!(fault.expect("a fault"), "broken by main in tell");
    assert!(rig.machine.is_stopping());
    rig.machine.join();
    assert_eq!(rig.machine.info().mapped_bytes, 0);
}

/// Asks, and stands in. While its first turn runs, `meanwhile` lets something come for the thread.
fn ask_while(rig: &Arc<Rig>, meanwhile: impl Fn(&Rig) + Send + Sync + 'static) {
    let weak = Arc::downgrade(rig);
    let busy = Tap::with(move |_, _| meanwhile(&weak.upgrade().expect("a rig")));
    let tell = teller(rig, "tell", &busy);
    asleep(rig);
    let before = stand_ins(rig);
    ask(rig, tell, integers(&[0]));
    assert_eq!(stand_ins(rig), before + 1);
}

/// Checks that what a stand-in takes in after its last batch is handed on before the machine says that it is quiet.
#[test]
fn an_actor_that_is_wanted_meanwhile_is_given_away() {
    if stressed() {
        // A sleeper that collects is not stood in for.
        return;
    }
    let rig = Arc::new(rig_of(ClockKind::System, &[("main", 1), ("other", 1)]));
    let heard = Tap::new();
    let wanted = teller(&rig, "tell", &heard);
    // Owned by the thread of the first sponsor from here on.
    rig.send(wanted, integers(&[1]));
    rig.quiet();
    ask_while(&rig, move |rig| {
        let before = rig.threads("other")[0].migrations;
        rig.send_by("other", wanted, integers(&[2]));
        until(|| rig.threads("other")[0].migrations > before);
    });
    rig.quiet();
    assert_eq!(heard.count(), 2);
}

#[test]
fn no_moment_begins_while_somebody_stands_in() {
    if stressed() {
        return;
    }
    let sponsors = [("main", 1), ("other", 1)];
    let rig = Arc::new(rig_of(ClockKind::Manual, &sponsors));
    let heard = Tap::new();
    let told = teller(&rig, "tell", &heard);
    let arm = rig.create("arm", 1, |b| rig::address(&rig.machine, b, told));
    rig.send(arm, integers(&[1]));
    rig.quiet();
    ask_while(&rig, |rig| {
        assert_eq!(rig.machine.step_clock(5, Quiet::Whole), Some(true));
        assert_eq!(rig.machine.now(), 0);
    });
    rig.quiet();
    until(|| rig.machine.step_clock(5, Quiet::Whole) == Some(true) && rig.machine.now() > 0);
    rig.quiet();
    assert_eq!(heard.count(), 1);
}

struct Watcher(Arc<Mutex<Vec<bool>>>);

impl Witness for Watcher {
    fn wants(&self, _: Term<'_>) -> bool {
        true
    }
    fn turn(&self, _: &dyn Carrier, _: u64, turn: &TurnSeen<'_>) -> bool {
        let committed = matches!(turn.outcome, SeenOutcome::Committed);
        self.0.lock().unwrap().push(committed);
        true
    }
    fn limit(&self) {}
}

/// A trace that begins while somebody stands in shows a turn that is left to the thread once: as it ends there.
#[test]
fn a_turn_that_is_left_to_the_thread_is_shown_once() {
    if stressed() {
        return;
    }
    let rig = Arc::new(rig(1));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let work = teller(&rig, "work", &Tap::new());
    let seen = shown.clone();
    ask_while(&rig, move |rig| {
        let watcher = Watcher(seen.clone());
        rig.machine
            .trace(Filter::default(), u64::MAX, Box::new(watcher));
        rig.send(work, integers(&[LONG]));
    });
    rig.quiet();
    assert_eq!(*shown.lock().unwrap(), [true]);
}
