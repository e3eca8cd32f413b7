//! What a machine's memory limit is charged with: blocks of heaps and queues, and what foreign values keep outside of heaps.
//! Messages that wait to enter, events on their way between threads, timers and letters in outboxes count as well, and so do
//! the tables of addresses that are held from outside.
//!
//! Anything that can be refused asks first (`take`): allocations of turns, messages and timers from outside or other machines,
//! letters. Anything that was accepted and moves on cannot be refused, and takes in any case (`take_anyway`); it returns the same
//! amount elsewhere within a batch of turns. A part of the limit is not for turns ([`Quota::for_blocks`]), so that a machine with
//! full heaps can still receive messages. What blocks take beyond their part is not counted while as much of them is empty
//! (`credit`): whatever lies in holes keeps out nothing.
//!
//! Invariants:
//! 1. Everything taken is returned once, when the thing that it was taken for is freed: each kind of charge has a test here, or
//!    where it is made.
//! 2. Memory that several holders keep is taken once for each of them; a long binary of the embedder's once for the machine.
//! 3. Memory that only a collection frees hastens the next one, by the amount taken (heap/pace.rs).
//! 4. Memory that is taken in one piece is asked for before it is taken ([`Quota::fits`]), so the machine is never far beyond its limit.
//! 5. Between two collections a few small messages are taken however much lives, up to [`MOST_BEYOND`]: one of them may be what makes
//!    the machine let go of something. Empty blocks that do not count keep none of them out, as long as its turn may have a block
//!    ([`MOST_IN_THE_END`]). So what the machine holds is never so much that nothing can free it.
//! 6. What an image holds is taken up to the most that a machine with this limit may have held: a machine that was full goes on.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

/// One part in this many is kept for what is not made by turns.
const RESERVE: usize = 16;
/// One part in this many is kept from messages, for the turns that they are for; at least so much, unless that is more than half
/// as many parts again.
const FOR_TURNS: usize = 8;
const LEAST_FOR_TURNS: usize = 4 << 20;
/// A message of at most so many bytes is small. Between two collections small ones may have one part in `SMALL_ONES` of the
/// limit whatever is held, and at least a few of them.
const SMALL: usize = 4 << 10;
const SMALL_ONES: usize = 1024;
const LEAST_SMALL_ONES: usize = 4 * SMALL;
/// As long as no more than this part of the limit is held beyond it. So much does not count, at most: turns take a quarter and a block
/// each (heap/block.rs), and some of the rest is to be left.
const MOST_BEYOND: (usize, usize) = (3, 8);
/// One part in this many, for turns that would be given up: more than messages can have, so what was accepted has its turn.
const MOST_IN_THE_END: usize = 2;

/// A machine's memory limit, and how much of it is charged. Numbers that guard nothing, hence relaxed. On cache lines of its own.
#[repr(align(128))]
pub(crate) struct Quota {
    limit: usize,
    held: AtomicUsize,
    /// The part of it that does not count: what blocks have taken beyond their part, as far as nothing is in them.
    credit: AtomicUsize,
    /// Bytes that small messages may have until the next collection, whatever is held.
    for_small: AtomicUsize,
}

impl Default for Quota {
    fn default() -> Quota {
        Quota::new(usize::MAX)
    }
}

impl Quota {
    pub(crate) fn new(limit: usize) -> Quota {
        Quota {
            limit,
            held: AtomicUsize::new(0),
            credit: AtomicUsize::new(0),
            for_small: AtomicUsize::new(0),
        }
    }

    /// Notes how many of the bytes that are held do not count.
    pub(crate) fn set_credit(&self, bytes: usize) {
        self.credit.store(bytes.min(self.most_beyond()), Relaxed);
    }

    /// Returns whether some of the bytes that are held do not count.
    pub(crate) fn has_credit(&self) -> bool {
        self.credit.load(Relaxed) > 0
    }

    /// Notes that a collection is over.
    pub(crate) fn collected(&self) {
        let most = (self.limit / SMALL_ONES).max(LEAST_SMALL_ONES);
        self.for_small.store(most, Relaxed);
    }

    /// Returns whether so much is held that not even a small message enters.
    pub(crate) fn keeps_all_out(&self) -> bool {
        !self.has_for_small(SMALL)
    }

    /// Returns whether small messages may have `bytes` more (invariant 5).
    fn has_for_small(&self, bytes: usize) -> bool {
        let most = self.limit.saturating_add(self.most_beyond());
        self.counted(self.held()).saturating_add(bytes) <= most && self.may_end_turns()
    }

    fn most_beyond(&self) -> usize {
        let (part, of) = MOST_BEYOND;
        self.limit / of * part
    }

