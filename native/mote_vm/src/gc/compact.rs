//! Moving cells in pauses: the collections that do so, and the gain for a heap.
use super::check::Checker;
use super::cycle::Stopped;
use super::{roots, PAUSE};
use crate::base::counters::Counts;
use crate::heap::block::BlockPool;
use crate::heap::evacuation::plan::{BlockSurvey, EvacuationPlan};
use crate::heap::evacuation::{Evacuation, Owner, MOST_IN_GROUP};
use crate::heap::free_pages::SMALL;
use crate::heap::pace::Stress;
use crate::heap::Heap;
use crate::threads::shared::Machine;
use crate::threads::thread::Dispatch;
use crate::turns::marking::compaction::{Moving, Standing};
use crate::turns::marking::phase::Phase;

/// The heaps of a machine that stands still.
pub(super) type Resting = Vec<Box<Heap>>;

/// Returns the standing of the machine.
pub(super) fn standing(threads: &[&mut Dispatch], resting: &Resting) -> Standing {
    let threads = threads.iter().map(|thread| &thread.turn);
    // Also what comes in without a turn, as it may be a shared constant, and actors that go on between turns.
    let done = |counts: &Counts| counts.turns + counts.becomes + counts.foreign_in + counts.sends;
    let threads = threads.map(|turn| (done(&turn.counts), turn.heap.stamp()));
    let resting = resting.iter().map(|heap| (0, heap.stamp()));
    Standing(threads.chain(resting).collect())
}

/// Counts in the blocks of all heaps.
pub(super) fn survey(
    pool: &BlockPool,
    threads: &[&mut Dispatch],
    resting: &Resting,
    number: u64,
) -> BlockSurvey {
    let mut survey = BlockSurvey::new(number, pool.is_short(), pool.quota.keeps_all_out());
    threads.iter().for_each(|t| survey.add(&t.turn.heap));
    resting.iter().for_each(|heap| survey.add(heap));
    survey
}

/// Takes what is to move out of all heaps.
pub(super) fn vacate(
    evacuation: &mut Evacuation,
    threads: &mut [&mut Dispatch],
    resting: &mut Resting,
) {
    for thread in threads {
        let owner = Owner::Thread(thread.context.station.number);
        evacuation.takes_from(&mut thread.turn.heap, owner);
    }
    for heap in resting {
        evacuation.takes_from(heap, Owner::Resting);
    }
}

/// Hands what has moved, or stays, back to heaps: to those that had it, or to the one that has the fewest blocks.
fn hand_back(
    evacuation: &mut Evacuation,
    threads: &mut [&mut Dispatch],
    resting: &mut Resting,
    number: u64,
) {
    for (owner, extent) in evacuation.settled() {
        let is_owner = |t: &&mut &mut Dispatch| owner == Owner::Thread(t.context.station.number);
        let fewest = |t: &&mut &mut Dispatch| t.turn.heap.cell_extents().count();
        let heap = match owner {
            Owner::Resting if !resting.is_empty() => Some(&mut *resting[0]),
            _ if threads.iter_mut().any(|t| is_owner(&t)) => {
                threads.iter_mut().find(is_owner).map(|t| &mut t.turn.heap)
            }
            _ => threads
                .iter_mut()
                .min_by_key(fewest)
                .map(|t| &mut t.turn.heap),
        };
        if let Some(heap) = heap {
            heap.take_in(extent, number);
        }
    }
}

impl Stopped<'_> {
    /// Returns the evacuation of the collection that begins; none in most. Returns an error if none is to begin: a plan was
    /// all there was, and turns have run since it was made.
    pub(super) fn evacuates(&mut self, number: u64) -> Result<Option<Evacuation>, ()> {
        let spoils = self.stress != Stress::Off || cfg!(debug_assertions);
        if self.stress == Stress::Moving {
            return Ok(Some(Evacuation::new(
                number,
                EvacuationPlan::everything(),
                spoils,
            )));
        }
        if !self.gc.compaction.is_planned() {
            return Ok(None);
        }
        let (threads, mut stands) = (&self.threads, None);
        let leases = self.machine.leases();
        leases.while_all_rest(|resting| stands = Some(standing(threads, resting)));
        let plan = stands.and_then(|stands| self.gc.compaction.take_plan(&stands, self.urgent));
        match plan {
            Some(plan) => Ok(Some(Evacuation::new(number, plan, spoils))),
            None => Err(()),
        }
    }

    /// Nothing moves any more. A small machine that keeps nothing for later lets go of pages.
    fn settle(&mut self) {
        let pool = self.machine.pool();
        if pool.reserve.lately() == 0 && pool.used() <= SMALL {
            let threads = &self.threads;
            self.machine.leases().while_all_rest(|resting| {
                threads.iter().for_each(|t| t.turn.heap.let_go_of_pages());
                resting.iter().for_each(|heap| heap.let_go_of_pages());
            });
        }
        self.gc.set_phase(Phase::Clearing);
    }

    /// Moves what there is time for; all of it if that is urgent.
    pub(super) fn compact(&mut self) {
        let gc = self.gc;
        let Some(mut moving) = gc.compaction.take_moving() else {
            return self.settle();
        };
        let (pool, number, start) = (self.machine.pool(), gc.begun(), self.start);
        let (threads, urgent) = (&mut self.threads, self.urgent);
        let (machine, checks) = (self.machine, self.stress != Stress::Off);
        let mut is_over = false;
        machine.leases().while_all_rest(|resting| {
            let Moving { evacuation, stood } = &mut moving;
            let is_still = *stood == Some(standing(threads, resting));
            // Turns that are held wait for the memory: a group that stays would keep all of its blocks.
            let most = match urgent || gc.holds_turns() {
                true => usize::MAX,
                false => MOST_IN_GROUP,
            };
            while is_still && !evacuation.is_over() {
                evacuation.move_next(pool, most);
                if !urgent && start.elapsed() >= PAUSE {
                    break;
                }
            }
            if !is_still && !evacuation.is_over() {
                gc.compaction.breaks_off();
            }
            is_over = !is_still || evacuation.is_over();
            if is_over {
                evacuation.end(pool);
            }
            hand_back(evacuation, threads, resting, number);
            // What callers have made since is not marked.
            if checks && is_still {
                check(machine, threads, number);
            }
            *stood = Some(standing(threads, resting));
            let goes_on = gc.compaction.gives_back() || pool.is_short();
            if is_over && is_still && goes_on && evacuation.leaves_more() {
                let stands = standing(threads, resting);
                let survey = survey(pool, threads, resting, number);
                gc.compaction
                    .look(survey, stands, gc.compaction.gives_back());
            }
        });
        gc.info().reclaimed_bytes += moving.evacuation.take_freed() as u64;
        match is_over {
            true => self.settle(),
            false => gc.compaction.moves(moving),
        }
    }
}

/// Everything that can be reached is marked.
pub(super) fn check(machine: &Machine, threads: &[&mut Dispatch], number: u64) {
    let mut checker = Checker::new(machine.program(), number);
    roots::mark(machine, threads, &mut checker);
    checker.finish();
}
