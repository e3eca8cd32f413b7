//! A frame of the register stack: reading and writing registers, jumping, passing arguments.
use super::Aborted;
use crate::base::atom::Atom;
use crate::code::op::{Argument, Arguments, Code, Op, Reg};
use crate::terms::prim::primitive::Primitive;
use crate::turns::turn::Turn;
use crate::values::value::Value;

/// Running code and its registers. Unchecked: see interpreter.rs.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) code: *const Code,
    pub(super) at: *const Op,
    pub(super) registers: *mut Value,
}

impl Frame {
    #[inline(always)]
    pub(super) fn new(code: *const Code, registers: *mut Value) -> Frame {
        // SAFETY: code lives as long as the program (program.rs, invariant 1).
        let at = unsafe { (*code).ops.as_ptr() };
        Frame {
            code,
            at,
            registers,
        }
    }

    #[inline(always)]
    pub(super) fn fetch(&mut self) -> Op {
        // SAFETY: paths end in a terminator, so there is an operation here, and one past it is at most the end.
        unsafe {
            let op = *self.at;
            self.at = self.at.add(1);
            op
        }
    }

    #[inline(always)]
    pub(super) fn go(&mut self, to: u32) {
        // SAFETY: targets are within the code.
        self.at = unsafe { (*self.code).ops.as_ptr().add(to as usize) };
    }

    #[inline(always)]
    pub(super) fn get(&self, r: Reg) -> Value {
        // SAFETY: `r` is below the frame's size, and written before it is read.
        unsafe { *self.registers.add(r as usize) }
    }

    #[inline(always)]
    pub(super) fn set(&self, r: Reg, value: Value) {
        // SAFETY: `r` is below the frame's size.
        unsafe { *self.registers.add(r as usize) = value }
    }

    /// The result of a comparison, and the jump unless it holds.
    #[inline(always)]
    pub(super) fn set_or_go(&mut self, d: Reg, holds: bool, to: u32) {
        self.set(d, Value::boolean(holds));
        if !holds {
            self.go(to);
        }
    }

    /// The i-th of the arguments that start at `from`.
    #[inline(always)]
    pub(super) fn argument(&self, from: u32, i: usize) -> Value {
        // SAFETY: lowering made the range from verified operands.
        unsafe {
            let code = &*self.code;
            let Argument(word) = *code.arguments.get_unchecked(from as usize + i);
            if word & Argument::CONSTANT == 0 {
                *self.registers.add(word as usize)
            } else {
                *code.constants.add((word & !Argument::CONSTANT) as usize)
            }
        }
    }

    /// The arguments of a primitive; those beyond its arity are `NONE`, as their registers may not be written.
    #[inline(always)]
    pub(super) fn gather(&self, p: Primitive, registers: [Reg; 3]) -> [Value; 3] {
        let mut arguments = [Value::NONE; 3];
        for i in 0..p.arity() {
            arguments[i] = self.get(registers[i]);
        }
        arguments
    }

    /// The state of a behaviour with these `n` captures.
    #[inline(always)]
    pub(super) fn captured(&self, turn: &mut Turn, from: u32, n: usize) -> Result<Value, Aborted> {
        let state = turn.heap.captures(n, |i| self.argument(from, i));
        state.ok_or(Aborted::by(Atom::NO_MEMORY))
    }

    /// Returns the start of the next frame.
    #[inline(always)]
    pub(super) fn beyond(&self) -> *mut Value {
        // SAFETY: the register stack has room for one frame more than calls can nest.
        unsafe { self.registers.add((*self.code).registers as usize) }
    }

    /// Writes the `n` arguments at `from` to where the next frame starts.
    #[inline(always)]
    pub(super) fn pass(&self, from: u32, n: usize) {
        let beyond = self.beyond();
        for i in 0..n {
            let value = self.argument(from, i);
            // SAFETY: as for `beyond`; a frame has room for its inputs.
            unsafe { *beyond.add(i) = value };
        }
    }

    /// Writes a function that is a value, and what it is called with, to where the next frame starts.
    #[inline(always)]
    pub(super) fn pass_to(&self, function: Value, arguments: Arguments) {
        let beyond = self.beyond();
        // SAFETY: as for `beyond`; a frame has room for its inputs.
        unsafe { *beyond = function };
        for i in 0..arguments.count as usize {
            let value = self.argument(arguments.from, i);
            // SAFETY: as above.
            unsafe { *beyond.add(1 + i) = value };
        }
    }

    /// Moves what `pass` wrote to the start of this frame.
    #[inline(always)]
    pub(super) fn take_back(&self, n: usize) {
        // SAFETY: both ranges are on the register stack; they do not overlap beyond what `copy` allows.
        unsafe { std::ptr::copy(self.beyond(), self.registers, n) };
    }
}
