//! Addresses in the hands of the outside: roots, counted per actor.
//!
//! An actor has at most one entry here at a time, however many references exist outside, so equal addresses have
//! equal keys. A key names its entry and proves itself by a serial number that cannot be guessed; a key whose entry is gone, or
//! that was made up, resolves to nothing.
//!
//! Invariants:
//! 1. An entry exists while its count is above zero; its actor is then a root of the collector.
//! 2. A serial number is never given twice. It says to which sponsor the actor is pinned, which never changes: so whoever has a key
//!    knows where messages enter. Of a key that was made up, that is as wrong as the rest.
//! 3. A caller that follows a key holds a reference of its own ([`Held`]), or the lock (`visit`), until the actor is a root
//!    by other means. The reference of the key itself may be released at any time, because a key can be copied.
//! 4. A collection walks through the slots piece by piece, and meets every actor that was held when it began (walk.rs).
//! 5. The tables are charged to the machine's quota, as large as they have grown, until it ends; they do not shrink. A
//!    caller that holds actors from outside cannot be refused here, but takes the room of callers that can.
//! 6. A million references may end at once, on a thread that must not be held up: so each only leaves its key in `ended`. Whoever
//!    takes some of these has the lock of the book, and releases them before it lets go: so a key is in `ended`, or released.
//!    A caller that needs a new entry does so before the tables grow: it is on the core that has them in its cache. Whoever
//!    leaves the [`MANY`]th key has another thread release all. A collection and a count begin with the keys that are left.
//! 7. An entry that is kept from an earlier life has the key that it had there, and one that was named a key of its own: these say another
//!    position, and `renamed` knows where the entry is (kept.rs).
mod by_actor;
mod held;
mod kept;
mod seats;

use crate::base::ids::ThreadNumber;
use crate::base::quota::Quota;
use crate::base::sync::CachePadded;
use crate::values::actor::{Actor, SponsorId};
use crate::values::value::Value;
use crate::values::walk::{Missed, Walkable};
use by_actor::ByActor;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

pub use held::Held;
pub(crate) use held::HeldMany;
pub(crate) use kept::{bytes_of, KeptKeys, MOST_GIVEN};
use seats::Seats;

/// An actor that the sender holds a handle of.
#[derive(Clone, Copy)]
pub(crate) struct Target(pub(crate) *const Actor);

// SAFETY: a plain address; only dispatch threads look behind it.
unsafe impl Send for Target {}

/// A key that stands for an actor outside of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// The entry's position.
    pub slot: u32,
    /// The proof.
    pub serial: u128,
}

impl Key {
    /// A key of no actor.
    pub const NONE: Key = Key {
        slot: u32::MAX,
        serial: 0,
    };
}

/// The part of a serial number that says the pinned sponsor.
fn pinned_to(pinned: Option<SponsorId>) -> u128 {
    pinned.map_or(0, |sponsor| u128::from(sponsor.0) + 1) << PINNED_SHIFT
}

/// Position of the pinned sponsor in a serial number, as in an actor's header. Below it is the number of the entry.
const PINNED_SHIFT: u32 = 52;

impl Key {
    /// The sponsor that the actor is pinned to (invariant 2).
    pub(crate) fn pinned(self) -> Option<SponsorId> {
        let number = (self.serial as u64 >> PINNED_SHIFT) as u16;
        number.checked_sub(1).map(SponsorId)
    }
}

struct HandleSlot {
    actor: *const Actor,
    pinned: Option<SponsorId>,
    /// It is a shared constant.
    shared: bool,
    /// The machine itself holds one reference (kept.rs).
    kept: bool,
    /// Its key finds nothing any more, but what it has counted is still there (kept.rs).
    forgotten: bool,
    /// The position that its key says (invariant 7).
    named: u32,
    count: usize,
    serial: u128,
}

impl HandleSlot {
    /// An entry that is to be put into the table, with one reference.
    fn new(actor: *const Actor, pinned: Option<SponsorId>, serial: u128) -> HandleSlot {
        HandleSlot {
            actor,
            pinned,
            shared: false,
            kept: false,
            forgotten: false,
            named: 0,
            count: 1,
            serial,
        }
    }

    fn key(&self) -> Key {
        Key {
            slot: self.named,
            serial: self.serial,
        }
    }
}

