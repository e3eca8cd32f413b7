//! What no program can make last: finding keys that are large, and compiling and loading code that is.

use crate::build::{call, is, op, ret, send, tail, tuple};
use crate::programs::{r, Assembler};
use crate::rig::{foreign, integers, Rig, Tap, PATIENCE};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::machine::Tier;
use mote_vm::terms::prim::primitive::Primitive;

/// A behaviour that looks `n` times for a key that written out has 2^40 elements.
fn keys() -> Unit {
    let mut a = Assembler::default();
    let (zero, one, forty) = (a.int(0), a.int(1), a.int(40));
    let tree = a.function_used("tree", 2);
    let look = a.function_used("look", 3);
    let end = is(r(0), zero, 2);
    let less = |dst| op(dst, Primitive::Sub, vec![r(0), one]);
    let code = vec![
        end.clone(),
        ret(r(1)),
        less(2),
        tuple(3, [r(1), r(1)]),
        tail(tree, [r(2), r(3)]),
    ];
    a.function("tree", 2, 4, code);
    let code = vec![
        end,
        ret(zero),
        less(3),
        op(4, Primitive::MapGet, vec![r(1), r(2), zero]),
        tail(look, [r(3), r(1), r(2)]),
    ];
    a.function("look", 3, 5, code);
    let code = vec![
        call(1, tree, vec![forty, zero]),
        call(2, tree, vec![forty, zero]),
        tuple(3, [r(1), one]),
        op(4, Primitive::MapOf, vec![r(3)]),
        call(5, look, vec![r(0), r(4), r(2)]),
        Instr::Done,
    ];
    a.behaviour("keys", 0, 6, code);
    a.unit()
}

#[test]
fn large_keys_are_paid_for() {
    let rig = Rig::new(&[("main", 1)], keys());
    for _ in 0..2 {
        let actor = rig.create("keys", 0, |_| ());
        rig.send(actor, integers(&[1_000_000]));
        let aborted = rig.world.lock().unwrap().aborts.recv_timeout(PATIENCE);
        assert_eq!(aborted.unwrap(), "keys :fuel");
        // Once more as native code.
        rig.machine.wait_for_compiler();
    }
}

/// A behaviour with five hundred values at once.
fn wide() -> Unit {
    let mut a = Assembler::default();
    let registers = 500u16;
    let mut code: Vec<Instr> = (2..registers)
        .map(|d| op(d, Primitive::Mul, vec![r(1), a.int(d.into())]))
        .collect();
    for start in [2, 252] {
        code.push(tuple(501, (start..start + 248).map(r).collect::<Vec<_>>()));
        code.push(send(r(0), r(501)));
    }
    code.push(Instr::Done);
    a.behaviour("wide", 1, 502, code);
    a.behaviour("small", 0, 1, vec![Instr::Done]);
    a.unit()
}

#[test]
fn what_keeps_too_much_is_left_to_the_interpreter() {
    let rig = Rig::new(&[("main", 1)], wide());
    rig.machine.wait_for_compiler();
    let native = rig.machine.info().native;
    if native.tier == Tier::Native {
        assert_eq!((native.compiled, native.refused), (1, 1));
        assert!(native.code_bytes < 1 << 14);
    }
    let tap = Tap::new();
    let actor = rig.create("wide", 1, |b| b.foreign(foreign(&tap)));
    rig.send(actor, integers(&[2]));
    rig.quiet();
    assert_eq!(tap.count(), 2);
}

/// `keep(n)` keeps `values` while it calls itself, and calls a function of so many `arguments` last.
fn keeping(values: u16, arguments: u16) -> Unit {
    let mut a = Assembler::default();
    let zero = a.int(0);
    let keep = a.function_used("keep", 1);
    let last = a.function_used("last", arguments.into());
    let (first, less, all) = (1, values + 1, values + 2);
    let mut code = vec![is(r(0), zero, 2), tail(last, vec![r(0); arguments.into()])];
    code.extend((first..less).map(|dst| tuple(dst, [r(0)])));
    code.extend([
        op(less, Primitive::Sub, vec![r(0), a.int(1)]),
        call(all, keep, vec![r(less)]),
    ]);
    // Of what a tuple may have.
    for start in (first..less).step_by(200) {
        let kept = (start..less.min(start + 200)).map(r);
        code.push(tuple(all, kept.chain([r(all)]).collect::<Vec<_>>()));
    }
    code.push(ret(r(all)));
    a.function("keep", 1, all + 1, code);
    let code = vec![ret(r(0))];
    a.function("last", arguments.into(), arguments, code);
    a.unit()
}

#[test]
fn room_for_the_arguments_of_what_is_called_last_is_part_of_a_frame() {
    let is_refused = |values, arguments| {
        let rig = Rig::new(&[("main", 1)], keeping(values, arguments));
        rig.machine.wait_for_compiler();
        rig.machine.info().native.refused > 0
    };
    if Rig::new(&[("main", 1)], keeping(1, 1))
        .machine
        .info()
        .native
        .tier
        != Tier::Native
    {
        return;
    }
    // Some number of values leaves room for one argument, and not for that many.
    let values = [230, 240, 250, 260];
    let is_found = values
        .iter()
        .any(|v| !is_refused(*v, 1) && is_refused(*v, 250));
    assert!(is_found);
}
