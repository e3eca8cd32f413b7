//! What a primitive makes is refused before it is made. By itself: it looks at the memory of the whole process.
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

use build::{becomes, op, tuple};
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::heap::pace::Stress;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::LongBytes;
use programs::{r, Assembler};
use rig::Rig;
use std::sync::{Arc, Mutex};

const MIB: usize = 1 << 20;

fn unit() -> Unit {
    let mut a = Assembler::default();
    let (three, letter, bits) = (a.int(3), a.atom("u"), a.int(8));
    let code = vec![
        tuple(1, [letter, bits]),
        op(2, Primitive::VecFromBinary, [r(1), r(0)]),
        Instr::Done,
    ];
    a.behaviour("numbers", 0, 4, code);
    let code = vec![
        op(1, Primitive::ByteSize, [r(0)]),
        op(1, Primitive::Sub, [r(1), bits]),
        op(2, Primitive::BinSlice, [r(0), three, r(1)]),
        Instr::Done,
    ];
    a.behaviour("shifted", 0, 4, code);
    // What it is sent first, it removes from what it is sent then.
    let removes = a.behaviour_used("removes", 1);
    let kept = becomes(removes, [r(0)]);
    a.behaviour("keeps", 0, 1, vec![kept, Instr::Done]);
    let code = vec![op(2, Primitive::Subtract, [r(1), r(0)]), Instr::Done];
    a.behaviour("removes", 1, 3, code);
    a.unit()
}

/// The most that the process has had in memory since then is the most that it has now.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
}

/// The most that the process has ever had in memory, or since `forget_peak`.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib = kib.and_then(|kib| kib.parse::<usize>().ok());
    kib.expect("a number") << 10
}

/// Lets the tests take turns, since resident memory is everybody's.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn what_a_primitive_makes_of_a_long_binary_is_refused_before_it_is_made() {
    let _alone = ALONE.lock().unwrap();
    // Eight bytes of each; all but the first three bits and the last five.
    for name in ["numbers", "shifted"] {
        let rig = Rig::under(Stress::Off, 64 * MIB, &[("main", 1)], unit());
        let actor = rig.create(name, 0, |_| ());
        let mut message = Builder::new();
        message.foreign(Arc::new(LongBytes(vec![1; 40 * MIB].into())));
        forget_peak();
        let before = peak();
        rig.send(actor, message.finish());
        rig.quiet();
        assert!(peak() < before + 16 * MIB, "{name}");
        // That takes more fuel than there is as well.
        let counts = rig.machine.info().counts();
        assert_eq!(counts.aborts_no_memory + counts.aborts_fuel, 1, "{name}");
    }
}

#[test]
fn what_a_list_is_compared_with_is_refused_before_it_is_made() {
    let _alone = ALONE.lock().unwrap();
    let rig = Rig::under(Stress::Off, 32 * MIB, &[("main", 1)], unit());
    let list = |n: i64| {
        let mut list = Builder::new();
        list.list(n as usize);
        (0..n).for_each(|i| assert!(list.integer(i)));
        list.empty_list();
        list.finish()
    };
    let actor = rig.create("keeps", 0, |_| ());
    rig.send(actor, list(1_200_000));
    rig.quiet();
    forget_peak();
    let before = peak();
    rig.send(actor, list(1));
    rig.quiet();
    assert!(
        peak() < before + 24 * MIB,
        "{} MiB more",
        (peak() - before) / MIB
    );
    assert_eq!(rig.machine.info().counts().aborts_no_memory, 1);
}
