//! What an aborted turn has made has no address, whoever looks: in the reason of the abort, and in traces.

use crate::build::{abort, cons, create, op, send, send_after, tuple};
use crate::compiler;
use crate::encode;
use crate::programs::{r, Assembler};
use crate::rig::{self, address, foreign, integers, quiet, until, Tap, PATIENCE};
use crate::world;
use mote_vm::base::clock::ClockKind;
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::machine::{Abort, Config, Embedder, Fault, Machine, Tier, DEFAULT_FUEL};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::threads::seeded::Schedule;
use mote_vm::values::foreign::Carrier;
use mote_vm::values::handles::Key;
use mote_vm::watching::shown_turn::{SeenOutcome, TurnSeen};
use mote_vm::watching::trace::{Filter, Witness};
use mote_vm::{Origin, Term, View};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Everything seen, as text, and the actors that could be got hold of on the way, as the embedder does it.
#[derive(Default)]
struct Notes {
    seen: Vec<String>,
    held: Vec<Key>,
}

impl Notes {
    fn write<'m, O: Origin<'m>>(&mut self, machine: &dyn Carrier, term: Term<'m, O>) -> String {
        let all = |notes: &mut Notes, terms: Vec<Term<'m, O>>| {
            let parts = terms.into_iter().map(|part| notes.write(machine, part));
            parts.collect::<Vec<_>>().join(",")
        };
        match term.view() {
            View::Address(actor) => {
                self.held.push(machine.acquire(actor));
                "address".to_string()
            }
            View::Uncommitted(undone) => match undone.into().behaviour() {
                Some(behaviour) => format!("no {}", behaviour.name.name()),
                None => "no timer".to_string(),
            },
            View::Cons(head, tail) => format!("[{}]", all(self, vec![head, tail])),
            View::Tuple(elements) => format!("({})", all(self, elements.iter().collect())),
            View::Map(map) => {
                let parts = map.iter().flat_map(|(key, value)| [key, value]);
                format!("%({})", all(self, parts.collect()))
            }
            View::On(sponsor, target) => format!("on({})", all(self, vec![sponsor, target])),
            _ => world::show(term),
        }
    }
}

#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Notes>>);

