//! The reasons why a unit was not loaded, and the places.

use std::error::Error;
use std::fmt;

/// The reason why a unit was not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The bytes are not a unit.
    Format {
        /// Start of the offending item, in bytes.
        offset: usize,
        /// Problem with the item.
        problem: FormatProblem,
    },
    /// An entry of one of the tables is wrong.
    UnitTable {
        /// The table.
        table: UnitTable,
        /// Index of the entry, from 0.
        index: usize,
        /// Problem with the entry.
        problem: TableProblem,
    },
    /// A function or behaviour is wrong as a whole.
    Head {
        /// The function or behaviour.
        code: CodeName,
        /// Problem with it.
        problem: HeadProblem,
    },
    /// An instruction is wrong.
    Code {
        /// The function or behaviour.
        code: CodeName,
        /// Index of the instruction, from 0; the number of instructions when the end is wrong.
        instruction: usize,
        /// Problem with the instruction.
        problem: CodeProblem,
    },
    /// The machine could not make the constants: no memory, or an opaque value that nobody can read.
    Constants,
    /// The machine has no numbers left for behaviours.
    TooManyBehaviours,
}

/// Problems with bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatProblem {
    /// The bytes end too early.
    End,
    /// A varint is longer than 64 bits.
    Varint,
    /// A string is not UTF-8.
    Utf8,
    /// It does not start with `MOTE`.
    Magic,
    /// It is of another version of the format.
    Version(u8),
    /// A number is larger than it may be.
    TooLarge {
        /// Meaning of the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest allowed.
        max: u64,
    },
    /// A number stands for nothing.
    Unknown {
        /// Kind of thing that it should stand for.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// A float is infinite or not a number.
    Float,
    /// There are bytes after the end of the unit.
    Trailing {
        /// Number of those bytes.
        bytes: usize,
    },
}

/// The tables of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitTable {
    /// Not a table: the name of the module, with index 0.
    Module,
    /// The atoms.
    Atoms,
    /// The constants.
    Constants,
    /// The functions used.
    FunctionsUsed,
    /// The behaviours used.
    BehavioursUsed,
    /// The functions.
    Functions,
    /// The behaviours.
    Behaviours,
}

/// Problems with an entry of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableProblem {
    /// It refers to an atom that does not exist.
    Atom(u32),
    /// An atom has too many characters.
    LongAtom(usize),
    /// An integer is outside the fixnum range.
    Integer(i64),
    /// A float is infinite or not a number.
    Float,
    /// A constant refers to one that is not earlier.
    Constant(u32),
    /// A constant tuple has too many elements.
    LongTuple(usize),
    /// A constant nests too deep.
    Depth(u32),
    /// A constant, written out, is too large.
    Nodes(u64),
    /// An import has too large an arity.
    Arity(u32),
    /// An import of the unit itself names nothing that exists.
    Missing {
        /// The name.
        name: String,
        /// The arity, or number of captures.
        arity: u32,
    },
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

/// Problems with a function or behaviour as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadProblem {
    /// Another one has the same name and arity.
    Duplicate,
    /// The arity, or number of captures, is too large.
    Arity,
    /// It uses too many registers.
    Registers(u16),
    /// Not even what it is given fits into its registers.
    TooFewRegisters {
        /// Number of its registers.
        registers: u16,
        /// Number of values that it is given.
        given: u32,
    },
    /// It has too many instructions.
    Length(usize),
}

/// Problems with an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeProblem {
    /// A register that the code does not have.
    Register(u32),
    /// A register that some path has not written.
    Unwritten(u16),
    /// A constant that does not exist.
    Constant(u32),
    /// A function import that does not exist.
    Function(u32),
    /// A behaviour import that does not exist.
    Behaviour(u32),
    /// A wrong number of operands.
    Arity {
        /// Number of operands that the callee or primitive takes.
        expected: usize,
        /// Number of operands that it is given.
        found: usize,
    },
    /// Too many operands.
    Operands(usize),
    /// A label that is not a later instruction.
    Label(u32),
    /// No path leads here.
    Unreachable,
    /// The last instruction can go on to the next.
    NoEnd,
    /// An instruction that only behaviours may contain.
    BehaviourOnly(&'static str),
    /// An instruction that only functions may contain.
    FunctionOnly(&'static str),
    /// An effect in a function without effects.
    Effect,
    /// A call of a function with effects in a function without.
    EffectCall(u32),
    /// The behaviour claims to be safe, and this instruction may become.
    Unsafe,
    /// A call site that is not a call, or is out of order.
    Site,
    /// A function import that cannot be a value.
    Value(u32),
    /// A `try` or `tried` that is not around one call.
    Protected,
}

impl Error for LoadError {}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Format { offset, problem } => write!(f, "byte {offset}: {problem}"),
            LoadError::UnitTable {
                table,
                index,
                problem,
            } => write!(f, "{table} {index}: {problem}"),
            LoadError::Head { code, problem } => write!(f, "{code}: {problem}"),
            LoadError::Code {
                code,
                instruction,
                problem,
            } => write!(f, "{code}, instruction {instruction}: {problem}"),
            LoadError::Constants => write!(f, "the constants could not be made"),
            LoadError::TooManyBehaviours => {
                write!(f, "the machine has too many behaviours already")
            }
        }
    }
}

