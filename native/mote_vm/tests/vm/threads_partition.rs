//! A sponsor whose threads keep the actors that they are given: who sends enters by the actor's thread, and whoever waits runs its turns.
use crate::build::{becomes, send};
use crate::programs::{r, Assembler};
use crate::rig::{self, foreign, integers, long, stressed, until, Rig, Tap};
use crate::world;
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::machine::{Refusal, SponsorInfo};
use mote_vm::threads::sponsor::SponsorConfig;
use mote_vm::values::handles::Key;
use std::sync::{Arc, Mutex};

/// `keep(tap, told)`: passes on what it gets, and keeps it.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let keep = a.behaviour_used("keep", 2);
    let told = becomes(keep, [r(0), r(2)]);
    a.behaviour("keep", 2, 3, vec![send(r(0), r(2)), told, Instr::Done]);
    a.unit()
}

fn partitioned(threads: usize) -> SponsorConfig {
    SponsorConfig {
        partition: true,
        ..world::sponsor("west", threads)
    }
}

/// A machine with a partitioned sponsor `west`, beside one that takes in what that leaves.
fn rig(config: &SponsorConfig) -> Rig {
    let rig = Rig::collects_when_asked(ClockKind::System, &[("main", 1)], unit());
    rig.machine.add_sponsor(config).expect("added");
    rig
}

/// An actor of `west`, and the messages that it has got.
struct Kept {
    key: Key,
    got: Arc<Mutex<Vec<i64>>>,
}

impl Kept {
    fn new(rig: &Rig) -> Kept {
        let got = Arc::new(Mutex::new(Vec::new()));
        let into = got.clone();
        let tap = Tap::with(move |message, _| {
            let n = world::show(message).parse().expect("a number");
            into.lock().unwrap().push(n);
        });
        let key = rig.create_on("west", "keep", 2, |b| {
            b.foreign(foreign(&tap));
            rig::int(b, 0);
        });
        Kept { key, got }
    }

    fn many(rig: &Rig, count: usize) -> Vec<Kept> {
        (0..count).map(|_| Kept::new(rig)).collect()
    }

    fn got(&self) -> Vec<i64> {
        self.got.lock().unwrap().clone()
    }
}

/// Sends those messages at once, or in two parts if the sponsor is removed meanwhile. Returns how many were accepted, and why no more.
fn send_batch(rig: &Rig, messages: &[(&Kept, i64)]) -> (usize, Option<Refusal>) {
    let machine = &rig.machine;
    let hold = |kept: &Kept| machine.hold(kept.key).expect("a handle of this machine");
    let entrance = machine.entrance_to(&hold(messages[0].0), None);
    let (mut letters, mut builder) = machine.letters();
    for (at, (kept, n)) in messages.iter().enumerate() {
        let held = hold(kept);
        if !machine.enters_by(&held, None, &entrance) {
            let (sent, refused) = machine.send_batch(&entrance, letters.seal(builder));
            assert_eq!((sent, refused), (at, None));
            let (others, refused) = send_batch(rig, &messages[at..]);
            return (at + others, refused);
        }
        letters.address(held);
        rig::int(&mut builder, *n);
        letters.end(&builder);
    }
    machine.send_batch(&entrance, letters.seal(builder))
}

fn turns(rig: &Rig) -> Vec<u64> {
    let turns = rig.threads("west").into_iter().map(|of| of.turns);
    turns.collect()
}

fn asleep(rig: &Rig) {
    until(|| {
        let sponsors = rig.machine.info().sponsors;
        let begun = |s: &SponsorInfo| s.threads.iter().all(|counts| counts.parks > 0);
        let asleep = |s: &SponsorInfo| begun(s) && s.asleep == s.threads.len();
        sponsors.iter().all(asleep) && rig.machine.is_quiet()
    });
}

#[test]
fn threads_take_turns_in_getting_actors_and_keep_them() {
    let rig = rig(&partitioned(3));
    let kept = Kept::many(&rig, 6);
    for n in 0..10 {
        kept.iter().for_each(|to| rig.send(to.key, integers(&[n])));
        let batch: Vec<_> = kept.iter().map(|to| (to, 100 + n)).collect();
        assert_eq!(send_batch(&rig, &batch), (6, None));
    }
    rig.quiet();
    let counts = rig.threads("west");
    assert!(counts.iter().all(|of| of.turns == 40), "{:?}", turns(&rig));
    let moved = |of: &mote_vm::base::counters::Counts| of.forwarded + of.taken_over + of.migrations;
    assert_eq!(counts.iter().map(moved).sum::<u64>(), 0);
    let sent: Vec<i64> = (0..10).flat_map(|n| [n, 100 + n]).collect();
    assert!(kept.iter().all(|of| of.got() == sent));
}

