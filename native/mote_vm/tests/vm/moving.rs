//! An actor is held between two turns, and goes on as what it was or as another: what came meanwhile comes before all that is
//! queued, in its order.

use crate::build::{becomes, cons, send};
use crate::programs::{r, Assembler};
use crate::rig::{foreign, integers, Rig, Tap, PATIENCE};
use crate::world::show;
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::machine::moving::{GoesOn, Hold, Stays};
use mote_vm::machine::BehaviourVersion;
use mote_vm::values::foreign::ForeignRef;
use mote_vm::values::handles::Key;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// `follows(tap, last)`: passes on what it gets, and keeps it. `held(was, id, holder, kept)`: keeps everything. `tells(tap)`: passes on,
/// and never becomes another.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (follows, held) = (a.behaviour_used("follows", 2), a.behaviour_used("held", 4));
    let no = a.atom("false");
    let send = |message| send(r(0), message);
    let code = vec![send(r(2)), becomes(follows, vec![r(0), r(2)]), Instr::Done];
    a.behaviour("follows", 2, 3, code);
    let code = vec![
        Instr::Unstash { kept: r(3) },
        cons(5, r(4), r(3)),
        becomes(held, vec![r(0), r(1), r(2), r(5)]),
        Instr::Unstash { kept: no },
        Instr::Done,
    ];
    a.behaviour("held", 4, 6, code);
    a.safe("tells", 1, 2, vec![send(r(1)), Instr::Done]);
    a.unit()
}

type Heard = Arc<Mutex<Vec<String>>>;

fn tap() -> (Heard, ForeignRef) {
    let heard = Heard::default();
    let to = heard.clone();
    let tap = Tap::with(move |message, _| to.lock().unwrap().push(show(message)));
    (heard, foreign(&tap))
}

fn version(rig: &Rig, name: &str, captures: usize) -> BehaviourVersion {
    let found = rig
        .machine
        .behaviour(Atom::new("Test"), Atom::new(name), captures);
    found.expect("known").0
}

/// The number under which actors are held here.
const HOLDER: u32 = u32::MAX;

fn how(rig: &Rig, holder: u32) -> Hold {
    let held = version(rig, "held", 4);
    Hold { held, holder }
}

/// Returns the actor's captures, or why it stays. It is held if `take` says so.
fn hold(rig: &Rig, key: Key, take: bool) -> Result<Vec<String>, Stays> {
    let (tell, told) = channel();
    let look = move |_: &_, seen: Result<mote_vm::machine::Inspection<'_>, Stays>| {
        let was = seen.map(|seen| seen.captures.into_iter().map(show).collect());
        let _ = tell.send(was);
        take
    };
    assert!(rig
        .machine
        .hold_still(key, how(rig, HOLDER), Box::new(look)));
    told.recv_timeout(PATIENCE).expect("looked")
}

fn go_on(rig: &Rig, key: Key, next: GoesOn) -> Result<(), Stays> {
    go_on_held_by(rig, HOLDER, key, next)
}

fn go_on_held_by(rig: &Rig, holder: u32, key: Key, next: GoesOn) -> Result<(), Stays> {
    let (tell, told) = channel();
    let hear = move |_: &_, gone| {
        let _ = tell.send(gone);
    };
    assert!(rig
        .machine
        .go_on(key, how(rig, holder), next, Box::new(hear)));
    told.recv_timeout(PATIENCE).expect("told")
}

fn follower(rig: &Rig, tap: &ForeignRef) -> Key {
    rig.create("follows", 2, |b| {
        b.foreign(tap.clone());
        let _ = b.integer(0);
    })
}

fn texts(numbers: std::ops::RangeInclusive<i64>) -> Vec<String> {
    numbers.map(|n| n.to_string()).collect()
}

#[test]
fn what_comes_while_an_actor_is_held_is_done_when_it_goes_back() {
    for threads in [1, 2] {
        let rig = Rig::new(&[("main", threads)], unit());
        let (heard, foreign) = tap();
        let key = follower(&rig, &foreign);
        (1..=100).for_each(|n| rig.send(key, integers(&[n])));
        let was = hold(&rig, key, true).expect("held");
        assert_eq!(was.len(), 2);
        (101..=200).for_each(|n| rig.send(key, integers(&[n])));
        rig.quiet();
        assert!(heard.lock().unwrap().len() <= 100);
        assert_eq!(rig.captures(key).len(), 4);
        assert_eq!(hold(&rig, key, true), Err(Stays::Held));
        let other = go_on_held_by(&rig, HOLDER - 1, key, GoesOn::Back);
        assert_eq!(other, Err(Stays::NotHeld));
        assert_eq!(go_on(&rig, key, GoesOn::Back), Ok(()));
        (201..=300).for_each(|n| rig.send(key, integers(&[n])));
        rig.quiet();
        assert_eq!(*heard.lock().unwrap(), texts(1..=300));
        assert_eq!(rig.captures(key)[1], "300");
    }
}

#[test]
fn it_goes_on_as_another_that_gets_what_came_meanwhile() {
    let rig = Rig::new(&[("main", 1), ("other", 1)], unit());
    let ((old, one), (new, two)) = (tap(), tap());
    let key = follower(&rig, &one);
    hold(&rig, key, true).expect("held");
    (1..=50).for_each(|n| rig.send_by("other", key, integers(&[n])));
    let mut captures = Builder::new();
    captures.tuple(2);
    captures.foreign(two);
    let _ = captures.integer(7);
    let next = GoesOn::As(version(&rig, "follows", 2), captures.finish());
    assert_eq!(go_on(&rig, key, next), Ok(()));
    rig.quiet();
    assert_eq!(*new.lock().unwrap(), texts(1..=50));
    assert!(old.lock().unwrap().is_empty());
}

#[test]
fn who_is_not_held_is_what_it_was() {
    let rig = Rig::new(&[("main", 1)], unit());
    let (heard, foreign) = tap();
    let key = follower(&rig, &foreign);
    // Nobody takes what it was.
    hold(&rig, key, false).expect("shown");
    assert_eq!(go_on(&rig, key, GoesOn::Back), Err(Stays::NotHeld));
    let safe = rig.create("tells", 1, |b| b.foreign(foreign.clone()));
    assert_eq!(hold(&rig, safe, true), Err(Stays::Safe));
    for key in [key, safe] {
        rig.send(key, integers(&[1]));
    }
    rig.quiet();
    assert_eq!(*heard.lock().unwrap(), ["1", "1"]);
}
