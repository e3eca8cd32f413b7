//! Work is shared when that pays, and only then: what the counters of the threads say.

use crate::build::{becomes, call, create, is, match_tuple, op, send, tuple};
use crate::programs::{r, Assembler};
use crate::rig::{self, address, foreign, integers, until, Rig, Tap, PATIENCE};
use mote_vm::base::counters::Counts;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::handles::Key;
use std::time::Instant;

/// `worker(tap)`: works for as many steps as the message says, then tells. `tree(tap)`: `{depth, steps}` splits
/// until depth 0, where it works. `pair(tap, other)`: passes a counter to the other one until it is 0.
/// `crowd(tap)`: `{count, steps}` makes that many workers. `hog(tap)`: works, then sends to itself at once what
/// the message's tail says.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let spin = rig::spin(&mut a);
    let (worker, tree) = (a.behaviour_used("worker", 1), a.behaviour_used("tree", 1));
    let crowd = a.behaviour_used("crowd", 1);
    let (zero, one) = (a.int(0), a.int(1));
    let work = |steps| call(7, spin, [steps]);
    let create = |dst, behaviour| create(dst, behaviour, [r(0)]);
    let again = |behaviour| becomes(behaviour, [r(0)]);
    let pair_of_two = match_tuple(r(1), 2, 2, 1);
    let code = vec![work(r(1)), send(r(0), r(1)), again(worker), Instr::Done];
    a.behaviour("worker", 1, 8, code);
    let code = vec![
        pair_of_two.clone(),
        is(r(2), zero, 6),
        work(r(3)),
        send(r(0), r(2)),
        again(tree),
        Instr::Done,
        op(4, Primitive::Sub, [r(2), one]),
        tuple(5, [r(4), r(3)]),
        create(6, tree),
        send(r(6), r(5)),
        create(6, tree),
        send(r(6), r(5)),
        again(tree),
        Instr::Done,
    ];
    a.behaviour("tree", 1, 8, first_label(code, 13));
    let code = vec![
        pair_of_two,
        is(r(2), zero, 3),
        Instr::Done,
        create(4, worker),
        send(r(4), r(3)),
        op(2, Primitive::Sub, [r(2), one]),
        tuple(5, [r(2), r(3)]),
        Instr::SelfAddress { dst: 6 },
        send(r(6), r(5)),
        again(crowd),
        Instr::Done,
    ];
    a.behaviour("crowd", 1, 8, first_label(code, 10));
    let pair = a.behaviour_used("pair", 2);
    let code = vec![
        match_tuple(r(2), 1, 3, 3),
        becomes(pair, [r(0), r(3)]),
        Instr::Done,
        is(r(2), zero, 6),
        send(r(0), r(2)),
        Instr::Done,
        op(3, Primitive::Sub, [r(2), one]),
        send(r(1), r(3)),
        becomes(pair, [r(0), r(1)]),
        Instr::Done,
    ];
    a.behaviour("pair", 2, 4, code);
    a.unit()
}

fn first_label(mut code: Vec<Instr>, to: u32) -> Vec<Instr> {
    if let Instr::MatchTuple { label, .. } = &mut code[0] {
        *label = to;
    }
    code
}

fn actor(rig: &Rig, name: &str, tap: &std::sync::Arc<Tap>) -> Key {
    rig.create(name, 1, |b| b.foreign(foreign(tap)))
}

/// Returns what each thread of `main` has done since `before`.
fn since(rig: &Rig, before: &[Counts], of: impl Fn(&Counts) -> u64) -> Vec<u64> {
    let now = rig.threads("main");
    now.iter().zip(before).map(|(n, b)| of(n) - of(b)).collect()
}

/// Waits until all threads have begun and gone to sleep.
fn until_asleep(rig: &Rig) {
    let threads = rig.threads("main");
    let begun = || rig.threads("main").iter().all(|thread| thread.parks > 0);
    until(|| begun() && rig.machine.info().sponsors[0].asleep == threads.len());
}

/// Runs heavy trees until one of them kept two threads busy.
fn until_two_work(rig: &Rig) {
    until_two_work_at(rig, 9, 50_000);
}

