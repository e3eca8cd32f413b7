//! The actors of this node that another node has, by the numbers under which they were announced to it.
//!
//! There may be millions, so each takes what keeps its actor alive and no more: no term, and no resource of its own.
//!
//! Invariants:
//! 1. Nothing is dropped under the lock, nor where a process waits for it: an actor that nobody holds any more may be the end of
//!    much else, and there may be a million of them.
use crate::held::aside::let_go;
use crate::term::resource::Resource;
use mote_vm::values::handles::Held;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::Env;

/// The actors that one courier has announced (lib/mote/far/courier.ex).
#[derive(Default)]
pub struct Listed {
    actors: Mutex<FxHashMap<u64, Held>>,
}

impl Listed {
    /// Lists actors; returns how many are listed then.
    pub fn add(&self, announced: impl Iterator<Item = (u64, Held)>) -> usize {
        let mut actors = self.actors.lock();
        actors.extend(announced);
        actors.len()
    }

    /// Forgets those of these numbers; returns how many are listed then.
    pub fn drop_all(&self, numbers: impl Iterator<Item = u64>) -> usize {
        let mut actors = self.actors.lock();
        let dropped: Vec<Held> = numbers
            .filter_map(|number| actors.remove(&number))
            .collect();
        if actors.len() * 8 < actors.capacity() {
            actors.shrink_to_fit();
        }
        let left = actors.len();
        drop(actors);
        let parts = dropped.len();
        let_go(dropped, parts);
        left
    }

    /// Forgets all.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.actors.lock());
        let parts = all.len();
        let_go(all, parts);
    }
}

impl Resource for Listed {
    fn destructor(self, _env: Env<'_>) {
        self.clear();
    }
}

resource_type!(Listed);
