//! The entries of actors, by the actors' own places in memory.
//!
//! Actors that are created together are neighbours, and mostly let go of together. So the positions of neighbours are neighbours here, and
//! the next actor's is in the cache already.
use crate::values::actor::Actor;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Actors whose positions are together.
const NEIGHBOURS: usize = 8;

/// The position of an actor that has no entry.
const NONE: u32 = u32::MAX;

type Neighbours = [u32; NEIGHBOURS];

#[derive(Default)]
pub(super) struct ByActor {
    groups: FxHashMap<usize, Neighbours>,
    len: usize,
}

impl ByActor {
    /// The bytes of one group.
    pub(super) const GROUP_BYTES: usize = size_of::<(usize, Neighbours)>();

    /// Returns the group of an actor, and its place there.
    fn place(actor: *const Actor) -> (usize, usize) {
        let number = actor.addr() / size_of::<Actor>();
        (number / NEIGHBOURS, number % NEIGHBOURS)
    }

    /// Returns the position of an actor's entry.
    pub(super) fn get(&self, actor: *const Actor) -> Option<usize> {
        let (group, place) = ByActor::place(actor);
        let at = self.groups.get(&group)?[place];
        (at != NONE).then_some(at as usize)
    }

    /// Notes the entry that an actor is found by from now on.
    pub(super) fn insert(&mut self, actor: *const Actor, at: u32) {
        let (group, place) = ByActor::place(actor);
        let group = self.groups.entry(group).or_insert([NONE; NEIGHBOURS]);
        let before = std::mem::replace(&mut group[place], at);
        self.len += usize::from(before == NONE);
    }

    /// Forgets an actor, if it is found by that entry.
    pub(super) fn remove(&mut self, actor: *const Actor, at: u32) {
        let (group, place) = ByActor::place(actor);
        let Entry::Occupied(mut group) = self.groups.entry(group) else {
            return;
        };
        if group.get()[place] == at {
            group.get_mut()[place] = NONE;
            self.len -= 1;
            if *group.get() == [NONE; NEIGHBOURS] {
                group.remove();
            }
        }
    }

    /// Returns the number of actors.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes that it has grown to.
    pub(super) fn bytes(&self) -> usize {
        self.groups.capacity() * ByActor::GROUP_BYTES
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_group_for_as_long_as_one_of_them_is_there() {
        let actor = |n: usize| std::ptr::without_provenance(size_of::<Actor>() * n);
        let mut by_actor = ByActor::default();
        let last = 3 * NEIGHBOURS as u32;
        for n in 1..=last {
            by_actor.insert(actor(n as usize), last - n);
        }
        // The entry of an actor is replaced, and the one before is not its any more.
        by_actor.insert(actor(2), 77);
        by_actor.remove(actor(2), last - 2);
        assert_eq!((by_actor.len(), by_actor.groups.len()), (last as usize, 4));
        for n in 1..=last {
            let at = if n == 2 { 77 } else { last - n };
            assert_eq!(by_actor.get(actor(n as usize)), Some(at as usize));
            by_actor.remove(actor(n as usize), at);
            by_actor.remove(actor(n as usize), at);
            assert_eq!(by_actor.get(actor(n as usize)), None);
            let groups = 4 - (n as usize + 1) / NEIGHBOURS;
            assert_eq!(
                (by_actor.len(), by_actor.groups.len()),
                ((last - n) as usize, groups * usize::from(n < last))
            );
        }
    }
}
