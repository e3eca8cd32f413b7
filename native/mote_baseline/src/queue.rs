//! A first in, first out queue of two-word events in chunks of 16 KiB; emptied chunks are used again.
use std::ptr::NonNull;

const EVENTS: usize = 1023;

#[repr(C, align(16))]
struct Chunk<E> {
    events: [E; EVENTS],
    next: *mut Chunk<E>,
}

/// Invariants: `head` to `tail` along the links are initialised events; the chunks are boxes that only the queue has.
pub(crate) struct Queue<E> {
    head: *mut E,
    head_end: *mut E,
    tail: *mut E,
    tail_end: *mut E,
    spare: Vec<NonNull<Chunk<E>>>,
}

impl<E: Copy> Queue<E> {
    pub(crate) fn new() -> Queue<E> {
        const { assert!(size_of::<E>() == 16) };
        let chunk = fresh();
        Queue {
            head: start(chunk),
            head_end: end(chunk),
            tail: start(chunk),
            tail_end: end(chunk),
            spare: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, event: E) {
        if self.tail == self.tail_end {
            self.extend();
        }
        // SAFETY: `tail` is before the end of its chunk.
        unsafe {
            self.tail.write(event);
            self.tail = self.tail.add(1);
        }
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<E> {
        if self.head == self.tail {
            return None;
        }
        if self.head == self.head_end {
            self.advance();
        }
        // SAFETY: head is before tail: an event is there, and one further stays in the chunk or is its end.
        unsafe {
            let event = self.head.read();
            self.head = self.head.add(1);
            Some(event)
        }
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self) {
        let chunk = self.spare.pop().unwrap_or_else(fresh);
        // SAFETY: `tail_end` ends a chunk, whose link is the last one; the new chunk is nobody else's.
        unsafe {
            (*chunk_of(self.tail_end)).next = chunk.as_ptr();
            (*chunk.as_ptr()).next = std::ptr::null_mut();
        }
        (self.tail, self.tail_end) = (start(chunk), end(chunk));
    }

    #[cold]
    #[inline(never)]
    fn advance(&mut self) {
        // SAFETY: head is not tail, so a chunk follows this one, in which no event is left.
        unsafe {
            let done = chunk_of(self.head_end);
            let next = NonNull::new_unchecked((*done).next);
            (self.head, self.head_end) = (start(next), end(next));
            self.spare.push(NonNull::new_unchecked(done));
        }
    }
}

impl<E> Drop for Queue<E> {
    fn drop(&mut self) {
        // SAFETY: by the invariant.
        unsafe {
            let mut chunk = chunk_of(self.head_end);
            while !chunk.is_null() {
                let next = (*chunk).next;
                self.spare.push(NonNull::new_unchecked(chunk));
                chunk = next;
            }
            for chunk in self.spare.drain(..) {
                drop(Box::from_raw(
                    chunk.as_ptr().cast::<std::mem::MaybeUninit<Chunk<E>>>(),
                ));
            }
        }
    }
}

fn fresh<E>() -> NonNull<Chunk<E>> {
    let chunk = Box::leak(Box::<Chunk<E>>::new_uninit());
    let chunk = NonNull::from(chunk).cast::<Chunk<E>>();
    // SAFETY: just allocated.
    unsafe { (&raw mut (*chunk.as_ptr()).next).write(std::ptr::null_mut()) };
    chunk
}

fn start<E>(chunk: NonNull<Chunk<E>>) -> *mut E {
    chunk.as_ptr().cast()
}

fn end<E>(chunk: NonNull<Chunk<E>>) -> *mut E {
    // SAFETY: that many events are in a chunk.
    unsafe { start(chunk).add(EVENTS) }
}

/// The chunk whose events end there.
fn chunk_of<E>(end: *mut E) -> *mut Chunk<E> {
    end.wrapping_sub(EVENTS).cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out_across_chunks_and_when_they_are_used_again() {
        let mut queue = Queue::new();
        let (mut pushed, mut popped) = (0u128, 0);
        for burst in [1, EVENTS, 3 * EVENTS + 5, 2, 4 * EVENTS] {
            for _ in 0..burst {
                queue.push(pushed);
                pushed += 1;
            }
            for _ in 0..burst / 2 {
                assert_eq!(queue.pop(), Some(popped));
                popped += 1;
            }
        }
        while let Some(event) = queue.pop() {
            assert_eq!(event, popped);
            popped += 1;
        }
        assert_eq!(popped, pushed);
    }
}
