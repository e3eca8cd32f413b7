//! Every rule of the verifier: what it refuses, and the nearest thing that it accepts.

#[path = "support/build.rs"]
mod build;

use build::{branch, everything, jump, k, mov, r, ret, Build, MODULE};
use mote_vm::code::error::{CodeName, CodeProblem, HeadProblem, LoadError, Table, TableProblem};
use mote_vm::code::ir::{
    Constant, Instr, Operand, Unit, MAX_CONSTANT_NODES, MAX_INTEGER, MIN_INTEGER,
};
use mote_vm::code::primitive::Primitive;
use mote_vm::code::verify::verify;

fn accepted(unit: &Unit) {
    if let Err(error) = verify(unit) {
        panic!("refused: {error}");
    }
}

/// Which instruction of the unit is refused, and why.
fn refused(unit: &Unit) -> (usize, CodeProblem) {
    match verify(unit) {
        Err(LoadError::Code {
            instruction,
            problem,
            ..
        }) => (instruction, problem),
        other => panic!("not refused for an instruction: {other:?}"),
    }
}

fn head_problem(unit: &Unit) -> HeadProblem {
    match verify(unit) {
        Err(LoadError::Head { problem, .. }) => problem,
        other => panic!("not refused for a head: {other:?}"),
    }
}

fn table_problem(unit: &Unit) -> (Table, usize, TableProblem) {
    match verify(unit) {
        Err(LoadError::Table {
            table,
            index,
            problem,
        }) => (table, index, problem),
        other => panic!("not refused for a table: {other:?}"),
    }
}

/// A function of one argument.
fn function(code: Vec<Instr>) -> Unit {
    Build::new().function("f", 1, code).0
}

/// A behaviour without captures: the message is in register 0.
fn behaviour(code: Vec<Instr>) -> Unit {
    Build::new().behaviour("b", 0, code).0
}

fn constants(constants: Vec<Constant>) -> Unit {
    let mut unit = Build::new().0;
    unit.constants = constants;
    unit
}

fn op(dst: u16, primitive: Primitive, args: Vec<Operand>) -> Instr {
    Instr::Op {
        dst,
        primitive,
        args,
    }
}

#[test]
fn integers_and_floats() {
    accepted(&constants(vec![
        Constant::Integer(MAX_INTEGER),
        Constant::Integer(MIN_INTEGER),
    ]));
    for value in [MAX_INTEGER + 1, MIN_INTEGER - 1, i64::MIN, i64::MAX] {
        let unit = constants(vec![Constant::Nil, Constant::Integer(value)]);
        let problem = TableProblem::Integer(value);
        assert_eq!(table_problem(&unit), (Table::Constants, 1, problem));
    }
    accepted(&constants(vec![
        Constant::Float(f64::MAX),
        Constant::Float(-0.0),
    ]));
    let unit = constants(vec![Constant::Float(f64::NAN)]);
    assert_eq!(
        table_problem(&unit),
        (Table::Constants, 0, TableProblem::Float)
    );
}

#[test]
fn constants_refer_to_atoms_and_earlier_constants() {
    let mut unit = constants(vec![Constant::Atom(0)]);
    assert_eq!(table_problem(&unit).2, TableProblem::Atom(0));
    unit.atoms.push("a".to_owned());
    accepted(&unit);

    let tuple = |part| constants(vec![Constant::Nil, Constant::Tuple(vec![0, part])]);
    accepted(&tuple(0));
    assert_eq!(table_problem(&tuple(1)).2, TableProblem::Constant(1));
    assert_eq!(
        table_problem(&tuple(u32::MAX)).2,
        TableProblem::Constant(u32::MAX)
    );
    let cons = |head, tail| constants(vec![Constant::Nil, Constant::Cons { head, tail }]);
    accepted(&cons(0, 0));
    assert_eq!(table_problem(&cons(1, 0)).2, TableProblem::Constant(1));
    assert_eq!(table_problem(&cons(0, 1)).2, TableProblem::Constant(1));
}

