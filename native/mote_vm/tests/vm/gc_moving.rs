//! Cells that move together when much around them has died.
use crate::build::becomes;
use crate::programs::{r, Assembler};
use crate::rig::{self, int, integers, Rig};
use mote_vm::base::clock::ClockKind;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::values::handles::Key;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

const BLOCK: usize = 2 << 20;
/// Elements of what a holder has.
const ELEMENTS: i64 = 40;

/// `hold(x)`: becomes `hold(message)`.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let hold = a.behaviour_used("hold", 1);
    let code = vec![becomes(hold, [r(1)]), Instr::Done];
    a.behaviour("hold", 1, 2, code);
    a.unit()
}

/// Holders of tuples, of which one in ten is left.
fn scattered(rig: &Rig, blocks: usize) -> Vec<(i64, Key)> {
    let each = (ELEMENTS as usize + 1) * 8;
    let n = if rig::stressed() {
        100
    } else {
        blocks * BLOCK / each
    };
    let mut left = Vec::new();
    for n in 0..n as i64 {
        let key = rig.create("hold", 1, |b| {
            b.tuple(ELEMENTS as usize);
            (0..ELEMENTS).for_each(|i| int(b, n + i));
        });
        match n % 10 {
            0 => left.push((n, key)),
            _ => rig.machine.release(key),
        }
    }
    left
}

fn tuple(n: i64) -> String {
    let elements: Vec<String> = (0..ELEMENTS).map(|i| (n + i).to_string()).collect();
    format!("{{{}}}", elements.join(", "))
}

#[test]
fn what_is_left_of_much_takes_little_more_than_it_needs() {
    let rig = Rig::collects_when_asked(ClockKind::System, &[("main", 1)], unit());
    let left = scattered(&rig, 20);
    let full = rig.machine.info().heap_bytes;
    let gc = rig.collect();
    assert_eq!(gc.live_actors, left.len() as u64);
    if !rig::stressed() {
        let heap = rig.machine.info().heap_bytes;
        // Beside it the first blocks of threads and callers, with the actors.
        assert!(
            heap <= gc.live_bytes * 8 / 5 + 3 * BLOCK,
            "{heap} of {full}: {gc:?}"
        );
        assert!(
            gc.collections >= 2 && gc.reclaimed_bytes as usize >= full / 2,
            "{gc:?}"
        );
    }
    for again in [false, true] {
        for (n, key) in left.iter().step_by(97) {
            assert_eq!(rig.captures(*key), [tuple(*n)], "{again}");
        }
        rig.collect();
    }
}

/// A collection that was asked for is over all the same, and nothing is lost, whether cells could move or not.
#[test]
fn turns_may_come_at_any_time() {
    let rig = Rig::new(&[("main", 2)], unit());
    let left = scattered(&rig, 8);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _over = rig::Finally(|| over.store(true, SeqCst));
            for _ in 0..if rig::stressed() { 3 } else { 20 } {
                rig.collect();
            }
        });
        for (n, key) in left.iter().skip(1).step_by(3).cycle() {
            if over.load(SeqCst) {
                break;
            }
            rig.send(*key, integers(&[-n, *n]));
            std::thread::yield_now();
        }
    });
    rig.quiet();
    rig.collect();
    for (i, (n, key)) in left.iter().enumerate() {
        let held = rig.captures(*key);
        let is_new = i % 3 == 1 && held == [format!("{{{}, {n}}}", -n)];
        assert!(is_new || held == [tuple(*n)], "{i}: {held:?}");
    }
}
