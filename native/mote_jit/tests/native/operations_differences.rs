//! Differences behind comparisons, and their absolute values, which native code computes in one (src/body/differences.rs,
//! `narrows` in src/body/truth.rs): of integers at the edges, and of what is no small integer, on both tiers.

use crate::build::{branch, call, k, op, r, ret, says_each, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr, Label, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

const PLENTY: u64 = 1 << 40;

fn numbers() -> Vec<Constant> {
    let integers = [
        0,
        1,
        -1,
        7,
        FIXNUM_MAX / 2,
        FIXNUM_MAX / 2 + 1,
        FIXNUM_MIN / 2,
        FIXNUM_MIN / 2 - 1,
        FIXNUM_MAX - 1,
        FIXNUM_MAX,
        FIXNUM_MIN + 1,
        FIXNUM_MIN,
    ];
    let floats = [-0.0, 1.0, 7.5, 1e300].map(Constant::Float);
    integers
        .map(Constant::Integer)
        .into_iter()
        .chain(floats)
        .chain([Constant::Nil])
        .collect()
}

/// What is done with a difference and its absolute value.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// Only the value is read.
    Value,
    /// It takes the place of the difference.
    InPlace,
    /// Both are read.
    Both,
    /// As `Value`, with a place to go to where there is none.
    Guards,
}

fn absolute(of: Use, b: &mut Build) -> Vec<Instr> {
    let one = k(b.constant(Constant::Integer(1)));
    let kept = if matches!(of, Use::InPlace) { 2 } else { 3 };
    let lines = [(2, P::Sub, vec![r(0), r(1)]), (kept, P::Abs, vec![r(2)])];
    let guarded = matches!(of, Use::Guards);
    let operation = |(dst, primitive, args): (u16, P, Vec<Operand>)| match guarded {
        true => Instr::GuardOp {
            dst,
            primitive,
            args,
            label: 5,
        },
        false => op(dst, primitive, args),
    };
    let mut code = vec![op(4, P::Add, [r(1), one])];
    code.extend(lines.map(operation));
    let elements = match of {
        Use::Both => vec![r(2), r(3)],
        _ => vec![r(kept), r(0)],
    };
    code.push(Instr::Tuple { dst: 5, elements });
    code.push(ret(r(5)));
    if guarded {
        code.push(ret(k(1)));
    }
    code
}

#[test]
fn absolute_differences_of_all_pairs() {
    for of in [Use::Value, Use::InPlace, Use::Both, Use::Guards] {
        let mut b = Build::new();
        let me = b.uses(MODULE, "me", 2);
        let numbers = numbers();
        let numbers: Vec<Operand> = numbers.into_iter().map(|n| k(b.constant(n))).collect();
        let pairs = numbers
            .iter()
            .flat_map(|a| numbers.iter().map(|b| [*a, *b]));
        let calls: Vec<Instr> = pairs.map(|pair| call(1, me, pair)).collect();
        let code = absolute(of, &mut b);
        let count = calls.len();
        let b = b.function("me", 2, code);
        let unit = encode(&b.behaviour("all", 0, says_each(calls)).0);
        let heard = heard_alike(&unit, PLENTY, &format!("{of:?}"));
        assert_eq!(heard.messages.len(), count, "{of:?}");
    }
}

/// A walk over a list that adds up by how much its elements are more than a number, up to one that compares like `until`.
fn walk(until: P, me: u32, b: &mut Build) -> Vec<Instr> {
    let one = k(b.constant(Constant::Integer(1)));
    let end: Label = 8;
    vec![
        // An integer.
        op(7, P::Band, [r(1), one]),
        Instr::MatchCons {
            value: r(0),
            head: 3,
            tail: 4,
            label: end,
        },
        op(5, until, [r(3), r(1)]),
        branch(r(5), end),
        op(6, P::Sub, [r(3), r(1)]),
        op(6, P::Add, [r(6), r(2)]),
        op(6, P::Add, [r(6), r(7)]),
        tail(me, [r(4), r(1), r(6)]),
        Instr::Tuple {
            dst: 5,
            elements: vec![r(0), r(2)],
        },
        ret(r(5)),
    ]
}

#[test]
fn comparisons_before_differences_take_what_is_no_small_integer() {
    for until in [P::Ne, P::Differ, P::Eq, P::Lt, P::Ge] {
        for of in numbers() {
            let mut b = Build::new();
            let me = b.uses(MODULE, "me", 3);
            let [zero, one] = [0, 1].map(|n| k(b.constant(Constant::Integer(n))));
            let more = k(b.constant(Constant::Integer(50)));
            let odd = k(b.constant(of.clone()));
            let mut lines = Vec::new();
            for number in [zero, one, more] {
                // The odd one is the third, so that rounds before it are of the fast body.
                lines.push(Instr::Cons {
                    dst: 1,
                    head: one,
                    tail: k(1),
                });
                for head in [odd, one, more] {
                    let tail = r(1);
                    lines.push(Instr::Cons { dst: 1, head, tail });
                }
                lines.push(call(1, me, [r(1), number, zero]));
                lines.push(says_each([call(1, me, [k(1), one, zero])])[1].clone());
            }
            lines.push(Instr::Done);
            let code = walk(until, me, &mut b);
            let b = b.function("me", 3, code);
            let unit = encode(&b.behaviour("all", 0, lines).0);
            let heard = heard_alike(&unit, PLENTY, &format!("{until:?} of {of:?}"));
            assert_eq!(heard.messages.len(), 3, "{until:?} of {of:?}");
        }
    }
}
