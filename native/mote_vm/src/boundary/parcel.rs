//! Values on the way into the machine, before they have a heap.
//!
//! Senders outside never touch a heap: they write a parcel, and the dispatch thread that drains the inbox unpacks
//! it. A parcel is written in prefix order (a tuple before its elements) and read backwards, so neither side
//! recurses, whatever the nesting.
//!
//! Words: immediates and addresses stand for themselves; a word with the boxed tag is a command, with its kind in
//! bits 4..8 and a count above. Raw words of a command precede it.
//!
//! A large part that is there several times is written once. A mark follows it, with the number of its words; where it is there
//! again, a command names the place of that mark. A reader makes it once, whichever of these it meets first.
//!
//! Invariants:
//! 1. Only [`Builder`] makes parcels, so commands are well formed; how many values a command takes is the writer's
//!    promise, and [`Parcel::unpack`] is total all the same: a missing value reads as `:undefined`.
//! 2. The actors of addresses in a parcel are held by it until it is where the collector finds them: in an inbox, or
//!    unpacked into a heap that the collector waits for.
//! 3. A mark lies before every command that names its place, in the same row of words.
mod builder;
mod expand;
mod unpack;
mod words;

use crate::base::atom::Atom;
use crate::heap::Heap;
use crate::values::foreign::ForeignRef;
use crate::values::handles::{Handles, Held};
use crate::values::value::Value;
pub use builder::{Builder, BuilderPosition};
pub(crate) use expand::expand;
use smallvec::SmallVec;
use std::sync::Arc;
pub(crate) use unpack::{unpack, unpack_all, MadeOnce};
use words::{Words, FEW};

pub(crate) const TUPLE: u64 = 0x10;
pub(crate) const LIST: u64 = 0x20;
pub(crate) const FLOAT: u64 = 0x30;
pub(crate) const BYTES: u64 = 0x40;
pub(crate) const FOREIGN: u64 = 0x50;
pub(crate) const ON: u64 = 0x60;
pub(crate) const TIMER: u64 = 0x70;
pub(crate) const MAP: u64 = 0x80;
pub(crate) const INTEGER: u64 = 0x90;
pub(crate) const MADE: u64 = 0xA0;
const ONCE: u64 = 0xB0;
const AGAIN: u64 = 0xC0;
const CONSTANT: u64 = 0xD0;
pub(crate) const FUNCTION: u64 = 0xE0;
pub(crate) const BITSTRING: u64 = 0xF0;
const KIND: u64 = 0xF0;
const COUNT_SHIFT: u32 = 8;

/// The command of a kind with a count.
pub(crate) fn command(kind: u64, count: usize) -> Value {
    Value::from_word(kind | (count as u64) << COUNT_SHIFT)
}

/// Bytes that a word is charged with.
pub const CHARGED: usize = 2 * size_of::<Value>();

/// The foreign values of a parcel: most have none or, as a question does, one, which needs no allocation.
type ParcelForeigns = SmallVec<[ForeignRef; 1]>;

/// A value outside of any heap.
pub struct Parcel {
    words: Words,
    foreigns: ParcelForeigns,
    /// Bytes that these keep outside of all heaps.
    external_bytes: usize,
    held: Vec<Held>,
}

// SAFETY: the words are plain data; the rest may be sent.
unsafe impl Send for Parcel {}

impl Parcel {
    /// A parcel of one atom.
    pub fn atom(atom: Atom) -> Parcel {
        Parcel::of(Value::atom(atom))
    }

    fn of(value: Value) -> Parcel {
        Parcel {
            words: Words::Few([value; FEW], 1),
            foreigns: ParcelForeigns::new(),
            external_bytes: 0,
            held: Vec::new(),
        }
    }

    /// Returns whether all addresses in it are of the machine of these handles.
    pub(crate) fn is_for(&self, handles: &Arc<Handles>) -> bool {
        self.held.iter().all(|held| held.is_of(handles))
    }

    /// Takes out what it holds (invariant 2): to be dropped when the parcel is an inbox's.
    pub(crate) fn take_held(&mut self) -> Vec<Held> {
        std::mem::take(&mut self.held)
    }

    /// Returns the bytes that it is charged with while it waits: as many as its value will take in a heap. There a word for an
    /// element of a list becomes a cell of two, and each foreign value is charged with what it keeps outside.
    pub fn bytes(&self) -> usize {
        match &self.words {
            Words::Few([value, ..], 1) if !value.is_boxed() => 0,
            words => words.as_slice().len() * CHARGED + self.external_bytes,
        }
    }

    /// Returns the part of these bytes that foreign values keep: it is not copied.
    pub(crate) fn external_bytes(&self) -> usize {
        self.external_bytes
    }

    /// One of several messages that share foreign values.
    pub(crate) fn new(words: Vec<Value>, foreigns: ParcelForeigns) -> Parcel {
        let contents = Parcel::beside(&words, foreigns);
        Parcel {
            words: Words::Many(words),
            ..contents
        }
    }

