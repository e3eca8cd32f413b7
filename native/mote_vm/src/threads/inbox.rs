//! The entrance of a dispatch thread for everything from elsewhere: many senders, one thread that drains in batches.
//!
//! Invariants:
//! 1. What is pushed is in the inbox until the drain that returns it; entries of one sender keep their order.
//! 2. `pending` is set after a push and cleared before the contents are taken, so what a drain misses has
//!    `pending` set.
//! 3. A thread that is about to park says so in its presence first and looks at `pending` then; a sender sets
//!    `pending` first and looks at the presence then. Each has a sequentially consistent fence between its two
//!    steps, so one of the two sees the other: no wake-up is lost.
//! 4. A closed inbox takes nothing more; the sender gets its things back and finds another.
//! 5. Everything that waits is charged to the machine's quota. Messages from outside and from other machines enter only if the
//!    quota has room; everything else enters in any case.
//! 6. Everything in it has a place in the sponsor's room (room.rs). The room is looked up under the lock, so a thread of
//!    a new sponsor never gets the places of the sponsor that had its number before.
//! 7. The contents at the beginning of a collection are `unseen` until the collection is shown them: by the thread that
//!    takes them out, or by the collection itself at its end.
//! 8. While anything is in it, the inbox counts as one thing to do (quiescence.rs): from before the first thing enters
//!    until the thread that has taken out everything says that it is done.
//! 9. `version` changes under the lock before an actor is given away by the thread or taken from it, and again
//!    afterwards; in between it is odd. A sender that has read an even version, and then that the thread owns the actor,
//!    gets its event in only while the version is the same. Otherwise it is refused and looks at the actor's record again
//!    (giving.rs).
//! 10. When a sponsor is removed, its inboxes turn away what comes from outside before any of that enters by the first sponsor. So what
//!     the same caller sends next cannot overtake it: that enters there as well, or what it follows is here already.
mod admission;
mod contents;
#[cfg(all(test, loom))]
mod models;
mod owners;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::base::quota::Quota;
use crate::base::sync::{
    fence, AcqRel, Acquire, AtomicBool, AtomicU64, CachePadded, Mutex, Release, SeqCst,
};
use crate::boundary::room::Room;
use crate::threads::quiescence::Quiescence;
pub(crate) use admission::{Sender, FEW};
pub(crate) use contents::{Contents, Done, Entry, InboxItem, ThreadTask};
pub(crate) use owners::NotIn;
use std::mem::take;
use std::sync::Arc;

#[derive(Default)]
struct Inner {
    contents: Contents,
    room: Arc<Room>,
    closed: bool,
    /// Invariant 10.
    turns_away: bool,
}

/// True if the sender is to wake the thread if it sleeps: no earlier sender has announced anything that is still to be taken out.
pub(crate) type Wakes = bool;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Inbox {
    inner: CachePadded<Mutex<Inner>>,
    /// Polled by a thread that has nothing else to do.
    pending: CachePadded<AtomicBool>,
    /// Invariant 9.
    version: AtomicU64,
    quota: Arc<Quota>,
    quiescence: Arc<Quiescence>,
}

impl Inbox {
    pub(crate) fn new(quota: Arc<Quota>, quiescence: Arc<Quiescence>) -> Inbox {
        Inbox {
            quota,
            quiescence,
            ..Inbox::default()
        }
    }