#[test]
fn constants_nest_a_thousand_deep_and_lists_are_as_long_as_they_like() {
    // Constant 0 is a leaf, constant i nests i deep.
    let nested = |depth: u32, nest: fn(u32) -> Constant| {
        constants(
            (0..=depth)
                .map(|i| i.checked_sub(1).map_or(Constant::Nil, nest))
                .collect(),
        )
    };
    let tuples = |depth| nested(depth, |inner| Constant::Tuple(vec![inner]));
    let heads = |depth| nested(depth, |head| Constant::Cons { head, tail: 0 });
    let tails = |depth| nested(depth, |tail| Constant::Cons { head: 0, tail });
    accepted(&tuples(1000));
    assert_eq!(table_problem(&tuples(1001)).2, TableProblem::Depth(1001));
    accepted(&heads(1000));
    assert_eq!(table_problem(&heads(1001)).2, TableProblem::Depth(1001));
    accepted(&tails(50_000));
}

#[test]
fn constants_do_not_unfold_without_bound() {
    // Constant i is a tree of 2^(i + 1) - 1 nodes.
    let doubled = |times: u32, double: fn(u32) -> Constant| {
        constants(
            (0..=times)
                .map(|i| i.checked_sub(1).map_or(Constant::Nil, double))
                .collect(),
        )
    };
    let tuples = |times| doubled(times, |half| Constant::Tuple(vec![half, half]));
    let lists = |times| {
        doubled(times, |half| Constant::Cons {
            head: half,
            tail: half,
        })
    };
    assert_eq!(MAX_CONSTANT_NODES, 1 << 24);
    for doubled in [tuples, lists] {
        accepted(&doubled(23));
        let problem = TableProblem::Nodes((1 << 25) - 1);
        assert_eq!(table_problem(&doubled(24)), (Table::Constants, 24, problem));
        assert!(verify(&doubled(900)).is_err());
    }
}

#[test]
fn atoms_are_as_long_as_on_the_beam() {
    let with_atom = |length: usize| {
        let mut unit = Build::new().0;
        unit.atoms = vec![String::new(), "ä".repeat(length)];
        unit
    };
    accepted(&with_atom(255));
    let problem = TableProblem::LongAtom(256);
    assert_eq!(table_problem(&with_atom(256)), (Table::Atoms, 1, problem));
    let mut unit = Build::new().0;
    unit.module = "m".repeat(256);
    assert_eq!(table_problem(&unit).0, Table::Module);
}

#[test]
fn imports_name_atoms() {
    let mut b = Build::new();
    b.uses("Elixir.Other", "f", 255);
    b.creates("Elixir.Other", "b", 255);
    let good = b.0;
    accepted(&good);
    let mut unit = good.clone();
    unit.functions_used[0].module = 9;
    assert_eq!(
        table_problem(&unit),
        (Table::FunctionsUsed, 0, TableProblem::Atom(9))
    );
    let mut unit = good.clone();
    unit.behaviours_used[0].name = 9;
    assert_eq!(
        table_problem(&unit),
        (Table::BehavioursUsed, 0, TableProblem::Atom(9))
    );
    let mut unit = good.clone();
    unit.functions_used[0].arity = 256;
    assert_eq!(table_problem(&unit).2, TableProblem::Arity(256));
    let mut unit = good;
    unit.behaviours_used[0].arity = 256;
    assert_eq!(table_problem(&unit).2, TableProblem::Arity(256));
}

#[test]
fn imports_of_the_unit_itself_exist() {
    let own = |arity, captures| {
        let mut b = Build::new();
        b.uses("Elixir.Other", "f", 3);
        b.uses(MODULE, "f", arity);
        b.creates("Elixir.Other", "b", 3);
        b.creates(MODULE, "b", captures);
        let b = b
            .function("g", 1, vec![ret(r(0))])
            .function("f", 1, vec![ret(r(0))]);
        b.behaviour("b", 0, vec![Instr::Done]).0
    };
    let verified = verify(&own(1, 0)).unwrap();
    assert_eq!(
        (verified.own_function(0), verified.own_function(1)),
        (None, Some(1))
    );
    assert_eq!(
        (verified.own_behaviour(0), verified.own_behaviour(1)),
        (None, Some(0))
    );
    assert_eq!(
        (verified.own_function(2), verified.own_behaviour(2)),
        (None, None)
    );
    assert_eq!(verified.into_unit(), own(1, 0));

    let missing = |name: &str, arity| TableProblem::Missing {
        name: name.to_owned(),
        arity,
    };
    assert_eq!(
        table_problem(&own(2, 0)),
        (Table::FunctionsUsed, 1, missing("f", 2))
    );
    assert_eq!(
        table_problem(&own(1, 1)),
        (Table::BehavioursUsed, 1, missing("b", 1))
    );
}

