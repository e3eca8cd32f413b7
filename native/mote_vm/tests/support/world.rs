//! An outside for tests: a foreign value that forwards every message to a channel, and a record of aborts.
#![allow(dead_code)] // Each user takes what it needs.
use crate::compiler::compiler;
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::heap::pace::{GcConfig, Stress};
use mote_vm::machine::{Abort, Config, Embedder, Fault, Machine, DEFAULT_FUEL};
use mote_vm::threads::seeded::Schedule;
use mote_vm::threads::sponsor::SponsorConfig;
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign};
use mote_vm::{Origin, Term, View};
use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

/// Everything that the machine said, as text.
pub struct World {
    pub aborts: Receiver<String>,
    pub faults: Receiver<String>,
    /// The number of the newest question of the outside that is open; 0 if none is.
    pub question: Arc<AtomicU64>,
}

struct Ears {
    aborts: Sender<String>,
    faults: Sender<String>,
    question: Arc<AtomicU64>,
}

impl Embedder for Ears {
    fn aborted(&self, _machine: &Machine, abort: Abort<'_>) -> bool {
        let text = format!("{} {}", abort.behaviour.name(), show(abort.reason));
        self.aborts.send(text).is_ok()
    }
    fn fault(&self, _machine: &Machine, fault: Fault) {
        let (sponsor, behaviour) = (fault.sponsor.name(), fault.behaviour);
        let behaviour = behaviour.map_or("nothing", |(_, name)| name.name());
        let text = format!("{} by {sponsor} in {behaviour}", fault.text);
        let _ = self.faults.send(text);
    }
    fn newest_question(&self) -> Option<u64> {
        Some(self.question.load(SeqCst)).filter(|newest| *newest > 0)
    }
}

/// A running machine with one single-threaded sponsor `main`.
pub fn machine() -> (Machine, World) {
    machine_with(&[("main", 1)])
}

/// A running machine with sponsors of these names and numbers of threads.
pub fn machine_with(sponsors: &[(&str, usize)]) -> (Machine, World) {
    machine_by(ClockKind::System, sponsors)
}

/// Starts such a machine with time from a clock of that kind.
pub fn machine_by(clock: ClockKind, sponsors: &[(&str, usize)]) -> (Machine, World) {
    machine_under(stress(), usize::MAX, clock, sponsors)
}

/// Starts such a machine under a stress of its own, with so much memory.
pub fn machine_under(
    stress: Stress,
    memory: usize,
    clock: ClockKind,
    sponsors: &[(&str, usize)],
) -> (Machine, World) {
    start(
        gc_config(stress),
        memory,
        clock,
        sponsors,
        Schedule::Threads,
    )
}

/// Starts such a machine with seed 1.
pub fn machine_seeded(clock: ClockKind, sponsors: &[(&str, usize)]) -> (Machine, World) {
    let seeded = Schedule::Seeded {
        seed: 1,
        choices: u64::MAX,
    };
    start(gc_config(stress()), usize::MAX, clock, sponsors, seeded)
}

/// A running machine that collects as one does by default.
pub fn usual_machine(sponsors: &[(&str, usize)]) -> (Machine, World) {
    let schedule = Schedule::Threads;
    start(
        GcConfig::default(),
        usize::MAX,
        ClockKind::System,
        sponsors,
        schedule,
    )
}

/// A running machine that finds no collection due, but for stress.
pub fn machine_that_collects_when_asked(
    clock: ClockKind,
    sponsors: &[(&str, usize)],
) -> (Machine, World) {
    let gc = GcConfig {
        min: usize::MAX,
        ..gc_config(stress())
    };
    start(gc, usize::MAX, clock, sponsors, Schedule::Threads)
}

fn start(
    gc: GcConfig,
    memory: usize,
    clock: ClockKind,
    sponsors: &[(&str, usize)],
    schedule: Schedule,
) -> (Machine, World) {
    let (aborts, heard_aborts) = channel();
    let (faults, heard_faults) = channel();
    let config = Config {
        name: "test".to_string(),
        sponsors: sponsors
            .iter()
            .map(|(name, threads)| sponsor(name, *threads))
            .collect(),
        fuel: DEFAULT_FUEL,
        memory,
        gc,
        clock,
        schedule,
        compiler: compiler(),
    };
    let question = Arc::<AtomicU64>::default();
    let ears = Ears {
        aborts,
        faults,
        question: question.clone(),
    };
    let machine = Machine::start(config, Box::new(ears)).expect("starts");
    let world = World {
        aborts: heard_aborts,
        faults: heard_faults,
        question,
    };
    (machine, world)
}

/// Collections as small machines need them; at every opportunity under stress.
fn gc_config(stress: Stress) -> GcConfig {
    GcConfig {
        min: 8 << 20,
        stress,
        ..GcConfig::default()
    }
}

/// Returns the stress that `MOTE_GC_STRESS` asks for: `concurrent`, `moving`, or anything else for collections that mark in their pause.
pub fn stress() -> Stress {
    match std::env::var("MOTE_GC_STRESS").as_deref() {
        Err(_) | Ok("" | "0") => Stress::Off,
        Ok("concurrent") => Stress::Running,
        Ok("moving") => Stress::Moving,
        Ok(_) => Stress::Standing,
    }
}

/// An unbound sponsor.
pub fn sponsor(name: &str, threads: usize) -> SponsorConfig {
    SponsorConfig::new(Atom::new(name), threads)
}

/// A place outside that messages can be sent to.
pub struct Mailbox(Sender<String>);

impl Foreign for Mailbox {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver(&self, message: Term<'_>, _machine: &dyn Carrier) -> Delivery {
        match self.0.send(show(message)) {
            Ok(()) => Delivery::Done,
            Err(_) => Delivery::Dead,
        }
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        (self as *const Mailbox).cmp(&(other as *const dyn Foreign).cast())
    }
}

/// A mailbox and its reading end.
pub fn mailbox() -> (Arc<Mailbox>, Receiver<String>) {
    let (to, from) = channel();
    (Arc::new(Mailbox(to)), from)
}

/// A term as Elixir would write it.
pub fn show<'m, O: Origin<'m>>(term: Term<'m, O>) -> String {
    match term.view() {
        View::Integer(n) => n.to_string(),
        View::Big(big) => format!("{big:?}"),
        View::Float(f) => format!("{f:?}"),
        View::Atom(atom) => format!(":{}", atom.name()),
        View::EmptyList => "[]".to_string(),
        View::Cons(head, tail) => format!("[{} | {}]", show(head), show(tail)),
        View::Tuple(elements) => {
            let parts: Vec<String> = elements.iter().map(show).collect();
            format!("{{{}}}", parts.join(", "))
        }
        View::Map(map) => {
            let pair = |(key, value)| format!("{} => {}", show(key), show(value));
            let pairs: Vec<String> = map.iter().map(pair).collect();
            format!("%{{{}}}", pairs.join(", "))
        }
        View::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        View::Bits(bits) => format!("{:?} less {}", bits.padded(), bits.unused()),
        View::Foreign(_) => "foreign".to_string(),
        View::On(sponsor, address) => format!("on({}, {})", show(sponsor), show(address)),
        View::Address(_) => "address".to_string(),
        View::Function(function) => format!("function of {}", function.arity),
        View::Timer(_) => "timer".to_string(),
        View::Uncommitted(_) => "uncommitted".to_string(),
    }
}
