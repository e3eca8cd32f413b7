//! The fuel of a turn: spent by slices, between which a long turn looks around, and by primitives for what they walk over. And how
//! deep its native calls may nest.
use super::{Turn, SPENT};
use crate::base::atom::Atom;
use crate::terms::prim::weight::written_out;
use std::time::{Duration, Instant};

/// Fuel between two looks around within a long turn: some microseconds at first, then half of what it has spent before,
/// at last some tens of microseconds. Where long turns are expected the first look comes at once: a sibling that waits for
/// what is queued behind them would be as late at its end as it was at its beginning.
const EXPECTED: u64 = 32;
const FIRST_SLICE: u64 = 256;
/// The fuel of a slice, after which a turn looks around.
pub const SLICE: u64 = 4096;
const SELDOMER: u64 = 2;
/// Approximate nanoseconds that a unit of fuel takes.
const UNIT: u64 = 10;
/// Greatest depth to which calls may nest; tail calls do not.
pub const MAX_DEPTH: usize = 100_000;
/// Native code counts nested calls in the word in which it counts fuel, above this bit.
pub const DEPTH_SHIFT: u32 = 14;
/// Time for which a caller runs turns, from the first look around of any of them; and the most that counts of the time
/// between two looks, since the system may have interrupted the thread. No test is to depend on how long something takes.
const MOMENT: Duration = match cfg!(debug_assertions) {
    true => Duration::from_secs(10),
    false => Duration::from_micros(30),
};
const BETWEEN_LOOKS: Duration = Duration::from_nanos(MOMENT.as_nanos() as u64 / 3 * 2);

const WHOLE_DEPTH: u64 = (MAX_DEPTH as u64) << DEPTH_SHIFT;

/// The fuel that a turn may still spend.
pub(crate) struct Fuel {
    /// Fuel left of the current slice, fuel left of the turn beyond it, and fuel that a turn begins with. Native code spends
    /// the slice.
    pub(crate) slice: u64,
    reserve: u64,
    allowance: u64,
    /// Depth to which calls of native code may nest, shifted by [`DEPTH_SHIFT`]. Those of the interpreter take no stack.
    pub(crate) depth: u64,
    /// True if a caller runs the turns; time when one of them last looked around; time that they had taken by then.
    pub(crate) is_lent: bool,
    looked: Option<Instant>,
    took: Duration,
    /// Fuel that primitives were paid with since the turn last looked around.
    unlooked: u64,
    /// Approximate nanoseconds that a long turn took lately; 0 while turns are small (backlog.rs).
    pub(crate) long_turn: u64,
}

impl Fuel {
    pub(super) fn new(allowance: u64) -> Fuel {
        Fuel {
            slice: 0,
            reserve: 0,
            allowance,
            depth: WHOLE_DEPTH,
            is_lent: false,
            looked: None,
            took: Duration::ZERO,
            unlooked: 0,
            long_turn: 0,
        }
    }

    /// Returns whether a caller has run turns for long enough. A unit of fuel may take a hundred times as long as another one.
    fn is_late(&mut self) -> bool {
        let now = Instant::now();
        let before = self.looked.replace(now);
        self.took += before.map_or(Duration::ZERO, |before| BETWEEN_LOOKS.min(now - before));
        self.took > MOMENT
    }
}

impl Turn {
    /// All the fuel of a turn.
    pub(crate) fn fill_up(&mut self) {
        let first = match self.fuel.long_turn {
            0 => FIRST_SLICE,
            _ => EXPECTED,
        };
        self.fuel.slice = self.fuel.allowance.min(first);
        self.fuel.reserve = self.fuel.allowance - self.fuel.slice;
        self.fuel.unlooked = 0;
        self.heap.work.allow(self.fuel.allowance);
    }

    /// Gives each turn that much fuel from now on. Called between turns.
    pub(crate) fn allow(&mut self, fuel: u64) {
        self.fuel.allowance = fuel;
        self.fill_up();
    }

