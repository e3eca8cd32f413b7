//! Numbers for the actors of a situation, by what they are and not by which numbers they had before.
//!
//! The actors that the outside holds come first, in their order. Then come those that these hold, in the order in which their
//! captures name them; those that messages name that were heard; those that waiting messages are for, and that these name; and at
//! last those that nobody holds and that have stashed something.
//!
//! Where that leaves a choice, those come first whom an event names that looks like no other, or whom all name that look alike, and what they
//! lead to is numbered, until nobody is left of whom that is so. Then colours decide: numbers by which actors are told apart that have no number yet. Actors of one
//! colour look alike: their behaviours, what they hold and what waits for them, and the colours of those that they hold. Which of
//! them is numbered first then makes no difference, in all but odd cases; in these, one situation counts as several, which costs
//! time and leaves nothing out.
//!
//! Invariants:
//! 1. Every actor that may still have a turn has a number, and so has every actor that is named by one of those.
//! 2. What decides, at every step, is what a situation is, and the numbers that were given before. Only where all that leaves a choice do
//!    the numbers decide that its actors had; the order in which its events lie never does (outcomes.rs, invariant 1).
use super::digest::mixed;
use super::rows::ordered;
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Named, Situation};

/// Times that each actor looks at those that it holds.
const ROUNDS: usize = 3;

/// An actor without a number.
pub(super) const NOBODY: u32 = u32::MAX;

/// Returns the look of an actor's number.
#[inline]
fn of_number(number: u32) -> u64 {
    mixed(4, number.into())
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
    /// The number of rounds in which actors have looked at those that they hold; none has a colour before the first round.
    rounds: usize,
    /// The look of each actor.
    looks: Vec<u64>,
    colours: Vec<u64>,
    next_colours: Vec<u64>,
    /// The look of each event that names somebody without a number, and the event's index.
    left: Vec<(u64, u32)>,
    /// The place of each event among those of its sender.
    places: Vec<u32>,
}

impl Numbering {
    /// Numbers a situation, of whose actors the outside holds the first `roots`.
    pub(super) fn number(&mut self, situation: &Situation, roots: usize, shapes: &Shapes) {
        self.of.clear();
        self.of.resize(situation.actors.len(), NOBODY);
        self.actors.clear();
        self.followed = 0;
        self.rounds = 0;
        (0..roots as u32).for_each(|root| self.add(root));
        self.follow(situation);
        for heard in &situation.heard {
            self.add_all(situation.names(heard.message));
        }
        self.follow(situation);
        let mut left = std::mem::take(&mut self.left);
        left.clear();
        let live = situation.actors.len() - situation.gaps.len();
        if self.actors.len() < live {
            let events = (0..situation.pending.len() as u32).map(|at| (0, at));
            left.extend(events.filter(|(_, at)| !self.is_numbered(situation, *at)));
        }
        self.number_events(situation, shapes, &mut left);
        self.left = left;
        if self.actors.len() < live {
            self.number_keepers(situation, shapes);
        }
    }

    /// Returns whether all have numbers whom an event names.
    #[inline]
    fn is_numbered(&self, situation: &Situation, at: u32) -> bool {
        let event = &situation.pending[at as usize];
        let mut names = situation.names(event.message).iter();
        self.of(event.target) != NOBODY && names.all(|name| self.of(*name) != NOBODY)
    }

    /// Numbers those whom events name, and those that these hold.
    fn number_events(
        &mut self,
        situation: &Situation,
        shapes: &Shapes,
        left: &mut Vec<(u64, u32)>,
    ) {
        let mut kinds = 0;
        while !left.is_empty() {
            self.look(situation);
            for (looks, at) in &mut *left {
                *looks = self.of_event(situation, *at as usize);
            }
            if left.len() > 1 {
                left.sort_unstable();
            }
            let (before, kinds_before) = (self.actors.len(), kinds);
            kinds = 0;
            for alike in left.chunk_by(|a, b| a.0 == b.0) {
                kinds += 1;
                self.add_common(situation, alike);
            }
            if self.actors.len() == before {
                // Where a look at others has told nobody apart, one more hardly ever does.
                let is_of_use = self.rounds == 0 || kinds > kinds_before;
                if self.rounds < ROUNDS && is_of_use {
                    self.colour(situation, shapes);
                    continue;
                }
                self.rounds = ROUNDS;
                self.choose(situation, shapes, left);
                self.add_event(situation, left[0].1);
            }
            left.retain(|(_, at)| !self.is_numbered(situation, *at));
        }
    }

    /// Numbers those whom all events that look alike name at the same place.
    fn add_common(&mut self, situation: &Situation, alike: &[(u64, u32)]) {
        let [first, others @ ..] = alike else { return };
        if others.is_empty() {
            return self.add_event(situation, first.1);
        }
        let event = |at: u32| &situation.pending[at as usize];
        let (one, names) = (event(first.1), situation.names(event(first.1).message));
        if others.iter().all(|(_, at)| event(*at).target == one.target) {
            self.add(one.target);
        }
        for (place, name) in names.iter().enumerate() {
            let named = |at: u32| situation.names(event(at).message).get(place);
            if others.iter().all(|(_, at)| named(*at) == Some(name)) {
                self.add(*name);
            }
        }
        self.follow(situation);
    }