#[derive(Default)]
struct Book {
    slots: Vec<HandleSlot>,
    free: Vec<u32>,
    by_actor: ByActor,
    given: u64,
    /// Positions of entries by their serial numbers, where their keys say another one (invariant 7).
    renamed: FxHashMap<u128, u32>,
    /// Position of a collection's walk, and what was released before it (invariant 4).
    walk: Option<usize>,
    missed: Missed,
    charged: usize,
    /// The part that is looked up without the lock, and its bytes.
    seats: Arc<Seats>,
    seat_bytes: usize,
}

impl Book {
    /// Bytes of the tables.
    fn bytes(&self) -> usize {
        let renamed = self.renamed.capacity() * size_of::<(u128, u32)>();
        self.slots.capacity() * (size_of::<HandleSlot>() + size_of::<u32>())
            + self.by_actor.bytes()
            + renamed
            + self.seat_bytes
    }

    /// The position of a key's entry, if there is one.
    fn position(&self, key: Key) -> Option<usize> {
        let is_at = |at: &usize| {
            let entry = self.slots.get(*at);
            entry.is_some_and(|entry| entry.key() == key && entry.count > 0)
        };
        let renamed = || self.renamed.get(&key.serial).map(|at| *at as usize);
        Some(key.slot as usize)
            .filter(is_at)
            .or_else(|| renamed().filter(is_at))
    }

    /// The entry of a key, if there is one.
    fn find(&mut self, key: Key) -> Option<&mut HandleSlot> {
        let at = self.position(key)?;
        self.slots.get_mut(at).filter(|entry| !entry.forgotten)
    }

    /// One reference less.
    fn release(&mut self, key: Key) {
        let Some(at) = self.position(key) else {
            return;
        };
        let entry = &mut self.slots[at];
        entry.count -= 1;
        if entry.count == 0 {
            self.by_actor.remove(entry.actor, at as u32);
            self.seats.clear(at);
            self.free.push(at as u32);
            if at as u32 != key.slot {
                self.renamed.remove(&key.serial);
            }
            if self.walk.is_some_and(|walked| at >= walked) {
                self.missed.note(Value::address(entry.actor));
            }
        }
    }

    /// Puts an entry where one is free; its key says that position, or the one that is given. Returns the key.
    #[inline(always)]
    fn put(&mut self, entry: HandleSlot, named: Option<u32>, quota: &Quota) -> Key {
        let (actor, serial) = (entry.actor, entry.serial);
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        let named = named.unwrap_or(at);
        let entry = HandleSlot { named, ..entry };
        match self.slots.get_mut(at as usize) {
            Some(free) => *free = entry,
            None => self.slots.push(entry),
        }
        if named != at {
            self.renamed.insert(serial, at);
        }
        self.by_actor.insert(actor, at);
        self.seat_bytes += self.seats.give(at as usize, serial, actor);
        // Where entries went, a table counts a smaller capacity than it had, and takes as much as before.
        let more = self.bytes().saturating_sub(self.charged);
        if more > 0 {
            quota.take_anyway(more);
            self.charged += more;
        }
        Key {
            slot: named,
            serial,
        }
    }
}

/// This many keys are released in a few tenths of a millisecond: more than a process lets go of in most of its collections.
const MANY: usize = 4_096;
/// And this many before others get at the book, or it grows.
const FEW: usize = 128;

/// The table of the addresses that the outside of one machine holds.
pub(crate) struct Handles {
    inner: CachePadded<Mutex<Book>>,
    ended: CachePadded<Mutex<Vec<Key>>>,
    /// The seats of the book.
    seats: Arc<Seats>,
    quota: Arc<Quota>,
    secret: RandomState,
}

// SAFETY: the raw pointers are plain addresses here, never followed.
unsafe impl Send for Handles {}
// SAFETY: as above; everything else is behind the mutex.
unsafe impl Sync for Handles {}

impl Default for Handles {
    fn default() -> Handles {
        Handles::new(Arc::default())
    }
}

impl Handles {
    pub(crate) fn new(quota: Arc<Quota>) -> Handles {
        let book = Book {
            missed: Missed::new(&quota),
            ..Book::default()
        };
        let seats = book.seats.clone();
        Handles {
            inner: CachePadded(Mutex::new(book)),
            ended: CachePadded::default(),
            seats,
            quota,
            secret: RandomState::new(),
        }
    }

