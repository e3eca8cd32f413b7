//! A unit on trial: each of its behaviours gets a few messages, and everything that can be seen from outside is
//! written down. For code that nobody has thought of: what it does matters less than that it always does the same.
#![allow(dead_code)] // Each user takes what it needs.
use crate::compiler;
use mote_vm::base::atom::Atom;
use mote_vm::base::clock::ClockKind;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Constant, Instr, Operand, Unit};
use mote_vm::heap::pace::GcConfig;
use mote_vm::machine::{Abort, Config, CreateError, Embedder, Fault, Inspection, Machine, Tier};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::threads::sponsor::SponsorConfig;
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign, ForeignRef};
use mote_vm::values::handles::Key;
use mote_vm::{Origin, Term, View};
use std::cmp::Ordering;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Little, so that loops that never end are over soon.
const FUEL: u64 = 500;
const MEMORY: usize = 64 << 20;
/// Turns after which the work that a message leads to counts as endless.
const TURNS: u64 = 5_000;
/// Time until the machine is looked at, and time until something is wrong.
const LOOK: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines after which nothing more is written down, and parts written down of a term.
const LINES: usize = 2_000;
const PARTS: usize = 60;

/// Everything seen of a unit.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Lines in order: messages that left, turns that aborted, and after each message to an actor what it has become.
    pub lines: Vec<String>,
    /// True if it came to an end.
    pub ended: bool,
}

impl Seen {
    /// Returns whether both saw the same, as far as both have seen anything. The outcome when memory ends depends on how much of it is
    /// needed, which is nobody's promise.
    pub fn agrees(&self, other: &Seen) -> bool {
        let full = |line: &&String| line.contains(":no_memory");
        let both = self.lines.iter().zip(&other.lines);
        let mut both = both.take_while(|(a, b)| !full(a) && !full(b));
        let full = self.lines.iter().chain(&other.lines).any(|l| full(&l));
        let cut = full || !self.ended || !other.ended;
        both.all(|(a, b)| a == b) && (cut || self.lines.len() == other.lines.len())
    }
}

/// Returns whether the unit may find out which of two addresses is greater. That is the order of places in memory, another one in each
/// machine. A comparison with a constant never compares two addresses, because constants have none.
pub fn may_order_addresses(unit: &Unit) -> bool {
    use Primitive::{Ge, Gt, Le, Lt, MapNew, MapPut, Max, Min};
    let functions = unit.functions.iter().flat_map(|f| &f.code);
    let behaviours = unit.behaviours.iter().flat_map(|b| &b.code);
    functions.chain(behaviours).any(|instr| match instr {
        Instr::Op {
            primitive, args, ..
        }
        | Instr::GuardOp {
            primitive, args, ..
        } => match primitive {
            Lt | Le | Gt | Ge | Max | Min => {
                args.iter().all(|arg| matches!(arg, Operand::Register(_)))
            }
            MapNew | MapPut => true,
            _ => false,
        },
        _ => false,
    })
}

/// Returns whether the unit does the same whenever it is run: nothing depends on chance, and no timer is due.
pub fn is_deterministic(unit: &Unit) -> bool {
    let far = |delay: &Operand| match delay {
        Operand::Constant(n) => {
            matches!(unit.constants[*n as usize], Constant::Integer(ms) if ms > 1 << 40)
        }
        Operand::Register(_) => false,
    };
    let functions = unit.functions.iter().flat_map(|f| &f.code);
    let behaviours = unit.behaviours.iter().flat_map(|b| &b.code);
    functions.chain(behaviours).all(|instr| match instr {
        Instr::SendAfter { delay, .. } => far(delay),
        Instr::Op { primitive, .. } | Instr::GuardOp { primitive, .. } => primitive.is_pure(),
        _ => true,
    })
}

type Lines = Arc<Mutex<Vec<String>>>;

fn note(lines: &Lines, line: String) {
    let mut lines = lines.lock().unwrap();
    if lines.len() < LINES {
        lines.push(line);
    }
}

struct Ears(Lines);

impl Embedder for Ears {
    fn aborted(&self, _machine: &Machine, abort: Abort<'_>) -> bool {
        let (name, reason) = (abort.behaviour.name(), show(abort.reason));
        note(&self.0, format!("{name} aborted: {reason}"));
        true
    }
    fn fault(&self, _machine: &Machine, fault: Fault) {
        note(&self.0, format!("fault: {}", fault.text));
    }
}

/// A process outside, or what an opaque constant stands for.
struct Stranger {
    class: Class,
    number: usize,
    lines: Option<Lines>,
}

