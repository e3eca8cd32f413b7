//! From bytes to a [`Unit`]. Checks the shape only: that every number fits where it belongs and that the bytes end
//! where the unit does. [`super::verify`] checks what the numbers refer to.
//!
//! Memory stays within a constant factor of the input: an item is allocated only for bytes that are there.

use super::error::{FormatProblem, LoadError};
use super::instructions::instructions;
use super::ir::{
    Behaviour, CallSite, Constant, Function, Import, Instr, Label, Operand, Register, Unit,
    MAX_ARITY, MAX_CONSTANT_TUPLE, MAX_INSTRUCTIONS, MAX_OPERANDS, MAX_REGISTERS,
};
use super::reader::Reader;
use crate::terms::prim::primitive::Primitive;
use crate::values::big::MOST_LIMBS;
use crate::values::foreign::Class;

/// First bytes of every unit.
pub const MAGIC: &[u8; 4] = b"MOTE";
/// The version of the format that this machine reads.
pub const VERSION: u8 = 2;

/// Limit of sequences that only the length of the input bounds.
const ANY: usize = u32::MAX as usize;

/// Decodes a whole unit; bytes after its end are an error.
pub fn decode(bytes: &[u8]) -> Result<Unit, LoadError> {
    let reader = &mut Reader::new(bytes);
    if reader.take(MAGIC.len()).ok() != Some(&MAGIC[..]) {
        return Err(problem(0, FormatProblem::Magic));
    }
    let start = reader.offset();
    let version = reader.u8()?;
    if version != VERSION {
        return Err(problem(start, FormatProblem::Version(version)));
    }
    let unit = Unit {
        module: reader.string()?.to_owned(),
        hash: reader.u64()?,
        atoms: reader.sequence("number of atoms", ANY, 1, |r| Ok(r.string()?.to_owned()))?,
        constants: reader.sequence("number of constants", ANY, 1, constant)?,
        functions_used: reader.sequence("number of function imports", ANY, 3, import)?,
        behaviours_used: reader.sequence("number of behaviour imports", ANY, 3, import)?,
        functions: reader.sequence("number of functions", ANY, 6, function)?,
        behaviours: reader.sequence("number of behaviours", ANY, 6, behaviour)?,
    };
    match reader.remaining() {
        0 => Ok(unit),
        bytes => Err(problem(reader.offset(), FormatProblem::Trailing { bytes })),
    }
}

fn problem(offset: usize, problem: FormatProblem) -> LoadError {
    LoadError::Format { offset, problem }
}

fn index(reader: &mut Reader, what: &'static str) -> Result<u32, LoadError> {
    reader.at_most(what, u32::MAX)
}

fn constant(reader: &mut Reader) -> Result<Constant, LoadError> {
    let start = reader.offset();
    Ok(match reader.u8()? {
        0 => Constant::Integer(reader.signed()?),
        1 => {
            let value = f64::from_bits(reader.u64()?);
            if !value.is_finite() {
                return Err(problem(start, FormatProblem::Float));
            }
            Constant::Float(value)
        }
        2 => Constant::Atom(index(reader, "atom")?),
        3 => Constant::Nil,
        4 => Constant::Tuple(reader.sequence("tuple size", MAX_CONSTANT_TUPLE, 1, |r| {
            index(r, "constant")
        })?),
        5 => Constant::Cons {
            head: index(reader, "constant")?,
            tail: index(reader, "constant")?,
        },
        6 => Constant::Binary(reader.bytes()?.to_vec()),
        7 => {
            let start = reader.offset();
            let number = reader.u8()?;
            let class = Class::from_number(number)
                .filter(|class| class.is_of_constants())
                .ok_or_else(|| unknown(start, "class of opaque values", number.into()))?;
            Constant::Opaque {
                class,
                bytes: reader.bytes()?.to_vec(),
            }
        }
        8 => Constant::Map(reader.sequence("map size", MAX_CONSTANT_TUPLE, 2, |r| {
            Ok((index(r, "constant")?, index(r, "constant")?))
        })?),
        9 => {
            let start = reader.offset();
            let negative = match reader.u8()? {
                0 => false,
                1 => true,
                other => return Err(unknown(start, "sign of an integer", other.into())),
            };
            let start = reader.offset();
            let bytes = reader.bytes()?;
            if bytes.len() > MOST_LIMBS * size_of::<u64>() {
                return Err(unknown(start, "size of an integer", bytes.len() as u64));
            }
            Constant::Big {
                negative,
                bytes: bytes.to_vec(),
            }
        }
        10 => {
            let start = reader.offset();
            let (unused, bytes) = (reader.u8()?, reader.bytes()?);
            if !(1..8).contains(&unused) || bytes.is_empty() {
                return Err(unknown(start, "bits of a bitstring", unused.into()));
            }
            Constant::Bits {
                unused,
                bytes: bytes.to_vec(),
            }
        }
        other => return Err(unknown(start, "kind of constant", other.into())),
    })
}

fn unknown(offset: usize, what: &'static str, value: u64) -> LoadError {
    problem(offset, FormatProblem::Unknown { what, value })
}

fn import(reader: &mut Reader) -> Result<Import, LoadError> {
    Ok(Import {
        module: index(reader, "atom")?,
        name: index(reader, "atom")?,
        arity: reader.at_most("arity", MAX_ARITY)?,
    })
}

/// A behaviour's flag: its turns run outside of the machine only.
const AWAY_ONLY: u8 = 2;

