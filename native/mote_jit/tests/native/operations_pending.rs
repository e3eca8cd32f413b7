//! Calls of itself that native code keeps pending in one frame (src/body/pending.rs): where the frame is full, where a round answers
//! something unusual, where fuel and depth end.

use crate::build::{call, cons, guard, is, k, op, r, ret, says_each, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// Depth to which calls nest.
const DEPTH: u64 = 100_000;
const PLENTY: u64 = 1 << 40;

/// The computation of a round, from its number and the answer of the next round.
#[derive(Clone, Copy, Debug)]
enum Rest {
    /// The answer and one: nothing is kept.
    Counts,
    /// Their sum.
    Adds,
    /// The sum, where there is one; otherwise both as a tuple.
    Guards,
    /// A list of both.
    Lists,
    /// Their sum and that of three other numbers of the round: too much to keep.
    AddsMore,
    /// A comparison: true if the answer is less.
    Compares,
}

const RESTS: [Rest; 6] = [
    Rest::Counts,
    Rest::Adds,
    Rest::Guards,
    Rest::Lists,
    Rest::AddsMore,
    Rest::Compares,
];

/// A unit whose turn says what comes of so many rounds that end with each of the answers. The number that a round adds is `step`
/// times the rounds that are left.
fn unit(rest: Rest, rounds: &[i64], step: i64, ends: &[Constant]) -> Vec<u8> {
    let mut b = Build::new();
    let [zero, one, step] = [0, 1, step].map(|n| k(b.constant(Constant::Integer(n))));
    let me = b.uses(MODULE, "me", 2);
    let begins = vec![
        is(r(0), zero, 3),
        // Usually an integer.
        op(7, P::Add, [r(1), zero]),
        ret(r(7)),
        op(2, P::Sub, [r(0), one]),
        op(3, P::Mul, [r(0), step]),
        op(4, P::Add, [r(3), one]),
        op(5, P::Add, [r(4), one]),
        op(6, P::Add, [r(5), one]),
        call(7, me, [r(2), r(1)]),
    ];
    let sum = |of: Operand| op(7, P::Add, [of, r(7)]);
    let behind = match rest {
        Rest::Counts => vec![sum(one), ret(r(7))],
        Rest::Adds => vec![sum(r(3)), ret(r(7))],
        Rest::Guards => vec![
            guard(7, P::Add, [r(3), r(7)], 11),
            ret(r(7)),
            tuple(7, [r(3), r(7), r(1)]),
            ret(r(7)),
        ],
        Rest::Lists => vec![cons(7, r(4), r(7)), ret(r(7))],
        Rest::AddsMore => vec![sum(r(3)), sum(r(4)), sum(r(5)), sum(r(6)), ret(r(7))],
        Rest::Compares => vec![op(7, P::Lt, [r(7), r(3)]), ret(r(7))],
    };
    let ends: Vec<Operand> = ends.iter().map(|end| k(b.constant(end.clone()))).collect();
    let rounds = rounds.iter().map(|n| k(b.constant(Constant::Integer(*n))));
    let rounds: Vec<Operand> = rounds.collect();
    let calls = rounds
        .iter()
        .flat_map(|n| ends.iter().map(|end| [*n, *end]));
    let calls: Vec<Instr> = calls.map(|args| call(1, me, args)).collect();
    let code = [begins, behind].concat();
    let b = b.function("me", 2, code);
    encode(&b.behaviour("all", 0, says_each(calls)).0)
}

#[test]
fn rounds_return_in_turn() {
    let ends = [
        vec![Constant::Integer(0), Constant::Integer(7)],
        vec![Constant::Integer(0), Constant::Float(0.5)],
        vec![Constant::Float(2.5)],
        vec![Constant::Nil, Constant::Integer(3)],
    ];
    let rounds = [0, 1, 2, 15, 16, 17, 18, 33, 34, 35, 100];
    let mut different = std::collections::BTreeSet::new();
    for rest in RESTS {
        for ends in &ends {
            let what = format!("{rest:?} to {ends:?}");
            let heard = heard_alike(&unit(rest, &rounds, 3, ends), PLENTY, &what);
            assert_eq!(heard.messages.len(), rounds.len() * ends.len(), "{what}");
            different.extend(heard.messages);
        }
    }
    assert!(different.len() > 150, "{}", different.len());
}

/// Checks functions with so many parameters that floats are returned as words.
#[test]
fn floats_of_functions_with_many_parameters() {
    const MANY: Register = 17;
    let mut b = Build::new();
    let [zero, one] = [0, 1].map(|n| k(b.constant(Constant::Integer(n))));
    let [two, quarter] = [2.0, 0.25].map(|x| k(b.constant(Constant::Float(x))));
    let me = b.uses(MODULE, "me", MANY as u32);
    let (left, answer) = (MANY, MANY + 1);
    let again: Vec<Operand> = [r(left)].into_iter().chain((1..MANY).map(r)).collect();
    let code = vec![
        is(r(0), zero, 2),
        ret(quarter),
        op(left, P::Sub, [r(0), one]),
        call(answer, me, again),
        op(answer, P::Mul, [r(answer), two]),
        op(answer, P::Add, [r(answer), r(0)]),
        ret(r(answer)),
    ];
    let rounds = [0, 1, 2, 15, 16, 17, 40].map(|n| k(b.constant(Constant::Integer(n))));
    let calls = rounds.map(|n| {
        let others = std::iter::repeat_n(zero, MANY as usize - 1);
        call(1, me, std::iter::once(n).chain(others).collect::<Vec<_>>())
    });
    let mut b = b.function("me", MANY as u32, code);
    b.0.functions[0].registers = answer + 1;
    let unit = encode(&b.behaviour("all", 0, says_each(calls.to_vec())).0);
    assert_eq!(
        heard_alike(&unit, PLENTY, "many parameters").messages.len(),
        rounds.len()
    );
}

#[test]
fn sums_get_too_large_in_each_round() {
    let rounds: Vec<i64> = (0..40).collect();
    for step in [FIXNUM_MAX / 400, FIXNUM_MIN / 400] {
        for rest in [Rest::Adds, Rest::Guards, Rest::AddsMore] {
            let ends = [0, FIXNUM_MAX, FIXNUM_MIN].map(Constant::Integer);
            let what = format!("{rest:?} in steps of {step}");
            let heard = heard_alike(&unit(rest, &rounds, step, &ends), PLENTY, &what);
            assert_eq!(heard.messages.len(), 120, "{what}");
        }
    }
}

#[test]
fn fuel_and_depth_end_at_each_round() {
    let end = [Constant::Integer(1)];
    for rest in RESTS {
        for rounds in [3, 16, 17, 40] {
            let unit = unit(rest, &[rounds], 1, &end);
            for fuel in 1..rounds as u64 + 3 {
                let what = format!("{rest:?}, {rounds} rounds with fuel {fuel}");
                let heard = heard_alike(&unit, fuel, &what);
                // A list takes fuel when it is sent, too.
                let enough = fuel > rounds as u64 && !matches!(rest, Rest::Lists);
                assert!(heard.aborts.is_empty() >= enough, "{what}");
                assert!(fuel > rounds as u64 || !heard.aborts.is_empty(), "{what}");
            }
        }
        // Each call is one deeper, the first one included; afterwards all of the depth is there again.
        for rounds in DEPTH - 3..DEPTH + 2 {
            let what = format!("{rest:?}, {rounds} rounds, twice");
            let rounds = rounds as i64;
            let heard = heard_alike(&unit(rest, &[rounds, rounds], 1, &end), PLENTY, &what);
            assert_eq!(heard.aborts.is_empty(), rounds < DEPTH as i64, "{what}");
        }
    }
}
