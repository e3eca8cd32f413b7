//! Rows of events: those that one sender has sent to one actor, in their order, where that counts.
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Situation, WaitingEvent};

impl WaitingEvent {
    /// Returns whether both are events of one sender to one actor, which have an order.
    #[inline]
    pub(super) fn is_in_row_with(&self, other: &WaitingEvent) -> bool {
        (self.target, self.sender) == (other.target, other.sender) && !self.sender.is_open()
    }
}

/// The sender of an event, if its order among others of the same counts.
#[inline]
pub(super) fn ordered(
    event: &WaitingEvent,
    situation: &Situation,
    shapes: &Shapes,
) -> Option<SentBy> {
    let is_safe = || {
        shapes
            .of(situation.actors[event.target as usize].shape)
            .is_safe
    };
    match event.sender {
        sender if sender.is_open() => None,
        sender if sender.is_kept() => Some(sender),
        sender => (!is_safe()).then_some(sender),
    }
}

/// The sender of an event whose order does not count.
#[inline]
pub(super) fn seen_as(sender: SentBy) -> SentBy {
    match sender {
        SentBy::COPY => SentBy::COPY,
        _ => SentBy::ANY,
    }
}

/// Returns whether no other event is in its row.
pub(super) fn is_single(event: &WaitingEvent, situation: &Situation) -> bool {
    let mut pending = situation.pending.iter();
    event.place == 0 && !pending.any(|other| other.place > 0 && other.is_in_row_with(event))
}

/// Returns whether nothing waits of a sender.
pub(super) fn is_free(sender: SentBy, situation: &Situation) -> bool {
    let mut pending = situation.pending.iter();
    !pending.any(|event| event.sender == sender)
}
