//! Redefinition while actors run: every actor takes the new version at its next become, or at its next turn if that version takes
//! over, and at no other time; nothing is lost, and what belongs to one version stays together.

use crate::build::{becomes, branch, call, op, ret, send, tuple};
use crate::encode::encode;
use crate::programs::{r, Assembler};
use crate::rig::{foreign, int, integers, long, until, Finally, Rig, Tap};
use mote_vm::base::atom::Atom;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::handles::Key;
use mote_vm::{Term, View};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// `worker(tap, id, count)` tells the tap `{id, version, stamp(), count + 1}`, where `stamp` is a function of the unit
/// that gives its version, becomes itself with the new count, and sends itself the message less one, down to zero.
/// `fixed(tap, id)` tells `{id, version, stamp(), 0}` and is safe.
fn unit(number: i64) -> Unit {
    let mut a = Assembler::default();
    let worker = a.behaviour_used("worker", 3);
    let stamp = a.function_used("stamp", 0);
    let (zero, one, version) = (a.int(0), a.int(1), a.int(number));
    let call = call(5, stamp, []);
    let tell = |count| {
        let elements = vec![r(1), version, r(5), count];
        let send = send(r(0), r(6));
        [tuple(6, elements), send]
    };
    let mut code = vec![call.clone(), op(4, Primitive::Add, [r(2), one])];
    code.extend(tell(r(4)));
    code.extend([
        /* 4 */ op(7, Primitive::Gt, [r(3), zero]),
        /* 5 */
        branch(r(7), 9),
        /* 6 */ op(7, Primitive::Sub, [r(3), one]),
        /* 7 */ Instr::SelfAddress { dst: 6 },
        /* 8 */
        send(r(6), r(7)),
        /* 9 */
        becomes(worker, [r(0), r(1), r(4)]),
        /* 10 */ Instr::Done,
    ]);
    a.behaviour("worker", 3, 8, code);
    let mut code = vec![call];
    code.extend(tell(zero));
    code.push(Instr::Done);
    a.safe("fixed", 2, 8, code);
    a.function("stamp", 0, 1, vec![ret(version)]);
    Unit {
        hash: number as u64,
        ..a.unit()
    }
}

/// One report of an actor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    version: i64,
    stamp: i64,
    count: i64,
}

/// The reports of each actor, in order.
type Log = Arc<Mutex<Vec<Vec<Told>>>>;

fn tap(actors: usize) -> (Arc<Tap>, Log) {
    let log: Log = Arc::new(Mutex::new(vec![Vec::new(); actors]));
    let written = log.clone();
    let tap = Tap::with(move |message, _| {
        let numbers = numbers(message);
        let [id, version, stamp, count] = numbers[..] else {
            return;
        };
        written.lock().unwrap()[id as usize].push(Told {
            version,
            stamp,
            count,
        });
    });
    (tap, log)
}

fn numbers(message: Term<'_>) -> Vec<i64> {
    let View::Tuple(elements) = message.view() else {
        return Vec::new();
    };
    let number = |element: Term<'_>| match element.view() {
        View::Integer(n) => n,
        _ => i64::MIN,
    };
    elements.iter().map(number).collect()
}

struct Test {
    rig: Rig,
    log: Log,
    workers: Vec<Key>,
}

impl Test {
    fn new(sponsors: &[(&str, usize)], workers: usize) -> Test {
        let rig = Rig::new(sponsors, unit(1));
        let (tap, log) = tap(workers);
        let workers = (0..workers)
            .map(|id| {
                rig.create("worker", 3, |b| {
                    b.foreign(foreign(&tap));
                    int(b, id as i64);
                    int(b, 0);
                })
            })
            .collect();
        Test { rig, log, workers }
    }

    fn load(&self, version: i64) {
        let loaded = self.rig.machine.load(&encode(&unit(version)), &|_, _| None);
        loaded.expect("loads");
    }

    /// Loads a version that takes over the actors of the one before. Returns the names of those that it cannot take over.
    fn succeed(&self, version: i64) -> Vec<String> {
        succeed(&self.rig, &unit(version))
    }

    /// Sends to all of them, and returns what they tell.
    fn ask(&self) -> Vec<Told> {
        self.workers
            .iter()
            .for_each(|w| self.rig.send(*w, integers(&[0])));
        self.rig.quiet();
        let log = self.log.lock().unwrap();
        log.iter()
            .map(|told| *told.last().expect("something told"))
            .collect()
    }
}

fn succeed(rig: &Rig, unit: &Unit) -> Vec<String> {
    let module = Atom::new(&unit.module);
    let loaded = rig.machine.load(&encode(unit), &|_, _| None);
    loaded.expect("loads");
    let staying = rig.machine.succeed(module).into_iter();
    staying
        .map(|staying| format!("{}, {:?}", staying.name.name(), staying.why))
        .collect()
}

/// Those that never become as well. What came by another way, as a version of an image does, stays.
#[test]
fn a_version_that_takes_over_is_everybodys_at_the_next_turn() {
    let test = Test::new(&[("main", 2)], 50);
    let (tap, log) = tap(1);
    let fixed = test.rig.create("fixed", 2, |b| {
        b.foreign(foreign(&tap));
        int(b, 0);
    });
    let all = |version| {
        let told = test.ask().into_iter();
        assert!(told
            .map(|t| (t.version, t.stamp))
            .all(|t| t == (version, version)));
        test.rig.send(fixed, integers(&[0]));
        test.rig.quiet();
        log.lock().unwrap()[0]
            .last()
            .expect("something told")
            .version
    };
    assert_eq!(all(1), 1);
    for version in 2..6 {
        assert_eq!(test.succeed(version), Vec::<String>::new());
        test.rig.machine.wait_for_compiler();
        assert_eq!(all(version), version);
    }
    test.load(6);
    assert_eq!(all(5), 5);
    assert_eq!(test.succeed(7), Vec::<String>::new());
    assert_eq!(all(7), 7);
}

