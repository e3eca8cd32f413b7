//! What is foretold is what comes, in situations and for turns that are made up.
use super::*;
use crate::prove::compact::RoomyBytes;
use crate::prove::deeds::DeedEnd;
use crate::prove::likeness;
use crate::prove::number_set::NumberSet;
use crate::prove::numbering::{Numbering, NOBODY};
use crate::prove::shapes::ShapeKind;
use crate::prove::situation::{Heard, Named};
use crate::prove::written::{read, write};
use crate::values::value::Value;

/// Chooses as it comes, and the same each time.
struct Choices(u64);

impl Choices {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % count
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn names(&mut self, count: u32, among: usize) -> Vec<u32> {
        (0..count).map(|_| self.below(among) as u32).collect()
    }
}

/// Shapes of actors, among them safe ones and some that keep events, and shapes of messages.
struct Kinds {
    shapes: Shapes,
    actors: Vec<u32>,
    messages: Vec<u32>,
}

fn kinds() -> Kinds {
    let mut shapes = Shapes::default();
    let mut word = 0;
    let mut of = |count, is_safe, keeps| {
        word += 1;
        let kind = ShapeKind {
            count,
            is_safe,
            keeps,
            ..ShapeKind::default()
        };
        shapes.number(vec![Value::from_word(word)], NumberSet::default(), kind)
    };
    let mut actors: Vec<u32> = (0..4).map(|count| of(count, false, false)).collect();
    actors.extend((0..3).map(|count| of(count, true, false)));
    actors.push(of(1, false, true));
    let messages = (0..3).map(|count| of(count, false, false)).collect();
    Kinds {
        shapes,
        actors,
        messages,
    }
}

impl Kinds {
    fn sketch(&self, choices: &mut Choices, of: &[u32], among: usize) -> Sketch {
        let shape = of[choices.below(of.len())];
        let names = choices.names(self.shapes.of(shape).count, among);
        Sketch {
            shape,
            names: names.into_iter().collect(),
        }
    }

    fn named(
        &self,
        choices: &mut Choices,
        of: &[u32],
        situation: &mut Situation,
        among: usize,
    ) -> Named {
        let Sketch { shape, names } = self.sketch(choices, of, among);
        situation.named(shape, names.into_iter())
    }

    fn situation(&self, choices: &mut Choices) -> Situation {
        let mut situation = Situation::default();
        let count = 2 + choices.below(5);
        for _ in 0..count {
            let actor = self.named(choices, &self.actors, &mut situation, count);
            situation.actors.push(actor);
        }
        for _ in 0..1 + choices.below(7) {
            let number = choices.below(count) as u32;
            let sender = match choices.below(6) {
                0 => SentBy::ANY,
                1 => SentBy::gone(number),
                2 if choices.one_in(4) => SentBy::ITSELF,
                3 if choices.one_in(4) => SentBy::COPY,
                _ => SentBy::actor(number),
            };
            let message = self.named(choices, &self.messages, &mut situation, count);
            let target = choices.below(count.min(3)) as u32;
            situation.push_event(WaitingEvent {
                target,
                sender,
                place: 0,
                message,
            });
        }
        for _ in 0..choices.below(3) {
            let message = self.named(choices, &self.messages, &mut situation, count);
            let by = choices.below(2) as u32;
            situation.hear(Heard { by, message });
        }
        situation
    }

    fn deed(&self, choices: &mut Choices, here: &Situation, used: &WaitingEvent) -> Deed {
        let held = here.actors[used.target as usize];
        let is_safe = self.shapes.of(held.shape).is_safe;
        let creates = choices.below(3);
        let among = (1 + held.count + used.message.count) as usize + creates;
        let mut deed = Deed::nothing(DeedEnd::Commits);
        if !is_safe && !choices.one_in(3) {
            deed.becomes = Some(self.sketch(choices, &self.actors, among));
        }
        for _ in 0..creates {
            deed.creates.push(self.sketch(choices, &self.actors, among));
        }
        for _ in 0..choices.below(4) {
            deed.queued.push(Sending {
                target: choices.below(among) as u32,
                message: self.sketch(choices, &self.messages, among),
                is_ordered: !is_safe,
            });
        }
        for _ in 0..choices.below(3) {
            let by = choices.below(2) as u32;
            deed.heard
                .push((by, self.sketch(choices, &self.messages, among)));
        }
        deed
    }

    /// The situation as it is read when it has been written, its digest, and who was left out.
    fn kept(&self, situation: &Situation) -> (Situation, Digest, Vec<u32>) {
        let (mut numbering, mut room) = (Numbering::default(), RoomyBytes::default());
        numbering.number(situation, ROOTS, &self.shapes);
        write(situation, &numbering, &self.shapes, &mut room);
        let mut kept = Situation::default();
        read(room.written(0, room.len()), &self.shapes, &mut kept);
        let digest = likeness::digest(situation, &numbering, &self.shapes);
        let is_gap = |actor: &u32| situation.actors[*actor as usize].shape == Shapes::GAP;
        let all = 0..situation.actors.len() as u32;
        let left_out = all.filter(|actor| numbering.of(*actor) == NOBODY && !is_gap(actor));
        (kept, digest, left_out.collect())
    }
}

const ROOTS: usize = 1;

#[test]
fn what_is_foretold_is_what_comes() {
    let (kinds, mut choices) = (kinds(), Choices(7));
    let (mut foreteller, mut next) = (Foreteller::default(), Situation::default());
    let (mut told, mut of_rows, mut loosened, mut enabled) = (0, 0, 0, Vec::new());
    for _ in 0..6_000 {
        let (here, ..) = kinds.kept(&kinds.situation(&mut choices));
        here.enabled(&mut enabled);
        for &event in &enabled {
            let event = usize::from(event);
            let deed = kinds.deed(&mut choices, &here, &here.pending[event]);
            foreteller.prepare(&here, ROOTS);
            let Some(foretold) = foreteller.foretell(&here, event, &deed, &kinds.shapes) else {
                continue;
            };
            let mut gone = foreteller.gone.to_vec();
            next.after(&here, event, &deed, false, &kinds.shapes);
            let (there, digest, left_out) = kinds.kept(&next);
            assert_eq!(
                kinds.kept(&there).1,
                digest,
                "what is written says the same"
            );
            gone.sort_unstable();
            // Others know only each other, and are still part of what is foretold.
            if gone == left_out {
                let mut other = Foreteller::default();
                other.prepare(&there, ROOTS);
                assert_eq!(other.total.digest(), foretold);
                told += 1;
                let mut pending = there.pending.iter();
                of_rows += usize::from(pending.any(|event| event.place > 0));
                // It never becomes any more, and something waits for it in a row.
                let me = here.pending[event].target;
                let becomes = deed.becomes.as_ref();
                let is_safe = becomes.is_some_and(|next| kinds.shapes.of(next.shape).is_safe);
                let is_in_row = |other: &WaitingEvent| other.target == me && other.place > 0;
                let loosens = is_safe && here.pending.iter().any(is_in_row);
                loosened += usize::from(loosens);
            }
        }
    }
    assert!(
        told > 10_000 && of_rows > 2_000 && loosened > 100,
        "{told}, {of_rows}, {loosened}"
    );
}
