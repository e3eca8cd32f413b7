//! What the verifier says of a unit, for tests of its rules.
#![allow(dead_code)] // Every test binary takes what it needs.

use crate::build::Build;
use mote_vm::code::error::{CodeProblem, HeadProblem, LoadError, TableProblem, UnitTable};
use mote_vm::code::ir::{Constant, Instr, Unit};
use mote_vm::code::verify::verify;

/// Asserts that the unit is accepted.
pub fn accepted(unit: &Unit) {
    if let Err(error) = verify(unit) {
        panic!("refused: {error}");
    }
}

/// Returns the instruction of the unit that is refused, and why.
pub fn refused(unit: &Unit) -> (usize, CodeProblem) {
    match verify(unit) {
        Err(LoadError::Code {
            instruction,
            problem,
            ..
        }) => (instruction, problem),
        other => panic!("not refused for an instruction: {other:?}"),
    }
}

/// Returns the reason why a function or behaviour of the unit is refused as a whole.
pub fn head_problem(unit: &Unit) -> HeadProblem {
    match verify(unit) {
        Err(LoadError::Head { problem, .. }) => problem,
        other => panic!("not refused for a head: {other:?}"),
    }
}

/// Returns the table and entry of the unit that is refused, and why.
pub fn table_problem(unit: &Unit) -> (UnitTable, usize, TableProblem) {
    match verify(unit) {
        Err(LoadError::UnitTable {
            table,
            index,
            problem,
        }) => (table, index, problem),
        other => panic!("not refused for a table: {other:?}"),
    }
}

/// A function of one argument.
pub fn function(code: Vec<Instr>) -> Unit {
    Build::new().function("f", 1, code).0
}

/// A behaviour without captures: the message is in register 0.
pub fn behaviour(code: Vec<Instr>) -> Unit {
    Build::new().behaviour("b", 0, code).0
}

/// A unit of nothing but constants.
pub fn constants(constants: Vec<Constant>) -> Unit {
    let mut unit = Build::new().0;
    unit.constants = constants;
    unit
}
