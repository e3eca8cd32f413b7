//! The rules for atoms, constants, imports and heads: what is refused, and the nearest thing that is accepted.

use crate::build::{k, mov, r, ret, Build, MODULE};
use crate::judge::{accepted, behaviour, constants, function, head_problem, table_problem};
use mote_vm::code::error::{HeadProblem, TableProblem, UnitTable};
use mote_vm::code::ir::{Constant, Instr, MAX_CONSTANT_NODES, MAX_INTEGER, MIN_INTEGER};
use mote_vm::code::verify::verify;

#[test]
fn integers_and_floats() {
    accepted(&constants(vec![
        Constant::Integer(MAX_INTEGER),
        Constant::Integer(MIN_INTEGER),
    ]));
    for value in [MAX_INTEGER + 1, MIN_INTEGER - 1, i64::MIN, i64::MAX] {
        let unit = constants(vec![Constant::Nil, Constant::Integer(value)]);
        let problem = TableProblem::Integer(value);
        assert_eq!(table_problem(&unit), (UnitTable::Constants, 1, problem));
    }
    accepted(&constants(vec![
        Constant::Float(f64::MAX),
        Constant::Float(-0.0),
    ]));
    let unit = constants(vec![Constant::Float(f64::NAN)]);
    assert_eq!(
        table_problem(&unit),
        (UnitTable::Constants, 0, TableProblem::Float)
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
    let tuple = |half| Constant::Tuple(vec![half, half]);
    let list = |half| Constant::Cons {
        head: half,
        tail: half,
    };
    assert_eq!(MAX_CONSTANT_NODES, 1 << 24);
    for double in [tuple, list] as [fn(u32) -> Constant; 2] {
        accepted(&doubled(23, double));
        let problem = TableProblem::Nodes((1 << 25) - 1);
        let found = table_problem(&doubled(24, double));
        assert_eq!(found, (UnitTable::Constants, 24, problem));
        assert!(verify(&doubled(900, double)).is_err());
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
    assert_eq!(
        table_problem(&with_atom(256)),
        (UnitTable::Atoms, 1, problem)
    );
    let mut unit = Build::new().0;
    unit.module = "m".repeat(256);
    assert_eq!(table_problem(&unit).0, UnitTable::Module);
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
        (UnitTable::FunctionsUsed, 0, TableProblem::Atom(9))
    );
    let mut unit = good.clone();
    unit.behaviours_used[0].name = 9;
    assert_eq!(
        table_problem(&unit),
        (UnitTable::BehavioursUsed, 0, TableProblem::Atom(9))
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
        (UnitTable::FunctionsUsed, 1, missing("f", 2))
    );
    assert_eq!(
        table_problem(&own(1, 1)),
        (UnitTable::BehavioursUsed, 1, missing("b", 1))
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
        (UnitTable::Behaviours, 1, TableProblem::Atom(2))
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
