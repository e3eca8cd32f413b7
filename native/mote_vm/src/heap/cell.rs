//! The layout of boxed cells, and reading them.
//!
//! The header word: kind in the lowest byte, the class of a foreign value, the sign of an integer, the unused bits of a bitstring, the level of a map's node with
//! [`MAY_HAVE_ATOMS`], or what is known of a tuple in the next, a count above.
//!
//! A tuple that is [`CONSECUTIVE`] has the addresses of actors that are consecutive in memory. So an element is computed instead
//! of read, from the first one, and a large table of them need not be in the cache. The code that writes such a header has
//! compared all elements, so every computed address is one of them.
//!
//! ```text
//! tuple    header(class, n)  n values
//! float    header         the double's bits
//! bytes    header(n)      n bytes
//! integer  header(sign, n) n limbs                    see crate::values::big
//! foreign  header(class)  pointer to a ForeignBox; of a binary also where its bytes are, how many
//! on       header         sponsor, address
//! timer    header(where)  serial number
//! slice    header         the binary that it is part of, where its bytes are, how many
//! map      header(level, n) size, n keys, n items    see crate::terms::map
//! bits     header(unused) the binary that they are bits of  see bitstrings.rs
//! function header(n)      what it is (code::functions), and what it has captured: n values
//! ```
//!
//! Everything here reads through pointers that a [`Value`] carries. That is sound by value.rs, invariant 1: values
//! with pointer tags are made by a heap only, and the machine drops its heaps after everything that holds values.
//!
//! A timer's reference learns where the timer is when its turn commits, before anybody else can see it, and what is not read any
//! more may be used again (temporary.rs); nothing else here is ever written to again.
use super::foreigns::ForeignBox;
use crate::base::ids::TimerId;
use crate::values::big::Big;
use crate::values::foreign::{Class, ForeignRef};
use crate::values::value::Value;

/// The kinds of boxed cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // What each holds is said above.
pub enum Kind {
    Tuple = 1,
    Float = 2,
    Bytes = 3,
    Foreign = 4,
    On = 5,
    Timer = 6,
    Map = 7,
    Slice = 8,
    Integer = 9,
    Function = 10,
    Bitstring = 11,
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// The class of a tuple whose elements are the addresses of consecutive actors; the class of any other is 0.
pub const CONSECUTIVE: u8 = 1;

/// A flag in the class of a map's node, beside its level: atoms may be among the keys of the map from here on. Without it there
/// are none.
pub const MAY_HAVE_ATOMS: u8 = 0x80;

/// The header word of a binary that is a foreign value. Its bytes are where those of a slice are.
pub const LONG_BINARY: u64 = header(Kind::Foreign, Class::Binary as u8, 0);

/// Position of the class in a header word.
pub const CLASS_SHIFT: u32 = 8;

/// Position of the count in a header word.
pub const COUNT_SHIFT: u32 = 16;

/// A header word.
#[inline(always)]
pub const fn header(kind: Kind, class: u8, count: usize) -> u64 {
    kind as u64 | (class as u64) << CLASS_SHIFT | (count as u64) << COUNT_SHIFT
}

/// The cell of a value that is a pointer.
#[inline(always)]
pub(crate) fn cell_of(value: Value) -> *const u8 {
    if value.is_cons() {
        value.cons_pointer().cast()
    } else if value.is_address() {
        value.address_pointer().cast()
    } else {
        value.boxed_pointer().cast()
    }
}

impl Value {
    #[inline(always)]
    fn header(self) -> u64 {
        // SAFETY: see the head of this file.
        unsafe { *self.boxed_pointer() }
    }

    #[inline(always)]
    fn is_kind(self, kind: Kind) -> bool {
        self.is_boxed() && self.header() as u8 == kind as u8
    }

    #[inline(always)]
    fn count(self) -> usize {
        (self.header() >> COUNT_SHIFT) as usize
    }

    #[inline(always)]
    fn body(self) -> *const u64 {
        // SAFETY: every boxed cell has at least one word behind its header.
        unsafe { self.boxed_pointer().add(1) }
    }

    /// Head and tail of a non-empty list.
    #[inline(always)]
    pub(crate) fn as_cons(self) -> Option<(Value, Value)> {
        if !self.is_cons() {
            return None;
        }
        let cell = self.cons_pointer();
        // SAFETY: see the head of this file; a list cell is two values.
        Some(unsafe { (*cell, *cell.add(1)) })
    }

    /// Head and tail of a value known to be a non-empty list.
    #[inline(always)]
    pub(crate) fn cons_cell<'h>(self) -> &'h [Value] {
        // SAFETY: see the head of this file; a list cell is two values.
        unsafe { std::slice::from_raw_parts(self.cons_pointer(), 2) }
    }

    /// The elements of a tuple.
    #[inline(always)]
    pub fn as_tuple<'h>(self) -> Option<&'h [Value]> {
        if !self.is_kind(Kind::Tuple) {
            return None;
        }
        // SAFETY: see the head of this file; the header counts the elements.
        Some(unsafe { std::slice::from_raw_parts(self.body().cast(), self.count()) })
    }