    /// Lends the turns to a caller from now on: each has that much fuel at most, calls nest no deeper, and all of them
    /// together take a moment. Called between turns.
    pub(crate) fn lend(&mut self, fuel: u64, depth: usize) {
        self.fuel.depth = WHOLE_DEPTH.min((depth as u64) << DEPTH_SHIFT);
        self.fuel.is_lent = true;
        (self.fuel.looked, self.fuel.took) = (None, Duration::ZERO);
        self.allow(fuel.min(self.around.fuel));
    }

    /// The thread runs the turns itself again. Returns for how long they have run since one of them first looked around.
    pub(crate) fn take_back(&mut self) -> Duration {
        self.fuel.depth = WHOLE_DEPTH;
        self.fuel.is_lent = false;
        self.allow(self.around.fuel);
        self.fuel.took
    }

    /// Returns the fuel that the turn has spent.
    #[inline(always)]
    pub(crate) fn spent(&self) -> u64 {
        self.fuel.allowance - self.fuel.slice - self.fuel.reserve
    }

    /// Returns approximately the nanoseconds for which the turn has run.
    pub(crate) fn running(&self) -> u64 {
        self.spent().saturating_mul(UNIT)
    }

    /// Makes the turn look as if it had run for `nanoseconds`. For tests.
    #[cfg(test)]
    pub(crate) fn run_for(&mut self, nanoseconds: u64) {
        self.allow(nanoseconds / UNIT);
        (self.fuel.slice, self.fuel.reserve) = (0, 0);
    }

