//! The queue as others read it between turns: shown event by event, and to a collection chunk by chunk (invariant 4).
use super::chunk::Chunk;
use super::{Event, EventQueue, QueuePosition};
use std::ptr::NonNull;

impl EventQueue {
    /// Returns whether a collection may still read the contents of emptied chunks.
    pub(crate) fn is_read(&self) -> bool {
        self.kept > 0
    }

    /// Shows every queued event; only between turns.
    pub(crate) fn each(&self, show: impl FnMut(Event)) {
        self.each_from(self.head, self.head_end, usize::MAX, show);
    }

    /// Shows the next `n` queued events, or all. Returns their number. Only between turns.
    pub(crate) fn first(&self, n: usize, show: impl FnMut(Event)) -> usize {
        self.each_from(self.head, self.head_end, n, show)
    }

    /// Shows up to `n` events from `at` on, which is in the chunk that ends at `end`. Returns their number.
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

    /// Shows what is queued to a collection: the events of the last chunk one by one. Those of all others, if there are some,
    /// it returns as they lie there, which they do (invariant 4) once `keep` is called. Only between turns.
    pub(crate) fn snapshot(&self, show: impl FnMut(Event)) -> Option<KeptEvents> {
        // SAFETY: `tail_end` ends a live chunk of this queue.
        let last = unsafe { Chunk::ending(self.tail_end) };
        let kept = KeptEvents {
            at: self.head,
            end: self.head_end,
            last,
        };
        let is_one = self.head_end == self.tail_end;
        let from = if is_one {
            self.head
        } else {
            Chunk::start(last)
        };
        self.each_from(from, self.tail_end, usize::MAX, show);
        (!is_one).then_some(kept)
    }

    /// Keeps the chunks that `snapshot` has just returned.
    pub(crate) fn keep(&mut self) {
        self.kept = self.last - self.first;
        self.marks = true;
    }

    /// Keeps nothing any more. What it has kept is freed bit by bit.
    pub(crate) fn let_go(&mut self) {
        self.kept = 0;
        self.marks = false;
    }

    /// Takes back some of the chunks that were kept, if nobody reads them any more. Returns whether there are more.
    pub(crate) fn recycle_emptied(&mut self, most: usize) -> bool {
        if self.marks {
            return false;
        }
        for _ in 0..most {
            let Some(chunk) = self.emptied.pop() else {
                self.emptied = Vec::new();
                return false;
            };
            self.supply.recycle(chunk);
        }
        true
    }
}

/// Events in chunks that their queue keeps (invariant 4).
#[derive(Clone)]
pub(crate) struct KeptEvents {
    at: *const Event,
    /// End of the chunk that the next event is in.
    end: *const Event,
    /// The one that is not read: it may be gone.
    last: NonNull<Chunk>,
}

impl KeptEvents {
    /// Shows the next few. Returns whether there are more.
    pub(crate) fn take(&mut self, most: usize, mut show: impl FnMut(Event)) -> bool {
        // SAFETY: both lie in one chunk; the events between them are initialised, for the chunk is not the last one.
        let here = unsafe { self.end.offset_from_unsigned(self.at) };
        for _ in 0..here.min(most) {
            // SAFETY: as above; nobody writes to them while they are kept.
            unsafe {
                show(self.at.read());
                self.at = self.at.add(1);
            }
        }
        if self.at == self.end {
            // SAFETY: it ends a chunk, which is kept with its link: another one follows, for this is not the last.
            let next = unsafe { (*Chunk::ending(self.end.cast_mut()).as_ptr()).next };
            match next.filter(|next| *next != self.last) {
                Some(next) => (self.at, self.end) = (Chunk::start(next), Chunk::end(next)),
                None => return false,
            }
        }
        true
    }
}