    /// One more reference to `actor` from outside.
    pub(crate) fn acquire(&self, actor: *const Actor, pinned: Option<SponsorId>) -> Key {
        self.acquire_in(&mut self.inner.lock(), actor, pinned)
    }

    /// The first reference to a shared constant.
    pub(crate) fn acquire_shared(&self, actor: *const Actor) -> Key {
        let mut inner = self.inner.lock();
        let key = self.acquire_in(&mut inner, actor, None);
        if let Some(entry) = inner.find(key) {
            entry.shared = true;
        }
        key
    }

    /// One more reference to each of `actors`, in their order.
    pub(crate) fn acquire_all(
        &self,
        actors: &[*const Actor],
        pinned: Option<SponsorId>,
    ) -> Vec<Key> {
        let mut inner = self.inner.lock();
        let acquire = |actor: &*const Actor| self.acquire_in(&mut inner, *actor, pinned);
        actors.iter().map(acquire).collect()
    }

    // In line: a key that comes through memory is read before the stores to the tables have reached the cache, and waits for them.
    #[inline(always)]
    fn acquire_in(&self, inner: &mut Book, actor: *const Actor, pinned: Option<SponsorId>) -> Key {
        if let Some(at) = inner.by_actor.get(actor) {
            let entry = &mut inner.slots[at];
            entry.count += 1;
            return entry.key();
        }
        if inner.free.is_empty() && inner.slots.len().is_multiple_of(FEW) {
            self.settle_in(inner, FEW);
        }
        inner.given += 1;
        // A counter never repeats, and what belongs to it nobody can guess without the key.
        let proof = self.secret.hash_one(inner.given);
        let serial = u128::from(proof) << 64 | pinned_to(pinned) | u128::from(inner.given);
        inner.put(HandleSlot::new(actor, pinned, serial), None, &self.quota)
    }

    /// One reference less.
    pub(crate) fn release(&self, key: Key) {
        self.inner.lock().release(key);
    }

    /// A reference has ended, and is released later. Returns whether the caller is to have another thread [`settle`] them.
    ///
    /// [`settle`]: Handles::settle
    #[must_use]
    pub(crate) fn end(&self, key: Key) -> bool {
        let mut ended = self.ended.lock();
        ended.push(key);
        ended.len() == MANY
    }

