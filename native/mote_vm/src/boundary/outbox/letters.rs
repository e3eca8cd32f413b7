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
const KIND: u64 = 0xF0;
const COUNT_SHIFT: u32 = 8;

/// How deep a plain value may be, and how many words it may take.
const DEPTH: usize = 8;
const WORDS: usize = 128;
/// A buffer with this many words is full.
const BUFFER_WORDS: usize = 1 << 12;
/// Room that is kept when everything was read.
const WORDS_KEPT: usize = 1 << 16;

/// What has no parts and stands for itself.
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
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is `{}`.
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
    /// Takes that many elements.
    Tuple(usize),
    /// Takes that many elements and a tail.
    List(usize),
    /// What the embedder has copied itself.
    Other(F),
}

/// A row of letters, in the order in which they were written.
pub struct Letters<F> {
    words: Vec<Value>,
    others: VecDeque<F>,
    /// How far it was read.
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

    /// None, with room for as many as a buffer holds.
    pub(super) fn buffer() -> Letters<F> {
        Letters {
            words: Vec::with_capacity(Self::BYTES / size_of::<Value>()),
            ..Letters::default()
        }
    }

    /// Whether the next letter belongs in another buffer.
    pub(super) fn is_full(&self) -> bool {
        self.words.len() >= BUFFER_WORDS
    }

    /// How many words were not read yet.
    pub fn unread(&self) -> usize {
        self.words.len() - self.at
    }

    /// Whether everything was read.
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
            View::Big(_) | View::Map(_) => return false,
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

    /// From the first letter again, which those carried as the embedder's own copy are not in any more.
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
    /// Where its words are.
    pub(super) fn place(&self) -> *const Value {
        self.words.as_ptr()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::base::ids::TimerId;
    use crate::boundary::parcel::Builder;
    use crate::heap::block::BlockPool;
    use crate::heap::Heap;
    use std::sync::Arc;

    fn value(heap: &mut Heap, write: impl FnOnce(&mut Builder)) -> Term<'static> {
        let mut builder = Builder::new();
        write(&mut builder);
        Term::new(builder.finish().unpack(heap, &mut Vec::new()))
    }

    fn heap() -> Heap {
        Heap::new(Arc::new(BlockPool::default()))
    }

    /// The next letter as text.
    fn text(letters: &mut Letters<String>) -> Option<String> {
        let mut stack: Vec<String> = Vec::new();
        let plain = |plain| match plain {
            Plain::Integer(n) => n.to_string(),
            Plain::Float(f) => format!("{f:?}"),
            Plain::Atom(atom) => format!(":{}", atom.name()),
            Plain::EmptyList => "[]".to_string(),
        };
        letters
            .read(|part| {
                let text = match part {
                    Part::Plain(value) => plain(value),
                    Part::Float(f) => format!("{f:?}"),
                    Part::Row(row) => {
                        let elements: Vec<String> = row.iter().map(plain).collect();
                        format!("{{{}}}", elements.join(", "))
                    }
                    Part::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                    Part::Tuple(n) => {
                        format!("{{{}}}", stack.split_off(stack.len() - n).join(", "))
                    }
                    Part::List(n) => {
                        let tail = stack.pop().unwrap();
                        format!("[{} | {tail}]", stack.split_off(stack.len() - n).join(", "))
                    }
                    Part::Other(other) => other,
                };
                stack.push(text);
            })
            .then(|| stack.pop())?
    }

    #[test]
    fn letters_come_out_as_they_went_in() {
        let mut heap = heap();
        let mut letters = Letters::default();
        let long = "a binary of more than a word";
        let terms = [
            value(&mut heap, |b| assert!(b.integer(-7))),
            value(&mut heap, |b| {
                b.tuple(3);
                b.atom(Atom::OK);
                b.list(2);
                b.float(1.5);
                b.float(1.0e300);
                b.empty_list();
                b.bytes(long.as_bytes());
            }),
            value(&mut heap, |b| b.tuple(0)),
            value(&mut heap, |b| b.bytes(b"")),
            value(&mut heap, |b| {
                b.tuple(4);
                b.atom(Atom::OK);
                assert!(b.integer(-7));
                b.float(0.0);
                b.empty_list();
            }),
            value(&mut heap, |b| {
                b.tuple(WORDS - 1);
                (1..WORDS).for_each(|_| b.atom(Atom::OK));
            }),
        ];
        for term in terms {
            assert!(letters.write(term));
        }
        assert!(letters.add("copied".to_string()));
        let mut read = std::iter::from_fn(|| text(&mut letters));
        assert_eq!(read.next().unwrap(), "-7");
        let compound = format!("{{:ok, [1.5, 1e300 | []], {long:?}}}");
        assert_eq!(read.next().unwrap(), compound);
        assert_eq!(read.next().unwrap(), "{}");
        assert_eq!(read.next().unwrap(), "\"\"");
        assert_eq!(read.next().unwrap(), "{:ok, -7, 0.0, []}");
        let long = vec![":ok"; WORDS - 1].join(", ");
        assert_eq!(read.next().unwrap(), format!("{{{long}}}"));
        assert_eq!(read.next().unwrap(), "copied");
        assert_eq!(read.next(), None);
        assert!(letters.is_empty());
    }

    #[test]
    fn what_keeps_something_alive_is_a_part_if_it_is_copied() {
        let mut heap = heap();
        let mut letters: Letters<String> = Letters::default();
        let timer = TimerId {
            serial: 1,
            thread: 1,
            place: 1,
        };
        let term = value(&mut heap, |b| {
            b.tuple(2);
            b.timer(timer);
            b.list(1);
            b.timer(timer);
            b.empty_list();
        });
        let mut copies = 0;
        let mut copy = |most| {
            letters.write_with(term, |_| {
                copies += 1;
                (copies <= most).then(|| format!("copy {copies}"))
            })
        };
        assert!(!copy(1) && copy(9));
        assert_eq!(text(&mut letters).unwrap(), "{copy 3, [copy 4 | []]}");
        assert!(letters.is_empty());
    }

    #[test]
    fn a_letter_can_be_read_again() {
        let mut heap = heap();
        let mut letters: Letters<String> = Letters::default();
        let term = value(&mut heap, |b| {
            b.tuple(2);
            b.atom(Atom::OK);
            b.float(1.0e300);
        });
        assert!(letters.write(term));
        for _ in 0..2 {
            letters.rewind();
            assert_eq!(text(&mut letters).unwrap(), "{:ok, 1e300}");
        }
    }

    #[test]
    fn what_is_large_or_deep_leaves_no_trace() {
        let mut heap = heap();
        let mut letters: Letters<String> = Letters::default();
        let deep = value(&mut heap, |b| {
            (0..DEPTH).for_each(|_| b.tuple(1));
            b.empty_list();
        });
        let long = value(&mut heap, |b| {
            b.list(WORDS);
            (0..WORDS).for_each(|_| b.atom(Atom::OK));
            b.empty_list();
        });
        let row = value(&mut heap, |b| {
            b.tuple(WORDS + 1);
            (0..=WORDS).for_each(|_| b.atom(Atom::OK));
        });
        let bytes = value(&mut heap, |b| {
            b.list(5);
            (0..5).for_each(|_| b.bytes(&[7; 250]));
            b.empty_list();
        });
        for term in [deep, long, row, bytes] {
            assert!(!letters.write(term));
            assert!(letters.is_empty());
        }
    }
}
