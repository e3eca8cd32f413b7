//! Collections crossed with everything else that happens to a machine: creators and senders outside, `sendx`, sponsors
//! that come and go, a quota that is used up, the end. What is sent is counted, and what becomes of it.

use crate::build::{becomes, create, is, match_tuple, op, send, sendx, tuple};
use crate::programs::{r, Assembler};
use crate::rig::{foreign, int, until, Finally, Rig, Tap, PATIENCE};
use crate::world;
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::heap::pace::Stress;
use mote_vm::machine::{Machine, Refusal};
use mote_vm::terms::prim::primitive::Primitive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::Arc;

const SPONSORS: [(&str, usize); 3] = [("main", 1), ("east", 2), ("west", 1)];
const STRESSES: [Stress; 3] = [Stress::Off, Stress::Standing, Stress::Running];
/// Bytes so few that they are used up again and again: a block for each heap is more.
const LITTLE: usize = 12 << 20;
/// Hops of each message.
const HOPS: i64 = 6;

/// `hop(tap, last)`: a message `{here, there, n}` goes on by the sponsor `here` to a new hop, as `{there, here, n - 1}`;
/// the last one to the tap. Each hop becomes one that holds the actor it came from and the next one.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (zero, one) = (a.int(0), a.int(1));
    let hop = a.behaviour_used("hop", 2);
    let code = vec![
        match_tuple(r(2), 3, 3, 10),
        is(r(5), zero, 4),
        send(r(0), zero),
        Instr::Done,
        Instr::SelfAddress { dst: 6 },
        create(7, hop, [r(0), r(6)]),
        op(8, Primitive::Sub, [r(5), one]),
        tuple(9, [r(4), r(3), r(8)]),
        sendx(r(3), r(7), r(9)),
        becomes(hop, [r(0), r(7)]),
        Instr::Done,
    ];
    a.behaviour("hop", 2, 10, code);
    a.unit()
}

fn message(n: u64) -> Parcel {
    let names = ["east", "west", "main", "guest"];
    let at = |n: u64| Atom::new(names[n as usize % names.len()]);
    let mut builder = Builder::new();
    builder.tuple(3);
    builder.atom(at(n));
    builder.atom(at(n / 4));
    int(&mut builder, HOPS);
    builder.finish()
}

/// Creates hops, sends to each, and lets go of it; how many messages were accepted, until it is told to stop or the
/// machine has ended.
fn sender(
    machine: &Machine,
    tap: &Arc<Tap>,
    over: &AtomicBool,
    accepted: &AtomicU64,
    refused: &AtomicBool,
) {
    let (behaviour, _) = machine
        .behaviour(Atom::new("Test"), Atom::new("hop"), 2)
        .expect("loaded");
    for n in 0.. {
        if over.load(SeqCst) || machine.is_stopping() {
            return;
        }
        let mut captures = Builder::new();
        captures.tuple(2);
        captures.foreign(foreign(tap));
        captures.empty_list();
        let Ok(key) = machine.create(&behaviour, None, captures.finish()) else {
            refused.store(true, SeqCst);
            std::thread::yield_now();
            continue;
        };
        let sponsor = machine.sponsor(Atom::new(["main", "west"][n as usize % 2]));
        match machine.send(key, sponsor, message(n)) {
            Ok(()) => {
                accepted.fetch_add(1, SeqCst);
            }
            Err(Refusal::NoMemory) => {
                refused.store(true, SeqCst);
                std::thread::yield_now();
            }
            Err(_) => assert!(machine.is_stopping()),
        }
        machine.release(key);
    }
}

/// A sponsor comes and goes.
fn guest(machine: &Machine, over: &AtomicBool) {
    while !over.load(SeqCst) && machine.add_sponsor(&world::sponsor("guest", 2)).is_ok() {
        std::thread::yield_now();
        if machine.remove_sponsor(Atom::new("guest")).is_err() {
            return;
        }
    }
}

/// Two senders outside, a guest, and somebody who asks for collections, until `end` is through. Returns how many messages were accepted,
/// who hears of them, and whether some were refused.
fn crossed(rig: &Rig, end: impl FnOnce(&AtomicU64)) -> (u64, Arc<Tap>, bool) {
    let tap = Tap::new();
    let (over, accepted) = (AtomicBool::new(false), AtomicU64::new(0));
    let refused = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Finally(|| over.store(true, SeqCst));
        for _ in 0..2 {
            scope.spawn(|| sender(&rig.machine, &tap, &over, &accepted, &refused));
        }
        scope.spawn(|| guest(&rig.machine, &over));
        scope.spawn(|| {
            while !over.load(SeqCst) {
                rig.machine.collect(|| ());
                std::thread::sleep(std::time::Duration::from_micros(500));
            }
        });
        end(&accepted);
    });
    (accepted.load(SeqCst), tap, refused.load(SeqCst))
}

fn faults(rig: &Rig) -> Option<String> {
    rig.world.lock().unwrap().faults.try_recv().ok()
}

fn until_accepted(accepted: &AtomicU64, n: u64) {
    let start = std::time::Instant::now();
    while accepted.load(SeqCst) < n && start.elapsed() < PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Checks that every message that was accepted comes to one end. Returns whether the memory was used up: turns were aborted, or
/// senders refused.
fn come_to_an_end(stress: Stress, memory: usize) -> bool {
    let rig = Rig::under(stress, memory, &SPONSORS, unit());
    let n = if stress == Stress::Off { 20_000 } else { 500 };
    let (accepted, tap, refused) = crossed(&rig, |accepted| until_accepted(accepted, n));
    rig.quiet();
    let counts = rig.machine.info().counts();
    let told = tap.count() + counts.aborts_no_memory + counts.dropped;
    assert_eq!(faults(&rig), None, "{stress:?} {memory}");
    assert!(accepted >= n, "{accepted} under {stress:?} with {memory}");
    assert_eq!(told, accepted, "{stress:?} {memory}: {counts:?}");
    // Nothing is left that anybody could reach.
    rig.collect();
    rig.collect();
    let info = rig.machine.info();
    assert_eq!((info.gc.live_actors, info.handles), (0, 0));
    counts.aborts_no_memory > 0 || refused
}

#[test]
fn every_message_that_was_accepted_comes_to_one_end() {
    let mut exhausted = false;
    for stress in STRESSES {
        for memory in [usize::MAX, LITTLE] {
            exhausted |= come_to_an_end(stress, memory);
        }
    }
    // On a busy host there may be little at a time.
    until(|| {
        exhausted
            || STRESSES
                .iter()
                .any(|stress| come_to_an_end(*stress, LITTLE))
    });
}

#[test]
fn a_machine_stops_in_the_middle_of_it() {
    for stress in STRESSES {
        for memory in [usize::MAX, LITTLE] {
            let rig = Rig::under(stress, memory, &SPONSORS, unit());
            let n = if stress == Stress::Off { 5_000 } else { 100 };
            let machine = rig.machine.clone();
            let (accepted, tap, _) = crossed(&rig, |accepted| {
                until_accepted(accepted, n);
                machine.stop();
                machine.join();
            });
            assert!(accepted >= n && tap.count() <= accepted);
            assert_eq!(faults(&rig), None, "{stress:?} {memory}");
            let info = rig.machine.info();
            assert_eq!((info.mapped_bytes, info.heap_bytes), (0, 0));
            assert_eq!(info.charged_bytes, 0, "{stress:?} {memory}");
        }
    }
}
