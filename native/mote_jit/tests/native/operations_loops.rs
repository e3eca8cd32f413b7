//! Loops that count: what they hand on to themselves is not tested for overflow in native code where it cannot overflow
//! within a slice of fuel (`counters` in src/dataflow.rs). Here it begins at the edges, on both tiers.

use crate::build::{call, is, k, op, r, ret, send, tail, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_each;
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// The largest step that needs no test.
const SMALL: i64 = 1 << 20;

const STEPS: [i64; 10] = [
    0,
    1,
    -1,
    SMALL,
    -SMALL,
    SMALL + 1,
    FIXNUM_MAX / 2,
    FIXNUM_MIN / 2,
    FIXNUM_MAX,
    FIXNUM_MIN,
];

const STARTS: [i64; 11] = [
    FIXNUM_MIN,
    FIXNUM_MIN + 2,
    FIXNUM_MIN / 2 - 1,
    FIXNUM_MIN / 2,
    FIXNUM_MIN / 2 + 4000 * SMALL,
    0,
    FIXNUM_MAX / 2 - 4000 * SMALL,
    FIXNUM_MAX / 2,
    FIXNUM_MAX / 2 + 1,
    FIXNUM_MAX - 2,
    FIXNUM_MAX,
];

/// Rounds: few, and more than there are in a slice of fuel.
const ROUNDS: [i64; 4] = [1, 2, 5, 4_200];

/// Registers of a loop: how many rounds are left, what it hands on, what it hands on next.
const LEFT: u16 = 0;
const FIRST: u16 = 1;
const SECOND: u16 = 2;
const NEXT: u16 = 3;
const NEXT_FIRST: u16 = 4;
const NEXT_SECOND: u16 = 5;
const SPARE: u16 = 6;

struct Table {
    build: Build,
    /// Loops: their number among the functions that are called, and what they do.
    loops: Vec<(u32, String)>,
}

impl Table {
    fn integer(&mut self, n: i64) -> Operand {
        k(self.build.constant(Constant::Integer(n)))
    }

    /// A loop of that body, which hands on what is in those two registers; in the last round but one `early`, if there is
    /// one, as the first of them.
    fn add(&mut self, what: &str, body: Vec<Instr>, hands_on: [u16; 2], early: Option<Operand>) {
        let name = format!("loop {}", self.loops.len());
        let me = self.build.uses(MODULE, &name, 3);
        let (none, one) = (self.integer(0), self.integer(1));
        let mut code = vec![
            is(r(LEFT), none, 3),
            tuple(NEXT, [r(FIRST), r(SECOND)]),
            ret(r(NEXT)),
            op(NEXT, P::Sub, [r(LEFT), one]),
        ];
        let tail = |first| tail(me, [r(NEXT), first, r(hands_on[1])]);
        code.extend(body);
        if let Some(other) = early {
            let label = code.len() as u32 + 2;
            code.push(is(r(NEXT), one, label));
            code.push(tail(other));
        }
        code.push(tail(r(hands_on[0])));
        let build = std::mem::replace(&mut self.build, Build::new());
        self.build = build.function(&name, 3, code);
        self.loops.push((me, what.to_string()));
    }
}

fn table() -> Table {
    let mut table = Table {
        build: Build::new(),
        loops: Vec::new(),
    };
    for step in STEPS {
        let by = table.integer(step);
        for (way, p, args) in [
            ("plus", P::Add, [r(FIRST), by]),
            ("after", P::Add, [by, r(FIRST)]),
            ("minus", P::Sub, [r(FIRST), by]),
        ] {
            let body = vec![
                op(NEXT_FIRST, p, args),
                op(NEXT_SECOND, P::Bxor, [r(SECOND), r(NEXT_FIRST)]),
            ];
            let what = format!("{way} {step}");
            table.add(&what, body.clone(), [NEXT_FIRST, NEXT_SECOND], None);
            let most = table.integer(FIXNUM_MAX);
            let jumps = format!("{what}, or the largest");
            table.add(&jumps, body, [NEXT_FIRST, NEXT_SECOND], Some(most));
        }
    }
    let (one, four) = (table.integer(1), table.integer(4));
    let plus = op(NEXT_FIRST, P::Add, [r(FIRST), one]);
    let across = op(NEXT_FIRST, P::Add, [r(SECOND), one]);
    let grown = op(NEXT_SECOND, P::Mul, [r(SECOND), four]);
    let shifted = op(NEXT_FIRST, P::Bxor, [r(FIRST), four]);
    // Each of the other one's; one that grows, and is handed on as the other one, too; a step further than a step.
    let less = op(NEXT_SECOND, P::Sub, [r(FIRST), one]);
    table.add(
        "across",
        vec![across.clone(), less],
        [NEXT_FIRST, NEXT_SECOND],
        None,
    );
    let doubled = op(NEXT_SECOND, P::Add, [r(SECOND), r(SECOND)]);
    table.add(
        "double",
        vec![across, doubled],
        [NEXT_FIRST, NEXT_SECOND],
        None,
    );
    table.add(
        "fourfold",
        vec![plus.clone(), grown],
        [NEXT_FIRST, NEXT_SECOND],
        None,
    );
    let twice = op(SPARE, P::Mul, [r(NEXT_FIRST), four]);
    table.add(
        "steps times four",
        vec![plus.clone(), twice],
        [SPARE, SECOND],
        None,
    );
    let beside = op(NEXT_SECOND, P::Add, [r(FIRST), one]);
    table.add(
        "beside",
        vec![shifted, beside],
        [NEXT_FIRST, NEXT_SECOND],
        None,
    );
    // A call takes slices of its own.
    let same = table.build.uses(MODULE, "same", 1);
    let build = std::mem::replace(&mut table.build, Build::new());
    table.build = build.function("same", 1, vec![ret(r(0))]);
    let call = call(SPARE, same, [r(SECOND)]);
    table.add("with a call", vec![plus, call], [NEXT_FIRST, SPARE], None);
    table
}

#[test]
fn counters_end_where_integers_end() {
    let mut table = table();
    let three = table.integer(3);
    let mut code = Vec::new();
    let mut labels = Vec::new();
    for (function, what) in table.loops.clone() {
        for start in STARTS {
            for rounds in ROUNDS {
                let args = vec![table.integer(rounds), table.integer(start), three];
                code.push(call(1, function, args));
                code.push(send(r(0), r(1)));
                labels.push(format!("{what}, {rounds} times from {start}"));
            }
        }
    }
    code.push(Instr::Done);
    let unit = encode(&table.build.behaviour("all", 0, code).0);
    let messages = heard_each(&unit, &labels);
    let beyond = |text: &&String| text.contains(":undefined") || text.contains("Big {");
    let ended = messages.iter().filter(beyond).count();
    assert!(
        ended > 500 && ended < labels.len() / 2,
        "{ended} of {}",
        labels.len()
    );
}
