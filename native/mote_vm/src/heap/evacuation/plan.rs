//! Which blocks are evacuated: those that are sparse, if that saves enough.
//!
//! A survey counts the marks of a collection that is over, a few blocks at a time, beside turns: between two collections no mark
//! changes. What dies meanwhile, or is made in holes, makes the count a guess.
use crate::heap::block::{BLOCK, GRANULE, PAYLOAD};
use crate::heap::marks::{has_any, Marks};
use crate::heap::space::Extent;
use crate::heap::Heap;
use rustc_hash::FxHashMap;

/// A block is sparse if less than this part of it lives.
const SPARSE: (usize, usize) = (5, 8);
/// Where memory is short: three bytes move at most for one that is gained.
const SPARSE_WHEN_SHORT: (usize, usize) = (3, 4);
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
    sparse: (usize, usize),
    unseen: Vec<Extent>,
    /// Extents, each with the number of its live granules.
    seen: Vec<(usize, Extent)>,
}

// SAFETY: it reads nothing of the blocks but their marks, which are atomics.
unsafe impl Send for BlockSurvey {}

impl BlockSurvey {
    /// Creates a survey of the blocks for cells, after collection `number`. Memory may be `short`.
    pub(crate) fn new(number: u64, short: bool) -> BlockSurvey {
        BlockSurvey {
            number,
            sparse: if short { SPARSE_WHEN_SHORT } else { SPARSE },
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
        let (blocks, (part, of), mut sparse) = (self.seen.len(), self.sparse, self.seen);
        let all: usize = sparse.iter().map(|(live, _)| live * GRANULE).sum();
        sparse.retain(|(live, _)| live * GRANULE * of < PAYLOAD * part);
        sparse.sort_by_key(|(live, _)| *live);
        let (most, found) = (AT_ONCE.max(all / 4), sparse.len());
        let mut plan = EvacuationPlan::default();
        let (mut moves, mut in_group) = (0, 0);
        for (live, extent) in sparse {
            let live = live * GRANULE;
            if moves + live > most && moves > 0 {
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
        }
        let chosen = plan.chosen.len();
        let saved = chosen.saturating_sub(moves.div_ceil(PAYLOAD));
        plan.leaves_more = chosen < found;
        (saved > 0 && saved * BLOCK >= blocks * BLOCK / WORTH).then_some(plan)
    }
}

/// The blocks that are evacuated, and in which group.
#[derive(Default)]
pub(crate) struct EvacuationPlan {
    chosen: FxHashMap<usize, u32>,
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
