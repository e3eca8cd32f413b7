//! Moving what lives out of blocks that are mostly empty, so that these can be given back.
//!
//! Two collections do that. When the first is over, the sparse blocks are chosen (plan.rs), in groups. At the beginning of the second
//! they leave their heaps (vacating.rs), and its markers write down each place that refers to a cell in one of them, with the
//! group that the cell moves with (trail.rs). When everything is marked, the cells of one group after the other are copied
//! (moving.rs) to blocks that are filled densely (destination.rs), and what was written down is corrected.
//!
//! Invariants:
//! 1. Nothing runs and nothing is made between the beginning of the second collection and the last group that is moved; otherwise
//!    what is left stays where it is. So all places are known: those that markers have met, and those in cells that were copied since.
//! 2. A cell that a root refers to does not move: only places in cells, and the states of actors, are corrected.
//! 3. When a group has been moved nothing refers to the places that its cells had, and between two groups everything is as after
//!    any collection: the marks are those of what lives.
//! 4. Places that are written down in a cell that moves before they are corrected count no more: they were in the old cell. Those in
//!    the new one are written down when it is copied.
mod destination;
mod moving;
pub(crate) mod plan;
#[cfg(all(test, not(loom)))]
mod tests;
pub(crate) mod trail;

use super::block::{Block, BlockPool, GRANULE};
use super::marks::{has_any, Marks};
use super::space::Extent;
use super::vacating;
use super::Heap;
use crate::base::ids::ThreadNumber;
use crate::heap::cell::cell_of;
use crate::values::value::Value;
use destination::DenseBlocks;
use moving::Mover;
use plan::EvacuationPlan;
use trail::{Referrer, Trail};

/// The most places and pins of a group that is moved while turns wait for that alone.
pub(crate) const MOST_IN_GROUP: usize = 128 << 10;

/// The owner of an extent before it left, and again if it stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Thread(ThreadNumber),
    Resting,
    /// It is new.
    Nobody,
}

/// Extents whose cells move in one step, and what is known to refer to these.
#[derive(Default)]
struct Group {
    extents: Vec<(Owner, Extent)>,
    slots: Vec<Referrer>,
    /// Referrers in cells that were copied.
    copied: Vec<Referrer>,
    pins: Vec<Value>,
}

/// Everything that moves in one collection.
pub(crate) struct Evacuation {
    number: u64,
    plan: EvacuationPlan,
    groups: Vec<Group>,
    /// The group that is moved next.
    next: usize,
    destination: DenseBlocks,
    /// Blocks whose heads say something.
    heads: Vec<Block>,
    settled: Vec<(Owner, Extent)>,
    freed: usize,
    /// Blocks that were given back, less those that cells have moved to, when it is over.
    saved: isize,
    spoils: bool,
}

// SAFETY: the blocks are this evacuation's, and the cells in them change only while everything stands still.
unsafe impl Send for Evacuation {}

impl Evacuation {
    /// Begins the evacuation of collection `number`. If it `spoils`, it overwrites what is free.
    pub(crate) fn new(number: u64, plan: EvacuationPlan, spoils: bool) -> Evacuation {
        let groups = (0..plan.groups()).map(|_| Group::default()).collect();
        Evacuation {
            number,
            plan,
            groups,
            next: 0,
            destination: DenseBlocks::new(number),
            heads: Vec::new(),
            settled: Vec::new(),
            freed: 0,
            saved: 0,
            spoils,
        }
    }

    /// Takes the extents of the plan out of a heap, before it begins to mark.
    pub(crate) fn takes_from(&mut self, heap: &mut Heap, owner: Owner) {
        let plan = &self.plan;
        for extent in heap.leave(|extent| plan.chooses(extent)) {
            let group = match self.plan.group(&extent) {
                Some(group) => group as usize,
                None => {
                    self.groups.push(Group::default());
                    self.groups.len() - 1
                }
            };
            vacating::leaves(&extent, group as u32);
            self.heads.push(extent.block);
            self.groups[group].extents.push((owner, extent));
        }
    }

