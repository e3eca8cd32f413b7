//! Messages from outside and from other machines: they enter only if there is room and memory for them (inbox.rs,
//! invariants 5 and 6).
//!
//! Places and bytes are taken some messages ahead, and the rest of them goes back with the next drain. So most messages touch no
//! count that is shared with the thread, whose cache line would have to come over.
use super::contents::{Contents, Entry, ENTRY_BYTES};
use super::{Inbox, Inner, Wakes};
use crate::boundary::batch::Batch;
use crate::boundary::refusal::{NotEntered, Refusal};
use crate::boundary::room::Permit;

/// Places for messages from outside that are taken at a time, and bytes for them.
pub(super) const PLACES_AHEAD: usize = 16;
pub(super) const BYTES_AHEAD: usize = 4 << 10;
/// Messages may have the last of the memory while no more than this many wait in a sponsor.
pub(crate) const FEW: usize = 64;

/// The next step of a sender outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sender {
    /// The sender does something else.
    GoesOn,
    /// The sender waits for the outcome of the message, and would stand in for the thread (stand_in.rs).
    Waits,
}

impl Inner {
    fn is_closed_to_outside(&self) -> bool {
        self.closed || self.turns_away
    }

    /// Takes a place for a message from outside, if there is one.
    fn enter(&mut self) -> bool {
        let places = &mut self.contents.places;
        if *places > 0 && self.room.enter_by_place(*places) {
            *places -= 1;
            return true;
        }
        match self.room.enter_ahead(PLACES_AHEAD) {
            0 => false,
            taken => {
                *places += taken - 1;
                true
            }
        }
    }

    /// Takes up to `n` places. Returns their number.
    fn enter_some(&mut self, n: usize) -> usize {
        let mut entered = 0;
        while entered < n && self.contents.places > 0 && self.enter() {
            entered += 1;
        }
        match n - entered {
            0 => n,
            others => entered + self.room.enter_some(others),
        }
    }
}

impl Inbox {
    /// Puts in a message from outside: only if there is room, unless the caller has waited for some. A permit that
    /// is left over is for the caller to drop, and so is what is given back.
    pub(crate) fn push_from_outside(
        &self,
        entry: Entry,
        permit: &mut Option<Permit>,
        sender: Sender,
    ) -> Result<Wakes, (NotEntered, Entry)> {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if inner.is_closed_to_outside() {
            return Err((NotEntered::Closed, entry));
        }
        let before = (inner.contents.charged, inner.contents.spare);
        let few = inner.room.waiting() < FEW;
        let take = |bytes| self.quota.take_for_messages(bytes, few);
        if !charge(&mut inner.contents, entry.bytes(), take) {
            return Err((NotEntered::Refused(Refusal::NoMemory), entry));
        }
        match permit.take() {
            Some(waited_for) => *permit = waited_for.use_in(&inner.room),
            None if inner.enter() => {}
            None => {
                // As if it had not come: there may be no drain to give anything back.
                self.quota.give(inner.contents.charged - before.0);
                (inner.contents.charged, inner.contents.spare) = before;
                let patient = inner.room.patient;
                drop(guard);
                return Err((NotEntered::Refused(Refusal::Full { patient }), entry));
            }
        }
        self.count(&inner.contents);
        inner.contents.entries.push(entry);
        inner.contents.claimed += (sender == Sender::Waits) as usize;
        drop(guard);
        Ok(self.announce_pushed())
    }

    /// Puts in a message of another machine's turn, or of the embedder's own: there need not be room for it, but memory.
    pub(crate) fn push_between(&self, entry: Entry) -> Result<Wakes, (NotEntered, Entry)> {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if inner.is_closed_to_outside() {
            return Err((NotEntered::Closed, entry));
        }
        let take = |bytes| self.quota.take(bytes);
        if !charge(&mut inner.contents, entry.bytes(), take) {
            return Err((NotEntered::Refused(Refusal::NoMemory), entry));
        }
        inner.room.add(1);
        self.count(&inner.contents);
        inner.contents.entries.push(entry);
        drop(guard);
        Ok(self.announce_pushed())
    }

    /// Puts in a batch that has its places. Returns the batch if the inbox is closed.
    pub(crate) fn push_placed(&self, batch: Box<Batch>) -> Result<Wakes, Box<Batch>> {
        let mut inner = self.inner.lock();
        if inner.is_closed_to_outside() {
            return Err(batch);
        }
        let entry = Entry::Batch(batch);
        let bytes = entry.bytes();
        self.quota.take_anyway(bytes);
        inner.contents.charged += bytes;
        self.count(&inner.contents);
        inner.contents.add(entry);
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// Puts in as many messages of a batch as there is room for, the first ones. Returns how many, and why the others were
    /// refused; returns the batch if the inbox is closed.
    pub(crate) fn push_batch(
        &self,
        mut batch: Box<Batch>,
    ) -> Result<(usize, Option<Refusal>, Wakes), Box<Batch>> {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if inner.is_closed_to_outside() {
            return Err(batch);
        }
        let n = batch.len();
        let bytes = batch.bytes() + ENTRY_BYTES;
        let few = inner.room.waiting() + n <= FEW;
        if !self.quota.take_for_messages(bytes, few) {
            return Ok((0, Some(Refusal::NoMemory), false));
        }
        let entered = inner.enter_some(n);
        let refused = (entered < n).then_some(Refusal::Full {
            patient: inner.room.patient,
        });
        if entered == 0 {
            self.quota.give(bytes);
            return Ok((0, refused, false));
        }
        batch.truncate(entered);
        let entry = Entry::Batch(batch);
        inner.contents.charged += entry.bytes();
        self.quota.give(bytes - entry.bytes());
        self.count(&inner.contents);
        inner.contents.add(entry);
        drop(guard);
        Ok((entered, refused, self.announce_pushed()))
    }
}

/// Charges the contents with `bytes` more, if `take` finds room for them.
fn charge(contents: &mut Contents, bytes: usize, take: impl Fn(usize) -> bool) -> bool {
    if contents.spare < bytes {
        let ahead = bytes.max(BYTES_AHEAD);
        let taken = match take(ahead) {
            true => ahead,
            false if take(bytes) => bytes,
            false => return false,
        };
        contents.charged += taken;
        contents.spare += taken;
    }
    contents.spare -= bytes;
    true
}
