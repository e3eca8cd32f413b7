//! Live registers: those that are still read.
use super::ir::{Instr, Operand, Register, MAX_REGISTERS};

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers([u64; MAX_REGISTERS as usize / 64]);

impl Registers {
    /// Adds one.
    pub fn insert(&mut self, r: u32) {
        self.0[r as usize / 64] |= 1 << (r % 64);
    }

    /// Returns whether it is among them.
    pub fn has(&self, r: Register) -> bool {
        self.0[r as usize / 64] >> (r % 64) & 1 == 1
    }

    /// Takes one out.
    pub fn remove(&mut self, r: u32) {
        self.0[r as usize / 64] &= !(1 << (r % 64));
    }

    /// Adds those of another set.
    pub fn extend(&mut self, other: &Registers) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    /// Takes out those that are not in another set.
    pub(super) fn retain(&mut self, other: &Registers) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine &= theirs;
        }
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// All of them, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Register> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let bits = std::iter::successors(Some(word), |w| Some(w & w.wrapping_sub(1)));
            bits.take_while(|w| *w != 0)
                .map(move |w| (i as u32 * 64 + w.trailing_zeros()) as Register)
        })
    }
}

/// The registers that are still read, before each instruction.
pub fn live(code: &[Instr]) -> Vec<Registers> {
    let mut live = vec![Registers::default(); code.len()];
    for (i, instruction) in code.iter().enumerate().rev() {
        let mut here = Registers::default();
        if instruction.falls_through() {
            if let Some(next) = live.get(i + 1) {
                here = *next;
            }
            for range in instruction.written() {
                range.for_each(|r| here.remove(r));
            }
        }
        if let Some(label) = instruction.label() {
            here.extend(&live[label as usize]);
        }
        instruction.for_each_operand(|operand| {
            if let Operand::Register(r) = operand {
                here.insert(r.into());
            }
        });
        live[i] = here;
    }
    live
}
