//! The decoded form of a unit of code: plain data, one to one with the wire format.
//!
//! Nothing here is checked by construction. [`super::verify`] says what the machine may rely on.

pub use super::instructions::Instr;
use crate::values::foreign::Class;

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
/// Greatest depth of constants. The tail of a list does not count: only its elements nest.
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
        /// The rest of the list.
        tail: u32,
    },
    /// A map: keys and values, earlier constants. Of several equal keys the last one counts.
    Map(Vec<(u32, u32)>),
    /// A binary.
    Binary(Vec<u8>),
    /// A bitstring that is no binary.
    Bits {
        /// How many of the last bits are not used: 1 to 7.
        unused: u8,
        /// The bytes that the bits lie in, at least one.
        bytes: Vec<u8>,
    },
    /// An integer outside of the fixnum range.
    Big {
        /// True if it is less than 0.
        negative: bool,
        /// Its absolute value, the lowest byte first.
        bytes: Vec<u8>,
    },
    /// A value that the machine cannot look into.
    Opaque {
        /// The value's class.
        class: Class,
        /// The value in the external term format.
        bytes: Vec<u8>,
    },
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
    /// True if it may send, create, become or ask for its own address.
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
    /// True if it never becomes anything else.
    pub safe: bool,
    /// Its turns run outside of the machine and nowhere else (threads/away.rs).
    pub away_only: bool,
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

/// A source of a value for an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// An index into [`Unit::constants`].
    Constant(u32),
}
