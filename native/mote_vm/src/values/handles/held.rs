//! References to actors that callers hold while they follow keys (invariant 3 of the handles).
use super::{Handles, Key};
use crate::values::actor::{Actor, SponsorId};
use std::sync::Arc;

/// A reference to an actor, given back when dropped.
pub struct Held {
    pub(super) key: Key,
    pub(crate) actor: *const Actor,
    pub(crate) pinned: Option<SponsorId>,
    /// None once somebody else is to release the key.
    pub(super) handles: Option<Arc<Handles>>,
}

// SAFETY: the pointer is a plain address here, and the handles are shared between threads.
unsafe impl Send for Held {}
// SAFETY: as above; nothing of it changes.
unsafe impl Sync for Held {}

impl Held {
    /// Returns whether the actor is of the machine that these handles are of.
    pub(crate) fn is_of(&self, handles: &Arc<Handles>) -> bool {
        self.handles
            .as_ref()
            .is_some_and(|own| Arc::ptr_eq(own, handles))
    }

    /// The key; whoever takes it releases it.
    pub fn into_key(mut self) -> Key {
        self.handles = None;
        self.key
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(handles) = &self.handles {
            handles.release(self.key);
        }
    }
}

/// References to many actors of one machine, given back together when dropped: each alone would be counted among the references to the
/// handles, too.
#[derive(Default)]
pub(crate) struct HeldMany {
    /// There as soon as anything is held.
    handles: Option<Arc<Handles>>,
    keys: Vec<Key>,
    actors: Vec<(*const Actor, Option<SponsorId>)>,
}

// SAFETY: the pointers are plain addresses here, and the handles are shared between threads.
unsafe impl Send for HeldMany {}
// SAFETY: as above; nothing of it changes.
unsafe impl Sync for HeldMany {}

impl HeldMany {
    /// Gives it the handles that all it holds is of. Returns whether it has no others.
    pub(super) fn belong_to(&mut self, handles: &Arc<Handles>) -> bool {
        self.handles.get_or_insert_with(|| handles.clone());
        self.is_for(handles)
    }

    /// Returns whether all that it holds is of these handles.
    pub(crate) fn is_for(&self, handles: &Arc<Handles>) -> bool {
        let mut own = self.handles.iter();
        own.all(|own| Arc::ptr_eq(own, handles))
    }

    /// Takes over a reference to an actor, which the caller has counted.
    pub(super) fn push(&mut self, key: Key, actor: *const Actor, pinned: Option<SponsorId>) {
        self.keys.push(key);
        self.actors.push((actor, pinned));
    }

    /// Returns the number of references.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// One of the actors, and the sponsor that it is pinned to.
    pub(crate) fn get(&self, at: usize) -> Option<(*const Actor, Option<SponsorId>)> {
        self.actors.get(at).copied()
    }
}

impl Drop for HeldMany {
    fn drop(&mut self) {
        if let Some(handles) = self.handles.take().filter(|_| !self.keys.is_empty()) {
            let mut inner = handles.inner.lock();
            self.keys.iter().for_each(|key| inner.release(*key));
        }
    }
}
