//! Every operation that native code does in line, with operands at the edges, against the interpreter: in all shapes
//! (support/shapes.rs). Not here: where fuel and depth end (operations_limits.rs).

use crate::build::{
    branch, call, cons, falsy, is, k, match_cons, match_tuple, mov, op, r, ret, tuple, Build,
    MODULE,
};
use crate::shapes::{Shape, Table, KNOWN, LEFT, RESULT, RIGHT};
use mote_vm::terms::prim::primitive::Primitive as P;

fn judge_binary(primitives: &[P]) {
    for p in primitives {
        let mut table = Table::new();
        table.binary(*p);
        table.judge();
    }
}

fn judge_unary(primitives: &[P]) {
    let mut table = Table::new();
    for p in primitives {
        table.unary(*p);
    }
    table.judge();
}

#[test]
fn sums_and_products() {
    judge_binary(&[P::Add, P::Sub, P::Mul, P::Fdiv]);
}

#[test]
fn quotients_and_bits() {
    judge_binary(&[P::Idiv, P::Irem, P::Band, P::Bor, P::Bxor, P::Bsl, P::Bsr]);
}

#[test]
fn comparisons() {
    judge_binary(&[P::Eq, P::Ne, P::Same, P::Differ, P::Lt, P::Le, P::Gt, P::Ge]);
}

#[test]
fn larger_and_smaller_powers_angles_elements() {
    judge_binary(&[P::Max, P::Min, P::Pow, P::Atan2, P::Elem]);
}

#[test]
fn of_one_operand() {
    judge_unary(&[P::Neg, P::Abs, P::Bnot, P::Not, P::Hd, P::Tl, P::TupleSize]);
    let tests: Vec<P> = (P::ALL.iter().copied())
        .filter(|p| (P::IsInteger..=P::IsAddress).contains(p))
        .collect();
    judge_unary(&tests);
    let functions: Vec<P> = (P::ALL.iter().copied())
        .filter(|p| (P::Sqrt..=P::Erfc).contains(p))
        .collect();
    judge_unary(&functions);
    judge_unary(&[P::Round, P::Trunc, P::Floor, P::Ceil]);
}

/// Checks truth values in use: a comparison's or test's result is not written as a value until something needs it as one.
#[test]
fn truth_that_is_used() {
    let mut table = Table::new();
    for p in [P::Lt, P::Same, P::Eq] {
        let test = op(5, p, vec![r(LEFT), r(RIGHT)]);
        let yes = mov(RESULT, k(0));
        let branch = |condition| branch(condition, 0);
        let no = mov(RESULT, k(1));
        let name = p.name();
        let tested = vec![no.clone(), test.clone(), branch(r(5)), yes.clone()];
        table.pairs(&format!("branch on {name}"), tested);
        let not = op(6, P::Not, vec![r(5)]);
        let negated = vec![no.clone(), test.clone(), not, branch(r(6)), yes.clone()];
        table.pairs(&format!("branch on not {name}"), negated);
        let falsy = falsy(r(5), 0);
        let kept = vec![mov(RESULT, r(5))];
        let falsy = [vec![test.clone(), mov(RESULT, r(5)), falsy], kept].concat();
        table.pairs(&format!("truth of {name}"), falsy);
        let pair = tuple(RESULT, [r(5), r(5)]);
        table.pairs(&format!("pair of {name}"), vec![test.clone(), pair]);
        let less = op(RESULT, P::Lt, vec![r(5), k(0)]);
        table.pairs(&format!("comparison of {name}"), vec![test, less]);
    }
    for shape in Shape::ALL {
        let mut body = vec![mov(RESULT, k(1))];
        body.extend(table.known(shape, KNOWN[0], r(RIGHT)));
        let value = r(shape.register(KNOWN[0], RIGHT));
        body.push(falsy(value, 0));
        body.push(mov(RESULT, k(0)));
        table.each(&format!("{shape:?} falsy"), body);
    }
    table.judge();
}

#[test]
fn matches() {
    let mut table = Table::new();
    for shape in Shape::ALL {
        let mut body = vec![mov(RESULT, k(1))];
        body.extend(table.known(shape, KNOWN[0], r(RIGHT)));
        body.extend([
            is(r(LEFT), r(shape.register(KNOWN[0], RIGHT)), 0),
            mov(RESULT, r(RIGHT)),
        ]);
        table.pairs(&format!("{shape:?} match"), body);
    }
    for constant in table.values.clone() {
        for reversed in [false, true] {
            let (mut left, mut right) = (r(RIGHT), k(constant));
            if reversed {
                std::mem::swap(&mut left, &mut right);
            }
            let found = is(left, right, 0);
            let body = vec![mov(RESULT, k(1)), found, mov(RESULT, r(RIGHT))];
            let text = table.text(constant);
            table.each(&format!("match with {text}"), body);
        }
    }
    for count in 0..4u8 {
        let body = vec![
            mov(RESULT, k(1)),
            match_tuple(r(RIGHT), count.into(), 5, 0),
            tuple(RESULT, (5..5 + u16::from(count)).map(r).collect::<Vec<_>>()),
        ];
        table.each(&format!("tuple of {count}"), body);
    }
    for (head, tail) in [(5, 6), (RIGHT, 6), (5, RIGHT)] {
        let body = vec![
            mov(RESULT, k(1)),
            match_cons(r(RIGHT), head, tail, 0),
            cons(RESULT, r(tail), r(head)),
        ];
        table.each("list", body);
    }
    table.judge();
}

