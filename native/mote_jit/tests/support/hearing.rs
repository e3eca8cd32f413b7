//! What one turn says to the outside: a unit's behaviour `all` gets one message, where to send things.
#![allow(dead_code)] // Every test binary takes what it needs.

use crate::compiler;
use crate::rig::long;
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::Builder;
use mote_vm::heap::pace::GcConfig;
use mote_vm::machine::{Abort, Config, Embedder, Fault, Machine, Tier};
use mote_vm::threads::sponsor::SponsorConfig;
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign, ForeignRef};
use mote_vm::{Origin, Term, View};
use proptest::prelude::ProptestConfig;
use std::cmp::Ordering;
use std::fmt::Display;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Returns the configuration of a property for so many cases, or for those of the long versions (`MOTE_LONG=1`). Each run has a seed of
/// its own: what few cases find in many runs, many find at once.
pub fn cases(few: u32, many: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if long() { many } else { few },
        failure_persistence: None,
        ..Default::default()
    }
}

/// Messages and aborts, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// Messages that were sent.
    pub messages: Vec<String>,
    /// Reasons why turns were aborted.
    pub aborts: Vec<String>,
}

type Notes = Arc<Mutex<Heard>>;

struct Ears(Notes);

impl Embedder for Ears {
    fn aborted(&self, _machine: &Machine, abort: Abort<'_>) -> bool {
        let reason = text(abort.reason);
        self.0.lock().unwrap().aborts.push(reason);
        true
    }
    fn fault(&self, _machine: &Machine, fault: Fault) {
        let text = format!("fault: {}", fault.text);
        self.0.lock().unwrap().aborts.push(text);
    }
}

/// The process that listens, or what an opaque constant stands for.
struct Stranger {
    class: Class,
    notes: Option<Notes>,
}

impl Foreign for Stranger {
    fn class(&self) -> Class {
        self.class
    }
    fn is_address(&self) -> bool {
        self.notes.is_some()
    }
    fn deliver(&self, message: Term<'_>, _machine: &dyn Carrier) -> Delivery {
        if let Some(notes) = &self.notes {
            notes.lock().unwrap().messages.push(text(message));
        }
        Delivery::Done
    }
    fn compare(&self, _other: &dyn Foreign) -> Ordering {
        Ordering::Equal
    }
}

/// Returns everything that the behaviour `all` of a unit says in a turn with that much fuel.
pub fn heard(unit: &[u8], tier: Tier, fuel: u64) -> Heard {
    let notes = Notes::default();
    let config = Config {
        name: "hearing".to_string(),
        sponsors: vec![SponsorConfig::new(Atom::new("main"), 1)],
        fuel,
        memory: 1 << 30,
        gc: GcConfig::default(),
        clock: ClockKind::System,
        schedule: mote_vm::threads::seeded::Schedule::Threads,
        compiler: compiler::of(tier),
    };
    let machine = Machine::start(config, Box::new(Ears(notes.clone()))).expect("starts");
    let opaque = |class, _: &[u8]| -> Option<ForeignRef> {
        let class = Class::from_number(class as u8)?;
        Some(Arc::new(Stranger { class, notes: None }))
    };
    machine.load(unit, &opaque).expect("fit to run");
    machine.wait_for_compiler();
    assert_eq!(machine.info().native.refused, 0);
    let module = Atom::new(super::build::MODULE);
    let (behaviour, _) = machine
        .behaviour(module, Atom::new("all"), 0)
        .expect("loaded");
    let mut captures = Builder::new();
    captures.tuple(0);
    let actor = machine
        .create(&behaviour, None, captures.finish())
        .expect("room");
    let mut message = Builder::new();
    message.foreign(Arc::new(Stranger {
        class: Class::Pid,
        notes: Some(notes.clone()),
    }));
    machine.send(actor, None, message.finish()).expect("room");
    let (tell, told) = channel();
    machine.when_quiet(Box::new(move || {
        let _ = tell.send(());
    }));
    told.recv().expect("the turn ends");
    let counts = machine.info().counts();
    let interpreted = machine.info().native.tier == Tier::Interpreter;
    assert_eq!(counts.interpreted, u64::from(interpreted), "of {counts:?}");
    machine.stop();
    machine.join();
    let heard = notes.lock().unwrap();
    heard.clone()
}

/// Returns the same, heard on both tiers, which must not differ in it; `what` names the trial.
pub fn heard_alike(unit: &[u8], fuel: u64, what: &str) -> Heard {
    let [interpreted, native] =
        [Tier::Interpreter, Tier::Native].map(|tier| heard(unit, tier, fuel));
    assert_eq!(interpreted, native, "{what}");
    interpreted
}

/// Returns the messages, of which each has its label, heard alike on both tiers.
pub fn heard_each<L: Display>(unit: &[u8], labels: &[L]) -> Vec<String> {
    let [interpreted, native] =
        [Tier::Interpreter, Tier::Native].map(|tier| heard(unit, tier, 1 << 40));
    assert_eq!(interpreted.messages.len(), labels.len(), "{interpreted:?}");
    for (i, label) in labels.iter().enumerate() {
        let native = native.messages.get(i);
        assert_eq!(Some(&interpreted.messages[i]), native, "{label}");
    }
    assert_eq!(interpreted, native);
    interpreted.messages
}

fn text<'m, O: Origin<'m>>(term: Term<'m, O>) -> String {
    let mut text = String::new();
    write(term, &mut text);
    text
}

fn write<'m, O: Origin<'m>>(term: Term<'m, O>, to: &mut String) {
    match term.view() {
        View::Integer(n) => to.push_str(&n.to_string()),
        View::Big(big) => to.push_str(&format!("{big:?}")),
        View::Float(f) => to.push_str(&format!("{f:?}")),
        View::Atom(atom) => to.push_str(&format!(":{}", atom.name())),
        View::EmptyList => to.push_str("[]"),
        View::Cons(head, tail) => {
            to.push('[');
            write(head, to);
            to.push('|');
            write(tail, to);
            to.push(']');
        }
        View::Tuple(elements) => {
            to.push('{');
            for element in elements.iter() {
                write(element, to);
                to.push(',');
            }
            to.push('}');
        }
        View::Map(map) => to.push_str(&format!("a map of {}", map.iter().count())),
        View::Bytes(bytes) => to.push_str(&format!("{:?}", String::from_utf8_lossy(bytes))),
        View::Bits(bits) => to.push_str(&format!("{:?} less {}", bits.padded(), bits.unused())),
        View::Foreign(foreign) => to.push_str(&format!("{:?}", foreign.class())),
        View::Function(function) => to.push_str(&format!("a function of {}", function.arity)),
        View::Timer(_) => to.push_str("a timer"),
        View::Uncommitted(_) => to.push_str("what was not committed"),
        View::On(..) => to.push_str("a reference with a sponsor"),
        View::Address(_) => to.push_str("an address"),
    }
}
