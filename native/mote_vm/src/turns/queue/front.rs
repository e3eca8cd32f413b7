//! Operations that change the front of the queue: events that go before all others, and the next one chosen among those in sight.
use super::chunk::{Chunk, EVENTS};
use super::{events_between, Event, EventQueue, QueuePosition};

impl EventQueue {
    /// Puts events before all others, in their order. While a turn runs, only if some were taken (`take_before`), and not while
    /// the queue is read.
    pub(crate) fn prepend(&mut self, events: &[Event]) {
        // SAFETY: `head_end` ends a live chunk of this queue.
        let first = unsafe { Chunk::ending(self.head_end) };
        let room = events_between(Chunk::start(first), self.head);
        if self.is_empty() && room == 0 {
            let push = |event: &Event| self.push(event.target, event.message);
            return events.iter().for_each(push);
        }
        if self.is_read() && self.head_end != self.tail_end {
            // The first chunk stays as it was (invariant 4): what it still has moves to another one.
            let mut all = events.to_vec();
            let rest = events_between(self.head, self.head_end);
            // SAFETY: another chunk follows, so events lie up to the end of this one (invariant 1).
            all.extend_from_slice(unsafe { std::slice::from_raw_parts(self.head, rest) });
            self.next_chunk();
            return self.link_before(&all);
        }
        let (before, behind) = events.split_at(events.len() - room.min(events.len()));
        self.fill(behind);
        self.link_before(before);
    }

    /// Writes events before the first one, for which there is room in its chunk.
    fn fill(&mut self, events: &[Event]) {
        // SAFETY: nothing that is queued lies in these places, and nobody else looks at them.
        unsafe {
            self.head = self.head.sub(events.len());
            self.head
                .copy_from_nonoverlapping(events.as_ptr(), events.len());
        }
        self.sight = self.head;
    }

    /// Puts events into new chunks before the first one, which begins with an event.
    fn link_before(&mut self, events: &[Event]) {
        for events in events.rchunks(EVENTS) {
            // SAFETY: `head_end` ends a live chunk of this queue.
            let first = unsafe { Chunk::ending(self.head_end) };
            let chunk = self.supply.fresh();
            // SAFETY: a live chunk of this queue from now on.
            unsafe { (*chunk.as_ptr()).next = Some(first) };
            self.head_end = Chunk::end(chunk);
            self.head = self.head_end;
            self.first -= 1;
            // It is emptied before those that are kept, which are counted from the head.
            self.kept += usize::from(self.kept > 0);
            self.fill(events);
        }
    }

    /// The oldest event from before `position`, which stays; also while a turn has staged others behind it.
    pub(crate) fn next_before(&mut self, position: &QueuePosition) -> Option<Event> {
        if self.head == position.tail {
            return None;
        }
        if self.head == self.head_end {
            self.next_chunk();
        }
        // SAFETY: head is before the position's tail, so by invariant 1 an event is there.
        Some(unsafe { self.head.read() })
    }

    /// Takes the event that [`EventQueue::next_before`] returns.
    pub(crate) fn take_before(&mut self, position: &QueuePosition) -> Option<Event> {
        let event = self.next_before(position)?;
        // SAFETY: stays within the chunk or one past its last event.
        self.head = unsafe { self.head.add(1) };
        Some(event)
    }

    /// Returns the number of events that can be brought forward: those that lie in the same chunk as the first.
    pub(crate) fn in_sight(&self) -> usize {
        events_between(self.head, self.in_first_chunk())
    }

    /// Puts the event `ahead` of the first one, which is in sight, before it; the others keep their order.
    pub(crate) fn bring_forward(&mut self, ahead: usize) {
        if ahead > 0 && ahead < self.in_sight() {
            // SAFETY: all of these are in the first chunk and before the tail, so events are there.
            let events = unsafe { std::slice::from_raw_parts_mut(self.head, ahead + 1) };
            events.rotate_right(1);
        }
    }
}
