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
use unpack::unpack_all;
pub(crate) use unpack::{unpack, MadeOnce};
use words::{Words, FEW};

const TUPLE: u64 = 0x10;
const LIST: u64 = 0x20;
const FLOAT: u64 = 0x30;
const BYTES: u64 = 0x40;
const FOREIGN: u64 = 0x50;
const ON: u64 = 0x60;
const TIMER: u64 = 0x70;
const MAP: u64 = 0x80;
const INTEGER: u64 = 0x90;
const MADE: u64 = 0xA0;
const ONCE: u64 = 0xB0;
const AGAIN: u64 = 0xC0;
const CONSTANT: u64 = 0xD0;
const KIND: u64 = 0xF0;
const COUNT_SHIFT: u32 = 8;

/// What a word is charged with.
pub const CHARGED: usize = 2 * size_of::<Value>();

/// The foreign values of a parcel: most have none or, as a question does, one, which needs no allocation.
type ParcelForeigns = SmallVec<[ForeignRef; 1]>;

/// A value outside of any heap.
pub struct Parcel {
    words: Words,
    foreigns: ParcelForeigns,
    /// What these keep outside of all heaps.
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

    /// Whether all addresses in it are of the machine of these handles.
    pub(crate) fn is_for(&self, handles: &Arc<Handles>) -> bool {
        self.held.iter().all(|held| held.is_of(handles))
    }

    /// What it holds (invariant 2): to be dropped when the parcel is an inbox's.
    pub(crate) fn take_held(&mut self) -> Vec<Held> {
        std::mem::take(&mut self.held)
    }

    /// What it is charged with while it waits: as much as its value will take in a heap. There a word for an element of a
    /// list becomes a cell of two, and each foreign value is charged with what it keeps outside.
    pub fn bytes(&self) -> usize {
        match &self.words {
            Words::Few([value, ..], 1) if !value.is_boxed() => 0,
            words => words.as_slice().len() * CHARGED + self.external_bytes,
        }
    }

    /// What foreign values keep is of that: it is not copied.
    pub(crate) fn external_bytes(&self) -> usize {
        self.external_bytes
    }

    /// One of several messages that share foreign values.
    pub(crate) fn new(words: Vec<Value>, foreigns: ParcelForeigns) -> Parcel {
        let mut external_bytes = 0;
        each_value(&words, |value| {
            if let Some(foreign) = foreign(value, &foreigns) {
                external_bytes += foreign.external_bytes();
            }
        });
        Parcel {
            words: Words::Many(words),
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

/// How many raw words precede a command.
fn raw_words(command: Value) -> usize {
    let word = command.word();
    match word & KIND {
        FLOAT | TIMER => 1,
        BYTES => ((word >> COUNT_SHIFT) as usize).div_ceil(8),
        // Twice the limbs, and the sign.
        INTEGER => (word >> COUNT_SHIFT) as usize / 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::TimerId;
    use crate::heap::block::{BlockPool, BLOCK};
    use crate::heap::pace::Pace;
    use crate::terms::map;
    use crate::values::actor::Actor;
    use crate::values::foreign::{LongBytes, CARRIED};

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
                let position = builder.position();
                (0..more).for_each(|_| builder.atom(Atom::OK));
                assert_eq!(builder.len(), keep + more);
                builder.rewind(position);
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

    fn actor(n: usize) -> *const Actor {
        std::ptr::without_provenance(n * 16)
    }

    fn held(handles: &Arc<Handles>, n: usize) -> Held {
        let key = handles.acquire(actor(n), None);
        let held = handles.hold(key).unwrap();
        handles.release(key);
        held
    }

    #[test]
    fn each_part_comes_to_its_place() {
        let mut heap = heap();
        let handles = Arc::<Handles>::default();
        let id = TimerId {
            serial: 1,
            thread: 2,
            place: 3,
        };
        let timer = unpacked(&mut heap, |b| b.timer(id));
        assert_eq!(timer.as_timer(), Some(id));
        let on = unpacked(&mut heap, |b| {
            b.on();
            b.atom(Atom::OK);
            b.address(held(&handles, 1));
        });
        let parts = (Value::atom(Atom::OK), Value::address(actor(1)));
        assert_eq!(on.as_on(), Some(parts));
        let map = unpacked(&mut heap, |b| {
            b.map(2);
            for (key, value) in [(1, 10), (2, 20)] {
                assert!(b.integer(key) && b.integer(value));
            }
        });
        let map = map::Node::of(map).unwrap();
        let get = |key| {
            map::get(
                map,
                Value::fixnum(key),
                &mut crate::base::work::Work::free(),
            )
        };
        assert_eq!(get(1), Some(Value::fixnum(10)));
        assert_eq!(get(2), Some(Value::fixnum(20)));
    }

    #[test]
    fn what_goes_with_the_words_is_taken_back_with_them() {
        let handles = Arc::<Handles>::default();
        let binary = |byte, n| Arc::new(LongBytes(vec![byte; n].into()));
        let mut builder = Builder::new();
        builder.tuple(3);
        builder.foreign(binary(1, 10));
        builder.address(held(&handles, 1));
        let position = builder.position();
        let second = binary(2, 20);
        builder.foreign(second.clone());
        builder.address(held(&handles, 2));
        assert_eq!(
            (builder.external_bytes(), handles.len()),
            (30 + 2 * CARRIED, 2)
        );
        builder.rewind(position);
        assert_eq!((builder.external_bytes(), handles.len()), (10 + CARRIED, 1));
        assert_eq!(Arc::strong_count(&second), 1);
        builder.foreign(binary(3, 30));
        let parcel = builder.finish();
        assert!(parcel.is_for(&handles) && !parcel.is_for(&Arc::default()));
        assert_eq!(
            (parcel.external_bytes(), handles.len()),
            (40 + 2 * CARRIED, 1)
        );
        let mut heap = heap();
        let value = parcel.unpack(&mut heap, &mut Vec::new());
        let [first, address, last] = value.as_tuple().unwrap() else {
            panic!("three elements")
        };
        let bytes = [first, last].map(|value| value.as_foreign().unwrap().bytes().unwrap()[0]);
        assert_eq!((bytes, *address), ([1, 3], Value::address(actor(1))));
        assert_eq!(handles.len(), 0);
    }

    /// The collector looks behind each.
    #[test]
    fn raw_words_are_not_taken_for_addresses() {
        let handles = Arc::<Handles>::default();
        let word = Value::address(actor(7)).word();
        let mut builder = Builder::new();
        builder.tuple(4);
        builder.float(f64::from_bits(word));
        builder.bytes(&[word.to_ne_bytes(), word.to_ne_bytes()].concat());
        builder.timer(TimerId {
            serial: word,
            thread: 1,
            place: 1,
        });
        builder.address(held(&handles, 1));
        let mut shown = Vec::new();
        builder.finish().each_address(|address| shown.push(address));
        assert_eq!(shown, [Value::address(actor(1))]);
    }

    #[test]
    fn what_there_is_no_memory_for_is_missed_though_there_is_some_for_the_rest() {
        let pool = BlockPool::new(8 * BLOCK, Pace::default());
        let mut heap = Heap::new(Arc::new(pool));
        for (bytes, is_enough) in [(1, true), (16 * BLOCK, false), (1, true)] {
            let value = unpacked(&mut heap, |b| {
                b.tuple(1);
                b.bytes(&vec![7; bytes]);
            });
            assert_eq!(!value.is_none(), is_enough);
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
