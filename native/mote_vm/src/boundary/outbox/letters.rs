//! Messages that have left a heap, consecutively in one row of words: so a message costs no allocation.
//!
//! A letter is written in postfix order (a tuple after its elements) and read forwards with a stack. Immediates stand
//! for themselves; a word with the boxed tag is a command, with its kind in bits 4..8 and a count above. Most letters are
//! a tuple of immediates and no more: a row, which is its command and these, and needs neither a stack nor an end. Only small and
//! plain values are written this way. A value that keeps something alive (addresses, foreign values), or is large or deep, is
//! carried as the embedder's own copy, `F`: as a letter of its own, or as a part of one.
//!
//! Invariants:
//! 1. Letters are whole: one that cannot be written to its end is taken back.
//! 2. The words are only written here, so commands are well formed; reading is total all the same.
use crate::base::atom::Atom;
use crate::terms::view::View;
use crate::values::term::Term;
use crate::values::value::Value;
use std::collections::VecDeque;

const TUPLE: u64 = 0x10;
const LIST: u64 = 0x20;
const FLOAT: u64 = 0x30;
const BYTES: u64 = 0x40;
const OTHER: u64 = 0x50;
const END: u64 = 0x60;
const ROW: u64 = 0x70;
const MAP: u64 = 0x80;
const KIND: u64 = 0xF0;
const COUNT_SHIFT: u32 = 8;

/// Greatest depth of a plain value, and most words that it may take.
const DEPTH: usize = 8;
const WORDS: usize = 128;
/// Most entries of a map in a plain value: so many the BEAM keeps in the order of their keys.
const ENTRIES: usize = 32;
/// A buffer with this many words is full.
const BUFFER_WORDS: usize = 1 << 12;
/// Room that is kept when everything was read.
const WORDS_KEPT: usize = 1 << 16;

/// A value that has no parts and stands for itself.
pub enum Plain {
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// `[]`
    EmptyList,
}

impl Plain {
    #[inline(always)]
    fn of(value: Value) -> Option<Plain> {
        if let Some(n) = value.as_fixnum() {
            Some(Plain::Integer(n))
        } else if let Some(atom) = value.as_atom() {
            Some(Plain::Atom(atom))
        } else if value.is_flonum() {
            Some(Plain::Float(value.flonum_value()))
        } else {
            (value == Value::EMPTY_LIST).then_some(Plain::EmptyList)
        }
    }
}

/// The elements of a tuple of plain values.
#[derive(Clone, Copy)]
pub struct Row<'l>(&'l [Value]);

impl Row<'_> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it is `{}`.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The elements in their order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Plain> + '_ {
        // Nothing else is written consecutively.
        self.0
            .iter()
            .map(|value| Plain::of(*value).unwrap_or(Plain::EmptyList))
    }
}

fn command(kind: u64, count: usize) -> Value {
    Value::from_word(kind | (count as u64) << COUNT_SHIFT)
}

