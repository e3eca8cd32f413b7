//! The rules for single instructions and for what paths write: what is refused, and the nearest thing that is
//! accepted.

use crate::build::{
    abort, becomes, branch, call, cons, create, create_on, falsy, guard, is, jump, k, match_cons,
    match_tuple, mov, op, r, ret, send, send_after, sendx, tail, tuple, Build, MODULE,
};
use crate::judge::{accepted, behaviour, function, refused};
use mote_vm::code::error::CodeProblem;
use mote_vm::code::ir::{CallSite, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive;

#[test]
fn registers_and_constants_exist() {
    accepted(&function(vec![mov(7, r(0)), ret(r(7))]));
    let unit = function(vec![mov(8, r(0)), ret(k(0))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Register(8)));
    let unit = function(vec![ret(r(8))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Register(8)));
    let unit = function(vec![ret(r(u16::MAX))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Register(u16::MAX.into())));
    accepted(&function(vec![ret(k(1))]));
    let unit = function(vec![ret(k(2))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Constant(2)));
    let unit = function(vec![mov(u16::MAX, k(0)), ret(k(0))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Register(u16::MAX.into())));
}

#[test]
fn match_tuple_stays_within_the_registers() {
    let take = |count, first| function(vec![match_tuple(r(0), count, first, 1), ret(k(0))]);
    accepted(&take(7, 1));
    accepted(&take(8, 0));
    accepted(&take(0, 8));
    assert_eq!(refused(&take(0, 9)), (0, CodeProblem::Register(8)));
    assert_eq!(refused(&take(8, 1)), (0, CodeProblem::Register(8)));
    assert_eq!(
        refused(&take(2, u16::MAX)),
        (0, CodeProblem::Register(65_536))
    );
    assert_eq!(refused(&take(256, 0)), (0, CodeProblem::Operands(256)));
    assert_eq!(
        refused(&take(u32::MAX, 0)),
        (0, CodeProblem::Operands(u32::MAX as usize))
    );
}

#[test]
fn registers_are_written_before_they_are_read() {
    accepted(&function(vec![mov(1, r(0)), ret(r(1))]));
    assert_eq!(
        refused(&function(vec![ret(r(1))])),
        (0, CodeProblem::Unwritten(1))
    );
    // An instruction reads before it writes.
    let unit = function(vec![op(1, Primitive::Neg, vec![r(1)]), ret(r(1))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Unwritten(1)));
    accepted(&function(vec![
        op(0, Primitive::Neg, vec![r(0)]),
        ret(r(0)),
    ]));
    // The message is given, what is beyond it is not.
    accepted(&behaviour(vec![abort(r(0))]));
    let unit = behaviour(vec![abort(r(1))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Unwritten(1)));
}

#[test]
fn every_operand_is_checked() {
    let mut b = Build::new();
    let f = b.uses("Elixir.Other", "f", 2);
    let c = b.creates("Elixir.Other", "b", 2);
    let empty = b.0;
    let two = |a: Operand, b: Operand| vec![a, b];
    type Make = Box<dyn Fn(Operand, Operand, Operand) -> Instr>;
    let add = Primitive::Add;
    let three: Vec<Make> = vec![
        Box::new(sendx),
        Box::new(|delay, target, message| send_after(1, delay, target, message)),
        Box::new(|a, b, c| op(1, Primitive::PutElem, vec![a, b, c])),
        Box::new(|a, b, c| tuple(1, [a, b, c])),
        Box::new(move |a, b, sponsor| create_on(1, c, two(a, b), sponsor)),
    ];
    let pairs: Vec<Make> = vec![
        Box::new(move |a, b, _| op(1, add, two(a, b))),
        Box::new(move |a, b, _| guard(1, add, two(a, b), 1)),
        Box::new(|head, tail, _| cons(1, head, tail)),
        Box::new(move |a, b, _| call(1, f, two(a, b))),
        Box::new(|left, right, _| is(left, right, 1)),
        Box::new(move |a, b, _| create(1, c, two(a, b))),
        Box::new(|target, message, _| send(target, message)),
        Box::new(move |a, b, _| becomes(c, two(a, b))),
    ];
    let singles: Vec<Make> = vec![
        Box::new(|timer, _, _| Instr::CancelTimer { dst: 1, timer }),
        Box::new(|kept, _, _| Instr::Unstash { kept }),
        Box::new(|src, _, _| mov(1, src)),
        Box::new(|condition, _, _| branch(condition, 1)),
        Box::new(|value, _, _| falsy(value, 1)),
        Box::new(|value, _, _| match_tuple(value, 1, 1, 1)),
        Box::new(|value, _, _| match_cons(value, 1, 2, 1)),
    ];
    for (count, makes) in [(3, three), (2, pairs), (1, singles)] {
        for make in makes {
            let unit = |bad: usize| {
                let [a, b, c] = [0, 1, 2].map(|i| if i == bad { r(5) } else { r(0) });
                Build(empty.clone())
                    .behaviour("b", 0, vec![make(a, b, c), Instr::Done])
                    .0
            };
            accepted(&unit(3));
            for bad in 0..count {
                assert_eq!(refused(&unit(bad)), (0, CodeProblem::Unwritten(5)));
            }
        }
    }
    let tail = |a, b| {
        let code = vec![tail(f, [a, b])];
        Build(empty.clone()).function("t", 1, code).0
    };
    accepted(&tail(r(0), r(0)));
    assert_eq!(refused(&tail(r(0), r(5))), (0, CodeProblem::Unwritten(5)));
}

#[test]
fn every_path_must_have_written() {
    let both = |other: Instr| {
        function(vec![
            branch(r(0), 3),
            mov(1, k(0)),
            jump(4),
            other,
            ret(r(1)),
        ])
    };
    accepted(&both(mov(1, k(1))));
    assert_eq!(refused(&both(mov(2, k(1)))), (4, CodeProblem::Unwritten(1)));
    // Three ways into one label: one that has not written is enough.
    let three = |third: u16| {
        function(vec![
            mov(1, k(0)),
            branch(r(0), 5),
            branch(r(0), 5),
            mov(third, k(0)),
            jump(5),
            ret(r(2)),
        ])
    };
    assert_eq!(refused(&three(2)), (5, CodeProblem::Unwritten(2)));
    // The later of two jumps may have written less than the earlier one, and be the only other way in.
    let later = |first: u16| {
        function(vec![
            branch(r(0), 3),
            mov(first, k(0)),
            branch(r(0), 5),
            branch(r(0), 5),
            ret(k(0)),
            ret(r(first)),
        ])
    };
    accepted(&later(0));
    assert_eq!(refused(&later(1)), (5, CodeProblem::Unwritten(1)));
    // What falls through counts as well as what jumps.
    let falls = |first: u16| {
        function(vec![
            mov(first, k(0)),
            branch(r(0), 3),
            mov(1, k(0)),
            ret(r(1)),
        ])
    };
    accepted(&falls(1));
    assert_eq!(refused(&falls(2)), (3, CodeProblem::Unwritten(1)));
}

#[test]
fn what_fails_to_match_writes_nothing() {
    let matches = [
        match_tuple(r(0), 2, 1, 2),
        match_cons(r(0), 1, 2, 2),
        guard(2, Primitive::Hd, [r(0)], 2),
    ];
    for instr in matches {
        let reads = |success: u16, failure: u16| {
            function(vec![instr.clone(), ret(r(success)), ret(r(failure))])
        };
        accepted(&reads(2, 0));
        assert_eq!(refused(&reads(2, 2)), (2, CodeProblem::Unwritten(2)));
        assert_eq!(refused(&reads(3, 0)), (1, CodeProblem::Unwritten(3)));
    }
    // A label that is the next instruction is a join of success and failure.
    let unit = function(vec![match_cons(r(0), 1, 2, 1), ret(r(1))]);
    assert_eq!(refused(&unit), (1, CodeProblem::Unwritten(1)));
    // Taking nothing apart writes nothing.
    let unit = function(vec![match_tuple(r(0), 0, 1, 2), ret(r(1)), ret(r(0))]);
    assert_eq!(refused(&unit), (1, CodeProblem::Unwritten(1)));
}

#[test]
fn labels_lead_forward_and_within() {
    let to = |label| {
        function(vec![
            mov(1, r(0)),
            branch(r(0), label),
            mov(1, r(0)),
            ret(r(1)),
        ])
    };
    accepted(&to(2));
    accepted(&to(3));
    for label in [0, 1, 4, u32::MAX] {
        assert_eq!(refused(&to(label)), (1, CodeProblem::Label(label)));
    }
    let makes: [fn(u32) -> Instr; 7] = [
        jump,
        |label| branch(r(0), label),
        |label| falsy(r(0), label),
        |label| is(r(0), r(0), label),
        |label| match_tuple(r(0), 1, 1, label),
        |label| match_cons(r(0), 1, 2, label),
        |label| guard(1, Primitive::Random, [], label),
    ];
    for make in makes {
        accepted(&function(vec![make(1), ret(r(0))]));
        for label in [0, 2] {
            let unit = function(vec![make(label), ret(r(0))]);
            assert_eq!(refused(&unit), (0, CodeProblem::Label(label)));
        }
    }
}

#[test]
fn every_instruction_is_reachable() {
    let unit = function(vec![ret(r(0)), ret(r(0))]);
    assert_eq!(refused(&unit), (1, CodeProblem::Unreachable));
    let unit = function(vec![jump(2), mov(0, k(0)), ret(r(0))]);
    assert_eq!(refused(&unit), (1, CodeProblem::Unreachable));
    accepted(&function(vec![branch(r(0), 2), ret(r(0)), ret(k(0))]));
    accepted(&function(vec![jump(1), ret(r(0))]));
}

#[test]
fn operands_are_as_many_as_asked_for() {
    let mut b = Build::new();
    let f = b.uses("Elixir.Other", "f", 2);
    let c = b.creates("Elixir.Other", "b", 2);
    let empty = b.0;
    let args = |count| vec![r(0); count];
    type Make = Box<dyn Fn(usize) -> Instr>;
    let makes: Vec<Make> = vec![
        Box::new(move |n| op(1, Primitive::Add, args(n))),
        Box::new(move |n| guard(1, Primitive::On, args(n), 1)),
        Box::new(move |n| call(1, f, args(n))),
        Box::new(move |n| create(1, c, args(n))),
        Box::new(move |n| create_on(1, c, args(n), r(0))),
        Box::new(move |n| becomes(c, args(n))),
    ];
    for make in makes {
        let unit = |count| {
            Build(empty.clone())
                .behaviour("b", 0, vec![make(count), Instr::Done])
                .0
        };
        accepted(&unit(2));
        for found in [0, 1, 3] {
            let problem = CodeProblem::Arity { expected: 2, found };
            assert_eq!(refused(&unit(found)), (0, problem));
        }
    }
    let tail = |count| {
        let code = vec![tail(f, args(count))];
        Build(empty.clone()).function("t", 1, code).0
    };
    accepted(&tail(2));
    let problem = CodeProblem::Arity {
        expected: 2,
        found: 1,
    };
    assert_eq!(refused(&tail(1)), (0, problem));

    let tuple = |count| function(vec![tuple(1, args(count)), ret(r(1))]);
    accepted(&tuple(0));
    accepted(&tuple(255));
    assert_eq!(refused(&tuple(256)), (0, CodeProblem::Operands(256)));
}

#[test]
fn imports_that_code_uses_exist() {
    let unit = function(vec![call(1, 0, []), ret(r(1))]);
    assert_eq!(refused(&unit), (0, CodeProblem::Function(0)));
    let unit = function(vec![tail(3, [])]);
    assert_eq!(refused(&unit), (0, CodeProblem::Function(3)));
    let uses: [fn(u32) -> Instr; 3] = [
        |behaviour| create(1, behaviour, []),
        |behaviour| create_on(1, behaviour, [], r(0)),
        |behaviour| becomes(behaviour, []),
    ];
    for make in uses {
        let mut b = Build::new();
        let c = b.creates(MODULE, "b", 0);
        let empty = b.0;
        let unit = |index| {
            Build(empty.clone())
                .behaviour("b", 0, vec![make(index), Instr::Done])
                .0
        };
        accepted(&unit(c));
        assert_eq!(refused(&unit(1)), (0, CodeProblem::Behaviour(1)));
    }
}

#[test]
fn call_sites_are_calls_in_order() {
    let mut b = Build::new();
    let f = b.uses(MODULE, "f", 0);
    let call = |dst| call(dst, f, []);
    let code = vec![call(1), call(1), ret(r(1))];
    let unit = b.function("f", 0, code).0;
    let with = |sites: &[(u32, u32)]| {
        let mut unit = unit.clone();
        let site = |(at, place): &(u32, u32)| CallSite {
            at: *at,
            place: *place,
        };
        unit.functions[0].sites = sites.iter().map(site).collect();
        unit
    };
    accepted(&with(&[(0, 0), (1, 0)]));
    accepted(&with(&[(1, 0)]));
    assert_eq!(refused(&with(&[(2, 0)])), (2, CodeProblem::Site));
    assert_eq!(refused(&with(&[(3, 0)])), (3, CodeProblem::Site));
    assert_eq!(refused(&with(&[(1, 0), (0, 0)])), (0, CodeProblem::Site));
    assert_eq!(refused(&with(&[(1, 0), (1, 0)])), (1, CodeProblem::Site));
    let beyond = unit.constants.len() as u32;
    let problem = CodeProblem::Constant(beyond);
    assert_eq!(refused(&with(&[(0, 0), (1, beyond)])), (1, problem));
}
