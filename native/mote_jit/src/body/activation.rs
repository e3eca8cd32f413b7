//! An activation of a function: the code that is compiled, its registers and what is known of them, its two bodies.
//!
//! The body has one of the code itself, and one for each function that is made in line (inline.rs) and for each frame of a
//! lane (lanes.rs); it is at one of them at a time.
use super::inline::Inlined;
use super::Body;
use crate::dataflow::Dataflow;
use crate::facts::Knowledge;
use crate::subject::Subject;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{Block, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use mote_vm::code::ir::Label;
use std::mem::swap;

/// The forms of a register that hold at the current point.
#[derive(Clone, Copy, Default)]
pub(super) struct Here {
    pub(super) word: bool,
    pub(super) float: bool,
    /// It is this truth value, and perhaps not written as a word.
    pub(super) test: Option<Value>,
}

pub(super) struct Activation<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) flow: &'a Dataflow,
    /// Knowledge in the fast body; unused in the slow one.
    pub(super) state: Knowledge,
    pub(super) here: Vec<Here>,
    pub(super) words: Vec<Variable>,
    pub(super) floats: Vec<Variable>,
    /// The instruction that is compiled.
    pub(super) at: Label,
    /// The instruction at which the slow body takes over: this one, or an earlier one whose float is not proven finite yet.
    pub(super) resume: Label,
    pub(super) fast: Vec<Option<Block>>,
    pub(super) slow: Vec<Option<Block>>,
    /// The match with a cell of which that has been tested before.
    pub(super) cons_at: Option<Label>,
    /// The block where the fast body of a loop begins again.
    pub(super) fast_header: Option<Block>,
    /// The places to which this returns, if it is inlined.
    pub(super) inlined: Option<Inlined>,
}

impl<'a> Activation<'a> {
    /// Returns an activation of which nothing is compiled yet.
    pub(super) fn new(
        b: &mut FunctionBuilder<'_>,
        subject: &'a Subject<'a>,
        flow: &'a Dataflow,
        inlined: Option<Inlined>,
    ) -> Activation<'a> {
        let registers = subject.registers as usize;
        let code = subject.code.len();
        Activation {
            subject,
            flow,
            state: flow.start(),
            here: vec![Here::default(); registers],
            words: (0..registers).map(|_| b.declare_var(I64)).collect(),
            floats: (0..registers).map(|_| b.declare_var(F64)).collect(),
            at: 0,
            resume: 0,
            fast: vec![None; code],
            slow: vec![None; code],
            cons_at: None,
            fast_header: None,
            inlined,
        }
    }
}

impl<'a> Body<'a, '_> {
    /// Goes over to another activation, and leaves the current one there.
    pub(super) fn switch(&mut self, other: &mut Activation<'a>) {
        debug_assert!(self.proof <= Some(self.active.at));
        self.proof = None;
        self.before.clear();
        swap(&mut self.active, other);
    }
}
