//! What stands for cells, actors and values in an image.
//!
//! A record begins with a byte that says what it is. A value is a number whose three lowest bits say what the others are:
//!
//! ```text
//! list      count n, tail, n heads             n cells, the one without cells of its own behind it first
//! tuple     count n, n values
//! float     its bits
//! bytes     length, bytes                      also a binary outside of all heaps
//! integer   sign, count n, n limbs
//! foreign   class, length, bytes               as the embedder writes it
//! lost      number                             a value of the outside that is not written, in the tables
//! on        sponsor, address
//! timer     number of the timer, or 0          0: one that does not wait any more
//! map       count n, n times key and item
//! slice     the binary, from, length
//! bitstring the unused bits of the first byte, and of the last, and the binary
//! captures  count n, n values                  numbered apart from other cells
//! function  count n, module, name, arguments, hash of the unit, n values that it has captured
//! actor     behaviour, sponsor + 1 or 0, then the value, or how many captures before the last, if it has any
//! end
//! ```
/// The kinds of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs)] // What each holds is said above.
pub(crate) enum Record {
    End = 0,
    List = 1,
    Tuple = 2,
    Float = 3,
    Bytes = 4,
    Integer = 5,
    Foreign = 6,
    Lost = 7,
    On = 8,
    Timer = 9,
    Map = 10,
    Slice = 11,
    Captures = 12,
    Actor = 13,
    Function = 14,
    Bitstring = 15,
}

impl Record {
    /// The kind of that number.
    pub(crate) fn from_number(n: u8) -> Option<Record> {
        use Record::*;
        [
            End, List, Tuple, Float, Bytes, Integer, Foreign, Lost, On, Timer, Map, Slice,
            Captures, Actor, Function, Bitstring,
        ]
        .get(n as usize)
        .copied()
    }
}

/// The bits of a value that say what it is, and how many these are.
pub(crate) const VALUE_BITS: u32 = 3;
/// An integer, zigzag.
pub(crate) const SMALL: u64 = 0;
/// An atom, by its place in the table.
pub(crate) const ATOM: u64 = 1;
/// A cell, by how many cells were written since.
pub(crate) const CELL: u64 = 2;
/// An actor, by its number.
pub(crate) const ACTOR: u64 = 3;
/// See [`OTHERS`].
pub(crate) const OTHER: u64 = 4;

/// `[]`, an integer that is larger than [`SMALLEST_LARGE`] in zigzag, and a float; a word follows the latter two.
pub(crate) const OTHERS: [u64; 3] = [0, 1, 2];

/// The least zigzag integer that has no room beside [`VALUE_BITS`].
pub(crate) const SMALLEST_LARGE: u64 = 1 << (u64::BITS - VALUE_BITS);

/// An integer with its sign in the lowest bit.
pub(crate) fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// The integer of a zigzag.
pub(crate) fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Behaviours that every machine has come before those of the table.
pub(crate) const OWN_BEHAVIOURS: u64 = 2;

/// Number of values that this kind of cell may have at most; what the BEAM allows for a tuple.
pub(crate) const MOST_ELEMENTS: u64 = 0xFF_FFFF;