    /// Returns whether sparse blocks were left for another time.
    pub(crate) fn leaves_more(&self) -> bool {
        // What does not move would be chosen again and again.
        self.plan.leaves_more && self.saved > 0
    }

    /// A root refers to a cell.
    pub(crate) fn pin(&mut self, value: Value) {
        let is_pointer = !value.is_immediate() && !value.is_none();
        if let Some(group) = is_pointer
            .then(|| vacating::group_of(cell_of(value)))
            .flatten()
        {
            self.groups[group as usize].pins.push(value);
        }
    }

    /// Takes what a marker has met.
    pub(crate) fn follow(&mut self, trail: &mut Trail) {
        for (group, slot) in trail.slots.drain(..) {
            self.groups[group as usize].slots.push(slot);
        }
        for value in trail.roots.drain(..) {
            self.pin(value);
        }
    }

    /// Returns whether all groups were moved, or stay.
    pub(crate) fn is_over(&self) -> bool {
        self.next >= self.groups.len()
    }

    /// Moves the next group while everything stands still, unless there is more than so much to do. Returns how much there was.
    pub(crate) fn move_next(&mut self, pool: &BlockPool, most: usize) -> usize {
        let (done, later) = self.groups.split_at_mut(self.next + 1);
        let group = std::mem::take(&mut done[self.next]);
        let has_left = |slot: &Referrer| slot.is_current(self.number);
        let mut walked = 0;
        if group.slots.len() + group.copied.len() + group.pins.len() <= most {
            let mut mover = Mover {
                number: self.number,
                group: self.next as u32,
                destination: &mut self.destination,
                pool,
                later,
                work: Vec::new(),
                walked: 0,
            };
            group.extents.iter().for_each(|(_, e)| mover.prepare(e));
            mover.pin(&group.pins);
            let slots = group.slots.iter().filter(|slot| has_left(slot));
            slots
                .chain(&group.copied)
                .for_each(|slot| mover.slot(*slot));
            walked = mover.walked;
            self.destination.mark();
            debug_assert!((group.extents.iter()).all(|(_, e)| moving::has_left(e, self.number)));
        }
        self.next += 1;
        group
            .extents
            .into_iter()
            .for_each(|(owner, e)| self.settle(owner, e, pool));
        walked
    }

    /// Everything that has not been moved stays, and so does what was moved. To be called when all groups are over, too.
    pub(crate) fn end(&mut self, pool: &BlockPool) {
        for group in self.groups.split_off(self.next.min(self.groups.len())) {
            group
                .extents
                .into_iter()
                .for_each(|(owner, e)| self.settle(owner, e, pool));
        }
        for block in self.destination.give_up() {
            self.saved -= 1;
            self.heads.push(block);
            self.settled.push((Owner::Nobody, Extent::whole(block)));
        }
        self.heads.drain(..).for_each(vacating::forget);
    }

    /// An extent whose cells have moved, or not.
    fn settle(&mut self, owner: Owner, extent: Extent, pool: &BlockPool) {
        let (block, number) = (extent.block, self.number);
        let is_met = has_any(block, number);
        if is_met && (!extent.is_whole() || !Marks::of(block, number).is_empty()) {
            return self.keep(owner, extent);
        }
        if self.spoils && is_met {
            extent.spoil(number);
        }
        vacating::is_done(block);
        self.freed += extent.granules() * GRANULE;
        self.saved += 1;
        extent.let_go(pool);
    }

    fn keep(&mut self, owner: Owner, extent: Extent) {
        if self.spoils {
            extent.spoil(self.number);
        }
        self.settled.push((owner, extent));
    }

    /// Extents that a heap is to take in now.
    pub(crate) fn settled(&mut self) -> impl Iterator<Item = (Owner, Extent)> + '_ {
        self.settled.drain(..)
    }

    /// Bytes of extents that were given back since this was last asked.
    pub(crate) fn take_freed(&mut self) -> usize {
        std::mem::take(&mut self.freed)
    }
}
