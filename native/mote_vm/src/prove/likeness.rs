//! The digest of a situation: the same for all that differ in nothing but the numbers of their actors.
//!
//! Invariants:
//! 1. What is digested says everything that the turns to come depend on, and what the outside has heard: situations of the same
//!    digest have the same future.
//! 2. It is a sum, of all that is there, each with its place where that counts. So the order of events says nothing.
use super::digest::{Digest, DigestSum};
use super::numbering::{Numbering, NOBODY};
use super::rows::{is_single, ordered, seen_as};
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Named, Situation, WaitingEvent};

/// Tags that distinguish things of a situation, in the highest bits of their first words: no situation has so many actors.
const ACTOR: u64 = 1 << 60;
const EVENT: u64 = 2 << 60;
const ROW: u64 = 3 << 60;
const HEARD: u64 = 4 << 60;
const BOUNDS: u64 = 5 << 60;
const ENDED: u64 = 6 << 60;

#[inline]
fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

/// An actor of that number and shape.
#[inline]
pub(super) fn of_actor(number: u32, shape: u32, names: impl Iterator<Item = u32>) -> DigestSum {
    DigestSum::of(&[ACTOR ^ pair(number, shape)], names)
}

/// An event, and its place among others of its sender.
#[inline]
pub(super) fn of_event(
    target: u32,
    sender: SentBy,
    place: u32,
    shape: u32,
    names: impl Iterator<Item = u32>,
) -> DigestSum {
    let what = [EVENT ^ pair(target, sender.code()), pair(place, shape)];
    DigestSum::of(&what, names)
}

/// Returns the likeness of a message that somebody has received, after so much else.
#[inline]
pub(super) fn of_heard(
    by: u32,
    after: usize,
    shape: u32,
    names: impl Iterator<Item = u32>,
) -> DigestSum {
    DigestSum::of(&[HEARD ^ pair(by, after as u32), shape.into()], names)
}

/// A process that has ended.
pub(super) fn of_ended(process: u32) -> DigestSum {
    DigestSum::of(&[ENDED ^ u64::from(process)], std::iter::empty())
}

/// Shows each message that was heard, and how many the same one has heard before.
pub(super) fn each_heard(situation: &Situation, mut see: impl FnMut(u32, usize, Named)) {
    let mut before = 0;
    for (at, heard) in situation.heard.iter().enumerate() {
        let is_same = at > 0 && situation.heard[at - 1].by == heard.by;
        before = if is_same { before + 1 } else { 0 };
        see(heard.by, before, heard.message);
    }
}

/// The digest of a situation, whose actors have these numbers.
pub(super) fn digest(situation: &Situation, numbering: &Numbering, shapes: &Shapes) -> Digest {
    let names = |of: Named| situation.names(of).iter().map(|name| numbering.of(*name));
    let mut sum = DigestSum::default();
    for (number, actor) in (0..).zip(&numbering.actors) {
        let actor = situation.actors[*actor as usize];
        sum.add(of_actor(number, actor.shape, names(actor)));
    }
    let mut armed = 0;
    for event in &situation.pending {
        let WaitingEvent {
            sender, message, ..
        } = *event;
        let target = numbering.of(event.target);
        let mut put = |sender: SentBy, place: u32| {
            sum.add(of_event(
                target,
                sender,
                place,
                message.shape,
                names(message),
            ));
        };
        match ordered(event, situation, shapes) {
            None => put(seen_as(sender), 0),
            Some(SentBy::ARMED) => {
                put(sender, armed);
                armed += 1;
            }
            Some(SentBy::ITSELF | SentBy::CLOCK) => put(sender, event.place),
            Some(_) => match sender.as_actor().map(|actor| numbering.of(actor)) {
                Some(number) if number != NOBODY => put(SentBy::actor(number), event.place),
                // One who sends nothing more. Nothing comes before a single event of it, or after it.
                _ if is_single(event, situation) => put(SentBy::ANY, 0),
                _ if event.place == 0 => sum.add(of_row(event, situation, numbering)),
                _ => {}
            },
        }
    }
    each_heard(situation, |by, after, message| {
        sum.add(of_heard(by, after, message.shape, names(message)));
    });
    if situation.bounds.len() > 0 {
        let mut bounds = Vec::new();
        situation.bounds.write(|number| bounds.push(number));
        sum.add(DigestSum::of(&[BOUNDS], bounds.into_iter()));
    }
    situation
        .ended
        .iter()
        .for_each(|process| sum.add(of_ended(*process)));
    sum.digest()
}

/// Events of one who sends nothing more, from that one on.
fn of_row(first: &WaitingEvent, situation: &Situation, numbering: &Numbering) -> DigestSum {
    let (mut row, target) = (ROW, numbering.of(first.target));
    let pending = situation.pending.iter();
    for event in pending.filter(|other| other.is_in_row_with(first)) {
        let names = situation.names(event.message).iter();
        let names = names.map(|name| numbering.of(*name));
        let [a, b] = of_event(target, SentBy::ANY, event.place, event.message.shape, names).words();
        row = DigestSum::of(&[row, a, b], std::iter::empty()).words()[0];
    }
    DigestSum::of(&[ROW, row], std::iter::empty())
}
