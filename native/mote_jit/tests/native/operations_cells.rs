//! Loops that make cells: native code has the place of the next one in registers from round to round (src/body/positions.rs). Here
//! rounds leave for the slow body before and behind a cell, helpers make cells between them, and there are more rounds than in a
//! slice of fuel and more cells than in a block.

use crate::build::{branch, call, k, op, r, ret, says_each, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive as P;

const PLENTY: u64 = 1 << 40;

/// Registers of the loop: how many rounds are left, a number and the one of the next round, the lists of even and of odd rounds.
const LEFT: u16 = 0;
const NOW: u16 = 1;
const NEXT: u16 = 2;
const EVEN: u16 = 3;
const ODD: u16 = 4;
const FEWER: u16 = 5;
const MADE: u16 = 6;
const SPARE: u16 = 7;

/// What a round does with its number, which may be too large to be squared by the fast body.
#[derive(Clone, Copy, Debug)]
enum Round {
    /// Its square, and then a cell of that.
    SquaresFirst,
    /// A cell, then the square, and a cell of that.
    SquaresBetween,
    /// A list that a helper makes of a tuple, and then a cell of that.
    AsksHelper,
}

fn cons(dst: Register, head: Operand, tail: Operand) -> Instr {
    Instr::Cons { dst, head, tail }
}

/// What a round adds to one of its lists, which is in `SPARE` in the end.
fn adds(round: Round, list: u16) -> Vec<Instr> {
    let square = op(MADE, P::Mul, [r(NOW), r(NOW)]);
    let made = cons(SPARE, r(MADE), r(list));
    match round {
        Round::SquaresFirst => vec![square, made],
        Round::SquaresBetween => vec![
            cons(SPARE, r(NOW), r(list)),
            square,
            cons(SPARE, r(MADE), r(SPARE)),
        ],
        Round::AsksHelper => vec![
            Instr::Tuple {
                dst: MADE,
                elements: vec![r(NOW), r(LEFT)],
            },
            op(MADE, P::TupleToList, [r(MADE)]),
            made,
        ],
    }
}

/// A unit whose turn says what so many rounds make of these two numbers.
fn unit(round: Round, rounds: &[i64], numbers: [i64; 2]) -> Vec<u8> {
    let mut b = Build::new();
    let [zero, one] = [0, 1].map(|n| k(b.constant(Constant::Integer(n))));
    let me = b.uses(MODULE, "me", 5);
    let even = adds(round, EVEN);
    let odd = 6 + even.len() as u32 + 1;
    let mut code = vec![
        Instr::Match {
            left: r(LEFT),
            right: zero,
            label: 3,
        },
        Instr::Tuple {
            dst: SPARE,
            elements: vec![r(EVEN), r(ODD)],
        },
        ret(r(SPARE)),
        op(FEWER, P::Sub, [r(LEFT), one]),
        op(SPARE, P::Band, [r(LEFT), one]),
        op(SPARE, P::Eq, [r(SPARE), zero]),
        branch(r(SPARE), odd + 1),
    ];
    code.extend(even);
    code.push(tail(me, [r(FEWER), r(NEXT), r(NOW), r(SPARE), r(ODD)]));
    assert_eq!(code.len() as u32, odd + 1);
    code.extend(adds(round, ODD));
    code.push(tail(me, [r(FEWER), r(NEXT), r(NOW), r(EVEN), r(SPARE)]));
    let numbers = numbers.map(|n| k(b.constant(Constant::Integer(n))));
    let calls: Vec<Instr> = (rounds.iter())
        .map(|n| {
            let rounds = k(b.constant(Constant::Integer(*n)));
            call(1, me, [rounds, numbers[0], numbers[1], k(1), k(1)])
        })
        .collect();
    let b = b.function("me", 5, code);
    encode(&b.behaviour("all", 0, says_each(calls)).0)
}

#[test]
fn cells_of_all_rounds_are_there() {
    let large = 1 << 40;
    let rounds = [0, 1, 2, 3, 4, 7, 300, 5_000, 20_000];
    for round in [
        Round::SquaresFirst,
        Round::SquaresBetween,
        Round::AsksHelper,
    ] {
        for numbers in [[3, 5], [3, large], [large, 3], [large, large]] {
            let what = format!("{round:?} of {numbers:?}");
            let heard = heard_alike(&unit(round, &rounds, numbers), PLENTY, &what);
            assert_eq!(heard.messages.len(), rounds.len(), "{what}");
        }
    }
}

#[test]
fn fuel_ends_in_each_round() {
    for round in [Round::SquaresFirst, Round::AsksHelper] {
        let unit = unit(round, &[12], [3, 1 << 40]);
        for fuel in 1..16 {
            let what = format!("{round:?} with fuel {fuel}");
            let heard = heard_alike(&unit, fuel, &what);
            assert!(fuel > 12 || !heard.aborts.is_empty(), "{what}");
        }
    }
}
