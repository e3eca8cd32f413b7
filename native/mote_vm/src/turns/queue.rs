//! The event queue of one thread: chunked arrays, first in, first out, with a staged end.
//!
//! Invariants:
//! 1. `head ..= tail` walks the chunks' links; everything before `tail` is an initialised event.
//! 2. While a turn runs, what lies behind its [`QueuePosition`] is staged: an abort moves `tail` back, and a commit leaves
//!    everything as it is. Nothing is popped during a turn.
//! 3. Only the owning thread touches it.
//! 4. When a collection begins it takes all chunks but the last one as they are (`snapshot`, `keep`), without a look at them.
//!    Until it has marked (`let_go`), these are kept as they are when they are emptied, with the links from one to the next.
//! 5. Between `head` and `sight`, if that is behind it, lie events.
mod chunk;
mod front;
mod reading;
#[cfg(test)]
mod tests;

use crate::heap::block::BlockPool;
use crate::values::actor::{Actor, Header};
use crate::values::value::Value;
pub(crate) use chunk::EVENTS;
use chunk::{Chunk, Supply};
pub(crate) use reading::KeptEvents;
use std::ptr::NonNull;
use std::sync::Arc;

/// A message on its way to an actor.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Event {
    pub(crate) target: *const Actor,
    pub(crate) message: Value,
}

const _: () = assert!(std::mem::size_of::<Event>() == 16);

impl Event {
    /// The actor that it is for.
    #[inline]
    pub(crate) fn actor(&self) -> &Actor {
        // SAFETY: targets of events in queues, lists and inboxes are live actors.
        unsafe { &*self.target }
    }

    /// Returns the record of its actor.
    #[inline]
    pub(crate) fn header(&self) -> Header {
        self.actor().header()
    }

    /// Shows what it refers to.
    pub(crate) fn show(&self, mut show: impl FnMut(Value)) {
        show(Value::address(self.target));
        show(self.message);
    }
}

// SAFETY: two words of data; dispatch threads alone look behind the pointer.
unsafe impl Send for Event {}

/// The queue of one thread: events that wait, and events that the running turn has staged.
pub(crate) struct EventQueue {
    head: *mut Event,
    head_end: *mut Event,
    tail: *mut Event,
    tail_end: *mut Event,
    /// The place up to which events have been seen to lie in the first chunk; there may be more.
    sight: *mut Event,
    /// Chunks are numbered in the order in which they were linked: the numbers of the first and of the last one.
    first: usize,
    last: usize,
    supply: Supply,
    /// Number of chunks from the head on that a collection may still read; those of them that are emptied; and whether it has
    /// not marked yet. When it has, emptied chunks are used again, or freed a few at a time.
    kept: usize,
    emptied: Vec<NonNull<Chunk>>,
    marks: bool,
}

// SAFETY: invariant 3; the chunks are the queue's own.
unsafe impl Send for EventQueue {}

/// Chunks that a collection has kept: how many are recycled with each that is emptied afterwards.
const RECYCLED: usize = 4;

/// The number of the first chunk: as many can be linked before it, or behind it.
const FIRST: usize = usize::MAX / 2;

/// The end of the queue when a turn began.
#[derive(Clone, Copy)]
pub(crate) struct QueuePosition {
    tail: *mut Event,
    tail_end: *mut Event,
    /// The number of its chunk.
    chunk: usize,
}

impl EventQueue {
    /// Offsets of the place for the next event and of the end of its chunk, for native code.
    pub(crate) const TAIL: usize = std::mem::offset_of!(EventQueue, tail);
    /// See `TAIL`.
    pub(crate) const TAIL_END: usize = std::mem::offset_of!(EventQueue, tail_end);

    pub(crate) fn new(pool: Arc<BlockPool>) -> EventQueue {
        let mut queue = EventQueue {
            head: std::ptr::null_mut(),
            head_end: std::ptr::null_mut(),
            tail: std::ptr::null_mut(),
            tail_end: std::ptr::null_mut(),
            sight: std::ptr::null_mut(),
            first: FIRST,
            last: FIRST,
            supply: Supply::new(pool),
            kept: 0,
            emptied: Vec::new(),
            marks: false,
        };
        let chunk = queue.supply.fresh();
        queue.begin_with(chunk);
        queue
    }