    /// Everything that goes with those words.
    pub(crate) fn beside(words: &[Value], foreigns: ParcelForeigns) -> Parcel {
        let mut external_bytes = 0;
        each_value(words, |value| {
            if let Some(foreign) = foreign(value, &foreigns) {
                external_bytes += foreign.external_bytes();
            }
        });
        Parcel {
            words: Words::Few([Value::UNDEFINED; FEW], 0),
            foreigns,
            external_bytes,
            held: Vec::new(),
        }
    }

    /// Its foreign values alone.
    pub(crate) fn into_foreigns(self) -> ParcelForeigns {
        self.foreigns
    }

    /// Its foreign values.
    pub(crate) fn foreigns(&self) -> &[ForeignRef] {
        &self.foreigns
    }

    /// Shows every address in it.
    pub(crate) fn each_address(&self, show: impl FnMut(Value)) {
        each_address(self.words.as_slice(), show);
    }

    /// Makes the value in `heap`; `NONE` when its memory is exhausted.
    pub(crate) fn unpack(mut self, heap: &mut Heap, scratch: &mut Vec<Value>) -> Value {
        match &self.words {
            Words::Few([value, ..], 1) if !value.is_boxed() => *value,
            words => {
                let foreigns = |at| take_foreign(&mut self.foreigns, at);
                let words = words.as_slice();
                let mut once = MadeOnce::default();
                unpack(
                    words,
                    0..words.len(),
                    foreigns,
                    &[],
                    &mut once,
                    heap,
                    scratch,
                )
            }
        }
    }

    /// Makes the value in `heap` as [`Parcel::unpack`] does, and keeps the parcel.
    pub(crate) fn copy(&self, heap: &mut Heap) -> Value {
        let words = self.words.as_slice();
        let foreigns = |at: usize| self.foreigns.get(at).cloned();
        let (mut once, mut scratch) = (MadeOnce::default(), Vec::new());
        let all = 0..words.len();
        unpack(words, all, foreigns, &[], &mut once, heap, &mut scratch)
    }

    /// The same once more, which holds nothing: its actors are where the collector finds them, as those of this one.
    pub(crate) fn copied(&self) -> Parcel {
        Parcel {
            words: self.words.clone(),
            foreigns: self.foreigns.clone(),
            external_bytes: self.external_bytes,
            held: Vec::new(),
        }
    }

    /// Makes `count` values that were written one after the other, and of each in turn what `make` makes of it; `None` when the
    /// memory is exhausted.
    pub(crate) fn unpack_each<R>(
        mut self,
        count: usize,
        heap: &mut Heap,
        mut make: impl FnMut(&mut Heap, Value) -> Option<R>,
    ) -> Option<Vec<R>> {
        let words = self.words.as_slice();
        let foreigns = |at| take_foreign(&mut self.foreigns, at);
        let (mut once, mut stack) = (MadeOnce::default(), Vec::new());
        let all = 0..words.len();
        if !unpack_all(words, all, foreigns, &[], &mut once, heap, &mut stack) {
            return None;
        }
        let values = stack.into_iter().rev().take(count);
        values.map(|value| make(heap, value)).collect()
    }

    /// Makes the values of what a turn has done while away: what the turn has made stands where the parcel says so.
    pub(crate) fn unpack_with(
        mut self,
        made: &[Value],
        heap: &mut Heap,
        scratch: &mut Vec<Value>,
    ) -> Value {
        let words = self.words.as_slice();
        let foreigns = |at| take_foreign(&mut self.foreigns, at);
        let mut once = MadeOnce::default();
        unpack(
            words,
            0..words.len(),
            foreigns,
            made,
            &mut once,
            heap,
            scratch,
        )
    }
}

/// The foreign value at a place, which no other command of the parcel stands for: the last one is met first, and is taken.
fn take_foreign(foreigns: &mut ParcelForeigns, at: usize) -> Option<ForeignRef> {
    match at + 1 == foreigns.len() {
        true => foreigns.pop(),
        false => foreigns.get(at).cloned(),
    }
}

/// Shows every address in these words, of one parcel or of several consecutive ones.
pub(crate) fn each_address(words: &[Value], mut show: impl FnMut(Value)) {
    each_value(words, |value| {
        if value.is_address() {
            show(value);
        }
    });
}

/// The foreign value that a command stands for.
fn foreign(command: Value, foreigns: &[ForeignRef]) -> Option<&ForeignRef> {
    let word = command.word();
    let is_foreign = command.is_boxed() && word & KIND == FOREIGN;
    foreigns
        .get((word >> COUNT_SHIFT) as usize)
        .filter(|_| is_foreign)
}

/// Shows every word but raw ones, from the last.
fn each_value(words: &[Value], mut show: impl FnMut(Value)) {
    let mut rest = words;
    while let Some((&value, before)) = rest.split_last() {
        let raw = if value.is_boxed() {
            raw_words(value)
        } else {
            0
        };
        rest = &before[..before.len().saturating_sub(raw)];
        show(value);
    }
}

/// Returns the number of raw words that precede a command.
fn raw_words(command: Value) -> usize {
    let word = command.word();
    match word & KIND {
        FLOAT | TIMER | FUNCTION => 1,
        BYTES => ((word >> COUNT_SHIFT) as usize).div_ceil(8),
        // Twice the limbs, and the sign.
        INTEGER => (word >> COUNT_SHIFT) as usize / 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
