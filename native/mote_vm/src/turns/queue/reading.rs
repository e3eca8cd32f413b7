//! The queue as others read it between turns: shown event by event, and to a collection chunk by chunk (invariant 4).
use super::chunk::Chunk;
use super::{Event, EventQueue, QueuePosition};

impl EventQueue {
    /// Whether a collection may still read what chunks have that are emptied.
    pub(crate) fn is_read(&self) -> bool {
        self.kept > 0
    }

    /// Shows every queued event; only between turns.
    pub(crate) fn each(&self, show: impl FnMut(Event)) {
        self.each_from(self.head, self.head_end, usize::MAX, show);
    }

    /// Shows the next `n` queued events, or all; how many. Only between turns.
    pub(crate) fn first(&self, n: usize, show: impl FnMut(Event)) -> usize {
        self.each_from(self.head, self.head_end, n, show)
    }

    /// Shows up to `n` events from `at` on, which is in the chunk that ends at `end`; how many.
    fn each_from(
        &self,
        mut at: *mut Event,
        mut end: *mut Event,
        n: usize,
        mut show: impl FnMut(Event),
    ) -> usize {
        let mut shown = 0;
        while at != self.tail && shown < n {
            if at == end {
                // SAFETY: invariant 1: a chunk follows, as the tail is not reached.
                let next = unsafe { (*Chunk::ending(end).as_ptr()).next };
                let Some(next) = next else { break };
                (at, end) = (Chunk::start(next), Chunk::end(next));
                continue;
            }
            // SAFETY: before the tail, so an event is there; one further stays in the chunk or is its end.
            unsafe {
                show(at.read());
                at = at.add(1);
            }
            shown += 1;
        }
        shown
    }

    /// Shows what was pushed since `position`.
    pub(crate) fn each_since(&self, position: &QueuePosition, show: impl FnMut(Event)) {
        self.each_from(position.tail, position.tail_end, usize::MAX, show);
    }

    /// Shows what is queued to a collection: the events of all chunks but the last as they lie there, which stay (invariant
    /// 4) once `keep` is called; those of the last one by one. Only between turns.
    pub(crate) fn snapshot(
        &self,
        mut lying: impl FnMut(*const Event, usize),
        mut show: impl FnMut(Event),
    ) {
        let (mut at, mut end) = (self.head, self.head_end);
        while end != self.tail_end {
            // SAFETY: both lie in one chunk; the events between them are initialised (invariant 1).
            let events = unsafe { end.offset_from_unsigned(at) };
            if events > 0 {
                lying(at, events);
            }
            // SAFETY: invariant 1: a chunk follows, as this is not the last one.
            let next = unsafe { (*Chunk::ending(end).as_ptr()).next };
            let Some(next) = next else { return };
            (at, end) = (Chunk::start(next), Chunk::end(next));
        }
        while at != self.tail {
            // SAFETY: before the tail, so an event is there; one further stays in the chunk or is its end.
            unsafe {
                show(at.read());
                at = at.add(1);
            }
        }
    }

    /// Keeps the chunks that `snapshot` has just shown.
    pub(crate) fn keep(&mut self) {
        let mut end = self.head_end;
        while end != self.tail_end {
            self.kept += 1;
            // SAFETY: as in `snapshot`.
            let next = unsafe { (*Chunk::ending(end).as_ptr()).next };
            let Some(next) = next else { return };
            end = Chunk::end(next);
        }
    }

    /// Keeps nothing any more.
    pub(crate) fn let_go(&mut self) {
        self.kept = 0;
        while let Some(chunk) = self.emptied.pop() {
            self.supply.recycle(chunk);
        }
    }
}
