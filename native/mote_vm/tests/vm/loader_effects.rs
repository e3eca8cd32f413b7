//! The rules for endings, effects and safety: what is refused, and the nearest thing that is accepted.

use crate::build::{
    abort, becomes, branch, call, call_fun, create, create_on, everything, falsy, fun, k, mov, op,
    r, ret, send, send_after, sendx, tail, tail_fun, Build, MODULE,
};
use crate::judge::{accepted, behaviour, constants, function, refused};
use mote_vm::code::error::{CodeName, CodeProblem, LoadError};
use mote_vm::code::ir::{Constant, Instr, Unit};
use mote_vm::code::verify::verify;
use mote_vm::terms::prim::primitive::Primitive;

#[test]
fn every_path_ends() {
    assert_eq!(refused(&function(vec![])), (0, CodeProblem::NoEnd));
    assert_eq!(
        refused(&function(vec![mov(1, r(0))])),
        (1, CodeProblem::NoEnd)
    );
    let unit = behaviour(vec![branch(r(0), 2), Instr::Done, mov(1, r(0))]);
    assert_eq!(refused(&unit), (3, CodeProblem::NoEnd));
    for end in [Instr::Done, Instr::Ignore, abort(k(0))] {
        accepted(&behaviour(vec![end]));
    }
    for end in [ret(k(0)), abort(k(0))] {
        accepted(&function(vec![end]));
    }
    // A become is no end.
    let unit = behaviour(vec![Instr::BecomeSink]);
    assert_eq!(refused(&unit), (1, CodeProblem::NoEnd));
}

#[test]
fn behaviours_and_functions_end_each_in_their_way() {
    for effects in [false, true] {
        for (end, name) in [(Instr::Done, "done"), (Instr::Ignore, "ignore")] {
            let mut unit = function(vec![end]);
            unit.functions[0].effects = effects;
            assert_eq!(refused(&unit), (0, CodeProblem::BehaviourOnly(name)));
        }
    }
    let unit = behaviour(vec![ret(r(0))]);
    assert_eq!(refused(&unit), (0, CodeProblem::FunctionOnly("return")));
    let mut b = Build::new();
    let f = b.uses(MODULE, "f", 1);
    let tail_call = tail(f, [r(0)]);
    let b = b.function("f", 1, vec![tail_call.clone()]);
    accepted(&b.0);
    let unit = b.behaviour("b", 0, vec![tail_call]).0;
    assert_eq!(refused(&unit), (0, CodeProblem::FunctionOnly("tail_call")));
}

#[test]
fn effects_need_the_flag() {
    let mut b = Build::new();
    let c = b.creates("Elixir.Other", "b", 0);
    let empty = b.0;
    let (target, message) = (r(0), k(0));
    let effects = [
        Instr::SelfAddress { dst: 1 },
        create(1, c, []),
        create_on(1, c, [], k(0)),
        send(target, message),
        sendx(k(0), target, message),
        send_after(1, k(0), target, message),
        Instr::CancelTimer {
            dst: 1,
            timer: target,
        },
        Instr::Unstash { kept: target },
        becomes(c, []),
        Instr::BecomeSink,
    ];
    for effect in effects {
        let code = vec![effect, ret(k(0))];
        accepted(&Build(empty.clone()).effects("f", 1, code.clone()).0);
        let unit = Build(empty.clone()).function("f", 1, code).0;
        assert_eq!(refused(&unit), (0, CodeProblem::Effect));
    }
    // References that carry their sponsor, and chance, are no effects.
    accepted(&function(vec![
        op(1, Primitive::On, vec![k(0), r(0)]),
        op(2, Primitive::Random, vec![]),
        abort(r(2)),
    ]));
}

#[test]
fn effects_are_called_by_effects_only() {
    let mut b = Build::new();
    let g = b.uses(MODULE, "g", 0);
    let far = b.uses("Elixir.Other", "g", 0);
    let empty = b.effects("g", 0, vec![ret(k(0))]).0;
    let calls = |function| {
        [
            vec![call(1, function, []), ret(r(1))],
            vec![tail(function, [])],
        ]
    };
    for code in calls(g) {
        accepted(&Build(empty.clone()).effects("f", 1, code.clone()).0);
        let unit = Build(empty.clone()).function("f", 1, code.clone()).0;
        assert_eq!(refused(&unit), (0, CodeProblem::EffectCall(g)));
        // Without the flag on the callee nothing is wrong.
        let mut unit = unit;
        unit.functions[0].effects = false;
        accepted(&unit);
    }
    for code in calls(far) {
        accepted(&Build(empty.clone()).function("f", 1, code).0);
    }
}

#[test]
fn safe_behaviours_never_become() {
    let mut b = Build::new();
    let me = b.creates(MODULE, "b", 0);
    let empty = b.0;
    for instr in [becomes(me, []), Instr::BecomeSink] {
        let code = vec![branch(r(0), 2), instr, Instr::Done];
        accepted(&Build(empty.clone()).behaviour("b", 0, code.clone()).0);
        let unit = Build(empty.clone()).safe("b", 0, code).0;
        assert_eq!(refused(&unit), (1, CodeProblem::Unsafe));
    }
    let code = vec![create(1, me, []), Instr::Done];
    accepted(&Build(empty.clone()).safe("b", 0, code.clone()).0);
    // To claim less than is true is no lie.
    accepted(&Build(empty).behaviour("b", 0, code).0);
}

