//! The first become of an actor after a collection began to mark: what it held then is read once, whole, by the marker that comes
//! to it or by its owner, whichever is first.
//!
//! Everything else in a heap never changes, and what is made meanwhile is live anyway (heap/mod.rs, invariant 5); so
//! this is all that turns have to do for a collection beside them.
//!
//! Invariants:
//! 1. A marker says which actor it is about to read before it sets the mark, and takes that back after it has read. An
//!    owner that finds the mark set waits until no marker says so: what it then writes no marker reads.
//! 2. The one that sets the mark scans what was read. So what an actor held at the beginning is scanned exactly once.
use crate::base::sync::{pause, Acquire, AtomicUsize, Relaxed, Release};
use crate::values::actor::{Actor, Header};
use crate::values::value::Value;

/// The actor that a marker is about to read; 0 is none. On a cache line of its own.
#[repr(align(128))]
pub(crate) struct Reading(AtomicUsize);

impl Reading {
    pub(crate) fn new() -> Reading {
        Reading(AtomicUsize::new(0))
    }

    /// Reads what the actor holds, for a marker, if that is the first here. `first` sets the mark (acquire and release) and
    /// says whether it was not set.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        actor: &Actor,
        first: impl FnOnce() -> bool,
    ) -> Option<(Header, Value)> {
        // Relaxed: published by the mark, whose setting releases it.
        self.0.store(actor as *const Actor as usize, Relaxed);
        let held = first().then(|| (actor.header(), actor.state()));
        // Release: a thread that sees this finds the reads above done.
        self.0.store(0, Release);
        held
    }
}

/// Reads what the actor holds, for its owner, before it becomes and if no marker was here. `first` as above.
pub(crate) fn before_become(
    readings: &[Reading],
    actor: &Actor,
    first: impl FnOnce() -> bool,
) -> Option<(Header, Value)> {
    if first() {
        return Some((actor.header(), actor.state()));
    }
    for reading in readings {
        // Acquire: pairs with the release in `read`.
        while reading.0.load(Acquire) == actor as *const Actor as usize {
            pause();
        }
    }
    None
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::sync::{AcqRel, AtomicU64};
    use crate::values::actor::BehaviourId;
    use loom::sync::Arc;
    use loom::thread;

    /// Two markers come to an actor that its owner makes become twice: the old state is read once, never half of one
    /// and half of another.
    #[test]
    fn what_an_actor_held_is_read_once_and_whole() {
        loom::model(|| {
            let header = Header::new(BehaviourId(1), None, 1);
            let actor = Actor::new(header, Value::fixnum(1));
            let readings = [Reading::new(), Reading::new()];
            let shared = Arc::new((actor, AtomicU64::new(0), readings));
            let markers: Vec<_> = (0..2)
                .map(|n| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let (actor, mark, readings) = &*shared;
                        readings[n].read(actor, || mark.fetch_or(1, AcqRel) == 0)
                    })
                })
                .collect();
            let (actor, mark, readings) = &*shared;
            let mut found = Vec::new();
            for n in [2, 3] {
                let first = || mark.fetch_or(1, AcqRel) == 0;
                found.extend(before_become(readings, actor, first));
                actor.set(BehaviourId(n), Value::fixnum(n as i64));
            }
            found.extend(markers.into_iter().filter_map(|m| m.join().unwrap()));
            assert_eq!(found.len(), 1);
            let (header, state) = found[0];
            assert_eq!(
                (header.behaviour(), state),
                (BehaviourId(1), Value::fixnum(1))
            );
        });
    }
}