#[test]
fn names_are_unique_for_each_arity() {
    let two = |name, arity| {
        let b = Build::new().function("f", 1, vec![ret(r(0))]);
        b.function(name, arity, vec![ret(k(0))])
            .behaviour("f", 1, vec![Instr::Done])
            .0
    };
    accepted(&two("f", 2));
    accepted(&two("g", 1));
    assert_eq!(head_problem(&two("f", 1)), HeadProblem::Duplicate);
    let two = |captures| {
        let b = Build::new().behaviour("b", 1, vec![Instr::Done]);
        b.behaviour("b", captures, vec![Instr::Done]).0
    };
    accepted(&two(0));
    assert_eq!(head_problem(&two(1)), HeadProblem::Duplicate);
    // The same text twice among the atoms does not hide it.
    let mut unit = two(0);
    unit.atoms.push("b".to_owned());
    unit.behaviours[1].name = 1;
    accepted(&unit);
    unit.behaviours[1].captures = 1;
    assert_eq!(head_problem(&unit), HeadProblem::Duplicate);
    unit.behaviours[1].name = 2;
    assert_eq!(
        table_problem(&unit),
        (Table::Behaviours, 1, TableProblem::Atom(2))
    );
}

#[test]
fn what_code_starts_with_fits_into_its_registers() {
    let with = |arity, registers| {
        let mut unit = function(vec![ret(k(0))]);
        unit.functions[0].arity = arity;
        unit.functions[0].registers = registers;
        unit
    };
    accepted(&with(0, 0));
    accepted(&with(255, 255));
    accepted(&with(0, 512));
    assert_eq!(head_problem(&with(0, 513)), HeadProblem::Registers(513));
    assert_eq!(head_problem(&with(256, 512)), HeadProblem::Arity);
    let problem = HeadProblem::TooFewRegisters {
        registers: 2,
        given: 3,
    };
    assert_eq!(head_problem(&with(3, 2)), problem);
    let with = |captures, registers| {
        let mut unit = behaviour(vec![Instr::Done]);
        unit.behaviours[0].captures = captures;
        unit.behaviours[0].registers = registers;
        unit
    };
    accepted(&with(0, 1));
    accepted(&with(255, 256));
    assert_eq!(head_problem(&with(u32::MAX, 512)), HeadProblem::Arity);
    let problem = HeadProblem::TooFewRegisters {
        registers: 2,
        given: 3,
    };
    assert_eq!(head_problem(&with(2, 2)), problem);
}

