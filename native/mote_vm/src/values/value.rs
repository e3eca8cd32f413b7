//! One 64-bit tagged word: everything that a register, a capture, a message or a list can hold.
//!
//! ```text
//! ….…1   fixnum          63 bits, two's complement
//! ….10   flonum          a double whose exponent is common (the self-tagging of Ruby's flonum)
//! …0000  boxed           pointer to a cell with a header word (tuple, float, bytes, integer, foreign, on-reference)
//! …0100  address         pointer to an actor
//! …1000  cons            pointer to two words, head and tail, no header
//! …1100  immediate       atom (id in the upper half) or the empty list
//! ```
//!
//! The word 0 is not a value: [`Value::NONE`] says "no answer" or "not written".
//!
//! Invariants:
//! 1. A `Value` with a pointer tag points into a heap of the machine that it lives in (or to its constants).
//! 2. The target of a pointer is immutable while reachable; only an actor's two words change, and only at commit.
use crate::base::atom::Atom;

/// A tagged word. Equality of words is identity, not Elixir's `==`: see [`crate::terms::prim::compare`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Value(u64);

/// The bits that tell pointers and immediates apart.
pub const TAG_MASK: u64 = 0b1111;
/// See [`TAG_MASK`].
pub const TAG_BOXED: u64 = 0b0000;
/// See [`TAG_MASK`].
pub const TAG_ADDRESS: u64 = 0b0100;
/// See [`TAG_MASK`].
pub const TAG_CONS: u64 = 0b1000;
/// See [`TAG_MASK`].
pub const TAG_IMMEDIATE: u64 = 0b1100;
/// The two lowest bits of an immediate float.
pub const FLONUM_TAG: u64 = 0b10;
/// The word of 0.0.
pub const FLONUM_ZERO: u64 = 0x8000_0000_0000_0002;

/// The smallest and the largest integer that is one word.
pub const FIXNUM_MIN: i64 = -(1 << 62);
/// See [`FIXNUM_MIN`].
pub const FIXNUM_MAX: i64 = (1 << 62) - 1;

impl Value {
    /// No value at all; never visible to a program.
    pub const NONE: Value = Value(0);
    /// `[]`
    pub const EMPTY_LIST: Value = Value(TAG_IMMEDIATE | 0x10);
    /// Position of an atom's number in its word.
    pub(crate) const ATOM_SHIFT: u32 = 32;
    /// `nil`
    pub const NIL: Value = Value::atom(Atom::NIL);
    /// `true`
    pub const TRUE: Value = Value::atom(Atom::TRUE);
    /// `false`
    pub const FALSE: Value = Value::atom(Atom::FALSE);
    /// `:undefined`, the value of an operation that has no answer.
    pub const UNDEFINED: Value = Value::atom(Atom::UNDEFINED);

    /// The raw word.
    #[inline(always)]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// A value from a word that came from [`Value::word`].
    #[inline(always)]
    pub const fn from_word(word: u64) -> Value {
        Value(word)
    }

    /// Returns whether this is [`Value::NONE`].
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// An atom.
    #[inline(always)]
    pub const fn atom(atom: Atom) -> Value {
        Value(((atom.id() as u64) << Value::ATOM_SHIFT) | TAG_IMMEDIATE)
    }

    /// `true` or `false`.
    #[inline(always)]
    pub const fn boolean(truth: bool) -> Value {
        if truth {
            Value::TRUE
        } else {
            Value::FALSE
        }
    }

    /// The atom, if it is one.
    #[inline(always)]
    pub const fn as_atom(self) -> Option<Atom> {
        if self.0 as u32 == TAG_IMMEDIATE as u32 {
            Some(Atom::from_id((self.0 >> Value::ATOM_SHIFT) as u32))
        } else {
            None
        }
    }

    /// An integer, if it is within the fixnum range.
    #[inline(always)]
    pub const fn integer(n: i64) -> Option<Value> {
        if n >= FIXNUM_MIN && n <= FIXNUM_MAX {
            Some(Value::fixnum(n))
        } else {
            None
        }
    }

    /// An integer known to be within the fixnum range (the upper bits are lost otherwise).
    #[inline(always)]
    pub const fn fixnum(n: i64) -> Value {
        Value(((n as u64) << 1) | 1)
    }

