//! What actors held at the moment of an image, for whoever writes it beside turns.
//!
//! An image is of the moment at which a collection begins, and that collection marks nothing before it is written. So nothing that
//! was there is freed, moved or used again, and all that changes meanwhile is what actors hold: the barrier that collections have
//! (barrier.rs) keeps it.
//!
//! Invariants:
//! 1. Until the image is written nothing is marked of what was there at the moment but actors, and what they share: by the walk, which
//!    reads what an actor held, or by its owner, which notes that here before it becomes.
//! 2. Whoever sets the mark shows the collection what was read, as a marker would.
//! 3. What was made since, which is marked in advance, the walk never meets: roots are noted before anything is.
use super::mark::held_parts;
use super::packets::{Log, MarkingWork};
use crate::base::quota::Quota;
use crate::base::sync::{AtomicBool, Relaxed};
use crate::code::program::Program;
use crate::heap::marks::mark;
use crate::turns::marking::visitor::Visitor;
use crate::values::actor::{Actor, Header};
use crate::values::value::Value;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Values that the walk shows to the collection at a time.
const SHOWN: usize = 8 * 1024;

/// Actors that have become something else before the walk has come to them, by their addresses, with what they held.
#[derive(Default)]
struct PastActors {
    held: FxHashMap<usize, (Header, Value)>,
    /// Bytes that are charged for them.
    charged: usize,
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Moment {
    /// True until the image is written.
    lasts: AtomicBool,
    notes: Mutex<PastActors>,
}

impl Moment {
    /// Everything stands still for it.
    pub(crate) fn begin(&self, quota: &Quota) {
        // A thread may have noted something when the last one was over.
        self.end(quota);
        // Relaxed: threads see it when they go on.
        self.lasts.store(true, Relaxed);
    }

    /// The image is written, or nobody wants it any more.
    pub(crate) fn end(&self, quota: &Quota) {
        self.lasts.store(false, Relaxed);
        let notes = std::mem::take(&mut *self.notes.lock());
        quota.give(notes.charged);
    }

    /// Notes what an actor held, by its owner that has marked it.
    #[inline]
    pub(crate) fn note(&self, actor: &Actor, held: (Header, Value)) {
        // Relaxed: see `begin`.
        if self.lasts.load(Relaxed) {
            let address = std::ptr::from_ref(actor).addr();
            self.notes.lock().held.insert(address, held);
        }
    }

    /// Charges what has been noted since the last time.
    pub(crate) fn charge(&self, quota: &Quota) {
        let mut notes = self.notes.lock();
        let bytes = notes.held.capacity() * size_of::<(usize, Header, Value)>();
        let more = bytes.saturating_sub(notes.charged);
        notes.charged += more;
        quota.take_anyway(more);
    }

    fn noted(&self, actor: &Actor) -> Option<(Header, Value)> {
        let address = std::ptr::from_ref(actor).addr();
        self.notes.lock().held.get(&address).copied()
    }
}

/// Reads what actors held at the moment of an image, while turns run.
pub(crate) struct MomentReader<'w> {
    program: &'w Program,
    work: &'w MarkingWork,
    /// The number of the collection.
    number: u64,
    log: Log,
}

impl<'w> MomentReader<'w> {
    pub(crate) fn new(program: &'w Program, work: &'w MarkingWork, number: u64) -> Self {
        MomentReader {
            program,
            work,
            number,
            log: Log::default(),
        }
    }

    /// Returns what an actor held that was there. Once for each: then it is noted no more.
    pub(crate) fn held(&mut self, actor: &Actor) -> (Header, Value) {
        let first = || mark(std::ptr::from_ref(actor).cast(), 1, self.number);
        let Some(held) = self.work.reading_of_walk().read(actor, first) else {
            return self.noted(actor);
        };
        let Log { values, found } = &mut self.log;
        let captures = self.program.behaviour(held.0.behaviour()).captures as usize;
        held_parts(captures, self.number, found, held, |parts| {
            parts.iter().for_each(|part| values.value(*part));
        });
        if values.len() >= SHOWN {
            self.work.flush(&mut self.log);
        }
        held
    }

    /// Its owner has marked the actor, and is about to note what it held if it has not yet.
    fn noted(&self, actor: &Actor) -> (Header, Value) {
        loop {
            match self.work.moment.noted(actor) {
                Some(held) => return held,
                None => std::thread::yield_now(),
            }
        }
    }

    /// Returns the header of an actor that `held` was not asked about yet, as it was.
    pub(crate) fn header(&self, actor: &Actor) -> Header {
        // First as it is: if it is not what it was, that has been noted.
        let header = actor.header();
        self.work
            .moment
            .noted(actor)
            .map_or(header, |(header, _)| header)
    }
}

impl Drop for MomentReader<'_> {
    fn drop(&mut self) {
        self.work.flush(&mut self.log);
    }
}
