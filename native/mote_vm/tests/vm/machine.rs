//! Whole machines, driven with hand-written code: what a turn leaves behind, and what it does not.

use crate::build::{abort, becomes, call, create, is, op, ret, send, send_after, tail};
use crate::encode;
use crate::programs::{self, r, Assembler};
use crate::world::{self, mailbox, World};
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::*;
use mote_vm::machine::{CreateError, LaunchError, Machine, Refusal};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::ForeignRef;
use mote_vm::values::handles::Key;
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

struct Fixture {
    machine: Machine,
    world: World,
    customer: ForeignRef,
    answers: Receiver<String>,
}

impl Fixture {
    fn new(unit: Unit) -> Fixture {
        let (machine, world) = world::machine();
        machine
            .load(&encode::encode(&unit), &|_, _| None)
            .expect("loads");
        let (customer, answers) = mailbox();
        Fixture {
            machine,
            world,
            customer,
            answers,
        }
    }

    /// An actor of behaviour `name` whose captures are the customer and these integers.
    fn create(&self, name: &str, captures: &[i64]) -> Key {
        let count = captures.len() + 1;
        let found = self
            .machine
            .behaviour(Atom::new("Test"), Atom::new(name), count);
        let (behaviour, _) = found.expect("known");
        let mut builder = Builder::new();
        builder.tuple(count);
        builder.foreign(self.customer.clone());
        for n in captures {
            assert!(builder.integer(*n));
        }
        self.machine
            .create(&behaviour, None, builder.finish())
            .expect("room")
    }

    /// Launches `forward` in a machine, for one message.
    fn launch(&self, machine: &Machine, message: Parcel) -> Result<(), LaunchError> {
        let found = self
            .machine
            .behaviour(Atom::new("Test"), Atom::new("forward"), 1);
        let (behaviour, _) = found.expect("known");
        let mut builder = Builder::new();
        builder.tuple(1);
        builder.foreign(self.customer.clone());
        machine.launch(&behaviour, None, builder.finish(), message, |_| ())
    }

    fn send(&self, target: Key, n: i64) {
        self.machine.send(target, None, integer(n)).expect("room");
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("an answer")
    }

    /// Waits until everything sent so far was dispatched.
    fn settle(&self, key: Key) {
        let (tell, told) = std::sync::mpsc::channel();
        assert!(self.machine.inspect(
            key,
            Box::new(move |_, _| {
                let _ = tell.send(());
            })
        ));
        told.recv_timeout(PATIENCE).expect("looked");
    }
}

impl Fixture {
    /// Waits until nothing is left to do.
    fn quiet(&self) {
        let (tell, told) = std::sync::mpsc::channel();
        self.machine.when_quiet(Box::new(move || {
            let _ = tell.send(());
        }));
        told.recv_timeout(PATIENCE).expect("quiet");
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.machine.stop();
        self.machine.join();
    }
}

fn integer(n: i64) -> Parcel {
    let mut builder = Builder::new();
    assert!(builder.integer(n));
    builder.finish()
}

/// `forward(customer)`: sends on whatever it gets.
fn forward(a: &mut Assembler) {
    let code = vec![send(r(0), r(1)), Instr::Done];
    a.behaviour("forward", 1, 2, code);
}

#[test]
fn a_fork_bomb_reports_once() {
    let fixture = Fixture::new(programs::fork_bomb());
    let root = fixture.create("node", &[]);
    fixture.send(root, if cfg!(miri) { 3 } else { 12 });
    assert_eq!(fixture.answer(), ":done");
    assert!(fixture
        .answers
        .recv_timeout(Duration::from_millis(50))
        .is_err());
}

#[test]
fn messages_of_one_sender_arrive_in_order() {
    let mut a = Assembler::default();
    forward(&mut a);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("forward", &[]);
    for n in 0..1000 {
        fixture.send(actor, n);
    }
    for n in 0..1000 {
        assert_eq!(fixture.answer(), n.to_string());
    }
}

