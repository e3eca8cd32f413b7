//! Which blocks are evacuated: those that are sparse, if that saves enough.
//!
//! A survey counts the marks of a collection that is over, a few blocks at a time, beside turns: between two collections no mark
//! changes. What dies meanwhile, or is made in holes, makes the count a guess.
use crate::heap::block::{GRANULE, PAYLOAD};
use crate::heap::marks::{has_any, Marks};
use crate::heap::space::Extent;
use crate::heap::Heap;
use rustc_hash::FxHashMap;

/// A block is sparse if less than this part of it lives.
const SPARSE: (usize, usize) = (5, 8);
/// Where memory is short: three bytes move at most for one that is gained.
const SPARSE_WHEN_SHORT: (usize, usize) = (3, 4);
/// Where no message can enter: as many as it takes to gain a block. Small heaps have few blocks, and together these leave little more
/// than one.
const DENSEST_WHEN_FULL: (usize, usize) = (1, 1);
/// Bytes that live in a group, unless it is a single block: about as much as is copied in half a millisecond.
const GROUP: usize = PAYLOAD / 16;
/// An evacuation is worth it if it saves one part in this many of all blocks, and at least one.
const WORTH: usize = 16;
/// Most bytes that move at once: this, or a quarter of what lives.
const AT_ONCE: usize = 64 << 20;
/// Blocks whose marks are counted in one step.
const STEP: usize = 64;

/// Counts what lives in each block.
pub(crate) struct BlockSurvey {
    number: u64,
    /// The part that lives in a sparse block at most, and in one that moves if it must.
    sparse: (usize, usize),
    densest: (usize, usize),
    /// An evacuation is worth it if it saves one part in this many of all blocks.
    worth: usize,
    unseen: Vec<Extent>,
    /// Extents, each with the number of its live granules.
    seen: Vec<(usize, Extent)>,
}

// SAFETY: it reads nothing of the blocks but their marks, which are atomics.
unsafe impl Send for BlockSurvey {}

impl BlockSurvey {
    /// Creates a survey of the blocks for cells, after collection `number`. Memory may be `short`, or even so `full` that no message enters.
    pub(crate) fn new(number: u64, short: bool, full: bool) -> BlockSurvey {
        let sparse = if short { SPARSE_WHEN_SHORT } else { SPARSE };
        let (densest, worth) = match full {
            true => (DENSEST_WHEN_FULL, usize::MAX),
            false => (sparse, WORTH),
        };
        BlockSurvey {
            number,
            sparse,
            densest,
            worth,
            unseen: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Looks at the blocks of a heap.
    pub(crate) fn add(&mut self, heap: &Heap) {
        let extents = heap.cell_extents();
        self.unseen
            .extend(extents.filter(|extent| extent.is_whole()));
    }

    /// Counts in a few blocks. Returns whether there are more.
    pub(crate) fn count_some(&mut self) -> bool {
        let rest = self.unseen.len().saturating_sub(STEP);
        for extent in self.unseen.drain(rest..) {
            let (first, end) = extent.bounds();
            let live = match has_any(extent.block, self.number) {
                true => Marks::of(extent.block, self.number).count(first, end),
                false => 0,
            };
            self.seen.push((live, extent));
        }
        !self.unseen.is_empty()
    }

    /// Returns the plan of what is to move, if that is worth it.
    pub(crate) fn plan(self) -> Option<EvacuationPlan> {
        let worth = self.seen.len().div_ceil(self.worth);
        let all: usize = self.seen.iter().map(|(live, _)| live * GRANULE).sum();
        let most = AT_ONCE.max(all / 4);
        let below = |live: usize, (part, of): (usize, usize)| live * GRANULE * of < PAYLOAD * part;
        let mut found = self.seen;
        found.retain(|(live, _)| below(*live, self.densest));
        found.sort_by_key(|(live, _)| *live);
        let sparse = found.partition_point(|(live, _)| below(*live, self.sparse));
        let mut plan = EvacuationPlan::default();
        let (mut moves, mut in_group, mut saved) = (0, 0, 0);
        for (live, extent) in found {
            let (chosen, live) = (plan.chosen.len(), live * GRANULE);
            if moves > 0 && (moves + live > most || chosen >= sparse && saved >= worth) {
                break;
            }
            moves += live;
            if plan.count == 0 || in_group + live > GROUP {
                plan.count += 1;
                in_group = 0;
            }
            in_group += live;
            plan.chosen
                .insert(extent.block.start().addr(), plan.count - 1);
            saved = (chosen + 1).saturating_sub(moves.div_ceil(PAYLOAD));
        }
        plan.leaves_more = plan.chosen.len() < sparse;
        (saved > 0 && saved >= worth).then_some(plan)
    }
}

/// The blocks that are evacuated, and in which group.
#[derive(Default)]
pub(crate) struct EvacuationPlan {
    pub(super) chosen: FxHashMap<usize, u32>,
    count: u32,
    /// Every extent of cells moves, in a group of its own.
    everything: bool,
    /// There are more sparse blocks than move at once.
    pub(super) leaves_more: bool,
}

impl EvacuationPlan {
    /// All cells that can move, for tests.
    pub(crate) fn everything() -> EvacuationPlan {
        EvacuationPlan {
            everything: true,
            ..EvacuationPlan::default()
        }
    }

    pub(super) fn groups(&self) -> u32 {
        self.count
    }

    pub(super) fn chooses(&self, extent: &Extent) -> bool {
        self.everything || extent.is_whole() && self.group(extent).is_some()
    }

    pub(super) fn group(&self, extent: &Extent) -> Option<u32> {
        self.chosen.get(&extent.block.start().addr()).copied()
    }
}