/// Runs trees of that depth and with so many steps a turn, until one kept two threads busy. Each takes some tens of milliseconds, in
/// which a loaded system may not run the siblings at all: so there may be many of them. If nobody wakes the others, one thread does all.
fn until_two_work_at(rig: &Rig, depth: i64, steps: i64) {
    let all = (2 << depth) - 1;
    let tap = Tap::new();
    let mut seen = Vec::new();
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let before = rig.threads("main");
        let tree = actor(rig, "tree", &tap);
        rig.send(tree, integers(&[depth, steps]));
        rig.quiet();
        let turns = since(rig, &before, |t| t.turns);
        assert_eq!(turns.iter().sum::<u64>(), all);
        if turns.iter().filter(|turns| **turns > all / 16).count() >= 2 {
            return;
        }
        seen.push(turns);
        until_asleep(rig);
    }
    panic!("one thread did it all: {seen:?}");
}

#[test]
fn a_heavy_tree_keeps_two_threads_busy() {
    for threads in [2, 4] {
        let rig = Rig::new(&[("main", threads)], unit());
        until_asleep(&rig);
        until_two_work(&rig);
    }
}

/// Turns so small that nobody looks around within one.
#[test]
fn what_many_small_turns_leave_for_later_goes_to_a_sibling_between_batches() {
    let rig = Rig::new(&[("main", 2)], unit());
    until_asleep(&rig);
    // Under stress none is small: there is a collection after each.
    if !rig::stressed() {
        until_two_work_at(&rig, 17, 1);
    }
}

/// Returns whether messages behind a long turn are done before that turn ends.
fn overtakes() -> bool {
    let rig = Rig::new(&[("main", 2)], unit());
    until_asleep(&rig);
    let (long, short) = (Tap::new(), Tap::new());
    let before = rig.threads("main");
    let hog = actor(&rig, "worker", &long);
    let keys: Vec<Key> = (0..64).map(|_| actor(&rig, "worker", &short)).collect();
    let gate = actor(&rig, "worker", &Tap::new());
    // The gate keeps the thread busy while everything arrives in its inbox, so that all is drained together.
    rig.send(gate, integers(&[200_000]));
    rig.send(hog, integers(&[9_900_000]));
    for key in &keys {
        rig.send(*key, integers(&[10]));
    }
    until(|| short.count() == 64);
    let overtaken = long.count() == 0;
    rig.quiet();
    assert_eq!((long.count(), short.count()), (1, 64));
    let turns = since(&rig, &before, |t| t.turns);
    assert_eq!(turns.iter().sum::<u64>(), 66);
    overtaken
}

#[test]
fn what_waits_behind_a_long_turn_goes_to_the_sleeping_sibling() {
    if rig::stressed() {
        // A collection waits for the long turn, and the sibling with it.
        overtakes();
        return;
    }
    // A long turn takes some tens of milliseconds, in which a loaded system may not run the sibling at all.
    until(overtakes);
    until(overtakes);
}

#[test]
fn a_sibling_that_was_offered_nothing_is_still_woken_later() {
    let rig = Rig::new(&[("main", 2)], unit());
    until_asleep(&rig);
    let tap = Tap::new();
    // All that waits behind these long turns is for the actor that runs: nothing of it can be given away.
    let hog = actor(&rig, "worker", &tap);
    for _ in 0..8 {
        rig.send(hog, integers(&[100_000]));
    }
    rig.quiet();
    until_asleep(&rig);
    for _ in 0..3 {
        until_two_work(&rig);
        until_asleep(&rig);
    }
}

#[test]
fn light_load_leaves_the_second_thread_asleep() {
    let rig = Rig::new(&[("main", 2)], unit());
    until_asleep(&rig);
    let tap = Tap::new();
    let pair = || {
        rig.create("pair", 2, |b| {
            b.foreign(foreign(&tap));
            b.empty_list();
        })
    };
    let keys = [pair(), pair()];
    for (key, other) in [(0, 1), (1, 0)] {
        let mut builder = mote_vm::boundary::parcel::Builder::new();
        builder.tuple(1);
        address(&rig.machine, &mut builder, keys[other]);
        rig.send(keys[key], builder.finish());
    }
    rig.quiet();
    let stays_asleep = || {
        until_asleep(&rig);
        let before = rig.threads("main");
        rig.send(keys[0], integers(&[300_000]));
        rig.quiet();
        let turns = since(&rig, &before, |t| t.turns);
        turns == [300_001, 0] && since(&rig, &before, |t| t.parks)[1] == 0
    };
    // The system may take the first thread off its core in the middle of a turn, which counts as a long one then. And a
    // collection that marks beside turns wakes who sleeps.
    let mut rounds = 0;
    let stayed = (0..20).any(|_| {
        rounds += 1;
        stays_asleep()
    });
    assert_eq!(tap.count(), rounds);
    assert!(stayed || rig::stressed());
}