    /// Returns whether this is a fixnum.
    #[inline(always)]
    pub const fn is_fixnum(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns whether both are fixnums, in one test.
    #[inline(always)]
    pub const fn both_fixnum(a: Value, b: Value) -> bool {
        a.0 & b.0 & 1 == 1
    }

    /// The integer, if it is one.
    #[inline(always)]
    pub const fn as_fixnum(self) -> Option<i64> {
        if self.is_fixnum() {
            Some(self.fixnum_value())
        } else {
            None
        }
    }

    /// The integer of a word known to be a fixnum.
    #[inline(always)]
    pub const fn fixnum_value(self) -> i64 {
        (self.0 as i64) >> 1
    }

    /// A float, if its exponent fits the word (2^-255 … 2^256 roughly, and 0.0); others are boxed by the heap.
    #[inline(always)]
    pub fn flonum(f: f64) -> Option<Value> {
        let bits = f.to_bits();
        // Bits 60..62 are the upper exponent bits; 3 and 4 there are the common range. 0x3000… would collide with 0.0.
        let upper = (bits >> 60) & 7;
        if (upper == 3 || upper == 4) && bits != 0x3000_0000_0000_0000 {
            Some(Value((bits.rotate_left(3) & !3) | FLONUM_TAG))
        } else if bits == 0 {
            Some(Value(FLONUM_ZERO))
        } else {
            None
        }
    }

    /// Returns whether this is an immediate float.
    #[inline(always)]
    pub const fn is_flonum(self) -> bool {
        self.0 & 3 == FLONUM_TAG
    }

    /// The float of a word known to be a flonum.
    #[inline(always)]
    pub fn flonum_value(self) -> f64 {
        if self.0 == FLONUM_ZERO {
            return 0.0;
        }
        let upper = self.0 >> 63;
        f64::from_bits(((2 - upper) | (self.0 & !3)).rotate_right(3))
    }

    /// A boxed cell; `pointer` is 16-byte aligned.
    #[inline(always)]
    pub(crate) fn boxed(pointer: *const u64) -> Value {
        debug_assert_eq!(pointer as u64 & TAG_MASK, 0);
        Value(pointer as u64 | TAG_BOXED)
    }

    /// Returns whether this is a pointer to a cell with a header.
    #[inline(always)]
    pub const fn is_boxed(self) -> bool {
        self.0 & TAG_MASK == TAG_BOXED
    }

    /// The cell of a boxed value.
    #[inline(always)]
    pub(crate) const fn boxed_pointer(self) -> *const u64 {
        self.0 as *const u64
    }

    /// A list cell; `pointer` is 16-byte aligned.
    #[inline(always)]
    pub(crate) fn cons(pointer: *const Value) -> Value {
        debug_assert_eq!(pointer as u64 & TAG_MASK, 0);
        Value(pointer as u64 | TAG_CONS)
    }

    /// Returns whether this is a non-empty list.
    #[inline(always)]
    pub const fn is_cons(self) -> bool {
        self.0 & TAG_MASK == TAG_CONS
    }

    /// The two words of a list cell. Whoever follows a list waits for this: the tag is taken away with the offset.
    #[inline(always)]
    pub(crate) const fn cons_pointer(self) -> *const Value {
        debug_assert!(self.is_cons());
        self.0.wrapping_sub(TAG_CONS) as *const Value
    }

    /// An actor's address; `pointer` is 16-byte aligned.
    #[inline(always)]
    pub(crate) fn address(pointer: *const crate::values::actor::Actor) -> Value {
        debug_assert_eq!(pointer as u64 & TAG_MASK, 0);
        Value(pointer as u64 | TAG_ADDRESS)
    }

    /// Returns whether this is an actor's address.
    #[inline(always)]
    pub const fn is_address(self) -> bool {
        self.0 & TAG_MASK == TAG_ADDRESS
    }

    /// The actor of an address.
    #[inline(always)]
    pub(crate) const fn address_pointer(self) -> *const crate::values::actor::Actor {
        (self.0 & !TAG_MASK) as *const crate::values::actor::Actor
    }

    /// Returns whether this word refers to nothing in a heap.
    #[inline(always)]
    pub const fn is_immediate(self) -> bool {
        self.0 & 3 != 0 || self.0 & TAG_MASK == TAG_IMMEDIATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_one_word_and_none_is_zero() {
        assert_eq!(std::mem::size_of::<Value>(), 8);
        assert!(Value::NONE.is_none());
        assert!(!Value::fixnum(0).is_none());
        assert!(!Value::EMPTY_LIST.is_none());
    }

    #[test]
    fn kinds_are_disjoint() {
        let samples = [
            Value::fixnum(-1),
            Value::flonum(1.5).unwrap(),
            Value::EMPTY_LIST,
            Value::TRUE,
            Value::boxed(0x1000 as *const u64),
            Value::cons(0x1000 as *const Value),
            Value::address(0x1000 as *const crate::values::actor::Actor),
        ];
        let tests: [fn(Value) -> bool; 7] = [
            Value::is_fixnum,
            Value::is_flonum,
            |v| v == Value::EMPTY_LIST,
            |v| v.as_atom().is_some(),
            Value::is_boxed,
            Value::is_cons,
            Value::is_address,
        ];
        for (i, value) in samples.iter().enumerate() {
            for (j, test) in tests.iter().enumerate() {
                assert_eq!(test(*value), i == j, "sample {i}, test {j}");
            }
        }
    }

    #[test]
    fn the_fixnum_range_is_63_bits() {
        assert_eq!(
            Value::integer(FIXNUM_MAX).unwrap().as_fixnum(),
            Some(FIXNUM_MAX)
        );
        assert_eq!(
            Value::integer(FIXNUM_MIN).unwrap().as_fixnum(),
            Some(FIXNUM_MIN)
        );
        assert!(Value::integer(FIXNUM_MAX + 1).is_none());
        assert!(Value::integer(FIXNUM_MIN - 1).is_none());
    }

    proptest! {
        #[test]
        fn floats_survive_or_are_refused(bits: u64) {
            let f = f64::from_bits(bits);
            if let Some(value) = Value::flonum(f) {
                prop_assert!(value.is_flonum());
                prop_assert_eq!(value.flonum_value().to_bits(), bits);
            }
        }

        #[test]
        fn common_floats_are_immediate(f in -1.0e70f64..1.0e70) {
            prop_assume!(f == 0.0 && f.is_sign_positive() || f.abs() > 1.0e-70);
            prop_assert!(Value::flonum(f).is_some());
        }
    }
}
