//! Functions that answer floats: native code answers them as they are to callers that know that, and in words to others (`boxing`
//! in src/compile.rs). Here all kinds of callers meet all kinds of answers, on both tiers.

use crate::build::{branch, call, is, k, op, r, ret, send, tail, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_each;
use mote_vm::code::ir::{Constant, Instr};
use mote_vm::terms::prim::primitive::Primitive as P;

/// Returns the arguments of functions: usual values, values that are boxed, and one without an answer.
fn values(b: &mut Build) -> Vec<u32> {
    let floats = [1.5, 0.0, -0.0, 1e300, f64::MAX, 5e-324, -1e-300];
    let floats = floats.map(Constant::Float);
    let integers = [0, 3, -7, 1 << 60].map(Constant::Integer);
    let atom = Constant::Atom(b.atom("other"));
    let all = floats.into_iter().chain(integers).chain([atom]);
    all.map(|value| b.constant(value)).collect()
}

/// The unit, and what each of its messages is about.
fn unit() -> (Vec<u8>, Vec<String>) {
    let mut b = Build::new();
    let asked = values(&mut b);
    let half = k(b.constant(Constant::Float(0.5)));
    let huge = k(b.constant(Constant::Float(1e308)));
    let seven = k(b.constant(Constant::Integer(7)));
    let one = k(b.constant(Constant::Integer(1)));
    let zero = k(b.constant(Constant::Integer(0)));
    let [float, twice, last, mixed, beyond, loops, odd] =
        ["float", "twice", "last", "mixed", "beyond", "loops", "odd"].map(|name| {
            let arity = if name == "loops" { 2 } else { 1 };
            b.uses(MODULE, name, arity)
        });
    let codes = [
        ("float", vec![op(1, P::Mul, [r(0), half]), ret(r(1))]),
        // Its caller, which knows.
        (
            "twice",
            vec![
                call(1, float, [r(0)]),
                call(2, float, [r(1)]),
                op(3, P::Add, [r(1), r(2)]),
                ret(r(3)),
            ],
        ),
        // One that calls it last and answers floats, too, and one that also answers integers.
        ("last", vec![tail(float, [r(0)])]),
        (
            "mixed",
            vec![
                op(1, P::IsFloat, [r(0)]),
                branch(r(1), 3),
                tail(float, [r(0)]),
                ret(seven),
            ],
        ),
        // Leaves the fast body before it calls.
        (
            "beyond",
            vec![
                op(1, P::Mul, [r(0), huge]),
                op(1, P::Mul, [r(1), huge]),
                call(2, float, [r(0)]),
                tuple(3, [r(1), r(2)]),
                ret(r(3)),
            ],
        ),
        // Seven rounds.
        (
            "loops",
            vec![
                is(r(0), seven, 3),
                op(2, P::Add, [r(1), half]),
                ret(r(2)),
                op(0, P::Add, [r(0), one]),
                op(1, P::Mul, [r(1), half]),
                tail(loops, [r(0), r(1)]),
            ],
        ),
        // On one way a constant.
        (
            "odd",
            vec![
                op(1, P::Add, [r(0), half]),
                op(2, P::Eq, [r(1), half]),
                branch(r(2), 4),
                ret(half),
                ret(r(1)),
            ],
        ),
    ];
    let mut body = Vec::new();
    let mut labels = Vec::new();
    let names = [float, twice, last, mixed, beyond, loops, odd];
    for ((name, _), function) in codes.iter().zip(names) {
        for value in &asked {
            let args = match *name {
                "loops" => vec![zero, k(*value)],
                _ => vec![k(*value)],
            };
            body.push(call(1, function, args));
            // As it is, and as an operand.
            for (how, step) in [("", None), (", doubled", Some(P::Add))] {
                let message = step.map_or(r(1), |p| {
                    body.push(op(2, p, [r(1), r(1)]));
                    r(2)
                });
                body.push(send(r(0), message));
                labels.push(format!("{name} of constant {value}{how}"));
            }
        }
    }
    body.push(Instr::Done);
    for (name, code) in codes {
        let arity = if name == "loops" { 2 } else { 1 };
        b = b.function(name, arity, code);
    }
    (encode(&b.behaviour("all", 0, body).0), labels)
}

#[test]
fn floats_are_answered_alike() {
    let (unit, labels) = unit();
    heard_each(&unit, &labels);
}
