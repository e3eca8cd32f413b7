//! One actor between two of its turns, seen by the thread that owns it, or by the caller that stands in for it.
//!
//! Invariant: a look holds the thread up for a bounded time, whatever the actor holds and however much waits: what goes
//! beyond that is not counted, and the look says so.
use super::{holding, waiting};
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::threads::inbox::Entry;
use crate::threads::shared::Machine;
use crate::threads::thread::{self, Dispatch};
use crate::values::actor::Actor;
use crate::values::handles::Target;
use crate::values::term::Term;
use crate::watching::reach::captures;

/// An actor seen between two turns.
pub struct Inspection<'m> {
    /// Its behaviour.
    pub behaviour: BehaviourName,
    /// Its captures.
    pub captures: Vec<Term<'m>>,
    /// The sponsor whose thread owns it.
    pub sponsor: Atom,
    /// The number of that thread in it, from 1 on.
    pub thread: usize,
    /// The sponsor where its events run, whoever sends them.
    pub pinned: Option<Atom>,
    /// Events that wait for it with its owner.
    pub queued: u64,
    /// Bytes of its record and of what its captures reach without passing another actor.
    pub bytes: u64,
    /// True if these two are exact. A look goes only so far, and beyond that they are lower bounds.
    pub complete: bool,
}

/// A callback that receives an inspection.
pub type Look = Box<dyn FnOnce(&Machine, Inspection<'_>) + Send>;

/// A visit to an actor, between two of its turns, by the thread that owns it.
pub(crate) type ActorVisit = Box<dyn FnOnce(&mut Dispatch, &Actor) + Send>;

/// Creates the entry that asks the owner of an actor for a visit.
pub(crate) fn entry(target: Target, visit: ActorVisit) -> Entry {
    let visit = thread::task(move |thread| thread.visit(target, visit));
    Entry::Inspect(target, visit)
}

impl Dispatch {
    /// Visits an actor here, where it is owned, or passes the visit on to its owner.
    fn visit(&mut self, target: Target, visit: ActorVisit) {
        // SAFETY: the caller resolved a handle, which keeps the actor.
        let actor = unsafe { &*target.0 };
        match self.own_or_find_owner(actor) {
            None => visit(self, actor),
            Some(owner) => {
                let machine = self.context.machine.clone();
                machine.push(&owner, entry(target, visit));
            }
        }
    }

    pub(crate) fn inspection<'m>(&'m self, actor: &'m Actor) -> Inspection<'m> {
        let context = &self.context;
        let program = &self.turn.around.program;
        let pinned = actor.header().pinned();
        let (queued, all) = waiting::here(self, actor);
        let holding = holding::of(program, actor);
        Inspection {
            behaviour: program.name(actor.header().behaviour()),
            captures: captures(program, actor).map(Term::new).collect(),
            sponsor: context.sponsor.name,
            thread: context.sponsor.place(context.station.number) + 1,
            pinned: pinned.map(|id| context.machine.sponsors().by_id(id).name),
            queued,
            bytes: holding.bytes,
            complete: all && holding.complete,
        }
    }
}
