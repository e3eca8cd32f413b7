//! A turn for which there is no memory runs once more after a whole collection, before it is given up.
//!
//! Invariants:
//! 1. Between the turn that found no memory and the end of a collection that began afterwards, the thread runs no turn.
//!    No other thread of the machine does either while that collection goes on, so that cells can move; it goes on in
//!    slices and pauses as short as ever. If something from outside has run all the same, another collection follows that
//!    does everything in its pauses, however long they take: otherwise an accepted message would be lost.
//! 2. A turn is given up only if a whole collection has just found no room for it, or if one has run a moment ago and
//!    found little. So a full thread waits for collections a fifth of its time, and not all of it. A fork bomb fills a
//!    machine again and again with the little that each collection finds. A durable machine, which ends with a turn that
//!    is given up, always waits.
//! 3. The amount of live and waiting data decides, not the blocks that it lies in: waiting messages do not move, and may
//!    keep every block from being emptied. If they leave room for a block, a turn may take a block beyond the quota, and
//!    only then waits for a collection.
//! 4. Each time that something has come in and few events wait, one turn that would be given up gets a block all the
//!    same, up to half of the quota beyond it: that turn may make the machine release something.
use crate::heap::pace::SHARE_WHEN_FULL;
use crate::threads::thread::Dispatch;
use crate::turns::marking::phase::{Phase, NAP};
use std::time::{Duration, Instant};

/// Number of times that one turn is tried: others may have taken what a collection has found.
const TRIES: u32 = 3;

/// The turn that a thread has found no memory for.
#[derive(Default)]
pub(crate) struct Starved {
    /// The collection after which it runs again.
    waits_for: Option<u64>,
    /// That collection moves cells in its pauses, however long they take: the last one could not, since something has run.
    hard: bool,
    /// Number of times that it has run, and number of turns that the thread had run before it.
    tries: u32,
    turns: u64,
    /// Number of turns run before the turn for which the thread has looked whether it may take memory beyond the quota.
    overdrew: Option<u64>,
    /// True if something has come in, and few events waited (invariant 4).
    pub(crate) expects_few: bool,
    /// True since the last turn that has found no memory, if that is to run again.
    pub(crate) again: bool,
    /// Time when it began to wait; time when its last wait ended, and the length of that.
    since: Option<Instant>,
    waited: Option<(Instant, Duration)>,
}

impl Starved {
    /// Returns whether the thread waits for a collection.
    #[inline(always)]
    pub(crate) fn awaits_collection(&self) -> bool {
        self.waits_for.is_some()
    }

    /// Returns whether the collection that the thread waits for is not to be disturbed.
    #[inline(always)]
    pub(crate) fn is_hard(&self) -> bool {
        self.hard && self.awaits_collection()
    }

    /// Returns whether it has waited for no more than its share of the time.
    fn may_wait(&self) -> bool {
        let rested = |(over, time): (Instant, Duration)| {
            over.elapsed() >= time * (SHARE_WHEN_FULL as u32 - 1)
        };
        self.waited.is_none_or(rested)
    }
}

impl Dispatch {
    /// Returns whether a turn that has found no memory is to run again.
    #[cold]
    pub(crate) fn tries_again(&mut self) -> bool {
        self.starved.again = self.is_worth_another_try();
        self.starved.again
    }

    fn is_worth_another_try(&mut self) -> bool {
        // A turn that was outside must not run twice.
        if self.away.is_some() {
            return false;
        }
        let turns = self.turn.counts.turns;
        let tries = match self.starved.turns == turns {
            true => self.starved.tries,
            false => 0,
        };
        let threads = self.context.machine.stations().all().len();
        let most = if threads > 1 { TRIES } else { 2 };
        // Once for each turn: one that needs more waits for a collection, too.
        if self.starved.overdrew != Some(turns) {
            self.starved.overdrew = Some(turns);
            if self.overdraws() {
                return true;
            }
        }
        let machine = &self.context.machine;
        let has_to = tries > 0 || machine.journal().is_some();
        let is_worth_it = has_to || machine.pool().has_found_much() || self.starved.may_wait();
        // Something may be made outside during each collection, for ever: so it waits for one that is hard once.
        let was_disturbed =
            machine.gc().compaction.take_broken_off() && tries > 0 && !self.starved.hard;
        if !was_disturbed && (tries + 1 >= most || !is_worth_it) {
            self.starved.tries = 0;
            let may =
                std::mem::take(&mut self.starved.expects_few) && machine.pool().may_go_beyond(true);
            if may {
                self.turn.heap.may_overdraw_a_block();
            }
            return may;
        }
        machine.pool().pace.awaited();
        self.starved.waits_for = Some(machine.gc().next());
        self.starved.hard = was_disturbed;
        self.starved.since = Some(Instant::now());
        (self.starved.tries, self.starved.turns) = (tries + 1, turns);
        true
    }

    /// Returns whether the thread may take memory beyond the quota now.
    fn overdraws(&mut self) -> bool {
        let machine = &self.context.machine;
        let bytes = machine.pool().overdraft(machine.gc().info().live_bytes);
        self.turn.heap.may_overdraw(bytes);
        bytes > 0
    }

    /// Collects while turns are held for it. Nothing that is made comes in meanwhile: it would keep cells from moving.
    pub(crate) fn wait_for_memory(&mut self) {
        while self.context.machine.gc().holds_turns() && !self.context.machine.is_stopping() {
            if self.keep_house() {
                continue;
            }
            // Others do what is left: for as long as it takes to write an image, or soon.
            match self.context.machine.gc().phase() {
                Phase::Saving => std::thread::sleep(NAP),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Goes on when the collection is over that a turn waits for.
    pub(crate) fn look_for_memory(&mut self) {
        let gc = self.context.machine.gc();
        if self
            .starved
            .waits_for
            .is_some_and(|number| gc.is_over(number))
        {
            self.starved.waits_for = None;
            let since = self.starved.since.take();
            self.starved.waited = since.map(|since| (Instant::now(), since.elapsed()));
            self.overdraws();
        }
    }
}
