//! Bytes that wait, on their way in or out. They are charged by the room that they take.
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
        let room = self.room_for(more);
        let grows = room - self.charged;
        if grows > 0 && !(quota.has(grows) && quota.take(grows)) {
            return false;
        }
        self.grow(room);
        true
    }

    /// Adds bytes that are there already, whether there is memory for them or not.
    pub(crate) fn push(&mut self, bytes: &[u8], quota: &Quota) {
        let room = self.room_for(bytes.len());
        quota.take_anyway(room - self.charged);
        self.grow(room);
        self.add(bytes);
    }

    /// Adds bytes, for which there is room.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The room that it needs for `more` bytes: what has gone makes room first.
    fn room_for(&mut self, more: usize) -> usize {
        if self.bytes.len() + more > self.charged && self.from > 0 {
            self.bytes.drain(..self.from);
            self.from = 0;
        }
        let needed = self.bytes.len() + more;
        match needed > self.charged {
            // Twice as much each time: what is copied stays in proportion to what comes.
            true => needed.max(2 * self.charged),
            false => self.charged,
        }
    }

    fn grow(&mut self, room: usize) {
        self.bytes.reserve_exact(room - self.bytes.len());
        self.charged = room;
    }

    /// Takes `n` bytes off the front. Returns whether none is left.
    pub(crate) fn take(&mut self, n: usize) -> bool {
        self.from += n;
        self.from == self.bytes.len()
    }

    /// It goes.
    pub(crate) fn end(self, quota: &Quota) {
        quota.give(self.charged);
    }
}
