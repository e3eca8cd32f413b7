//! Functions that native code makes in line where they are called (src/body/inline.rs): a small one that computes, and a
//! loop in it. Here they end in line: by what they are passed, by what they compute, by fuel, by depth, on both tiers.

use crate::build::{call, is, k, mov, op, r, ret, says_each, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::Constant;
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::FIXNUM_MAX;

/// Depth to which calls nest.
const DEPTH: i64 = 100_000;
const PLENTY: u64 = 1 << 40;

/// The loop's sum or fraction: what a round makes of its counter and of what it was handed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Round {
    /// z + k / 2 / f, over floats.
    Fraction,
    /// f * f + k, which gets too large.
    Square,
    /// f + k, over integers.
    Sum,
}

/// The start of the outer loop, and the number of its rounds.
type Outer = (Constant, i64);

/// A unit whose turn says what each outer loop comes to: its rounds times the sum of what the inner one makes of the float
/// n by a constant, from `parts` down. `deep` frames lie below, each a call that is not in line.
fn unit(round: Round, parts: i64, outers: &[Outer], deep: i64) -> Vec<u8> {
    let mut b = Build::new();
    let [zero, one, two, parts, deep] =
        [0, 1, 2, parts, deep].map(|integer| k(b.constant(Constant::Integer(integer))));
    let begin = match round {
        Round::Sum => zero,
        _ => k(b.constant(Constant::Float(0.0))),
    };
    let inner = b.uses(MODULE, "inner", 3);
    let middle = b.uses(MODULE, "middle", 1);
    let outer = b.uses(MODULE, "outer", 3);
    let is_zero = |label| is(r(0), zero, label);
    // The counter goes on before it is used as a float: then it is an integer.
    let mut code = vec![is_zero(2), ret(r(2)), op(4, P::Sub, [r(0), one])];
    match round {
        Round::Fraction => code.extend([
            op(3, P::Fdiv, [r(0), two]),
            op(3, P::Fdiv, [r(3), r(2)]),
            op(3, P::Add, [r(1), r(3)]),
        ]),
        Round::Square => code.extend([
            op(3, P::Mul, [r(2), r(2)]),
            op(5, P::Fdiv, [r(0), two]),
            op(3, P::Add, [r(3), r(5)]),
        ]),
        Round::Sum => code.push(op(3, P::Add, [r(2), r(0)])),
    }
    code.extend([op(4, P::Sub, [r(0), one]), tail(inner, [r(4), r(1), r(3)])]);
    let computes = vec![
        op(2, P::Add, [r(0), begin]),
        call(1, inner, [parts, r(0), r(2)]),
        op(1, P::Add, [r(1), r(1)]),
        ret(r(1)),
    ];
    let sums = vec![
        is_zero(2),
        ret(r(2)),
        op(3, P::Add, [r(1), begin]),
        call(4, middle, [r(3)]),
        op(2, P::Add, [r(2), r(4)]),
        op(0, P::Sub, [r(0), one]),
        tail(outer, [r(0), r(1), r(2)]),
    ];
    let mut b = b
        .function("inner", 3, code)
        .function("middle", 1, computes)
        .function("outer", 3, sums);
    let mut calls = vec![];
    for (i, (start, rounds)) in outers.iter().enumerate() {
        let name = format!("down{i}");
        let down = b.uses(MODULE, &name, 1);
        let [start, rounds] =
            [start.clone(), Constant::Integer(*rounds)].map(|constant| k(b.constant(constant)));
        let goes_down = vec![
            is_zero(3),
            call(1, outer, [rounds, start, begin]),
            ret(r(1)),
            op(1, P::Sub, [r(0), one]),
            call(1, down, [r(1)]),
            mov(2, r(1)),
            ret(r(2)),
        ];
        b = b.function(&name, 1, goes_down);
        calls.push(call(1, down, [deep]));
    }
    encode(&b.behaviour("all", 0, says_each(calls)).0)
}

