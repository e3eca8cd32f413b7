//! Keys that outlive their machine: an image has them, and a machine that goes on from it gives the actors the same ones again.
//!
//! Invariants:
//! 1. A key that is kept has the position and the serial number that it had: so whoever has it from the earlier life has it still. What
//!    its serial number says of a sponsor is of that life, and only a hint (machine/asking.rs).
//! 2. The machine itself holds a reference to each such actor, since nobody knows who has the key: until it is told to let go, or ends.
//!    It can be told to hold others in the same way.
//! 3. Numbers go on behind those of the earlier life, and what proves a key is made of a new secret: so a key that is not kept is as
//!    hard to guess as any, also for whoever has read the image.
use super::by_actor::ByActor;
use super::seats::Seat;
use super::{pinned_to, HandleSlot, Handles, Key};
use crate::values::actor::{Actor, SponsorId};
use rustc_hash::FxHashSet;

/// The most serial numbers that an earlier life can have given: a machine that gives a million a second takes years for as many.
pub(crate) const MOST_GIVEN: u64 = 1 << 48;

/// The position that a key says which was not given by the table: no entry has it.
const NOWHERE: u32 = u32::MAX;

/// The keys of a machine's actors, as of one moment.
#[derive(Default)]
pub(crate) struct KeptKeys {
    /// How many serial numbers it has given.
    pub(crate) given: u64,
    pub(crate) keys: Vec<(Key, *const Actor)>,
}

impl Handles {
    /// The keys that the outside has of actors. Those of shared constants are not among them: what has these knows the value.
    pub(crate) fn keys(&self) -> KeptKeys {
        let mut inner = self.inner.lock();
        while self.settle_in(&mut inner, super::MANY) {}
        let held = |slot: &&HandleSlot| slot.count > 0 && !slot.shared && !slot.forgotten;
        let held = inner.slots.iter().filter(held);
        // In a pause, in which memory that grows is copied again and again.
        let mut keys = Vec::with_capacity(inner.slots.len() - inner.free.len());
        keys.extend(held.map(|slot| (slot.key(), slot.actor)));
        KeptKeys {
            given: inner.given,
            keys,
        }
    }

    /// Gives actors the keys that they had, and holds them. Returns false, and does nothing, if two of these have one key, an actor
    /// two, or there are such keys here already.
    pub(crate) fn keep(
        &self,
        kept: &KeptKeys,
        pinned: impl Fn(*const Actor) -> Option<SponsorId>,
    ) -> bool {
        let mut inner = self.inner.lock();
        let mut serials = FxHashSet::default();
        let mut actors = FxHashSet::default();
        let is_new = |(key, actor): &(Key, *const Actor)| {
            serials.insert(key.serial)
                && actors.insert(*actor)
                && inner.position(*key).is_none()
                && !inner.renamed.contains_key(&key.serial)
                && inner.by_actor.get(*actor).is_none()
        };
        if !kept.keys.iter().all(is_new) {
            return false;
        }
        inner.given = inner.given.max(kept.given);
        for (key, actor) in &kept.keys {
            let entry = HandleSlot {
                kept: true,
                ..HandleSlot::new(*actor, pinned(*actor), key.serial)
            };
            inner.put(entry, Some(key.slot), &self.quota);
        }
        true
    }

    /// Gives an actor the key with the serial number that `name` makes, and holds it, unless it is held already: so which key it has follows
    /// from what was held and let go of before, and not from who has let go of which.
    pub(crate) fn name(
        &self,
        actor: *const Actor,
        pinned: Option<SponsorId>,
        name: impl FnOnce() -> u128,
    ) {
        let mut inner = self.inner.lock();
        let at = inner.by_actor.get(actor);
        if at.is_some_and(|at| inner.slots[at].kept) {
            return;
        }
        // An entry that was forgotten is of its earlier key: it stays until those who have that let go of it.
        let entry = HandleSlot {
            kept: true,
            ..HandleSlot::new(actor, pinned, name() | pinned_to(pinned))
        };
        inner.put(entry, Some(NOWHERE), &self.quota);
    }

    /// Returns whether `name` would give an actor no other key.
    pub(crate) fn is_named(&self, actor: *const Actor) -> bool {
        let inner = self.inner.lock();
        let at = inner.by_actor.get(actor);
        at.is_some_and(|at| inner.slots[at].kept)
    }

    /// Lets go of actors by their keys, which find nothing from now on, whoever has them.
    pub(crate) fn forget(&self, keys: &[Key]) {
        if keys.is_empty() {
            return;
        }
        let mut inner = self.inner.lock();
        for key in keys {
            let Some(at) = inner.position(*key) else {
                continue;
            };
            let entry = &mut inner.slots[at];
            entry.forgotten = true;
            if std::mem::take(&mut entry.kept) {
                inner.seats.clear(at);
                inner.release(*key);
            }
        }
    }

    /// One more reference to an actor that is held, by its key; none to any other.
    pub(crate) fn acquire_held(&self, actor: *const Actor) -> Option<Key> {
        let mut inner = self.inner.lock();
        let at = inner.by_actor.get(actor)?;
        let entry = Some(&mut inner.slots[at]).filter(|entry| !entry.forgotten)?;
        entry.count += 1;
        Some(entry.key())
    }

    /// Holds every actor that the outside has a key of.
    pub(crate) fn retain_all(&self) {
        let mut inner = self.inner.lock();
        while self.settle_in(&mut inner, super::MANY) {}
        let held = inner.slots.iter_mut().filter(|slot| slot.count > 0);
        for slot in held.filter(|slot| !slot.kept) {
            slot.kept = true;
            slot.count += 1;
        }
    }

    /// Holds an actor for whoever has its key, or lets go of it. Returns whether there is such an actor.
    pub(crate) fn retain(&self, key: Key, kept: bool) -> bool {
        let mut inner = self.inner.lock();
        let Some(entry) = inner.find(key) else {
            return false;
        };
        match (std::mem::replace(&mut entry.kept, kept), kept) {
            (false, true) => entry.count += 1,
            (true, false) => inner.release(key),
            _ => {}
        }
        true
    }
}

/// The bytes that so many keys take at most.
pub(crate) fn bytes_of(keys: usize) -> usize {
    // Tables are at most twice as large as what is in them.
    2 * keys
        * (size_of::<HandleSlot>()
            + size_of::<Seat>()
            + size_of::<(u128, u32)>()
            + ByActor::GROUP_BYTES)
}
