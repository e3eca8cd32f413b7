//! Sponsors come and go while work is running, and nothing is lost.

use crate::build::{abort, send_after};
use crate::graph::{self, next, token_message, Graph};
use crate::programs;
use crate::rig::{self, foreign, integers, long, until, Finally, Rig, Tap};
use crate::world::sponsor;
use mote_vm::base::atom::Atom;
use mote_vm::machine::{RemoveError, StartError};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Tokens walk the graph while `west` comes and goes: each is spent, or dropped for want of a `west`.
fn churn(main: usize, west: usize, pinned: bool, seed: i64) {
    let rig = Rig::new(
        &[("main", main), ("west", west)],
        graph::unit(["main", "west"], false),
    );
    let graph = Graph::random(24, seed);
    let tap = Tap::new();
    let keys = graph.build(&rig, &tap, pinned.then_some("west"));
    let ended = AtomicBool::new(false);
    let mut removals = 0;
    let tokens = 600;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ended = Finally(|| ended.store(true, SeqCst));
            let mut random = seed;
            for n in 0..tokens {
                random = next(random);
                let at = (random >> 9) as usize % graph.len();
                let by = if n % 2 == 0 { "main" } else { "west" };
                rig.send_by(by, keys[at], token_message(30, random));
                if n % 50 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            rig.quiet();
        });
        while !ended.load(SeqCst) {
            assert!(rig.machine.remove_sponsor(Atom::new("west")).is_ok());
            std::thread::sleep(Duration::from_micros(300));
            rig.machine
                .add_sponsor(&sponsor("west", west))
                .expect("added");
            std::thread::sleep(Duration::from_millis(1));
            removals += 1;
        }
    });
    let counts = rig.machine.info().counts();
    assert_eq!(tap.count() + counts.dropped, tokens);
    assert!(tap.count() > 0);
    assert_eq!(counts.foreign_out, tap.count());
    let within = counts.sends - counts.foreign_out;
    assert_eq!(
        counts.turns,
        within + counts.foreign_in,
        "{removals} removals"
    );
    assert_eq!((counts.ignored, counts.aborts_match), (0, 0));
}

#[test]
fn nothing_is_lost_while_a_sponsor_comes_and_goes() {
    for round in 0..if long() { 100 } else { 4 } {
        churn(1, 1, false, 11 + round);
        churn(2, 2, false, 1011 + round);
        churn(2, 2, true, 2011 + round);
    }
}

#[test]
fn the_first_and_unknown_ones_cannot_be_removed() {
    let rig = Rig::new(
        &[("main", 2), ("west", 1)],
        graph::unit(["main", "west"], false),
    );
    let remove = |name| {
        rig.machine
            .remove_sponsor(Atom::new(name))
            .map(|done| done.threads.len())
    };
    assert_eq!(remove("main"), Err(RemoveError::First));
    assert_eq!(remove("nobody"), Err(RemoveError::Unknown));
    assert_eq!(remove("west"), Ok(1));
    assert_eq!(remove("west"), Err(RemoveError::Unknown));
    rig.machine.add_sponsor(&sponsor("west", 3)).expect("again");
    let exists = rig.machine.add_sponsor(&sponsor("west", 1));
    assert!(matches!(exists, Err(StartError::Exists)));
    assert_eq!(rig.threads("west").len(), 3);
    rig.machine.stop();
    let stopped = rig.machine.add_sponsor(&sponsor("south", 1));
    assert!(matches!(stopped, Err(StartError::Stopped)));
}

#[test]
fn names_and_numbers_can_be_used_again_for_ever() {
    let rig = Rig::new(&[("main", 1)], graph::unit(["main", "west"], false));
    for round in 0..300 {
        let threads = 1 + round % 3;
        rig.machine
            .add_sponsor(&sponsor("west", threads))
            .expect("added");
        assert!(rig.machine.sponsor(Atom::new("west")).is_some());
        assert!(rig.machine.add_sponsor(&sponsor("west", 2)).is_err());
        rig.machine
            .remove_sponsor(Atom::new("west"))
            .expect("removed");
    }
    rig.quiet();
    assert_eq!(rig.machine.info().sponsors.len(), 1);
}

