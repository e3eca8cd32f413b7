//! The large parts of terms that one call writes: each once, however often it is there.
//!
//! Invariants:
//! 1. Terms neither move nor change during a call, so the word of a part tells that it is the same.
//! 2. A part is written when the stack has no more terms than when it was opened.
use mote_vm::boundary::parcel::Builder;
use rustc_hash::FxHashMap;
use rustler::sys::ErlNifTerm;
use rustler::Term;

/// Elements from which a list, tuple or map is looked for among those that were written before.
pub const LARGE_PART: usize = 32;

/// A large part that is being written.
struct OpenPart {
    word: ErlNifTerm,
    /// The first of its words.
    from: usize,
    /// Height of the stack of terms at which the part is written.
    below: usize,
}

/// The large parts that were written, by their words with the place of each, and those that are being written.
#[derive(Default)]
pub struct LargeParts {
    written: FxHashMap<ErlNifTerm, usize>,
    /// The innermost last.
    open: Vec<OpenPart>,
}

impl LargeParts {
    /// Names the place of a part, if it was written before.
    #[inline]
    pub fn again(&self, part: Term<'_>, builder: &mut Builder) -> bool {
        match self.written.is_empty() {
            true => false,
            false => {
                let place = self.written.get(&part.as_c_arg());
                place.map(|place| builder.again(*place)).is_some()
            }
        }
    }

    /// A part begins here whose elements will be on the stack above those `below`, if it is large.
    #[inline]
    pub fn open(&mut self, part: Term<'_>, elements: usize, builder: &Builder, below: usize) {
        if elements >= LARGE_PART {
            self.open.push(OpenPart {
                word: part.as_c_arg(),
                from: builder.len(),
                below,
            });
        }
    }

    /// Ends the parts whose elements are all written, with `stack` terms on the stack.
    #[inline]
    pub fn close(&mut self, stack: usize, builder: &mut Builder) {
        while let Some(part) = self.open.pop_if(|part| part.below >= stack) {
            let place = builder.once(part.from);
            self.written.insert(part.word, place);
        }
    }

    /// Forgets all: what was written is taken back.
    pub fn clear(&mut self) {
        self.written.clear();
        self.open.clear();
    }
}
