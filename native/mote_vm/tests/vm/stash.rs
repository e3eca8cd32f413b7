//! What an actor has kept is put before all that is queued when it becomes, in the order in which it came; not when the turn is
//! aborted, and not when the last become says that it stays.

use crate::build::{abort, becomes, branch, cons, op, send};
use crate::encode::encode;
use crate::programs::{r, Assembler};
use crate::rig::{address, foreign, integers, Rig, Tap};
use crate::world::show;
use mote_vm::base::clock::ClockKind;
use mote_vm::base::counters::Counts;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use std::sync::{Arc, Mutex};

const OPENS: i64 = -1;
const FAILS: i64 = -2;
const BURST: [i64; 8] = [1, 2, FAILS, 3, OPENS, 4, 5, 6];

/// `keeps(tap, kept)`: keeps what it gets, until -1 makes it `tells(tap)`, which passes on; -2 would, but aborts.
/// `bursts(actor)`: sends it all of `BURST` in one turn.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (keeps, tells) = (a.behaviour_used("keeps", 2), a.behaviour_used("tells", 1));
    let (opens, fails) = (a.int(OPENS), a.int(FAILS));
    let (yes, no, oops) = (a.atom("true"), a.atom("false"), a.atom("oops"));
    let unstash = |kept| Instr::Unstash { kept };
    let become_tells = becomes(tells, [r(0)]);
    let code = vec![
        unstash(r(1)),
        op(3, Primitive::Same, vec![r(2), opens]),
        branch(r(3), 6),
        become_tells.clone(),
        unstash(yes),
        Instr::Done,
        op(3, Primitive::Same, vec![r(2), fails]),
        branch(r(3), 10),
        become_tells,
        abort(oops),
        cons(4, r(2), r(1)),
        becomes(keeps, [r(0), r(4)]),
        unstash(no),
        Instr::Done,
    ];
    a.behaviour("keeps", 2, 5, code);
    a.behaviour("tells", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    let mut code: Vec<Instr> = Vec::new();
    for n in BURST {
        let message = a.int(n);
        code.push(send(r(0), message));
    }
    code.push(Instr::Done);
    a.behaviour("bursts", 1, 2, code);
    a.unit()
}

fn hears(rig: &Rig, kept: i64) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let tap = Tap::with(move |message, _| to.lock().unwrap().push(show(message)));
    let actor = rig.create("keeps", 2, |b| {
        b.foreign(foreign(&tap));
        b.empty_list();
    });
    let all = (1..=kept)
        .chain([FAILS, OPENS])
        .chain(kept + 1..=kept + 100);
    all.for_each(|n| rig.send(actor, integers(&[n])));
    rig.quiet();
    let expected: Vec<String> = (1..=kept + 100).map(|n| n.to_string()).collect();
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[test]
fn what_is_kept_comes_before_what_waits() {
    for kept in [0, 1, 100, 3_000] {
        hears(&Rig::new(&[("main", 1)], unit()), kept);
    }
}

#[test]
fn on_several_threads_too() {
    let rig = Rig::new(&[("main", 3)], unit());
    (0..20).for_each(|n| hears(&rig, 10 * n));
}

/// Checks that kept messages come first, whatever waiting work is next.
#[test]
fn in_any_order_of_turns() {
    let rig = Rig::seeded(ClockKind::Manual, &[("main", 3)], unit());
    for _ in 0..100 {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        let tap = Tap::with(move |message, _| to.lock().unwrap().push(show(message)));
        let actor = rig.create("keeps", 2, |b| {
            b.foreign(foreign(&tap));
            b.empty_list();
        });
        let bursts = rig.create("bursts", 1, |b| address(&rig.machine, b, actor));
        rig.send(bursts, integers(&[0]));
        rig.quiet();
        assert_eq!(*heard.lock().unwrap(), ["1", "2", "3", "4", "5", "6"]);
    }
}

/// Messages that come at once; of each the double comes as well.
const CROWD: i64 = 400;

