//! Turns that are away end where that is told, if their thread sleeps: a moment's work, once.
// Elsewhere it is not known how much stack a caller has, and the thread is woken.
#![cfg(all(any(target_os = "linux", target_vendor = "apple"), not(mote_portable)))]

use crate::build::send;
use crate::encode::encode;
use crate::programs::{r, Assembler};
use crate::rig::{create, foreign, int, integers, quiet, until, Tap, PATIENCE};
use crate::world::{self, show};
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::heap::pace::GcConfig;
use mote_vm::machine::{Abort, Config, Effect, Effects, Embedder, Fault};
use mote_vm::machine::{Machine, Outcome, TurnAway, DEFAULT_FUEL};
use mote_vm::threads::seeded::Schedule;
use mote_vm::threads::sponsor::SponsorConfig;
use mote_vm::values::handles::Key;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Tells the numbers of turns that go away, and which thread has sent them.
struct Desk(Mutex<Sender<(u64, ThreadId)>>);

impl Embedder for Desk {
    fn aborted(&self, _machine: &Machine, _abort: Abort<'_>) -> bool {
        false
    }
    fn fault(&self, _machine: &Machine, _fault: Fault) {}
    fn begin_turn(&self, _machine: &Machine, turn: TurnAway<'_>) {
        let _ = self.0.lock().expect("no panic").send((turn.number, here()));
    }
}

/// A machine with a sponsor `io` whose turns go away, and an actor of it that passes on what it gets.
struct Scene {
    machine: Machine,
    away: Receiver<(u64, ThreadId)>,
    tap: Arc<Tap>,
    told: Receiver<(String, ThreadId)>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.machine.stop();
        self.machine.join();
    }
}