/// The common part of functions and behaviours.
struct Head {
    name: u32,
    arity: u32,
    registers: u16,
    flag: bool,
    away_only: bool,
    code: Vec<Instr>,
    sites: Vec<CallSite>,
}

/// `given` is how many values beside its arguments or captures it starts with.
fn head(
    reader: &mut Reader,
    what: &'static str,
    given: u32,
    most_flags: u8,
) -> Result<Head, LoadError> {
    let name = index(reader, "atom")?;
    let start = reader.offset();
    let arity = reader.at_most(what, MAX_ARITY)?;
    let registers = reader.at_most("number of registers", MAX_REGISTERS)?;
    if arity + given > u32::from(registers) {
        let (value, max) = (
            arity.into(),
            u64::from(registers).saturating_sub(given.into()),
        );
        return Err(problem(start, FormatProblem::TooLarge { what, value, max }));
    }
    let start = reader.offset();
    let flags = reader.u8()?;
    if flags > most_flags {
        return Err(unknown(start, "meaning of flags", flags.into()));
    }
    Ok(Head {
        name,
        arity,
        registers,
        flag: flags & 1 != 0,
        away_only: flags & AWAY_ONLY != 0,
        code: reader.sequence("number of instructions", MAX_INSTRUCTIONS, 1, instruction)?,
        sites: reader.sequence("number of call sites", MAX_INSTRUCTIONS, 2, site)?,
    })
}

fn site(reader: &mut Reader) -> Result<CallSite, LoadError> {
    Ok(CallSite {
        at: index(reader, "instruction")?,
        place: index(reader, "constant")?,
    })
}

fn function(reader: &mut Reader) -> Result<Function, LoadError> {
    let head = head(reader, "arity", 0, 1)?;
    Ok(Function {
        name: head.name,
        arity: head.arity,
        registers: head.registers,
        effects: head.flag,
        code: head.code,
        sites: head.sites,
    })
}

fn behaviour(reader: &mut Reader) -> Result<Behaviour, LoadError> {
    let head = head(reader, "number of captures", 1, 1 | AWAY_ONLY)?;
    Ok(Behaviour {
        name: head.name,
        captures: head.arity,
        registers: head.registers,
        // It may become wherever its turns run.
        safe: head.flag && !head.away_only,
        away_only: head.away_only,
        code: head.code,
        sites: head.sites,
    })
}

fn register(reader: &mut Reader) -> Result<Register, LoadError> {
    reader.at_most("register", MAX_REGISTERS - 1)
}

fn label(reader: &mut Reader) -> Result<Label, LoadError> {
    index(reader, "label")
}

fn operand(reader: &mut Reader) -> Result<Operand, LoadError> {
    let start = reader.offset();
    let number = reader.varint()?;
    let value = number >> 1;
    if number & 1 == 0 {
        let (what, max) = ("register", u64::from(MAX_REGISTERS) - 1);
        u16::try_from(value)
            .ok()
            .filter(|register| *register < MAX_REGISTERS)
            .map(Operand::Register)
            .ok_or_else(|| problem(start, FormatProblem::TooLarge { what, value, max }))
    } else {
        let (what, max) = ("constant", u64::from(u32::MAX));
        u32::try_from(value)
            .map(Operand::Constant)
            .map_err(|_| problem(start, FormatProblem::TooLarge { what, value, max }))
    }
}

fn operands(reader: &mut Reader) -> Result<Vec<Operand>, LoadError> {
    reader.sequence("number of operands", MAX_OPERANDS as usize, 1, operand)
}

fn primitive(reader: &mut Reader) -> Result<Primitive, LoadError> {
    let start = reader.offset();
    let number = reader.varint()?;
    Primitive::from_number(number)
        .filter(|primitive| !primitive.is_own())
        .ok_or_else(|| unknown(start, "primitive", number))
}

/// The operands of a primitive, whose number is not written: it is the arity.
fn applied(reader: &mut Reader, primitive: Primitive) -> Result<Vec<Operand>, LoadError> {
    (0..primitive.arity()).map(|_| operand(reader)).collect()
}

/// A field of an instruction.
macro_rules! field {
    ($r:ident, Register) => {
        register($r)?
    };
    ($r:ident, Registers($count:ident)) => {
        register($r)?
    };
    ($r:ident, Operand) => {
        operand($r)?
    };
    ($r:ident, Behind) => {
        operand($r)?
    };
    ($r:ident, Operands) => {
        operands($r)?
    };
    ($r:ident, Primitive) => {
        primitive($r)?
    };
    ($r:ident, Applied($primitive:ident)) => {
        applied($r, $primitive)?
    };
    ($r:ident, Function) => {
        index($r, "function import")?
    };
    ($r:ident, Own) => {
        index($r, "function import")?
    };
    ($r:ident, Behaviour) => {
        index($r, "behaviour import")?
    };
    ($r:ident, Count) => {
        $r.at_most("tuple size", MAX_OPERANDS)?
    };
    ($r:ident, Label) => {
        label($r)?
    };
}

macro_rules! decoder {
    ($(
        $(#[$about:meta])*
        $code:literal $wire:literal $name:ident $({ $($field:ident: $kind:ident $(($of:ident))?),* })?
            => $op:expr;
    )*) => {
        fn instruction(r: &mut Reader) -> Result<Instr, LoadError> {
            let start = r.offset();
            Ok(match r.u8()? {
                $($code => {
                    $($(let $field = field!(r, $kind $(($of))?);)*)?
                    Instr::$name $({ $($field),* })?
                })*
                other => return Err(unknown(start, "instruction", other.into())),
            })
        }
    };
}

instructions!(decoder);
