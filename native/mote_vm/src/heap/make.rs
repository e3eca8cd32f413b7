//! Making cells in the heap: a constructor for each kind. All return `NONE` when the memory is exhausted.
use super::block::{GRANULE, PAYLOAD};
use super::cell::{self, Kind, CONSECUTIVE, MAY_HAVE_ATOMS};
use super::{Heap, COPIED_BYTES};
use crate::base::ids::TimerId;
use crate::values::actor::{Actor, Header};
use crate::values::big;
use crate::values::foreign::LongBytes;
use crate::values::value::Value;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Binaries up to this many bytes live in the heap, longer ones are foreign.
pub(crate) const INLINE_BYTES: usize = 256;

/// A tuple of at least this many elements is checked for consecutive actors. No pattern has as many (native/mod.rs), so native
/// code compares the header of a tuple that it matches as a whole.
pub(crate) const LEAST_ROW_TABLE: usize = 1_024;

impl Heap {
    /// `[head | tail]`.
    #[inline(always)]
    pub(crate) fn cons(&mut self, head: Value, tail: Value) -> Value {
        let Some(cell) = self.allocate(1) else {
            return Value::NONE;
        };
        let cell = cell.cast::<Value>().as_ptr();
        // SAFETY: a fresh granule is two words.
        unsafe {
            cell.write(head);
            cell.add(1).write(tail);
        }
        Value::cons(cell)
    }

    /// A boxed cell of `kind` with `words` words behind its header, written by `fill`.
    #[inline(always)]
    pub(super) fn boxed(
        &mut self,
        header: u64,
        words: usize,
        fill: impl FnOnce(*mut u64),
    ) -> Value {
        let Some(cell) = self.allocate((words + 2) / 2) else {
            return Value::NONE;
        };
        let cell = cell.as_ptr();
        // SAFETY: (words + 2) / 2 granules hold the header and `words` words.
        unsafe {
            cell.write(header);
            fill(cell.add(1));
        }
        Value::boxed(cell)
    }

    /// A tuple of `n` elements, the i-th of which is `element(i)`.
    #[inline(always)]
    pub(crate) fn tuple(&mut self, n: usize, element: impl FnMut(usize) -> Value) -> Value {
        self.tuple_of_class(0, n, element)
    }

    /// Makes a tuple as [`Heap::tuple`] does, and notes whether its elements are the addresses of many consecutive actors.
    pub(crate) fn table(&mut self, n: usize, element: impl Fn(usize) -> Value) -> Value {
        let consecutive = n >= LEAST_ROW_TABLE && element(0).is_address() && {
            let first = element(0).address_pointer();
            (1..n).all(|i| element(i) == Value::address(first.wrapping_add(i)))
        };
        self.tuple_of_class(if consecutive { CONSECUTIVE } else { 0 }, n, element)
    }

    #[inline(always)]
    fn tuple_of_class(
        &mut self,
        class: u8,
        n: usize,
        mut element: impl FnMut(usize) -> Value,
    ) -> Value {
        self.boxed(cell::header(Kind::Tuple, class, n), n, |words| {
            for i in 0..n {
                // SAFETY: `boxed` made room for n words.
                unsafe { words.add(i).write(element(i).word()) };
            }
        })
    }

    /// A tuple of however many values: looks now and then whether the turn is to end, and is `NONE` then.
    pub(crate) fn long_tuple(
        &mut self,
        n: usize,
        mut element: impl FnMut(usize) -> Value,
    ) -> Value {
        let Some(cell) = self.allocate((n + 2) / 2) else {
            return Value::NONE;
        };
        let cell = cell.as_ptr();
        // SAFETY: as in `boxed`. Nobody ever reaches what is left unfinished.
        unsafe { cell.write(cell::header(Kind::Tuple, 0, n)) };
        for i in 0..n {
            if self.work.pass(1).is_err() {
                return Value::NONE;
            }
            // SAFETY: there is room for n words behind the header.
            unsafe { cell.add(1 + i).write(element(i).word()) };
        }
        Value::boxed(cell)
    }

