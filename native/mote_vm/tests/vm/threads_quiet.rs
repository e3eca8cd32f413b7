//! `when_quiet` is exact: never before everything is done that was sent before, and always then.

use crate::build::{becomes, call, create_on, is, send, send_after};
use crate::programs::{r, Assembler};
use crate::rig::{self, foreign, integers, long, Finally, Rig, Tap, PATIENCE};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::values::handles::Key;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;

/// `node(tap)`: on 0 tells the tap, otherwise works as many steps and passes 0 on to another of its kind, which
/// it pins to `west`.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let spin = rig::spin(&mut a);
    let node = a.behaviour_used("node", 1);
    let (zero, west) = (a.int(0), a.atom("west"));
    let code = vec![
        is(r(1), zero, 3),
        send(r(0), r(1)),
        Instr::Done,
        call(2, spin, [r(1)]),
        create_on(2, node, [r(0)], west),
        send(r(2), zero),
        becomes(node, [r(0)]),
        Instr::Done,
    ];
    a.behaviour("node", 1, 3, code);
    // Tells the tap after as many milliseconds.
    let code = vec![send_after(2, r(1), r(0), r(1)), Instr::Done];
    a.behaviour("later", 1, 3, code);
    a.unit()
}

/// Has several threads send work of their own and wait for quiet after each. Everything a thread has sent must be done when it is
/// notified, whatever the others do meanwhile.
#[test]
fn nobody_is_told_before_what_it_sent_is_done() {
    let rounds = if long() { 20_000 } else { 1_000 };
    for sponsors in [
        &[("main", 1), ("west", 1)][..],
        &[("main", 2), ("west", 2)][..],
    ] {
        let rig = Rig::new(sponsors, unit());
        std::thread::scope(|scope| {
            for sender in 0..3 {
                let rig = &rig;
                scope.spawn(move || {
                    let tap = Tap::new();
                    let node = rig.create("node", 1, |b| b.foreign(foreign(&tap)));
                    let mut sent = 0;
                    for round in 0..rounds {
                        for n in 0..1 + (round + sender) % 3 {
                            rig.send(node, integers(&[1 + (round * 37 + n) % 300]));
                            sent += 1;
                        }
                        let (tell, told) = channel();
                        let seen = tap.clone();
                        rig.machine.when_quiet(Box::new(move || {
                            let _ = tell.send(seen.count());
                        }));
                        assert_eq!(told.recv_timeout(PATIENCE), Ok(sent), "told too early");
                        if round % 50 == 0 {
                            // Lets the threads fall asleep.
                            std::thread::sleep(Duration::from_micros(300));
                        }
                    }
                });
            }
        });
    }
}

/// Keeps the machine busy with one thread while another waits. That one is notified at the end only, and then for certain.
#[test]
fn it_comes_when_the_last_of_all_senders_is_done() {
    let rig = Rig::new(&[("main", 2), ("west", 1)], unit());
    let tap = Tap::new();
    let nodes: Vec<Key> = (0..3)
        .map(|_| rig.create("node", 1, |b| b.foreign(foreign(&tap))))
        .collect();
    let sent = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let last = Finally(|| done.store(true, SeqCst));
        let senders: Vec<_> = nodes
            .iter()
            .map(|node| {
                let (rig, sent) = (&rig, &sent);
                scope.spawn(move || {
                    for n in 0..5_000 {
                        // Counted before it is sent: a lower bound of what quiet must have seen is read first.
                        rig.send(*node, integers(&[1 + n % 20]));
                        sent.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        let watcher = scope.spawn(|| {
            while !done.load(SeqCst) {
                let before = sent.load(SeqCst);
                let (tell, told) = channel();
                let seen = tap.clone();
                rig.machine.when_quiet(Box::new(move || {
                    let _ = tell.send(seen.count());
                }));
                let seen = told.recv_timeout(PATIENCE).expect("told");
                assert!(seen >= before, "told with {} left", before - seen);
            }
        });
        for sender in senders {
            sender.join().unwrap();
        }
        rig.quiet();
        drop(last);
        assert_eq!(tap.count(), 15_000);
        watcher.join().unwrap();
        // A thread that looks once more whether to collect is awake.
        rig::until(|| rig.machine.is_quiet());
    });
}

#[test]
fn timers_that_are_not_due_do_not_count() {
    let rig = Rig::new(&[("main", 2), ("west", 1)], unit());
    let tap = Tap::new();
    let later = rig.create("later", 1, |b| b.foreign(foreign(&tap)));
    // A busy host may let the time pass before anybody looks.
    rig::until(|| {
        let before = tap.count();
        rig.send(later, integers(&[300]));
        rig.quiet();
        let in_time = tap.count() == before;
        rig::until(|| tap.count() == before + 1);
        in_time
    });
    rig.quiet();
}

#[test]
fn a_waiter_may_send_and_wait_again() {
    let rig = Rig::new(&[("main", 1), ("west", 1)], unit());
    let tap = Tap::new();
    let node = rig.create("node", 1, |b| b.foreign(foreign(&tap)));
    let (tell, told) = channel();
    let machine = rig.machine.clone();
    let seen = tap.clone();
    rig.send(node, integers(&[5]));
    rig.machine.when_quiet(Box::new(move || {
        let first = seen.count();
        machine.send(node, None, integers(&[5])).expect("room");
        machine.when_quiet(Box::new(move || {
            let _ = tell.send((first, seen.count()));
        }));
    }));
    assert_eq!(told.recv_timeout(PATIENCE), Ok((1, 2)));
}
