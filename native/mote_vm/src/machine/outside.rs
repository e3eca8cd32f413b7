//! What the outside does with actors: creates them, sends to them, looks at them, holds them.
//!
//! Invariant: the outside refers to actors by handle only; a handle keeps its actor.
use super::Machine;
use crate::actor::{Actor, Header, SponsorId};
use crate::contract::{Behaviour, CreateError, Look};
use crate::handles::{Held, Key};
use crate::heap::view::ActorRef;
use crate::heap::Heap;
use crate::inbox::{Entry, Target};
use crate::parcel::Parcel;
use crate::value::Value;
use std::sync::Arc;

impl Machine {
    /// Creates an actor, pinned to a sponsor if one is given; `captures` holds a tuple of as many values as the
    /// behaviour captures. The caller owns the handle.
    pub fn create(
        &self,
        behaviour: &Behaviour,
        pinned: Option<SponsorId>,
        captures: Parcel,
    ) -> Result<Key, CreateError> {
        let ours = Arc::ptr_eq(&behaviour.program, &self.0.program);
        if !ours || !captures.is_for(&self.0.handles) {
            return Err(CreateError::OtherMachine);
        }
        let heap = self.0.leases.lend_to_guest();
        let mut heap = heap.ok_or(CreateError::NoMemory)?;
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        let made = self.create_in(&mut heap, Header::new(behaviour.id, pinned, 0), captures);
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
    ) -> Result<*const Actor, CreateError> {
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
        Err(CreateError::NoMemory)
    }

    /// Sends to the actor of a handle, by that sponsor or the first one; `false` when the handle, or an address in
    /// the message, is none of this machine's.
    #[must_use]
    pub fn send(&self, target: Key, sponsor: Option<SponsorId>, mut message: Parcel) -> bool {
        let Some(target) = self
            .hold(target)
            .filter(|_| message.is_for(&self.0.handles))
        else {
            return false;
        };
        let sponsor = match target.pinned.or(sponsor) {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first(),
        };
        let held = message.take_held();
        self.push(
            sponsor.lead(),
            Entry::Message(Target(target.actor), message),
        );
        // From here on the inbox keeps them.
        drop((target, held));
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

    /// The actor of a handle, held for the moment; `None` when the handle is none of this machine's.
    pub fn hold(&self, key: Key) -> Option<Held> {
        self.0.handles.hold(key)
    }

    /// Looks at an actor between two of its turns, when what the caller sent to it before is done or queued; `look`
    /// runs on a dispatch thread. `false` when the handle is none of this machine's.
    #[must_use]
    pub fn inspect(&self, key: Key, look: Look) -> bool {
        let Some(target) = self.hold(key) else {
            return false;
        };
        let sponsor = match target.pinned {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first(),
        };
        self.push(sponsor.lead(), Entry::Inspect(Target(target.actor), look));
        // From here on the inbox keeps it.
        drop(target);
        true
    }
}
