//! Whether 0.0 and -0.0 are one term or two is the embedder's choice, for all machines of a process. Here both are chosen,
//! one after the other, and both tiers must do as they were told: in patterns, comparisons, lists and keys of maps, with
//! operands of which nothing is known, which are floats for sure, or which are constants.

use crate::build::{call, cons, is, k, mov, op, r, ret, send, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;

/// The terms that are compared: a name, whether it is a float, and its content.
const TERMS: [(&str, bool, f64); 6] = [
    ("0.0", true, 0.0),
    ("-0.0", true, -0.0),
    ("1.0", true, 1.0),
    ("0", false, 0.0),
    ("{0.0}", false, 0.0),
    ("{-0.0}", false, -0.0),
];

fn constant(b: &mut Build, (name, float, value): (&str, bool, f64)) -> u32 {
    if name == "0" {
        return b.constant(Constant::Integer(0));
    }
    let number = b.constant(Constant::Float(value));
    match float {
        true => number,
        false => b.constant(Constant::Tuple(vec![number])),
    }
}

/// Returns whether two of [`TERMS`] are `==`, and whether they are `===`.
fn expected(a: usize, b: usize, two: bool) -> (bool, bool) {
    let group = [0, 0, 1, 2, 3, 3];
    let zeros = group[a] == group[b];
    let equal = zeros || matches!((group[a], group[b]), (0, 2) | (2, 0));
    (equal, a == b || (zeros && !two))
}

/// The last instructions of a function that compares what `args` say, and what they answer.
fn questions(
    b: &mut Build,
    args: [Operand; 2],
    (equal, same): (bool, bool),
) -> Vec<(Vec<Instr>, String)> {
    let text = |truth: bool| format!(":{truth}");
    let [yes, no] = ["true", "false"].map(|name| {
        let atom = b.atom(name);
        k(b.constant(Constant::Atom(atom)))
    });
    let [left, right] = args;
    let mut asked: Vec<(Vec<Instr>, String)> = [
        (P::Eq, text(equal)),
        (P::Ne, text(!equal)),
        (P::Same, text(same)),
        (P::Differ, text(!same)),
    ]
    .into_iter()
    .map(|(p, answer)| (vec![op(7, p, args.to_vec()), ret(r(7))], answer))
    .collect();
    // Two instructions come before.
    let matched = is(left, right, 4);
    asked.push((vec![matched, ret(yes), ret(no)], text(same)));
    let list = cons;
    let empty = k(1);
    let single = vec![
        list(7, right, empty),
        op(7, P::Member, vec![left, r(7)]),
        ret(r(7)),
    ];
    asked.push((single, text(same)));
    let subtracted = vec![
        list(6, left, empty),
        list(7, right, empty),
        op(7, P::Subtract, vec![r(6), r(7)]),
        op(7, P::Length, vec![r(7)]),
        ret(r(7)),
    ];
    asked.push((subtracted, format!("{}", u8::from(!same))));
    let pairs = vec![left, left, right, right];
    let keys = vec![
        tuple(7, pairs),
        op(7, P::MapOf, vec![r(7)]),
        op(7, P::MapSize, vec![r(7)]),
        ret(r(7)),
    ];
    asked.push((keys, format!("{}", 2 - u8::from(same))));
    asked
}

/// A unit that asks everything of every two terms, and what it is expected to say.
fn unit(two: bool) -> (Vec<u8>, Vec<String>, Vec<String>) {
    let mut b = Build::new();
    let one = k(b.constant(Constant::Float(1.0)));
    let terms = TERMS.map(|term| k(constant(&mut b, term)));
    let (mut calls, mut answers, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (left, left_float, _)) in TERMS.iter().enumerate() {
        for (j, (right, right_float, _)) in TERMS.iter().enumerate() {
            let shapes = [
                ("registers", [r(2), r(3)], false),
                ("left constant", [terms[i], r(3)], false),
                ("right constant", [r(2), terms[j]], false),
                ("floats", [r(2), r(3)], true),
                ("left constant, right float", [terms[i], r(3)], true),
                ("left float, right constant", [r(2), terms[j]], true),
            ];
            for (shape, args, floats) in shapes {
                if floats && !(*left_float && *right_float) {
                    continue;
                }
                let start = |to, from| match floats {
                    true => op(to, P::Fdiv, vec![r(from), one]),
                    false => mov(to, r(from)),
                };
                for (code, answer) in questions(&mut b, args, expected(i, j, two)) {
                    let name = format!("question {}", labels.len());
                    labels.push(format!("{left} and {right}, {shape}: {code:?}"));
                    answers.push(answer);
                    let mut all = vec![start(2, 0), start(3, 1)];
                    all.extend(code);
                    b = b.function(&name, 2, all);
                    let function = b.uses(MODULE, &name, 2);
                    let args = vec![terms[i], terms[j]];
                    calls.push(call(1, function, args));
                    calls.push(send(r(0), r(1)));
                }
            }
        }
    }
    calls.push(Instr::Done);
    (encode(&b.behaviour("all", 0, calls).0), answers, labels)
}

/// Tests both choices in turn. It is one test, as the choice is one for the whole process.
#[test]
fn machines_do_with_zeros_as_they_are_told() {
    for two in [false, true] {
        mote_vm::distinguish_zeros(two);
        let (bytes, answers, labels) = unit(two);
        let heard = heard_alike(&bytes, 1 << 40, "the tiers");
        assert_eq!(heard.messages.len(), answers.len(), "{heard:?}");
        for (i, label) in labels.iter().enumerate() {
            assert_eq!(
                heard.messages[i], answers[i],
                "two zeros: {two}, of {label}"
            );
        }
    }
}
