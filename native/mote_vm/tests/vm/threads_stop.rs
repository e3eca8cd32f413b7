//! The end of a machine: stopping while it is busy, from several sides at once, and what is left after `join`.

use crate::build::{call, create, is, op, send};
use crate::programs::{r, Assembler};
use crate::rig::{self, foreign, integers, long, until, Finally, Rig, Tap, PATIENCE};
use crate::world;
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::machine::{Machine, Refusal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::Duration;

/// `tell(tap)` passes on what it gets; `chatter()` sends to itself and creates another of its kind that does the
/// same, as many as the message says.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let spin = rig::spin(&mut a);
    let chatter = a.behaviour_used("chatter", 0);
    let (zero, one) = (a.int(0), a.int(1));
    a.behaviour("tell", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    let sub = mote_vm::terms::prim::primitive::Primitive::Sub;
    let code = vec![
        Instr::SelfAddress { dst: 1 },
        is(r(0), zero, 4),
        send(r(1), zero),
        Instr::Done,
        create(2, chatter, []),
        op(3, sub, [r(0), one]),
        send(r(2), r(3)),
        send(r(1), zero),
        Instr::Done,
    ];
    a.behaviour("chatter", 0, 4, code);
    // Works for as many steps as the message says, then tells.
    let code = vec![call(2, spin, [r(1)]), send(r(0), r(1)), Instr::Done];
    a.behaviour("worker", 1, 3, code);
    a.unit()
}

fn busy(sponsors: &[(&str, usize)]) -> Rig {
    let rig = Rig::new(sponsors, unit());
    let chatter = rig.create("chatter", 0, |_| ());
    rig.send(chatter, integers(&[3000]));
    until(|| rig.turns() > 20_000);
    rig
}

#[test]
fn a_busy_machine_of_four_threads_stops_and_gives_its_memory_back() {
    for sponsors in [&[("main", 4)][..], &[("east", 2), ("west", 2)][..]] {
        let rig = busy(sponsors);
        assert!(rig.machine.info().mapped_bytes > 0);
        rig.machine.stop();
        rig.machine.join();
        let info = rig.machine.info();
        assert_eq!((info.mapped_bytes, info.heap_bytes), (0, 0));
        assert!(info.counts().turns > 20_000);
    }
}

/// A machine in the middle of a turn that ends only when it is let go.
struct Held {
    rig: Rig,
    inside: Arc<AtomicBool>,
    go: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Held {
    fn new(sponsors: &[(&str, usize)], sponsor: &str) -> Held {
        let rig = Rig::new(sponsors, unit());
        let [inside, go, ended] = [(); 3].map(|_| Arc::new(AtomicBool::new(false)));
        let (i, g, e) = (inside.clone(), go.clone(), ended.clone());
        let tap = Tap::with(move |_, _| {
            i.store(true, SeqCst);
            while !g.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            e.store(true, SeqCst);
        });
        let tell = rig.create_on(sponsor, "tell", 1, |b| b.foreign(foreign(&tap)));
        rig.send(tell, integers(&[1]));
        until(|| inside.load(SeqCst));
        Held {
            rig,
            inside,
            go,
            ended,
        }
    }

    /// Lets the turn go after a while, on another thread.
    fn let_go_soon(&self) {
        let go = self.go.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            go.store(true, SeqCst);
        });
    }
}

/// Lets the turn go before the machine, which waits for its turns, goes.
impl Drop for Held {
    fn drop(&mut self) {
        self.go.store(true, SeqCst);
    }
}

#[test]
fn whoever_joins_waits_for_the_last_turn() {
    let held = Held::new(&[("main", 2)], "main");
    held.rig.machine.stop();
    held.let_go_soon();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                held.rig.machine.join();
                assert!(held.ended.load(SeqCst), "joined during a turn");
            });
        }
    });
}

#[test]
fn join_waits_for_the_threads_of_a_sponsor_that_is_being_removed() {
    let held = Held::new(&[("main", 1), ("side", 1)], "side");
    std::thread::scope(|scope| {
        let _go = Finally(|| held.go.store(true, SeqCst));
        let remover = scope.spawn(|| held.rig.machine.remove_sponsor(Atom::new("side")));
        until(|| held.rig.machine.sponsor(Atom::new("side")).is_none());
        std::thread::sleep(Duration::from_millis(10));
        held.rig.machine.stop();
        held.let_go_soon();
        held.rig.machine.join();
        assert!(held.ended.load(SeqCst), "joined during a turn");
        assert_eq!(held.rig.machine.info().mapped_bytes, 0);
        assert!(remover.join().unwrap().is_ok());
    });
    assert!(held.inside.load(SeqCst));
}

#[test]
fn who_waits_for_quiet_is_told_when_the_machine_ends_and_after() {
    let held = Held::new(&[("main", 2)], "main");
    let tell = held.rig.create("tell", 1, |b| b.empty_list());
    for _ in 0..10 {
        held.rig.send(tell, integers(&[1]));
    }
    let (tell, told) = channel();
    let before = tell.clone();
    held.rig.machine.when_quiet(Box::new(move || {
        let _ = before.send(1);
    }));
    held.rig.machine.stop();
    held.let_go_soon();
    held.rig.machine.join();
    assert_eq!(told.recv_timeout(PATIENCE), Ok(1));
    assert!(!held.rig.machine.is_quiet());
    held.rig.machine.when_quiet(Box::new(move || {
        let _ = tell.send(2);
    }));
    assert_eq!(told.recv_timeout(Duration::from_secs(2)), Ok(2));
}

