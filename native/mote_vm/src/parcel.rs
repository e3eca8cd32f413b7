//! Values on the way into the machine, before they have a heap.
//!
//! Senders outside never touch a heap: they write a parcel, and the dispatch thread that drains the inbox unpacks
//! it. A parcel is written in prefix order (a tuple before its elements) and read backwards, so neither side
//! recurses, whatever the nesting.
//!
//! Words: immediates and addresses stand for themselves; a word with the boxed tag is a command, with its kind in
//! bits 4..8 and a count above. Raw words of a command precede it.
//!
//! Invariants:
//! 1. Only [`Builder`] makes parcels, so commands are well formed; how many values a command takes is the writer's
//!    promise, and [`Parcel::unpack`] is total all the same: a missing value reads as `:undefined`.
//! 2. The actors of addresses in a parcel are held by it until it is where the collector finds them: in an inbox, or
//!    unpacked into a heap that the collector waits for.
use crate::atom::Atom;
use crate::foreign::ForeignRef;
use crate::handles::{Handles, Held};
use crate::heap::Heap;
use crate::map;
use crate::timers::TimerId;
use crate::value::Value;
use std::sync::Arc;

const TUPLE: u64 = 0x10;
const LIST: u64 = 0x20;
const FLOAT: u64 = 0x30;
const BYTES: u64 = 0x40;
const FOREIGN: u64 = 0x50;
const ON: u64 = 0x60;
const TIMER: u64 = 0x70;
const MAP: u64 = 0x80;
const KIND: u64 = 0xF0;
const COUNT_SHIFT: u32 = 8;

/// A value outside of any heap.
pub struct Parcel {
    words: Words,
    foreigns: Vec<ForeignRef>,
    held: Vec<Held>,
}

/// How many words a parcel has room for without an allocation.
const FEW: usize = 4;

enum Words {
    /// So many of them.
    Few([Value; FEW], u8),
    Many(Vec<Value>),
}

impl Words {
    fn as_slice(&self) -> &[Value] {
        match self {
            Words::Few(words, n) => &words[..*n as usize],
            Words::Many(words) => words,
        }
    }
}

/// Words as they are written: the first few of them without an allocation, for most messages are that and no more.
#[derive(Default)]
struct Written {
    few: [u64; FEW],
    /// How many of these; none when there are `many`.
    n: usize,
    many: Vec<Value>,
}

impl Written {
    fn len(&self) -> usize {
        self.n + self.many.len()
    }

    #[inline]
    fn push(&mut self, word: u64) {
        if self.many.is_empty() {
            if self.n < FEW {
                self.few[self.n] = word;
                self.n += 1;
                return;
            }
            self.many.reserve(4 * FEW);
            self.many.extend(self.few.map(Value::from_word));
            self.n = 0;
        }
        self.many.push(Value::from_word(word));
    }

    fn truncate(&mut self, len: usize) {
        match self.many.is_empty() {
            true => self.n = self.n.min(len),
            false => self.many.truncate(len),
        }
    }

    fn finish(self) -> Words {
        match self.many.is_empty() {
            true => Words::Few(self.few.map(Value::from_word), self.n as u8),
            false => Words::Many(self.many),
        }
    }

    /// All of them in one row.
    fn open(mut self) -> Vec<Value> {
        let few = self.few[..self.n].iter();
        self.many.extend(few.map(|word| Value::from_word(*word)));
        self.many
    }
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
            foreigns: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Whether all addresses in it are of the machine of these handles.
    pub(crate) fn is_for(&self, handles: &Arc<Handles>) -> bool {
        self.held.iter().all(|held| held.is_of(handles))
    }

    /// What it holds (invariant 2): to be dropped when the parcel is an inbox's.
    pub(crate) fn take_held(&mut self) -> Vec<Held> {
        std::mem::take(&mut self.held)
    }

    /// What it is charged with while it waits: as much as its value will take in a heap, where a word for an element of
    /// a list becomes a cell of two.
    pub fn bytes(&self) -> usize {
        match &self.words {
            Words::Few([value, ..], 1) if !value.is_boxed() => 0,
            words => words.as_slice().len() * 2 * size_of::<Value>(),
        }
    }

    /// One of several messages that share foreign values.
    pub(crate) fn new(words: Vec<Value>, foreigns: Vec<ForeignRef>) -> Parcel {
        Parcel {
            words: Words::Many(words),
            foreigns,
            held: Vec::new(),
        }
    }

