//! Loops that count towards a bound: native code makes several of their rounds at once (src/body/unroll.rs). Here they
//! end in each of them: by their count, by fuel, by a float that gets too large, on both tiers.

use crate::build::{branch, call, is, k, op, r, ret, send, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{heard_alike, heard_each};
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// Rounds of more than two groups, and of a part of one.
const MANY: i64 = 11;

/// Registers of a loop: what it counts, its bound, what it carries along, and what comes of these.
const COUNT: u16 = 0;
const BOUND: u16 = 1;
const CARRIED: u16 = 2;
const NEXT: u16 = 3;
const SPARE: u16 = 4;
const RESULT: u16 = 5;

/// Calls of loops with what they are called with, and what that is about.
struct Table {
    build: Build,
    calls: Vec<(u32, [Operand; 3], String)>,
}

impl Table {
    fn new() -> Table {
        Table {
            build: Build::new(),
            calls: Vec::new(),
        }
    }

    fn integer(&mut self, n: i64) -> Operand {
        k(self.build.constant(Constant::Integer(n)))
    }

    fn float(&mut self, f: f64) -> Operand {
        k(self.build.constant(Constant::Float(f)))
    }

    /// A loop that answers what it carries as soon as `going` does not hold; then a step on, and what the body leaves as
    /// the result is carried.
    fn add(&mut self, going: (P, Operand, Operand), step: i64, body: &[Instr]) -> u32 {
        let name = format!("loop {}", self.build.0.functions.len());
        let me = self.build.uses(MODULE, &name, 3);
        let step = self.integer(step);
        let mut code = vec![
            op(SPARE, going.0, [going.1, going.2]),
            branch(r(SPARE), 3 + body.len() as u32 + 1),
        ];
        code.push(op(NEXT, P::Add, [r(COUNT), step]));
        code.extend_from_slice(body);
        code.push(tail(me, [r(NEXT), r(BOUND), r(RESULT)]));
        code.push(ret(r(CARRIED)));
        self.function(&name, code);
        me
    }

    /// Adds such a loop that ends where its count is `end`.
    fn add_until(&mut self, end: i64, step: i64, body: &[Instr]) -> u32 {
        let name = format!("loop {}", self.build.0.functions.len());
        let me = self.build.uses(MODULE, &name, 3);
        let (end, step) = (self.integer(end), self.integer(step));
        let mut code = vec![
            is(r(COUNT), end, 2),
            ret(r(CARRIED)),
            op(NEXT, P::Add, [r(COUNT), step]),
        ];
        code.extend_from_slice(body);
        code.push(tail(me, [r(NEXT), r(BOUND), r(RESULT)]));
        self.function(&name, code);
        me
    }

    fn function(&mut self, name: &str, code: Vec<Instr>) {
        let build = std::mem::replace(&mut self.build, Build::new());
        self.build = build.function(name, 3, code);
    }

    fn call(&mut self, function: u32, args: [Operand; 3], what: String) {
        self.calls.push((function, args, what));
    }

    /// Makes all calls on both tiers. Returns what was said.
    fn compare(self) -> Vec<String> {
        let mut code = Vec::new();
        for (function, args, _) in &self.calls {
            code.push(call(1, *function, args));
            code.push(send(r(0), r(1)));
        }
        code.push(Instr::Done);
        let unit = encode(&self.build.behaviour("all", 0, code).0);
        let labels: Vec<_> = self.calls.iter().map(|(_, _, what)| what).collect();
        heard_each(&unit, &labels)
    }
}

/// A body that adds the count to what is carried, and one that makes it a part of a fraction.
fn bodies(table: &mut Table) -> [(Vec<Instr>, Operand); 2] {
    let (zero, one, two) = (table.integer(0), table.float(1.0), table.integer(2));
    let sum = op(RESULT, P::Add, [r(CARRIED), r(COUNT)]);
    let part = [
        op(RESULT, P::Fdiv, [r(COUNT), two]),
        op(RESULT, P::Fdiv, [r(RESULT), r(CARRIED)]),
        op(RESULT, P::Add, [one, r(RESULT)]),
    ];
    [(vec![sum], zero), (part.to_vec(), one)]
}

#[test]
fn the_count_ends_in_each_round() {
    let mut table = Table::new();
    for (body, start) in bodies(&mut table) {
        for step in [1, -1, 2, -3] {
            let until = table.add_until(5, step, &body);
            for rounds in 0..MANY {
                let (first, bound) = (table.integer(5 - rounds * step), table.integer(0));
                let what = format!("{rounds} rounds by {step} until 5");
                table.call(until, [first, bound, start], what);
            }
            let (more, less) = ([P::Gt, P::Ge, P::Ne], [P::Lt, P::Le, P::Differ]);
            let goings = if step < 0 { more } else { less };
            let seven = table.integer(7);
            for p in goings {
                for (bound, is) in [(r(BOUND), "parameter"), (seven, "constant")] {
                    let function = table.add((p, r(COUNT), bound), step, &body);
                    for rounds in 0..MANY {
                        let first = table.integer(7 - rounds * step);
                        let what = format!("{rounds} rounds by {step} while {p:?} a {is} 7");
                        table.call(function, [first, seven, start], what);
                        if !matches!(p, P::Ne | P::Differ) {
                            let first = table.integer(8 - rounds * step);
                            let what = format!("{rounds} rounds and a bit by {step}, {p:?}");
                            table.call(function, [first, seven, start], what);
                        }
                    }
                }
            }
        }
    }
    let said = table.compare();
    // Some parts of a fraction happen to divide by zero.
    let undefined = said.iter().filter(|text| *text == ":undefined").count();
    assert!(undefined < said.len() / 20, "{undefined} of {}", said.len());
}

#[test]
fn counters_far_away_are_the_same_floats() {
    let mut table = Table::new();
    let (zero, half, two) = (table.float(0.0), table.float(-0.5), table.integer(2));
    let one = table.float(1.0);
    // What a round makes of the count is still seen in the last one.
    let bodies = [
        vec![
            op(SPARE, P::Mul, [r(CARRIED), half]),
            op(RESULT, P::Fdiv, [r(COUNT), two]),
            op(RESULT, P::Add, [r(RESULT), r(SPARE)]),
        ],
        vec![
            op(SPARE, P::Mul, [r(CARRIED), half]),
            op(RESULT, P::Fdiv, [r(COUNT), one]),
            op(RESULT, P::Add, [r(RESULT), r(SPARE)]),
        ],
    ];
    let exact = 1 << 53;
    let near = 1 << 40;
    for body in bodies {
        for end in [
            0,
            near - 3,
            near,
            near + 1,
            exact - 5,
            exact + 1,
            -near,
            -exact - 3,
            2 * exact + 1,
            FIXNUM_MAX / 2 - 9,
            FIXNUM_MAX - 5,
            FIXNUM_MIN + 5,
        ] {
            for step in [1, -1] {
                let until = table.add_until(end, step, &body);
                let p = if step < 0 { P::Gt } else { P::Lt };
                let while_far = table.add((p, r(COUNT), r(BOUND)), step, &body);
                for rounds in [0, 1, 4, 5, MANY] {
                    let Some(first) = end.checked_sub(rounds * step) else {
                        continue;
                    };
                    if !(FIXNUM_MIN..=FIXNUM_MAX).contains(&first) {
                        continue;
                    }
                    let (first, bound) = (table.integer(first), table.integer(end));
                    let what = format!("{rounds} rounds by {step} to {end}");
                    table.call(until, [first, bound, zero], what.clone());
                    table.call(while_far, [first, bound, zero], what);
                }
            }
        }
    }
    table.compare();
}

#[test]
fn floats_get_too_large_in_each_round() {
    let mut table = Table::new();
    let (one, half) = (table.float(1.0), table.float(0.5));
    let huge = table.float(1e300);
    for at in 0..MANY {
        let there = table.integer(at);
        // One by what is zero in that round, and one by that: what is not finite becomes zero at once.
        let hidden = [
            op(SPARE, P::Sub, [r(COUNT), there]),
            op(SPARE, P::Fdiv, [one, r(SPARE)]),
            op(SPARE, P::Fdiv, [half, r(SPARE)]),
            op(RESULT, P::Add, [r(CARRIED), r(SPARE)]),
        ];
        // The same, seen by the next operation; and what is no number.
        let seen = [
            op(SPARE, P::Sub, [r(COUNT), there]),
            op(SPARE, P::Fdiv, [one, r(SPARE)]),
            op(RESULT, P::Mul, [half, r(SPARE)]),
        ];
        let root = [
            op(SPARE, P::Sub, [there, r(COUNT)]),
            op(SPARE, P::Fdiv, [r(SPARE), half]),
            op(SPARE, P::Sqrt, [r(SPARE)]),
            op(SPARE, P::Fdiv, [half, r(SPARE)]),
            op(RESULT, P::Mul, [half, r(SPARE)]),
        ];
        for (body, what) in [
            (&hidden[..], "hidden"),
            (&seen[..], "seen"),
            (&root[..], "of a root"),
        ] {
            let function = table.add_until(0, -1, body);
            for rounds in [at, at + 1, at + 5, MANY] {
                let count = table.integer(rounds);
                let what = format!("{what}, at {at} of {rounds}");
                table.call(function, [count, count, half], what);
            }
        }
    }
    // Each is finite, and their sum is not.
    let back = [
        op(SPARE, P::Fdiv, [r(CARRIED), one]),
        op(SPARE, P::Mul, [r(CARRIED), one]),
        op(RESULT, P::Mul, [r(SPARE), one]),
    ];
    let largest = table.float(f64::MAX);
    let function = table.add_until(0, -1, &back);
    for rounds in 0..MANY {
        let count = table.integer(rounds);
        let what = format!("the largest, {rounds} times");
        table.call(function, [count, count, largest], what);
    }
    let grows = [op(RESULT, P::Mul, [r(CARRIED), huge])];
    let function = table.add_until(0, -1, &grows);
    for rounds in 0..MANY {
        let tiny = 1e-300f64;
        for (start, what) in [(tiny, "tiny"), (tiny * tiny, "nothing"), (1.0, "one")] {
            let (count, start) = (table.integer(rounds), table.float(start));
            let what = format!("huge times {what}, {rounds} times");
            table.call(function, [count, count, start], what);
        }
    }
    let said = table.compare();
    let undefined = said.iter().filter(|text| *text == ":undefined").count();
    assert!(
        undefined > 50 && undefined < said.len() - 50,
        "{undefined} of {}",
        said.len()
    );
}

#[test]
fn integers_get_too_large_in_each_round() {
    let mut table = Table::new();
    let (two, zero) = (table.integer(2), table.integer(0));
    let doubled = [op(RESULT, P::Mul, [r(CARRIED), two])];
    let rest = [op(RESULT, P::Irem, [two, r(COUNT)])];
    let [doubled, rest] = [&doubled[..], &rest[..]].map(|body| table.add_until(-3, -1, body));
    for rounds in 0..MANY {
        for short in 0..6 {
            let (count, start) = (
                table.integer(rounds - 3),
                table.integer(FIXNUM_MAX >> short),
            );
            let what = format!("doubled {rounds} times, {short} bits free");
            table.call(doubled, [count, count, start], what);
        }
        let count = table.integer(rounds - 3);
        let what = format!("what is left by the count, {rounds} times");
        table.call(rest, [count, count, zero], what);
    }
    let said = table.compare();
    assert!(said.iter().any(|text| text.starts_with("Big {")));
}

#[test]
fn fuel_ends_in_each_round() {
    for which in 0..2 {
        for rounds in 0..MANY {
            let mut table = Table::new();
            let (body, start) = bodies(&mut table).into_iter().nth(which).expect("two");
            let function = table.add_until(0, -1, &body);
            let count = table.integer(rounds);
            let code = vec![
                call(1, function, [count, count, start]),
                send(r(0), r(1)),
                Instr::Done,
            ];
            let unit = encode(&table.build.behaviour("all", 0, code).0);
            for fuel in 1..=rounds as u64 + 2 {
                let what = format!("{rounds} rounds with fuel {fuel}");
                let heard = heard_alike(&unit, fuel, &what);
                let enough = fuel > rounds as u64;
                assert_eq!(heard.aborts.is_empty(), enough, "{rounds}, {fuel}");
            }
        }
    }
}

#[test]
fn fuel_ends_in_each_round_of_the_next_slices() {
    for (calls, rounds) in [(1, 4_500), (2, 2_300), (3, 1_501)] {
        let mut table = Table::new();
        let [(body, start), _] = bodies(&mut table);
        let function = table.add_until(0, -1, &body);
        let count = table.integer(rounds);
        let mut code = Vec::new();
        for _ in 0..calls {
            code.push(call(1, function, [count, count, start]));
            code.push(send(r(0), r(1)));
        }
        code.push(Instr::Done);
        let unit = encode(&table.build.behaviour("all", 0, code).0);
        let spent = (calls * (rounds + 1)) as u64;
        let around = |end: u64| end - 5..end + 6;
        for fuel in around(256).chain(around(512)).chain(around(spent)) {
            let what = format!("{calls} times {rounds} with {fuel}");
            let heard = heard_alike(&unit, fuel, &what);
            assert_eq!(heard.aborts.is_empty(), fuel >= spent, "{fuel}");
        }
    }
}