#[test]
fn safe_behaviours_call_nothing_that_becomes() {
    // The behaviour calls f0, each f calls the next, the last one does `last`; the calls form a cycle as well.
    let chain = |last: Instr, safe: bool| {
        let mut b = Build::new();
        let f: Vec<u32> = (0..4)
            .map(|i| b.uses(MODULE, &format!("f{i}"), 0))
            .collect();
        let call = |function| call(0, function, []);
        let tail_call = |function| tail(function, []);
        let code = vec![mov(1, k(0)), call(f[0]), Instr::Done];
        b = if safe {
            b.safe("b", 0, code)
        } else {
            b.behaviour("b", 0, code)
        };
        b.effects("f0", 0, vec![call(f[1]), ret(r(0))])
            .effects("f1", 0, vec![tail_call(f[2])])
            .effects("f2", 0, vec![call(f[0]), tail_call(f[3])])
            .effects("f3", 0, vec![last, ret(k(0))])
            .0
    };
    accepted(&chain(Instr::SelfAddress { dst: 0 }, true));
    accepted(&chain(Instr::BecomeSink, false));
    assert_eq!(
        refused(&chain(Instr::BecomeSink, true)),
        (1, CodeProblem::Unsafe)
    );
}

#[test]
fn messages_say_where() {
    let message = |unit: &Unit| verify(unit).unwrap_err().to_string();
    assert_eq!(
        message(&function(vec![mov(1, r(0)), ret(r(2))])),
        "function \"f\"/1, instruction 1: register 2 is read, but not every path has written it"
    );
    assert_eq!(
        message(
            &Build::new()
                .safe("cell", 2, vec![Instr::BecomeSink, Instr::Done])
                .0
        ),
        "behaviour \"cell\"/2, instruction 0: it may become, and the behaviour is flagged safe"
    );
    assert_eq!(
        message(&constants(vec![Constant::Nil, Constant::Tuple(vec![1])])),
        "constant 1: constant 1 is not an earlier one"
    );
    let twice = Build::new()
        .function("f", 1, vec![ret(k(0))])
        .function("f", 1, vec![ret(k(0))]);
    assert_eq!(message(&twice.0), "function \"f\"/1: it is there twice");
}

#[test]
fn names_in_errors_tell_functions_from_behaviours() {
    let mut unit = everything();
    unit.behaviours[1].code[12] = Instr::SelfAddress { dst: 0 };
    let Err(LoadError::Code {
        code,
        instruction,
        problem,
    }) = verify(&unit)
    else {
        panic!("accepted");
    };
    let name = CodeName {
        behaviour: true,
        name: "fan".to_owned(),
        arity: 0,
    };
    assert_eq!((code, instruction, problem), (name, 13, CodeProblem::NoEnd));
}

#[test]
fn a_value_is_a_function_of_the_unit_without_effects() {
    let unit = |name: &str, arity: u32, captures: usize| {
        let mut b = Build::new();
        let module = if name == "far" {
            "Elixir.Other"
        } else {
            MODULE
        };
        let function = b.uses(module, name, arity);
        let send = send(k(0), k(0));
        let fun = fun(1, function, vec![r(0); captures]);
        b.function("pure", 1, vec![ret(r(0))])
            .function("pure", 0, vec![ret(k(0))])
            .effects("sends", 1, vec![send, ret(r(0))])
            .behaviour("b", 0, vec![fun, Instr::Done])
            .0
    };
    accepted(&unit("pure", 1, 0));
    accepted(&unit("pure", 1, 255));
    let problem = CodeProblem::Operands(256);
    assert_eq!(refused(&unit("pure", 1, 256)), (0, problem));
    // It takes itself.
    for (name, arity) in [("pure", 0), ("sends", 1), ("far", 1)] {
        let unit = unit(name, arity, 0);
        assert_eq!(refused(&unit), (0, CodeProblem::Value(0)), "{name}");
    }
    let call = |count| call_fun(1, r(0), vec![r(0); count], k(0));
    accepted(&behaviour(vec![call(254), Instr::Done]));
    let unit = behaviour(vec![call(255), Instr::Done]);
    assert_eq!(refused(&unit), (0, CodeProblem::Operands(255)));
    let last = tail_fun(r(0), [], k(0));
    accepted(&function(vec![last.clone()]));
    let problem = CodeProblem::FunctionOnly("tail_call");
    assert_eq!(refused(&behaviour(vec![last])), (0, problem));
}

#[test]
fn what_is_protected_is_one_call_that_nothing_jumps_into() {
    let problem = |code: Vec<Instr>| {
        let mut b = Build::new();
        b.uses(MODULE, "f", 1);
        let unit = b.function("f", 1, code).0;
        match verify(&unit) {
            Err(LoadError::Code { problem, .. }) => Some(problem),
            other => {
                other.expect("nothing else is wrong");
                None
            }
        }
    };
    let call = || call(1, 0, [r(0)]);
    let begin = Instr::Try { failed: 2 };
    let whole = || vec![begin.clone(), call(), Instr::Tried, ret(r(1))];
    assert_eq!(problem(whole()), None);
    let protected = Some(CodeProblem::Protected);
    assert_eq!(problem(vec![begin.clone(), call(), ret(r(1))]), protected);
    assert_eq!(problem(vec![call(), Instr::Tried, ret(r(1))]), protected);
    assert_eq!(problem(vec![begin.clone(), ret(r(0))]), protected);
    for inside in [2, 3] {
        let jumping = [vec![falsy(r(0), inside)], whole()].concat();
        assert_eq!(problem(jumping), protected);
    }
    assert_eq!(problem([vec![falsy(r(0), 1)], whole()].concat()), None);
}
