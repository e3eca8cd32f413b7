//! Small functions that call themselves: the first level of such calls is made in line.
//!
//! What a call costs besides its code is what it spends, and that stays: fuel and depth are taken as if it were made. The
//! frame is the caller's; as the depth counts on, the stack has room for more frames than there are.
//!
//! A function in line is an activation of its own: its registers, what is known of them, its fast and its slow body. It
//! comes back to its caller's fast body with the usual answer, and to the caller's slow one with any other.
use super::{Body, Here, Mode};
use crate::code::ir::{Instr, Label, Operand, Register};
use crate::native::compile::Callee;
use crate::native::flow::State;
use crate::native::kinds::Kinds;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Variable;
use std::mem::{swap, take};

/// Instructions of the largest function that is made in line, calls in it, and how deep such calls nest.
const LARGEST: usize = 16;
const CALLS: usize = 2;
const LEVELS: usize = 1;

/// What belongs to one activation of a function, while the body is at another.
pub(super) struct Activation {
    state: State,
    here: Vec<Here>,
    words: Vec<Variable>,
    floats: Vec<Variable>,
    at: Label,
    resume: Label,
    fast: Vec<Option<Block>>,
    slow: Vec<Option<Block>>,
    inlined: Option<Inlined>,
}

/// Where a function in line comes back to. Both take the answer.
#[derive(Clone, Copy)]
pub(super) struct Inlined {
    usual: Block,
    other: Block,
    expected: Kinds,
    level: usize,
}

impl Body<'_, '_> {
    /// Whether a call is made in line.
    pub(super) fn is_inlined(&self, callee: Callee, expected: Kinds, args: &[Operand]) -> bool {
        let code = self.subject.code;
        let calls = |i: &&Instr| matches!(i, Instr::Call { .. });
        let last = |i: &Instr| matches!(i, Instr::TailCall { .. });
        let level = self.inlined.map_or(0, |inlined| inlined.level);
        self.mode == Mode::Fast
            && self.role_index().is_some_and(|me| callee.own() == Some(me))
            && !self.is_unboxed_role()
            && (expected == Kinds::FIXNUM || expected == Kinds::ANY)
            && level < LEVELS
            && code.len() <= LARGEST
            && code.iter().filter(calls).count() <= CALLS
            && !code.iter().any(last)
            && (self.flow.inputs.iter().zip(args)).all(|(kinds, arg)| match *kinds {
                Kinds::FIXNUM => self.kinds(*arg) == Kinds::FIXNUM,
                kinds => kinds == Kinds::ANY,
            })
    }

    /// Makes a call of the function itself in line, once it has been paid for.
    pub(super) fn inline(&mut self, d: Register, args: &[Operand], expected: Kinds) {
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        self.let_go_of_positions();
        let (usual, other) = (self.next_block(), self.b.create_block());
        self.b.set_cold_block(other);
        let answer = self.b.append_block_param(usual, I64);
        let odd = self.b.append_block_param(other, I64);
        let level = self.inlined.map_or(0, |inlined| inlined.level);
        let mut activation = self.activation(Inlined {
            usual,
            other,
            expected,
            level: level + 1,
        });

        self.switch(&mut activation);
        self.current.clear();
        for (i, word) in words.into_iter().enumerate() {
            self.set_word(i as Register, word);
        }
        self.walk();
        self.switch(&mut activation);
        self.unfinished.push(activation);

        self.positions.forget();
        self.current.clear();
        self.b.switch_to_block(other);
        self.return_here();
        let here = self.here.clone();
        self.set_word(d, odd);
        self.go(super::Target::Slow(self.at + 1));
        self.here = here;
        self.b.switch_to_block(usual);
        self.b.seal_block(usual);
        self.return_here();
        self.set_word(d, answer);
    }

    /// The budget is the caller's again.
    fn return_here(&mut self) {
        let budget = self.b.use_var(self.budget);
        self.returned(budget);
    }

    /// The slow bodies of what was made in line.
    pub(super) fn finish_inlined(&mut self) {
        for mut activation in take(&mut self.unfinished) {
            self.switch(&mut activation);
            self.walk();
            self.switch(&mut activation);
        }
    }

    /// Comes back to the caller that this is in line of.
    pub(super) fn come_back(&mut self, inlined: Inlined, operand: Operand) {
        let answer = self.word(operand);
        self.write_down();
        let usual = self.mode == Mode::Fast && self.kinds(operand).is(inlined.expected);
        let to = if usual { inlined.usual } else { inlined.other };
        self.b.ins().jump(to, &[answer.into()]);
    }

    fn activation(&mut self, inlined: Inlined) -> Activation {
        let registers = self.here.len();
        let code = self.subject.code.len();
        Activation {
            state: self.flow.start(),
            here: vec![Here::default(); registers],
            words: (0..registers).map(|_| self.b.declare_var(I64)).collect(),
            floats: (0..registers).map(|_| self.b.declare_var(F64)).collect(),
            at: 0,
            resume: 0,
            fast: vec![None; code],
            slow: vec![None; code],
            inlined: Some(inlined),
        }
    }

    /// Goes over to another activation, and leaves this one there.
    fn switch(&mut self, other: &mut Activation) {
        debug_assert!(!self.unproven);
        self.before.clear();
        swap(&mut self.state, &mut other.state);
        swap(&mut self.here, &mut other.here);
        swap(&mut self.words, &mut other.words);
        swap(&mut self.floats, &mut other.floats);
        swap(&mut self.at, &mut other.at);
        swap(&mut self.resume, &mut other.resume);
        swap(&mut self.fast, &mut other.fast);
        swap(&mut self.slow, &mut other.slow);
        swap(&mut self.inlined, &mut other.inlined);
    }
}