#[test]
fn two_who_add_and_remove_the_same_one_do_not_disturb_each_other() {
    let rig = Rig::new(&[("main", 1)], graph::unit(["main", "west"], false));
    let tap = Tap::new();
    let once = rig.create("node", 4, |b| {
        b.foreign(foreign(&tap));
        b.empty_list();
        rig::int(b, 0);
        rig::int(b, 0);
    });
    let rounds = if long() { 5_000 } else { 200 };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let _ = rig.machine.add_sponsor(&sponsor("west", 2));
                    rig.send_by("west", once, token_message(0, 1));
                    let _ = rig.machine.remove_sponsor(Atom::new("west"));
                }
            });
        }
    });
    rig.quiet();
    assert_eq!(tap.count(), 3 * rounds as u64);
    assert_eq!(rig.captures(once)[2], (3 * rounds).to_string());
}

#[test]
fn what_they_have_done_is_counted_while_they_go_as_well() {
    let rig = Rig::new(&[("main", 1)], graph::unit(["main", "west"], false));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ended = Finally(|| ended.store(true, SeqCst));
            for _ in 0..if long() { 5_000 } else { 300 } {
                let west = sponsor("west", 2);
                rig.machine.add_sponsor(&west).expect("added");
                let removed = rig.machine.remove_sponsor(Atom::new("west"));
                assert!(removed.is_ok());
            }
        });
        // A thread that ends was asleep before, or counts nothing: of 600 some were.
        let mut before = 0;
        while !ended.load(SeqCst) {
            let parks = rig.machine.info().counts().parks;
            assert!(parks >= before, "{before} threads had slept, and {parks}");
            before = parks;
        }
        assert!(before > 0);
    });
}

/// Timers of a sponsor that goes: all of them fire. Whether it went before any did.
fn timers_survive() -> bool {
    let mut a = programs::Assembler::default();
    let after = send_after(2, programs::r(1), programs::r(0), programs::r(1));
    a.behaviour("later", 1, 3, vec![after, mote_vm::code::ir::Instr::Done]);
    let rig = Rig::new(&[("main", 1), ("west", 2)], a.unit());
    let tap = Tap::new();
    for pinned in [None, Some("west")] {
        let later = rig::create(&rig.machine, "later", 1, pinned, |b| {
            b.foreign(foreign(&tap))
        });
        for _ in 0..20 {
            rig.send_by("west", later, integers(&[100]));
        }
    }
    rig.quiet();
    let armed: u64 = rig.threads("west").iter().map(|t| t.timers).sum();
    rig.machine
        .remove_sponsor(Atom::new("west"))
        .expect("removed");
    let in_time = tap.count() == 0;
    assert!(armed == 40 || !in_time, "{armed}");
    until(|| tap.count() == 40);
    until(|| rig.machine.info().counts().timers == 0);
    in_time
}

/// Checks timers of a sponsor that is removed. On a busy host they may be due before the sponsor is gone.
#[test]
fn timers_survive_their_sponsor() {
    until(timers_survive);
}

/// Tests a unit that says the same word as a turn that is given up says to the thread.
#[test]
fn a_turn_that_says_so_itself_does_not_move() {
    let mut a = programs::Assembler::default();
    let reason = a.atom("moved");
    let abort = abort(reason);
    a.behaviour("says", 0, 2, vec![abort]);
    let rig = Rig::new(&[("main", 1)], a.unit());
    let says = rig.create("says", 0, |_| ());
    rig.send(says, integers(&[1]));
    rig.quiet();
    let counts = rig.machine.info().counts();
    assert_eq!((counts.turns, counts.aborts_match), (1, 1));
}
