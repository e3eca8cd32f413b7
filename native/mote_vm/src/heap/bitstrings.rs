//! Bitstrings that are not binaries: some bits of a binary, which their cell refers to.
//!
//! Invariants:
//! 1. The number of bits is no multiple of eight, and the binary has no byte that none of them is in. So a binary is never such a cell.
use super::cell::{self, Kind};
use super::Heap;
use crate::values::bits::Bits;
use crate::values::value::Value;

/// Bits that each of two numbers takes in the class of a cell's header: of the unused ones of the first byte, and of the last.
const UNUSED_BITS: u32 = 3;

impl Heap {
    /// The bits of a binary without the first `before` and the last `behind`, fewer than eight each: a bitstring, or `NONE` where the
    /// binary is.
    pub(crate) fn bitstring(&mut self, binary: Value, before: usize, behind: usize) -> Value {
        if binary.is_none() {
            return Value::NONE;
        }
        let class = (before | behind << UNUSED_BITS) as u8;
        self.boxed(cell::header(Kind::Bitstring, class, 1), 1, |words| {
            // SAFETY: `boxed` made room for one word.
            unsafe { words.write(binary.word()) }
        })
    }

    /// Some bits of a binary or of a bitstring, whose bits are `all`, where their number is no multiple of eight or they begin with a
    /// byte: nothing is copied then, except a few bytes.
    pub(crate) fn bits(&mut self, value: Value, all: Bits<'_>, part: Bits<'_>) -> Value {
        if part.len() == all.len() {
            return value;
        }
        let binary = value.bitstring_of().map_or(value, |(binary, ..)| binary);
        let (bytes, range, before, behind) = part.place();
        let binary = self.slice(binary, bytes, range);
        match part.len() % 8 {
            0 => binary,
            _ => self.bitstring(binary, before, behind),
        }
    }
}

impl Value {
    /// The binary that a bitstring is of, and how many bits of its first and of its last byte are not used.
    pub(crate) fn bitstring_of(self) -> Option<(Value, usize, usize)> {
        let &[binary] = self.as_bitstring_cell()? else {
            return None;
        };
        let class = usize::from(self.class());
        let most = (1 << UNUSED_BITS) - 1;
        Some((binary, class & most, class >> UNUSED_BITS))
    }

    /// The bits of a binary or a bitstring, and of nothing else.
    #[inline(always)]
    pub(crate) fn as_bits<'h>(self) -> Option<Bits<'h>> {
        match self.as_binary() {
            Some(bytes) => Some(Bits::of(bytes)),
            None => self.as_bitstring(),
        }
    }

    /// The bits of a bitstring that is no binary.
    #[cold]
    #[inline(never)]
    pub(crate) fn as_bitstring<'h>(self) -> Option<Bits<'h>> {
        let (binary, before, behind) = self.bitstring_of()?;
        let all = Bits::of(binary.as_binary()?);
        Some(all.part(before..all.len() - behind))
    }
}
