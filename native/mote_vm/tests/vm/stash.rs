//! What an actor has kept is put before all that is queued when it becomes, in the order in which it came; not when the turn is
//! aborted, and not when the last become says that it stays.

use crate::build::op;
use crate::programs::{r, Assembler};
use crate::rig::{address, foreign, integers, Rig, Tap};
use crate::world::show;
use mote_vm::base::clock::ClockKind;
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
    let become_tells = Instr::Become {
        behaviour: tells,
        captures: vec![r(0)],
    };
    let branch = |condition, label| Instr::Branch { condition, label };
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
        Instr::Abort { reason: oops },
        Instr::Cons {
            dst: 4,
            head: r(2),
            tail: r(1),
        },
        Instr::Become {
            behaviour: keeps,
            captures: vec![r(0), r(4)],
        },
        unstash(no),
        Instr::Done,
    ];
    a.behaviour("keeps", 2, 5, code);
    let send = Instr::Send {
        target: r(0),
        message: r(1),
    };
    a.behaviour("tells", 1, 2, vec![send, Instr::Done]);
    let mut code: Vec<Instr> = Vec::new();
    for n in BURST {
        let message = a.int(n);
        code.push(Instr::Send {
            target: r(0),
            message,
        });
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

/// Whatever of what waits is next, what was kept comes first.
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