    /// Makes that chunk the only one, with nothing queued.
    fn begin_with(&mut self, chunk: NonNull<Chunk>) {
        self.head = Chunk::start(chunk);
        self.head_end = Chunk::end(chunk);
        self.tail = self.head;
        self.tail_end = self.head_end;
        self.sight = self.head;
        self.last += 1;
        self.first = self.last;
    }

    /// Returns whether events were pushed since the last time for which there was no memory in the quota.
    #[inline(always)]
    pub(crate) fn is_starved(&self) -> bool {
        self.supply.memory.is_starved()
    }

    /// Forgets that: what was pushed had been accepted before.
    #[inline(always)]
    pub(crate) fn forgive(&mut self) {
        self.supply.memory.forgive();
    }

    /// Keeps one small chunk at most, if that is possible, when nothing is queued for a while.
    pub(crate) fn rest(&mut self) {
        if !self.is_empty() {
            return;
        }
        self.recycle_emptied(usize::MAX);
        self.supply.let_spare_go();
        // SAFETY: `tail_end` ends a live chunk of this queue.
        let last = unsafe { Chunk::ending(self.tail_end) };
        // SAFETY: as above.
        if unsafe { !(*last.as_ptr()).small } {
            let chunk = self.supply.fresh();
            self.begin_with(chunk);
            self.supply.free(last);
        }
        self.supply.memory.rest();
    }

    /// Bytes of chunks held, spare ones included.
    pub(crate) fn bytes(&self) -> usize {
        self.supply.held() * std::mem::size_of::<Chunk>()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, target: *const Actor, message: Value) {
        if self.tail == self.tail_end {
            self.extend();
        }
        // SAFETY: `tail` is before the end of its chunk.
        unsafe {
            self.tail.write(Event { target, message });
            self.tail = self.tail.add(1);
        }
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.head == self.tail {
            return None;
        }
        if self.head == self.head_end {
            self.next_chunk();
        }
        // SAFETY: head is before tail, so by invariant 1 an event is there.
        let event = unsafe { self.head.read() };
        // SAFETY: stays within the chunk or one past its last event.
        self.head = unsafe { self.head.add(1) };
        if self.head == self.tail {
            // Nothing else is queued: start over at the front of the chunk, whose lines are in the cache.
            // SAFETY: head and tail meet only in one chunk, whose end is `tail_end`.
            let start = Chunk::start(unsafe { Chunk::ending(self.tail_end) });
            self.head = start;
            self.tail = start;
            self.sight = start;
        }
        Some(event)
    }

    /// The events that will be popped after `near` and after `far` others, `far` being more, if they lie in the same
    /// chunk; for prefetching.
    #[inline(always)]
    pub(crate) fn ahead(&mut self, near: usize, far: usize) -> Option<(Event, Event)> {
        let at = self.head.wrapping_add(far);
        if at >= self.sight {
            self.sight = self.in_first_chunk();
            if at >= self.sight {
                return None;
            }
        }
        // SAFETY: between `head` and `sight` events lie (invariant 5).
        Some(unsafe { (self.head.add(near).read(), at.read()) })
    }