// Elsewhere it is not known how much stack a caller has, and the thread is woken.
#[cfg(all(any(target_os = "linux", target_vendor = "apple"), not(mote_portable)))]
#[test]
fn who_waits_is_the_thread_of_the_actor() {
    if stressed() {
        return;
    }
    let rig = rig(&partitioned(3));
    let kept = Kept::many(&rig, 3);
    let counts = || rig.threads("west").into_iter();
    until(|| {
        asleep(&rig);
        let before = counts();
        for to in kept.iter().chain(&kept) {
            let asked = rig.machine.ask(to.key, None, integers(&[1]), &|| true);
            asked.expect("room");
        }
        rig.quiet();
        let mut done = counts().zip(before).map(|(now, of)| {
            assert_eq!(now.turns - of.turns, 2);
            (now.stand_ins - of.stand_ins, now.parks - of.parks)
        });
        // A thread that was awake for a moment, to keep house, runs the turn itself.
        done.all(|done| done == (2, 0))
    });
}

#[test]
fn of_a_divided_batch_the_first_messages_enter() {
    let rig = rig(&SponsorConfig {
        inbox: 5,
        ..partitioned(2)
    });
    let kept = Kept::many(&rig, 3);
    asleep(&rig);
    rig.machine.pause();
    let to = |n: i64| (&kept[(n % 3) as usize], n);
    let batch: Vec<_> = (0..9).map(to).collect();
    let full = Some(Refusal::Full { patient: false });
    assert_eq!(send_batch(&rig, &batch), (5, full));
    assert_eq!(send_batch(&rig, &batch), (0, full));
    rig.machine.resume();
    rig.quiet();
    let got: Vec<_> = kept.iter().map(Kept::got).collect();
    assert_eq!(got, [vec![0, 3], vec![1, 4], vec![2]]);
    let room = |s: &SponsorInfo| s.name == Atom::new("west") && s.waiting == 0 && s.high_water == 5;
    assert!(rig.machine.info().sponsors.iter().any(room));
}

/// Several callers send to all actors in every way, and `meanwhile` runs beside them when half is sent: nothing is lost or doubled, and what
/// one caller sends to one actor arrives in order.
fn all_arrives_in_order(rig: &Rig, meanwhile: impl Fn() + Sync) {
    let meanwhile = &meanwhile;
    const CALLERS: i64 = 4;
    let rounds = if long() { 2_000 } else { 200 };
    let kept = Kept::many(rig, 5);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let kept = &kept;
                scope.spawn(move || {
                    let mut next = vec![caller * 1_000_000; kept.len()];
                    let mut number = |to: usize| {
                        next[to] += 1;
                        next[to]
                    };
                    for round in 0..rounds {
                        if caller == 0 && round == rounds / 2 {
                            scope.spawn(meanwhile);
                        }
                        for (at, to) in kept.iter().enumerate() {
                            let n = number(at);
                            match (round + at as i64 + caller) % 3 {
                                0 => rig.send(to.key, integers(&[n])),
                                1 => {
                                    let asked = integers(&[n]);
                                    let asked = rig.machine.ask(to.key, None, asked, &|| true);
                                    asked.map(drop).expect("room");
                                }
                                _ => {
                                    let others = kept.iter().enumerate();
                                    let others = others.map(|(at, to)| (to, number(at)));
                                    let batch: Vec<_> =
                                        [(to, n)].into_iter().chain(others).collect();
                                    assert_eq!(send_batch(rig, &batch), (batch.len(), None));
                                }
                            }
                        }
                    }
                    next
                })
            })
            .collect();
        let sent: Vec<Vec<i64>> = callers.into_iter().map(|c| c.join().unwrap()).collect();
        rig.quiet();
        for (at, of) in kept.iter().enumerate() {
            let got = of.got();
            for caller in 0..CALLERS {
                let from = caller * 1_000_000;
                let own = got.iter().copied().filter(|n| n / 1_000_000 == caller);
                let own: Vec<i64> = own.collect();
                let all: Vec<i64> = (from + 1..=sent[caller as usize][at]).collect();
                assert_eq!(own, all, "what {caller} has sent to {at}");
            }
        }
    });
}

#[test]
fn all_arrives_in_order_by_every_way() {
    for threads in [1, 2, 3] {
        let rig = rig(&partitioned(threads));
        all_arrives_in_order(&rig, || ());
    }
}

#[test]
fn all_arrives_in_order_while_the_sponsor_is_removed() {
    for round in 0..if long() { 100 } else { 8 } {
        let rig = rig(&partitioned(2 + round % 2));
        all_arrives_in_order(&rig, || {
            let west = rig.machine.remove_sponsor(Atom::new("west"));
            assert!(west.is_ok());
        });
        assert_eq!(rig.machine.info().sponsors.len(), 1);
    }
}

#[test]
fn a_machine_that_stops_lets_all_callers_go() {
    for _ in 0..if long() { 300 } else { 20 } {
        let rig = rig(&partitioned(2));
        let kept = Kept::many(&rig, 4);
        std::thread::scope(|scope| {
            for to in &kept {
                let rig = &rig;
                scope.spawn(move || {
                    let ask = || rig.machine.ask(to.key, None, integers(&[1]), &|| true);
                    while !rig.machine.is_stopping() && ask().is_ok() {}
                });
            }
            until(|| turns(&rig).iter().all(|turns| *turns > 10));
            rig.machine.stop();
        });
        rig.machine.join();
        assert_eq!(rig.machine.info().mapped_bytes, 0);
    }
}
