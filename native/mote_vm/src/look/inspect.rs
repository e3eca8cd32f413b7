//! One actor between two of its turns, seen by the thread that owns it, or by the caller that stands in for it.
//!
//! Invariant: a look holds the thread up for a bounded time, whatever the actor holds and however much waits: what goes
//! beyond that is not counted, and the look says so.
use super::reach::captures;
use super::{extent, waiting};
use crate::machine::{Inspection, Look};
use crate::threads::inbox::Entry;
use crate::threads::thread::{self, Dispatch};
use crate::values::actor::Actor;
use crate::values::handles::Target;
use crate::values::term::Term;

/// What asks the owner of an actor for a look.
pub(crate) fn entry(target: Target, look: Look) -> Entry {
    let look = thread::task(move |thread| thread.inspect(target, look));
    Entry::Inspect(target, look)
}

impl Dispatch {
    /// Looks at an actor here, where it is owned, or passes the look on to its owner.
    fn inspect(&mut self, target: Target, look: Look) {
        let place = self.place.clone();
        // SAFETY: the caller resolved a handle, which keeps the actor.
        let actor = unsafe { &*target.0 };
        match self.settle(actor) {
            None => look(&place.machine, self.inspection(actor)),
            Some(owner) => {
                place.machine.push(&owner, entry(target, look));
            }
        }
    }

    fn inspection<'m>(&'m self, actor: &'m Actor) -> Inspection<'m> {
        let place = &self.place;
        let program = &self.turn.around.program;
        let pinned = actor.header().pinned();
        let (queued, all) = waiting::here(self, actor);
        let extent = extent::of(program, actor);
        Inspection {
            behaviour: program.name(actor.header().behaviour()),
            captures: captures(program, actor).map(Term::new).collect(),
            sponsor: place.sponsor.name,
            pinned: pinned.map(|id| place.machine.sponsors().by_id(id).name),
            queued,
            bytes: extent.bytes,
            complete: all && extent.complete,
        }
    }
}