impl Foreign for Stranger {
    fn class(&self) -> Class {
        self.class
    }
    fn is_address(&self) -> bool {
        self.lines.is_some()
    }
    fn deliver(&self, message: Term<'_>, _machine: &dyn Carrier) -> Delivery {
        let Some(lines) = &self.lines else {
            return Delivery::NoAddress;
        };
        note(lines, format!("sent: {}", show(message)));
        Delivery::Done
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        let other = other.as_any().downcast_ref::<Stranger>();
        self.number
            .cmp(&other.map_or(usize::MAX, |other| other.number))
    }
}

/// A machine with one thread, and what was seen of it.
pub struct Court {
    machine: Machine,
    lines: Lines,
}

impl Court {
    pub fn new(tier: Tier) -> Court {
        let lines = Lines::default();
        let config = Config {
            name: "trial".to_string(),
            sponsors: vec![SponsorConfig::new(Atom::new("main"), 1)],
            fuel: FUEL,
            memory: MEMORY,
            gc: GcConfig::default(),
            clock: ClockKind::System,
            schedule: mote_vm::threads::seeded::Schedule::Threads,
            compiler: compiler::of(tier),
        };
        let machine = Machine::start(config, Box::new(Ears(lines.clone()))).expect("starts");
        Court { machine, lines }
    }

    /// Loads a unit. Returns what the machine says when it refuses.
    pub fn load(&self, bytes: &[u8]) -> Result<(), String> {
        let opaque = |class, bytes: &[u8]| -> Option<ForeignRef> {
            let class = Class::from_number(class as u8)?;
            let (number, lines) = (bytes.len(), None);
            Some(Arc::new(Stranger {
                class,
                number,
                lines,
            }))
        };
        let loaded = self.machine.load(bytes, &opaque);
        self.machine.wait_for_compiler();
        loaded.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Returns the number of loaded codes for which native code is refused.
    pub fn refused(&self) -> usize {
        self.machine.info().native.refused
    }

    /// Sends messages to an actor of each behaviour of a unit that was loaded. Whether it came to an end.
    pub fn hear(&self, unit: &Unit) -> Seen {
        let ended = unit.behaviours.iter().all(|behaviour| {
            let (module, name) = (&unit.module, &unit.atoms[behaviour.name as usize]);
            self.behaviour(module, name, behaviour.captures as usize)
        });
        let lines = std::mem::take(&mut *self.lines.lock().unwrap());
        Seen { lines, ended }
    }

    fn behaviour(&self, module: &str, name: &str, captures: usize) -> bool {
        let (module, atom) = (Atom::new(module), Atom::new(name));
        let found = self.machine.behaviour(module, atom, captures);
        let (behaviour, _) = found.expect("loaded");
        let mut builder = Builder::new();
        builder.tuple(captures);
        for i in 0..captures {
            self.write(&mut builder, i, None);
        }
        let actor = self.machine.create(&behaviour, None, builder.finish());
        let actor = match actor {
            // Its turns run outside only, where nobody is.
            Err(CreateError::Misplaced) => return true,
            actor => actor.expect("room"),
        };
        let ended = (0..SAMPLES).all(|i| {
            let message = self.sample(i, actor);
            let before = self.machine.info().counts();
            self.machine.send(actor, None, message).expect("room");
            if !self.quiet(before.turns) {
                return false;
            }
            let after = self.machine.info().counts();
            let looked = self.look(actor);
            let counts = counted(&after).zip(counted(&before));
            let counts: Vec<String> = counts
                .filter(|((_, a), (_, b))| a != b)
                .map(|((name, a), (_, b))| format!("{name} {}", a - b))
                .collect();
            note(
                &self.lines,
                format!("{name}, message {i}: {}; {looked}", counts.join(", ")),
            );
            true
        });
        self.machine.release(actor);
        ended
    }

    /// Returns whether the machine becomes quiet before it has taken `TURNS` more turns than `before`.
    fn quiet(&self, before: u64) -> bool {
        let (tell, told) = channel();
        let ticket = self.machine.when_quiet(Box::new(move || {
            let _ = tell.send(());
        }));
        let start = Instant::now();
        loop {
            match told.recv_timeout(LOOK) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the machine has ended: {:?}", self.lines)
                }
            }
            if self.machine.info().counts().turns > before + TURNS {
                self.machine.forget(ticket);
                return false;
            }
            assert!(start.elapsed() < PATIENCE, "it neither ends nor goes on");
        }
    }

    /// The actor's behaviour and captures.
    fn look(&self, actor: Key) -> String {
        let (tell, told) = channel();
        let look = move |_: &Machine, seen: Inspection<'_>| {
            let captures: Vec<String> = seen.captures.into_iter().map(show).collect();
            let _ = tell.send(format!(
                "{}({})",
                seen.behaviour.name.name(),
                captures.join(", ")
            ));
        };
        assert!(self.machine.inspect(actor, Box::new(look)));
        told.recv_timeout(PATIENCE).expect("looked")
    }

    fn sample(&self, i: usize, actor: Key) -> Parcel {
        let mut builder = Builder::new();
        self.write(&mut builder, i, Some(actor));
        builder.finish()
    }

    /// Writes one of a few values of all kinds; those with addresses come first, as they get furthest.
    fn write(&self, b: &mut Builder, i: usize, me: Option<Key>) {
        match i % SAMPLES {
            0 => b.foreign(Arc::new(Stranger {
                class: Class::Pid,
                number: 0,
                lines: Some(self.lines.clone()),
            })),
            1 => assert!(b.integer(3)),
            2 => {
                b.list(3);
                assert!(b.integer(-1));
                b.float(2.5);
                b.empty_list();
                b.empty_list();
            }
            3 => {
                b.tuple(2);
                self.write(b, 0, me);
                self.write(b, 1, me);
            }
            4 => match me {
                Some(me) => b.address(self.machine.hold(me).expect("an actor of this machine")),
                None => b.atom(Atom::new("nobody")),
            },
            5 => b.float(1e300),
            6 => b.bytes(b"bytes"),
            7 => assert!(b.integer(mote_vm::values::value::FIXNUM_MAX)),
            8 => {
                b.on();
                b.atom(Atom::new("main"));
                self.write(b, 4, me);
            }
            _ => b.atom(Atom::new("true")),
        }
    }
}

