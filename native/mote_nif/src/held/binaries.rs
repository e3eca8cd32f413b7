//! Long binaries that a machine shares with the BEAM: each is carried once, however many messages and actors have it.
//!
//! Invariants:
//! 1. While a binary is carried, it lives and does not move. So what is at the same place and as long is the same binary.
//! 2. A binary is charged once, with what it keeps, from when it is first carried until nothing carries it any more.
use crate::term::own_term::{OwnTerm, ENVIRONMENT};
use mote_vm::machine::{Machine, OutsideCharge};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::sys::{enif_inspect_binary, ErlNifBinary};
use rustler::{Env, Term};
use std::mem::MaybeUninit;
use std::sync::{Arc, Weak};

/// Address and length of a binary.
type BinaryPlace = (usize, usize);

fn place(bytes: &[u8]) -> BinaryPlace {
    (bytes.as_ptr().addr(), bytes.len())
}

/// The long binaries that one machine carries.
#[derive(Default)]
pub struct Binaries(Mutex<FxHashMap<BinaryPlace, Weak<LongBinary>>>);

/// A binary that is worth not copying.
pub struct LongBinary {
    term: OwnTerm,
    /// The bytes, borrowed from `term`.
    bytes: &'static [u8],
    kept: usize,
    among: Arc<Binaries>,
    _charge: OutsideCharge,
}

impl Binaries {
    /// The binary with these bytes, if it is carried already.
    pub fn get(&self, bytes: &[u8]) -> Option<Arc<LongBinary>> {
        self.0.lock().get(&place(bytes))?.upgrade()
    }

    /// Carries a binary that keeps `kept` bytes for a machine. Returns `None` if the machine has no memory for it.
    pub fn carry(
        self: &Arc<Binaries>,
        term: Term<'_>,
        kept: usize,
        machine: &Machine,
    ) -> Option<Arc<LongBinary>> {
        let charge = machine.charge_outside(ENVIRONMENT + kept)?;
        self.add(OwnTerm::copy(term), kept, charge)
    }

    /// Carries a binary that another machine carries.
    pub fn same(
        self: &Arc<Binaries>,
        other: &LongBinary,
        machine: &Machine,
    ) -> Option<Arc<LongBinary>> {
        if let Some(carried) = self.get(other.bytes) {
            return Some(carried);
        }
        let charge = machine.charge_outside(ENVIRONMENT + other.kept)?;
        self.add(other.term.clone(), other.kept, charge)
    }

    fn add(
        self: &Arc<Binaries>,
        term: OwnTerm,
        kept: usize,
        charge: OutsideCharge,
    ) -> Option<Arc<LongBinary>> {
        let mut binary = MaybeUninit::uninit();
        // SAFETY: on success the bytes are those of the term, which lives as long as `term` and does not move.
        let bytes = unsafe {
            if enif_inspect_binary(term.env(), term.raw(), binary.as_mut_ptr()) == 0 {
                return None;
            }
            let binary: ErlNifBinary = binary.assume_init();
            std::slice::from_raw_parts(binary.data, binary.size)
        };
        let carried = Arc::new(LongBinary {
            term,
            bytes,
            kept,
            among: self.clone(),
            _charge: charge,
        });
        let mut all = self.0.lock();
        let other = all.get(&place(bytes)).and_then(Weak::upgrade);
        if other.is_none() {
            all.insert(place(bytes), Arc::downgrade(&carried));
        }
        // A binary that goes takes the lock, and ours goes where another one was here first.
        drop(all);
        Some(other.unwrap_or(carried))
    }
}

impl LongBinary {
    /// Returns the binary's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Bytes of the binary that it is part of, or is.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Returns the binary's term.
    pub fn to<'a>(&self, env: Env<'a>) -> Term<'a> {
        self.term.to(env)
    }
}

impl Drop for LongBinary {
    fn drop(&mut self) {
        let mut all = self.among.0.lock();
        // Another one may have come to its place meanwhile.
        if let Some(found) = all.get(&place(self.bytes)) {
            if std::ptr::eq(found.as_ptr(), self) {
                all.remove(&place(self.bytes));
            }
        }
        if all.capacity() > 4 * all.len() + 64 {
            all.shrink_to_fit();
        }
    }
}
