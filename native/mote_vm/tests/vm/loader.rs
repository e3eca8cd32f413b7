//! The wire format: what the decoder reads, and what it refuses.

use crate::build::{everything, k, ret, Build};
use crate::encode::{encode, varint};
use mote_vm::code::decode::decode;
use mote_vm::code::error::{FormatProblem, LoadError};
use mote_vm::code::ir::{Constant, Instr};
use mote_vm::code::verify::verify;
use mote_vm::values::big::MOST_LIMBS;

/// The problem and the offset of a format error.
fn refused(bytes: &[u8]) -> (usize, FormatProblem) {
    match decode(bytes) {
        Err(LoadError::Format { offset, problem }) => (offset, problem),
        other => panic!("not a format error: {other:?}"),
    }
}

fn too_large(what: &'static str, value: u64, max: u64) -> FormatProblem {
    FormatProblem::TooLarge { what, value, max }
}

/// A unit of one function whose code is these bytes, counted as `count` instructions.
fn with_code(count: u64, code: &[u8]) -> Vec<u8> {
    let mut bytes = encode(&Build::new().0);
    // The counts of functions and behaviours are the last two bytes of a unit without any.
    bytes.truncate(bytes.len() - 2);
    bytes.extend([1, 0, 0, 8, 0]);
    varint(&mut bytes, count);
    bytes.extend(code);
    // Neither call sites nor behaviours.
    bytes.extend([0, 0]);
    bytes
}

/// An empty unit but for these bytes, from the constants on.
fn with_tables(tables: &[u8]) -> Vec<u8> {
    [b"MOTE\x02\x01T", &[0; 8][..], &[0], tables].concat()
}
const TABLES: usize = 16;

#[test]
fn everything_survives_the_wire() {
    let mut unit = everything();
    let behaviour = unit.behaviours.iter_mut().find(|b| !b.safe);
    behaviour.expect("one that becomes").away_only = true;
    assert_eq!(decode(&encode(&unit)), Ok(unit.clone()));
    assert_eq!(*verify(&unit).unwrap(), unit);
}

#[test]
fn the_bytes_of_a_small_unit() {
    let mut unit = Build::new().function("f", 0, vec![ret(k(1))]).0;
    unit.constants[0] = Constant::Integer(-3);
    let bytes = b"MOTE\x02\x08Elixir.T\xef\xcd\xab\x89\x67\x45\x23\x01\
        \x01\x01f\x02\x00\x05\x03\x00\x00\x01\x00\x00\x08\x00\x01\x08\x03\x00\x00";
    assert_eq!(encode(&unit), bytes);
    assert_eq!(decode(bytes), Ok(unit));
}

#[test]
fn every_truncation_is_refused() {
    let bytes = encode(&everything());
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "at {length}");
    }
}

#[test]
fn the_head_of_the_unit() {
    assert_eq!(refused(b""), (0, FormatProblem::Magic));
    assert_eq!(refused(b"MOT"), (0, FormatProblem::Magic));
    assert_eq!(refused(b"mote\x02"), (0, FormatProblem::Magic));
    assert_eq!(refused(b"MOTE"), (4, FormatProblem::End));
    assert_eq!(refused(b"MOTE\x01"), (4, FormatProblem::Version(1)));
    assert_eq!(refused(b"MOTE\x02\x01\xff"), (5, FormatProblem::Utf8));
    assert!(decode(&with_tables(&[0; 5])).is_ok());
}

#[test]
fn nothing_may_follow() {
    let mut bytes = encode(&everything());
    let end = bytes.len();
    bytes.extend([0, 0]);
    assert_eq!(refused(&bytes), (end, FormatProblem::Trailing { bytes: 2 }));
}

#[test]
fn forged_counts_are_refused_at_once() {
    for table in 0..5 {
        let mut tables = vec![0; table];
        varint(&mut tables, 1 << 31);
        assert_eq!(
            refused(&with_tables(&tables)),
            (TABLES + table, FormatProblem::End)
        );
    }
    let mut tables = vec![];
    varint(&mut tables, 1 << 40);
    let problem = too_large("number of constants", 1 << 40, u32::MAX.into());
    assert_eq!(refused(&with_tables(&tables)), (TABLES, problem));
    // Inside of code, and of a constant tuple.
    assert!(matches!(
        refused(&with_code(500_000, &[23])),
        (_, FormatProblem::End)
    ));
    let problem = too_large("number of instructions", 1_000_001, 1_000_000);
    assert_eq!(refused(&with_code(1_000_001, &[23])).1, problem);
    assert_eq!(
        refused(&with_tables(&[1, 4, 0xff, 0x01])),
        (TABLES + 2, FormatProblem::End)
    );
}

