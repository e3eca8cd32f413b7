//! The events of a situation that suffice.
//!
//! A turn changes nothing but its actor, and what it sends waits behind whatever the same actor has sent before. So turns of two
//! actors can be swapped, and only the order of the turns of one actor makes a difference. Where nobody else can ever send to
//! an actor before it has a turn, the next event of all is as well one of those that wait for it: everything else that can
//! happen before can as well happen after. (A persistent set, by reachability of addresses.)
//!
//! Invariants:
//! 1. An actor is chosen only if no other that has something to do can come to its address, by what it holds, by what is sent to
//!    it, and by what the actors hold that it can send to. The events of an actor with a safe behaviour are chosen one by one.
//! 2. What the outside hears is heard in every order: a turn that tells somebody is chosen only if nobody else who has something
//!    to do can come to tell that one. That is known only when it has run (search.rs).
//! 3. Where no chosen event leads to a new situation, all events are taken: nothing is put off for ever.
use super::parts::{Component, Components, TooLarge};
use super::read::Live;
use super::situation::is_safe;
use crate::code::program::Program;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::watching::reach::captures;
use rustc_hash::FxHashMap;

/// Some of the events that may be next, and what the others can reach.
pub(super) struct Choice {
    pub(super) events: Vec<usize>,
    heard_by: Vec<u32>,
}

impl Choice {
    /// Returns whether somebody else can come to send to that foreign value.
    pub(super) fn others_may_tell(&self, foreign: u32) -> bool {
        self.heard_by.contains(&foreign)
    }
}

/// What one actor, or one message, names: actors by number, and foreign values.
#[derive(Default)]
struct Names {
    actors: Vec<u32>,
    foreigns: Vec<u32>,
}

/// Who knows whom in a situation.
pub(super) struct Acquaintance {
    of_actors: Vec<Names>,
    /// Of each event: its target by number, what its message names, and whether any order will do for it.
    events: Vec<(u32, Names, bool)>,
}

impl Acquaintance {
    pub(super) fn new(
        live: &Live,
        program: &Program,
        parts: &mut Components,
    ) -> Result<Acquaintance, TooLarge> {
        parts.begin();
        let numbered = live.actors.iter().enumerate();
        let of: FxHashMap<*const Actor, u32> =
            numbered.map(|(n, actor)| (*actor, n as u32)).collect();
        let mut names = |value: Value, names: &mut Names| {
            if value.is_immediate() {
                return Ok(());
            }
            parts.each(value, |part| match part {
                Component::Address(actor) => names.actors.extend(of.get(&actor)),
                Component::Foreign(number) => names.foreigns.push(number),
                _ => {}
            })
        };
        let mut of_actors = Vec::with_capacity(live.actors.len());
        for actor in &live.actors {
            let mut known = Names::default();
            // SAFETY: actors of a situation are live.
            for value in captures(program, unsafe { &**actor }) {
                names(value, &mut known)?;
            }
            of_actors.push(known);
        }
        let mut events = Vec::with_capacity(live.situation.pending.len());
        for pending in &live.situation.pending {
            let mut known = Names::default();
            names(pending.message, &mut known)?;
            let target = of.get(&pending.target).copied().unwrap_or(u32::MAX);
            events.push((target, known, is_safe(program, pending.target)));
        }
        Ok(Acquaintance { of_actors, events })
    }

    /// The choices among events that may be next, those with the fewest events first.
    pub(super) fn choices(&self, enabled: &[usize]) -> Vec<Choice> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for &at in enabled {
            let (target, _, safe) = self.events[at];
            let same = |group: &&mut Vec<usize>| self.events[group[0]].0 == target && !safe;
            match groups.iter_mut().find(same) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        if groups.len() < 2 {
            return Vec::new();
        }
        groups.sort_by_key(Vec::len);
        groups
            .into_iter()
            .filter_map(|group| self.choice(group))
            .collect()
    }

    /// These events, if invariant 1 allows it.
    fn choice(&self, events: Vec<usize>) -> Option<Choice> {
        let (target, _, safe) = self.events[events[0]];
        let mut reached = vec![false; self.of_actors.len()];
        let mut heard_by = Vec::new();
        let mut next = Vec::new();
        for (at, (other, names, _)) in self.events.iter().enumerate() {
            let is_own = if safe {
                at == events[0]
            } else {
                *other == target
            };
            if !is_own {
                next.push(*other);
                next.extend(&names.actors);
                heard_by.extend(&names.foreigns);
            }
        }
        while let Some(actor) = next.pop() {
            let Some(seen) = reached.get_mut(actor as usize) else {
                return None;
            };
            if !safe && actor == target {
                return None;
            }
            if !std::mem::replace(seen, true) {
                let names = &self.of_actors[actor as usize];
                next.extend(&names.actors);
                heard_by.extend(&names.foreigns);
            }
        }
        Some(Choice { events, heard_by })
    }
}
