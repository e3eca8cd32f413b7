//! Elements put into tuples, by native code in line (src/body/put_elem.rs): into copies, and in place where nothing else refers to a
//! copy. Random runs of that with branches, reads and copies in between, on both tiers.

use crate::build::{
    branch, call, cons, guard, k, mov, op, r, ret, says_each, tuple, Build, MODULE,
};
use crate::encode::encode;
use crate::hearing::{cases, heard_alike};
use mote_vm::code::ir::{Constant, Instr, Label, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive as P;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const PLENTY: u64 = 1 << 40;
/// Parameters: a tuple, the last index in it, and a number. Then come registers that hold a tuple each, at first the parameter.
const TUPLE: Register = 0;
const LAST: Register = 1;
const NUMBER: Register = 2;
const HELD: [Register; 3] = [3, 4, 5];
/// The register that is read or tested in between.
const READ: Register = 6;

#[derive(Clone, Copy, Debug)]
enum Step {
    Put {
        into: Register,
        from: Register,
        index: Place,
        value: Register,
    },
    /// A `Put` that skips the next step where there is no such place.
    TryToPut {
        into: Register,
        from: Register,
        index: Place,
    },
    Move(Register, Register),
    Read(Register),
    /// Skips the next step if the parameter is less than that.
    Skip(i64),
    /// A list of a register, in its place in another one.
    List(Register, Register),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    First,
    Last,
    Beyond,
    Negative,
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        20 => Just(Place::First),
        20 => Just(Place::Last),
        1 => Just(Place::Beyond),
        1 => Just(Place::Negative),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let held = || select(&HELD[..]);
    let put = (held(), held(), place(), select(vec![LAST, NUMBER, TUPLE]));
    prop_oneof![
        8 => put.prop_map(|(into, from, index, value)| Step::Put { into, from, index, value }),
        2 => (held(), held(), place())
            .prop_map(|(into, from, index)| Step::TryToPut { into, from, index }),
        1 => (held(), held()).prop_map(|(to, from)| Step::Move(to, from)),
        1 => held().prop_map(Step::Read),
        2 => (0..3i64).prop_map(Step::Skip),
        1 => (held(), held()).prop_map(|(to, from)| Step::List(to, from)),
    ]
}

struct Constants {
    zero: Operand,
    one: Operand,
    minus: Operand,
    bounds: [Operand; 3],
}

fn instruction(step: Step, after_next: Label, constants: &Constants) -> Vec<Instr> {
    let index = |place| match place {
        Place::First => constants.zero,
        Place::Last => r(LAST),
        // As many as a tuple has elements at most.
        Place::Beyond => constants.bounds[2],
        Place::Negative => constants.minus,
    };
    match step {
        Step::Put {
            into,
            from,
            index: at,
            value,
        } => vec![op(into, P::PutElem, [r(from), index(at), r(value)])],
        Step::TryToPut {
            into,
            from,
            index: at,
        } => vec![guard(
            into,
            P::PutElem,
            [r(from), index(at), constants.one],
            after_next,
        )],
        Step::Move(to, from) => vec![mov(to, r(from))],
        Step::Read(from) => vec![op(READ, P::Elem, [r(from), constants.zero])],
        Step::Skip(bound) => vec![
            op(READ, P::Ge, [r(NUMBER), constants.bounds[bound as usize]]),
            branch(r(READ), after_next),
        ],
        Step::List(to, from) => vec![
            op(READ, P::PutElem, [r(to), constants.zero, r(NUMBER)]),
            cons(READ, r(READ), r(from)),
            op(to, P::PutElem, [r(to), constants.zero, r(READ)]),
        ],
    }
}

/// A unit whose turn says all that the registers hold after the steps, from tuples of each size.
fn unit(steps: &[Step], sizes: &[i64]) -> Vec<u8> {
    let mut b = Build::new();
    let mut number = |n| b.constant(Constant::Integer(n));
    let [zero, one, minus] = [0, 1, -1].map(&mut number).map(k);
    let bounds = [3, 4, 1 << 20].map(&mut number).map(k);
    let constants = Constants {
        zero,
        one,
        minus,
        bounds,
    };
    let lengths = |step: &Step| match step {
        Step::List(..) => 3,
        Step::Skip(_) => 2,
        _ => 1,
    };
    let mut code: Vec<Instr> = HELD.iter().map(|held| mov(*held, r(TUPLE))).collect();
    for (i, step) in steps.iter().enumerate() {
        let skipped = steps[i..].iter().take(2).map(lengths).sum::<usize>();
        code.extend(instruction(
            *step,
            (code.len() + skipped) as Label,
            &constants,
        ));
    }
    let all = [TUPLE, HELD[0], HELD[1], HELD[2]].map(r).to_vec();
    code.push(tuple(READ, all));
    code.push(ret(r(READ)));
    let f = b.uses(MODULE, "f", 3);
    let mut calls = vec![];
    for size in sizes {
        let elements = (0..*size).map(|i| b.constant(Constant::Integer(100 + i)));
        let elements = elements.collect();
        let tuple = b.constant(Constant::Tuple(elements));
        let last = b.constant(Constant::Integer(size - 1));
        for number in [2, 3, 4] {
            let number = b.constant(Constant::Integer(number));
            calls.push(call(1, f, [k(tuple), k(last), k(number)]));
        }
    }
    let b = b.function("f", 3, code);
    encode(&b.behaviour("all", 0, says_each(calls)).0)
}

proptest! {
    #![proptest_config(cases(100, 10_000))]
    #[test]
    fn tuples_are_changed_for_nobody_else(steps in vec(step(), 1..9)) {
        let what = format!("{steps:?}");
        heard_alike(&unit(&steps, &[1, 2, 3, 20, 63, 64, 65, 300]), PLENTY, &what);
    }
}

/// The copy that is put is another tuple than the one that it is put into.
#[test]
fn a_tuple_put_into_itself_does_not_contain_itself() {
    let put = |from, value| Step::Put {
        into: HELD[0],
        from,
        index: Place::Last,
        value,
    };
    let steps = [put(HELD[0], NUMBER), put(HELD[0], HELD[0])];
    // Enough for what is to be said, and not for a tuple without an end.
    heard_alike(&unit(&steps, &[1, 2, 64, 65]), 1 << 20, "into itself");
}

#[test]
fn what_is_no_tuple_has_no_elements_to_put() {
    let mut b = Build::new();
    let [zero, half] = [Constant::Integer(0), Constant::Float(0.5)].map(|c| b.constant(c));
    let empty = b.constant(Constant::Tuple(vec![]));
    let one = b.constant(Constant::Tuple(vec![zero]));
    let cases = [(0, zero), (1, zero), (empty, zero), (one, half), (one, one)];
    let mut said = 0;
    for (whole, index) in cases {
        let mut b = Build(b.0.clone());
        let f = b.uses(MODULE, "f", 2);
        let code = vec![
            guard(2, P::PutElem, [r(0), r(1), r(0)], 2),
            ret(r(2)),
            op(2, P::PutElem, [r(0), r(1), r(0)]),
            tuple(2, [r(2), r(1)]),
            ret(r(2)),
        ];
        let b = b.function("f", 2, code);
        let says = says_each([call(1, f, [k(whole), k(index)])]);
        let heard = heard_alike(&encode(&b.behaviour("all", 0, says).0), PLENTY, "no tuple");
        said += heard.messages.len() + heard.aborts.len();
    }
    assert_eq!(said, cases.len());
}
