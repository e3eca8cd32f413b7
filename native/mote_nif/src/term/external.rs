//! Terms in the external format. The parts of most messages are written here, in a fifth of the time that the BEAM's own
//! function takes for a small message. That function writes everything else.
//!
//! Invariants:
//! 1. Every release reads the written bytes as an equal term.
use crate::term::atoms::{self, AtomCache};
use crate::term::read::{list_cell, small_integer, tuple};
use mote_vm::values::bits::Bits;
use rustler::{Binary, Env, Term, TermType};

const VERSION: u8 = 131;
const SMALL_INTEGER: u8 = 97;
const INTEGER: u8 = 98;
const FLOAT: u8 = 70;
const SMALL_TUPLE: u8 = 104;
const EMPTY_LIST: u8 = 106;
const LIST: u8 = 108;
const BINARY: u8 = 109;
const BIT_BINARY: u8 = 77;
const SMALL_BIG: u8 = 110;
const SMALL_ATOM: u8 = 119;

/// Levels of a term: what is deeper is not for this thread's stack.
const DEPTH: usize = 16;

/// Appends a term.
pub fn write(term: Term<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    out.push(VERSION);
    if !plain(term, AtomCache::here(), DEPTH, out) {
        out.truncate(begin);
        out.extend_from_slice(&term.to_binary());
    }
}

/// Appends a term, or a part of one, if it is of these kinds.
fn plain(term: Term<'_>, known: AtomCache, depth: usize, out: &mut Vec<u8>) -> bool {
    if let Some(atom) = known.number(term) {
        return name(atom.name(), out);
    }
    if let Some(n) = small_integer(term) {
        integer(n, out);
        return true;
    }
    if depth == 0 {
        return false;
    }
    if let Some(elements) = tuple(term) {
        let Ok(arity) = u8::try_from(elements.len()) else {
            return false;
        };
        out.extend_from_slice(&[SMALL_TUPLE, arity]);
        let env = term.get_env();
        return elements.iter().all(|element| {
            // SAFETY: elements belong to the environment of their tuple.
            let element = unsafe { Term::new(env, *element) };
            plain(element, known, depth - 1, out)
        });
    }
    match term.get_type() {
        TermType::Atom => name(atoms::number(term).name(), out),
        TermType::List => list(term, known, depth, out),
        TermType::Float => term.decode::<f64>().is_ok_and(|float| {
            out.push(FLOAT);
            out.extend_from_slice(&float.to_bits().to_be_bytes());
            true
        }),
        TermType::Binary => Binary::from_term(term).is_ok_and(|bytes| {
            let Ok(length) = u32::try_from(bytes.len()) else {
                return false;
            };
            out.push(BINARY);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&bytes);
            true
        }),
        _ => false,
    }
}

fn name(name: &str, out: &mut Vec<u8>) -> bool {
    let Ok(length) = u8::try_from(name.len()) else {
        return false;
    };
    out.extend_from_slice(&[SMALL_ATOM, length]);
    out.extend_from_slice(name.as_bytes());
    true
}

fn integer(n: i64, out: &mut Vec<u8>) {
    if let Ok(small) = u8::try_from(n) {
        out.extend_from_slice(&[SMALL_INTEGER, small]);
    } else if let Ok(n) = i32::try_from(n) {
        out.push(INTEGER);
        out.extend_from_slice(&n.to_be_bytes());
    } else {
        let bytes = n.unsigned_abs().to_le_bytes();
        let length = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        out.extend_from_slice(&[SMALL_BIG, length as u8, u8::from(n < 0)]);
        out.extend_from_slice(&bytes[..length]);
    }
}

/// A proper list.
fn list(term: Term<'_>, known: AtomCache, depth: usize, out: &mut Vec<u8>) -> bool {
    let head = out.len();
    out.extend_from_slice(&[LIST, 0, 0, 0, 0]);
    let (mut rest, mut length) = (term, 0_u32);
    while let Some((element, tail)) = list_cell(rest) {
        if !plain(element, known, depth - 1, out) {
            return false;
        }
        length += 1;
        rest = tail;
    }
    if length == 0 {
        out.truncate(head);
    } else {
        out[head + 1..head + 5].copy_from_slice(&length.to_be_bytes());
    }
    out.push(EMPTY_LIST);
    rest.is_empty_list()
}

/// The bits of a bitstring that is no binary from its external form: how many of the last byte are not used, and the bytes.
pub fn bitstring(external: &[u8]) -> Option<(usize, &[u8])> {
    let [VERSION, BIT_BINARY, _, _, _, _, used @ 1..8, bytes @ ..] = external else {
        return None;
    };
    Some((usize::from(8 - used), bytes))
}

/// The term of a bitstring that is no binary.
pub fn bitstring_term<'a>(env: Env<'a>, bits: Bits<'_>) -> Option<Term<'a>> {
    let bytes = bits.padded();
    let length = u32::try_from(bytes.len()).ok()?;
    let mut external = Vec::with_capacity(7 + bytes.len());
    external.extend_from_slice(&[VERSION, BIT_BINARY]);
    external.extend_from_slice(&length.to_be_bytes());
    external.push((8 - bits.unused()) as u8);
    external.extend_from_slice(&bytes);
    env.binary_to_term(&external).map(|(term, _)| term)
}
