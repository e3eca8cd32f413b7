//! A situation, written down.
//!
//! ```text
//! number of actors; of events that wait; of messages heard
//! for each actor   its shape, and whom that names
//! for each event   its target, its sender, its shape, and whom that names
//! for each message the foreign value that heard it, its shape, and whom that names
//! for armed timers what is known of when they are due (timing.rs)
//! the processes that have ended
//! ```
//!
//! Invariants:
//! 1. Actors keep their numbers, and events their order. Actors without a number in [`Numbering`] are left out.
//! 2. What has no order is written as such: of whom a safe actor hears, and who has sent a single event and sends nothing more.
use super::compact::{take, RoomyBytes, LONGEST};
use super::numbering::{Numbering, NOBODY};
use super::rows::{is_free, is_single, ordered, seen_as};
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Heard, Named, Situation, WaitingEvent};

/// Writes a situation down behind what is there.
pub(super) fn write(
    situation: &Situation,
    numbering: &Numbering,
    shapes: &Shapes,
    bytes: &mut RoomyBytes,
) {
    // Names may be written twice, where an event comes again.
    bytes.make_room(LONGEST * (3 + 4 * situation.size()));
    let is_live = |actor: &usize| numbering.of(*actor as u32) != NOBODY;
    let last = (0..situation.actors.len()).rev().find(is_live);
    let actors = last.map_or(0, |last| last + 1);
    let counts = [actors, situation.pending.len(), situation.heard.len()];
    counts.iter().for_each(|count| bytes.put(*count as u32));
    let value = |bytes: &mut RoomyBytes, value: Named| {
        bytes.put(value.shape);
        let names = situation.names(value).iter();
        names.for_each(|name| bytes.put(*name));
    };
    for (at, actor) in situation.actors[..actors].iter().enumerate() {
        match is_live(&at) {
            true => value(bytes, *actor),
            false => bytes.put(Shapes::GAP),
        }
    }
    for event in &situation.pending {
        bytes.put(event.target);
        bytes.put(sender(event, situation, numbering, shapes).code());
        value(bytes, event.message);
    }
    for Heard { by, message } in &situation.heard {
        bytes.put(*by);
        value(bytes, *message);
    }
    situation.bounds.write(|number| bytes.put(number));
    situation
        .ended
        .iter()
        .for_each(|process| bytes.put(*process));
}

/// The sender of an event, as it is written.
#[inline]
fn sender(
    event: &WaitingEvent,
    situation: &Situation,
    numbering: &Numbering,
    shapes: &Shapes,
) -> SentBy {
    let is_live = |actor| numbering.of(actor) != NOBODY;
    match ordered(event, situation, shapes) {
        None => seen_as(event.sender),
        Some(sender @ (SentBy::ITSELF | SentBy::ARMED | SentBy::CLOCK)) => sender,
        Some(sender) if sender.as_actor().is_some_and(is_live) => sender,
        Some(_) if is_single(event, situation) => SentBy::ANY,
        Some(sender) => match sender.as_actor() {
            None => sender,
            // Its number may be another's by and by, who sends nothing more then, while what it has sent still waits.
            Some(actor) => {
                let pending = situation.pending.iter();
                let gone = pending.filter_map(|event| event.sender.as_gone());
                match is_free(SentBy::gone_actor(actor), situation) {
                    true => SentBy::gone_actor(actor),
                    false => SentBy::gone_actor(gone.fold(0, u32::max) + 1 + actor),
                }
            }
        },
    }
}

/// Reads a situation that was written down.
pub(super) fn read(mut bytes: &[u8], shapes: &Shapes, situation: &mut Situation) {
    let bytes = &mut bytes;
    situation.clear();
    let [actors, pending, heard] = [0; 3].map(|_| take(bytes));
    for number in 0..actors {
        let actor = value(bytes, shapes, situation);
        situation.actors.push(actor);
        if actor.shape == Shapes::GAP {
            situation.gaps.push(number);
        }
    }
    for _ in 0..pending {
        let (target, sender) = (take(bytes), SentBy::of_code(take(bytes)));
        let message = value(bytes, shapes, situation);
        situation.push_event(WaitingEvent {
            target,
            sender,
            place: 0,
            message,
        });
    }
    for _ in 0..heard {
        let by = take(bytes);
        let message = value(bytes, shapes, situation);
        situation.heard.push(Heard { by, message });
    }
    let timers = situation.rank(situation.pending.len());
    situation.bounds.read(timers, || take(bytes));
    while !bytes.is_empty() {
        situation.ended.push(take(bytes));
    }
}

fn value(bytes: &mut &[u8], shapes: &Shapes, situation: &mut Situation) -> Named {
    let shape = take(bytes);
    let count = shapes.of(shape).count;
    situation.named(shape, (0..count).map(|_| take(bytes)))
}
