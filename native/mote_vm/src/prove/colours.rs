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
#[derive(Default)]
pub(super) struct Colours {
    all: Vec<*const Actor>,
    at: FxHashMap<*const Actor, usize>,
    of: Vec<u64>,
}

impl Colours {
    /// Looks at all that the numbering has not met.
    pub(super) fn new(
        situation: &Situation,
        numbering: &Numbering,
        program: &Program,
        parts: &mut Components,
    ) -> Result<Colours, TooLarge> {
        let mut colours = Colours::default();
        colours.meet_all(situation, numbering, program, parts)?;
        colours.of = vec![0; colours.all.len()];
        let places = (0..situation.pending.len()).map(|at| situation.place(at) as u64);
        let places: Vec<u64> = places.collect();
        for _ in 0..ROUNDS {
            let mut next = Vec::with_capacity(colours.all.len());
            for actor in &colours.all {
                // SAFETY: actors of a situation are live.
                let record = unsafe { &**actor };
                let mut sum = mixed(1, u64::from(record.header().behaviour().0));
                for value in captures(program, record) {
                    sum = mixed(sum, colours.of_value(value, numbering, parts)?);
                }
                next.push(sum);
            }
            for (pending, place) in situation.pending.iter().zip(&places) {
                if let Some(at) = colours.at.get(&pending.target) {
                    let message = colours.of_value(pending.message, numbering, parts)?;
                    let sender = colours.of_sender(pending.sender, numbering);
                    // A sum: their order is not known.
                    next[*at] = next[*at].wrapping_add(mixed(mixed(message, *place), sender));
                }
            }
            colours.of = next;
        }
        Ok(colours)
    }

    fn meet_all(
        &mut self,
        situation: &Situation,
        numbering: &Numbering,
        program: &Program,
        parts: &mut Components,
    ) -> Result<(), TooLarge> {
        for WaitingEvent {
            target, message, ..
        } in &situation.pending
        {
            self.meet(*target, numbering);
            addresses(*message, parts, |actor| self.meet(actor, numbering))?;
        }
        for keeper in &situation.keepers {
            self.meet(*keeper, numbering);
        }
        let mut at = 0;
        while let Some(&actor) = self.all.get(at) {
            // SAFETY: actors of a situation are live.
            for value in captures(program, unsafe { &*actor }) {
                addresses(value, parts, |actor| self.meet(actor, numbering))?;
            }
            at += 1;
        }
        Ok(())
    }

    fn meet(&mut self, actor: *const Actor, numbering: &Numbering) {
        if numbering.of(actor).is_none() && !self.at.contains_key(&actor) {
            self.at.insert(actor, self.all.len());
            self.all.push(actor);
        }
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
            None => self.at.get(&actor).map_or(5, |at| self.of[*at]),
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
            Component::Function(what, n) => mixed(count(17, n), what.word()),
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

/// The digest of what some actors that the outside holds are. Others that they know of count as one.
pub(super) fn view(
    situation: &Situation,
    actors: impl Iterator<Item = *const Actor>,
    program: &Program,
    parts: &mut Components,
) -> Result<u64, TooLarge> {
    parts.begin();
    let (numbering, colours) = (Numbering::of_roots(situation), Colours::default());
    let mut sum = 17;
    for actor in actors {
        // SAFETY: actors of a situation are live.
        let record = unsafe { &*actor };
        sum = mixed(sum, u64::from(record.header().behaviour().0));
        for value in captures(program, record) {
            sum = mixed(sum, colours.of_value(value, &numbering, parts)?);
        }
    }
    Ok(sum)
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
