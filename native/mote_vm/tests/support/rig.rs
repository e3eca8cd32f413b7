//! A machine with code in it, for tests of threads: create, send, wait until quiet, look inside.
#![allow(dead_code)] // Every test binary takes what it needs.
use crate::encode::encode;
use crate::programs::Assembler;
use crate::world::{
    machine_by, machine_seeded, machine_that_collects_when_asked, machine_under, show, stress,
    World,
};
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::base::counters::Counts;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::Unit;
use mote_vm::gc::GcInfo;
use mote_vm::heap::pace::Stress;
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign, ForeignRef};
use mote_vm::values::handles::Key;
use mote_vm::Term;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Collects, and returns what a machine found.
pub fn collect(machine: &Machine) -> GcInfo {
    let (tell, told) = channel();
    machine.collect(move || {
        let _ = tell.send(());
    });
    told.recv_timeout(PATIENCE).expect("collected");
    machine.info().gc
}

/// Longest time that anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns whether the long versions were asked for: `MOTE_LONG=1`.
pub fn long() -> bool {
    std::env::var("MOTE_LONG").is_ok_and(|long| long != "0")
}

/// A running machine; stopped and joined at the end.
pub struct Rig {
    pub machine: Machine,
    pub world: Mutex<World>,
}

impl Rig {
    pub fn new(sponsors: &[(&str, usize)], unit: Unit) -> Rig {
        Rig::by(ClockKind::System, sponsors, unit)
    }

    /// A machine whose time comes from a clock of that kind.
    pub fn by(clock: ClockKind, sponsors: &[(&str, usize)], unit: Unit) -> Rig {
        Rig::of(machine_by(clock, sponsors), unit)
    }

    /// A machine under a stress of its own, with so much memory.
    pub fn under(stress: Stress, memory: usize, sponsors: &[(&str, usize)], unit: Unit) -> Rig {
        Rig::of(
            machine_under(stress, memory, ClockKind::System, sponsors),
            unit,
        )
    }

    /// A machine that collects when somebody asks and at no other time, but for stress: its threads sleep on while nothing
    /// comes.
    pub fn collects_when_asked(clock: ClockKind, sponsors: &[(&str, usize)], unit: Unit) -> Rig {
        Rig::of(machine_that_collects_when_asked(clock, sponsors), unit)
    }

    /// A seeded machine.
    pub fn seeded(clock: ClockKind, sponsors: &[(&str, usize)], unit: Unit) -> Rig {
        Rig::of(machine_seeded(clock, sponsors), unit)
    }

    fn of((machine, world): (Machine, World), unit: Unit) -> Rig {
        machine.load(&encode(&unit), &|_, _| None).expect("loads");
        let world = Mutex::new(world);
        Rig { machine, world }
    }

    /// A new actor; `write` writes its captures.
    pub fn create(&self, name: &str, captures: usize, write: impl FnOnce(&mut Builder)) -> Key {
        create(&self.machine, name, captures, None, write)
    }

    /// Creates an actor pinned to a sponsor.
    pub fn create_on(
        &self,
        sponsor: &str,
        name: &str,
        captures: usize,
        write: impl FnOnce(&mut Builder),
    ) -> Key {
        create(&self.machine, name, captures, Some(sponsor), write)
    }

    /// Sends by the first sponsor.
    pub fn send(&self, target: Key, message: Parcel) {
        self.machine.send(target, None, message).expect("room");
    }

    /// Sends by a sponsor.
    pub fn send_by(&self, sponsor: &str, target: Key, message: Parcel) {
        let sponsor = self.machine.sponsor(Atom::new(sponsor));
        self.machine.send(target, sponsor, message).expect("room");
    }

    /// Collects, and returns what was found.
    pub fn collect(&self) -> GcInfo {
        collect(&self.machine)
    }

    /// Waits until there is nothing to do.
    pub fn quiet(&self) {
        quiet(&self.machine);
    }