    /// A finite float.
    #[inline(always)]
    pub(crate) fn float(&mut self, f: f64) -> Value {
        match Value::flonum(f) {
            Some(value) => value,
            None => self.boxed_float(f),
        }
    }

    #[cold]
    fn boxed_float(&mut self, f: f64) -> Value {
        self.boxed(cell::header(Kind::Float, 0, 0), 1, |words| {
            // SAFETY: `boxed` made room for one word.
            unsafe { words.write(f.to_bits()) }
        })
    }

    /// The integer of a sign and an absolute value, the lowest limb first.
    pub(crate) fn integer(&mut self, negative: bool, limbs: &[u64]) -> Value {
        let limbs = big::trimmed(limbs);
        if let Some(fixnum) = big::fixnum(negative, limbs) {
            return fixnum;
        }
        let n = limbs.len();
        self.boxed(cell::header(Kind::Integer, negative.into(), n), n, |to| {
            // SAFETY: `boxed` made room for n words, and a fresh cell overlaps nothing.
            unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), to, n) }
        })
    }

    /// An integer of up to 128 bits.
    #[inline]
    pub(crate) fn wide_integer(&mut self, n: i128) -> Value {
        match i64::try_from(n).ok().and_then(Value::integer) {
            Some(fixnum) => fixnum,
            None => {
                let size = n.unsigned_abs();
                self.integer(n < 0, &[size as u64, (size >> 64) as u64])
            }
        }
    }

    /// A binary.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Value {
        if bytes.len() > INLINE_BYTES {
            return self.foreign(Arc::new(LongBytes(bytes.into())));
        }
        let words = bytes.len().div_ceil(8);
        self.boxed(cell::header(Kind::Bytes, 0, bytes.len()), words, |to| {
            // SAFETY: `words` words hold all the bytes, and a fresh cell overlaps nothing.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) }
        })
    }

    /// A binary of `n` bytes in the heap, however many, that `fill` computes, all of them. It is `NONE` if `fill` says so by `false`.
    pub(crate) fn computed_bytes(
        &mut self,
        n: usize,
        fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> bool,
    ) -> Value {
        let words = n.div_ceil(8);
        let Some(cell) = self.allocate((words + 2) / 2) else {
            return Value::NONE;
        };
        let cell = cell.as_ptr();
        // SAFETY: as in `boxed`. Nobody ever reaches what is left unfinished.
        unsafe { cell.write(cell::header(Kind::Bytes, 0, n)) };
        // SAFETY: there is room for that many bytes behind the header, and nobody else knows them.
        let to = unsafe { std::slice::from_raw_parts_mut(cell.add(1).cast(), n) };
        match fill(to) {
            true => Value::boxed(cell),
            false => Value::NONE,
        }
    }

    /// Makes a binary as [`Heap::bytes`] does, but without copying the bytes if they are many.
    pub(crate) fn owned_bytes(&mut self, bytes: Vec<u8>) -> Value {
        match bytes.len() > INLINE_BYTES {
            true => self.foreign(Arc::new(LongBytes(bytes.into()))),
            false => self.bytes(&bytes),
        }
    }

    /// Makes a binary of the bytes of `binary`, which are `all`, in that range. A few bytes are copied: they take no more room
    /// than a slice, and keep nothing else alive.
    pub(crate) fn slice(
        &mut self,
        binary: Value,
        all: &[u8],
        range: std::ops::Range<usize>,
    ) -> Value {
        if range.len() == all.len() {
            return binary;
        }
        let part = &all[range];
        if part.len() <= COPIED_BYTES {
            return self.bytes(part);
        }
        let whole = binary.sliced().unwrap_or(binary);
        self.slice_of(whole, part.as_ptr(), part.len())
    }

    /// A slice of `whole`, which is none itself: that many bytes from there on.
    pub(super) fn slice_of(&mut self, whole: Value, from: *const u8, length: usize) -> Value {
        self.boxed(cell::header(Kind::Slice, 0, 0), 3, |words| {
            // SAFETY: `boxed` made room for three words.
            unsafe {
                words.write(whole.word());
                words.add(1).write(from as u64);
                words.add(2).write(length as u64);
            }
        })
    }

    /// A reference that carries its sponsor.
    pub(crate) fn on(&mut self, sponsor: Value, address: Value) -> Value {
        self.boxed(cell::header(Kind::On, 0, 2), 2, |words| {
            // SAFETY: `boxed` made room for two words.
            unsafe {
                words.write(sponsor.word());
                words.add(1).write(address.word());
            }
        })
    }

    /// A function of the language, of `n` values: what it is, and what it has captured.
    #[inline(always)]
    pub(crate) fn function(&mut self, n: usize, part: impl Fn(usize) -> Value) -> Value {
        self.boxed(cell::header(Kind::Function, 0, n), n, |words| {
            for i in 0..n {
                // SAFETY: `boxed` made room for n words.
                unsafe { words.add(i).write(part(i).word()) };
            }
        })
    }

    /// A timer's reference.
    pub(crate) fn timer(&mut self, id: TimerId) -> Value {
        let place = (id.thread as usize) << 32 | id.place as usize;
        self.boxed(cell::header(Kind::Timer, 0, place), 1, |words| {
            // SAFETY: `boxed` made room for one word.
            unsafe { words.write(id.serial) }
        })
    }

    /// A node of a map with `n` entries, which `fill` writes. `atoms`: whether atoms may be among the keys from here on.
    #[inline(always)]
    pub(crate) fn map_node(
        &mut self,
        (level, atoms): (u8, bool),
        size: usize,
        n: usize,
        fill: impl FnOnce(&mut Entries),
    ) -> Value {
        let class = level | if atoms { MAY_HAVE_ATOMS } else { 0 };
        self.boxed(cell::header(Kind::Map, class, n), 2 * n + 1, |words| {
            let mut entries = Entries {
                // SAFETY: `boxed` made room for the size, n keys and n items.
                keys: unsafe { words.add(1).cast() },
                // SAFETY: as above.
                items: unsafe { words.add(1 + n).cast() },
                written: 0,
                n,
            };
            // SAFETY: as above.
            unsafe { words.write(Value::fixnum(size as i64).word()) };
            fill(&mut entries);
            assert_eq!(entries.written, n, "a node of a map is written completely");
        })
    }

    /// The state word of a behaviour with `n` captures, the i-th of which is `capture(i)`. `None` when the memory
    /// is exhausted.
    #[inline(always)]
    pub(crate) fn captures(
        &mut self,
        n: usize,
        mut capture: impl FnMut(usize) -> Value,
    ) -> Option<Value> {
        match n {
            0 => Some(Value::NONE),
            1 => Some(capture(0)),
            _ => {
                let cell = self.allocate(n.div_ceil(2))?.cast::<Value>().as_ptr();
                for i in 0..n {
                    // SAFETY: n values fit in n/2 granules, rounded up.
                    unsafe { cell.add(i).write(capture(i)) };
                }
                Some(Value::from_word(cell as u64))
            }
        }
    }

    /// A new actor; `NONE` when the memory is exhausted.
    #[inline(always)]
    pub(crate) fn actor(&mut self, header: Header, state: Value) -> Value {
        let Some(cell) = self.allocate_actors(1) else {
            return Value::NONE;
        };
        let cell = cell.cast::<Actor>().as_ptr();
        // SAFETY: a fresh granule has the size and alignment of an actor.
        unsafe { cell.write(Actor::new(header, state)) };
        Value::address(cell)
    }

    /// `count` actors that are alike, but for the thread that owns each; `None` when the memory is exhausted. As many as
    /// [`Heap::table`] looks at lie one behind the other, as far as a block has room for them. They share the cell of their captures, which nobody writes to.
    pub(crate) fn row(
        &mut self,
        header: impl Fn() -> Header,
        state: Value,
        count: usize,
    ) -> Option<Vec<*const Actor>> {
        let together = match count < LEAST_ROW_TABLE {
            true => 1,
            false => PAYLOAD / GRANULE,
        };
        let mut actors = Vec::with_capacity(count);
        while actors.len() < count {
            let some = (count - actors.len()).min(together);
            let cells = self.allocate_actors(some)?.cast::<Actor>().as_ptr();
            for i in 0..some {
                // SAFETY: `some` granules are that many actors.
                let cell = unsafe { cells.add(i) };
                // SAFETY: a fresh granule has the size and alignment of an actor.
                unsafe { cell.write(Actor::new(header(), state)) };
                actors.push(cell.cast_const());
            }
        }
        Some(actors)
    }
}

