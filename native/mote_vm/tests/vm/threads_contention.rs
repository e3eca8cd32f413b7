//! One actor that everybody wants: every sponsor's messages get their turns, in good time.

use crate::build::{becomes, is, op, send};
use crate::programs::{r, Assembler};
use crate::rig::{address, int, integers, Rig};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use std::time::Instant;

/// `pump(target)`: sends to the target, and to itself one less, until 0. `sum(count)` counts its turns.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let sum = a.behaviour_used("sum", 1);
    let pump = a.behaviour_used("pump", 1);
    let (zero, one) = (a.int(0), a.int(1));
    let code = vec![
        is(r(1), zero, 2),
        Instr::Done,
        send(r(0), r(1)),
        op(2, Primitive::Sub, [r(1), one]),
        Instr::SelfAddress { dst: 3 },
        send(r(3), r(2)),
        becomes(pump, [r(0)]),
        Instr::Done,
    ];
    a.behaviour("pump", 1, 4, code);
    let code = vec![
        op(2, Primitive::Add, [r(0), one]),
        becomes(sum, [r(2)]),
        Instr::Done,
    ];
    a.behaviour("sum", 1, 3, code);
    a.unit()
}

/// Has every sponsor pump that many messages, in that many streams, to one actor. Prints the time it took.
fn contend(sponsors: &[(&str, usize)], streams: usize, messages: i64) {
    let rig = Rig::new(sponsors, unit());
    let sum = rig.create("sum", 1, |b| int(b, 0));
    let pumps: Vec<_> = sponsors
        .iter()
        .flat_map(|(name, _)| (0..streams).map(move |_| *name))
        .map(|name| {
            let pump = rig.create_on(name, "pump", 1, |b| address(&rig.machine, b, sum));
            (name, pump)
        })
        .collect();
    let start = Instant::now();
    for (name, pump) in &pumps {
        rig.send_by(name, *pump, integers(&[messages]));
    }
    rig.quiet();
    let took = start.elapsed();
    let all = pumps.len() as i64 * messages;
    assert_eq!(rig.captures(sum), [all.to_string()]);
    let counts = rig.machine.info().counts();
    println!(
        "{sponsors:?} {streams} streams: {all} messages in {took:?}, migrations {}, forwarded {}, taken over {}",
        counts.migrations, counts.forwarded, counts.taken_over
    );
    // The actor may be chased for a while, but not for ever: usually less than one move per message.
    let moves = counts.migrations + counts.forwarded;
    assert!(
        moves <= 100 * all as u64,
        "{moves} moves for {all} messages"
    );
}

#[test]
fn an_actor_that_several_sponsors_want_serves_them_all() {
    contend(&[("a", 1), ("b", 1)], 1, 50_000);
    contend(&[("a", 1), ("b", 1)], 20, 5_000);
    contend(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)], 1, 20_000);
    contend(&[("a", 2), ("b", 2)], 20, 5_000);
    contend(&[("a", 4)], 40, 5_000);
}
