//! Writes parcels.
use super::words::{Words, Written, FEW};
use super::{
    Parcel, ParcelForeigns, AGAIN, BITSTRING, BYTES, CONSTANT, COUNT_SHIFT, FLOAT, FOREIGN,
    FUNCTION, INTEGER, LIST, MADE, MAP, ON, ONCE, TIMER, TUPLE,
};
use crate::base::atom::Atom;
use crate::base::ids::TimerId;
use crate::code::functions::KnownFunction;
use crate::values::big::{self, MOST_LIMBS};
use crate::values::foreign::ForeignRef;
use crate::values::handles::Held;
use crate::values::value::Value;

/// Writes a parcel, parts before their contents.
#[derive(Default)]
pub struct Builder {
    words: Written,
    foreigns: ParcelForeigns,
    external_bytes: usize,
    held: Vec<Held>,
}

/// The state of a builder at some point.
#[derive(Clone, Copy)]
pub struct BuilderPosition {
    words: usize,
    foreigns: usize,
    external_bytes: usize,
    held: usize,
}

impl Builder {
    /// An empty builder.
    #[inline]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// An empty builder that writes there.
    pub(crate) fn written_on(words: Vec<Value>) -> Builder {
        Builder {
            words: Written::on(words),
            ..Builder::default()
        }
    }

    /// Returns the number of words that were written: a measure of the work done.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the current position, for `rewind`.
    pub fn position(&self) -> BuilderPosition {
        BuilderPosition {
            words: self.words.len(),
            foreigns: self.foreigns.len(),
            external_bytes: self.external_bytes,
            held: self.held.len(),
        }
    }

    /// Forgets what was written since.
    pub fn rewind(&mut self, position: BuilderPosition) {
        self.words.truncate(position.words);
        self.foreigns.truncate(position.foreigns);
        self.external_bytes = position.external_bytes;
        self.held.truncate(position.held);
    }

    /// Returns the bytes that the foreign values in it keep outside of all heaps.
    #[inline]
    pub fn external_bytes(&self) -> usize {
        self.external_bytes
    }

    /// Returns whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integer of a sign and an absolute value, the lowest limb first: at most [`MOST_LIMBS`].
    pub fn any_integer(&mut self, negative: bool, limbs: &[u64]) {
        let limbs = big::trimmed(limbs);
        debug_assert!(limbs.len() <= MOST_LIMBS);
        match big::fixnum(negative, limbs) {
            Some(fixnum) => self.words.push(fixnum.word()),
            None => {
                limbs.iter().for_each(|limb| self.words.push(*limb));
                let count = 2 * limbs.len() as u64 + u64::from(negative);
                self.words.push(INTEGER | count << COUNT_SHIFT);
            }
        }
    }

    /// An integer; `false` when it is outside of the fixnum range.
    #[must_use]
    #[inline]
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
    #[inline]
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
    #[inline]
    pub fn tuple(&mut self, count: usize) {
        self.words.push(TUPLE | (count as u64) << COUNT_SHIFT);
    }

    /// A function with `count` captures, which follow in order.
    ///
    /// # Safety
    /// The parcel goes to the machine in which the function was found, and nowhere else.
    pub unsafe fn function(&mut self, function: KnownFunction, count: usize) {
        self.words.push(function.0.word());
        self.words.push(FUNCTION | (count as u64) << COUNT_SHIFT);
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

    /// A bitstring without the last bits of a binary, 1 to 7. The binary follows.
    pub fn bitstring(&mut self, unused: usize) {
        self.words.push(BITSTRING | (unused as u64) << COUNT_SHIFT);
    }

    /// A value of the outside.
    #[inline]
    pub fn foreign(&mut self, foreign: ForeignRef) {
        self.words
            .push(FOREIGN | (self.foreigns.len() as u64) << COUNT_SHIFT);
        self.external_bytes += foreign.external_bytes();
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

    /// Refers to something that the turn of this parcel has made, by its place among all of that.
    pub fn made(&mut self, place: usize) {
        self.words.push(MADE | (place as u64) << COUNT_SHIFT);
    }

    /// The address of an actor of the machine that the parcel is for.
    pub fn address(&mut self, held: Held) {
        self.words.push(Value::address(held.actor).word());
        self.held.push(held);
    }

    /// Ends a part that began at word `from` and may be there again. Returns its place, for [`Builder::again`].
    pub fn once(&mut self, from: usize) -> usize {
        let place = self.len();
        self.words
            .push(ONCE | ((place - from) as u64) << COUNT_SHIFT);
        place
    }

    /// Refers again to the part that ended at `place`.
    pub fn again(&mut self, place: usize) {
        self.words.push(AGAIN | (place as u64) << COUNT_SHIFT);
    }

    /// The value that a shared constant holds.
    pub fn constant(&mut self, held: Held) {
        self.words.push(CONSTANT);
        self.address(held);
    }

    /// The words of several consecutive parcels, and a parcel of everything that goes with them.
    pub(crate) fn open(self) -> (Vec<Value>, Parcel) {
        let contents = Parcel {
            words: Words::Few([Value::UNDEFINED; FEW], 0),
            foreigns: self.foreigns,
            external_bytes: self.external_bytes,
            held: self.held,
        };
        (self.words.open(), contents)
    }

    /// The parcel.
    #[inline]
    pub fn finish(self) -> Parcel {
        Parcel {
            words: self.words.finish(),
            foreigns: self.foreigns,
            external_bytes: self.external_bytes,
            held: self.held,
        }
    }
}