    /// Its foreign values alone.
    pub(crate) fn into_foreigns(self) -> Vec<ForeignRef> {
        self.foreigns
    }

    /// Shows every address in it.
    pub(crate) fn each_address(&self, show: impl FnMut(Value)) {
        each_address(self.words.as_slice(), show);
    }

    /// Makes the value in `heap`; `NONE` when its memory is exhausted.
    pub(crate) fn unpack(mut self, heap: &mut Heap, scratch: &mut Vec<Value>) -> Value {
        match &self.words {
            Words::Few([value, ..], 1) if !value.is_boxed() => *value,
            words => unpack(words.as_slice(), &mut self.foreigns, heap, scratch),
        }
    }
}

/// Shows every address in these words, of one parcel or of several in a row.
pub(crate) fn each_address(words: &[Value], mut show: impl FnMut(Value)) {
    let mut rest = words;
    while let Some((&value, before)) = rest.split_last() {
        let raw = if value.is_boxed() {
            raw_words(value)
        } else {
            0
        };
        rest = &before[..before.len().saturating_sub(raw)];
        if value.is_address() {
            show(value);
        }
    }
}

#[inline]
pub(crate) fn unpack(
    words: &[Value],
    foreigns: &mut [ForeignRef],
    heap: &mut Heap,
    stack: &mut Vec<Value>,
) -> Value {
    match row(words) {
        Some(elements) => heap.tuple(elements.len(), |i| elements[i]),
        None => unpack_any(words, foreigns, heap, stack),
    }
}

/// The elements, if that is a tuple where each stands for itself: most messages are, and need no stack. Raw words cannot be
/// taken for one, for the last word is a command then.
fn row(words: &[Value]) -> Option<&[Value]> {
    let (command, elements) = words.split_first()?;
    let is_row = command.word() == TUPLE | (elements.len() as u64) << COUNT_SHIFT
        && elements.iter().all(|element| !element.is_boxed());
    is_row.then_some(elements)
}

fn unpack_any(
    words: &[Value],
    foreigns: &mut [ForeignRef],
    heap: &mut Heap,
    stack: &mut Vec<Value>,
) -> Value {
    stack.clear();
    let mut rest = words;
    while let Some((&value, before)) = rest.split_last() {
        rest = before;
        let word = value.word();
        if !value.is_boxed() {
            stack.push(value);
            continue;
        }
        let count = (word >> COUNT_SHIFT) as usize;
        let made = match word & KIND {
            TUPLE => {
                let from = stack.len().saturating_sub(count);
                let made = heap.tuple(count, |i| take(stack, i));
                stack.truncate(from);
                made
            }
            LIST => {
                // The tail lies deepest, the first element on top.
                let from = stack.len().saturating_sub(count + 1);
                let mut list = stack.get(from).copied().unwrap_or(Value::UNDEFINED);
                for element in stack.iter().skip(from + 1) {
                    list = heap.cons(*element, list);
                    if list.is_none() {
                        break;
                    }
                }
                stack.truncate(from);
                list
            }
            FLOAT => heap.float(f64::from_bits(raw(&mut rest))),
            BYTES => {
                let words = count.div_ceil(8).min(rest.len());
                let (before, raw) = rest.split_at(rest.len() - words);
                rest = before;
                // SAFETY: `words` words hold at least `count` bytes (fewer only if the builder broke its promise,
                // and then the length is clamped), and bytes have no alignment.
                let bytes = unsafe {
                    std::slice::from_raw_parts(raw.as_ptr().cast::<u8>(), count.min(words * 8))
                };
                heap.bytes(bytes)
            }
            FOREIGN => match foreigns.get(count) {
                Some(foreign) => heap.foreign(foreign.clone()),
                None => Value::UNDEFINED,
            },
            TIMER => heap.timer(TimerId {
                serial: raw(&mut rest),
                thread: (count >> 32) as u16,
                place: count as u32,
            }),
            MAP => {
                let entries = (0..count).map(|i| (take(stack, 2 * i), take(stack, 2 * i + 1)));
                let made = map::from_entries(heap, entries.collect());
                stack.truncate(stack.len().saturating_sub(2 * count));
                made
            }
            _ => {
                let (sponsor, address) = (take(stack, 0), take(stack, 1));
                stack.truncate(stack.len().saturating_sub(2));
                heap.on(sponsor, address)
            }
        };
        if made.is_none() {
            return Value::NONE;
        }
        stack.push(made);
    }
    stack.pop().unwrap_or(Value::UNDEFINED)
}

