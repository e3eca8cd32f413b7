//! The elements that primitives walk over, counted as they go, so that a walk ends when the turn cannot pay for more.
//!
//! Invariants:
//! 1. The elements of a walk are counted before it, or step by step: never only after a whole walk, and also if the walk finds no
//!    answer.
//! 2. When more is counted than the turn has fuel for, or when the turn is to end, counting says no, from then on until the
//!    turn has paid. The primitive then gives up at once; its result does not matter, because the turn that pays next is aborted
//!    ([`Turn::pay_for_work`](crate::turns::turn::Turn)). So what the turn may still spend bounds what a primitive does: a
//!    stand-in with little fuel gives up before it begins.
//! 3. Steps that are not counted one by one, but paid for by a price that is counted before (comparing keys to find a
//!    place among others), check whether the turn is to end just as often. Their number exceeds the counted ones at most by a
//!    factor of the number of levels that are searched.
use crate::base::lent::Lender;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

/// Elements that a primitive walks over for one unit of fuel: about the time of a call.
const ELEMENTS: usize = 4;
/// Bytes that are copied or compared for one element.
pub(crate) const COPIED: usize = 32;
/// Elements that a primitive walks over for nothing: as little as other operations do, which cost no fuel either. The plain
/// Elixir form charges the same (lib/mote/total/work.ex).
pub const FREE: usize = 64;
/// Steps between two looks whether the turn is to end: some tens of microseconds, ten times that with a cache miss in each.
const LOOK: usize = 1 << 14;
/// Counted when the turn is to end.
const OVER: usize = usize::MAX;

/// Too much is counted: invariant 2.
pub(crate) struct Over;

/// The elements that one turn has walked over, and how many more it can pay for.
pub(crate) struct Work {
    /// Elements walked over since a turn last paid; or [`OVER`].
    counted: usize,
    /// Count at which to look next, and the most that the turn can pay for.
    until: usize,
    most: usize,
    /// Steps that are not counted since the last look.
    passed: usize,
    /// Flags that say whether the turn is to end: the machine stops, or the sponsor is removed.
    ends: Vec<Arc<AtomicBool>>,
    /// The lender of memory beside the heap, and whether it refused.
    pub(crate) lender: Option<Arc<dyn Lender>>,
    lacks_memory: bool,
}

impl Work {
    /// Work that nobody pays for, and that nothing ends.
    pub(crate) fn free() -> Work {
        Work {
            counted: 0,
            until: LOOK,
            most: OVER - 1,
            passed: 0,
            ends: Vec::new(),
            lender: None,
            lacks_memory: false,
        }
    }

    /// Notes that there was no memory for a walk: it is over, and the turn with it.
    #[cold]
    pub(crate) fn lacks_memory(&mut self) -> Over {
        self.lacks_memory = true;
        self.counted = OVER;
        self.passed = LOOK;
        Over
    }

    /// Returns whether memory was lacking, since the last time that this was asked.
    pub(crate) fn take_lack(&mut self) -> bool {
        std::mem::take(&mut self.lacks_memory)
    }

    /// Ends the turn from now on also when `ends` says so.
    pub(crate) fn end_with(&mut self, ends: Arc<AtomicBool>) {
        self.ends.push(ends);
    }

    /// Resets the count, and lets the turn pay with this much fuel.
    pub(crate) fn allow(&mut self, fuel: u64) {
        let fuel = usize::try_from(fuel).unwrap_or(usize::MAX);
        let most = fuel
            .saturating_mul(ELEMENTS)
            .saturating_add(FREE + ELEMENTS);
        self.most = most.min(OVER - 1);
        self.counted = 0;
        self.until = LOOK.min(self.most);
    }

    /// Returns whether there is nothing to pay for.
    #[cfg(test)]
    pub(crate) fn is_none(&self) -> bool {
        self.counted == 0
    }

    /// Returns whether what was counted costs nothing, and forgets it then.
    #[inline(always)]
    pub(crate) fn is_slight(&mut self) -> bool {
        let is_slight = self.counted < FREE + ELEMENTS;
        if is_slight {
            self.counted = 0;
        }
        is_slight
    }

    /// The fuel that is to be paid; all that is left when the turn is to end.
    pub(crate) fn price(&self) -> u64 {
        match self.counted {
            OVER => u64::MAX,
            counted => (counted.saturating_sub(FREE) / ELEMENTS) as u64,
        }
    }

    /// Returns the count.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> usize {
        self.counted
    }

    /// Counts `elements` elements.
    #[inline(always)]
    pub(crate) fn count(&mut self, elements: usize) -> Result<(), Over> {
        self.counted = self.counted.saturating_add(elements);
        match self.counted <= self.until {
            true => Ok(()),
            false => self.look(),
        }
    }

    /// Returns how many elements can be counted before there is something to look at.
    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        self.until.saturating_sub(self.counted)
    }

    /// Notes steps that are not counted: invariant 3.
    #[inline(always)]
    pub(crate) fn pass(&mut self, steps: usize) -> Result<(), Over> {
        self.passed = self.passed.saturating_add(steps);
        match self.passed < LOOK {
            true => Ok(()),
            false => self.look(),
        }
    }

    /// Returns whether the turn is to end.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.counted == OVER
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self) -> Result<(), Over> {
        // Relaxed: a flag that guards no data, and is never taken back.
        let is_to_end = self.ends.iter().any(|ends| ends.load(Relaxed));
        if self.counted > self.most || is_to_end {
            self.counted = OVER;
            // No step goes on without a look.
            self.passed = LOOK;
            return Err(Over);
        }
        self.passed = 0;
        self.until = self.counted.saturating_add(LOOK).min(self.most);
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn counting_ends_at_what_the_turn_can_pay() {
        let mut work = Work::free();
        work.allow(10);
        assert!(work.count(10 * ELEMENTS + FREE + ELEMENTS - 1).is_ok());
        assert_eq!(work.price(), 10);
        assert!(work.count(2).is_err() && work.is_over() && work.price() == u64::MAX);
        assert!(work.count(1).is_err() && work.pass(1).is_err() && work.room() == 0);
        work.allow(u64::MAX);
        assert!(work.is_none() && work.count(LOOK * 100).is_ok() && work.pass(1).is_ok());
    }

    #[test]
    fn it_ends_when_the_machine_stops() {
        let stopping = Arc::new(AtomicBool::new(false));
        type Step = fn(&mut Work) -> Result<(), Over>;
        let steps: [Step; 2] = [|work| work.count(1), |work| work.pass(1)];
        for step in steps {
            stopping.store(false, Relaxed);
            let mut work = Work::free();
            work.end_with(stopping.clone());
            assert!((0..LOOK * 3).all(|_| step(&mut work).is_ok()));
            stopping.store(true, Relaxed);
            let more = (0..).take_while(|_| step(&mut work).is_ok()).count();
            assert!(more <= LOOK && work.is_over());
        }
    }
}