    /// Returns whether many references have ended and are not released yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.ended.lock().len() >= MANY
    }

    /// Releases all references that have ended, a few at a time.
    pub(crate) fn settle(&self) {
        while self.settle_in(&mut self.inner.lock(), FEW) {}
    }

    /// Releases some references that have ended; whether there were as many.
    fn settle_in(&self, inner: &mut Book, most: usize) -> bool {
        let mut ended = self.ended.lock();
        let left = ended.len().saturating_sub(most);
        let some = ended.split_off(left);
        if ended.is_empty() {
            ended.shrink_to(8 * FEW);
        }
        drop(ended);
        let as_many = some.len() == most;
        some.into_iter().for_each(|key| inner.release(key));
        as_many
    }

    /// Releases many references, which all are of these handles.
    pub(crate) fn release_all(&self, held: Vec<Held>) {
        let keys: Vec<Key> = held.into_iter().map(Held::into_key).collect();
        let mut inner = self.inner.lock();
        keys.into_iter().for_each(|key| inner.release(key));
    }

    /// One more reference to the actor of a key, if there is one (invariant 3).
    pub(crate) fn hold(self: &Arc<Handles>, key: Key) -> Option<Held> {
        self.hold_if(key, |_| true)
    }

    /// One more reference to the actor of each key, as [`Handles::hold`] adds it, up to one that has none. All are with what is held
    /// there, which is of these handles.
    pub(crate) fn hold_each(self: &Arc<Handles>, keys: &[Key], held: &mut HeldMany) {
        if !held.belong_to(self) {
            return;
        }
        let mut inner = self.inner.lock();
        for key in keys {
            let Some(entry) = inner.find(*key) else {
                return;
            };
            entry.count += 1;
            held.push(*key, entry.actor, entry.pinned);
        }
    }

    /// Adds a reference in the same way, but only to a shared constant.
    pub(crate) fn hold_shared(self: &Arc<Handles>, key: Key) -> Option<Held> {
        self.hold_if(key, |entry| entry.shared)
    }

    fn hold_if(
        self: &Arc<Handles>,
        key: Key,
        may: impl FnOnce(&HandleSlot) -> bool,
    ) -> Option<Held> {
        let mut inner = self.inner.lock();
        let entry = inner.find(key).filter(|entry| may(entry))?;
        entry.count += 1;
        let (actor, pinned) = (entry.actor, entry.pinned);
        drop(inner);
        Some(Held {
            key,
            actor,
            pinned,
            handles: Some(self.clone()),
        })
    }

    /// Shows the actor of a key, if there is one, and keeps it meanwhile: `act` must be short, and neither let go of what
    /// may hold an address nor ask for one, because nobody else gets at the handles before it is over.
    pub(crate) fn visit<R>(
        &self,
        key: Key,
        act: impl FnOnce(*const Actor, Option<SponsorId>) -> R,
    ) -> Option<R> {
        let mut inner = self.inner.lock();
        let entry = inner.find(key)?;
        Some(act(entry.actor, entry.pinned))
    }

    /// Returns the actor of a key, for a caller that stands in: nothing needs to keep it meanwhile (seats.rs).
    pub(crate) fn follow(&self, key: Key) -> Option<*const Actor> {
        let seen = self.seats.actor(key.slot as usize, key.serial);
        // One that is kept from an earlier life may be elsewhere (invariant 7).
        seen.or_else(|| self.visit(key, |actor, _| actor))
    }

    /// Notes the thread by which messages for the actor of a key enter, or that runs it.
    pub(crate) fn note_thread(&self, key: Key, thread: ThreadNumber) {
        self.seats.note(key.slot as usize, thread);
    }

    /// Returns the thread that was noted last for a key, or for another one that had its position: a hint.
    pub(crate) fn noted_thread(&self, key: Key) -> Option<ThreadNumber> {
        self.seats.thread(key.slot as usize)
    }

    /// Returns whether the key stands for that actor.
    pub(crate) fn is_of(&self, key: Key, actor: *const Actor) -> bool {
        self.visit(key, |found, _| found == actor).unwrap_or(false)
    }

    /// The machine has ended, and its quota bounds nothing any more. The tables stay: keys are followed to the last.
    pub(crate) fn discharge(&self) {
        let mut inner = self.inner.lock();
        self.quota.charge(&mut inner.charged, 0);
        // No collection goes on: keys that are released from here on are not noted, since notes are charged.
        inner.walk = None;
        inner.missed.begin();
        drop(inner);
        // Nobody asks any more which actors are held.
        self.ended.lock().clear();
    }

    /// Returns the actors that are referred to from outside, in the order in which they first were.
    pub(crate) fn in_order(&self) -> Vec<*const Actor> {
        let mut inner = self.inner.lock();
        while self.settle_in(&mut inner, MANY) {}
        let held = inner.slots.iter().filter(|slot| slot.count > 0);
        let mut held: Vec<&HandleSlot> = held.collect();
        // Below the proof is a number that counts up, but for where the actor is pinned.
        held.sort_by_key(|slot| slot.serial as u64 & ((1 << PINNED_SHIFT) - 1));
        held.into_iter().map(|slot| slot.actor).collect()
    }

    /// Returns the number of actors that are referred to from outside.
    pub(crate) fn len(&self) -> usize {
        let mut inner = self.inner.lock();
        self.settle_in(&mut inner, MANY);
        inner.by_actor.len()
    }
}

impl Walkable for Handles {
    fn begin(&self) {
        let mut inner = self.inner.lock();
        self.settle_in(&mut inner, MANY);
        inner.walk = Some(0);
        inner.missed.begin();
    }

    fn walk(&self, most: usize, show: &mut dyn FnMut(Value)) -> bool {
        let mut inner = self.inner.lock();
        if inner.missed.walk(most, &mut *show) {
            return true;
        }
        let Some(from) = inner.walk else { return false };
        let to = inner.slots.len().min(from + most);
        let held = inner.slots[from..to].iter().filter(|slot| slot.count > 0);
        held.for_each(|slot| show(Value::address(slot.actor)));
        inner.walk = (to < inner.slots.len()).then_some(to);
        inner.walk.is_some()
    }

    fn each(&self, show: &mut dyn FnMut(Value)) {
        let inner = self.inner.lock();
        // An actor can have entries besides the one that it is found by (kept.rs).
        let held = inner.slots.iter().filter(|slot| slot.count > 0);
        held.for_each(|slot| show(Value::address(slot.actor)));
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.discharge();
    }
}

#[cfg(test)]
mod tests;