    /// Returns an actor's captures, as text.
    pub fn captures(&self, key: Key) -> Vec<String> {
        let (tell, told) = channel();
        let look = move |_: &Machine, seen: mote_vm::machine::Inspection<'_>| {
            let _ = tell.send(seen.captures.into_iter().map(show).collect());
        };
        assert!(self.machine.inspect(key, Box::new(look)));
        told.recv_timeout(PATIENCE).expect("looked")
    }

    /// The counters of one sponsor's threads.
    pub fn threads(&self, sponsor: &str) -> Vec<Counts> {
        let info = self.machine.info();
        let mut sponsors = info.sponsors.into_iter();
        let found = sponsors.find(|s| s.name == Atom::new(sponsor));
        found.expect("a sponsor of that name").threads
    }

    /// Returns the number of all turns so far.
    pub fn turns(&self) -> u64 {
        self.machine.info().counts().turns
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.machine.stop();
        self.machine.join();
    }
}

/// See [`Rig::create`].
pub fn create(
    machine: &Machine,
    name: &str,
    captures: usize,
    sponsor: Option<&str>,
    write: impl FnOnce(&mut Builder),
) -> Key {
    let found = machine.behaviour(Atom::new("Test"), Atom::new(name), captures);
    let (behaviour, _) = found.expect("a behaviour of that name");
    let pinned = sponsor.map(|name| machine.sponsor(Atom::new(name)).expect("a sponsor"));
    let mut builder = Builder::new();
    builder.tuple(captures);
    write(&mut builder);
    machine
        .create(&behaviour, pinned, builder.finish())
        .expect("room")
}

/// Does something at the end of a block, even if that is a panic. So threads that go on until it is over do
/// end, and a scope that waits for them does not wait for ever.
pub struct Finally<F: Fn()>(pub F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Waits until the machine says that it is quiet.
pub fn quiet(machine: &Machine) {
    let (tell, told) = channel();
    machine.when_quiet(Box::new(move || {
        let _ = tell.send(());
    }));
    told.recv_timeout(PATIENCE).expect("quiet");
}

/// Waits until something is so.
pub fn until(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A parcel of these integers: one for itself, several as a tuple.
pub fn integers(numbers: &[i64]) -> Parcel {
    let mut builder = Builder::new();
    if numbers.len() != 1 {
        builder.tuple(numbers.len());
    }
    for n in numbers {
        assert!(builder.integer(*n));
    }
    builder.finish()
}

/// Writes an integer.
pub fn int(builder: &mut Builder, n: i64) {
    assert!(builder.integer(n));
}

/// Writes an address.
pub fn address(machine: &Machine, builder: &mut Builder, key: Key) {
    builder.address(machine.hold(key).expect("a handle of this machine"));
}

type Act = Box<dyn Fn(Term<'_>, &dyn Carrier) + Send + Sync>;

/// A place outside that counts what comes, and may do something with it.
pub struct Tap {
    count: AtomicU64,
    act: Act,
}

impl Tap {
    pub fn new() -> Arc<Tap> {
        Tap::with(|_, _| ())
    }

    pub fn with(act: impl Fn(Term<'_>, &dyn Carrier) + Send + Sync + 'static) -> Arc<Tap> {
        Arc::new(Tap {
            count: AtomicU64::new(0),
            act: Box::new(act),
        })
    }

    pub fn count(&self) -> u64 {
        self.count.load(SeqCst)
    }
}

impl Foreign for Tap {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver(&self, message: Term<'_>, machine: &dyn Carrier) -> Delivery {
        (self.act)(message, machine);
        self.count.fetch_add(1, SeqCst);
        Delivery::Done
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        (self as *const Tap).cmp(&(other as *const dyn Foreign).cast())
    }
}

/// A tap as a value.
pub fn foreign(tap: &Arc<Tap>) -> ForeignRef {
    tap.clone()
}

/// Adds `spin(n)`: n loop steps, one unit of fuel each, and the number of it among the functions used.
pub fn spin(a: &mut Assembler) -> u32 {
    use crate::build::{is, op, ret, tail};
    use crate::programs::r;
    use mote_vm::terms::prim::primitive::Primitive;
    let spin = a.function_used("spin", 1);
    let (zero, one) = (a.int(0), a.int(1));
    let code = vec![
        is(r(0), zero, 2),
        ret(zero),
        op(1, Primitive::Sub, [r(0), one]),
        tail(spin, [r(1)]),
    ];
    a.function("spin", 1, 2, code);
    spin
}

/// Returns whether a collection comes at every opportunity.
pub fn stressed() -> bool {
    stress() != Stress::Off
}
