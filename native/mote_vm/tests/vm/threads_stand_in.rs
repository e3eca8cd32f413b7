//! Whoever waits for an answer runs the turns while the thread sleeps: a moment's work, and nothing is lost or done twice.
// Elsewhere it is not known how much stack a caller has, and the thread is woken.
#![cfg(all(any(target_os = "linux", target_vendor = "apple"), not(mote_portable)))]

use crate::build::{becomes, call, op, send, send_after};
use crate::programs::{r, Assembler};
use crate::rig::{
    self, foreign, int, integers, long, stressed, until, Finally, Rig, Tap, PATIENCE,
};
use crate::world;
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::look::peek::Peek;
use mote_vm::machine::SponsorInfo;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::handles::Key;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Steps far beyond what a stand-in may spend.
pub(crate) const LONG: i64 = 20_000;

/// `tell(tap)`: passes on. `work(tap)`: works as many steps, then passes on. `later(tap)`: passes on after as many
/// milliseconds. `both(actor)`: passes on, and 0 behind it. `mark(tap)`: tells 0. `count(tap, n)`: passes on, and counts.
/// `keep(tap, told)`: passes on, and keeps it.
/// `arm(actor)`: passes on by sponsor `other`, after five milliseconds.
pub(crate) fn unit() -> Unit {
    let mut a = Assembler::default();
    let spin = rig::spin(&mut a);
    let count = a.behaviour_used("count", 2);
    let keep = a.behaviour_used("keep", 2);
    let (zero, one) = (a.int(0), a.int(1));
    a.behaviour("tell", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    let work = call(2, spin, [r(1)]);
    let code = vec![send(r(0), r(1)), work, Instr::Done];
    a.behaviour("work", 1, 3, code);
    let after = send_after(2, r(1), r(0), r(1));
    a.behaviour("later", 1, 3, vec![after, Instr::Done]);
    let both = vec![send(r(0), r(1)), send(r(0), zero), Instr::Done];
    a.behaviour("both", 1, 2, both);
    a.behaviour("mark", 1, 2, vec![send(r(0), zero), Instr::Done]);
    let (other, five) = (a.atom("other"), a.int(5));
    let code = vec![
        op(2, Primitive::On, [other, r(0)]),
        send_after(3, five, r(2), r(1)),
        Instr::Done,
    ];
    a.behaviour("arm", 1, 4, code);
    let code = vec![
        op(3, Primitive::Add, [r(1), one]),
        send(r(0), r(2)),
        becomes(count, [r(0), r(3)]),
        Instr::Done,
    ];
    a.behaviour("count", 2, 4, code);
    let become_told = becomes(keep, [r(0), r(2)]);
    let code = vec![send(r(0), r(2)), become_told, Instr::Done];
    a.behaviour("keep", 2, 3, code);
    a.unit()
}

/// Makes a rig whose threads are awake only for what the test brings them. A thread that collected would not be stood in for.
pub(crate) fn rig_of(clock: ClockKind, sponsors: &[(&str, usize)]) -> Rig {
    Rig::collects_when_asked(clock, sponsors, unit())
}

pub(crate) fn rig(threads: usize) -> Rig {
    rig_of(ClockKind::System, &[("main", threads)])
}

/// A tap that says what came, and on which thread.
pub(crate) fn tap() -> (Arc<Tap>, Receiver<(String, ThreadId)>) {
    let (tell, told) = channel();
    let tap = Tap::with(move |message, _| {
        let _ = tell.send((world::show(message), std::thread::current().id()));
    });
    (tap, told)
}

pub(crate) fn teller(rig: &Rig, name: &str, tap: &Arc<Tap>) -> Key {
    rig.create(name, 1, |b| b.foreign(foreign(tap)))
}

/// Waits until all threads have begun, and sleep. They are counted as asleep a moment before anybody can stand in for them;
/// after that moment the machine is quiet.
pub(crate) fn asleep(rig: &Rig) {
    until(|| {
        let sponsors = rig.machine.info().sponsors;
        let begun = |s: &SponsorInfo| s.threads.iter().all(|counts| counts.parks > 0);
        let asleep = |s: &SponsorInfo| begun(s) && s.asleep == s.threads.len();
        sponsors.iter().all(asleep) && rig.machine.is_quiet()
    });
}

pub(crate) fn ask(rig: &Rig, target: Key, request: Parcel) {
    rig.machine
        .ask(target, None, request, &|| true)
        .expect("room");
}

pub(crate) fn stand_ins(rig: &Rig) -> u64 {
    rig.machine.info().counts().stand_ins
}

/// Somebody asks while another one stands in, who takes that message in as well: nobody wakes the thread for it. When nobody can answer any
/// more, a collection is to find that out.
#[test]
fn who_asks_while_another_stands_in_is_not_forgotten() {
    for stands_in in [false, true] {
        // So few blocks for two threads that nobody sets a time for a long rest.
        let rig = rig(2);
        let (tap, _told) = tap();
        let deaf = teller(&rig, "tell", &tap);
        let (machine, question) = (
            rig.machine.clone(),
            rig.world.lock().unwrap().question.clone(),
        );
        let asks = move || {
            question.store(1, SeqCst);
            machine.send(deaf, None, integers(&[1])).expect("room");
        };
        let collections = || rig.machine.info().gc.collections;
        let before = collections();
        if !stands_in {
            asleep(&rig);
            asks();
        } else {
            let meanwhile = Tap::with(move |_, _| asks());
            let tell = teller(&rig, "tell", &meanwhile);
            asleep(&rig);
            ask(&rig, tell, integers(&[1]));
            assert_eq!(stand_ins(&rig), 1);
        }
        until(|| collections() > before);
        rig.world.lock().unwrap().question.store(0, SeqCst);
    }
}

#[test]
fn who_waits_runs_the_turns_of_a_sleeper() {
    let rig = rig(1);
    let (tap, told) = tap();
    let tell = teller(&rig, "tell", &tap);
    asleep(&rig);
    let parks = rig.threads("main")[0].parks;
    let begun = Instant::now();
    for n in 1..=10 {
        asleep(&rig);
        ask(&rig, tell, integers(&[n]));
        let (message, thread) = told.try_recv().expect("it is done");
        assert_eq!(message, n.to_string());
        assert_eq!(thread, std::thread::current().id());
    }
    let counts = rig.threads("main")[0];
    assert_eq!((counts.stand_ins, counts.turns), (10, 10));
    if !stressed() {
        // It wakes once to think of its rest, and after each rest.
        let rests = begun.elapsed().as_millis() as u64 / 1_500;
        assert!(counts.parks <= parks + 1 + rests);
    }
}

/// A request that is brought past the inbox comes behind what its sender has sent before, whether that has been taken in or
/// not.
#[test]
fn who_asks_does_not_overtake_what_it_has_sent() {
    let rig = rig(1);
    let (tap, told) = tap();
    let tell = teller(&rig, "tell", &tap);
    let rounds = if cfg!(miri) { 20 } else { 500 };
    for n in 0..rounds {
        if n % 3 > 0 {
            asleep(&rig);
        }
        rig.send(tell, integers(&[2 * n]));
        ask(&rig, tell, integers(&[2 * n + 1]));
        rig.quiet();
    }
    let order: Vec<_> = told.try_iter().map(|(message, _)| message).collect();
    let sent: Vec<_> = (0..2 * rounds).map(|n| n.to_string()).collect();
    assert_eq!(order, sent);
}

/// Checks that a request that is brought takes a place only while it is there.
#[test]
fn what_is_brought_gives_back_what_it_takes() {
    let rig = rig(1);
    let (tap, _told) = tap();
    let tell = teller(&rig, "tell", &tap);
    for n in 0..100 {
        asleep(&rig);
        ask(&rig, tell, integers(&[n, n]));
        rig.quiet();
        let info = rig.machine.info();
        assert_eq!(info.sponsors[0].waiting, 0, "after {n}");
    }
    rig.machine.stop();
    ask(&rig, tell, integers(&[1]));
    rig.machine.join();
    assert_eq!(rig.machine.info().mapped_bytes, 0);
}

/// Checks that an actor keeps what it has become in a stand-in, whatever is asked and collected afterwards.
#[test]
fn what_an_actor_was_told_it_keeps() {
    let rig = rig(1);
    let keeps: Vec<_> = (0..3)
        .map(|_| {
            rig.create("keep", 2, |b| {
                b.foreign(foreign(&Tap::new()));
                int(b, 0);
            })
        })
        .collect();
    let rounds = if cfg!(miri) { 10 } else { 300 };
    for n in 0..rounds {
        asleep(&rig);
        for (i, keep) in keeps.iter().enumerate() {
            ask(&rig, *keep, integers(&[n, i as i64, n * n]));
        }
        if n % 50 == 0 {
            rig.collect();
        }
        rig.quiet();
        for (i, keep) in keeps.iter().enumerate() {
            assert_eq!(rig.captures(*keep)[1], format!("{{{n}, {i}, {}}}", n * n));
        }
    }
    assert!(stand_ins(&rig) > 0);
}

/// Has somebody ask, while others look at what the actor has become. Each sees one whole state, and none older than what it has seen.
#[test]
fn whoever_peeks_sees_a_whole_state() {
    let rig = Arc::new(rig(1));
    let keep = rig.create("keep", 2, |b| {
        b.foreign(foreign(&Tap::new()));
        int(b, 0);
    });
    let rounds: i64 = if cfg!(miri) { 20 } else { 5_000 };
    let peekers: Vec<_> = (0..2)
        .map(|_| {
            let rig = rig.clone();
            std::thread::spawn(move || {
                let (mut last, mut seen) = (0, 0);
                while last < rounds {
                    let told = rig
                        .machine
                        .glimpse(keep, None, |seen| world::show(seen.captures[1]));
                    let Peek::Seen(told) = told else { continue };
                    let numbers: Vec<i64> = told
                        .split(|c: char| !c.is_ascii_digit())
                        .filter_map(|n| n.parse().ok())
                        .collect();
                    assert!(numbers.iter().all(|n| *n == numbers[0]), "{told}");
                    assert!(numbers[0] >= last);
                    (last, seen) = (numbers[0], seen + 1);
                }
                seen
            })
        })
        .collect();
    for n in 1..=rounds {
        ask(&rig, keep, integers(&[n, n, n]));
        if n % 1_000 == 0 {
            rig.collect();
        }
    }
    rig.quiet();
    let seen: Vec<u64> = peekers
        .into_iter()
        .map(|p| p.join().expect("whole"))
        .collect();
    assert!(seen.iter().all(|seen| *seen > 0));
    let other = Rig::new(&[("main", 1)], unit());
    assert_eq!(other.machine.glimpse(keep, None, |_| ()), Peek::Unknown);
}

/// More turns than a stand-in runs whoever waits: it goes on where waking the thread takes longer than they do. Now and then the system
/// takes the core away meanwhile.
#[test]
fn who_waits_for_a_cascade_runs_all_of_it() {
    if stressed() {
        return;
    }
    let rig = rig(1);
    let answered = Arc::new(AtomicBool::new(false));
    let (tell, told) = channel();
    let is_answered = answered.clone();
    let tap = Tap::with(move |_, _| {
        is_answered.store(true, SeqCst);
        let _ = tell.send(std::thread::current().id());
    });
    let last = teller(&rig, "tell", &tap);
    let first = (0..200).fold(last, |next, _| {
        rig.create("tell", 1, |b| rig::address(&rig.machine, b, next))
    });
    until(|| {
        asleep(&rig);
        answered.store(false, SeqCst);
        rig.machine
            .ask(first, None, integers(&[1]), &|| answered.load(SeqCst))
            .expect("room");
        let thread = told.recv_timeout(PATIENCE).expect("told");
        rig.quiet();
        thread == std::thread::current().id()
    });
}

/// Has several threads ask one counter, and send to it, for some milliseconds, while collections come between.
fn rush(rig: &Rig, count: Key, each: i64) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Finally(|| over.store(true, SeqCst));
        scope.spawn(|| {
            while !over.load(SeqCst) {
                rig.machine.collect(|| ());
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let askers: Vec<_> = (0..3)
            .map(|asker| {
                scope.spawn(move || {
                    for n in 0..each {
                        match asker {
                            0 if n % 7 == 0 => rig.send(count, integers(&[n])),
                            _ => ask(rig, count, integers(&[n])),
                        }
                        if n % 64 == 0 {
                            std::thread::sleep(Duration::from_micros(50));
                        }
                    }
                })
            })
            .collect();
        askers.into_iter().for_each(|asker| asker.join().unwrap());
    });
    rig.quiet();
}

/// Checks that every message is one turn. Whether the thread sleeps when somebody asks is chance. So it goes on until some have stood in.
#[test]
fn nothing_is_lost_or_done_twice() {
    let each: i64 = match long() {
        true => 200_000,
        false if cfg!(miri) => 30,
        false => 3_000,
    };
    for threads in [1, 2] {
        let rig = rig(threads);
        let tap = Tap::new();
        let count = rig.create("count", 2, |b| {
            b.foreign(foreign(&tap));
            int(b, 0);
        });
        for round in 1..=100 {
            rush(&rig, count, each);
            let sent = 3 * each as u64 * round;
            assert_eq!((tap.count(), rig.turns()), (sent, sent));
            assert_eq!(rig.captures(count)[1], sent.to_string());
            if stand_ins(&rig) > 0 {
                break;
            }
            // Under stress the thread collects all the time.
            assert!(round < 100 || stressed(), "nobody has stood in");
        }
    }
}

/// The machine stops while callers stand in: all come back, and all memory is given back.
#[test]
fn a_machine_stops_under_its_stand_ins() {
    let rounds = match long() {
        true => 500,
        false if cfg!(miri) => 2,
        false => 20,
    };
    for _ in 0..rounds {
        let rig = rig(1);
        let tap = Tap::new();
        let tell = teller(&rig, "tell", &tap);
        asleep(&rig);
        std::thread::scope(|scope| {
            let _stops = Finally(|| rig.machine.stop());
            for _ in 0..2 {
                let rig = &rig;
                scope.spawn(move || {
                    while !rig.machine.is_stopping() {
                        ask(rig, tell, integers(&[1]));
                    }
                });
            }
            until(|| tap.count() > 10);
        });
        rig.machine.join();
        assert_eq!(rig.machine.info().mapped_bytes, 0);
    }
}