/// How many raw words precede a command.
fn raw_words(command: Value) -> usize {
    let word = command.word();
    match word & KIND {
        FLOAT | TIMER => 1,
        BYTES => ((word >> COUNT_SHIFT) as usize).div_ceil(8),
        _ => 0,
    }
}

/// The i-th value from the top.
fn take(stack: &[Value], i: usize) -> Value {
    match stack.len().checked_sub(i + 1) {
        Some(at) => stack[at],
        None => Value::UNDEFINED,
    }
}

fn raw(rest: &mut &[Value]) -> u64 {
    match rest.split_last() {
        Some((&word, before)) => {
            *rest = before;
            word.word()
        }
        None => 0,
    }
}

/// Writes a parcel, parts before their contents.
#[derive(Default)]
pub struct Builder {
    words: Written,
    foreigns: Vec<ForeignRef>,
    held: Vec<Held>,
}

/// How far a builder was.
#[derive(Clone, Copy)]
pub struct BuilderMark {
    words: usize,
    foreigns: usize,
    held: usize,
}

impl Builder {
    /// An empty builder.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// An empty builder that writes there.
    pub(crate) fn written_on(words: Vec<Value>) -> Builder {
        let mut builder = Builder::default();
        builder.words.many = words;
        builder
    }

    /// How many words were written: a measure of the work done.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Where it stands, for `rewind`.
    pub fn mark(&self) -> BuilderMark {
        BuilderMark {
            words: self.words.len(),
            foreigns: self.foreigns.len(),
            held: self.held.len(),
        }
    }

