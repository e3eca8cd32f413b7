//! An abort within a call that has a site is reported with that site and the arguments of the call, in both tiers.

use crate::build::{abort, call, k, mov, r, ret, tail, tuple, Build};
use crate::compiler;
use crate::encode::encode;
use crate::rig::{self, integers, quiet, until};
use crate::world;
use mote_vm::base::clock::ClockKind;
use mote_vm::code::ir::{CallSite, Constant, Instr, Unit};
use mote_vm::machine::{Abort, Config, Embedder, Fault, Machine, Tier, DEFAULT_FUEL};
use mote_vm::threads::seeded::Schedule;
use std::sync::{Arc, Mutex};

/// Keeps the reasons of aborts.
#[derive(Clone, Default)]
struct Reasons(Arc<Mutex<Vec<String>>>);

impl Embedder for Reasons {
    fn aborted(&self, _: &Machine, abort: Abort<'_>) -> bool {
        self.0.lock().unwrap().push(world::show(abort.reason));
        true
    }
    fn fault(&self, _: &Machine, fault: Fault) {
        panic!("{}", fault.text);
    }
}

/// Behaviours that call, in one way or another, what raises `{:raised, {:lib, 7}, {2}}`.
fn unit() -> Unit {
    let mut b = Build::new();
    let one = b.constant(Constant::Integer(1));
    let two = b.constant(Constant::Integer(2));
    let atom = |b: &mut Build, name: &str| {
        let atom = b.atom(name);
        b.constant(Constant::Atom(atom))
    };
    let [raised, lib, mine, other] =
        ["raised", "lib", "mine", "other"].map(|name| atom(&mut b, name));
    let within = b.constant(Constant::Tuple(vec![lib, one]));
    let place = b.constant(Constant::Tuple(vec![mine, one]));
    let further = b.constant(Constant::Tuple(vec![mine, two]));
    let inner = b.uses("Test", "inner", 1);
    let outer = b.uses("Test", "outer", 2);
    let last = b.uses("Test", "last", 2);
    let user = b.uses("Test", "user", 1);
    let stops = b.uses("Test", "stops", 2);
    let raise = vec![
        tuple(1, [r(0)]),
        tuple(2, [k(raised), k(within), r(1)]),
        abort(r(2)),
    ];
    let start = mov(1, k(one));
    // The answer would go where an argument is.
    let calls = |function| {
        vec![
            start.clone(),
            call(1, function, vec![r(1), k(two)]),
            Instr::Done,
        ]
    };
    let mut unit = b
        .function("inner", 1, raise.clone())
        .function("outer", 2, vec![call(2, inner, vec![r(1)]), ret(r(2))])
        .function("last", 2, vec![tail(inner, [r(1)])])
        .function(
            "user",
            1,
            vec![call(1, outer, vec![r(0), k(two)]), ret(r(1))],
        )
        .function("stops", 2, vec![abort(k(other))])
        .behaviour("site", 0, calls(outer))
        .behaviour("behind", 0, calls(last))
        .behaviour("none", 0, calls(outer))
        .behaviour(
            "nearest",
            0,
            vec![start.clone(), call(1, user, vec![r(1)]), Instr::Done],
        )
        .behaviour("stopped", 0, calls(stops))
        .behaviour("itself", 0, raise)
        .0;
    for (behaviour, place) in [(0, place), (1, place), (3, further), (4, place)] {
        unit.behaviours[behaviour]
            .sites
            .push(CallSite { at: 1, place });
    }
    unit.module = "Test".to_string();
    unit.functions[3].sites.push(CallSite { at: 0, place });
    unit
}

#[test]
fn the_nearest_call_with_a_site_tells_of_an_abort() {
    for tier in [Tier::Interpreter, Tier::Native] {
        let reasons = Reasons::default();
        let config = Config {
            name: "test".to_string(),
            sponsors: vec![world::sponsor("main", 1)],
            fuel: DEFAULT_FUEL,
            memory: usize::MAX,
            gc: Default::default(),
            clock: ClockKind::Manual,
            schedule: Schedule::Threads,
            compiler: compiler::of(tier),
        };
        let machine = Machine::start(config, Box::new(reasons.clone())).expect("starts");
        machine.load(&encode(&unit()), &|_, _| None).expect("loads");
        until(|| machine.info().native.pending == 0);
        let names = ["site", "behind", "none", "nearest", "stopped", "itself"];
        let told = names.map(|name| {
            let actor = rig::create(&machine, name, 0, None, |_| ());
            machine.send(actor, None, integers(&[4])).unwrap();
            quiet(&machine);
            machine.release(actor);
            reasons.0.lock().unwrap().pop().expect("aborted")
        });
        let expected = [
            "{:raised, {:mine, 1}, {1, 2}}",
            "{:raised, {:mine, 1}, {1, 2}}",
            "{:raised, {:lib, 1}, {2}}",
            "{:raised, {:mine, 1}, {1, 2}}",
            ":other",
            "{:raised, {:lib, 1}, {4}}",
        ];
        assert_eq!(told, expected, "{tier:?}");
        machine.stop();
        machine.join();
    }
}