const SAMPLES: usize = 10;

impl Drop for Court {
    fn drop(&mut self) {
        self.machine.stop();
        self.machine.join();
    }
}

/// Returns the counters that do not depend on when something happened.
fn counted(counts: &mote_vm::base::counters::Counts) -> impl Iterator<Item = (&'static str, u64)> {
    let names = |name: &str| {
        let mine = ["turns", "sends", "creates", "becomes", "ignored", "dropped"];
        mine.contains(&name) || name.starts_with("aborts")
    };
    counts
        .entries()
        .into_iter()
        .filter(move |(name, _)| names(name))
}

/// A term as text, as much of it as fits.
fn show<'m, O: Origin<'m>>(term: Term<'m, O>) -> String {
    let mut text = String::new();
    write(term, &mut text, &mut PARTS.clone());
    text
}

fn write<'m, O: Origin<'m>>(term: Term<'m, O>, text: &mut String, parts: &mut usize) {
    if *parts == 0 {
        return text.push('…');
    }
    *parts -= 1;
    match term.view() {
        View::Integer(n) => text.push_str(&n.to_string()),
        View::Big(big) => text.push_str(&format!("{big:?}")),
        View::Float(f) => text.push_str(&format!("{f:?}")),
        View::Atom(atom) => text.push_str(&format!(":{}", atom.name())),
        View::EmptyList => text.push_str("[]"),
        View::Cons(head, tail) => {
            text.push('[');
            write(head, text, parts);
            text.push('|');
            write(tail, text, parts);
            text.push(']');
        }
        View::Tuple(elements) => {
            text.push('{');
            for element in elements.iter().take(PARTS) {
                write(element, text, parts);
                text.push(',');
            }
            text.push('}');
        }
        View::Map(map) => {
            text.push_str("%{");
            for (key, value) in map.iter().take(PARTS) {
                write(key, text, parts);
                text.push('=');
                write(value, text, parts);
                text.push(',');
            }
            text.push('}');
        }
        View::Bytes(bytes) => text.push_str(&format!("{:?}", String::from_utf8_lossy(bytes))),
        View::Bits(bits) => text.push_str(&format!("{:?} less {}", bits.padded(), bits.unused())),
        View::Foreign(foreign) => text.push_str(&format!("{:?}", foreign.class())),
        View::Function(function) => text.push_str(&format!("function of {}", function.arity)),
        View::Timer(_) => text.push_str("timer"),
        View::Uncommitted(_) => text.push_str("uncommitted"),
        View::On(sponsor, address) => {
            text.push_str("on ");
            write(sponsor, text, parts);
            text.push(' ');
            write(address, text, parts);
        }
        View::Address(_) => text.push_str("address"),
    }
}
