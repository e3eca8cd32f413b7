//! What the outside does with actors: creates them, sends to them, looks at them, holds them.
//!
//! Invariant: the outside refers to actors by handle only; a handle keeps its actor.
use super::Machine;
use crate::actor::{Actor, BehaviourId, Header, SponsorId};
use crate::contract::{Look, NoMemory};
use crate::handles::Key;
use crate::heap::view::ActorRef;
use crate::heap::Heap;
use crate::inbox::{Entry, Target};
use crate::parcel::{Builder, Parcel};
use crate::value::Value;

impl Machine {
    /// Creates an actor, pinned to a sponsor if one is given; `captures` holds a tuple of as many values as the
    /// behaviour captures. The caller owns the handle.
    pub fn create(
        &self,
        behaviour: BehaviourId,
        pinned: Option<SponsorId>,
        captures: Parcel,
    ) -> Result<Key, NoMemory> {
        let mut heap = self.0.leases.lend_to_guest().ok_or(NoMemory)?;
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        let made = self.create_in(&mut heap, Header::new(behaviour, pinned, 0), captures);
        // Held by a handle before the heap goes back: a collection sees the one or waits for the other.
        let key = made.map(|actor| self.0.handles.acquire(actor, pinned));
        self.0.leases.give_back_from_guest(heap);
        if self.0.pool.pace.is_due() {
            // All threads may be asleep.
            self.0.sponsors.first().lead().wake();
        }
        key
    }

    fn create_in(
        &self,
        heap: &mut Heap,
        header: Header,
        captures: Parcel,
    ) -> Result<*const Actor, NoMemory> {
        let mark = heap.mark();
        let n = self.0.program.behaviour(header.behaviour()).captures as usize;
        let captures = captures.unpack(heap, &mut Vec::new());
        if !captures.is_none() {
            let values = captures.as_tuple().unwrap_or(&[]);
            let actor = heap
                .captures(n, |i| values.get(i).copied().unwrap_or(Value::UNDEFINED))
                .map(|state| heap.actor(header, state))
                .filter(|actor| !actor.is_none());
            if let Some(actor) = actor {
                return Ok(actor.address_pointer());
            }
        }
        heap.rewind(mark);
        Err(NoMemory)
    }

    /// Sends to the actor of a handle, by that sponsor or the first one; `false` when the handle is none of this
    /// machine's.
    #[must_use]
    pub fn send(&self, target: Key, sponsor: Option<SponsorId>, message: Parcel) -> bool {
        let Some((actor, pinned)) = self.0.handles.resolve(target) else {
            return false;
        };
        let sponsor = match pinned.or(sponsor) {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first(),
        };
        self.push(sponsor.lead(), Entry::Message(Target(actor), message));
        true
    }

    /// A handle of an actor seen in a term. The caller owns it.
    pub fn acquire(&self, actor: ActorRef<'_>) -> Key {
        // SAFETY: the term that the actor was seen in is borrowed from the running machine.
        let pinned = unsafe { (*actor.actor).header().pinned() };
        self.0.handles.acquire(actor.actor, pinned)
    }

    /// Gives a handle back.
    pub fn release(&self, key: Key) {
        self.0.handles.release(key);
    }

    /// Whether the key is a live handle of this machine.
    pub fn knows(&self, key: Key) -> bool {
        self.0.handles.resolve(key).is_some()
    }

    /// Writes the address of a handle into a parcel; `false` when the handle is none of this machine's.
    #[must_use]
    pub fn write_address(&self, key: Key, builder: &mut Builder) -> bool {
        match self.0.handles.resolve(key) {
            Some((actor, _)) => {
                builder.address(actor);
                true
            }
            None => false,
        }
    }

    /// Looks at an actor between two of its turns, after what the caller sent to it before; `look` runs on a
    /// dispatch thread. `false` when the handle is none of this machine's.
    #[must_use]
    pub fn inspect(&self, key: Key, look: Look) -> bool {
        let Some((actor, pinned)) = self.0.handles.resolve(key) else {
            return false;
        };
        let sponsor = match pinned {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first(),
        };
        let target = Target(actor);
        self.push(sponsor.lead(), Entry::Inspect(target, look));
        true
    }
}
