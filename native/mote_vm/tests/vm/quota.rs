//! What a machine's memory limit is charged with: whatever a program or a caller makes it hold counts, is refused in time, and
//! is given back when it goes.

use crate::build::{becomes, op};
use crate::programs::{r, Assembler};
use crate::rig::{int, integers, Rig, PATIENCE};
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::heap::pace::Stress;
use mote_vm::machine::{Inspection, Machine};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::{LongBytes, CARRIED};
use mote_vm::values::handles::Key;
use std::sync::mpsc::channel;
use std::sync::Arc;

const MIB: usize = 1 << 20;

fn unit() -> Unit {
    let mut a = Assembler::default();
    let hold = a.behaviour_used("hold", 1);
    let become_holder = |value| becomes(hold, [value]);
    a.behaviour("hold", 1, 2, vec![become_holder(r(1)), Instr::Done]);
    a.behaviour(
        "list",
        1,
        3,
        vec![
            op(2, Primitive::VecToList, vec![r(0)]),
            become_holder(r(2)),
            Instr::Done,
        ],
    );
    a.unit()
}

fn rig(memory: usize) -> Rig {
    Rig::under(Stress::Off, memory, &[("main", 1)], unit())
}

fn bytes(builder: &mut Builder, n: usize) {
    builder.foreign(Arc::new(LongBytes(vec![1; n].into())));
}

/// `n` integers of 64 bits.
fn vector(builder: &mut Builder, n: usize) {
    let bytes: Vec<u8> = (0..n as i64)
        .flat_map(|i| (i64::MAX - i).to_le_bytes())
        .collect();
    builder.map(3);
    builder.atom(Atom::new("__struct__"));
    builder.atom(Atom::new("Elixir.Mote.Vector"));
    builder.atom(Atom::new("binary"));
    builder.foreign(Arc::new(LongBytes(bytes.into())));
    builder.atom(Atom::new("type"));
    builder.atom(Atom::new("i64"));
}

/// Returns the bytes charged when nothing is queued and nothing is garbage.
fn at_rest(rig: &Rig) -> usize {
    rig.quiet();
    rig.collect();
    rig.machine.info().charged_bytes
}

fn seen<T: Send + 'static>(
    rig: &Rig,
    key: Key,
    see: impl FnOnce(&Inspection<'_>) -> T + Send + 'static,
) -> T {
    let (tell, told) = channel();
    let look = move |_: &Machine, seen: Inspection<'_>| {
        let _ = tell.send(see(&seen));
    };
    assert!(rig.machine.inspect(key, Box::new(look)));
    told.recv_timeout(PATIENCE).expect("looked")
}

#[test]
fn integers_of_64_bits_are_charged_with_what_they_take() {
    const N: usize = 100_000;
    let rig = rig(256 * MIB);
    let actor = rig.create("list", 1, |b| vector(b, N));
    let before = at_rest(&rig);
    rig.send(actor, integers(&[1]));
    let list = at_rest(&rig);
    // Less the vector: a cell of the list, and one of the integer.
    assert!(list + 8 * N >= before + N * 2 * 16, "{before} {list}");
    // The list is let go of.
    rig.send(actor, integers(&[1]));
    assert!(at_rest(&rig) + 8 * N <= before + MIB);
}

#[test]
fn whatever_foreign_values_are_charged_with_is_given_back() {
    let rig = rig(256 * MIB);
    let actor = rig.create("hold", 1, |b| int(b, 1));
    let before = at_rest(&rig);
    for round in 0..3 {
        let mut message = Builder::new();
        message.tuple(2 * 1_000);
        for n in 0..1_000 {
            message.foreign(Arc::new(LongBytes(vec![n as u8].into())));
            bytes(&mut message, 10_000);
        }
        rig.send(actor, message.finish());
        assert!(at_rest(&rig) >= before + 1_000 * (10_000 + 2 * CARRIED + 1));
        rig.send(actor, integers(&[round]));
        assert_eq!(at_rest(&rig), before);
    }
}

#[test]
fn a_look_at_an_actor_that_holds_much_goes_only_so_far_and_says_so() {
    const N: usize = 200_000;
    let rig = rig(256 * MIB);
    let hold = |write: fn(&mut Builder)| {
        let actor = rig.create("hold", 1, |b| int(b, 1));
        let mut message = Builder::new();
        write(&mut message);
        rig.send(actor, message.finish());
        rig.quiet();
        seen(&rig, actor, |seen| (seen.bytes as usize, seen.complete))
    };
    let list = hold(|message| {
        message.list(N);
        (0..N as i64).for_each(|n| int(message, n));
        message.empty_list();
    });
    assert!(
        list.0 >= 16 * 1_000 && list.0 < 16 * N && !list.1,
        "{list:?}"
    );
    // Of one cell what it is is known, though not what is in it.
    let wide = hold(|message| {
        message.tuple(N);
        (0..N).for_each(|_| message.empty_list());
    });
    assert_eq!(wide, (16 + 8 * N + 16, false));
    let few = hold(|message| {
        message.tuple(2);
        message.foreign(Arc::new(LongBytes([].into())));
        message.empty_list();
    });
    assert_eq!(few, (16 + 32 + 32 + CARRIED, true));
    let long = hold(|message| bytes(message, 5 * MIB));
    assert_eq!(long, (16 + 32 + CARRIED + 5 * MIB, true));
}

/// Runs two turns of which each makes 8 MB, and the garbage of the first is there when the second runs.
#[test]
fn a_turn_for_which_there_is_no_memory_runs_again_after_a_collection() {
    const N: usize = 250_000;
    let rig = rig(18 * MIB);
    for _ in 0..3 {
        let actors = [(); 2].map(|()| rig.create("list", 1, |b| vector(b, N)));
        for actor in actors {
            rig.send(actor, integers(&[1]));
            rig.machine.release(actor);
        }
        rig.quiet();
    }
    let counts = rig.machine.info().counts();
    assert_eq!((counts.aborts_no_memory, counts.becomes), (0, 6));
}

#[test]
fn a_turn_that_does_not_fit_is_aborted_after_a_collection_and_the_next_one_runs() {
    let rig = rig(18 * MIB);
    for n in [1_000_000, 1_000] {
        let actor = rig.create("list", 1, |b| vector(b, n));
        rig.send(actor, integers(&[1]));
        rig.quiet();
        rig.machine.release(actor);
    }
    let info = rig.machine.info();
    let counts = info.counts();
    assert_eq!((counts.aborts_no_memory, counts.becomes), (1, 1));
    assert!(info.gc.collections >= 1);
}
