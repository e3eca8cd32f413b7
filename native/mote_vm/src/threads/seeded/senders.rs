//! The senders of the events that wait in a shuffled queue: messages from one actor to another keep their order, whatever
//! is chosen.
use crate::turns::queue::{Event, EventQueue};
use crate::values::actor::Actor;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// The senders of the events that wait in one shuffled queue, in the order of the queue. Null where the sender is unknown, as
/// of messages from outside and from other sponsors: then it might be any actor.
#[derive(Default)]
pub(crate) struct Senders {
    by: VecDeque<*const Actor>,
    /// Events that were put before all others since the last time.
    preceding: usize,
}

impl Senders {
    /// Records that sender for the events that were queued since the last time.
    pub(crate) fn keep_up(&mut self, queued: usize, sender: *const Actor) {
        for _ in 0..std::mem::take(&mut self.preceding) {
            self.by.push_front(std::ptr::null());
        }
        if self.by.len() > queued {
            self.forget();
        }
        self.by.resize(queued, sender);
    }

    /// Notes that `events` events were put before all others, for an actor that is to take them up in their order.
    pub(crate) fn precede(&mut self, events: usize) {
        self.preceding += events;
    }

    /// The queue has changed in other ways than that events came at its end.
    pub(crate) fn forget(&mut self) {
        self.by
            .iter_mut()
            .for_each(|sender| *sender = std::ptr::null());
    }

    /// Returns the places of the events in sight that may be next: those that overtake none of the same sender to the same actor.
    pub(crate) fn may_be_next(&self, queue: &EventQueue) -> Vec<usize> {
        let mut by_any: FxHashSet<*const Actor> = FxHashSet::default();
        let mut by_one: FxHashSet<(*const Actor, *const Actor)> = FxHashSet::default();
        let (mut found, mut at) = (Vec::new(), 0);
        let mut see = |Event { target, .. }: Event| {
            let sender = self.by.get(at).copied().unwrap_or(std::ptr::null());
            let is_first = match sender.is_null() {
                true => !by_any.contains(&target),
                false => {
                    let unknown = (std::ptr::null(), target);
                    !by_one.contains(&(sender, target)) && !by_one.contains(&unknown)
                }
            };
            if is_first {
                found.push(at);
            }
            by_any.insert(target);
            by_one.insert((sender, target));
            at += 1;
        };
        queue.first(queue.in_sight(), &mut see);
        found
    }

    /// The event at that place is taken out.
    pub(crate) fn take(&mut self, at: usize) {
        self.by.remove(at);
    }
}
