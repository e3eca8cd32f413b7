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
//! 3. If several actors are watched after each turn, what they are together depends on the order of their turns: those are not
//!    chosen (search.rs).
//! 4. Where no chosen event leads to a new situation, all events are taken: nothing is put off for ever.
use super::parts::{Component, Components, TooLarge};
use super::read::Live;
use super::situation::is_safe;
use crate::code::program::Program;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::watching::reach::captures;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Some of the events that may be next, and what the others can come to tell.
pub(super) struct Choice {
    pub(super) events: Vec<usize>,
    told_by_others: NumberSet,
}

impl Choice {
    /// Returns whether somebody else can come to send to that foreign value.
    pub(super) fn others_may_tell(&self, foreign: u32) -> bool {
        self.told_by_others.has(foreign)
    }
}

/// A set of small numbers. Most searches have fewer actors than a word has bits.
#[derive(Clone, Default)]
struct NumberSet(SmallVec<[u64; 1]>);

impl NumberSet {
    fn add(&mut self, number: u32) {
        let at = number as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (number % 64);
    }

    fn has(&self, number: u32) -> bool {
        let word = self.0.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    fn add_all(&mut self, others: &NumberSet) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word |= other;
        }
    }

    /// The first one that is not in `others`.
    fn next_but(&self, others: &NumberSet) -> Option<u32> {
        let mut words = self.0.iter().enumerate();
        words.find_map(|(at, word)| {
            let left = word & !others.0.get(at).copied().unwrap_or(0);
            (left != 0).then(|| at as u32 * 64 + left.trailing_zeros())
        })
    }
}

/// What one actor, or one message, names: actors by number, and foreign values.
#[derive(Default)]
struct Names {
    actors: NumberSet,
    foreigns: NumberSet,
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
                Component::Address(actor) => {
                    if let Some(number) = of.get(&actor) {
                        names.actors.add(*number);
                    }
                }
                Component::Foreign(number) => names.foreigns.add(number),
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
            // All of them have numbers.
            let target = of.get(&pending.target).copied().unwrap_or_default();
            events.push((target, known, is_safe(program, pending.target)));
        }
        Ok(Acquaintance { of_actors, events })
    }

    /// The choices among events that may be next, those with the fewest events first.
    pub(super) fn choices(&self, enabled: &[usize]) -> impl Iterator<Item = Choice> + '_ {
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
            groups.clear();
        }
        groups.sort_by_key(Vec::len);
        groups.into_iter().filter_map(|group| self.choice(group))
    }

    /// These events, if invariant 1 allows it.
    fn choice(&self, events: Vec<usize>) -> Option<Choice> {
        let (target, _, safe) = self.events[events[0]];
        let (mut reached, mut told_by_others) = (NumberSet::default(), NumberSet::default());
        for (at, (other, names, _)) in self.events.iter().enumerate() {
            let is_own = if safe {
                at == events[0]
            } else {
                *other == target
            };
            if !is_own {
                reached.add(*other);
                reached.add_all(&names.actors);
                told_by_others.add_all(&names.foreigns);
            }
        }
        let mut seen = NumberSet::default();
        while let Some(actor) = reached.next_but(&seen) {
            if !safe && actor == target {
                return None;
            }
            seen.add(actor);
            let names = &self.of_actors[actor as usize];
            reached.add_all(&names.actors);
            told_by_others.add_all(&names.foreigns);
        }
        Some(Choice {
            events,
            told_by_others,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_added_whatever_its_size() {
        let (mut some, mut all, mut seen) = (
            NumberSet::default(),
            NumberSet::default(),
            NumberSet::default(),
        );
        for number in [0, 5, 63, 64, 200] {
            assert!(!some.has(number));
            some.add(number);
        }
        all.add(7);
        all.add_all(&some);
        let mut found = Vec::new();
        while let Some(number) = all.next_but(&seen) {
            seen.add(number);
            found.push(number);
        }
        assert_eq!(found, [0, 5, 7, 63, 64, 200]);
        assert!(!all.has(1_000) && some.next_but(&seen).is_none());
    }
}