    /// The slice is spent: looks around, then goes on with the next one, if there is one.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuel(&mut self) -> Result<(), Atom> {
        self.unusual = 1;
        self.look()?;
        if self.fuel.reserve == 0 {
            return Err(Atom::FUEL);
        }
        if self.queue.is_starved() || self.has_staged_too_much() {
            return Err(Atom::NO_MEMORY);
        }
        let spent = self.fuel.allowance - self.fuel.reserve;
        let slice = (spent / SELDOMER).clamp(FIRST_SLICE, SLICE);
        self.fuel.slice = self.fuel.reserve.min(slice);
        self.fuel.reserve -= self.fuel.slice;
        self.heap.work.allow(self.fuel.slice + self.fuel.reserve);
        // A turn this long may go on for as long again, and what is queued behind it may take as long, each; or as long as
        // others took before.
        let each = spent.saturating_mul(UNIT).max(self.fuel.long_turn);
        let overseer = self.around.overseer.clone();
        let backlog = match self.queue.queued_before(&self.savepoint.queue) as u64 {
            0 => 0,
            queued => each.saturating_mul(queued + 1),
        };
        overseer.share(self, backlog);
        Ok(())
    }

    /// Looks around. Returns an error if the turn is not to go on, whatever fuel it has.
    fn look(&mut self) -> Result<(), Atom> {
        self.fuel.unlooked = 0;
        self.around.overseer.may_go_on(self.message)?;
        match self.fuel.is_lent && self.fuel.is_late() {
            true => Err(Atom::FUEL),
            false => Ok(()),
        }
    }

    /// Spends fuel for what a primitive has walked over.
    #[inline(always)]
    pub(crate) fn pay_for_work(&mut self) -> Result<(), Atom> {
        match self.heap.work.is_slight() {
            true => Ok(()),
            false => self.pay(),
        }
    }

    /// Spends fuel for the messages that leave the machine: at the commit all of each is written out, as often as it is sent.
    #[cold]
    pub(crate) fn pay_for_messages(&mut self) -> Result<(), Atom> {
        let outgoing = self.at_commit.outgoing.iter();
        let mut leaving = outgoing.filter(|sent| sent.target.as_foreign().is_some());
        let work = &mut self.heap.work;
        // What is too much is found out by paying.
        let _ = leaving.try_for_each(|sent| written_out(sent.message, work));
        self.pay_for_work()
    }

    /// Takes it from the reserve first, as what calls do to the slice says when to look around; but not for longer than
    /// a slice without a look.
    #[inline(never)]
    fn pay(&mut self) -> Result<(), Atom> {
        self.unusual |= SPENT;
        let price = self.heap.work.price();
        if price > self.fuel.reserve + self.fuel.slice {
            // Or because it is to end (base/work.rs, invariant 2), or lacks memory.
            if self.heap.work.take_lack() {
                return Err(Atom::NO_MEMORY);
            }
            self.look()?;
            (self.fuel.reserve, self.fuel.slice) = (0, 0);
            return Err(Atom::FUEL);
        }
        let beyond = price.saturating_sub(self.fuel.reserve);
        self.fuel.reserve -= price - beyond;
        self.fuel.slice -= beyond;
        self.heap.work.allow(self.fuel.slice + self.fuel.reserve);
        self.fuel.unlooked += price;
        match self.fuel.unlooked < SLICE {
            true => Ok(()),
            false => self.look(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{FIRST_SLICE, MOMENT, UNIT};
    use crate::base::atom::Atom;
    use crate::base::sync::Relaxed;
    use crate::testing::still::Still;
    use crate::turns::turn::Turn;
    use crate::values::actor::BehaviourId;
    use crate::values::value::Value;
    use std::time::Instant;

    #[test]
    fn where_long_turns_are_expected_the_first_look_comes_at_once() {
        let mut still = Still::new(1);
        let turn = &mut still.thread.turn;
        let mut slices = |long_turn| {
            turn.fuel.long_turn = long_turn;
            turn.allow(1_000);
            let mut slices = Vec::new();
            loop {
                slices.push(turn.fuel.slice);
                turn.fuel.slice = 0;
                if turn.refuel().is_err() {
                    break (turn.tidy_up(), slices);
                }
            }
        };
        assert_eq!(slices(0), (1_000, vec![256, 256, 256, 232]));
        assert_eq!(slices(10_000), (1_000, vec![32, 256, 256, 272, 184]));
    }

    /// Each look counts for a caller's turns, in whichever turn it is.
    #[test]
    fn turns_of_a_caller_end_when_they_have_taken_a_moment() {
        let mut still = Still::new(1);
        let turn = &mut still.thread.turn;
        turn.around.fuel = 1_000_000;
        let look = |turn: &mut Turn, ago| {
            let before = Instant::now().checked_sub(ago);
            turn.fuel.looked = Some(before.expect("the system has run for longer"));
            turn.fuel.slice = 0;
            turn.refuel()
        };
        turn.lend(1_000, 1);
        assert_eq!(look(turn, 2 * MOMENT), Ok(()));
        turn.tidy_up();
        assert_eq!(look(turn, 2 * MOMENT), Err(Atom::FUEL));
        assert!(turn.take_back() > MOMENT);
        // The thread's own.
        turn.tidy_up();
        assert_eq!(look(turn, 2 * MOMENT), Ok(()));
        turn.tidy_up();
        turn.lend(1_000, 1);
        assert_eq!(look(turn, 2 * MOMENT), Ok(()));
    }

    /// Checks the backlog that the thread tells whoever may ask. The running turn is one of those that take as long.
    #[test]
    fn what_waits_behind_a_long_turn_takes_as_long_each() {
        let mut still = Still::new(2);
        let station = still.thread.context.station.clone();
        let turn = &mut still.thread.turn;
        let mut backlog = |queued, long_turn| {
            for _ in 0..queued {
                let actor = turn.create(BehaviourId::SINK, Value::NIL).address_pointer();
                turn.queue.push(actor, Value::NIL);
            }
            turn.savepoint.queue = turn.queue.position();
            turn.fuel.long_turn = long_turn;
            turn.allow(1_000);
            turn.fuel.slice = 0;
            assert!(turn.refuel().is_ok());
            station.backlog.load(Relaxed)
        };
        assert_eq!(backlog(0, 7_000), 0);
        assert_eq!(backlog(1, 7_000), 2 * 7_000);
        assert_eq!(backlog(1, 0), 3 * FIRST_SLICE * UNIT);
    }
}
