//! Actors that are created from outside.
use super::Machine;
use crate::boundary::parcel::Parcel;
use crate::heap::Heap;
use crate::machine::contract::{BehaviourVersion, CreateError};
use crate::values::actor::{Actor, BehaviourId, Header, SponsorId};
use crate::values::handles::{Held, Key};
use crate::values::value::Value;
use std::sync::Arc;

impl Machine {
    /// Creates an actor, pinned to a sponsor if one is given; `captures` holds a tuple of as many values as the
    /// behaviour captures. The caller owns the handle.
    pub fn create(
        &self,
        behaviour: &BehaviourVersion,
        pinned: Option<SponsorId>,
        captures: Parcel,
    ) -> Result<Key, CreateError> {
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        self.create_for(behaviour, pinned, captures, |actor| {
            self.0.handles.acquire(actor, pinned)
        })
    }

    /// Creates `count` actors of one behaviour, or none. `captures` holds one tuple after the other, each as `create` takes it.
    /// The caller owns the handles, which are in that order.
    pub fn create_many(
        &self,
        behaviour: &BehaviourVersion,
        pinned: Option<SponsorId>,
        count: usize,
        captures: Parcel,
    ) -> Result<Vec<Key>, CreateError> {
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        let ours = captures.is_for(&self.0.handles);
        self.create_with(behaviour, pinned, ours, |heap| {
            let position = heap.position();
            let create = |heap: &mut Heap, captures| {
                let header = self.header(behaviour, pinned);
                let state = self.state(heap, behaviour.id, captures)?;
                let actor = heap.actor(header, state);
                (!actor.is_none()).then(|| actor.address_pointer())
            };
            // Nobody knows those that were made before one that was not.
            match captures.unpack_each(count, heap, create) {
                Some(actors) => Ok(self.0.handles.acquire_all(&actors, pinned)),
                None => {
                    heap.rewind(&position);
                    Err(CreateError::NoMemory)
                }
            }
        })
    }

    /// Keeps one value that parcels may refer to ([`Machine::hold_shared`]), in an actor that ignores every message. The
    /// caller owns the handle. `value` holds a tuple of that value.
    pub fn share(&self, value: Parcel) -> Result<Key, CreateError> {
        let behaviour = BehaviourVersion {
            id: BehaviourId::SHARED,
            program: self.0.program.clone(),
        };
        self.create_for(&behaviour, None, value, |actor| {
            self.0.handles.acquire_shared(actor)
        })
    }

    /// The shared constant of a handle, if it is one.
    pub fn hold_shared(&self, key: Key) -> Option<Held> {
        self.0.handles.hold_shared(key)
    }

    /// Creates `count` actors that are alike, or none, consecutively in memory; as `create` does. The caller owns the
    /// handles, which are in their order.
    pub fn create_row(
        &self,
        behaviour: &BehaviourVersion,
        pinned: Option<SponsorId>,
        captures: Parcel,
        count: usize,
    ) -> Result<Vec<Key>, CreateError> {
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        let ours = captures.is_for(&self.0.handles);
        self.create_with(behaviour, pinned, ours, |heap| {
            let row = self.made(heap, behaviour, captures, |heap, state| {
                heap.row(|| self.header(behaviour, pinned), state, count)
            });
            row.map(|actors| self.0.handles.acquire_all(&actors, pinned))
        })
    }

    /// Creates an actor, and lets `hold` see to it that a collection finds it.
    pub(super) fn create_for<R>(
        &self,
        behaviour: &BehaviourVersion,
        pinned: Option<SponsorId>,
        captures: Parcel,
        hold: impl FnOnce(*const Actor) -> R,
    ) -> Result<R, CreateError> {
        let ours = captures.is_for(&self.0.handles);
        self.create_with(behaviour, pinned, ours, |heap| {
            let made = self.made(heap, behaviour, captures, |heap, state| {
                let actor = heap.actor(self.header(behaviour, pinned), state);
                (!actor.is_none()).then(|| actor.address_pointer())
            });
            made.map(hold)
        })
    }

    /// Creates by `make`, whose captures are `ours` or not. It holds what it has made: a collection sees that, or waits for
    /// the heap.
    fn create_with<R>(
        &self,
        behaviour: &BehaviourVersion,
        pinned: Option<SponsorId>,
        ours: bool,
        make: impl FnOnce(&mut Heap) -> Result<R, CreateError>,
    ) -> Result<R, CreateError> {
        if !ours || !Arc::ptr_eq(&behaviour.program, &self.0.program) {
            return Err(CreateError::OtherMachine);
        }
        if !self.admits() {
            return Err(CreateError::NotDurable);
        }
        let runs_away = |id| self.0.sponsors.by_id(id).most_away.is_some();
        let away_only = self.0.program.behaviour(behaviour.id).away_only;
        if away_only && !pinned.is_some_and(runs_away) {
            return Err(CreateError::Misplaced);
        }
        let made = self.0.leases.with_guest(make);
        let made = made.ok_or(CreateError::NoMemory)?;
        match made {
            Ok(_) => self.collect_if_due(),
            Err(_) => self.lacked_memory(1),
        }
        made
    }

    /// The header of an actor that begins.
    fn header(&self, behaviour: &BehaviourVersion, pinned: Option<SponsorId>) -> Header {
        let sponsors = &self.0.sponsors;
        let begins_on = match pinned {
            Some(id) => sponsors.by_id(id).begins_on(),
            None => sponsors.first().begins_on(),
        };
        Header::new(behaviour.id, pinned, begins_on)
    }

    /// Applies `make` to the state that those captures are. Nothing is left of it on failure.
    fn made<R>(
        &self,
        heap: &mut Heap,
        behaviour: &BehaviourVersion,
        captures: Parcel,
        make: impl FnOnce(&mut Heap, Value) -> Option<R>,
    ) -> Result<R, CreateError> {
        let position = heap.position();
        let captures = captures.unpack(heap, &mut Vec::new());
        if !captures.is_none() {
            let state = self.state(heap, behaviour.id, captures);
            if let Some(made) = state.and_then(|state| make(heap, state)) {
                return Ok(made);
            }
        }
        heap.rewind(&position);
        Err(CreateError::NoMemory)
    }

    /// The state of an actor that captures what is in a tuple.
    fn state(&self, heap: &mut Heap, behaviour: BehaviourId, captures: Value) -> Option<Value> {
        let n = self.0.program.behaviour(behaviour).captures as usize;
        let values = captures.as_tuple().unwrap_or(&[]);
        heap.captures(n, |i| values.get(i).copied().unwrap_or(Value::UNDEFINED))
    }
}
