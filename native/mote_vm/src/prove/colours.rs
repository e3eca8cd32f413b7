//! Colours: numbers by which actors are told apart that nothing has numbered yet.
//!
//! Actors of one colour look alike: their behaviours, what they hold and what waits for them, and the colours of those that they
//! hold. Which of them is numbered first then makes no difference, in all but odd cases; in these, one situation counts as
//! several, which costs time and leaves nothing out.
use super::digest::mixed;
use super::numbering::Numbering;
use super::parts::{Component, Components, TooLarge};
use super::situation::{SentBy, Situation, WaitingEvent};
use crate::code::program::Program;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::watching::reach::captures;
use rustc_hash::FxHashMap;

/// Times that each actor looks at those that it holds.
const ROUNDS: usize = 3;

/// The colours of actors without a number.
pub(super) struct Colours(FxHashMap<*const Actor, u64>);

impl Colours {
    /// Looks at all that the numbering has not met.
    pub(super) fn new(
        situation: &Situation,
        numbering: &Numbering,
        program: &Program,
        parts: &mut Components,
    ) -> Result<Colours, TooLarge> {
        let mut colours = Colours(FxHashMap::default());
        let all = colours.meet_all(situation, numbering, program, parts)?;
        for _ in 0..ROUNDS {
            let mut next = FxHashMap::default();
            for actor in &all {
                let colour = colours.look(*actor, situation, numbering, program, parts)?;
                next.insert(*actor, colour);
            }
            colours.0 = next;
        }
        Ok(colours)
    }

    fn meet_all(
        &mut self,
        situation: &Situation,
        numbering: &Numbering,
        program: &Program,
        parts: &mut Components,
    ) -> Result<Vec<*const Actor>, TooLarge> {
        let mut all = Vec::new();
        let colours = &mut self.0;
        let mut meet = |actor: *const Actor, all: &mut Vec<*const Actor>| {
            if numbering.of(actor).is_none() && colours.insert(actor, 0).is_none() {
                all.push(actor);
            }
        };
        for WaitingEvent {
            target, message, ..
        } in &situation.pending
        {
            meet(*target, &mut all);
            addresses(*message, parts, |actor| meet(actor, &mut all))?;
        }
        for keeper in &situation.keepers {
            meet(*keeper, &mut all);
        }
        let mut at = 0;
        while at < all.len() {
            // SAFETY: actors of a situation are live.
            for value in captures(program, unsafe { &*all[at] }) {
                addresses(value, parts, |actor| meet(actor, &mut all))?;
            }
            at += 1;
        }
        Ok(all)
    }

    /// The colour of an actor by those of the last round.
    fn look(
        &self,
        actor: *const Actor,
        situation: &Situation,
        numbering: &Numbering,
        program: &Program,
        parts: &mut Components,
    ) -> Result<u64, TooLarge> {
        // SAFETY: actors of a situation are live.
        let record = unsafe { &*actor };
        let mut sum = mixed(1, u64::from(record.header().behaviour().0));
        for value in captures(program, record) {
            sum = mixed(sum, self.of_value(value, numbering, parts)?);
        }
        let mut waits = 0u64;
        for (at, pending) in situation.pending.iter().enumerate() {
            if pending.target == actor {
                let message = self.of_value(pending.message, numbering, parts)?;
                let place = situation.place(at) as u64;
                let sender = self.of_sender(pending.sender, numbering);
                // A sum: their order is not known.
                waits = waits.wrapping_add(mixed(mixed(message, place), sender));
            }
        }
        Ok(mixed(sum, waits))
    }

    fn of_sender(&self, sender: SentBy, numbering: &Numbering) -> u64 {
        match sender {
            SentBy::Any => 1,
            SentBy::Itself => 2,
            SentBy::Gone(_) => 3,
            SentBy::Actor(actor) => self.of(actor, numbering),
        }
    }

    /// The colour of an actor, whether it has a number or not.
    pub(super) fn of(&self, actor: *const Actor, numbering: &Numbering) -> u64 {
        match numbering.of(actor) {
            Some(number) => mixed(4, u64::from(number)),
            // One that only sends, and that nobody holds, has none.
            None => self.0.get(&actor).copied().unwrap_or(5),
        }
    }

    /// The colour of a value.
    pub(super) fn of_value(
        &self,
        value: Value,
        numbering: &Numbering,
        parts: &mut Components,
    ) -> Result<u64, TooLarge> {
        let mut sum = 6;
        parts.each(value, |part| {
            sum = mixed(sum, self.of_part(part, numbering))
        })?;
        Ok(sum)
    }

    fn of_part(&self, part: Component<'_>, numbering: &Numbering) -> u64 {
        let count = |kind: u64, n: usize| mixed(kind, n as u64);
        match part {
            Component::Word(value) => value.word(),
            Component::Address(actor) => self.of(actor, numbering),
            Component::Tuple(n) => count(7, n),
            Component::List(n) => count(8, n),
            Component::Map(n) => count(9, n),
            Component::On => 10,
            Component::Float(bits) => mixed(11, bits),
            Component::Bytes(bytes) => bytes
                .iter()
                .fold(12, |sum, byte| mixed(sum, (*byte).into())),
            Component::Integer(big) => {
                let limbs = big.limbs().iter();
                limbs.fold(13 + u64::from(big.is_negative()), |sum, n| mixed(sum, *n))
            }
            Component::Timer(_) => 15,
            Component::Foreign(number) => mixed(16, number.into()),
        }
    }
}

/// Shows every address in a value.
pub(super) fn addresses(
    value: Value,
    parts: &mut Components,
    mut see: impl FnMut(*const Actor),
) -> Result<(), TooLarge> {
    parts.each(value, |part| {
        if let Component::Address(actor) = part {
            see(actor);
        }
    })
}