impl Keeper {
    fn taken(&self) -> Notes {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Embedder for Keeper {
    fn aborted(&self, machine: &Machine, abort: Abort<'_>) -> bool {
        let mut notes = self.0.lock().unwrap();
        let text = notes.write(machine, abort.reason);
        notes.seen.push(text);
        true
    }
    fn fault(&self, _: &Machine, fault: Fault) {
        panic!("{}", fault.text);
    }
}

impl Witness for Keeper {
    fn wants(&self, _: Term<'_>) -> bool {
        true
    }
    fn turn(&self, machine: &dyn Carrier, _: u64, turn: &TurnSeen<'_>) -> bool {
        let mut notes = self.0.lock().unwrap();
        let outcome = match turn.outcome {
            SeenOutcome::Committed => "commits".to_string(),
            SeenOutcome::Ignored => "ignored".to_string(),
            SeenOutcome::Aborted(reason) => notes.write(machine, reason),
        };
        let creates: Vec<_> = turn
            .effects
            .creates
            .iter()
            .map(|new| notes.write(machine, new.actor))
            .collect();
        let sends = turn.effects.sends.len();
        notes
            .seen
            .push(format!("{outcome}: {creates:?}, {sends} sent"));
        true
    }
    fn limit(&self) {}
}

/// `bad(old)`: aborts with a new actor, an old one and a timer in its reason, nested in all kinds of terms. `later(tap)`:
/// creates an actor, arms a timer that sends it to the tap, and sends 1 to it. `fill()`: does nothing.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let fill = a.behaviour_used("fill", 0);
    let (main, million, one) = (a.atom("main"), a.int(1_000_000), a.int(1));
    let new = |dst| create(dst, fill, []);
    let after = |dst, target, message| send_after(dst, million, target, message);
    a.behaviour("fill", 0, 2, vec![tuple(1, vec![r(0), r(0)]), Instr::Done]);
    let code = vec![
        new(2),
        cons(3, r(2), r(0)),
        op(4, Primitive::On, vec![main, r(2)]),
        tuple(5, vec![r(2), r(0)]),
        op(6, Primitive::MapOf, vec![r(5)]),
        after(7, r(0), r(1)),
        tuple(8, vec![r(2), r(0), r(3), r(4), r(6), r(7)]),
        abort(r(8)),
    ];
    a.behaviour("bad", 1, 9, code);
    let send = send(r(2), one);
    let code = vec![new(2), after(3, r(0), r(2)), send, Instr::Done];
    a.behaviour("later", 1, 4, code);
    a.unit()
}

/// Each has its own way of writing down what a turn has done when it stops.
const TIERS: [Tier; 2] = [Tier::Interpreter, Tier::Native];

fn machine(keeper: &Keeper, memory: usize, tier: Tier) -> Machine {
    let config = Config {
        name: "test".to_string(),
        sponsors: vec![world::sponsor("main", 1)],
        fuel: DEFAULT_FUEL,
        memory,
        gc: Default::default(),
        clock: ClockKind::Manual,
        schedule: Schedule::Threads,
        compiler: compiler::of(tier),
    };
    let machine = Machine::start(config, Box::new(keeper.clone())).expect("starts");
    let unit = encode::encode(&unit());
    machine.load(&unit, &|_, _| None).expect("loads");
    until(|| machine.info().native.pending == 0);
    machine
}

fn collect(machine: &Machine) {
    let (tell, told) = channel();
    machine.collect(move || tell.send(()).unwrap());
    told.recv_timeout(PATIENCE).expect("collected");
}

/// Ends the machine, after a collection that meets whatever is held.
fn end(machine: &Machine) {
    collect(machine);
    machine.stop();
    machine.join();
}

const REASON: &str =
    "(no fill,address,[no fill,address],on(:main,no fill),%(no fill,address),no timer)";

fn fail(machine: &Machine) -> Key {
    let old = rig::create(machine, "fill", 0, None, |_| ());
    let bad = rig::create(machine, "bad", 1, None, |b| address(machine, b, old));
    machine.send(bad, None, integers(&[1])).unwrap();
    quiet(machine);
    // What the turn has made is overwritten.
    machine.send(old, None, integers(&[1])).unwrap();
    quiet(machine);
    old
}

#[test]
fn the_reason_of_an_abort_has_no_address_of_what_the_turn_has_made() {
    for tier in TIERS {
        let keeper = Keeper::default();
        let machine = machine(&keeper, usize::MAX, tier);
        let old = fail(&machine);
        let notes = keeper.taken();
        assert_eq!(notes.seen, [REASON]);
        assert!(notes.held.iter().all(|key| *key == old));
        end(&machine);
    }
}

#[test]
fn a_trace_shows_an_aborted_turn_with_what_there_would_have_been() {
    for tier in TIERS {
        let (keeper, tracer) = (Keeper::default(), Keeper::default());
        let machine = machine(&keeper, usize::MAX, tier);
        machine.trace(Filter::default(), u64::MAX, Box::new(tracer.clone()));
        let old = fail(&machine);
        let notes = tracer.taken();
        assert_eq!(notes.seen[0], format!("{REASON}: [\"no fill\"], 0 sent"));
        assert!(notes.held.iter().all(|key| *key == old));
        end(&machine);
    }
}

/// Checks a turn for whose timers there is no memory: that is found out at its commit.
#[test]
fn a_trace_shows_a_turn_that_ends_for_want_of_memory_as_aborted() {
    let (keeper, tracer) = (Keeper::default(), Keeper::default());
    let machine = machine(&keeper, 16 << 20, Tier::Native);
    let tap = Tap::new();
    let later = rig::create(&machine, "later", 1, None, |b| b.foreign(foreign(&tap)));
    let turn = || {
        machine.send(later, None, integers(&[1])).unwrap();
        quiet(&machine);
    };
    turn();
    machine.trace(Filter::default(), u64::MAX, Box::new(tracer.clone()));
    turn();
    let committed = tracer.taken();
    assert_eq!(committed.seen[0], "commits: [\"address\"], 1 sent");
    // All that there is goes elsewhere while the message waits, and nothing is left of what was lent to nearly empty blocks.
    machine.pause();
    machine.send(later, None, integers(&[1])).unwrap();
    let charge = machine.account().charge_anyway(32 << 20);
    machine.resume();
    quiet(&machine);
    let undone = tracer.taken();
    assert_eq!(undone.seen, [":no_memory: [\"no fill\"], 0 sent"]);
    assert!(undone.held.is_empty());
    drop(charge);
    committed
        .held
        .into_iter()
        .for_each(|key| machine.release(key));
    end(&machine);
}