    /// Adds an entry; gives it back when the inbox is closed.
    pub(crate) fn push(&self, entry: Entry) -> Result<Wakes, Entry> {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Err(entry);
        }
        self.add(&mut inner, entry);
        drop(inner);
        Ok(self.announce_pushed())
    }

    fn add(&self, inner: &mut Inner, entry: Entry) {
        inner.room.add(entry.weight());
        let bytes = entry.bytes();
        self.quota.take_anyway(bytes);
        inner.contents.charged += bytes;
        self.count(&inner.contents);
        inner.contents.add(entry);
    }

    /// Counts the inbox as a thing to do before the first thing is put in (invariant 8).
    fn count(&self, contents: &Contents) {
        if contents.len() == 0 {
            self.quiescence.add(1);
        }
    }

    /// Makes the thread look for what was just pushed, unless that was seen to.
    fn announce_pushed(&self) -> Wakes {
        // Acquire: still set from before, it was not cleared since the push, for the lock orders a push and the clearing
        // before a drain that misses it. So the drain that takes what was pushed is still to come, and whoever set it
        // sees to the waking (invariant 3).
        let wakes = !self.pending.load(Acquire);
        if wakes {
            self.announce();
        }
        wakes
    }

    /// Makes the thread look, even if there is nothing.
    pub(crate) fn announce(&self) {
        // Release: whoever sees it set finds what was pushed.
        self.pending.store(true, Release);
        // The look at the presence that follows stays behind (invariant 3).
        fence(SeqCst);
    }

    /// Returns whether a drain may find something. Cheap enough to ask between turns.
    #[inline(always)]
    pub(crate) fn is_pending(&self) -> bool {
        // Acquire: pairs with the announcement. A stale `false` is corrected by a later look; the last look before
        // parking comes after a fence (invariant 3).
        self.pending.load(Acquire)
    }

    /// Returns whether events from other threads wait here. Those of a thread that was seen asleep are among them.
    pub(crate) fn has_events(&self) -> bool {
        self.is_pending() && !self.inner.lock().contents.events.is_empty()
    }

    /// Swaps the contents with `into`, which is empty.
    pub(crate) fn drain(&self, into: &mut Contents) {
        // Cleared before the lock is taken: what is pushed after that sets it again (invariant 2). AcqRel on a swap,
        // so that the clearing cannot move behind the taking.
        self.pending.swap(false, AcqRel);
        std::mem::swap(&mut self.inner.lock().contents, into);
        self.taken(into);
    }

    fn taken(&self, contents: &mut Contents) {
        contents.spare = 0;
        self.quota.give(take(&mut contents.charged));
    }

    /// Drains the inbox if little is in it: what can be unpacked in some microseconds. Whether it was.
    pub(crate) fn drain_little(&self, into: &mut Contents) -> bool {
        let mut inner = self.inner.lock();
        if !inner.contents.is_little() {
            return false;
        }
        // As above: what is not taken here is pushed after the lock is free again, and sets it again.
        self.pending.swap(false, AcqRel);
        std::mem::swap(&mut inner.contents, into);
        drop(inner);
        self.taken(into);
        true
    }

    /// Closes it for good: what is in it is dropped, and stays counted as waiting. Places that were taken ahead are nobody's.
    pub(crate) fn end(&self) {
        let mut contents = Contents::default();
        self.close(&mut contents);
        let room = self.inner.lock().room.clone();
        room.leave(contents.places);
    }

    /// Lets nothing more in; what is there goes to `into`.
    pub(crate) fn close(&self, into: &mut Contents) {
        let mut inner = self.inner.lock();
        inner.closed = true;
        std::mem::swap(&mut inner.contents, into);
        self.taken(into);
    }

    /// Lets in nothing more from outside, as if it were closed (invariant 10).
    pub(crate) fn turn_away(&self) {
        self.inner.lock().turns_away = true;
    }

    /// Lets things in again, for the next thread of the same number.
    pub(crate) fn open(&self, room: &Arc<Room>) {
        let mut inner = self.inner.lock();
        (inner.closed, inner.turns_away) = (false, false);
        inner.room = room.clone();
    }

    /// Shows everything that waits.
    pub(crate) fn each(&self, show: impl FnMut(InboxItem<'_>)) {
        self.inner.lock().contents.each(show);
    }

    /// Shows the first things that wait, until they count as `n`. Returns how many they count as, and how many there are.
    pub(crate) fn first(&self, n: usize, show: impl FnMut(InboxItem<'_>)) -> (usize, usize) {
        self.inner.lock().contents.first(n, show)
    }

    /// A collection begins (invariant 7).
    pub(crate) fn begin_collection(&self) {
        let mut inner = self.inner.lock();
        inner.contents.unseen = inner.contents.len() > 0;
    }

    /// Bytes of what a collection has still to see here.
    pub(crate) fn unseen(&self) -> usize {
        let inner = self.inner.lock();
        match inner.contents.unseen {
            true => inner.contents.bytes(),
            false => 0,
        }
    }

    /// Shows what a collection has still to see.
    pub(crate) fn show_unseen(&self, show: impl FnMut(InboxItem<'_>)) {
        let mut inner = self.inner.lock();
        if std::mem::take(&mut inner.contents.unseen) {
            inner.contents.each(show);
        }
    }

    /// Returns the number of things that wait, and the number of places taken for more.
    pub(crate) fn figures(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.contents.len(), inner.contents.places)
    }
}
