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
//!    A timer that is armed for the actor is such another.
//! 2. What the outside hears is heard in every order: a turn that tells somebody is chosen only if nobody else who has something
//!    to do can come to tell that one. That is known only when it has run (search.rs).
//! 3. If several actors are watched after each turn, what they are together depends on the order of their turns: those are not
//!    chosen (search.rs).
//! 4. Where no chosen event leads further, to a situation that more turns lead to than to this one, all events are taken. Since
//!    steps that lead further end somewhere, nothing is put off for ever.
use super::number_set::NumberSet;
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Situation, WaitingEvent};
use smallvec::SmallVec;

/// A choice among the events that may be next, all of them for one actor.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) target: u32,
    pub(super) events: SmallVec<[u16; 8]>,
    /// Its behaviour never becomes.
    is_safe: bool,
}

/// The relation of who knows whom in a situation. It keeps its room from one to the next.
#[derive(Default)]
pub(super) struct Acquaintance {
    /// Whom each actor holds.
    held: Vec<NumberSet>,
    /// Whom each event is for and names.
    meant: Vec<NumberSet>,
}

impl Acquaintance {
    /// The choices among events that may be next, those with the fewest events first, whether they are [allowed](Self::allows) or not.
    pub(super) fn choices(
        &mut self,
        situation: &Situation,
        shapes: &Shapes,
        enabled: &[u16],
        choices: &mut Vec<Choice>,
    ) {
        choices.clear();
        for &at in enabled {
            let WaitingEvent { target, sender, .. } = situation.pending[usize::from(at)];
            if sender == SentBy::ARMED {
                continue;
            }
            let is_safe = shapes.of(situation.actors[target as usize].shape).is_safe;
            let same = |choice: &&mut Choice| choice.target == target && !is_safe;
            match choices.iter_mut().find(same) {
                Some(choice) => choice.events.push(at),
                None => choices.push(Choice {
                    target,
                    events: SmallVec::from_slice(&[at]),
                    is_safe,
                }),
            }
        }
        let chosen: usize = choices.iter().map(|choice| choice.events.len()).sum();
        if choices.len() < 2 && chosen == enabled.len() {
            return choices.clear();
        }
        self.meet(situation);
        // Always the same actor first, where there is a choice of choices: the others then meet fewer situations.
        choices.sort_by_key(|choice| {
            let shape = situation.actors[choice.target as usize].shape;
            (choice.events.len(), shapes.behaviour(shape).0, shape)
        });
    }

    fn meet(&mut self, situation: &Situation) {
        let actors = situation.actors.len();
        if self.held.len() < actors {
            self.held.resize_with(actors, NumberSet::default);
        }
        if self.meant.len() < situation.pending.len() {
            self.meant
                .resize_with(situation.pending.len(), NumberSet::default);
        }
        for (held, actor) in self.held.iter_mut().zip(&situation.actors) {
            held.clear();
            situation
                .names(*actor)
                .iter()
                .for_each(|name| held.add(*name));
        }
        for (meant, event) in self.meant.iter_mut().zip(&situation.pending) {
            meant.clear();
            meant.add(event.target);
            situation
                .names(event.message)
                .iter()
                .for_each(|name| meant.add(*name));
        }
    }

    /// Returns whether invariant 1 allows a choice.
    pub(super) fn allows(&self, situation: &Situation, choice: &Choice) -> bool {
        self.reached_by_others(situation, choice).is_some()
    }

    fn is_own(choice: &Choice, at: usize, event: &WaitingEvent) -> bool {
        match choice.is_safe {
            true => at == usize::from(choice.events[0]),
            false => event.target == choice.target && event.sender != SentBy::ARMED,
        }
    }

    /// The actors that others can come to send to, if invariant 1 allows that choice.
    fn reached_by_others(&self, situation: &Situation, choice: &Choice) -> Option<NumberSet> {
        let mut reached = NumberSet::default();
        for (at, event) in situation.pending.iter().enumerate() {
            if !Self::is_own(choice, at, event) {
                reached.add_all(&self.meant[at]);
            }
        }
        let mut seen = NumberSet::default();
        while let Some(actor) = reached.next_but(&seen) {
            if !choice.is_safe && actor == choice.target {
                return None;
            }
            seen.add(actor);
            reached.add_all(&self.held[actor as usize]);
        }
        Some(seen)
    }

    /// Returns whether somebody else than those of a choice can come to send to that foreign value.
    pub(super) fn others_may_tell(
        &self,
        situation: &Situation,
        shapes: &Shapes,
        choice: &Choice,
        foreign: u32,
    ) -> bool {
        let Some(reached) = self.reached_by_others(situation, choice) else {
            return true;
        };
        let tells = |shape: u32| shapes.tells(shape, foreign);
        let mut actors = (0..).zip(&situation.actors);
        let mut events = situation.pending.iter().enumerate();
        actors.any(|(number, actor)| reached.has(number) && tells(actor.shape))
            || events
                .any(|(at, event)| !Self::is_own(choice, at, event) && tells(event.message.shape))
    }
}