    /// Bytes that are taken and count, of `held`.
    fn counted(&self, held: usize) -> usize {
        held.saturating_sub(self.credit.load(Relaxed))
    }

    /// The most that blocks may take of it.
    pub(crate) fn for_blocks(&self) -> usize {
        self.limit - self.limit / RESERVE
    }

    /// Takes `bytes` if they are within the limit.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let before = self.held.fetch_add(bytes, Relaxed);
        let taken = self.counted(before).saturating_add(bytes) <= self.limit;
        if !taken {
            self.give(bytes);
        }
        taken
    }

    /// Takes `bytes` for messages from outside, if that leaves room for their turns; many take blocks beyond the limit when they come
    /// in, so whatever is held counts. Where only a `few` wait they may have what is left, and small ones more than that (invariant 5).
    pub(crate) fn take_for_messages(&self, bytes: usize, few: bool) -> bool {
        let part = self.limit / FOR_TURNS;
        let kept = part.max(LEAST_FOR_TURNS.min(2 * part));
        match few {
            true => self.take(bytes) || self.take_small(bytes),
            false => self.held().saturating_add(bytes) <= self.limit - kept && self.take(bytes),
        }
    }

    #[cold]
    fn take_small(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = bytes <= SMALL
            && self.has_for_small(bytes)
            && (self.for_small.fetch_update(Relaxed, Relaxed, less)).is_ok();
        if taken {
            self.take_anyway(bytes);
        }
        taken
    }

    /// Takes `bytes` even beyond the limit.
    pub(crate) fn take_anyway(&self, bytes: usize) {
        self.held.fetch_add(bytes, Relaxed);
    }

    /// Makes what is charged `bytes`: takes what is missing, also beyond the limit, or returns what is too much.
    pub(crate) fn charge(&self, charged: &mut usize, bytes: usize) {
        let before = std::mem::replace(charged, bytes);
        match bytes.checked_sub(before) {
            Some(0) => {}
            Some(more) => self.take_anyway(more),
            None => self.give(before - bytes),
        }
    }

    /// Returns `bytes`.
    pub(crate) fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
    }

    /// Returns whether `bytes` more would leave some of the reserve, for turns that send elsewhere or arm timers.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        bytes <= self.left_of_most()
    }

    /// Returns how much is left for whoever leaves some of the reserve.
    fn left_of_most(&self) -> usize {
        let most = self.limit - self.limit / RESERVE / 2;
        most.saturating_sub(self.counted(self.held()))
    }

    /// Returns whether turns that would be given up may have more.
    pub(crate) fn may_end_turns(&self) -> bool {
        self.fits_in_the_end(0)
    }

    /// Returns whether there may be `bytes` more of what was accepted before (invariant 6).
    pub(crate) fn fits_in_the_end(&self, bytes: usize) -> bool {
        let most = self.limit.saturating_add(self.limit / MOST_IN_THE_END);
        self.held().saturating_add(bytes) < most
    }

    /// Takes `bytes` for what an image holds (invariant 6).
    pub(crate) fn take_again(&self, bytes: usize) -> bool {
        let fits = self.fits_in_the_end(bytes);
        if fits {
            self.take_anyway(bytes);
        }
        fits
    }

    /// Returns whether there are `bytes` more.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.counted(self.held()).saturating_add(bytes) <= self.limit
    }

    /// Bytes that are taken.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }
}

/// A machine's quota, for things that wait outside of its heaps and inboxes.
#[derive(Clone, Default)]
pub struct Account(Arc<Quota>);

impl Account {
    pub(crate) fn of(quota: &Arc<Quota>) -> Account {
        Account(quota.clone())
    }

    /// Takes `bytes` if they are within the limit, and some of the reserve is left.
    pub fn charge(&self, bytes: usize) -> Option<Charge> {
        let taken = self.0.has(bytes) && self.0.take(bytes);
        taken.then(|| self.charge_of(bytes))
    }

    /// Returns the bytes that could be charged.
    pub fn left(&self) -> usize {
        self.0.left_of_most()
    }

    /// Takes `bytes` even beyond the limit, for what was accepted before.
    pub fn charge_anyway(&self, bytes: usize) -> Charge {
        self.0.take_anyway(bytes);
        self.charge_of(bytes)
    }

    fn charge_of(&self, bytes: usize) -> Charge {
        Charge {
            quota: self.0.clone(),
            bytes,
        }
    }
}

/// Bytes that were taken, and are given back when this goes.
pub struct Charge {
    quota: Arc<Quota>,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.quota.give(self.bytes);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
