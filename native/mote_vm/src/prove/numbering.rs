//! Numbers for the actors of a situation, by what they are and not by where they lie.
//!
//! The actors that the outside holds come first, in their order. Then come those that these hold, in the order in which their
//! captures name them; those that waiting messages name; and at last those that nobody holds, but for which something waits, or
//! that have stashed something.
//! Where that leaves a choice, colours decide (colours.rs).
//!
//! Invariants:
//! 1. Every actor that may still have a turn has a number, and so has every actor that is named by one of those.
use super::colours::{addresses, Colours};
use super::parts::{Components, TooLarge};
use super::situation::{SentBy, Situation};
use crate::code::program::Program;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::watching::reach::captures;
use rustc_hash::FxHashMap;

/// See the head of this file.
#[derive(Default)]
pub(super) struct Numbering {
    of: FxHashMap<*const Actor, u32>,
    pub(super) actors: Vec<*const Actor>,
    /// Number of actors whose captures were met.
    followed: usize,
}

impl Numbering {
    /// The numbers of a situation.
    pub(super) fn new(
        situation: &Situation,
        program: &Program,
        parts: &mut Components,
    ) -> Result<Numbering, TooLarge> {
        let mut numbering = Numbering::of_roots(situation);
        numbering.of.reserve(parts.actors);
        numbering.actors.reserve(parts.actors);
        numbering.follow(program, parts)?;
        for heard in &situation.heard {
            numbering.meet(heard.message, parts)?;
        }
        let mut left: Vec<usize> = (0..situation.pending.len()).collect();
        let mut colours = None;
        loop {
            numbering.follow(program, parts)?;
            numbering.pass(situation, &mut left, parts)?;
            let is_new = |actor: &*const Actor| numbering.of(*actor).is_none();
            let keepers: Vec<_> = situation.keepers.iter().copied().filter(is_new).collect();
            if left.len() + keepers.len() > 1 && colours.is_none() {
                colours = Some(Colours::new(situation, &numbering, program, parts)?);
            }
            let next = match &colours {
                Some(colours) => numbering.first(situation, &left, colours, parts)?,
                None => left.first().copied(),
            };
            let Some(next) = next else {
                let colour = |actor: &*const Actor| {
                    let colours = colours.as_ref();
                    colours.map_or(0, |colours| colours.of(*actor, &numbering))
                };
                match keepers.into_iter().min_by_key(colour) {
                    Some(keeper) => numbering.add(keeper),
                    None => {
                        parts.actors = numbering.actors.len() + 2;
                        return Ok(numbering);
                    }
                }
                continue;
            };
            let pending = &situation.pending[next];
            match numbering.of(pending.target) {
                None => numbering.add(pending.target),
                Some(_) => numbering.meet(pending.message, parts)?,
            }
        }
    }

    /// The numbers of those that the outside holds.
    pub(super) fn of_roots(situation: &Situation) -> Numbering {
        let mut numbering = Numbering::default();
        for root in situation.roots.iter() {
            numbering.add(*root);
        }
        numbering
    }

    /// The number of an actor, if it has one.
    pub(super) fn of(&self, actor: *const Actor) -> Option<u32> {
        self.of.get(&actor).copied()
    }

    fn add(&mut self, actor: *const Actor) {
        let next = self.actors.len() as u32;
        if let std::collections::hash_map::Entry::Vacant(free) = self.of.entry(actor) {
            free.insert(next);
            self.actors.push(actor);
        }
    }

    /// Numbers what a value names.
    fn meet(&mut self, value: Value, parts: &mut Components) -> Result<(), TooLarge> {
        if value.is_immediate() {
            return Ok(());
        }
        addresses(value, parts, |actor| self.add(actor))
    }

    /// Numbers what numbered actors hold.
    fn follow(&mut self, program: &Program, parts: &mut Components) -> Result<(), TooLarge> {
        while let Some(&actor) = self.actors.get(self.followed) {
            self.followed += 1;
            // SAFETY: actors of a situation are live.
            for value in captures(program, unsafe { &*actor }) {
                self.meet(value, parts)?;
            }
        }
        Ok(())
    }

    /// Leaves out the events that name nobody new.
    fn pass(
        &self,
        situation: &Situation,
        left: &mut Vec<usize>,
        parts: &mut Components,
    ) -> Result<(), TooLarge> {
        let mut kept = 0;
        for i in 0..left.len() {
            let pending = &situation.pending[left[i]];
            let mut is_new = self.of(pending.target).is_none();
            if !is_new && !pending.message.is_immediate() {
                let see = |actor| is_new |= self.of(actor).is_none();
                addresses(pending.message, parts, see)?;
            }
            if is_new {
                left[kept] = left[i];
                kept += 1;
            }
        }
        left.truncate(kept);
        Ok(())
    }

    /// The first of these events: those of numbered actors come before all others.
    fn first(
        &self,
        situation: &Situation,
        left: &[usize],
        colours: &Colours,
        parts: &mut Components,
    ) -> Result<Option<usize>, TooLarge> {
        let mut best = None;
        for &at in left {
            let pending = &situation.pending[at];
            let message = colours.of_value(pending.message, self, parts)?;
            let target = match self.of(pending.target) {
                Some(number) => (0, u64::from(number)),
                None => (1, colours.of(pending.target, self)),
            };
            let sender = match pending.sender {
                SentBy::Itself => (0, 0),
                SentBy::Any => (1, 0),
                SentBy::Gone(_) => (2, 0),
                SentBy::Actor(actor) => match self.of(actor) {
                    Some(number) => (3, u64::from(number)),
                    None => (2, colours.of(actor, self)),
                },
            };
            let key = (target, sender, situation.place(at), message);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, at));
            }
        }
        Ok(best.map(|(_, at)| at))
    }
}
