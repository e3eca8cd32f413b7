//! What died is given back to the system. A process of its own: what is resident is everybody's.
#![cfg(target_os = "linux")]
#[path = "support/build.rs"]
mod build;
#[path = "support/compiler.rs"]
mod compiler;
#[path = "support/encode.rs"]
mod encode;
#[path = "support/programs.rs"]
mod programs;
#[path = "support/rig.rs"]
mod rig;
#[path = "support/world.rs"]
mod world;

use build::{becomes, create, is, op, send};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use programs::{r, Assembler};
use rig::{integers, until, Rig, PATIENCE};
use std::time::{Duration, Instant};

/// `heap(x)`: becomes a `heap` of another one that holds x, as often as it was told.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let heap = a.behaviour_used("heap", 1);
    let (zero, one) = (a.int(0), a.int(1));
    let code = vec![
        is(r(1), zero, 2),
        Instr::Done,
        create(2, heap, [r(0)]),
        Instr::SelfAddress { dst: 3 },
        op(4, Primitive::Sub, [r(1), one]),
        send(r(3), r(4)),
        becomes(heap, [r(2)]),
        Instr::Done,
    ];
    a.behaviour("heap", 1, 5, code);
    a.unit()
}

/// Megabytes of this process that the system has to keep.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("linux");
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    // SAFETY: only answers a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    pages * page / 1_000_000
}

/// Lets the tests take turns, since resident memory is everybody's.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn what_died_is_given_back_to_the_system() {
    let _alone = ALONE.lock().unwrap();
    let rig = Rig::new(&[("main", 1)], unit());
    let before = resident();
    let n = if rig::stressed() { 2_000 } else { 4_000_000 };
    let key = rig.create("heap", 1, |b| b.empty_list());
    rig.send(key, integers(&[n]));
    rig.quiet();
    let full = rig.collect();
    assert_eq!(full.live_actors, n as u64 + 1);
    let held = resident();
    rig.machine.release(key);
    let empty = rig.collect();
    assert_eq!((empty.live_actors, empty.live_bytes), (0, 0));
    until(|| rig.machine.info().heap_bytes == 0);
    if n > 1_000_000 {
        assert!(held - before > 60, "{before} {held}");
        until(|| resident() < before + 30);
        assert!(rig.machine.info().gc.reclaimed_bytes > 60_000_000);
    }
}

/// Chains of actors that nobody holds when they are done, until the machine has found all of them dead in a rest: it
/// collects if enough was made since the last time. Returns what is resident then.
fn bursts(rig: &Rig) -> usize {
    for n in [8_000_000].into_iter().chain([2_200_000; 10]) {
        let key = rig.create("heap", 1, |b| b.empty_list());
        rig.send(key, integers(&[n]));
        rig.machine.release(key);
        rig.quiet();
        let rests = Instant::now();
        while rests.elapsed() < PATIENCE / 50 {
            if rig.machine.info().heap_bytes < 20_000_000 {
                // Time to clear it away.
                std::thread::sleep(PATIENCE / 50);
                return resident();
            }
            std::thread::yield_now();
        }
    }
    panic!("never collected");
}

#[test]
fn what_a_burst_used_is_kept_for_the_next_one_until_somebody_asks_or_nobody_needs_it() {
    if rig::stressed() {
        return;
    }
    let _alone = ALONE.lock().unwrap();
    let rig = Rig::new(&[("main", 1)], unit());
    let before = resident();
    // Sooner than what nobody needs: after ten seconds that would go by itself. A busy host may hold this up now and then.
    until(|| {
        let kept = bursts(&rig);
        assert!(kept - before > 60, "{before} {kept}");
        let asked = Instant::now();
        rig.collect();
        until(|| resident() < before + 50);
        asked.elapsed() < Duration::from_secs(8)
    });

    let kept = bursts(&rig);
    assert!(kept - before > 60, "{before} {kept}");
    until(|| resident() < before + 50);
}