#[test]
fn constants() {
    let kind = |value| FormatProblem::Unknown {
        what: "kind of constant",
        value,
    };
    let class = |value| FormatProblem::Unknown {
        what: "class of opaque values",
        value,
    };
    assert_eq!(refused(&with_tables(&[1, 11])), (TABLES + 1, kind(11)));
    assert_eq!(refused(&with_tables(&[1, 7, 7, 0])), (TABLES + 2, class(7)));
    let unknown = |what, value| FormatProblem::Unknown { what, value };
    let sign = unknown("sign of an integer", 2);
    assert_eq!(refused(&with_tables(&[1, 9, 2, 0])), (TABLES + 2, sign));
    let most = 8 * MOST_LIMBS;
    for (bytes, fits) in [(most, true), (most + 1, false)] {
        let mut tables = vec![1, 9, 1];
        varint(&mut tables, bytes as u64);
        tables.extend(vec![7; bytes]);
        tables.extend([0; 4]);
        assert_eq!(decode(&with_tables(&tables)).is_ok(), fits, "{bytes}");
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let tables = [&[1, 1], &value.to_le_bytes()[..], &[0; 4]].concat();
        assert_eq!(
            refused(&with_tables(&tables)),
            (TABLES + 1, FormatProblem::Float)
        );
    }
    let tables = [&[1, 1], &(-0.0f64).to_le_bytes()[..], &[0; 4]].concat();
    let unit = decode(&with_tables(&tables)).unwrap();
    assert!(matches!(unit.constants[..], [Constant::Float(f)] if f.is_sign_negative()));
}

#[test]
fn heads_of_functions_and_behaviours() {
    let function =
        |fields: &[u8]| with_tables(&[&[0, 0, 0, 1, 0], fields, &[1, 23, 0, 0]].concat());
    let behaviour =
        |fields: &[u8]| with_tables(&[&[0, 0, 0, 0, 1, 0], fields, &[1, 23, 0]].concat());
    assert!(decode(&function(&[2, 2, 0])).is_ok());
    assert!(decode(&function(&[0xff, 0x01, 0x80, 0x04, 1])).is_ok());
    assert!(decode(&behaviour(&[2, 3, 1])).is_ok());
    let problem = too_large("arity", 2, 1);
    assert_eq!(refused(&function(&[2, 1, 0])).1, problem);
    let problem = too_large("number of captures", 2, 1);
    assert_eq!(refused(&behaviour(&[2, 2, 0])).1, problem);
    let problem = too_large("arity", 256, 255);
    assert_eq!(refused(&function(&[0x80, 0x02, 0x80, 0x04, 0])).1, problem);
    let problem = too_large("number of registers", 513, 512);
    assert_eq!(refused(&function(&[0, 0x81, 0x04, 0])).1, problem);
    let problem = FormatProblem::Unknown {
        what: "meaning of flags",
        value: 2,
    };
    assert_eq!(refused(&function(&[0, 1, 2])).1, problem);
}

#[test]
fn instructions() {
    let code = |bytes: &[u8]| with_code(1, bytes);
    assert_eq!(
        decode(&code(&[23])).unwrap().functions[0].code,
        [Instr::Done]
    );
    let unknown = |what, value| FormatProblem::Unknown { what, value };
    assert_eq!(refused(&code(&[32])).1, unknown("instruction", 32));
    assert_eq!(refused(&code(&[1, 0, 59])).1, unknown("primitive", 59));
    let register = too_large("register", 512, 511);
    assert_eq!(refused(&code(&[5, 0x80, 0x04])).1, register);
    assert_eq!(refused(&code(&[8, 0x80, 0x08])).1, register);
    let mut bytes = vec![8];
    varint(&mut bytes, 1 << 33 | 1);
    let problem = too_large("constant", 1 << 32, u32::MAX.into());
    assert_eq!(refused(&code(&bytes)).1, problem);
    let mut bytes = vec![9];
    varint(&mut bytes, 1 << 32);
    let problem = too_large("label", 1 << 32, u32::MAX.into());
    assert_eq!(refused(&code(&bytes)).1, problem);
    let problem = too_large("number of operands", 256, 255);
    assert_eq!(refused(&code(&[3, 0, 0x80, 0x02])).1, problem);
    let problem = too_large("tuple size", 256, 255);
    assert_eq!(refused(&code(&[13, 0, 0x80, 0x02, 0, 0])).1, problem);
    let long = [&[3, 0, 0xff, 0x01][..], &[1; 255]].concat();
    assert!(decode(&code(&long)).is_ok());
}

#[test]
fn messages_say_where() {
    let message = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    assert_eq!(
        message(b"MOTE\x07"),
        "byte 4: version 7 of the format is not known"
    );
    assert_eq!(
        message(&with_tables(&[1, 11])),
        "byte 17: there is no kind of constant 11"
    );
}
