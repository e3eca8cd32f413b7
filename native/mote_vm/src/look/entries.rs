//! Shows the actors of a directory's shard, key by key, as of their last commits: some at a time.
//!
//! Invariants:
//! 1. Whoever looks is the thread that owns the shard, between two turns, or stands in for it (peek.rs). Each state is a whole one.
//! 2. The keys come in their order, and a part begins behind the last key of the one before. So a key that is there all the time comes
//!    once, whatever comes and goes meanwhile, and no part needs anything that the one before has left.
//! 3. A part takes a moment. A state that would not, and one of an actor that another thread owns, is left out: its key comes without.
//!    A large key begins a part, which the thread itself shows.
use super::inspect::ActorVisit;
use super::peek::{Peek, SeenState};
use crate::boundary::parcel::Parcel;
use crate::heap::Heap;
use crate::machine::Machine;
use crate::platform::prefetch::prefetch;
use crate::terms::map;
use crate::threads::stand_in::{is_small, MOST_SENT};
use crate::threads::thread::Dispatch;
use crate::values::actor::Actor;
use crate::values::handles::Key;
use crate::values::term::Term;
use crate::values::value::Value;
use smallvec::SmallVec;

/// The most entries of a part.
const MOST: usize = 256;
/// Parts of keys and states that are shown at once, and of one state.
const MOST_PARTS: usize = 4_096;
const MOST_OF_STATE: usize = MOST_SENT;

/// Actors are all over the heap: this many are fetched from memory at the same time.
const AHEAD: usize = 12;

/// Keys and what is at them.
type SomeEntries = SmallVec<[(Value, Value); MOST]>;

/// Some entries of a shard.
pub struct ShardEntries<'d> {
    thread: &'d mut Dispatch,
    entries: SomeEntries,
    /// True if there are more behind them.
    more: bool,
}

/// A callback that receives entries.
pub type EntriesLook = Box<dyn FnOnce(&mut ShardEntries<'_>) + Send>;

impl Machine {
    /// Shows the entries of a shard that come after a key, or the first ones, while the shard's thread sleeps.
    pub fn glimpse_entries<R>(
        &self,
        shard: Key,
        after: Option<Parcel>,
        show: impl FnOnce(&mut ShardEntries<'_>) -> R,
    ) -> Peek<R> {
        if after
            .as_ref()
            .is_some_and(|after| !after.is_for(self.handles()))
        {
            return Peek::Unknown;
        }
        self.look_at(shard, |thread, shard| {
            match ShardEntries::of(thread, shard, after) {
                Some(mut entries) if entries.begin_small() => Peek::Seen(show(&mut entries)),
                _ => Peek::Busy,
            }
        })
    }
}

/// Creates the visit that shows the entries of a shard after that key. It looks at nothing if that is no shard, or where there is no
/// memory for the key.
pub(crate) fn visit(after: Option<Parcel>, look: EntriesLook) -> ActorVisit {
    Box::new(|thread, shard| {
        if let Some(mut entries) = ShardEntries::of(thread, shard, after) {
            look(&mut entries);
        }
    })
}

/// Returns the first entries after that key. Returns nothing where there is no memory for the key; the heap is as before in any case.
fn some_after(heap: &mut Heap, map: map::Node<'_>, after: Option<Parcel>) -> Option<SomeEntries> {
    let position = heap.position();
    let after = after.map(|after| after.unpack(heap, &mut Vec::new()));
    let entries = match after {
        None => Some(map::entries(map).take(MOST + 1).collect()),
        Some(Value::NONE) => None,
        Some(after) => Some(map::entries_after(map, after).take(MOST + 1).collect()),
    };
    heap.rewind(&position);
    entries
}

impl<'d> ShardEntries<'d> {
    /// Returns the entries after that key. Returns nothing where there is no memory for the key, or that is no shard.
    fn of(
        thread: &'d mut Dispatch,
        shard: &Actor,
        after: Option<Parcel>,
    ) -> Option<ShardEntries<'d>> {
        let map = thread.entries_of(shard)?;
        let mut entries = some_after(&mut thread.turn.heap, map, after)?;
        let more = entries.len() > MOST;
        entries.truncate(MOST);
        Some(ShardEntries {
            thread,
            entries,
            more,
        })
    }

    /// Returns whether the first key takes a moment to show.
    fn begin_small(&self) -> bool {
        let first = self.entries.first();
        first.is_none_or(|(key, _)| is_small(Term::new(*key), &mut { MOST_PARTS }))
    }

    /// Shows each key with the state of its actor, if that can be seen here. Returns whether there are more entries.
    pub fn each(&mut self, mut show: impl FnMut(Term<'_>, Option<SeenState<'_>>)) -> bool {
        let mut left = MOST_PARTS;
        for (shown, (key, actor)) in self.entries.iter().enumerate() {
            if let Some((_, soon)) = self.entries.get(shown + AHEAD) {
                prefetch(soon.address_pointer().cast());
            }
            let key = Term::new(*key);
            if left < MOST_OF_STATE || !is_small(key, &mut left) && shown > 0 {
                return true;
            }
            let mut most = left.min(MOST_OF_STATE);
            left -= most;
            let state = actor.is_address().then(|| {
                // SAFETY: the shard holds it, and nothing is collected meanwhile.
                let actor = unsafe { &*actor.address_pointer() };
                let here = self.thread.is_for_peeks(actor);
                here.then(|| self.thread.small_state(actor, &mut most))
            });
            left += most;
            show(key, state.flatten().flatten());
        }
        self.more
    }

    /// The machine.
    pub fn machine(&self) -> Machine {
        self.thread.context.machine.clone()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::boundary::parcel::Builder;
    use crate::heap::block::BlockPool;
    use std::sync::Arc;

    #[test]
    fn a_key_without_memory_leaves_the_heap_as_it_was() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let entries = (0..3).map(|n| (Value::fixnum(n), Value::NIL)).collect();
        let map = map::from_entries(&mut heap, entries);
        let map = map::Node::of(map).expect("a map");
        let key = || {
            let mut key = Builder::new();
            key.tuple(1);
            assert!(key.integer(1));
            key.finish()
        };
        heap.refused_after = Some(0);
        assert!(some_after(&mut heap, map, Some(key())).is_none());
        assert!(!heap.exhausted());
        let found = some_after(&mut heap, map, None);
        assert_eq!(found.map(|found| found.len()), Some(3));
    }
}
