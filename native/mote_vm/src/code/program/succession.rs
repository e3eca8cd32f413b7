//! New versions of behaviours, which run in the place of those before them: an actor keeps its number, and the row of that number in
//! the table has the new code. No actor is touched.
//!
//! A turn may meet both versions while one succeeds the other: native code of the one has begun it, and the interpreter runs it
//! from its beginning with the code of the other. So one of the two has run all of it.
//!
//! Invariants:
//! 1. What follows a behaviour has its name and as many captures, as they are written, stashes if it does, and runs where it runs: or it
//!    is a change from such a one (lib/mote/behaviour/changes.ex), whose name in its unit says so.
//! 2. Actors of a safe behaviour have no owner, and any thread runs their turns; of any other one the owner may be in the middle of a
//!    turn. So one that is safe follows one that is not, or the other way round, only while everything stands still: each event is
//!    routed by what its actor is when it is taken (threads/route.rs).
use super::{BehaviourCode, Program, Registry};
use crate::base::atom::Atom;
use crate::code::entry::EntryPoint;
use crate::values::actor::BehaviourId;
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;

/// Suffixes of the names of changes: from a behaviour that does not stash, and from one that does.
const CHANGE: [&str; 2] = [" change", " stashing change"];

/// The numbers that a version of a behaviour has taken over, by its own number.
#[derive(Default)]
pub(super) struct Successions(FxHashMap<BehaviourId, Vec<BehaviourId>>);

/// The way in which new versions take over actors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakeOver {
    /// While turns run: only where that makes no difference to who runs them.
    Running,
    /// While everything stands still.
    StandingStill,
    /// Not at all: the machine is durable, and its turns are to run again as they ran.
    Never,
}

/// The reason why the actors of a behaviour go on with an older version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WhyStaying {
    /// The present version has nothing that follows it.
    Absent,
    /// It has one of that name and as many captures, which cannot run them.
    OtherKind,
    /// Its successor may take over only while everything stands still.
    Running,
    /// The machine is durable.
    Durable,
}

/// A behaviour whose actors go on with an older version.
pub struct StayingBehaviour {
    pub(crate) id: BehaviourId,
    /// Its name, as it is written.
    pub name: Atom,
    /// The number of its captures, as they are written.
    pub captures: usize,
    /// The reason why its actors stay what they are.
    pub why: WhyStaying,
}

/// Returns the name of a behaviour as it is written, and whether it is a change.
pub(crate) fn written_name(name: Atom) -> (Atom, bool) {
    let text = name.name();
    // The longer one first: it ends with the other.
    let found = CHANGE.iter().rev().find_map(|end| text.strip_suffix(end));
    match found {
        Some(written) => (Atom::new(written), true),
        None => (name, false),
    }
}

/// Returns whether a behaviour was written in place, and has the name of its place: another version may have another one there.
fn is_unnamed(code: &BehaviourCode) -> bool {
    code.name.name().contains('/')
}

impl Program {
    /// Lets the current version of a module take over the actors of all versions before it. Returns those that it does not.
    pub(crate) fn succeed(&self, module: Atom, how: TakeOver) -> Vec<StayingBehaviour> {
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
            let next = self.follower_among(&inner, id);
            let why = match next.map(|next| (next, self.behaviour(next).safe == code.safe)) {
                _ if how == TakeOver::Never => WhyStaying::Durable,
                Some((_, false)) if how == TakeOver::Running => WhyStaying::Running,
                Some((next, _)) => {
                    self.take_over(&mut inner, next, id);
                    continue;
                }
                None if self.is_there(&inner, code) => WhyStaying::OtherKind,
                None => WhyStaying::Absent,
            };
            staying.push(StayingBehaviour {
                id,
                name: code.written,
                captures: code.written_captures(),
                why,
            });
        }
        staying
    }

    /// Returns what follows an older version of a behaviour in the present one (invariant 1).
    pub(crate) fn follower(&self, id: BehaviourId) -> Option<BehaviourId> {
        self.follower_among(&self.inner.lock(), id)
    }

    fn follower_among(&self, inner: &Registry, id: BehaviourId) -> Option<BehaviourId> {
        let old = self.behaviour(id);
        let present = inner.modules.get(&old.module)?;
        let named = |name: Atom| {
            let name = (old.module, name, u32::from(old.captures));
            let found = inner.behaviours.get(&name)?.id()?;
            let new = self.behaviour(found);
            let follows =
                (new.hash, new.stashes, new.away_only) == (*present, old.stashes, old.away_only);
            follows.then_some(found)
        };
        let change = CHANGE[usize::from(old.stashes)];
        let change = || Atom::new(&format!("{}{change}", old.written.name()));
        named(old.written).or_else(|| named(change()))
    }

    /// Returns whether the present version has a behaviour of the same name with as many captures, whatever else it does.
    fn is_there(&self, inner: &Registry, old: &BehaviourCode) -> bool {
        let n = old.written_captures();
        [n, n + 1].into_iter().any(|parts| {
            let name = (old.module, old.written, parts as u32);
            let found = inner.behaviours.get(&name).and_then(|slot| slot.id());
            found.map(|id| self.behaviour(id)).is_some_and(|new| {
                inner.modules.get(&old.module) == Some(&new.hash) && new.written_captures() == n
            })
        })
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