impl fmt::Display for FormatProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatProblem::End => write!(f, "the bytes end too early"),
            FormatProblem::Varint => write!(f, "the number is longer than 64 bits"),
            FormatProblem::Utf8 => write!(f, "the string is not UTF-8"),
            FormatProblem::Magic => {
                write!(f, "this is not a unit of code: it must start with \"MOTE\"")
            }
            FormatProblem::Version(version) => {
                write!(f, "version {version} of the format is not known")
            }
            FormatProblem::TooLarge { what, value, max } => {
                write!(f, "{what} {value} is more than {max}")
            }
            FormatProblem::Unknown { what, value } => write!(f, "there is no {what} {value}"),
            FormatProblem::Float => write!(f, "the float is not finite"),
            FormatProblem::Trailing { bytes } => {
                write!(f, "{bytes} bytes after the end of the unit")
            }
        }
    }
}

impl fmt::Display for UnitTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnitTable::Module => "module name",
            UnitTable::Atoms => "atom",
            UnitTable::Constants => "constant",
            UnitTable::FunctionsUsed => "function import",
            UnitTable::BehavioursUsed => "behaviour import",
            UnitTable::Functions => "function",
            UnitTable::Behaviours => "behaviour",
        })
    }
}

impl fmt::Display for TableProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableProblem::Atom(index) => write!(f, "there is no atom {index}"),
            TableProblem::LongAtom(length) => write!(f, "{length} characters are too many"),
            TableProblem::Integer(value) => {
                write!(f, "the integer {value} is outside the fixnum range")
            }
            TableProblem::Float => write!(f, "the float is not finite"),
            TableProblem::Constant(index) => write!(f, "constant {index} is not an earlier one"),
            TableProblem::LongTuple(length) => {
                write!(f, "a tuple of {length} elements is too large")
            }
            TableProblem::Depth(depth) => write!(f, "{depth} levels of nesting are too many"),
            TableProblem::Nodes(nodes) => {
                write!(
                    f,
                    "it stands for a term of {nodes} nodes, which is too large"
                )
            }
            TableProblem::Arity(arity) => write!(f, "arity {arity} is too large"),
            TableProblem::Missing { name, arity } => {
                write!(f, "the unit itself has no {name:?}/{arity}")
            }
        }
    }
}

impl fmt::Display for CodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.behaviour {
            "behaviour"
        } else {
            "function"
        };
        write!(f, "{kind} {:?}/{}", self.name, self.arity)
    }
}

impl fmt::Display for HeadProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeadProblem::Duplicate => write!(f, "it is there twice"),
            HeadProblem::Arity => write!(f, "the arity is too large"),
            HeadProblem::Registers(registers) => write!(f, "{registers} registers are too many"),
            HeadProblem::TooFewRegisters { registers, given } => {
                write!(
                    f,
                    "{registers} registers cannot hold the {given} values it starts with"
                )
            }
            HeadProblem::Length(length) => write!(f, "{length} instructions are too many"),
        }
    }
}

impl fmt::Display for CodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeProblem::Register(register) => write!(f, "there is no register {register}"),
            CodeProblem::Unwritten(register) => {
                write!(
                    f,
                    "register {register} is read, but not every path has written it"
                )
            }
            CodeProblem::Constant(index) => write!(f, "there is no constant {index}"),
            CodeProblem::Function(index) => write!(f, "there is no function import {index}"),
            CodeProblem::Behaviour(index) => write!(f, "there is no behaviour import {index}"),
            CodeProblem::Arity { expected, found } => {
                write!(f, "{found} operands where {expected} are needed")
            }
            CodeProblem::Operands(count) => write!(f, "{count} operands are too many"),
            CodeProblem::Label(label) => write!(f, "label {label} is not a later instruction"),
            CodeProblem::Unreachable => write!(f, "no path leads here"),
            CodeProblem::NoEnd => write!(f, "the code runs past its end"),
            CodeProblem::BehaviourOnly(name) => write!(f, "{name} in a function"),
            CodeProblem::FunctionOnly(name) => write!(f, "{name} in a behaviour"),
            CodeProblem::Effect => write!(f, "an effect in a function without effects"),
            CodeProblem::EffectCall(index) => write!(
                f,
                "a function without effects calls function import {index}, which has effects"
            ),
            CodeProblem::Unsafe => write!(f, "it may become, and the behaviour is flagged safe"),
            CodeProblem::Value(index) => write!(
                f,
                "function import {index} is no function of the unit that takes itself, without effects"
            ),
            CodeProblem::Protected => write!(f, "try and tried are not around one call"),
            CodeProblem::Site => write!(f, "a call site is not a call, or out of order"),
        }
    }
}