/// A part of a letter, to be put on a stack; the counted ones take their parts off it first.
pub enum Part<'l, F> {
    /// A value without parts.
    Plain(Plain),
    /// A float that takes more than a word.
    Float(f64),
    /// A tuple, whole.
    Row(Row<'l>),
    /// A binary.
    Bytes(&'l [u8]),
    /// Takes this many elements.
    Tuple(usize),
    /// Takes this many elements and a tail.
    List(usize),
    /// Takes this many keys, and behind them as many values.
    Map(usize),
    /// A value that the embedder has copied itself.
    Other(F),
}

/// A row of letters, in the order in which they were written.
pub struct Letters<F> {
    words: Vec<Value>,
    others: VecDeque<F>,
    /// Position up to which it was read.
    at: usize,
}

impl<F> Default for Letters<F> {
    fn default() -> Letters<F> {
        Letters {
            words: Vec::new(),
            others: VecDeque::new(),
            at: 0,
        }
    }
}

impl<F> Letters<F> {
    /// Bytes of a buffer.
    pub(super) const BYTES: usize = (BUFFER_WORDS + WORDS + 1) * size_of::<Value>();

    /// Creates an empty buffer, with room for as many words as a buffer holds.
    pub(super) fn buffer() -> Letters<F> {
        Letters {
            words: Vec::with_capacity(Self::BYTES / size_of::<Value>()),
            ..Letters::default()
        }
    }

    /// Returns whether the next letter belongs in another buffer.
    pub(super) fn is_full(&self) -> bool {
        self.words.len() >= BUFFER_WORDS
    }

    /// Returns the number of words that were not read yet.
    pub fn unread(&self) -> usize {
        self.words.len() - self.at
    }

    /// Returns whether everything was read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at == self.words.len()
    }

    /// Writes a letter; `false` when the value is not small and plain, and then nothing was written.
    #[inline]
    pub fn write(&mut self, term: Term<'_>) -> bool {
        self.write_with(term, |_| None)
    }

    /// Writes a letter whose parts that keep something alive are as `copy` has copied them; `false` as in [`Letters::write`], and
    /// where there is no such copy.
    #[inline]
    pub fn write_with(
        &mut self,
        term: Term<'_>,
        mut copy: impl FnMut(Term<'_>) -> Option<F>,
    ) -> bool {
        match term.row().filter(|row| row.len() < WORDS) {
            Some(row) => {
                self.words.reserve(1 + row.len());
                self.words.push(command(ROW, row.len()));
                // Two or three words, mostly: to call for a copy of them would take longer.
                row.iter().for_each(|value| self.words.push(*value));
                true
            }
            None => self.write_any(term, &mut copy),
        }
    }

    fn write_any(&mut self, term: Term<'_>, copy: &mut impl FnMut(Term<'_>) -> Option<F>) -> bool {
        let (from, others) = (self.words.len(), self.others.len());
        let written = self.value(term, DEPTH, from + WORDS, copy);
        if written {
            self.words.push(command(END, 0));
        } else {
            self.words.truncate(from);
            self.others.truncate(others);
        }
        written
    }

    /// Adds a letter that the embedder has copied. Returns `true`, because it is always written.
    pub fn add(&mut self, other: F) -> bool {
        self.words.extend([command(OTHER, 0), command(END, 0)]);
        self.others.push_back(other);
        true
    }

    /// Bytes of everything that was written since it was empty.
    pub fn size(&self) -> usize {
        size_of_val(self.words.as_slice()) + self.others.len() * size_of::<F>()
    }

    fn value(
        &mut self,
        term: Term<'_>,
        depth: usize,
        limit: usize,
        copy: &mut impl FnMut(Term<'_>) -> Option<F>,
    ) -> bool {
        if depth == 0 || self.words.len() >= limit {
            return false;
        }
        let word = match term.view() {
            View::Integer(n) => Value::fixnum(n),
            View::Atom(atom) => Value::atom(atom),
            View::EmptyList => Value::EMPTY_LIST,
            View::Float(f) => match Value::flonum(f) {
                Some(value) => value,
                None => {
                    let raw = Value::from_word(f.to_bits());
                    self.words.extend([command(FLOAT, 0), raw]);
                    return true;
                }
            },
            View::Bytes(bytes) => return self.bytes(bytes, limit),
            View::Tuple(elements) => {
                for element in elements.iter() {
                    if !self.value(element, depth - 1, limit, copy) {
                        return false;
                    }
                }
                command(TUPLE, elements.len())
            }
            View::Cons(..) => {
                let (mut count, mut rest) = (0, term);
                while let View::Cons(head, tail) = rest.view() {
                    if !self.value(head, depth - 1, limit, copy) {
                        return false;
                    }
                    count += 1;
                    rest = tail;
                }
                if !self.value(rest, depth - 1, limit, copy) {
                    return false;
                }
                command(LIST, count)
            }
            View::Map(map) if map.len() <= ENTRIES => {
                let keys = map.iter().map(|(key, _)| key);
                for part in keys.chain(map.iter().map(|(_, value)| value)) {
                    if !self.value(part, depth - 1, limit, copy) {
                        return false;
                    }
                }
                command(MAP, map.len())
            }
            View::Big(_) | View::Map(_) | View::Function(_) | View::Bits(_) => return false,
            View::Foreign(_) | View::On(..) | View::Address(_) | View::Timer(_) => match copy(term)
            {
                Some(copied) => {
                    self.others.push_back(copied);
                    command(OTHER, 0)
                }
                None => return false,
            },
        };
        self.words.push(word);
        true
    }

    fn bytes(&mut self, bytes: &[u8], limit: usize) -> bool {
        if self.words.len() + bytes.len().div_ceil(8) >= limit {
            return false;
        }
        self.words.push(command(BYTES, bytes.len()));
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.words.push(Value::from_word(u64::from_ne_bytes(word)));
        }
        true
    }

    /// Reads the next letter part by part; `false` when there is none.
    #[inline]
    pub fn read(&mut self, mut put: impl FnMut(Part<'_, F>)) -> bool {
        if self.is_empty() {
            return false;
        }
        while let Some(&word) = self.words.get(self.at) {
            self.at += 1;
            if let Some(plain) = Plain::of(word) {
                put(Part::Plain(plain));
                continue;
            }
            let count = (word.word() >> COUNT_SHIFT) as usize;
            let part = match word.word() & KIND {
                ROW => {
                    put(Part::Row(Row(self.raw(count))));
                    break;
                }
                TUPLE => Part::Tuple(count),
                LIST => Part::List(count),
                MAP => Part::Map(count),
                FLOAT => Part::Float(f64::from_bits(
                    self.raw(1).first().map_or(0, |raw| raw.word()),
                )),
                BYTES => {
                    let words = self.raw(count.div_ceil(8));
                    // SAFETY: that many words hold at least `count` bytes (invariant 2; clamped all the same), and bytes
                    // have no alignment.
                    let bytes = unsafe {
                        std::slice::from_raw_parts(
                            words.as_ptr().cast(),
                            count.min(words.len() * 8),
                        )
                    };
                    Part::Bytes(bytes)
                }
                OTHER => match self.others.pop_front() {
                    Some(other) => Part::Other(other),
                    None => Part::Plain(Plain::Atom(Atom::UNDEFINED)),
                },
                _ => break,
            };
            put(part);
        }
        true
    }

    /// The next letter, if the embedder has copied it.
    pub fn next_other(&self) -> Option<&F> {
        let next = self.words.get(self.at)?;
        let is_other = Plain::of(*next).is_none() && next.word() & KIND == OTHER;
        self.others.front().filter(|_| is_other)
    }

    fn raw(&mut self, count: usize) -> &[Value] {
        let from = self.at;
        self.at = (from + count).min(self.words.len());
        &self.words[from..self.at]
    }

    /// Rewinds to the first letter. The embedder's own copies that were taken already are gone from their letters.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// Forgets what was read, and everything else.
    pub fn clear(&mut self) {
        self.at = 0;
        self.words.clear();
        self.words.shrink_to(WORDS_KEPT);
        self.others.clear();
    }
}

#[cfg(all(test, not(loom)))]
impl<F> Letters<F> {
    /// Returns the address of its words.
    pub(super) fn place(&self) -> *const Value {
        self.words.as_ptr()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