    /// Returns the description of a function of the language, and its captures.
    #[inline(always)]
    pub(crate) fn as_function<'h>(self) -> Option<&'h [Value]> {
        if !self.is_kind(Kind::Function) {
            return None;
        }
        // SAFETY: see the head of this file; the header counts the values.
        Some(unsafe { std::slice::from_raw_parts(self.body().cast(), self.count()) })
    }

    /// The binary in the cell of a bitstring that is none.
    #[inline(always)]
    pub(super) fn as_bitstring_cell<'h>(self) -> Option<&'h [Value]> {
        self.is_kind(Kind::Bitstring).then(|| self.boxed_parts())
    }

    /// The class in the header of a boxed cell.
    #[inline(always)]
    pub(super) fn class(self) -> u8 {
        (self.header() >> CLASS_SHIFT) as u8
    }

    /// Returns whether a tuple is known to have the addresses of consecutive actors.
    #[inline(always)]
    pub(crate) fn is_consecutive(self) -> bool {
        self.header() as u16 == header(Kind::Tuple, CONSECUTIVE, 0) as u16
    }

    /// The number of a float, immediate or boxed.
    #[inline(always)]
    pub fn as_float(self) -> Option<f64> {
        if self.is_flonum() {
            Some(self.flonum_value())
        } else if self.is_kind(Kind::Float) {
            // SAFETY: see the head of this file.
            Some(f64::from_bits(unsafe { *self.body() }))
        } else {
            None
        }
    }

    /// An integer outside of the fixnum range.
    #[inline(always)]
    pub(crate) fn as_big<'h>(self) -> Option<Big<'h>> {
        if !self.is_kind(Kind::Integer) {
            return None;
        }
        let negative = self.header() >> 8 & 1 == 1;
        // SAFETY: see the head of this file; the header counts the limbs.
        let limbs = unsafe { std::slice::from_raw_parts(self.body(), self.count()) };
        Some(Big::new(negative, limbs))
    }

    /// The foreign value.
    #[inline(always)]
    pub(crate) fn as_foreign<'h>(self) -> Option<&'h ForeignRef> {
        Some(self.foreign_box()?.value())
    }

    /// Returns the box that keeps a foreign value.
    #[inline(always)]
    pub(crate) fn foreign_box<'h>(self) -> Option<&'h ForeignBox> {
        if !self.is_kind(Kind::Foreign) {
            return None;
        }
        // SAFETY: see the head of this file; the heap keeps the box as long as the cell.
        Some(unsafe { &*(*self.body() as *const ForeignBox) })
    }

    /// Returns the identifier in a timer's reference.
    #[inline(always)]
    pub(crate) fn as_timer(self) -> Option<TimerId> {
        if !self.is_kind(Kind::Timer) {
            return None;
        }
        let place = self.count();
        Some(TimerId {
            // SAFETY: see the head of this file.
            serial: unsafe { *self.body() },
            thread: (place >> 32) as u16,
            place: place as u32,
        })
    }

    /// Says where the timer of this reference is.
    ///
    /// # Safety
    /// The value is a timer's reference that the turn made which is now being committed.
    pub(crate) unsafe fn place_timer(self, thread: u16, place: u32) {
        let place = (thread as usize) << 32 | place as usize;
        // SAFETY: a cell that no other thread has seen yet.
        unsafe { (self.boxed_pointer() as *mut u64).write(header(Kind::Timer, 0, place)) }
    }

    /// Says which timer this reference is of.
    ///
    /// # Safety
    /// The value is a timer's reference that nobody else has seen yet.
    pub(crate) unsafe fn fill_timer(self, id: TimerId) {
        // SAFETY: as the caller says.
        unsafe {
            (self.body() as *mut u64).write(id.serial);
            self.place_timer(id.thread, id.place);
        }
    }

    /// The class of a foreign value.
    #[inline(always)]
    pub(crate) fn foreign_class(self) -> Option<Class> {
        if !self.is_kind(Kind::Foreign) {
            return None;
        }
        Class::from_number((self.header() >> 8) as u8)
    }

    /// Returns the number of granules that a boxed cell takes.
    pub(crate) fn boxed_granules(self) -> usize {
        let header = self.header();
        let words = if header as u8 == Kind::Bytes as u8 {
            self.count().div_ceil(8)
        } else if [Kind::Tuple, Kind::On, Kind::Integer, Kind::Function]
            .iter()
            .any(|kind| header as u8 == *kind as u8)
        {
            self.count()
        } else if header as u8 == Kind::Map as u8 {
            2 * self.count() + 1
        } else if header as u8 == Kind::Slice as u8 || header == LONG_BINARY {
            3
        } else {
            1
        };
        (words + 2) / 2
    }

    /// Returns the captures of a function.
    #[inline(always)]
    pub(crate) fn as_captured<'h>(self) -> Option<&'h [Value]> {
        self.as_function().map(|parts| &parts[1..])
    }