    /// Returns the end of the events in the first chunk.
    #[inline(always)]
    fn in_first_chunk(&self) -> *mut Event {
        if self.head_end == self.tail_end {
            self.tail
        } else {
            self.head_end
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Returns the number of queued events, staged ones included. They are not counted as they come and go.
    pub(crate) fn len(&self) -> usize {
        self.queued_before(&self.position())
    }

    #[inline(always)]
    pub(crate) fn position(&self) -> QueuePosition {
        QueuePosition {
            tail: self.tail,
            tail_end: self.tail_end,
            chunk: self.last,
        }
    }

    /// Moves a position on to where the queue ends.
    #[inline(always)]
    pub(crate) fn advance(&self, position: &mut QueuePosition) {
        match self.is_where(position) {
            true => position.tail = self.tail,
            false => *position = self.position(),
        }
    }

    /// Returns whether the queue still ends in the position's chunk.
    #[inline(always)]
    pub(crate) fn is_where(&self, position: &QueuePosition) -> bool {
        position.chunk == self.last
    }

    /// Returns the number of events pushed since `position`.
    #[inline(always)]
    pub(crate) fn pushed_since(&self, position: &QueuePosition) -> usize {
        if self.is_where(position) {
            return events_between(position.tail, self.tail);
        }
        self.pushed_beyond(position)
    }

    #[cold]
    fn pushed_beyond(&self, position: &QueuePosition) -> usize {
        between(
            (position.tail, position.tail_end, position.chunk),
            (self.tail, self.tail_end, self.last),
        )
    }

    /// Returns the number of events from before `position` that are still queued.
    pub(crate) fn queued_before(&self, position: &QueuePosition) -> usize {
        between(
            (self.head, self.head_end, self.first),
            (position.tail, position.tail_end, position.chunk),
        )
    }

    /// Forgets what was pushed since `position`.
    pub(crate) fn rewind(&mut self, position: QueuePosition) {
        if !self.is_where(&position) {
            // SAFETY: invariant 1; the marked chunk is linked to those staged behind it.
            unsafe {
                let mut next = (*Chunk::ending(position.tail_end).as_ptr()).next.take();
                while let Some(chunk) = next {
                    next = (*chunk.as_ptr()).next.take();
                    self.supply.recycle(chunk);
                }
            }
        }
        self.tail = position.tail;
        self.tail_end = position.tail_end;
        self.last = position.chunk;
        self.sight = self.head;
        if self.is_starved() {
            self.supply.give_up();
        }
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self) {
        let chunk = self.supply.fresh();
        // SAFETY: `tail_end` ends a live chunk of this queue.
        unsafe { (*Chunk::ending(self.tail_end).as_ptr()).next = Some(chunk) };
        self.tail = Chunk::start(chunk);
        self.tail_end = Chunk::end(chunk);
        self.last += 1;
    }

    #[cold]
    #[inline(never)]
    fn next_chunk(&mut self) {
        // SAFETY: head is not tail, so by invariant 1 a chunk follows; no event is left in this one.
        unsafe {
            let done = Chunk::ending(self.head_end);
            if let Some(next) = (*done.as_ptr()).next {
                self.head = Chunk::start(next);
                self.head_end = Chunk::end(next);
                self.sight = self.head;
                self.first += 1;
                self.done_with(done);
            }
        }
    }

    fn done_with(&mut self, chunk: NonNull<Chunk>) {
        if self.kept > 0 {
            self.kept -= 1;
            self.emptied.push(chunk);
        } else {
            self.supply.recycle(chunk);
            self.recycle_emptied(RECYCLED);
        }
    }
}

/// Returns the number of events that fit between two places in one chunk.
#[inline(always)]
fn events_between(from: *mut Event, to: *mut Event) -> usize {
    (to.addr() - from.addr()) / size_of::<Event>()
}

/// Returns the number of events between two places. Each is in a chunk that ends there and has that number.
fn between(from: (*mut Event, *mut Event, usize), to: (*mut Event, *mut Event, usize)) -> usize {
    if from.2 == to.2 {
        return events_between(from.0, to.0);
    }
    let whole = (to.2 - from.2 - 1) * EVENTS;
    events_between(from.0, from.1) + whole + EVENTS - events_between(to.0, to.1)
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.let_go();
        self.recycle_emptied(usize::MAX);
        // SAFETY: `head_end` ends a live chunk.
        let mut next = Some(unsafe { Chunk::ending(self.head_end) });
        while let Some(chunk) = next {
            // SAFETY: every linked chunk is live until freed here.
            next = unsafe { (*chunk.as_ptr()).next };
            self.supply.free(chunk);
        }
        self.supply.let_spare_go();
    }
}
