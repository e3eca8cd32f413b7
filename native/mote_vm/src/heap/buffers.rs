//! Buffers of long binaries that have died, kept for the next ones: a page that the system must find and clear again takes longer
//! than what a vector's operation computes in it.
//!
//! As with free blocks, what is kept is not charged, and is no more than is likely to be used soon; nothing is kept while
//! the reserve keeps nothing (reserve.rs).
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Shorter ones are for the allocator, which keeps them at hand itself.
pub(super) const SHORTEST: usize = 1024;

/// The buffers that one machine keeps.
#[derive(Default)]
pub(super) struct SpareBuffers(Mutex<BuffersByLength>);

#[derive(Default)]
struct BuffersByLength {
    /// Free buffers by their lengths: vectors of one program have few lengths.
    by_length: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: usize,
}

impl BuffersByLength {
    /// Gives back a buffer of another length. Returns whether there was one.
    fn drop_other(&mut self, than: usize) -> bool {
        let Some((&length, buffers)) = self.by_length.iter_mut().find(|(&l, _)| l != than) else {
            return false;
        };
        buffers.pop();
        if buffers.is_empty() {
            self.by_length.remove(&length);
        }
        self.bytes -= length;
        true
    }
}

impl SpareBuffers {
    /// Keeps a buffer, unless that makes more than `most` bytes.
    pub(super) fn keep(&self, mut buffer: Vec<u8>, most: usize) {
        let length = buffer.capacity();
        buffer.clear();
        if length > most {
            return;
        }
        let mut kept = self.0.lock();
        // Others are of an earlier time, when this length is what dies now.
        while kept.bytes + length > most {
            if !kept.drop_other(length) {
                return;
            }
        }
        kept.bytes += length;
        kept.by_length.entry(length).or_default().push(buffer);
    }

    /// Returns an empty buffer with room for exactly that many bytes.
    pub(super) fn take(&self, length: usize) -> Vec<u8> {
        let mut found = None;
        if length >= SHORTEST {
            let mut kept = self.0.lock();
            if let Some(buffers) = kept.by_length.get_mut(&length) {
                found = buffers.pop();
                if buffers.is_empty() {
                    kept.by_length.remove(&length);
                }
                kept.bytes -= length;
            }
        }
        found.unwrap_or_else(|| Vec::with_capacity(length))
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
        buffers.keep(vec![1; SHORTEST], usize::MAX);
        buffers.keep(vec![2; SHORTEST + 1], usize::MAX);
        assert_eq!(buffers.bytes(), 2 * SHORTEST + 1);
        let found = buffers.take(SHORTEST);
        assert_eq!((found.len(), found.capacity()), (0, SHORTEST));
        assert_eq!(buffers.bytes(), SHORTEST + 1);
        assert_eq!(buffers.take(SHORTEST).capacity(), SHORTEST);
        assert_eq!(buffers.bytes(), SHORTEST + 1);
        buffers.clear();
        assert_eq!(buffers.bytes(), 0);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let buffers = SpareBuffers::default();
        for _ in 0..3 {
            buffers.keep(vec![1; SHORTEST], 2 * SHORTEST);
        }
        assert_eq!(buffers.bytes(), 2 * SHORTEST);
        buffers.keep(vec![1; SHORTEST + 1], 2 * SHORTEST);
        assert_eq!(
            buffers.bytes(),
            SHORTEST + 1,
            "what dies now comes before the others"
        );
    }
}
