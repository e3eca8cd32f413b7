//! The decoded form of a unit of code: plain data, one to one with the wire format.
//!
//! Nothing here is checked by construction. What the machine may rely on is said by [`super::verify`].

use crate::terms::prim::primitive::Primitive;
use std::ops::Range;

/// Registers that one code may use.
pub const MAX_REGISTERS: u16 = 512;
/// Arity of a function, captures of a behaviour.
pub const MAX_ARITY: u32 = 255;
/// Operands of one instruction, and elements that `match_tuple` takes apart.
pub const MAX_OPERANDS: u32 = 255;
/// Instructions of one function or behaviour.
pub const MAX_INSTRUCTIONS: usize = 1_000_000;
/// Elements of a constant tuple; the BEAM's own limit.
pub const MAX_CONSTANT_TUPLE: usize = (1 << 24) - 1;
/// How deep constants nest. The tail of a list does not count: only its elements nest.
pub const MAX_CONSTANT_DEPTH: u32 = 1000;
/// Nodes of a constant written out as a tree. Constants are shared, so a short unit can name an immense tree.
pub const MAX_CONSTANT_NODES: u64 = 1 << 24;
/// Characters of an atom; the BEAM's own limit.
pub const MAX_ATOM_CHARACTERS: usize = 255;
/// The smallest integer that is a value of its own.
pub const MIN_INTEGER: i64 = -(1 << 62);
/// The largest integer that is a value of its own.
pub const MAX_INTEGER: i64 = (1 << 62) - 1;

/// The number of a register.
pub type Register = u16;
/// The index of an instruction within its code.
pub type Label = u32;

/// Everything that one module says to the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The name of the module.
    pub module: String,
    /// The compiler's hash of the unit; tells versions of a module apart.
    pub hash: u64,
    /// The atoms that the rest refers to by index.
    pub atoms: Vec<String>,
    /// The constants; each refers only to earlier ones.
    pub constants: Vec<Constant>,
    /// The functions called, of this unit or of others.
    pub functions_used: Vec<Import>,
    /// The behaviours created or become, of this unit or of others; the arity is the number of captures.
    pub behaviours_used: Vec<Import>,
    /// The functions of this unit.
    pub functions: Vec<Function>,
    /// The behaviours of this unit.
    pub behaviours: Vec<Behaviour>,
}

/// The name of a function or behaviour, of this unit or of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Import {
    /// The module: an index into [`Unit::atoms`].
    pub module: u32,
    /// The name: an index into [`Unit::atoms`].
    pub name: u32,
    /// The number of arguments or captures.
    pub arity: u32,
}

/// A value that is known before the code runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// An integer within [`MIN_INTEGER`]`..=`[`MAX_INTEGER`].
    Integer(i64),
    /// A finite float.
    Float(f64),
    /// An index into [`Unit::atoms`].
    Atom(u32),
    /// The empty list.
    Nil,
    /// A tuple of earlier constants.
    Tuple(Vec<u32>),
    /// A list cell of two earlier constants.
    Cons {
        /// The first element.
        head: u32,
        /// What follows it.
        tail: u32,
    },
    /// A map: keys and values, earlier constants. Of several equal keys the last one counts.
    Map(Vec<(u32, u32)>),
    /// A binary.
    Binary(Vec<u8>),
    /// An integer outside of the fixnum range.
    Big {
        /// Whether it is less than 0.
        negative: bool,
        /// Its absolute value, the lowest byte first.
        bytes: Vec<u8>,
    },
    /// A value that the machine cannot look into.
    Opaque {
        /// What the value is.
        class: OpaqueClass,
        /// The value in the external term format.
        bytes: Vec<u8>,
    },
}

/// What an opaque value is; the numbers are those of the wire format.
#[repr(u8)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpaqueClass {
    /// An integer that is too large to calculate with.
    BigInteger = 0,
    /// A reference.
    Reference = 1,
    /// A function.
    Function = 2,
    /// A port.
    Port = 3,
    /// A pid of another node.
    Pid = 4,
    /// A map.
    Map = 5,
    /// A bitstring that is no binary.
    Bitstring = 6,
}

impl OpaqueClass {
    /// The class with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<OpaqueClass> {
        Some(match number {
            0 => OpaqueClass::BigInteger,
            1 => OpaqueClass::Reference,
            2 => OpaqueClass::Function,
            3 => OpaqueClass::Port,
            4 => OpaqueClass::Pid,
            5 => OpaqueClass::Map,
            6 => OpaqueClass::Bitstring,
            _ => return None,
        })
    }
}

