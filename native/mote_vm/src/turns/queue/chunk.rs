//! The chunks that an event queue is made of, and where they come from.
use super::Event;
use crate::heap::block::BlockPool;
use crate::heap::chunks::Chunks;
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;

/// Events per chunk: with the link behind them a chunk is 16 KiB, half of a first-level cache.
pub(crate) const EVENTS: usize = if cfg!(miri) { 7 } else { 1023 };
/// Emptied chunks kept for reuse; more go back to the allocator.
pub(super) const SPARE: usize = 32;

#[repr(C, align(16))]
pub(super) struct Chunk {
    events: [Event; EVENTS],
    pub(super) next: Option<NonNull<Chunk>>,
    /// Tells where its memory is from (heap/chunks.rs).
    pub(super) small: bool,
}

impl Chunk {
    pub(super) fn start(chunk: NonNull<Chunk>) -> *mut Event {
        chunk.as_ptr().cast()
    }

    pub(super) fn end(chunk: NonNull<Chunk>) -> *mut Event {
        // SAFETY: EVENTS events lie inside of the chunk, before its link.
        unsafe { Chunk::start(chunk).add(EVENTS) }
    }

    /// The chunk whose events end here.
    ///
    /// # Safety
    /// `end` is `Chunk::end` of a live chunk.
    pub(super) unsafe fn ending(end: *mut Event) -> NonNull<Chunk> {
        // SAFETY: by the caller's promise.
        unsafe { NonNull::new_unchecked(end.sub(EVENTS).cast()) }
    }
}

/// Chunks for one queue: those that it has emptied first.
pub(super) struct Supply {
    spare: Vec<NonNull<Chunk>>,
    /// Number of chunks that the queue and `spare` have together.
    held: usize,
    pub(super) memory: Chunks,
}

impl Supply {
    pub(super) fn new(pool: Arc<BlockPool>) -> Supply {
        Supply {
            spare: Vec::with_capacity(SPARE),
            held: 0,
            memory: Chunks::new(pool, Layout::new::<Chunk>()),
        }
    }

    /// Returns the number of chunks taken from memory and not given back, spare ones included.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// An empty chunk, linked to none.
    pub(super) fn fresh(&mut self) -> NonNull<Chunk> {
        if let Some(chunk) = self.spare.pop() {
            // SAFETY: a chunk that is in no queue is this one's alone.
            unsafe { (*chunk.as_ptr()).next = None };
            return chunk;
        }
        let (piece, small) = self.memory.take();
        let chunk = piece.cast::<Chunk>();
        self.held += 1;
        // SAFETY: freshly allocated. The events stay uninitialised; invariant 1 of the queue says which ones may be read.
        unsafe {
            (&raw mut (*chunk.as_ptr()).next).write(None);
            (&raw mut (*chunk.as_ptr()).small).write(small);
        }
        chunk
    }

    /// Takes a chunk back that the queue has emptied.
    pub(super) fn recycle(&mut self, chunk: NonNull<Chunk>) {
        if self.spare.len() < SPARE {
            self.spare.push(chunk);
        } else {
            self.free(chunk);
        }
    }

    /// Returns a chunk's memory.
    pub(super) fn free(&mut self, chunk: NonNull<Chunk>) {
        self.held -= 1;
        // SAFETY: made by `fresh`; the caller took it out of the queue.
        unsafe {
            let small = (*chunk.as_ptr()).small;
            self.memory.give((chunk.cast(), small));
        }
    }

    pub(super) fn let_spare_go(&mut self) {
        while let Some(chunk) = self.spare.pop() {
            self.free(chunk);
        }
    }

    /// Gives memory back, once events for which there was none are taken back.
    #[cold]
    pub(super) fn give_up(&mut self) {
        self.memory.forgive();
        self.let_spare_go();
        self.memory.rest();
    }
}