/// The room for the entries of a map's node, written from the front.
pub(crate) struct Entries {
    keys: *mut Value,
    items: *mut Value,
    written: usize,
    n: usize,
}

impl Entries {
    /// Adds entries; as many keys as items.
    #[inline(always)]
    pub(crate) fn extend(&mut self, keys: &[Value], items: &[Value]) {
        assert!(keys.len() == items.len() && keys.len() <= self.n - self.written);
        // SAFETY: the check just above found room for them; a fresh cell overlaps nothing.
        unsafe {
            let (to, count) = (self.written, keys.len());
            std::ptr::copy_nonoverlapping(keys.as_ptr(), self.keys.add(to), count);
            std::ptr::copy_nonoverlapping(items.as_ptr(), self.items.add(to), count);
        }
        self.written += keys.len();
    }

    /// Puts others in the place of entries that are written, from `at` on; as many keys as items.
    #[inline(always)]
    pub(crate) fn replace(&mut self, at: usize, (keys, items): (&[Value], &[Value])) {
        assert!(keys.len() == items.len() && at + keys.len() <= self.written);
        for (i, (key, item)) in keys.iter().zip(items).enumerate() {
            // SAFETY: the check just above.
            unsafe {
                self.keys.add(at + i).write(*key);
                self.items.add(at + i).write(*item);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;
    use crate::values::actor::BehaviourId;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn a_table_of_consecutive_actors_is_known_and_no_other_is() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let header = Header::new(BehaviourId::SINK, None, 0);
        let actors = heap
            .row(|| header, Value::NONE, LEAST_ROW_TABLE + 1)
            .unwrap();
        let address = |i: usize| Value::address(actors[i]);
        let table = heap.table(LEAST_ROW_TABLE, address);
        assert!(table.is_consecutive() && table.as_tuple().unwrap()[7] == address(7));
        let others: [&dyn Fn(usize) -> Value; 4] = [
            &|i| address(LEAST_ROW_TABLE - 1 - i),
            &|i| {
                address(if i == LEAST_ROW_TABLE - 1 {
                    LEAST_ROW_TABLE
                } else {
                    i
                })
            },
            &|i| if i == 9 { Value::NIL } else { address(i) },
            &|i| if i == 0 { Value::fixnum(1) } else { address(i) },
        ];
        for other in others {
            let table = heap.table(LEAST_ROW_TABLE, other);
            assert!(!table.is_consecutive());
            assert!((0..LEAST_ROW_TABLE).all(|i| table.as_tuple().unwrap()[i] == other(i)));
        }
        // So few are in the cache anyway.
        assert!(!heap.table(LEAST_ROW_TABLE - 1, address).is_consecutive());
    }

    #[test]
    fn a_row_that_no_block_has_room_for_is_in_several() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let header = Header::new(BehaviourId::SINK, None, 0);
        let n = PAYLOAD / GRANULE + 2;
        let actors = heap.row(|| header, Value::NIL, n).unwrap();
        assert_eq!(actors.len(), n);
        assert!(!heap
            .table(n, |i| Value::address(actors[i]))
            .is_consecutive());
        heap.refused_after = Some(1);
        assert!(heap.row(|| header, Value::NIL, n).is_none() && heap.exhausted());
    }

    #[test]
    fn a_long_tuple_is_given_up_when_the_turn_is_to_end() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let ends = Arc::new(AtomicBool::new(false));
        heap.work.end_with(ends.clone());
        let n = 200_000;
        let whole = heap.long_tuple(n, |i| Value::fixnum(i as i64));
        assert!(whole.as_tuple().is_some_and(|all| all.len() == n));
        let mut made = 0;
        let given_up = heap.long_tuple(n, |_| {
            ends.store(true, Relaxed);
            made += 1;
            Value::NIL
        });
        assert!(given_up.is_none() && made < n / 2);
    }
}
