//! Machines whose order of turns a seed decides: nothing waits for ever, and nothing depends on when native code is ready.

use crate::build::{abort, call, op, ret, send, send_after};
use crate::programs::{r, Assembler};
use crate::rig::{address, foreign, integers, until, Rig, Tap, PATIENCE};
use crate::world;
use mote_vm::base::clock::ClockKind;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use std::sync::mpsc::channel;

/// `tell(tap)`: passes on. `arm(actor)`: passes on by sponsor `other`, after five milliseconds. `draw(tap)`: tells a random
/// number, behind a call that native code gives up; `fail(tap)`: draws one, and aborts.
fn unit() -> Unit {
    let mut a = Assembler::default();
    a.behaviour("tell", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    let (other, five) = (a.atom("other"), a.int(5));
    let code = vec![
        op(2, Primitive::On, vec![other, r(0)]),
        send_after(3, five, r(2), r(1)),
        Instr::Done,
    ];
    a.behaviour("arm", 1, 4, code);
    let (zero, one, oops) = (a.int(0), a.int(1), a.atom("oops"));
    // Too large for native code.
    let huge = a.function_used("huge", 1);
    let adds = (0..9_000).map(|_| op(0, Primitive::Add, vec![r(0), one]));
    let code = adds.chain([ret(r(0))]).collect();
    a.function("huge", 1, 512, code);
    let call = call(3, huge, [zero]);
    let random = op(2, Primitive::Random, vec![]);
    let code = vec![random.clone(), call, send(r(0), r(2)), Instr::Done];
    a.behaviour("draw", 1, 4, code);
    a.behaviour("fail", 1, 3, vec![random, abort(oops)]);
    a.unit()
}

/// Tests a timer by the system's clock, which is looked at when nothing else is left to do.
#[test]
fn what_is_due_by_another_sponsor_gets_there() {
    let sponsors = [("main", 1), ("other", 1)];
    let rig = Rig::seeded(ClockKind::System, &sponsors, unit());
    let heard = Tap::new();
    let told = rig.create("tell", 1, |b| b.foreign(foreign(&heard)));
    let arm = rig.create("arm", 1, |b| address(&rig.machine, b, told));
    rig.send(arm, integers(&[7]));
    // Armed, and fired: whatever comes of it is done before the machine is quiet.
    until(|| rig.turns() >= 1 && rig.machine.info().counts().timers == 0);
    rig.quiet();
    assert_eq!(heard.count(), 1);
}

/// The numbers that a turn told, of which the first is interpreted if native code is not waited for.
fn drawn(ready: bool, aborts: usize) -> Vec<String> {
    let rig = Rig::seeded(ClockKind::Manual, &[("main", 1)], unit());
    if ready {
        rig.machine.wait_for_compiler();
    }
    let (tell, told) = channel();
    let tap = Tap::with(move |message, _| tell.send(world::show(message)).unwrap());
    let [draw, fail] =
        ["draw", "fail"].map(|name| rig.create(name, 1, |b| b.foreign(foreign(&tap))));
    (0..aborts).for_each(|_| rig.send(fail, integers(&[0])));
    (0..3).for_each(|_| rig.send(draw, integers(&[0])));
    (0..3)
        .map(|_| told.recv_timeout(PATIENCE).expect("told"))
        .collect()
}

/// Native code draws, gives up, and the interpreter draws again: the same number.
#[test]
fn a_turn_that_native_code_gives_up_draws_the_same_numbers() {
    let numbers = drawn(true, 0);
    assert_eq!(drawn(false, 0), numbers);
    assert_ne!(numbers[0], numbers[1]);
    // Those of an aborted turn are used up: who tries again does not draw the same.
    assert_eq!(drawn(true, 1)[..2], numbers[1..]);
    assert_eq!(drawn(false, 1)[..2], numbers[1..]);
}
