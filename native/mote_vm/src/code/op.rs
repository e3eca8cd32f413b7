//! The operations that the interpreter runs: of fixed size, with direct operands.
//!
//! [`super::lower`] makes them from verified code only. Register numbers, argument ranges and targets are therefore in
//! range by construction, which the interpreter relies on.
use super::slots::{BehaviourSlot, FunctionSlot};
use crate::terms::prim::primitive::Primitive;
use crate::values::value::Value;

pub(crate) type Reg = u16;

/// Arguments of one operation: a range of the code's [`Argument`]s.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) from: u32,
    pub(crate) count: u16,
}

impl Arguments {
    /// These and those directly behind them.
    pub(super) fn and(self, others: Arguments) -> Arguments {
        Arguments {
            from: self.from,
            count: self.count + others.count,
        }
    }
}

/// A register, or (with the uppermost bit) a constant of the unit.
#[derive(Clone, Copy)]
pub(crate) struct Argument(pub(crate) u32);

impl Argument {
    pub(crate) const CONSTANT: u32 = 1 << 31;
}

/// One operation. Targets are indices of operations; `to` is taken on failure, as in the IR.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Op {
    Move {
        d: Reg,
        a: Reg,
    },
    Constant {
        d: Reg,
        k: Value,
    },
    Add {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    AddConstant {
        d: Reg,
        a: Reg,
        k: Value,
    },
    Sub {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SubConstant {
        d: Reg,
        a: Reg,
        k: Value,
    },
    Mul {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Primitive {
        p: Primitive,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Guard {
        p: Primitive,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        to: u32,
    },
    Compare {
        p: Primitive,
        d: Reg,
        a: Reg,
        b: Reg,
        to: u32,
    },
    LtConstant {
        d: Reg,
        a: Reg,
        to: u16,
        k: Value,
    },
    LeConstant {
        d: Reg,
        a: Reg,
        to: u16,
        k: Value,
    },
    GtConstant {
        d: Reg,
        a: Reg,
        to: u16,
        k: Value,
    },
    GeConstant {
        d: Reg,
        a: Reg,
        to: u16,
        k: Value,
    },
    Tuple {
        d: Reg,
        elements: Arguments,
    },
    Cons {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SelfAddress {
        d: Reg,
    },
    Call {
        d: Reg,
        arguments: u32,
        function: *const FunctionSlot,
    },
    TailCall {
        arguments: u32,
        function: *const FunctionSlot,
    },
    Return {
        a: Reg,
    },
    Jump {
        to: u32,
    },
    Branch {
        a: Reg,
        to: u32,
    },
    Falsy {
        a: Reg,
        to: u32,
    },
    Match {
        a: Reg,
        b: Reg,
        to: u32,
    },
    MatchImmediate {
        a: Reg,
        to: u32,
        k: Value,
    },
    MatchTuple {
        a: Reg,
        d: Reg,
        count: u16,
        to: u32,
    },
    MatchCons {
        a: Reg,
        head: Reg,
        tail: Reg,
        to: u32,
    },
    Create {
        d: Reg,
        captures: u32,
        behaviour: *const BehaviourSlot,
    },
    CreateOne {
        d: Reg,
        a: Reg,
        behaviour: *const BehaviourSlot,
    },
    /// The sponsor is the argument behind the captures.
    CreateOn {
        d: Reg,
        captures: u32,
        behaviour: *const BehaviourSlot,
    },
    Send {
        target: Reg,
        message: Reg,
    },
    SendConstant {
        target: Reg,
        message: Value,
    },
    SendX {
        sponsor: Reg,
        target: Reg,
        message: Reg,
    },
    SendAfter {
        d: Reg,
        delay: Reg,
        target: Reg,
        message: Reg,
    },
    CancelTimer {
        d: Reg,
        timer: Reg,
    },
    Unstash {
        kept: Reg,
    },
    Fun {
        d: Reg,
        parts: Arguments,
    },
    /// Calls a function value. The argument behind the others is the reason of an abort.
    CallFun {
        d: Reg,
        function: Reg,
        arguments: Arguments,
    },
    Try {
        d: Reg,
    },
    Tried,
    TailCallFun {
        function: Reg,
        arguments: Arguments,
    },
    Become {
        captures: u32,
        behaviour: *const BehaviourSlot,
    },
    BecomeOne {
        a: Reg,
        behaviour: *const BehaviourSlot,
    },
    BecomeSink,
    Abort {
        a: Reg,
    },
    Done,
    Ignore,
}

const _: () = assert!(std::mem::size_of::<Op>() == 16);

/// Runnable code of one function or behaviour.
pub(crate) struct Code {
    pub(crate) ops: Box<[Op]>,
    pub(crate) arguments: Box<[Argument]>,
    /// The unit's constants; they live as long as the program.
    pub(crate) constants: *const Value,
    /// Registers of a frame, scratch ones included.
    pub(crate) registers: u16,
    /// Calls that aborts name, by ascending operation, with what says where they are.
    pub(crate) sites: Box<[(u32, Value)]>,
}

// SAFETY: code is immutable; its pointers refer to slots and constants of the program, which are shared and live
// as long as the program does.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}