/// `serves(tap)`: passes on what it gets, and unless that is a third of something, sends itself -1 and waits for it.
/// `waits(tap, kept)`: keeps what it gets, until -1 makes it `serves(tap)`, which leaves that behind as `leaves` says.
/// `crowds(actor)`: sends it all of 1 to `CROWD` twice, in one turn.
fn serves(leaves: &str) -> Unit {
    let mut a = Assembler::default();
    let (serves, waits) = (a.behaviour_used("serves", 1), a.behaviour_used("waits", 2));
    let (opens, three, zero, nil) = (a.int(OPENS), a.int(3), a.int(0), a.integers(&[]));
    let (leaves, no) = (a.atom(leaves), a.atom("false"));
    let unstash = |kept| Instr::Unstash { kept };
    let code = vec![
        send(r(0), r(1)),
        op(2, Primitive::Irem, vec![r(1), three]),
        op(2, Primitive::Differ, vec![r(2), zero]),
        branch(r(2), 7),
        Instr::SelfAddress { dst: 3 },
        send(r(3), opens),
        becomes(waits, vec![r(0), nil]),
        Instr::Done,
    ];
    a.behaviour("serves", 1, 4, code);
    let code = vec![
        unstash(r(1)),
        op(3, Primitive::Same, vec![r(2), opens]),
        branch(r(3), 6),
        becomes(serves, vec![r(0)]),
        unstash(leaves),
        Instr::Done,
        cons(4, r(2), r(1)),
        becomes(waits, vec![r(0), r(4)]),
        unstash(no),
        Instr::Done,
    ];
    a.behaviour("waits", 2, 5, code);
    let mut code: Vec<Instr> = Vec::new();
    for n in (1..=CROWD).flat_map(|n| [n, n]) {
        let message = a.int(n);
        code.push(send(r(0), message));
    }
    code.push(Instr::Done);
    a.behaviour("crowds", 1, 2, code);
    a.unit()
}

/// Sends a crowd of messages to `serves` on a rig. Returns the counters of its threads.
fn crowded(rig: &Rig) -> Counts {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let tap = Tap::with(move |message, _| to.lock().unwrap().push(show(message)));
    let serves = rig.create("serves", 1, |b| b.foreign(foreign(&tap)));
    let crowds = rig.create("crowds", 1, |b| address(&rig.machine, b, serves));
    rig.send(crowds, integers(&[0]));
    rig.quiet();
    let expected = (1..=CROWD).flat_map(|n| [n, n]).map(|n| n.to_string());
    assert_eq!(*heard.lock().unwrap(), expected.collect::<Vec<_>>());
    rig.machine.info().counts()
}

/// Most of what is stashed again runs no code for that, and all of it counts as if it had.
#[test]
fn what_is_kept_again_counts_as_turns() {
    let [each, again] =
        ["true", "again"].map(|leaves| crowded(&Rig::new(&[("main", 1)], serves(leaves))));
    assert_eq!(
        (again.turns, again.becomes, again.sends),
        (each.turns, each.becomes, each.sends)
    );
    assert!(each.turns > 100 * CROWD as u64);
    // Of the machines that have no native code.
    assert!(again.interpreted < each.turns / 4, "{again:?}");
}

/// An older version may have stashed what a newer one would not.
#[test]
fn a_newer_version_looks_at_all_of_it_again() {
    let rig = Rig::new(&[("main", 1)], serves("true"));
    rig.machine
        .load(&encode(&serves("again")), &|_, _| None)
        .expect("loads");
    let again = crowded(&rig);
    assert!(again.interpreted == again.turns || again.interpreted < 100);
}

#[test]
fn what_is_kept_again_keeps_its_order() {
    crowded(&Rig::new(&[("main", 3)], serves("again")));
    crowded(&Rig::seeded(
        ClockKind::Manual,
        &[("main", 3)],
        serves("again"),
    ));
}
