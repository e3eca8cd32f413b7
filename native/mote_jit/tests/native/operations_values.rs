//! Functions that are values: made with captures, and called, on both tiers. What happens to calls of other values is tested
//! in Elixir (test/mote/behaviour/functions_test.exs): the interpreter tells of them.

use crate::build::{self, call, fun, is, k, op, r, ret, says_each, tail_fun, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;

/// Any constant says what is aborted.
fn call_fun(dst: u16, function: Operand, args: impl Into<Vec<Operand>>) -> Instr {
    build::call_fun(dst, function, args, k(0))
}

/// A unit whose behaviour calls each of three functions as a value and sends what they return.
fn unit(rounds: i64) -> Vec<u8> {
    let mut b = Build::new();
    let numbers = [0, 1, 2, rounds];
    let [zero, one, two, rounds] = numbers.map(|n| k(b.constant(Constant::Integer(n))));
    let functions = [("adds", 2), ("twice", 3), ("counts", 3), ("asks", 1)];
    let [adds, twice, counts, asks] = functions.map(|(name, arity)| b.uses(MODULE, name, arity));
    let made = [fun(2, adds, [two]), fun(3, twice, []), fun(4, counts, [])];
    let said = says_each([
        call_fun(1, r(2), [one]),
        call_fun(1, r(3), [r(2), one]),
        call_fun(1, r(4), [rounds, zero]),
        call(1, asks, vec![r(2)]),
        tuple(1, [r(2), r(3), r(4)]),
    ]);
    let body = made.into_iter().chain(said).collect();
    // What it has captured, and its argument.
    let added = vec![
        op(2, P::Captured, [r(0), zero]),
        op(3, P::Add, [r(2), r(1)]),
        ret(r(3)),
    ];
    // A function, called with a value, and last with what it has returned.
    let called_twice = vec![call_fun(3, r(1), [r(2)]), tail_fun(r(1), [r(3)], zero)];
    // Calls itself by the value, until nothing is left of the first argument.
    let counted = vec![
        is(r(1), zero, 2),
        ret(r(2)),
        op(3, P::Sub, [r(1), one]),
        op(4, P::Add, [r(2), two]),
        tail_fun(r(0), [r(3), r(4)], zero),
    ];
    // Which functions it is, by its number of arguments; and that it is one.
    let asked = vec![
        op(1, P::IsFunction, [r(0)]),
        op(2, P::IsFunctionOf, [r(0), one]),
        op(3, P::IsFunctionOf, [r(0), two]),
        op(4, P::Same, [r(0), r(0)]),
        op(5, P::Captured, [r(0), one]),
        tuple(6, [1, 2, 3, 4, 5].map(r)),
        ret(r(6)),
    ];
    let b = b
        .function("adds", 2, added)
        .function("twice", 3, called_twice)
        .function("counts", 3, counted)
        .function("asks", 1, asked);
    encode(&b.behaviour("all", 0, body).0)
}

#[test]
fn values_are_called_alike() {
    let heard = heard_alike(&unit(1000), 1 << 40, "values");
    assert_eq!(heard.aborts, [""; 0]);
    let said: Vec<&str> = heard.messages.iter().map(String::as_str).collect();
    let expected = [
        "3",
        "5",
        "2000",
        "{:true,:true,:false,:true,:undefined,}",
        "{a function of 1,a function of 2,a function of 2,}",
    ];
    assert_eq!(said, expected);
}

#[test]
fn calls_of_values_spend_fuel() {
    let enough = heard_alike(&unit(100), 1 << 40, "enough");
    assert_eq!(enough.aborts, [""; 0]);
    // One call, three, a hundred and one, and one.
    let spent = 1 + 3 + 101 + 1;
    assert_eq!(heard_alike(&unit(100), spent, "as much").aborts, [""; 0]);
    let short = heard_alike(&unit(100), spent - 1, "less");
    assert_eq!(short.aborts, [":fuel"]);
}
