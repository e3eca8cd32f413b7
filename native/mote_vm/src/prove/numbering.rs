//! Numbers for the actors of a situation, by what they are and not by which numbers they had before.
//!
//! The actors that the outside holds come first, in their order. Then come those that these hold, in the order in which their
//! captures name them; those that messages name that were heard; those that waiting messages are for, and that these name; and at
//! last those that nobody holds and that have stashed something.
//!
//! Where that leaves a choice, colours decide: numbers by which actors are told apart that have no number yet. Actors of one
//! colour look alike: their behaviours, what they hold and what waits for them, and the colours of those that they hold. Which of
//! them is numbered first then makes no difference, in all but odd cases; in these, one situation counts as several, which costs
//! time and leaves nothing out.
//!
//! Invariants:
//! 1. Every actor that may still have a turn has a number, and so has every actor that is named by one of those.
use super::digest::mixed;
use super::shapes::Shapes;
use super::situation::{Named, Situation, WaitingEvent};

/// Times that each actor looks at those that it holds.
const ROUNDS: usize = 3;

/// An actor without a number.
pub(super) const NOBODY: u32 = u32::MAX;

/// Where an event looks like the shape of its actor, and not like a number.
const UNNUMBERED: u32 = 1 << 31;

/// Returns whether some events look alike that are in the order of what they look like, and do not name the same actors.
fn are_some_alike(situation: &Situation, left: &[(u64, u32)]) -> bool {
    left.windows(2).any(|pair| {
        let [a, b] = [pair[0].1, pair[1].1].map(|at| &situation.pending[at as usize]);
        let names = |event: &WaitingEvent| (event.target, situation.names(event.message));
        pair[0].0 == pair[1].0 && names(a) != names(b)
    })
}

/// See the head of this file. It keeps its room from one situation to the next.
#[derive(Default)]
pub(super) struct Numbering {
    /// The number of each actor.
    of: Vec<u32>,
    /// The actors by their numbers.
    pub(super) actors: Vec<u32>,
    /// Number of actors whose captures were met.
    followed: usize,
    colours: Vec<u64>,
    next_colours: Vec<u64>,
    /// What each event looks like that names somebody without a number, and which one it is.
    left: Vec<(u64, u32)>,
    /// The place of each of those among the events of its sender.
    places: Vec<u32>,
}

impl Numbering {
    /// Numbers a situation, of whose actors the outside holds the first `roots`.
    pub(super) fn number(&mut self, situation: &Situation, roots: usize, shapes: &Shapes) {
        self.of.clear();
        self.of.resize(situation.actors.len(), NOBODY);
        self.actors.clear();
        self.followed = 0;
        (0..roots as u32).for_each(|root| self.add(root));
        self.follow(situation);
        for heard in &situation.heard {
            self.add_all(situation.names(heard.message));
        }
        self.follow(situation);
        self.left.clear();
        for (at, event) in situation.pending.iter().enumerate() {
            let mut names = situation.names(event.message).iter();
            let target = self.of(event.target);
            if target == NOBODY || names.any(|name| self.of(*name) == NOBODY) {
                let looks = match target {
                    NOBODY => UNNUMBERED | situation.actors[event.target as usize].shape,
                    number => number,
                };
                let looks = u64::from(looks) << 32 | u64::from(event.message.shape);
                self.left.push((looks, at as u32));
            }
        }
        let is_kept = |at: &usize| shapes.of(situation.actors[*at].shape).keeps;
        let kept = (0..situation.actors.len()).filter(is_kept);
        let keepers = kept.clone().filter(|at| self.of[*at] == NOBODY).count();
        if self.left.len() + keepers == 0 {
            return;
        }
        self.left.sort_unstable_by_key(|(looks, _)| *looks);
        if keepers > 1 || are_some_alike(situation, &self.left) {
            self.colour(situation, keepers > 1);
        }
        let chooses = are_some_alike(situation, &self.left);
        for at in 0..self.left.len() {
            if chooses {
                self.choose(situation, at);
            }
            let event = situation.pending[self.left[at].1 as usize];
            self.add(event.target);
            self.add_all(situation.names(event.message));
            self.follow(situation);
        }
        if keepers > 0 {
            let mut kept: Vec<usize> = kept.filter(|at| self.of[*at] == NOBODY).collect();
            kept.sort_by_key(|at| self.colours.get(*at).copied());
            for keeper in kept {
                self.add(keeper as u32);
                self.follow(situation);
            }
        }
    }