#[test]
fn what_is_passed_and_computed() {
    let floats = [1.5, 0.0, -0.0, -2.5, 1e10, 1e300, f64::MAX, 5e-324, -1e-300];
    let integers = [0, 3, -7, FIXNUM_MAX, FIXNUM_MAX - 10, FIXNUM_MAX / 2];
    // Of one kind in each unit, since what callers pass decides what code is made.
    let floats = floats.map(Constant::Float).to_vec();
    let integers = integers.map(Constant::Integer).to_vec();
    let mut answered = 0;
    for starts in [floats, integers, vec![Constant::Nil]] {
        let outers = starts
            .into_iter()
            .flat_map(|start| [0, 1, 2].map(|rounds| (start.clone(), rounds)));
        let outers: Vec<Outer> = outers.collect();
        for round in [Round::Fraction, Round::Square, Round::Sum] {
            for parts in [0, 1, 3, 4, 5, 8, 9, 13, 60] {
                let what = format!("{round:?} of {parts} from {outers:?}");
                let heard = heard_alike(&unit(round, parts, &outers, 0), PLENTY, &what);
                assert_eq!(heard.messages.len(), outers.len(), "{what}");
                let fine = heard.messages.iter().filter(|said| *said != ":undefined");
                answered += fine.count();
            }
        }
    }
    assert!(answered > 400 && answered < 1200, "{answered}");
}

#[test]
fn fuel_ends_at_each_call_and_round() {
    // Down, the outer loop, then in each of its rounds the middle, the inner one and its rounds.
    let needed = |parts: i64, rounds: i64| 2 + rounds as u64 * (3 + parts as u64);
    for (parts, rounds) in [(0, 1), (3, 2), (9, 2), (12, 1)] {
        let unit = unit(Round::Fraction, parts, &[(Constant::Float(3.0), rounds)], 0);
        let needed = needed(parts, rounds);
        for fuel in 1..=needed + 1 {
            let what = format!("{parts} parts, {rounds} times, with fuel {fuel}");
            let heard = heard_alike(&unit, fuel, &what);
            assert_eq!(heard.aborts.is_empty(), fuel >= needed, "{what}");
        }
    }
    // Over the ends of slices, in the inner loop and around it.
    for (parts, rounds) in [(9_000, 2), (10, 1_000)] {
        let unit = unit(Round::Fraction, parts, &[(Constant::Float(3.0), rounds)], 0);
        let needed = needed(parts, rounds);
        for fuel in [4_090..4_105, 8_180..8_200, needed - 3..needed + 2]
            .into_iter()
            .flatten()
        {
            let what = format!("{parts} parts, {rounds} times, with fuel {fuel}");
            let heard = heard_alike(&unit, fuel, &what);
            assert_eq!(heard.aborts.is_empty(), fuel >= needed, "{what}");
        }
    }
    // It never gets to zero.
    let unit = unit(Round::Fraction, -1, &[(Constant::Float(3.0), 1)], 0);
    let heard = heard_alike(&unit, 30_000, "backwards");
    assert_eq!(heard.aborts.len(), 1);
}

#[test]
fn depth_ends_at_each_call() {
    for round in [Round::Fraction, Round::Sum] {
        // The function below, itself so often, the outer loop, the middle and the inner one.
        for deep in DEPTH - 7..DEPTH - 1 {
            let what = format!("{round:?}, {deep} deep");
            let start = match round {
                Round::Sum => Constant::Integer(3),
                _ => Constant::Float(3.0),
            };
            let unit = unit(round, 9, &[(start, 2)], deep);
            let heard = heard_alike(&unit, PLENTY, &what);
            let fits = deep + 4 <= DEPTH;
            let expected = if fits { vec![] } else { vec![":stack"] };
            assert_eq!(heard.aborts, expected, "{what}");
        }
    }
}
