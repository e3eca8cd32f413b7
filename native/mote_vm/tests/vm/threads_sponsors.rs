//! Activity stays in its sponsor, and what brings it elsewhere: `sendx`, pinned actors, `on` references. A
//! sponsor with one thread is first in, first out.

use crate::build::{becomes, create, is, jump, match_tuple, op, send, sendx};
use crate::programs::{r, Assembler};
use crate::rig::{self, address, foreign, int, integers, Rig, Tap};
use crate::world::show;
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::handles::Key;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// `count(to, how)`: counts a number down to 0 by sending it to `to`; `how` is `plain`, `east` or `west` (by
/// `sendx`). `again(tap)`: the same to itself. `fan(tap)`: numbers above 0 make two new ones of half as much.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (zero, one, two) = (a.int(0), a.int(1), a.int(2));
    let plain = a.atom("plain");
    let fan = a.behaviour_used("fan", 1);
    let same = is;
    // A link to the next one comes as {address}.
    let count = a.behaviour_used("count", 2);
    let code = vec![
        match_tuple(r(2), 1, 3, 3),
        becomes(count, [r(3), r(1)]),
        Instr::Done,
        same(r(2), zero, 5),
        Instr::Done,
        op(3, Primitive::Sub, [r(2), one]),
        same(r(1), plain, 9),
        send(r(0), r(3)),
        jump(10),
        sendx(r(1), r(0), r(3)),
        becomes(count, [r(0), r(1)]),
        Instr::Done,
    ];
    a.behaviour("count", 2, 4, code);
    let code = vec![
        same(r(1), zero, 3),
        send(r(0), r(1)),
        Instr::Done,
        send(r(0), r(1)),
        op(2, Primitive::Idiv, [r(1), two]),
        create(3, fan, [r(0)]),
        send(r(3), r(2)),
        Instr::SelfAddress { dst: 4 },
        send(r(4), r(2)),
        Instr::Done,
    ];
    a.behaviour("fan", 1, 5, code);
    a.unit()
}

fn two() -> Rig {
    Rig::new(&[("east", 1), ("west", 1)], unit())
}

/// Two counters that know each other; each may be pinned.
fn counters(rig: &Rig, how: [&str; 2], pinned: [Option<&str>; 2]) -> [Key; 2] {
    let make = |n: usize| {
        rig::create(&rig.machine, "count", 2, pinned[n], |b| {
            b.empty_list();
            b.atom(Atom::new(how[n]));
        })
    };
    let keys = [make(0), make(1)];
    for (key, other) in [(0, 1), (1, 0)] {
        let mut link = Builder::new();
        link.tuple(1);
        address(&rig.machine, &mut link, keys[other]);
        rig.send(keys[key], link.finish());
    }
    rig.quiet();
    keys
}

/// Turns of each sponsor for counting down from 1000 with the first of these counters.
fn turns(rig: &Rig, keys: [Key; 2], by: &str) -> [u64; 2] {
    let read = || ["east", "west"].map(|name| rig.threads(name).iter().map(|t| t.turns).sum());
    let before: [u64; 2] = read();
    rig.send_by(by, keys[0], integers(&[1000]));
    rig.quiet();
    let after = read();
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn activity_stays_where_it_was_sent() {
    let rig = two();
    let keys = counters(&rig, ["plain", "plain"], [None, None]);
    for by in ["east", "west", "east"] {
        let expected = if by == "east" { [1001, 0] } else { [0, 1001] };
        assert_eq!(turns(&rig, keys, by), expected);
    }
}

#[test]
fn sendx_moves_the_cascade_and_back() {
    let rig = two();
    // The first one sends to the west, the second one back to the east.
    let keys = counters(&rig, ["west", "east"], [None, None]);
    assert_eq!(turns(&rig, keys, "east"), [501, 500]);
    // To an unknown sponsor: dropped, counted, not sent.
    let lost = counters(&rig, ["nowhere", "plain"], [None, None]);
    let before = rig.machine.info().counts();
    assert_eq!(turns(&rig, lost, "east"), [1, 0]);
    let after = rig.machine.info().counts();
    assert_eq!(after.dropped - before.dropped, 1);
    assert_eq!(after.sends, before.sends);
}

#[test]
fn pinned_actors_run_on_their_sponsor_whoever_sends() {
    let rig = two();
    let keys = counters(&rig, ["plain", "plain"], [Some("east"), Some("west")]);
    for by in ["east", "west"] {
        assert_eq!(turns(&rig, keys, by), [501, 500]);
    }
    // Not even sendx moves them.
    let keys = counters(&rig, ["east", "west"], [Some("west"), Some("west")]);
    assert_eq!(turns(&rig, keys, "east"), [0, 1001]);
    // What sends to itself stays with the pinned one, and brings the other along.
    let keys = counters(&rig, ["plain", "plain"], [Some("west"), None]);
    assert_eq!(turns(&rig, keys, "east"), [0, 1001]);
}

#[test]
fn pinned_actors_stay_on_a_sponsor_of_several_threads() {
    let rig = Rig::new(&[("east", 2), ("west", 3)], unit());
    let keys = counters(&rig, ["plain", "plain"], [Some("east"), Some("west")]);
    for by in ["east", "west", "east"] {
        assert_eq!(turns(&rig, keys, by), [501, 500]);
    }
}

#[test]
fn a_reference_carries_its_sponsor() {
    let rig = two();
    let [first, second] = counters(&rig, ["plain", "plain"], [None, None]);
    let mut link = Builder::new();
    link.tuple(1);
    link.on();
    link.atom(Atom::new("west"));
    address(&rig.machine, &mut link, second);
    rig.send(first, link.finish());
    rig.quiet();
    // By the reference the cascade goes west, and nothing brings it back.
    assert_eq!(turns(&rig, [first, second], "east"), [1, 1000]);
    assert_eq!(turns(&rig, [first, second], "west"), [0, 1001]);
}

#[test]
fn one_thread_is_first_in_first_out() {
    // The order that a queue gives, walked by hand: a fan tells its number, then a new one and itself get half.
    let mut queue = std::collections::VecDeque::from([200, 77]);
    let mut expected = Vec::new();
    while let Some(n) = queue.pop_front() {
        expected.push(n.to_string());
        if n > 0 {
            queue.extend([n / 2, n / 2]);
        }
    }
    for _ in 0..3 {
        let rig = Rig::new(&[("main", 1), ("idle", 2)], unit());
        let trace = Arc::new(Mutex::new(Vec::new()));
        let t = trace.clone();
        let tap = Tap::with(move |message, _| t.lock().unwrap().push(show(message)));
        let fan = rig.create("fan", 1, |b| b.foreign(foreign(&tap)));
        // Holds the thread until both numbers are in the inbox.
        let go = Arc::new(AtomicBool::new(false));
        let g = go.clone();
        let held = Tap::with(move |_, _| rig::until(|| g.load(SeqCst)));
        let gate = rig.create("count", 2, |b| {
            b.foreign(foreign(&held));
            b.atom(Atom::new("plain"));
        });
        rig.send(gate, integers(&[1]));
        for n in [200, 77] {
            let mut b = Builder::new();
            int(&mut b, n);
            rig.send(fan, b.finish());
        }
        go.store(true, SeqCst);
        rig.quiet();
        assert!(*trace.lock().unwrap() == expected, "another order");
    }
}
