//! Shows what an actor holds as of its last commit to a caller while the thread that owns the actor sleeps.
//!
//! Invariants:
//! 1. The caller stands in for the thread meanwhile (stand_in.rs, invariant 1): so no turn of the actor runs, nobody takes it over and
//!    no collection begins, and what is seen is one whole state.
//! 2. No turn runs for it, and nothing that waits is taken in: whoever peeks may see the actor as it was before messages that wait.
//! 3. It takes a moment: what is more than a stand-in would send out is not shown.
use crate::base::ids::{BehaviourName, ThreadNumber};
use crate::base::work::Work;
use crate::boundary::parcel::Parcel;
use crate::terms::map;
use crate::threads::shared::Machine;
use crate::threads::stand_in::{is_small, wake_if_needed, MOST_SENT};
use crate::threads::thread::Dispatch;
use crate::values::actor::Actor;
use crate::values::handles::Key;
use crate::values::term::Term;
use crate::values::value::Value;
use crate::watching::reach::captures;
use smallvec::SmallVec;

/// Captures that need no allocation.
const FEW: usize = 8;

/// The state of an actor: its behaviour and what it has captured.
pub struct SeenState<'m> {
    /// The name of the behaviour.
    pub behaviour: BehaviourName,
    /// The captures, as they are written: without what it has stashed.
    pub captures: SmallVec<[Term<'m>; FEW]>,
}

/// The outcome of a peek.
#[derive(Debug, PartialEq, Eq)]
pub enum Peek<R> {
    /// The result made of what the actor holds.
    Seen(R),
    /// The thread is awake, or more is to be done than a moment's work: the actor's thread can be asked ([`Machine::inspect`]).
    Busy,
    /// The map of the shard has no such key.
    Absent,
    /// The handle belongs to another machine.
    Unknown,
}

impl Machine {
    /// Shows the state of an actor to `show`: that of the handle, or, if it is the shard of a directory, that of
    /// a key.
    pub fn glimpse<R>(
        &self,
        shown: Key,
        key: Option<Parcel>,
        show: impl FnOnce(SeenState<'_>) -> R,
    ) -> Peek<R> {
        if key.as_ref().is_some_and(|key| !key.is_for(self.handles())) {
            return Peek::Unknown;
        }
        self.look_at(shown, |dispatch, actor| dispatch.glimpse(actor, key, show))
    }

    /// Lets the caller look at an actor by `look`, as its thread, if that sleeps (invariant 1).
    pub(super) fn look_at<R>(
        &self,
        shown: Key,
        look: impl FnOnce(&mut Dispatch, &Actor) -> Peek<R>,
    ) -> Peek<R> {
        if self.0.seeded.is_some() {
            return Peek::Busy;
        }
        let handles = self.handles();
        let mut look = Some(look);
        let mut seen = Peek::Busy;
        // Without the lock of the handles, where somebody has looked before.
        let noted = handles.noted_thread(shown);
        if let Some(thread) = noted {
            seen = self.look_as(thread, shown, &mut look);
        }
        if look.is_none() {
            return seen;
        }
        // SAFETY: the lock of the handles keeps it.
        let owner = |actor: *const Actor, _| unsafe { (*actor).header() }.owner();
        let owner = match handles.visit(shown, owner) {
            None => return Peek::Unknown,
            // It has run no turn yet.
            Some(0) => {
                let pinned = shown.pinned().map(|id| self.sponsors().by_id(id));
                let sponsor = pinned.as_ref().unwrap_or(self.sponsors().first());
                sponsor.lead().number
            }
            Some(owner) => {
                handles.note_thread(shown, owner);
                owner
            }
        };
        match noted == Some(owner) {
            true => seen,
            false => self.look_as(owner, shown, &mut look),
        }
    }

    /// Lets the caller look as that thread, if it sleeps and the actor is its own. Takes `look` then.
    fn look_as<R>(
        &self,
        thread: ThreadNumber,
        shown: Key,
        look: &mut Option<impl FnOnce(&mut Dispatch, &Actor) -> Peek<R>>,
    ) -> Peek<R> {
        // Most machines have one thread.
        let first = self.sponsors().first().lead();
        let elsewhere = match thread == first.number {
            true => None,
            false => self.stations().find(thread),
        };
        let station = elsewhere.as_ref().unwrap_or(first);
        let mut seen = Peek::Busy;
        let begin = |dispatch: &Dispatch| dispatch.away.is_none().then_some(());
        // Several may peek at the same time, and each takes a moment.
        let stand_in = station.presence.stand_in_soon();
        let stood_in = self.stood_in(station, stand_in, begin, |dispatch, ()| {
            seen = dispatch.look_at(shown, look);
            // Invariant 2.
            false
        });
        wake_if_needed(station, stood_in.unwrap_or(false));
        seen
    }
}

impl Dispatch {
    fn look_at<R>(
        &mut self,
        shown: Key,
        look: &mut Option<impl FnOnce(&mut Dispatch, &Actor) -> Peek<R>>,
    ) -> Peek<R> {
        let handles = self.context.machine.handles();
        let Some(actor) = handles.follow(shown) else {
            return Peek::Unknown;
        };
        // SAFETY: a handle that is followed during a stand-in needs no other root (stand_in.rs, invariant 8).
        let actor = unsafe { &*actor };
        if !self.is_for_peeks(actor) {
            return Peek::Busy;
        }
        look.take().map_or(Peek::Busy, |look| look(self, actor))
    }