/// A function: code that is called and returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The name: an index into [`Unit::atoms`].
    pub name: u32,
    /// The arguments, which arrive in registers `0..arity`.
    pub arity: u32,
    /// The number of registers.
    pub registers: u16,
    /// Whether it may send, create, become or ask for its own address.
    pub effects: bool,
    /// The instructions; it starts at the first.
    pub code: Vec<Instr>,
    /// Calls that aborts name, by ascending instruction.
    pub sites: Vec<CallSite>,
}

/// A behaviour: what an actor does with a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Behaviour {
    /// The name: an index into [`Unit::atoms`].
    pub name: u32,
    /// The captures, which arrive in registers `0..captures`; the message is in register `captures`.
    pub captures: u32,
    /// The number of registers.
    pub registers: u16,
    /// Whether it never becomes anything else.
    pub safe: bool,
    /// Its turns run outside of the machine and nowhere else (threads/away.rs).
    pub outside_only: bool,
    /// The instructions; it starts at the first.
    pub code: Vec<Instr>,
    /// Calls that aborts name, by ascending instruction.
    pub sites: Vec<CallSite>,
}

/// A call of a function of the standard library. A turn that raises within it is aborted with the reason
/// `{:raised, where, arguments}`, those of the call: what the function is made of is nobody's concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSite {
    /// The instruction: a [`Instr::Call`].
    pub at: u32,
    /// The constant that says where the call is, and of what.
    pub place: u32,
}

/// Where an instruction takes a value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// An index into [`Unit::constants`].
    Constant(u32),
}

/// An instruction. All operands are read before any register is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The fields are the columns of the contract's table; each variant says what they do.
pub enum Instr {
    /// 0: `dst := src`.
    Move { dst: Register, src: Operand },
    /// 1: `dst := primitive(args)`; `:undefined` when there is no answer.
    Op {
        dst: Register,
        primitive: Primitive,
        args: Vec<Operand>,
    },
    /// 2: as `Op`, but goes to `label`, writing nothing, when there is no answer.
    GuardOp {
        dst: Register,
        primitive: Primitive,
        args: Vec<Operand>,
        label: Label,
    },
    /// 3: `dst := {elements…}`.
    Tuple {
        dst: Register,
        elements: Vec<Operand>,
    },
    /// 4: `dst := [head | tail]`.
    Cons {
        dst: Register,
        head: Operand,
        tail: Operand,
    },
    /// 5: `dst :=` the actor's own address.
    SelfAddress { dst: Register },
    /// 6: `dst :=` the result of a function; an index into [`Unit::functions_used`].
    Call {
        dst: Register,
        function: u32,
        args: Vec<Operand>,
    },
    /// 7: a call as the last act of a function; an index into [`Unit::functions_used`].
    TailCall { function: u32, args: Vec<Operand> },
    /// 8: the function ends with this value.
    Return { value: Operand },
    /// 9: goes to `label`.
    Jump { label: Label },
    /// 10: goes to `label` unless `condition` is `true`.
    Branch { condition: Operand, label: Label },
    /// 11: goes to `label` when `value` is `nil` or `false`.
    Falsy { value: Operand, label: Label },
    /// 12: goes to `label` unless both are exactly equal.
    Match {
        left: Operand,
        right: Operand,
        label: Label,
    },
    /// 13: goes to `label`, writing nothing, unless `value` is a tuple of `count` elements; they land in
    /// `first..first + count`.
    MatchTuple {
        value: Operand,
        count: u32,
        first: Register,
        label: Label,
    },
    /// 14: goes to `label`, writing nothing, unless `value` is a non-empty list. When both registers are the same
    /// one, it holds the tail afterwards.
    MatchCons {
        value: Operand,
        head: Register,
        tail: Register,
        label: Label,
    },
    /// 15: `dst :=` the address of a new actor; an index into [`Unit::behaviours_used`].
    Create {
        dst: Register,
        behaviour: u32,
        captures: Vec<Operand>,
    },
    /// 16: the same, pinned to `sponsor`.
    CreateOn {
        dst: Register,
        behaviour: u32,
        captures: Vec<Operand>,
        sponsor: Operand,
    },
    /// 17: sends `message` to `target`.
    Send { target: Operand, message: Operand },
    /// 18: sends `message` to `target` by `sponsor`.
    SendX {
        sponsor: Operand,
        target: Operand,
        message: Operand,
    },
    /// 19: sends after so many milliseconds; `dst :=` the timer's reference.
    SendAfter {
        dst: Register,
        delay: Operand,
        target: Operand,
        message: Operand,
    },
    /// 20: the actor's next behaviour; an index into [`Unit::behaviours_used`].
    Become {
        behaviour: u32,
        captures: Vec<Operand>,
    },
    /// 21: the actor ignores whatever comes from now on.
    BecomeSink,
    /// 22: the turn ends without footprints.
    Abort { reason: Operand },
    /// 23: the turn ends and commits.
    Done,
    /// 24: the message matched no clause.
    Ignore,
    /// 25: cancels a timer; `dst := :ok`, `:undefined` when that is no reference.
    CancelTimer { dst: Register, timer: Operand },
}

