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
use super::barrier::Reading;
use super::mark::held_parts;
use super::packets::{Log, MarkingWork};
use crate::base::quota::Quota;
use crate::base::sync::{pause, AtomicBool, Mutex, Relaxed};
use crate::code::program::Program;
use crate::heap::marks::mark;
use crate::turns::marking::visitor::Visitor;
use crate::values::actor::{Actor, Header};
use crate::values::value::Value;
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
        quota.charge(&mut notes.charged, bytes);
    }

    fn noted(&self, actor: &Actor) -> Option<(Header, Value)> {
        let address = std::ptr::from_ref(actor).addr();
        self.notes.lock().held.get(&address).copied()
    }

    /// Returns what an actor held, and whether the walk is the first that reads it: otherwise its owner has marked it, and is about to note
    /// that if it has not yet. `first` as for [`Reading::read`].
    fn held(
        &self,
        reading: &Reading,
        actor: &Actor,
        first: impl FnOnce() -> bool,
    ) -> ((Header, Value), bool) {
        if let Some(held) = reading.read(actor, first) {
            return (held, true);
        }
        loop {
            match self.noted(actor) {
                Some(held) => return (held, false),
                None => pause(),
            }
        }
    }

    /// Returns the header of an actor that `held` was not asked about yet, as it was.
    fn header(&self, actor: &Actor) -> Header {
        // First as it is: if it is not what it was, that has been noted.
        let header = actor.header();
        self.noted(actor).map_or(header, |(header, _)| header)
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
        let reading = self.work.reading_of_walk();
        let (held, is_first) = self.work.moment.held(reading, actor, first);
        if !is_first {
            return held;
        }
        let Log { values, found } = &mut self.log;
        let captures = self.program.behaviour(held.0.behaviour()).captures as usize;
        held_parts((actor, captures), self.number, found, held, |parts| {
            parts.iter().for_each(|part| values.value(*part));
        });
        if values.len() >= SHOWN {
            self.work.flush(&mut self.log);
        }
        held
    }

    /// Returns the header of an actor that `held` was not asked about yet, as it was.
    pub(crate) fn header(&self, actor: &Actor) -> Header {
        self.work.moment.header(actor)
    }
}

impl Drop for MomentReader<'_> {
    fn drop(&mut self) {
        self.work.flush(&mut self.log);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::super::barrier::before_become;
    use super::*;
    use crate::base::sync::{AcqRel, AtomicU64};
    use crate::values::actor::BehaviourId;
    use loom::sync::Arc;
    use loom::thread;

    /// The walk comes to an actor that its owner makes become twice: it finds what the actor held, whole, and one of the two shows that to
    /// the collection (invariant 2).
    #[test]
    fn the_walk_finds_what_an_actor_held_at_the_moment() {
        loom::model(|| {
            let actor = Actor::new(Header::new(BehaviourId(1), None, 1), Value::fixnum(1));
            let moment = Moment::default();
            moment.begin(&Quota::default());
            let shared = Arc::new((actor, AtomicU64::new(0), [Reading::new()], moment));
            let walk = thread::spawn({
                let shared = shared.clone();
                move || {
                    let (actor, mark, [reading], moment) = &*shared;
                    let first = || mark.fetch_or(1, AcqRel) == 0;
                    let header = moment.header(actor);
                    (header, moment.held(reading, actor, first))
                }
            });
            let (actor, mark, readings, moment) = &*shared;
            let mut shown = 0;
            for n in [2, 3] {
                let first = || mark.fetch_or(1, AcqRel) == 0;
                if let Some(held) = before_become(readings, actor, first) {
                    moment.note(actor, held);
                    shown += 1;
                }
                actor.set(BehaviourId(n), Value::fixnum(n as i64));
            }
            let (header, ((held, state), is_first)) = walk.join().unwrap();
            let behaviours = [header, held].map(Header::behaviour);
            assert_eq!(behaviours, [BehaviourId(1); 2]);
            assert_eq!(
                (state, shown + usize::from(is_first)),
                (Value::fixnum(1), 1)
            );
        });
    }
}
