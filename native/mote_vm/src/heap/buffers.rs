//! SpareBuffers of long binaries that have died, kept for the next ones: a page that the system must find and clear again takes longer
//! than what a vector's operation computes in it.
//!
//! As with free blocks, what is kept is not charged, and is no more than is likely to be used soon; nothing is kept while
//! the reserve keeps nothing (reserve.rs).
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Shorter ones are for the allocator, which keeps them at hand itself.
const LEAST: usize = 1024;

/// The buffers that one machine keeps.
#[derive(Default)]
pub(super) struct SpareBuffers(Mutex<BuffersByLength>);

#[derive(Default)]
struct BuffersByLength {
    /// By their lengths: vectors of one program have few.
    by_length: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: usize,
}

impl SpareBuffers {
    /// Keeps a buffer, unless that makes more than `most` bytes.
    pub(super) fn keep(&self, buffer: Vec<u8>, most: usize) {
        let length = buffer.len();
        if length < LEAST {
            return;
        }
        let mut kept = self.0.lock();
        if kept.bytes + length <= most {
            kept.bytes += length;
            kept.by_length.entry(length).or_default().push(buffer);
        }
    }

    /// Returns a buffer of that length. What is in it means nothing.
    pub(super) fn take(&self, length: usize) -> Vec<u8> {
        let mut found = None;
        if length >= LEAST {
            let mut kept = self.0.lock();
            found = kept.by_length.get_mut(&length).and_then(Vec::pop);
            if found.is_some() {
                kept.bytes -= length;
            }
        }
        found.unwrap_or_else(|| vec![0; length])
    }

    /// Gives back all of them.
    pub(super) fn clear(&self) {
        let kept = std::mem::take(&mut *self.0.lock());
        drop(kept);
    }

    /// Bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_the_same_length_is_found_again() {
        let buffers = SpareBuffers::default();
        buffers.keep(vec![1; LEAST], usize::MAX);
        buffers.keep(vec![2; LEAST + 1], usize::MAX);
        buffers.keep(vec![3; LEAST - 1], usize::MAX);
        assert_eq!(buffers.bytes(), 2 * LEAST + 1);
        assert_eq!(buffers.take(LEAST), vec![1; LEAST]);
        assert_eq!(buffers.take(LEAST), vec![0; LEAST]);
        assert_eq!(buffers.take(LEAST - 1), vec![0; LEAST - 1]);
        buffers.clear();
        assert_eq!((buffers.bytes(), buffers.take(LEAST + 1)[0]), (0, 0));
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let buffers = SpareBuffers::default();
        for _ in 0..3 {
            buffers.keep(vec![1; LEAST], 2 * LEAST);
        }
        assert_eq!(buffers.bytes(), 2 * LEAST);
    }
}
