//! New versions of behaviours, which run in the place of those before them: an actor keeps its number, and the row of that number in
//! the table has the new code. No actor is touched.
//!
//! A turn may meet both versions while one succeeds the other: native code of the one has begun it, and the interpreter runs it
//! from its beginning with the code of the other. So one of the two has run all of it.
use super::{BehaviourCode, Program, Registry};
use crate::base::atom::Atom;
use crate::code::entry::EntryPoint;
use crate::values::actor::BehaviourId;
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;

/// The numbers that a version of a behaviour has taken over, by its own number.
#[derive(Default)]
pub(super) struct Successions(FxHashMap<BehaviourId, Vec<BehaviourId>>);

/// A behaviour whose actors go on with the version before.
pub struct StayingBehaviour {
    /// Its name.
    pub name: Atom,
    /// How many captures it has.
    pub captures: u16,
    /// True if the new version has one of that name and as many captures, which cannot run them.
    pub is_there: bool,
}

/// Returns whether actors of a behaviour can run another version of it as they are. Those of a safe one have no owner, and any thread
/// runs their turns; of any other one the owner may be in the middle of one. The last capture of one that stashes is what it keeps.
fn succeeds(new: &BehaviourCode, old: &BehaviourCode) -> bool {
    (new.safe, new.away_only, new.stashes) == (old.safe, old.away_only, old.stashes)
}

/// Returns whether a behaviour was written in place, and has the name of its place: another version may have another one there.
fn is_unnamed(code: &BehaviourCode) -> bool {
    code.name.name().contains('/')
}

impl Program {
    /// Lets the current version of a module take over the actors of all versions before it. Returns those of the version with the hash
    /// `before` that it cannot take over.
    pub(crate) fn succeed(&self, module: Atom, before: u64) -> Vec<StayingBehaviour> {
        let mut inner = self.inner.lock();
        let present = inner.modules.get(&module).copied();
        let mut staying: Vec<StayingBehaviour> = Vec::new();
        for number in 0..inner.behaviour_code.len() {
            let id = BehaviourId(number as u32);
            let code = self.behaviour(id);
            let is_older = code.module == module && Some(code.hash) != present;
            if !is_older || is_unnamed(code) || self.is_succeeded(&inner, id) {
                continue;
            }
            let name = (module, code.name, u32::from(code.captures));
            let new = inner.behaviours.get(&name).and_then(|slot| slot.id());
            let new = new.filter(|new| Some(self.behaviour(*new).hash) == present);
            match new.filter(|new| succeeds(self.behaviour(*new), code)) {
                Some(new) => self.take_over(&mut inner, new, id),
                None if code.hash == before => staying.push(StayingBehaviour {
                    name: code.name,
                    captures: code.captures,
                    is_there: new.is_some(),
                }),
                None => {}
            }
        }
        staying
    }

    /// Makes the code of `new` that of an older number, and of all that this one has taken over.
    fn take_over(&self, inner: &mut Registry, new: BehaviourId, old: BehaviourId) {
        let mut numbers = inner.successions.0.remove(&old).unwrap_or_default();
        numbers.push(old);
        let (code, entry) = (
            self.row(new).code.load(Ordering::Relaxed),
            self.row(new).entry.load(Ordering::Relaxed),
        );
        for id in &numbers {
            // Release, both: whoever finds it finds it complete.
            self.row(*id).entry.store(entry, Ordering::Release);
            self.row(*id).code.store(code, Ordering::Release);
        }
        let taken = inner.successions.0.entry(new).or_default();
        taken.append(&mut numbers);
    }

    /// Returns whether that number runs the code of a later version.
    fn is_succeeded(&self, inner: &Registry, id: BehaviourId) -> bool {
        let own = inner.behaviour_code[id.0 as usize].as_ptr();
        !std::ptr::eq(self.behaviour(id), own)
    }

    /// Installs native code of a version of a behaviour for its number and all that it has taken over. Does nothing if it was itself
    /// taken over since the code was asked for.
    pub(super) fn install_entry(&self, inner: &Registry, id: BehaviourId, entry: EntryPoint) {
        if self.is_succeeded(inner, id) {
            return;
        }
        let older = inner.successions.0.get(&id).into_iter().flatten();
        for id in older.chain([&id]) {
            self.set_entry(*id, entry);
        }
    }
}