    fn glimpse<R>(
        &mut self,
        mut actor: &Actor,
        key: Option<Parcel>,
        show: impl FnOnce(SeenState<'_>) -> R,
    ) -> Peek<R> {
        if let Some(key) = key {
            let Some(found) = self.entry_of(actor, key).filter(|found| found.is_address()) else {
                return Peek::Absent;
            };
            // SAFETY: the shard holds it.
            actor = unsafe { &*found.address_pointer() };
            if !self.is_for_peeks(actor) {
                return Peek::Busy;
            }
        }
        match self.small_state(actor, &mut { MOST_SENT }) {
            Some(state) => Peek::Seen(show(state)),
            None => Peek::Busy,
        }
    }

    /// Returns what an actor of this thread is, if it has no more parts than are left, and takes them off.
    pub(super) fn small_state<'m>(
        &self,
        actor: &'m Actor,
        left: &mut usize,
    ) -> Option<SeenState<'m>> {
        let program = &self.turn.around.program;
        let behaviour = program.name(actor.header().behaviour());
        let captures = captures(program, actor).take(behaviour.captures);
        let captures: SmallVec<[Term<'_>; FEW]> = captures.map(Term::new).collect();
        let is_small = captures.iter().all(|capture| is_small(*capture, left));
        is_small.then_some(SeenState {
            behaviour,
            captures,
        })
    }

    /// Returns whether an actor is this thread's, or becomes it, since it has run no turn.
    pub(super) fn is_for_peeks(&mut self, actor: &Actor) -> bool {
        let header = actor.header();
        header.is_run_by(self.context.station.number)
            || header.owner() == 0 && self.own_or_find_owner(actor).is_none()
    }

    /// Returns the map that a shard captures last.
    pub(super) fn entries_of<'m>(&self, shard: &'m Actor) -> Option<map::Node<'m>> {
        let map = captures(&self.turn.around.program, shard).last()?;
        map::Node::of(map)
    }

    /// Returns a shard's value for a key.
    fn entry_of(&mut self, shard: &Actor, key: Parcel) -> Option<Value> {
        let map = self.entries_of(shard)?;
        let heap = &mut self.turn.heap;
        let position = heap.position();
        let key = key.unpack(heap, &mut Vec::new());
        let found = match key.is_none() {
            true => None,
            false => map::get(map, key, &mut Work::free()),
        };
        heap.rewind(&position);
        found
    }
}
