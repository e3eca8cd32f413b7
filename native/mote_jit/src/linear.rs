//! Registers of a loop that count: which integer parameter each holds, and how far that has got.
use super::dataflow::Dataflow;
use super::facts::SMALL;
use super::kinds::Kinds;
use mote_vm::code::ir::{Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// The registers that hold an integer parameter and a small constant, added up.
#[derive(Clone)]
pub(super) struct Linear(Vec<Option<(u16, i64)>>);

impl Linear {
    /// Returns the registers at the start of a round.
    pub(super) fn start(flow: &Dataflow, registers: u16) -> Linear {
        let mut held = vec![None; registers as usize];
        for (i, kinds) in flow.inputs.iter().enumerate() {
            held[i] = (*kinds == Kinds::FIXNUM).then_some((i as u16, 0));
        }
        Linear(held)
    }

    /// Returns the registers of a function that is not a loop: none is followed.
    pub(super) fn nothing(registers: u16) -> Linear {
        Linear(vec![None; registers as usize])
    }

    /// Returns the registers once each counter has gone that many rounds.
    pub(super) fn after(mut self, rounds: i64, steps: &[Option<i64>]) -> Linear {
        for (held, step) in self.0.iter_mut().zip(steps) {
            *held = held
                .zip(*step)
                .map(|((param, _), step)| (param, rounds * step));
        }
        self
    }

    pub(super) fn of(&self, operand: Operand) -> Option<(u16, i64)> {
        match operand {
            Operand::Register(r) => self.0[r as usize],
            Operand::Constant(_) => None,
        }
    }

    /// Updates the registers after an instruction of a round.
    pub(super) fn transfer(&mut self, instruction: &Instr, constants: &[Value]) {
        if let Instr::Move { dst, src } = instruction {
            self.0[*dst as usize] = self.of(*src);
        } else if let Some((dst, p, args)) = instruction.operation() {
            self.0[dst as usize] = self.sum(p, args, constants);
        } else if let Instr::Call { dst, .. } = instruction {
            self.0[*dst as usize] = None;
        }
    }

    fn sum(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Option<(u16, i64)> {
        let (of, by) = match (p, args) {
            (Primitive::Add, [by @ Operand::Constant(_), of]) => (of, by),
            (Primitive::Add | Primitive::Sub, [of, by]) => (of, by),
            _ => return None,
        };
        let by = integer(*by, constants).filter(|by| (-SMALL..=SMALL).contains(by))?;
        let by = if p == Primitive::Add { by } else { -by };
        let (param, ahead) = self.of(*of)?;
        Some((param, ahead + by))
    }

    /// Moves on to the start of the next round. Registers that neither count nor stay the same are not followed.
    pub(super) fn hand_on(&mut self, handed: &[Operand], flow: &Dataflow) {
        let steps = self.steps(handed, flow);
        self.0.fill(None);
        for (i, step) in steps.into_iter().enumerate() {
            self.0[i] = step.map(|step| (i as u16, step));
        }
    }

    /// Returns the growth of each parameter when it is handed on, if it is followed.
    pub(super) fn steps(&self, handed: &[Operand], flow: &Dataflow) -> Vec<Option<i64>> {
        let step = |(i, arg): (usize, &Operand)| {
            let (param, ahead) = self.of(*arg)?;
            (param == i as u16 && (ahead == 0 || flow.steps[i])).then_some(ahead)
        };
        handed.iter().enumerate().map(step).collect()
    }
}

/// The operand, if it is a constant integer.
pub(super) fn integer(operand: Operand, constants: &[Value]) -> Option<i64> {
    match operand {
        Operand::Constant(k) => constants[k as usize].as_fixnum(),
        Operand::Register(_) => None,
    }
}