    fn add_event(&mut self, situation: &Situation, at: u32) {
        let event = situation.pending[at as usize];
        self.add(event.target);
        self.add_all(situation.names(event.message));
        self.follow(situation);
    }

    /// Numbers those that nobody names and that have stashed something.
    fn number_keepers(&mut self, situation: &Situation, shapes: &Shapes) {
        let is_kept = |at: &u32| shapes.of(situation.actors[*at as usize].shape).keeps;
        let without = |at: &u32| self.of(*at) == NOBODY;
        let all = 0..situation.actors.len() as u32;
        let mut kept: Vec<u32> = all.filter(is_kept).filter(without).collect();
        if kept.len() > 1 {
            while self.rounds < ROUNDS {
                self.look(situation);
                self.colour(situation, shapes);
            }
            self.look(situation);
            kept.sort_by_key(|at| self.looks[*at as usize]);
        }
        for keeper in kept {
            self.add(keeper);
            self.follow(situation);
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

    /// Each actor looks at those that it holds, and at what waits for it, as these look now.
    fn colour(&mut self, situation: &Situation, shapes: &Shapes) {
        if self.rounds == 0 {
            self.places.clear();
            let events = situation.pending.iter();
            self.places.extend(events.map(|event| {
                let target = situation.actors[event.target as usize];
                match shapes.of(target.shape).is_safe {
                    true => 0,
                    false => event.place,
                }
            }));
        }
        let mut next = std::mem::take(&mut self.next_colours);
        next.clear();
        next.extend((0..situation.actors.len()).map(|at| match self.of[at] {
            NOBODY => self.of_value(situation, situation.actors[at]),
            number => of_number(number),
        }));
        for (at, event) in situation.pending.iter().enumerate() {
            if self.of(event.target) == NOBODY {
                let colour = mixed(self.of_event(situation, at), self.places[at].into());
                let sum = &mut next[event.target as usize];
                // A sum: their order is not known.
                *sum = sum.wrapping_add(colour);
            }
        }
        self.next_colours = std::mem::replace(&mut self.colours, next);
        self.rounds += 1;
    }

    /// Finds what each actor looks like: its number, or what it was seen to be, with the numbers of those that it holds.
    fn look(&mut self, situation: &Situation) {
        let mut looks = std::mem::take(&mut self.looks);
        looks.clear();
        looks.extend(self.of.iter().enumerate().map(|(at, number)| {
            if *number != NOBODY {
                return of_number(*number);
            }
            let held = situation.actors[at];
            let seen = match self.rounds {
                0 => held.shape.into(),
                _ => self.colours[at],
            };
            let names = situation.names(held).iter();
            names.fold(mixed(6, seen), |sum, name| {
                mixed(sum, self.of(*name).into())
            })
        }));
        self.looks = looks;
    }

    #[inline]
    fn of_value(&self, situation: &Situation, value: Named) -> u64 {
        let names = situation.names(value).iter();
        names.fold(mixed(6, value.shape.into()), |sum, name| {
            mixed(sum, self.looks[*name as usize])
        })
    }

    #[inline]
    fn of_event(&self, situation: &Situation, at: usize) -> u64 {
        let event = &situation.pending[at];
        // Who sends nothing more is not told from nobody where its event is the only one, and may have no number yet if it does.
        let sender = match event.sender {
            SentBy::ITSELF | SentBy::COPY | SentBy::ARMED | SentBy::CLOCK => event.sender.code(),
            _ => SentBy::ANY.code(),
        };
        let message = self.of_value(situation, event.message);
        let place = match self.rounds {
            0 => 0,
            _ => self.places[at],
        };
        let target = self.looks[event.target as usize];
        mixed(mixed(mixed(message, place.into()), sender.into()), target)
    }

    /// Puts that event first whose actors have the lowest numbers by now, and of those that one that comes first by what it looks
    /// like: where events look alike, those come next that the ones before lead to.
    fn choose(&self, situation: &Situation, shapes: &Shapes, left: &mut [(u64, u32)]) {
        let least = left.iter().enumerate().min_by(|(_, a), (_, b)| {
            let target = |at: u32| self.of(situation.pending[at as usize].target);
            let names = |at: u32| {
                let event = &situation.pending[at as usize];
                let sender = ordered(event, situation, shapes).and_then(SentBy::as_actor);
                let sender = sender.map(|actor| self.of(actor));
                let names = situation.names(event.message).iter();
                let names = names.map(|name| self.of(*name));
                std::iter::once(sender.unwrap_or(NOBODY)).chain(names)
            };
            let first = (target(a.1), a.0).cmp(&(target(b.1), b.0));
            let had = |at: u32| {
                let event = &situation.pending[at as usize];
                (event.target, situation.names(event.message))
            };
            first
                .then_with(|| names(a.1).cmp(names(b.1)))
                .then_with(|| had(a.1).cmp(&had(b.1)))
        });
        let chosen = least.map_or(0, |(at, _)| at);
        left.swap(0, chosen);
    }
}