#[test]
fn code_is_at_most_a_million_instructions() {
    let mut code = vec![mov(0, k(0)); 999_999];
    code.push(ret(r(0)));
    accepted(&function(code.clone()));
    code.push(ret(r(0)));
    assert_eq!(
        head_problem(&function(code)),
        HeadProblem::Length(1_000_001)
    );
}

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
    let take = |count, first| {
        function(vec![
            Instr::MatchTuple {
                value: r(0),
                count,
                first,
                label: 1,
            },
            ret(k(0)),
        ])
    };
    accepted(&take(7, 1));
    accepted(&take(8, 0));
    accepted(&take(0, 8));
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
    accepted(&behaviour(vec![Instr::Abort { reason: r(0) }]));
    let unit = behaviour(vec![Instr::Abort { reason: r(1) }]);
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
        Box::new(|sponsor, target, message| Instr::SendX {
            sponsor,
            target,
            message,
        }),
        Box::new(|delay, target, message| Instr::SendAfter {
            dst: 1,
            delay,
            target,
            message,
        }),
        Box::new(|a, b, c| op(1, Primitive::PutElem, vec![a, b, c])),
        Box::new(|a, b, c| Instr::Tuple {
            dst: 1,
            elements: vec![a, b, c],
        }),
        Box::new(move |a, b, sponsor| Instr::CreateOn {
            dst: 1,
            behaviour: c,
            captures: two(a, b),
            sponsor,
        }),
    ];
    let pairs: Vec<Make> = vec![
        Box::new(move |a, b, _| op(1, add, two(a, b))),
        Box::new(move |a, b, _| Instr::GuardOp {
            dst: 1,
            primitive: add,
            args: two(a, b),
            label: 1,
        }),
        Box::new(|head, tail, _| Instr::Cons { dst: 1, head, tail }),
        Box::new(move |a, b, _| Instr::Call {
            dst: 1,
            function: f,
            args: two(a, b),
        }),
        Box::new(|left, right, _| Instr::Match {
            left,
            right,
            label: 1,
        }),
        Box::new(move |a, b, _| Instr::Create {
            dst: 1,
            behaviour: c,
            captures: two(a, b),
        }),
        Box::new(|target, message, _| Instr::Send { target, message }),
        Box::new(move |a, b, _| Instr::Become {
            behaviour: c,
            captures: two(a, b),
        }),
    ];
    let singles: Vec<Make> = vec![
        Box::new(|src, _, _| mov(1, src)),
        Box::new(|condition, _, _| branch(condition, 1)),
        Box::new(|value, _, _| Instr::Falsy { value, label: 1 }),
        Box::new(|value, _, _| Instr::MatchTuple {
            value,
            count: 1,
            first: 1,
            label: 1,
        }),
        Box::new(|value, _, _| Instr::MatchCons {
            value,
            head: 1,
            tail: 2,
            label: 1,
        }),
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
        let code = vec![Instr::TailCall {
            function: f,
            args: vec![a, b],
        }];
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
        Instr::MatchTuple {
            value: r(0),
            count: 2,
            first: 1,
            label: 2,
        },
        Instr::MatchCons {
            value: r(0),
            head: 1,
            tail: 2,
            label: 2,
        },
        Instr::GuardOp {
            dst: 2,
            primitive: Primitive::Hd,
            args: vec![r(0)],
            label: 2,
        },
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
    let unit = function(vec![
        Instr::MatchCons {
            value: r(0),
            head: 1,
            tail: 2,
            label: 1,
        },
        ret(r(1)),
    ]);
    assert_eq!(refused(&unit), (1, CodeProblem::Unwritten(1)));
    // Taking nothing apart writes nothing.
    let unit = function(vec![
        Instr::MatchTuple {
            value: r(0),
            count: 0,
            first: 1,
            label: 2,
        },
        ret(r(1)),
        ret(r(0)),
    ]);
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
        |label| Instr::Falsy { value: r(0), label },
        |label| Instr::Match {
            left: r(0),
            right: r(0),
            label,
        },
        |label| Instr::MatchTuple {
            value: r(0),
            count: 1,
            first: 1,
            label,
        },
        |label| Instr::MatchCons {
            value: r(0),
            head: 1,
            tail: 2,
            label,
        },
        |label| Instr::GuardOp {
            dst: 1,
            primitive: Primitive::Random,
            args: vec![],
            label,
        },
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
fn every_path_ends() {
    assert_eq!(refused(&function(vec![])), (0, CodeProblem::NoEnd));
    assert_eq!(
        refused(&function(vec![mov(1, r(0))])),
        (1, CodeProblem::NoEnd)
    );
    let unit = behaviour(vec![branch(r(0), 2), Instr::Done, mov(1, r(0))]);
    assert_eq!(refused(&unit), (3, CodeProblem::NoEnd));
    for end in [Instr::Done, Instr::Ignore, Instr::Abort { reason: k(0) }] {
        accepted(&behaviour(vec![end]));
    }
    for end in [ret(k(0)), Instr::Abort { reason: k(0) }] {
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
    let tail_call = Instr::TailCall {
        function: f,
        args: vec![r(0)],
    };
    let b = b.function("f", 1, vec![tail_call.clone()]);
    accepted(&b.0);
    let unit = b.behaviour("b", 0, vec![tail_call]).0;
    assert_eq!(refused(&unit), (0, CodeProblem::FunctionOnly("tail_call")));
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
        Box::new(move |n| Instr::GuardOp {
            dst: 1,
            primitive: Primitive::On,
            args: args(n),
            label: 1,
        }),
        Box::new(move |n| Instr::Call {
            dst: 1,
            function: f,
            args: args(n),
        }),
        Box::new(move |n| Instr::Create {
            dst: 1,
            behaviour: c,
            captures: args(n),
        }),
        Box::new(move |n| Instr::CreateOn {
            dst: 1,
            behaviour: c,
            captures: args(n),
            sponsor: r(0),
        }),
        Box::new(move |n| Instr::Become {
            behaviour: c,
            captures: args(n),
        }),
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
        let code = vec![Instr::TailCall {
            function: f,
            args: args(count),
        }];
        Build(empty.clone()).function("t", 1, code).0
    };
    accepted(&tail(2));
    let problem = CodeProblem::Arity {
        expected: 2,
        found: 1,
    };
    assert_eq!(refused(&tail(1)), (0, problem));

    let tuple = |count| {
        function(vec![
            Instr::Tuple {
                dst: 1,
                elements: args(count),
            },
            ret(r(1)),
        ])
    };
    accepted(&tuple(0));
    accepted(&tuple(255));
    assert_eq!(refused(&tuple(256)), (0, CodeProblem::Operands(256)));
}

#[test]
fn imports_that_code_uses_exist() {
    let unit = function(vec![
        Instr::Call {
            dst: 1,
            function: 0,
            args: vec![],
        },
        ret(r(1)),
    ]);
    assert_eq!(refused(&unit), (0, CodeProblem::Function(0)));
    let unit = function(vec![Instr::TailCall {
        function: 3,
        args: vec![],
    }]);
    assert_eq!(refused(&unit), (0, CodeProblem::Function(3)));
    let uses: [fn(u32) -> Instr; 3] = [
        |behaviour| Instr::Create {
            dst: 1,
            behaviour,
            captures: vec![],
        },
        |behaviour| Instr::CreateOn {
            dst: 1,
            behaviour,
            captures: vec![],
            sponsor: r(0),
        },
        |behaviour| Instr::Become {
            behaviour,
            captures: vec![],
        },
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
fn effects_need_the_flag() {
    let mut b = Build::new();
    let c = b.creates("Elixir.Other", "b", 0);
    let empty = b.0;
    let (target, message) = (r(0), k(0));
    let effects = [
        Instr::SelfAddress { dst: 1 },
        Instr::Create {
            dst: 1,
            behaviour: c,
            captures: vec![],
        },
        Instr::CreateOn {
            dst: 1,
            behaviour: c,
            captures: vec![],
            sponsor: k(0),
        },
        Instr::Send { target, message },
        Instr::SendX {
            sponsor: k(0),
            target,
            message,
        },
        Instr::SendAfter {
            dst: 1,
            delay: k(0),
            target,
            message,
        },
        Instr::Become {
            behaviour: c,
            captures: vec![],
        },
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
        Instr::Abort { reason: r(2) },
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
            vec![
                Instr::Call {
                    dst: 1,
                    function,
                    args: vec![],
                },
                ret(r(1)),
            ],
            vec![Instr::TailCall {
                function,
                args: vec![],
            }],
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
    for instr in [
        Instr::Become {
            behaviour: me,
            captures: vec![],
        },
        Instr::BecomeSink,
    ] {
        let code = vec![branch(r(0), 2), instr, Instr::Done];
        accepted(&Build(empty.clone()).behaviour("b", 0, code.clone()).0);
        let unit = Build(empty.clone()).safe("b", 0, code).0;
        assert_eq!(refused(&unit), (1, CodeProblem::Unsafe));
    }
    let code = vec![
        Instr::Create {
            dst: 1,
            behaviour: me,
            captures: vec![],
        },
        Instr::Done,
    ];
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
        let call = |function| Instr::Call {
            dst: 0,
            function,
            args: vec![],
        };
        let tail_call = |function| Instr::TailCall {
            function,
            args: vec![],
        };
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
    unit.behaviours[1].code[10] = Instr::SelfAddress { dst: 0 };
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
    assert_eq!((code, instruction, problem), (name, 11, CodeProblem::NoEnd));
}