#[test]
fn what_the_new_version_cannot_run_stays() {
    let version = |hash, define: fn(&mut Assembler)| {
        let mut a = Assembler::default();
        define(&mut a);
        Unit { hash, ..a.unit() }
    };
    let rig = Rig::new(
        &[("main", 1)],
        version(1, |a| {
            a.behaviour("gone", 0, 1, vec![Instr::Done]);
            a.safe("fixed", 0, 1, vec![Instr::Done]);
        }),
    );
    // One that may become has an owner.
    let changed = version(2, |a| a.behaviour("fixed", 0, 1, vec![Instr::Done]));
    let mut staying = succeed(&rig, &changed);
    staying.sort();
    assert_eq!(staying, ["fixed, Running", "gone, Absent"]);
    // It stays so, whatever was told before.
    let changed = version(3, |a| a.safe("gone", 0, 1, vec![Instr::Done]));
    let mut staying = succeed(&rig, &changed);
    staying.sort();
    assert_eq!(staying, ["fixed, Absent", "fixed, Absent", "gone, Running"]);
}

#[test]
fn the_next_become_takes_the_newest_version_and_nothing_else_does() {
    let test = Test::new(&[("main", 2)], 50);
    let versions = |told: Vec<Told>| -> Vec<i64> { told.iter().map(|t| t.version).collect() };
    assert_eq!(versions(test.ask()), [1; 50]);
    test.load(2);
    test.load(3);
    // Each has become a worker before; the turn that runs now is of that version, and becomes one of the newest.
    assert_eq!(versions(test.ask()), [1; 50]);
    assert_eq!(versions(test.ask()), [3; 50]);
    test.load(4);
    assert_eq!(versions(test.ask()), [3; 50]);
    assert_eq!(versions(test.ask()), [4; 50]);
}

#[test]
fn what_never_becomes_stays_as_it_is() {
    let rig = Rig::new(&[("main", 2)], unit(1));
    let (tap, log) = tap(1);
    let create = || {
        rig.create("fixed", 2, |b| {
            b.foreign(foreign(&tap));
            int(b, 0);
        })
    };
    let old = create();
    for version in 2..5 {
        let loaded = rig.machine.load(&encode(&unit(version)), &|_, _| None);
        loaded.expect("loads");
        rig.send(old, integers(&[0]));
        rig.quiet();
        rig.send(create(), integers(&[0]));
        rig.quiet();
        let told = std::mem::take(&mut log.lock().unwrap()[0]);
        let told: Vec<_> = told.iter().map(|t| (t.version, t.stamp)).collect();
        assert_eq!(told, [(1, 1), (version, version)]);
    }
}

/// Loads versions one after the other, as fast as that goes, while thousands of actors run on several threads.
#[test]
fn under_load_nothing_is_lost_and_versions_only_go_up() {
    let (workers, tokens, hops) = if long() {
        (20_000, 20, 50)
    } else {
        (2_000, 4, 20)
    };
    let one = &[("main", 4)][..];
    let two = &[("east", 2), ("west", 2)][..];
    for (sponsors, takes_over) in [(one, false), (two, false), (one, true), (two, true)] {
        let test = Test::new(sponsors, workers);
        let newest = AtomicI64::new(1);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _done = Finally(|| done.store(true, SeqCst));
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    let version = newest.load(SeqCst) + 1;
                    match takes_over {
                        true => assert!(test.succeed(version).is_empty()),
                        false => test.load(version),
                    }
                    newest.store(version, SeqCst);
                    std::thread::yield_now();
                }
            });
            for token in 0..tokens {
                // Some turns of every actor come after another version than others.
                let before = newest.load(SeqCst);
                until(|| newest.load(SeqCst) > before);
                let name = sponsors[token % sponsors.len()].0;
                for worker in &test.workers {
                    test.rig.send_by(name, *worker, integers(&[hops]));
                }
            }
            test.rig.quiet();
        });
        let expected = tokens as i64 * (hops + 1);
        let newest = newest.load(SeqCst);
        for (id, told) in test.log.lock().unwrap().iter().enumerate() {
            let counts = told.iter().map(|t| t.count);
            assert!(counts.eq(1..=expected), "worker {id}: {told:?}");
            assert!(
                told.iter().all(|t| t.stamp == t.version),
                "worker {id}: {told:?}"
            );
            assert!(
                told.is_sorted_by_key(|t| t.version),
                "worker {id}: {told:?}"
            );
            let (first, last) = (told[0].version, told[told.len() - 1].version);
            assert!(first < last && last <= newest, "worker {id}: {told:?}");
        }
        let counts = test.rig.machine.info().counts();
        assert_eq!(
            (counts.dropped, counts.ignored, counts.undelivered),
            (0, 0, 0)
        );
        assert_eq!(counts.becomes, workers as u64 * expected as u64);
        println!("{sponsors:?}: {newest} versions in {} turns", counts.turns);
        // The last version is everybody's once it was taken.
        test.ask();
        assert!(test.ask().iter().all(|told| told.version == newest));
    }
}