    /// Forgets what was written since.
    pub fn rewind(&mut self, mark: BuilderMark) {
        self.words.truncate(mark.words);
        self.foreigns.truncate(mark.foreigns);
        self.held.truncate(mark.held);
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An integer; `false` when it is outside of the fixnum range (then carry it as foreign).
    #[must_use]
    pub fn integer(&mut self, n: i64) -> bool {
        match Value::integer(n) {
            Some(value) => {
                self.words.push(value.word());
                true
            }
            None => false,
        }
    }

    /// A finite float.
    pub fn float(&mut self, f: f64) {
        match Value::flonum(f) {
            Some(value) => self.words.push(value.word()),
            None => [f.to_bits(), FLOAT]
                .into_iter()
                .for_each(|word| self.words.push(word)),
        }
    }

    /// An atom.
    pub fn atom(&mut self, atom: Atom) {
        self.words.push(Value::atom(atom).word());
    }

    /// `[]`
    pub fn empty_list(&mut self) {
        self.words.push(Value::EMPTY_LIST.word());
    }

    /// A list of `count` elements and a tail, which follow: first the elements in order, then the tail.
    pub fn list(&mut self, count: usize) {
        self.words.push(LIST | (count as u64) << COUNT_SHIFT);
    }

    /// A tuple of `count` elements, which follow in order.
    pub fn tuple(&mut self, count: usize) {
        self.words.push(TUPLE | (count as u64) << COUNT_SHIFT);
    }

    /// A map of `count` entries, which follow in any order, each as key and value.
    pub fn map(&mut self, count: usize) {
        self.words.push(MAP | (count as u64) << COUNT_SHIFT);
    }

    /// A binary.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.words.push(u64::from_ne_bytes(word));
        }
        self.words.push(BYTES | (bytes.len() as u64) << COUNT_SHIFT);
    }

    /// A value of the outside.
    pub fn foreign(&mut self, foreign: ForeignRef) {
        self.words
            .push(FOREIGN | (self.foreigns.len() as u64) << COUNT_SHIFT);
        self.foreigns.push(foreign);
    }

    /// A timer's reference.
    pub fn timer(&mut self, id: TimerId) {
        let place = u64::from(id.thread) << 32 | u64::from(id.place);
        self.words.push(id.serial);
        self.words.push(TIMER | place << COUNT_SHIFT);
    }

    /// A reference that carries its sponsor: sponsor and address follow.
    pub fn on(&mut self) {
        self.words.push(ON);
    }

    /// The address of an actor of the machine that the parcel is for.
    pub fn address(&mut self, held: Held) {
        self.words.push(Value::address(held.actor).word());
        self.held.push(held);
    }

    /// The words, of several parcels in a row, and a parcel of all that goes with them.
    pub(crate) fn open(self) -> (Vec<Value>, Parcel) {
        let contents = Parcel {
            words: Words::Few([Value::UNDEFINED; FEW], 0),
            foreigns: self.foreigns,
            held: self.held,
        };
        (self.words.open(), contents)
    }

    /// The parcel.
    pub fn finish(self) -> Parcel {
        Parcel {
            words: self.words.finish(),
            foreigns: self.foreigns,
            held: self.held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;

    fn unpacked(heap: &mut Heap, write: impl FnOnce(&mut Builder)) -> Value {
        let mut builder = Builder::new();
        write(&mut builder);
        builder.finish().unpack(heap, &mut Vec::new())
    }

    fn heap() -> Heap {
        Heap::new(Arc::new(BlockPool::default()))
    }

    #[test]
    fn compound_values_come_out_as_they_went_in() {
        let mut heap = heap();
        let value = unpacked(&mut heap, |b| {
            b.tuple(3);
            assert!(b.integer(7));
            b.list(2);
            b.float(1.0e300);
            b.bytes(b"hello, world");
            b.atom(Atom::OK);
            b.empty_list();
        });
        let elements = value.as_tuple().unwrap();
        assert_eq!(elements[0], Value::fixnum(7));
        let (first, rest) = elements[1].as_cons().unwrap();
        assert_eq!(first.as_float(), Some(1.0e300));
        let (second, tail) = rest.as_cons().unwrap();
        assert_eq!(second.as_bytes(), Some(&b"hello, world"[..]));
        assert_eq!(tail, Value::atom(Atom::OK));
        assert_eq!(elements[2], Value::EMPTY_LIST);
    }

    #[test]
    fn raw_words_are_not_taken_for_a_tuple() {
        let mut heap = heap();
        let float = f64::from_bits(TUPLE | 1 << COUNT_SHIFT);
        let value = unpacked(&mut heap, |b| b.float(float));
        assert_eq!(value.as_float(), Some(float));
        let bytes = (TUPLE | 2 << COUNT_SHIFT).to_ne_bytes();
        let value = unpacked(&mut heap, |b| b.bytes(&[bytes, [7; 8]].concat()));
        assert_eq!(value.as_bytes(), Some(&[bytes, [7; 8]].concat()[..]));
    }

    #[test]
    fn depth_and_length_do_not_matter() {
        let n = if cfg!(miri) { 100 } else { 1_000_000 };
        let mut heap = heap();
        let nested = unpacked(&mut heap, |b| {
            for _ in 0..n {
                b.tuple(1);
            }
            b.empty_list();
        });
        let mut depth = 0;
        let mut value = nested;
        while let Some([inner]) = value.as_tuple() {
            value = *inner;
            depth += 1;
        }
        assert_eq!(depth, n);
        let list = unpacked(&mut heap, |b| {
            b.list(n as usize);
            for i in 0..n {
                assert!(b.integer(i));
            }
            b.empty_list();
        });
        let mut value = list;
        for i in 0..n {
            let (head, tail) = value.as_cons().unwrap();
            assert_eq!(head, Value::fixnum(i));
            value = tail;
        }
        assert_eq!(value, Value::EMPTY_LIST);
    }

    #[test]
    fn what_was_written_can_be_taken_back() {
        for keep in [1, FEW, FEW + 1, 3 * FEW] {
            for more in [1, FEW, 3 * FEW] {
                let mut builder = Builder::new();
                builder.list(keep - 1);
                (1..keep).for_each(|_| builder.empty_list());
                let mark = builder.mark();
                (0..more).for_each(|_| builder.atom(Atom::OK));
                assert_eq!(builder.len(), keep + more);
                builder.rewind(mark);
                assert_eq!(builder.len(), keep);
                builder.atom(Atom::ERROR);
                let (words, _) = builder.open();
                assert_eq!(words.len(), keep + 1);
                assert_eq!(words[keep], Value::atom(Atom::ERROR));
                let others = &words[1..keep];
                assert!(others.iter().all(|word| *word == Value::EMPTY_LIST));
            }
        }
    }

    #[test]
    fn a_broken_promise_reads_as_undefined() {
        let mut heap = heap();
        let value = unpacked(&mut heap, |b| b.tuple(2));
        assert_eq!(
            value.as_tuple(),
            Some(&[Value::UNDEFINED, Value::UNDEFINED][..])
        );
    }
}
