//! The reasons why a unit was not loaded, and the places.

use crate::base::reasons::reasons;
use std::error::Error;
use std::fmt;

reasons! {
    /// The reason why a unit was not loaded.
    #[derive(Debug, Clone, PartialEq, Eq)]
    LoadError {
        /// The bytes are not a unit, from that byte on.
        Format { offset: usize, problem: FormatProblem } => "byte {offset}: {problem}";
        /// An entry of one of the tables is wrong; the first has index 0.
        UnitTable { table: UnitTable, index: usize, problem: TableProblem } => "{table} {index}: {problem}";
        /// A function or behaviour is wrong as a whole.
        Head { code: CodeName, problem: HeadProblem } => "{code}: {problem}";
        /// An instruction is wrong. Its index is the number of instructions when the end is wrong.
        Code { code: CodeName, instruction: usize, problem: CodeProblem }
            => "{code}, instruction {instruction}: {problem}";
        /// There is no memory, or an opaque value that nobody can read.
        Constants => "the constants could not be made";
        TooManyBehaviours => "the machine has too many behaviours already";
    }
}

impl Error for LoadError {}

reasons! {
    /// Problems with bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    FormatProblem {
        End => "the bytes end too early";
        Varint => "the number is longer than 64 bits";
        Utf8 => "the string is not UTF-8";
        Magic => "this is not a unit of code: it must start with \"MOTE\"";
        Version(version: u8) => "version {version} of the format is not known";
        TooLarge { what: &'static str, value: u64, max: u64 } => "{what} {value} is more than {max}";
        Unknown { what: &'static str, value: u64 } => "there is no {what} {value}";
        Float => "the float is not finite";
        Trailing { bytes: usize } => "{bytes} bytes after the end of the unit";
    }
}

reasons! {
    /// The tables of a unit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    UnitTable {
        /// Not a table: its index is 0.
        Module => "module name";
        Atoms => "atom";
        Constants => "constant";
        FunctionsUsed => "function import";
        BehavioursUsed => "behaviour import";
        Functions => "function";
        Behaviours => "behaviour";
    }
}

reasons! {
    /// Problems with an entry of a table.
    #[derive(Debug, Clone, PartialEq, Eq)]
    TableProblem {
        Atom(index: u32) => "there is no atom {index}";
        LongAtom(length: usize) => "{length} characters are too many";
        Integer(value: i64) => "the integer {value} is outside the fixnum range";
        Float => "the float is not finite";
        Constant(index: u32) => "constant {index} is not an earlier one";
        LongTuple(length: usize) => "a tuple of {length} elements is too large";
        Depth(depth: u32) => "{depth} levels of nesting are too many";
        Nodes(nodes: u64) => "it stands for a term of {nodes} nodes, which is too large";
        Arity(arity: u32) => "arity {arity} is too large";
        /// An import of the unit itself names nothing that exists.
        Missing { name: String, arity: u32 } => "the unit itself has no {name:?}/{arity}";
    }
}

/// A function or behaviour, as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeName {
    /// True if it is a behaviour.
    pub behaviour: bool,
    /// Its name.
    pub name: String,
    /// Its arity, or number of captures.
    pub arity: u32,
}

impl fmt::Display for CodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.behaviour {
            true => "behaviour",
            false => "function",
        };
        write!(f, "{kind} {:?}/{}", self.name, self.arity)
    }
}

reasons! {
    /// Problems with a function or behaviour as a whole.
    #[derive(Debug, Clone, PartialEq, Eq)]
    HeadProblem {
        /// Another one has the same name and arity.
        Duplicate => "it is there twice";
        /// Or the number of captures.
        Arity => "the arity is too large";
        Registers(registers: u16) => "{registers} registers are too many";
        TooFewRegisters { registers: u16, given: u32 }
            => "{registers} registers cannot hold the {given} values it starts with";
        Length(length: usize) => "{length} instructions are too many";
    }
}

reasons! {
    /// Problems with an instruction.
    #[derive(Debug, Clone, PartialEq, Eq)]
    CodeProblem {
        Register(register: u32) => "there is no register {register}";
        Unwritten(register: u16) => "register {register} is read, but not every path has written it";
        Constant(index: u32) => "there is no constant {index}";
        Function(index: u32) => "there is no function import {index}";
        Behaviour(index: u32) => "there is no behaviour import {index}";
        Arity { expected: usize, found: usize } => "{found} operands where {expected} are needed";
        Operands(count: usize) => "{count} operands are too many";
        Label(label: u32) => "label {label} is not a later instruction";
        Unreachable => "no path leads here";
        /// The last instruction can go on to the next.
        NoEnd => "the code runs past its end";
        /// Only behaviours may contain the instruction.
        BehaviourOnly(name: &'static str) => "{name} in a function";
        /// Only functions may contain the instruction.
        FunctionOnly(name: &'static str) => "{name} in a behaviour";
        Effect => "an effect in a function without effects";
        EffectCall(index: u32) => "a function without effects calls function import {index}, which has effects";
        Unsafe => "it may become, and the behaviour is flagged safe";
        Site => "a call site is not a call, or out of order";
        Value(index: u32)
            => "function import {index} is no function of the unit that takes itself, without effects";
        Protected => "try and tried are not around one call";
    }
}
