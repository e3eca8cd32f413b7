//! The budget of work on a normal scheduler, and the knowledge about terms before they are written.
use crate::term::atoms::names;
use crate::term::read::{list_cell, tuple_elements, word_of};
use rustc_hash::FxHashMap;
use rustler::types::atom::Atom;
use rustler::{schedule, Binary, Env, Term};
use std::time::Duration;

/// The work that may be done on a normal scheduler: about a tenth of a millisecond.
pub const NORMAL: usize = 4_000;

/// Parts of a term that are looked at there, and not copied: a third of a millisecond at most.
pub const SEEN: usize = 8 * NORMAL;

/// Work after which the writer checks whether there is memory for what it wrote.
pub const LOOK: usize = 16 * NORMAL;

/// Size from which a term is copied on a dirty scheduler.
pub const LARGE: usize = NORMAL;

/// Parts that are looked at in the time that it takes to copy one.
const SEEN_A_PART: usize = 5;

/// Parts of terms that take a hundredth of a time slice, in all.
const PARTS_A_PERCENT: usize = 200;

/// A hundredth of a time slice, which is about a millisecond.
const NANOSECONDS_A_PERCENT: usize = 10_000;

/// The reason why a term was not written.
pub enum Unwritten {
    /// The term is too much for the budget.
    Big,
    /// The term has a long binary, and it is not known what that keeps alive.
    Long,
    /// The machine has no memory for it.
    NoMemory,
}

impl From<Unwritten> for Atom {
    fn from(halt: Unwritten) -> Atom {
        match halt {
            Unwritten::Big => names::big(),
            Unwritten::Long => names::long(),
            Unwritten::NoMemory => names::no_memory(),
        }
    }
}

/// The budget for writing a term, and what is known of its long binaries.
#[derive(Clone, Copy)]
pub struct WriteMode<'a> {
    pub budget: usize,
    /// Bytes that long binaries and functions keep alive: a list of `{term, bytes}`. Anything else while that is not known.
    kept: Option<Term<'a>>,
}

impl<'a> WriteMode<'a> {
    /// Returns the mode for a first attempt on a normal scheduler.
    pub fn first() -> WriteMode<'a> {
        WriteMode {
            budget: NORMAL,
            kept: None,
        }
    }

    /// Returns the mode for a first attempt, on a dirty scheduler or a normal one.
    pub fn on(dirty: bool) -> WriteMode<'a> {
        WriteMode {
            budget: if dirty { usize::MAX } else { NORMAL },
            kept: None,
        }
    }

    /// Returns the mode for another attempt on a normal scheduler, once it is known what long binaries keep alive.
    pub fn again(kept: Term<'a>) -> WriteMode<'a> {
        let kept = Some(kept).filter(|kept| kept.is_list());
        WriteMode {
            budget: NORMAL,
            kept,
        }
    }

    /// Returns the mode for a dirty scheduler.
    pub fn dirty(kept: Term<'a>) -> WriteMode<'a> {
        WriteMode {
            budget: usize::MAX,
            ..WriteMode::again(kept)
        }
    }

    pub fn known(self) -> Option<Kept> {
        let mut rest = self.kept?;
        let mut known = Kept::default();
        while let Some((pair, tail)) = list_cell(rest) {
            if let [term, bytes] = *tuple_elements(pair) {
                // SAFETY: elements belong to the environment of their tuple.
                let [term, bytes] =
                    [term, bytes].map(|element| unsafe { Term::new(pair.get_env(), element) });
                if let Ok(bytes) = bytes.decode() {
                    known.insert(place(term), bytes);
                }
            }
            rest = tail;
        }
        Some(known)
    }
}

/// Bytes that long binaries and functions keep alive, by their [`place`].
pub type Kept = FxHashMap<(usize, usize), usize>;

/// Identifies a term within a call: the address and length of a binary, the word of a function.
pub fn place(term: Term<'_>) -> (usize, usize) {
    match Binary::from_term(term) {
        Ok(binary) => (binary.as_ptr().addr(), binary.len()),
        // The same term in one call is the same word.
        Err(_) => (word_of(term.as_c_arg()), 0),
    }
}

/// Charges the calling process for visiting `parts` parts, on a normal scheduler. Otherwise a process that works on large terms again and
/// again would not be interrupted for long. A few parts are not worth a call.
pub fn spent(env: Env<'_>, parts: usize) {
    consume(env, parts / PARTS_A_PERCENT);
}

/// Charges it for parts that were looked at only.
pub fn seen(env: Env<'_>, parts: usize) {
    spent(env, parts / SEEN_A_PART);
}

/// Charges a process for the time that it has run turns.
pub fn ran(env: Env<'_>, time: Duration) {
    consume(env, time.as_nanos() as usize / NANOSECONDS_A_PERCENT);
}

fn consume(env: Env<'_>, percent: usize) {
    if percent > 0 {
        schedule::consume_timeslice(env, percent.min(100) as i32);
    }
}

/// Multiple of its own bytes that a part of a binary may keep alive while it waits.
pub const MOST_KEPT: usize = 2;