#[test]
fn what_is_launched_runs_though_nobody_refers_to_it() {
    let mut a = Assembler::default();
    forward(&mut a);
    let fixture = Fixture::new(a.unit());
    for n in 0..if cfg!(miri) { 10 } else { 1000 } {
        let launched = fixture.launch(&fixture.machine, integer(n));
        assert_eq!(launched, Ok(()));
    }
    for n in 0..if cfg!(miri) { 10 } else { 1000 } {
        assert_eq!(fixture.answer(), n.to_string());
    }
    fixture.quiet();
    assert_eq!(fixture.machine.info().handles, 0);
}

#[test]
fn nothing_of_another_machine_is_launched() {
    let unit = || {
        let mut a = Assembler::default();
        forward(&mut a);
        a.unit()
    };
    let fixture = Fixture::new(unit());
    let (other, _world) = world::machine();
    let launched = fixture.launch(&other, integer(1));
    assert_eq!(
        launched,
        Err(LaunchError::Create(CreateError::OtherMachine))
    );
    let elsewhere = Fixture::new(unit());
    let actor = elsewhere.create("forward", &[]);
    let mut builder = Builder::new();
    builder.address(elsewhere.machine.hold(actor).expect("held"));
    let launched = fixture.launch(&fixture.machine, builder.finish());
    assert_eq!(launched, Err(LaunchError::Send(Refusal::Unknown)));
    other.stop();
    other.join();
}

#[test]
fn an_aborted_turn_leaves_no_footprints() {
    // On 0: sends, creates, becomes and then aborts. Otherwise: answers with its capture.
    let mut a = Assembler::default();
    let used = a.behaviour_used("actor", 2);
    let (zero, nine, reason) = (a.int(0), a.int(9), a.atom("because"));
    let code = vec![
        is(r(2), zero, 6),
        send(r(0), nine),
        create(3, used, [r(0), nine]),
        send(r(3), nine),
        becomes(used, [r(0), nine]),
        abort(reason),
        send(r(0), r(1)),
        Instr::Done,
    ];
    a.behaviour("actor", 2, 4, code);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[7]);
    fixture.send(actor, 0);
    fixture.send(actor, 1);
    assert_eq!(fixture.answer(), "7");
    fixture.settle(actor);
    assert_eq!(
        fixture.world.aborts.recv_timeout(PATIENCE).unwrap(),
        "actor :because"
    );
    fixture.settle(actor);
    let counts = fixture.machine.info().counts();
    assert_eq!((counts.creates, counts.becomes), (0, 0));
    assert_eq!(
        (counts.sends, counts.aborts_match + counts.aborts_explicit),
        (1, 1)
    );
    assert!(fixture.answers.try_recv().is_err());
}

#[test]
fn fuel_and_depth_are_bounded() {
    let mut a = Assembler::default();
    let (endless, deep) = (a.function_used("endless", 0), a.function_used("deep", 1));
    let (zero, one) = (a.int(0), a.int(1));
    a.function("endless", 0, 1, vec![tail(endless, [])]);
    let add = op(1, Primitive::Add, [r(0), one]);
    a.function("deep", 1, 2, vec![call(1, deep, [r(0)]), add, ret(r(1))]);
    let code = vec![
        is(r(1), zero, 3),
        call(2, endless, []),
        Instr::Done,
        call(2, deep, [r(1)]),
        Instr::Done,
    ];
    a.behaviour("actor", 1, 3, code);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[]);
    fixture.send(actor, 0);
    fixture.send(actor, 1);
    for expected in ["actor :fuel", "actor :stack"] {
        let abort = fixture.world.aborts.recv_timeout(PATIENCE);
        assert_eq!(abort.unwrap(), expected);
    }
}

#[test]
fn aborts_that_the_outside_does_not_report_are_counted() {
    let mut a = Assembler::default();
    let reason = a.atom("because");
    a.behaviour("actor", 1, 2, vec![abort(reason)]);
    let mut fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[]);
    fixture.send(actor, 0);
    fixture.settle(actor);
    assert_eq!(
        fixture.world.aborts.recv_timeout(PATIENCE).unwrap(),
        "actor :because"
    );
    // Nobody listens any more.
    fixture.world.aborts = std::sync::mpsc::channel().1;
    for n in 0..3 {
        fixture.send(actor, n);
    }
    fixture.quiet();
    let counts = fixture.machine.info().counts();
    assert_eq!(
        (
            counts.aborts_explicit + counts.aborts_match,
            counts.unreported
        ),
        (4, 3)
    );
}

