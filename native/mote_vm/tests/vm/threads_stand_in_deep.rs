//! How much a caller does that stands in for a thread: turns of thousands of steps, and calls as deep as its stack has room for. What
//! is more is the thread's, and ends as it would have ended there from the beginning.
// Elsewhere it is not known how much stack a caller has, and the thread is woken.
#![cfg(all(any(target_os = "linux", target_vendor = "apple"), not(mote_portable)))]

use crate::build::{call, is, op, ret, send, tuple};
use crate::compiler::compiler;
use crate::programs::{r, Assembler};
use crate::rig::{self, foreign, integers, stressed, until, Rig, Tap, PATIENCE};
use crate::world;
use mote_vm::base::clock::ClockKind;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::native::MAX_DEPTH;
use mote_vm::terms::prim::primitive::Primitive;
use std::sync::mpsc::channel;
use std::thread::{Builder, ThreadId};

/// Number of arguments of `wide`. They take most of the largest frame that there may be.
const WIDTH: u16 = 150;

/// `wide(n, 1, 1, …)` calls itself `n` times, each call within the one before, and answers `n`. It keeps all of its arguments meanwhile.
fn wide(a: &mut Assembler) -> u32 {
    let wide = a.function_used("wide", u32::from(WIDTH));
    let zero = a.int(0);
    let (answer, all) = (WIDTH, WIDTH + 1);
    let mut args: Vec<_> = (0..WIDTH).map(r).collect();
    let kept = tuple(all, args.clone());
    args[0] = r(answer);
    let code = vec![
        is(r(0), zero, 2),
        ret(zero),
        op(answer, Primitive::Sub, [r(0), r(1)]),
        call(answer, wide, args),
        kept,
        op(all, Primitive::Elem, [r(all), r(1)]),
        op(answer, Primitive::Add, [r(answer), r(all)]),
        ret(r(answer)),
    ];
    a.function("wide", u32::from(WIDTH), WIDTH + 2, code);
    wide
}

/// `work(tap)`: works as many steps. `dig(tap)`: makes as many calls, each within the one before. Both tell the
/// tap how many.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (spin, wide) = (rig::spin(&mut a), wide(&mut a));
    let one = a.int(1);
    let send = |message| send(r(0), message);
    let code = vec![call(2, spin, vec![r(1)]), send(r(1)), Instr::Done];
    a.behaviour("work", 1, 3, code);
    let mut args = vec![one; usize::from(WIDTH)];
    args[0] = r(1);
    let code = vec![call(2, wide, args), send(r(2)), Instr::Done];
    a.behaviour("dig", 1, 3, code);
    a.unit()
}

/// A machine whose thread runs native code, if there is any, and sleeps.
fn rig() -> Rig {
    let rig = Rig::collects_when_asked(ClockKind::System, &[("main", 1)], unit());
    rig.machine.wait_for_compiler();
    assert_eq!(rig.machine.info().native.refused, 0);
    rig
}

/// Asks for `n` from a thread with such a stack. Returns what the behaviour tells, and whether that thread has run it.
fn asked(rig: &Rig, name: &str, stack: usize, n: i64) -> (String, bool) {
    let (tell, told) = channel::<(String, ThreadId)>();
    let tap = Tap::with(move |message, _| {
        let _ = tell.send((world::show(message), std::thread::current().id()));
    });
    let actor = rig.create(name, 1, |b| b.foreign(foreign(&tap)));
    // It is counted as asleep a moment before anybody can stand in for it; after that moment the machine is quiet.
    until(|| {
        let sponsor = &rig.machine.info().sponsors[0];
        sponsor.asleep == 1 && sponsor.threads[0].parks > 0 && rig.machine.is_quiet()
    });
    let ask = move || {
        let request = integers(&[n]);
        let sent = rig.machine.ask(actor, None, request, &|| true);
        sent.expect("room");
        let (answer, by) = told.recv_timeout(PATIENCE).expect("told");
        (answer, by == std::thread::current().id())
    };
    std::thread::scope(|scope| {
        let caller = Builder::new().stack_size(stack).spawn_scoped(scope, ask);
        caller.expect("starts").join().expect("asks")
    })
}

const STACK: usize = 1 << 20;

#[test]
fn thousands_of_steps_are_the_callers_and_more_are_the_threads() {
    if stressed() {
        // A sleeper that collects is not stood in for.
        return;
    }
    let rig = rig();
    let most = if cfg!(miri) { 600 } else { 12_000 };
    for (n, is_callers) in [(300, true), (most, true), (20_000, false)] {
        let answer = asked(&rig, "work", STACK, n);
        assert_eq!(answer, (n.to_string(), is_callers));
    }
    let counts = rig.threads("main")[0];
    assert_eq!(
        (counts.turns, counts.stand_ins, counts.aborts_fuel),
        (3, 3, 0)
    );
}

/// Checks how deep calls nest. Where the interpreter makes the calls, none takes stack.
#[test]
fn calls_nest_as_deep_as_the_callers_stack_has_room_for() {
    if stressed() || cfg!(miri) {
        // Miri's interpreter has room for few calls.
        return;
    }
    let rig = rig();
    let is_native = compiler().is_some();
    let (small, large) = (STACK, 4 * STACK);
    for (stack, n, is_callers) in [
        (small, 100, true),
        (small, 1_000, !is_native),
        (large, 600, true),
        (large, 2_000, !is_native),
    ] {
        let answer = asked(&rig, "dig", stack, n);
        assert_eq!(answer, (n.to_string(), is_callers));
    }
    let counts = rig.threads("main")[0];
    assert_eq!(
        (counts.turns, counts.stand_ins, counts.aborts_stack),
        (4, 4, 0)
    );
}

#[test]
fn a_stack_with_hardly_any_room_is_left_alone() {
    let rig = rig();
    // Less than a fourth: glibc gives a thread the stack of one that has ended, if that is at most four times as large.
    assert_eq!(asked(&rig, "work", STACK / 8, 1), ("1".to_string(), false));
    assert_eq!(rig.threads("main")[0].stand_ins, 0);
}

#[test]
fn calls_that_no_thread_has_room_for_abort_the_turn_that_a_caller_has_begun() {
    if cfg!(miri) {
        return;
    }
    let rig = rig();
    let tap = Tap::new();
    let dig = rig.create("dig", 1, |b| b.foreign(foreign(&tap)));
    rig.quiet();
    let too_deep = integers(&[MAX_DEPTH as i64]);
    let sent = rig.machine.ask(dig, None, too_deep, &|| false);
    sent.expect("room");
    rig.quiet();
    assert_eq!((tap.count(), rig.threads("main")[0].aborts_stack), (0, 1));
    let aborts = &rig.world.lock().unwrap().aborts;
    let told = aborts.recv_timeout(PATIENCE).expect("told");
    assert!(told.contains("stack"), "{told}");
}
