//! Bytes that wait, on their way in or out.
//!
//! Invariants:
//! 1. They are charged by the room that they take, and take no more than is there for them: bytes that came, for which there was
//!    memory when they were asked for, may be beyond it by themselves alone.
//! 2. The work for a byte is bounded on the average, however bytes come and go.
use crate::base::quota::Quota;

/// Bytes that are taken from the front and added behind.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    from: usize,
    charged: usize,
}

impl Buffer {
    /// The bytes that are there.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    /// Makes room for `more` bytes; `false` if there is no memory for them.
    pub(crate) fn reserve(&mut self, more: usize, quota: &Quota) -> bool {
        if self.bytes.len() + more <= self.charged {
            return true;
        }
        let rest = self.rest().len();
        let needed = self.charged.max(rest + more);
        // What is moved stays in proportion to what has gone, or to what comes: it moves to the front if that is little, and to
        // twice as much room otherwise, as far as there is memory.
        let roomy = match needed == self.charged && rest <= self.from {
            true => needed,
            false => needed.max(2 * self.charged),
        };
        let takes = |room: &usize| match room - self.charged {
            0 => true,
            grows => quota.has(grows) && quota.take(grows),
        };
        let Some(room) = [roomy, needed].into_iter().find(takes) else {
            return false;
        };
        self.make(room);
        true
    }

    /// Adds bytes that are there already, whether there is memory for them or not.
    pub(crate) fn push(&mut self, bytes: &[u8], quota: &Quota) {
        if !self.reserve(bytes.len(), quota) {
            // More than there was: else that would have been enough.
            let room = self.rest().len() + bytes.len();
            quota.take_anyway(room - self.charged);
            self.make(room);
        }
        self.add(bytes);
    }

    /// Adds bytes, for which there is room.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes so much room in all, which is charged.
    fn make(&mut self, room: usize) {
        self.bytes.drain(..self.from);
        self.from = 0;
        self.bytes.reserve_exact(room - self.bytes.len());
        self.charged = room;
    }

    /// Takes `n` bytes off the front. Returns whether none is left.
    pub(crate) fn take(&mut self, n: usize) -> bool {
        self.from += n;
        self.from == self.bytes.len()
    }

    /// Ends the buffer, and gives its memory back.
    pub(crate) fn end(self, quota: &Quota) {
        quota.give(self.charged);
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;

    /// Invariant 2.
    #[test]
    fn little_is_moved_for_a_byte_that_comes_and_one_that_goes() {
        let quota = Quota::default();
        let mut buffer = Buffer::default();
        buffer.push(&[7; 1_000], &quota);
        let mut moved = 0;
        for n in 0..100_000_u32 {
            buffer.take(1);
            let from = buffer.from;
            let before = buffer.charged;
            assert!(buffer.reserve(1, &quota));
            if buffer.from < from || buffer.charged > before {
                moved += buffer.rest().len();
            }
            buffer.add(&[n as u8]);
        }
        assert_eq!(buffer.rest().len(), 1_000);
        assert!(moved <= 200_000, "{moved} bytes were moved");
        assert!(buffer.charged <= 4_000);
        assert_eq!(quota.held(), buffer.charged);
        buffer.end(&quota);
        assert_eq!(quota.held(), 0);
    }

    /// Invariant 1.
    #[test]
    fn where_memory_is_short_a_buffer_takes_what_is_needed() {
        let quota = Quota::new(64_000);
        let mut buffer = Buffer::default();
        assert!(buffer.reserve(40_000, &quota));
        buffer.add(&[1; 40_000]);
        assert!(buffer.reserve(20_000, &quota));
        buffer.add(&[2; 20_000]);
        assert_eq!(quota.held(), 60_000);
        assert!(!buffer.reserve(20_000, &quota));
        assert_eq!(quota.held(), 60_000);
        // What has gone makes room, whatever it costs.
        buffer.take(100);
        assert!(buffer.reserve(100, &quota));
        buffer.push(&[3; 5_000], &quota);
        assert_eq!((buffer.rest().len(), quota.held()), (64_900, 64_900));
        assert_eq!(buffer.rest()[39_899..39_901], [1, 2]);
        buffer.end(&quota);
        assert_eq!(quota.held(), 0);
    }
}