fn unit() -> Unit {
    let mut a = Assembler::default();
    a.behaviour("tell", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    a.unit()
}

impl Scene {
    fn new() -> Scene {
        let (tell, away) = channel();
        let mut io = world::sponsor("io", 1);
        io.most_away = Some(64);
        let config = Config {
            name: "away".to_string(),
            sponsors: vec![SponsorConfig::new(Atom::new("main"), 1), io],
            fuel: DEFAULT_FUEL,
            memory: usize::MAX,
            // Nobody stands in for a thread that collects.
            gc: GcConfig {
                min: usize::MAX,
                ..GcConfig::default()
            },
            clock: ClockKind::System,
            schedule: Schedule::Threads,
            compiler: None,
        };
        let machine = Machine::start(config, Box::new(Desk(Mutex::new(tell)))).expect("starts");
        machine.load(&encode(&unit()), &|_, _| None).expect("loads");
        let (tell, told) = channel();
        let tap = Tap::with(move |message, _| {
            let _ = tell.send((show(message), std::thread::current().id()));
        });
        Scene {
            machine,
            away,
            tap,
            told,
        }
    }

    fn actor(&self) -> Key {
        create(&self.machine, "tell", 1, Some("io"), |b| {
            b.foreign(foreign(&self.tap))
        })
    }

    fn send(&self, actor: Key, n: i64) {
        let message = integers(&[n]);
        self.machine.send(actor, None, message).expect("room");
    }

    fn begun(&self) -> u64 {
        self.begun_on().0
    }

    /// The next turn that goes away, and the thread that has sent it.
    fn begun_on(&self) -> (u64, ThreadId) {
        self.away.recv_timeout(PATIENCE).expect("a turn goes away")
    }

    /// Waits until the thread sleeps.
    fn asleep(&self) {
        until(|| self.machine.info().sponsors[1].asleep == 1);
    }

    /// Sends a number to the tap, and that much else.
    fn effects(&self, n: i64, bytes: usize) -> Outcome {
        let mut values = Builder::new();
        values.tuple(4);
        values.foreign(foreign(&self.tap));
        int(&mut values, n);
        values.foreign(foreign(&self.tap));
        values.bytes(&vec![0; bytes]);
        Outcome::Done(Effects {
            steps: vec![Effect::Send, Effect::Send],
            values: Some(values.finish()),
        })
    }

    /// Sends something to an actor.
    fn send_to(&self, actor: Key) -> Outcome {
        let mut values = Builder::new();
        values.tuple(2);
        values.address(self.machine.hold(actor).expect("an actor"));
        int(&mut values, 0);
        Outcome::Done(Effects {
            steps: vec![Effect::Send],
            values: Some(values.finish()),
        })
    }

    /// Returns the thread on which that number was told; everything else that comes is left out.
    fn told_on(&self, n: i64) -> ThreadId {
        loop {
            let (what, thread) = self.told.recv_timeout(PATIENCE).expect("it is told");
            if what == n.to_string() {
                return thread;
            }
        }
    }
}

fn here() -> ThreadId {
    std::thread::current().id()
}

#[test]
fn who_tells_of_an_end_commits_it_and_begins_what_comes_next() {
    let scene = Scene::new();
    let actor = scene.actor();
    let mut n = 0;
    // The thread may be about to sleep, and then does it itself.
    until(|| {
        n += 1;
        scene.send(actor, n);
        let first = scene.begun();
        scene.send(actor, n);
        quiet_but_for_turns(&scene);
        assert!(scene.machine.end_turn(first, scene.effects(n, 0)));
        let in_place = scene.told_on(n) == here();
        let next = match in_place {
            true => scene.away.try_recv().expect("it has begun").0,
            false => scene.begun(),
        };
        scene.machine.end_turn(next, Outcome::Ignored);
        // Known already.
        scene.machine.end_turn(first, scene.effects(-1, 0));
        quiet(&scene.machine);
        in_place
    });
    let more: Vec<_> = scene.told.try_iter().map(|(what, _)| what).collect();
    assert!(!more.contains(&"-1".to_string()));
    let counts = scene.machine.info().counts();
    assert_eq!((counts.turns, counts.ignored), (2 * n as u64, n as u64));
}

/// Waits until the thread sleeps, and what was sent waits in line.
fn quiet_but_for_turns(scene: &Scene) {
    until(|| {
        let io = &scene.machine.info().sponsors[1];
        let thread = io.threads[0];
        io.asleep == 1 && thread.foreign_in == thread.turns + 2
    });
}

#[test]
fn what_takes_more_than_a_moment_is_left_to_the_thread() {
    let scene = Scene::new();
    let actor = scene.actor();
    let large = 1 << 20;
    for (n, outcome) in [(1, None), (2, Some(scene.effects(2, large)))] {
        scene.send(actor, n);
        let number = scene.begun();
        scene.asleep();
        let outcome = outcome.unwrap_or(Outcome::Here);
        assert!(scene.machine.end_turn(number, outcome));
        assert_ne!(scene.told_on(n), here());
        quiet(&scene.machine);
    }
    assert_eq!(scene.machine.info().counts().turns, 2);
}

#[test]
fn what_a_turn_is_given_is_written_by_the_thread_if_it_is_much() {
    let scene = Scene::new();
    let much = |b: &mut Builder| {
        b.tuple(1_000);
        (0..1_000).for_each(|n| int(b, n));
    };
    let keeper = create(&scene.machine, "tell", 1, Some("io"), much);
    (0..3).for_each(|n| scene.send(keeper, n));
    for _ in 0..2 {
        let number = scene.begun();
        scene.asleep();
        assert!(scene.machine.end_turn(number, Outcome::Ignored));
    }
    let (number, thread) = scene.begun_on();
    assert_ne!(thread, here());
    // What comes by way of the queue, too: from one that is given little.
    let actor = scene.actor();
    scene.send(actor, 0);
    let other = scene.begun();
    scene.machine.end_turn(number, Outcome::Ignored);
    scene.asleep();
    assert!(scene.machine.end_turn(other, scene.send_to(keeper)));
    let (number, thread) = scene.begun_on();
    assert_ne!(thread, here());
    assert!(scene.machine.end_turn(number, Outcome::Ignored));
    quiet(&scene.machine);
    assert_eq!(scene.machine.info().counts().turns, 5);
}

#[test]
fn ends_that_come_at_once_are_each_committed_once() {
    const ACTORS: i64 = 16;
    const TURNS: i64 = 200;
    let scene = Scene::new();
    let actors: Vec<_> = (0..ACTORS).map(|_| scene.actor()).collect();
    for n in 0..ACTORS * TURNS {
        scene.send(actors[(n % ACTORS) as usize], n);
    }
    let (machine, tap) = (&scene.machine, &scene.tap);
    let numbers = Mutex::new(0);
    std::thread::scope(|scope| {
        let queues: Vec<_> = (0..3)
            .map(|_| {
                let (give, take) = channel();
                let numbers = &numbers;
                scope.spawn(move || {
                    for number in take {
                        let mut last = numbers.lock().expect("no panic");
                        *last += 1;
                        let mut values = Builder::new();
                        values.tuple(2);
                        values.foreign(foreign(tap));
                        int(&mut values, *last);
                        drop(last);
                        let effects = Effects {
                            steps: vec![Effect::Send],
                            values: Some(values.finish()),
                        };
                        assert!(machine.end_turn(number, Outcome::Done(effects)));
                    }
                });
                give
            })
            .collect();
        for n in 0..ACTORS * TURNS {
            let number = scene.begun();
            queues[(n % 3) as usize].send(number).expect("it is there");
        }
    });
    quiet(machine);
    let mut told: Vec<i64> = scene
        .told
        .try_iter()
        .map(|(what, _)| what.parse().expect("a number"))
        .collect();
    told.sort_unstable();
    assert_eq!(told, (1..=ACTORS * TURNS).collect::<Vec<_>>());
}