    /// The number of an actor.
    #[inline]
    pub(super) fn of(&self, actor: u32) -> u32 {
        self.of[actor as usize]
    }

    #[inline]
    fn add(&mut self, actor: u32) {
        let number = &mut self.of[actor as usize];
        if *number == NOBODY {
            *number = self.actors.len() as u32;
            self.actors.push(actor);
        }
    }

    fn add_all(&mut self, names: &[u32]) {
        names.iter().for_each(|name| self.add(*name));
    }

    /// Numbers what numbered actors hold.
    fn follow(&mut self, situation: &Situation) {
        while let Some(&actor) = self.actors.get(self.followed) {
            self.followed += 1;
            self.add_all(situation.names(situation.actors[actor as usize]));
        }
    }

    /// Gives the actors their colours, and puts the events that are left in the order of what they look like then. Where no two
    /// look alike, actors need not look at those that they hold, unless they are `to_be_told` apart without them.
    fn colour(&mut self, situation: &Situation, to_be_told: bool) {
        self.colours.clear();
        let numbered = self.of.iter().zip(&situation.actors);
        self.colours
            .extend(numbered.map(|(number, actor)| match *number {
                NOBODY => mixed(6, actor.shape.into()),
                number => mixed(4, number.into()),
            }));
        self.places.clear();
        let places = (0..situation.pending.len()).map(|at| situation.place(at) as u32);
        self.places.extend(places);
        self.look(situation);
        for _ in 0..ROUNDS {
            if !to_be_told && !are_some_alike(situation, &self.left) {
                return;
            }
            self.colour_again(situation);
            self.look(situation);
        }
    }

    /// Each actor looks at those that it holds.
    fn colour_again(&mut self, situation: &Situation) {
        self.next_colours.clone_from(&self.colours);
        for (at, actor) in situation.actors.iter().enumerate() {
            if self.of[at] == NOBODY {
                self.next_colours[at] = self.of_value(situation, *actor);
            }
        }
        for (at, event) in situation.pending.iter().enumerate() {
            if self.of(event.target) == NOBODY {
                let colour = self.of_event(situation, at);
                let sum = &mut self.next_colours[event.target as usize];
                // A sum: their order is not known.
                *sum = sum.wrapping_add(colour);
            }
        }
        std::mem::swap(&mut self.colours, &mut self.next_colours);
    }

    #[inline]
    fn of_value(&self, situation: &Situation, value: Named) -> u64 {
        let names = situation.names(value).iter();
        names.fold(mixed(6, value.shape.into()), |sum, name| {
            mixed(sum, self.colours[*name as usize])
        })
    }

    #[inline]
    fn of_event(&self, situation: &Situation, at: usize) -> u64 {
        let event = &situation.pending[at];
        let sender = match event.sender.as_actor() {
            Some(actor) => self.colours[actor as usize],
            None if event.sender.is_gone() => 3,
            None => event.sender.code().into(),
        };
        let message = self.of_value(situation, event.message);
        mixed(mixed(message, self.places[at].into()), sender)
    }

    /// Puts the events that are left in the order of what they look like.
    fn look(&mut self, situation: &Situation) {
        let mut left = std::mem::take(&mut self.left);
        for (looks, at) in &mut left {
            let target = situation.pending[*at as usize].target;
            let colour = self.colours[target as usize];
            *looks = mixed(self.of_event(situation, *at as usize), colour);
        }
        left.sort_unstable_by_key(|(looks, _)| *looks);
        self.left = left;
    }

    /// Puts that event first whose actors have the lowest numbers by now, and of those that one that comes first by what it looks
    /// like: where events look alike, those come next that the ones before lead to.
    fn choose(&mut self, situation: &Situation, at: usize) {
        let left = self.left[at..].iter().enumerate();
        let least = left.min_by(|(_, a), (_, b)| {
            let target = |at: u32| self.of(situation.pending[at as usize].target);
            let names = |at: u32| {
                let event = &situation.pending[at as usize];
                let sender = event.sender.as_actor().map(|actor| self.of(actor));
                let names = situation.names(event.message).iter();
                let names = names.map(|name| self.of(*name));
                std::iter::once(sender.unwrap_or(NOBODY)).chain(names)
            };
            let first = (target(a.1), a.0).cmp(&(target(b.1), b.0));
            first.then_with(|| names(a.1).cmp(names(b.1)))
        });
        let chosen = at + least.map_or(0, |(n, _)| n);
        self.left.swap(at, chosen);
    }
}