#[test]
fn what_waits_in_an_inbox_is_dropped_by_join() {
    let held = Held::new(&[("main", 1)], "main");
    let tap = Tap::new();
    let one = Arc::strong_count(&tap);
    let tell = held.rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
    for _ in 0..10 {
        let mut parcel = Builder::new();
        parcel.tuple(1);
        parcel.foreign(foreign(&tap));
        held.rig.send(tell, parcel.finish());
    }
    let (tell_end, told) = channel::<()>();
    let look = move |_: &Machine, _: mote_vm::machine::Inspection<'_>| drop(tell_end);
    assert!(held.rig.machine.inspect(tell, Box::new(look)));
    held.rig.machine.stop();
    held.go.store(true, SeqCst);
    held.rig.machine.join();
    assert_eq!(Arc::strong_count(&tap), one);
    assert!(told.recv_timeout(Duration::from_secs(2)).is_err());
    // And nothing gathers there afterwards.
    let mut parcel = Builder::new();
    parcel.foreign(foreign(&tap));
    for parcel in [Parcel::atom(Atom::OK), parcel.finish()] {
        let sent = held.rig.machine.send(tell, None, parcel);
        assert!(matches!(sent, Err(Refusal::Stopped)));
    }
    assert_eq!(Arc::strong_count(&tap), one);
}

#[test]
fn creating_and_sending_race_with_the_end() {
    let rounds = if long() { 400 } else { 25 };
    for round in 0..rounds {
        let rig = Rig::new(&[("east", 2), ("west", 1)], unit());
        let chatter = rig.create("chatter", 0, |_| ());
        rig.send(chatter, integers(&[50]));
        let tap = Tap::new();
        let refused = AtomicU64::new(0);
        let ended = AtomicBool::new(false);
        let (tell, _) = {
            let found = rig
                .machine
                .behaviour(Atom::new("Test"), Atom::new("tell"), 1);
            found.unwrap()
        };
        std::thread::scope(|scope| {
            let _ended = Finally(|| ended.store(true, SeqCst));
            for n in 0..3 {
                let (machine, tell) = (&rig.machine, &tell);
                let (tap, refused, ended) = (&tap, &refused, &ended);
                scope.spawn(move || {
                    let west = machine.sponsor(Atom::new("west"));
                    let (mut after, mut made) = (0, 0);
                    while after < 20 {
                        after += ended.load(SeqCst) as u32;
                        made += 1;
                        // The end may be long in coming on a machine that has much else to do.
                        if made > 2_000 {
                            std::thread::sleep(Duration::from_micros(200));
                        }
                        let mut parcel = Builder::new();
                        parcel.tuple(1);
                        parcel.foreign(foreign(tap));
                        let pinned = west.filter(|_| n == 1);
                        let Ok(key) = machine.create(tell, pinned, parcel.finish()) else {
                            refused.fetch_add(1, SeqCst);
                            continue;
                        };
                        let mut parcel = Builder::new();
                        parcel.tuple(2);
                        parcel.foreign(foreign(tap));
                        parcel.address(machine.hold(key).expect("not released yet"));
                        let sent = machine.send(key, west, parcel.finish());
                        assert!(matches!(sent, Ok(()) | Err(Refusal::Stopped)));
                        let _ = machine.inspect(key, Box::new(|_, _| ()));
                        if n == 2 {
                            machine.release(key);
                        }
                        let _ = machine.info();
                    }
                });
            }
            std::thread::sleep(Duration::from_micros(500 + 200 * round % 5000));
            rig.machine.stop();
            rig.machine.join();
            assert_eq!(rig.machine.info().mapped_bytes, 0);
        });
        assert!(refused.load(SeqCst) >= 1);
        assert_eq!(rig.machine.info().mapped_bytes, 0);
        drop(rig);
        assert_eq!(Arc::strong_count(&tap), 1, "a foreign value leaked");
    }
}

#[test]
fn sponsors_come_and_go_while_the_machine_ends() {
    for round in 0..if long() { 400 } else { 25 } {
        let rig = Rig::new(&[("main", 2)], unit());
        let chatter = rig.create("chatter", 0, |_| ());
        rig.send(chatter, integers(&[20]));
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _ended = Finally(|| ended.store(true, SeqCst));
            for name in ["one", "two"] {
                let (machine, ended) = (&rig.machine, &ended);
                scope.spawn(move || {
                    while !ended.load(SeqCst) {
                        if machine.add_sponsor(&world::sponsor(name, 2)).is_ok() {
                            let sponsor = machine.sponsor(Atom::new(name));
                            let _ = machine.send(chatter, sponsor, integers(&[2]));
                            let _ = machine.remove_sponsor(Atom::new(name));
                        }
                    }
                });
            }
            std::thread::sleep(Duration::from_micros(500 + 300 * round % 5000));
            rig.machine.stop();
            rig.machine.join();
            assert_eq!(rig.machine.info().mapped_bytes, 0);
        });
        rig.machine.join();
        assert_eq!(rig.machine.info().mapped_bytes, 0);
    }
}
