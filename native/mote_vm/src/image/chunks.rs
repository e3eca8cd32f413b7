//! Memory for a walk over the whole heap: chunks of two megabytes, each in one page of the system's where it has such pages. Small pages
//! would cost a third of the walk's time: one after the other is asked for, and looked up at every second step.
//!
//! Invariants:
//! 1. A chunk stays where it is until it is dropped, and was all zeroes at first.
use crate::platform::pages;
use crate::values::actor::Actor;
use std::alloc::{handle_alloc_error, Layout};
use std::ptr::NonNull;

/// Bytes of a chunk.
pub(crate) const CHUNK: usize = 2 << 20;

/// A chunk.
pub(crate) struct WalkChunk(NonNull<u8>);

impl WalkChunk {
    pub(crate) fn new() -> WalkChunk {
        let Some(start) = pages::map(CHUNK, CHUNK).and_then(NonNull::new) else {
            handle_alloc_error(Layout::new::<[u8; CHUNK]>());
        };
        // SAFETY: all of a mapping.
        unsafe { pages::ask_for_huge(start.as_ptr(), CHUNK, true) };
        WalkChunk(start)
    }

    /// Returns the beginning of the chunk.
    pub(crate) fn start<T>(&self) -> NonNull<T> {
        self.0.cast()
    }
}

impl Drop for WalkChunk {
    fn drop(&mut self) {
        // SAFETY: all of a mapping, which only its owner refers to.
        unsafe { pages::unmap(self.0.as_ptr(), CHUNK, CHUNK) };
    }
}

/// Actors in a chunk.
const ACTORS: usize = CHUNK / size_of::<*const Actor>();

/// The actors that were met, by number.
#[derive(Default)]
pub(crate) struct MetActors {
    chunks: Vec<WalkChunk>,
    len: usize,
}

impl MetActors {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, actor: *const Actor) {
        if self.len == self.chunks.len() * ACTORS {
            self.chunks.push(WalkChunk::new());
        }
        let chunk = self.chunks[self.len / ACTORS].start::<*const Actor>();
        // SAFETY: a chunk has room for as many.
        unsafe { chunk.add(self.len % ACTORS).write(actor) };
        self.len += 1;
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<*const Actor> {
        if number >= self.len {
            return None;
        }
        let chunk = self.chunks[number / ACTORS].start::<*const Actor>();
        // SAFETY: written by `push`.
        Some(unsafe { chunk.add(number % ACTORS).read() })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn actors_are_where_they_were_put() {
        let mut actors = MetActors::default();
        let actor = |n: usize| (n * 16) as *const Actor;
        (0..ACTORS + 2).for_each(|n| actors.push(actor(n)));
        for n in [0, ACTORS - 1, ACTORS, ACTORS + 1] {
            assert_eq!(actors.get(n), Some(actor(n)));
        }
        assert_eq!((actors.get(ACTORS + 2), actors.len()), (None, ACTORS + 2));
    }
}
