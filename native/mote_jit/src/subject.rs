//! One function or behaviour under analysis, with what is known about the functions of its unit.
//!
//! Invariants:
//! 1. Code is analysed and compiled only if that takes little time: the compiler's work grows with the registers that each
//!    instruction has to keep ([`LARGEST_SPREAD`]). Larger code is refused before any of this begins.
use super::kinds::Kinds;
use mote_vm::code::ir::{Instr, Label};
use mote_vm::code::live::{live, Registers};
use mote_vm::code::verify::Verified;
use mote_vm::values::value::Value;

/// Instructions times registers of the largest code that is compiled: what is known is kept for each register at each
/// label.
const LARGEST_CODE: usize = 1 << 22;
/// Registers that are still read, summed up over the instructions, of the largest code that is compiled. Most instructions
/// have an exit from the fast body, and each exit saves all live registers. A thousand instructions may keep 32 each.
const LARGEST_SPREAD: usize = 1 << 15;
/// The findings about the functions of a unit, by index (unit_facts.rs).
pub(super) struct UnitFacts<'a> {
    pub(super) verified: &'a Verified,
    pub(super) constants: &'a [Value],
    /// Kinds that they usually answer: integers, until it is found out.
    pub(super) returns: Vec<Kinds>,
    /// Kinds that they usually pass to each other, by parameter. Behaviours are left out: those that call a function for the outside pass
    /// whatever comes.
    pub(super) passed: Vec<Vec<Kinds>>,
    /// True for those that are small enough.
    pub(super) fits: Vec<bool>,
    /// The piece that answers words, for each function that answers floats as they are. It is for callers that do not know that.
    pub(super) boxing: Vec<Option<usize>>,
}

/// A code to be looked at.
pub(super) struct Subject<'a> {
    pub(super) code: &'a [Instr],
    pub(super) constants: &'a [Value],
    pub(super) registers: u16,
    /// The registers that are written when it starts.
    pub(super) inputs: u16,
    /// Index of the function; behaviours have none. Only of functions may parameters be taken for granted.
    pub(super) index: Option<usize>,
    facts: &'a UnitFacts<'a>,
}

impl Subject<'_> {
    /// Returns the function of the unit that an import refers to.
    pub(super) fn own(&self, import: u32) -> Option<usize> {
        self.facts.verified.own_function(import)
    }

    /// Returns whether a tail call of this import is a loop.
    pub(super) fn is_self(&self, import: u32) -> bool {
        self.index.is_some() && self.own(import) == self.index
    }

    /// Returns the kinds that a call of this import usually answers: integers, floats, or anything.
    pub(super) fn returns(&self, import: u32) -> Kinds {
        let own = self.own(import);
        own.map_or(Kinds::ANY, |index| self.facts.returns[index])
    }

    /// Returns the kinds that the functions of the unit usually pass to it, by parameter.
    pub(super) fn passed(&self) -> &[Kinds] {
        self.index.map_or(&[], |index| &self.facts.passed[index])
    }

    /// Returns the piece that answers words, for a function that answers floats as they are.
    pub(super) fn boxing(&self, function: usize) -> Option<usize> {
        self.facts.boxing[function]
    }
}

impl<'a> UnitFacts<'a> {
    /// A function; `None` if it is too large.
    pub(super) fn function(&'a self, index: usize) -> Option<Subject<'a>> {
        let function = &self.verified.functions[index];
        let inputs = function.arity as u16;
        self.fits[index]
            .then(|| self.subject(&function.code, function.registers, inputs, Some(index)))
    }

    /// A behaviour, as above.
    pub(super) fn behaviour(&'a self, index: usize) -> Option<Subject<'a>> {
        let behaviour = &self.verified.behaviours[index];
        let inputs = behaviour.captures as u16 + 1;
        fits(&behaviour.code, behaviour.registers)
            .then(|| self.subject(&behaviour.code, behaviour.registers, inputs, None))
    }

    /// Returns a function as its form that answers words sees it.
    pub(super) fn interface(&'a self, index: usize) -> Subject<'a> {
        let inputs = self.verified.functions[index].arity as u16;
        self.subject(&[], inputs, inputs, Some(index))
    }

    fn subject(
        &'a self,
        code: &'a [Instr],
        registers: u16,
        inputs: u16,
        index: Option<usize>,
    ) -> Subject<'a> {
        Subject {
            code,
            constants: self.constants,
            registers,
            inputs,
            index,
            facts: self,
        }
    }
}

/// Marks the instructions before which a call may have been made.
pub(super) fn behind_calls(code: &[Instr]) -> Vec<bool> {
    let mut behind = vec![false; code.len() + 1];
    for (i, instruction) in code.iter().enumerate() {
        let after = behind[i] || instruction.is_call();
        let ways = instruction.label().map(|label| label as usize).into_iter();
        for way in ways.chain(instruction.falls_through().then_some(i + 1)) {
            behind[way] |= after;
        }
    }
    behind
}

/// Returns whether a piece of code is small enough: invariant 1.
pub(super) fn fits(code: &[Instr], registers: u16) -> bool {
    let most = code.len() * registers as usize;
    most <= LARGEST_SPREAD
        || most <= LARGEST_CODE
            && code.len() <= Label::MAX as usize
            && live(code).iter().map(Registers::count).sum::<usize>() <= LARGEST_SPREAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_vm::code::ir::Operand;

    #[test]
    fn calls_are_behind_those_that_may_have_made_them() {
        let value = Operand::Register(0);
        let code = [
            Instr::Falsy { value, label: 4 },
            Instr::Call {
                dst: 1,
                function: 0,
                args: vec![],
            },
            Instr::Falsy { value, label: 5 },
            Instr::Done,
            Instr::Done,
            Instr::Done,
        ];
        assert_eq!(
            behind_calls(&code),
            [false, false, true, true, false, true, false]
        );
    }
}