    /// The values in a boxed cell.
    pub(crate) fn boxed_parts<'h>(self) -> &'h [Value] {
        let kind = self.header() as u8;
        let values = [Kind::Tuple, Kind::On, Kind::Function, Kind::Bitstring];
        if values.iter().any(|of| kind == *of as u8) {
            // SAFETY: see the head of this file; the header counts the values.
            unsafe { std::slice::from_raw_parts(self.body().cast(), self.count()) }
        } else if kind == Kind::Map as u8 {
            // SAFETY: see the head of this file; the size is a value, too.
            unsafe { std::slice::from_raw_parts(self.body().cast(), 2 * self.count() + 1) }
        } else if kind == Kind::Slice as u8 {
            // SAFETY: see the head of this file; behind the one value are a pointer and a number.
            unsafe { std::slice::from_raw_parts(self.body().cast(), 1) }
        } else {
            &[]
        }
    }

    /// Class, size, keys and items of a map, or of a node of one.
    #[inline(always)]
    pub(crate) fn as_map_node<'h>(self) -> Option<(u8, usize, &'h [Value], &'h [Value])> {
        if !self.is_kind(Kind::Map) {
            return None;
        }
        let n = self.count();
        let words: *const Value = self.body().cast();
        // SAFETY: see the head of this file; the header counts keys and items, which lie behind the size.
        unsafe {
            let keys = std::slice::from_raw_parts(words.add(1), n);
            let items = std::slice::from_raw_parts(words.add(1 + n), n);
            let size = (*words).fixnum_value() as usize;
            Some(((self.header() >> 8) as u8, size, keys, items))
        }
    }

    /// Returns whether this is a map, or a node of one, without inner nodes.
    #[inline(always)]
    pub(crate) fn is_map_leaf(self) -> bool {
        let leaf = header(Kind::Map, 0, 0) as u16;
        let atoms = header(Kind::Map, MAY_HAVE_ATOMS, 0) as u16 ^ leaf;
        self.is_boxed() && self.header() as u16 & !atoms == leaf
    }

    /// Returns the cache lines of a map's node, after the one with its header.
    #[inline(always)]
    pub(crate) fn map_lines(self) -> impl Iterator<Item = *const u8> {
        let words = 2 + 2 * self.count();
        let first: *const u8 = self.boxed_pointer().cast();
        (LINE..words * 8)
            .step_by(LINE)
            .map(move |at| first.wrapping_add(at))
    }

    /// The bytes of a binary, or of a foreign value that knows its bytes.
    pub(crate) fn as_bytes<'h>(self) -> Option<&'h [u8]> {
        match self.as_binary() {
            Some(bytes) => Some(bytes),
            None => self.as_foreign()?.bytes(),
        }
    }

    /// The bytes of a binary, wherever they are, and of nothing else.
    #[inline(always)]
    pub fn as_binary<'h>(self) -> Option<&'h [u8]> {
        if !self.is_boxed() {
            return None;
        }
        let header = self.header();
        if header as u8 == Kind::Slice as u8 || header == LONG_BINARY {
            // SAFETY: see the head of this file; the bytes are those of another cell, or of a foreign value, which the
            // cell keeps; where they move, the pointer is corrected (evacuation/moving.rs).
            return Some(unsafe {
                let (bytes, count) = (*self.body().add(1), *self.body().add(2));
                std::slice::from_raw_parts(bytes as *const u8, count as usize)
            });
        }
        self.short_bytes()
    }

    /// The bytes of a binary that has them in its own cell.
    #[inline(always)]
    pub(crate) fn short_bytes<'h>(self) -> Option<&'h [u8]> {
        // SAFETY: see the head of this file; the header counts the bytes.
        let bytes = || unsafe { std::slice::from_raw_parts(self.body().cast(), self.count()) };
        self.is_bytes().then(bytes)
    }

    /// Returns whether this is a binary whose bytes lie in the cell itself.
    #[inline(always)]
    pub(crate) fn is_bytes(self) -> bool {
        self.is_kind(Kind::Bytes)
    }

    /// Returns whether this is a part of a binary.
    pub(crate) fn is_slice(self) -> bool {
        self.is_kind(Kind::Slice)
    }

    /// The binary that a slice is part of.
    pub(crate) fn sliced(self) -> Option<Value> {
        if !self.is_kind(Kind::Slice) {
            return None;
        }
        // SAFETY: see the head of this file.
        Some(Value::from_word(unsafe { *self.body() }))
    }

    /// Sponsor and address of an on-reference.
    #[inline(always)]
    pub(crate) fn as_on(self) -> Option<(Value, Value)> {
        if !self.is_kind(Kind::On) {
            return None;
        }
        // SAFETY: see the head of this file.
        unsafe {
            Some((
                Value::from_word(*self.body()),
                Value::from_word(*self.body().add(1)),
            ))
        }
    }
}