/// Checks chains of floats: only the last one is tested for being finite, and an error before it is found all the same.
#[test]
fn chains_of_floats() {
    let mut table = Table::new();
    for first in [P::Add, P::Mul, P::Fdiv] {
        for second in [P::Add, P::Sub, P::Mul] {
            // The first one's result in the place of its operand, of the other one, and beside them.
            for to in [KNOWN[0], KNOWN[1], RESULT] {
                let mut body = table.known(Shape::Floats, KNOWN[0], r(LEFT));
                body.extend(table.known(Shape::Floats, KNOWN[1], r(RIGHT)));
                body.push(op(to, first, KNOWN.map(r).to_vec()));
                body.push(op(RESULT, second, vec![r(KNOWN[1]), r(to)]));
                let (first, second) = (first.name(), second.name());
                table.pairs(&format!("{second} after {first} in {to}"), body.clone());
                body.push(op(RESULT, P::Mul, vec![r(RESULT), r(KNOWN[0])]));
                table.pairs(&format!("mul after {second} after {first} in {to}"), body);
            }
        }
        // And where the next one does not look at it.
        let mut body = table.known(Shape::Floats, KNOWN[0], r(LEFT));
        body.extend(table.known(Shape::Floats, KNOWN[1], r(RIGHT)));
        body.push(op(RESULT, first, KNOWN.map(r).to_vec()));
        body.push(op(KNOWN[0], P::Add, vec![r(KNOWN[0]), r(KNOWN[0])]));
        let first = first.name();
        table.pairs(&format!("add beside {first}"), body);
    }
    table.judge();
}

/// Calls that need not be made, since the caller sees what is answered.
#[test]
fn answers_at_once() {
    let mut table = Table::new();
    let (seven, one) = (table.integer(7), table.integer(1));
    let half = table.float(0.5);
    for p in [P::Eq, P::Ne, P::Same, P::Differ, P::Lt, P::Le, P::Gt, P::Ge] {
        let name = p.name();
        let codes = [
            vec![
                op(2, p, vec![r(0), r(1)]),
                branch(r(2), 3),
                ret(r(0)),
                ret(r(1)),
            ],
            vec![
                op(2, p, vec![one, r(0)]),
                branch(r(2), 3),
                ret(seven),
                ret(one),
            ],
            vec![
                op(2, p, vec![r(0), r(1)]),
                branch(r(2), 3),
                ret(half),
                op(3, P::Sub, vec![r(0), one]),
                ret(r(3)),
            ],
            vec![
                op(2, P::IsInteger, vec![r(1)]),
                branch(r(2), 6),
                op(3, p, vec![r(1), r(0)]),
                branch(r(3), 6),
                mov(4, r(1)),
                ret(r(4)),
                is(r(0), seven, 8),
                ret(one),
                op(3, P::Add, vec![r(0), one]),
                ret(r(3)),
            ],
            vec![
                op(2, P::IsFloat, vec![r(0)]),
                branch(r(2), 3),
                ret(seven),
                op(2, p, vec![r(1), r(0)]),
                branch(r(2), 6),
                ret(r(1)),
                ret(r(0)),
            ],
        ];
        for (i, code) in codes.into_iter().enumerate() {
            let function = format!("{name} {i}");
            let build = std::mem::replace(&mut table.build, Build::new());
            table.build = build.function(&function, 2, code);
            let function = table.build.uses(MODULE, &function, 2);
            for shape in Shape::ALL {
                let mut body = table.known(shape, KNOWN[0], r(LEFT));
                body.extend(table.known(shape, KNOWN[1], r(RIGHT)));
                let args = [
                    shape.register(KNOWN[0], LEFT),
                    shape.register(KNOWN[1], RIGHT),
                ];
                body.push(call(RESULT, function, args.map(r)));
                table.pairs(&format!("{shape:?} call of {name} {i}"), body);
            }
        }
    }
    table.judge();
}

/// A parameter that is a number beside floats only, where callers pass integers, floats, or both.
#[test]
fn numbers_beside_floats() {
    use Shape::{Floats, Integers};
    for shapes in [&[Integers][..], &[Floats], &[Integers, Floats]] {
        let mut table = Table::new();
        let (half, two) = (table.float(0.5), table.float(2.0));
        let code = vec![
            op(1, P::Mul, vec![r(0), half]),
            op(2, P::Sub, vec![two, r(0)]),
            op(2, P::Add, vec![r(1), r(2)]),
            op(3, P::Round, vec![r(2)]),
            tuple(4, [0, 1, 2, 3].map(r)),
            ret(r(4)),
        ];
        let build = std::mem::replace(&mut table.build, Build::new());
        table.build = build.function("beside", 1, code);
        let beside = table.build.uses(MODULE, "beside", 1);
        for shape in shapes {
            let mut body = table.known(*shape, KNOWN[0], r(RIGHT));
            body.push(call(RESULT, beside, [r(KNOWN[0])]));
            table.each(&format!("{shape:?} beside floats"), body);
        }
        table.judge();
    }
}

/// A value keeps what it is on the way through what is made of it.
#[test]
fn constructions() {
    let mut table = Table::new();
    for shape in Shape::ALL {
        let known = table.known(shape, KNOWN[0], r(RIGHT));
        let value = r(shape.register(KNOWN[0], RIGHT));
        for count in 1..6 {
            let mut body = known.clone();
            body.push(tuple(RESULT, vec![value; count]));
            table.each(&format!("{shape:?} tuple of {count}"), body);
        }
        let mut body = known.clone();
        body.push(cons(RESULT, value, value));
        table.each(&format!("{shape:?} list"), body);
        let mut body = known;
        body.push(mov(RESULT, value));
        table.each(&format!("{shape:?} move"), body);
    }
    table.judge();
}