#[test]
fn sends_to_no_address_are_dropped_and_counted() {
    let mut a = Assembler::default();
    let one = a.int(1);
    let code = vec![send(one, one), Instr::Done];
    a.behaviour("actor", 1, 2, code);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[]);
    fixture.send(actor, 0);
    fixture.settle(actor);
    fixture.settle(actor);
    let counts = fixture.machine.info().counts();
    assert_eq!((counts.sends, counts.dropped), (0, 1));
}

#[test]
fn timers_fire_in_their_order() {
    let mut a = Assembler::default();
    forward(&mut a);
    let (long, short) = (a.int(40), a.int(5));
    let after = |delay| send_after(2, delay, r(0), delay);
    a.behaviour("actor", 1, 3, vec![after(long), after(short), Instr::Done]);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[]);
    fixture.send(actor, 0);
    assert_eq!(fixture.answer(), "5");
    assert_eq!(fixture.answer(), "40");
}

#[test]
fn a_sink_ignores_and_a_stale_key_is_refused() {
    let mut a = Assembler::default();
    a.behaviour("actor", 1, 2, vec![Instr::BecomeSink, Instr::Done]);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[]);
    for n in 0..3 {
        fixture.send(actor, n);
    }
    let (tell, told) = channel();
    fixture.machine.when_quiet(Box::new(move || {
        let _ = tell.send(());
    }));
    told.recv_timeout(PATIENCE).expect("quiet");
    assert_eq!(fixture.machine.info().counts().ignored, 2);
    fixture.machine.release(actor);
    assert!(fixture.machine.send(actor, None, integer(1)).is_err());
}

#[test]
fn a_machine_stops_in_the_middle_of_endless_work() {
    let mut a = Assembler::default();
    let code = vec![Instr::SelfAddress { dst: 2 }, send(r(2), r(1)), Instr::Done];
    a.behaviour("actor", 1, 3, code);
    let fixture = Fixture::new(a.unit());
    let actor = fixture.create("actor", &[]);
    fixture.send(actor, 0);
    let start = Instant::now();
    while fixture.machine.info().counts().turns < 1_000 {
        assert!(start.elapsed() < PATIENCE, "it does not go on");
        std::thread::sleep(Duration::from_millis(1));
    }
    fixture.machine.stop();
    fixture.machine.join();
}

#[test]
fn what_is_of_another_machine_is_refused() {
    let (here, there) = (
        Fixture::new(programs::fork_bomb()),
        Fixture::new(programs::fork_bomb()),
    );
    let node = |fixture: &Fixture| {
        let name = (Atom::new("Test"), Atom::new("node"));
        fixture.machine.behaviour(name.0, name.1, 1).unwrap().0
    };
    let captures = |write: &dyn Fn(&mut Builder)| {
        let mut builder = Builder::new();
        builder.tuple(1);
        write(&mut builder);
        builder.finish()
    };
    let nothing = captures(&|b| b.empty_list());
    let refused = here.machine.create(&node(&there), None, nothing);
    assert_eq!(refused, Err(CreateError::OtherMachine));
    assert!(CreateError::OtherMachine
        .to_string()
        .contains("another machine"));
    let (ours, theirs) = (here.create("node", &[]), there.create("node", &[]));
    let address = || captures(&|b| b.address(there.machine.hold(theirs).unwrap()));
    let refused = here.machine.create(&node(&here), None, address());
    assert_eq!(refused, Err(CreateError::OtherMachine));
    assert!(here.machine.send(ours, None, address()).is_err());
    assert!(there.machine.send(theirs, None, address()).is_ok());
    assert!(here.machine.hold(theirs).is_none());
}