impl Instr {
    /// What is computed by a primitive, in a guard or not: where its answer goes, and of what.
    pub fn operation(&self) -> Option<(Register, Primitive, &[Operand])> {
        match self {
            Instr::Op {
                dst,
                primitive,
                args,
            }
            | Instr::GuardOp {
                dst,
                primitive,
                args,
                ..
            } => Some((*dst, *primitive, args)),
            _ => None,
        }
    }

    /// Visits every operand, in the order of the wire format.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Operand)) {
        let (several, singles): (&[Operand], &[Operand]) = match self {
            Instr::Move { src, .. } => (&[], &[*src]),
            Instr::Op { args, .. }
            | Instr::GuardOp { args, .. }
            | Instr::Call { args, .. }
            | Instr::TailCall { args, .. } => (args, &[]),
            Instr::Tuple { elements, .. } => (elements, &[]),
            Instr::Cons { head, tail, .. } => (&[], &[*head, *tail]),
            Instr::Return { value } => (&[], &[*value]),
            Instr::Branch { condition, .. } => (&[], &[*condition]),
            Instr::Falsy { value, .. }
            | Instr::MatchTuple { value, .. }
            | Instr::MatchCons { value, .. } => (&[], &[*value]),
            Instr::Match { left, right, .. } => (&[], &[*left, *right]),
            Instr::Create { captures, .. } | Instr::Become { captures, .. } => (captures, &[]),
            Instr::CreateOn {
                captures, sponsor, ..
            } => (captures, &[*sponsor]),
            Instr::Send { target, message } => (&[], &[*target, *message]),
            Instr::SendX {
                sponsor,
                target,
                message,
            } => (&[], &[*sponsor, *target, *message]),
            Instr::SendAfter {
                delay,
                target,
                message,
                ..
            } => (&[], &[*delay, *target, *message]),
            Instr::Abort { reason } => (&[], &[*reason]),
            Instr::CancelTimer { timer, .. } => (&[], &[*timer]),
            Instr::SelfAddress { .. }
            | Instr::Jump { .. }
            | Instr::BecomeSink
            | Instr::Done
            | Instr::Ignore => (&[], &[]),
        };
        several.iter().chain(singles).copied().for_each(&mut visit);
    }

    /// The registers that hold something new when control goes on to the next instruction; none is written when it
    /// goes to the label. Ranges that are not needed are empty.
    pub fn written(&self) -> [Range<u32>; 2] {
        let one = |register: Register| u32::from(register)..u32::from(register) + 1;
        match self {
            Instr::Move { dst, .. }
            | Instr::Op { dst, .. }
            | Instr::GuardOp { dst, .. }
            | Instr::Tuple { dst, .. }
            | Instr::Cons { dst, .. }
            | Instr::SelfAddress { dst }
            | Instr::Call { dst, .. }
            | Instr::Create { dst, .. }
            | Instr::CreateOn { dst, .. }
            | Instr::SendAfter { dst, .. }
            | Instr::CancelTimer { dst, .. } => [one(*dst), 0..0],
            Instr::MatchTuple { first, count, .. } => {
                let first = u32::from(*first);
                [first..first.saturating_add(*count), 0..0]
            }
            Instr::MatchCons { head, tail, .. } => [one(*head), one(*tail)],
            _ => [0..0, 0..0],
        }
    }

    /// Where control may go besides the next instruction.
    pub fn label(&self) -> Option<Label> {
        match self {
            Instr::GuardOp { label, .. }
            | Instr::Jump { label }
            | Instr::Branch { label, .. }
            | Instr::Falsy { label, .. }
            | Instr::Match { label, .. }
            | Instr::MatchTuple { label, .. }
            | Instr::MatchCons { label, .. } => Some(*label),
            _ => None,
        }
    }

    /// Whether control may go on to the next instruction.
    pub fn falls_through(&self) -> bool {
        !matches!(
            self,
            Instr::TailCall { .. }
                | Instr::Return { .. }
                | Instr::Jump { .. }
                | Instr::Abort { .. }
                | Instr::Done
                | Instr::Ignore
        )
    }

    /// Whether it belongs to a turn: only behaviours and functions with effects may contain it.
    pub fn is_effect(&self) -> bool {
        matches!(
            self,
            Instr::SelfAddress { .. }
                | Instr::Create { .. }
                | Instr::CreateOn { .. }
                | Instr::Send { .. }
                | Instr::SendX { .. }
                | Instr::SendAfter { .. }
                | Instr::CancelTimer { .. }
                | Instr::Become { .. }
                | Instr::BecomeSink
        )
    }
}
