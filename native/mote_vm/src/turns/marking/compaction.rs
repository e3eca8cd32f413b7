//! The fate of blocks that are mostly empty, from the collection that finds them to the end of the one after it.
//!
//! After a collection that a caller waits for, or that comes in a long rest, or after which memory is still short, a survey counts what
//! lives in each block, between turns. If it is worth while, another collection begins at once, and moves the cells
//! (heap/evacuation/).
use crate::heap::evacuation::plan::{BlockSurvey, EvacuationPlan};
use crate::heap::evacuation::Evacuation;
use crate::heap::vacating::HeapStamp;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A state of the machine: the turns that each thread has run, and each heap. It is another one if anything has run or was made.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Standing(pub(crate) Vec<(u64, HeapStamp)>);

/// Cells that move, in one pause after another.
pub(crate) struct Moving {
    pub(crate) evacuation: Evacuation,
    /// The last standing of the machine; none if it has not stood still since marking began.
    pub(crate) stood: Option<Standing>,
}

#[derive(Default)]
struct CompactionState {
    survey: Option<BlockSurvey>,
    plan: Option<EvacuationPlan>,
    stood: Option<Standing>,
    moving: Option<Moving>,
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Compaction {
    state: Mutex<CompactionState>,
    planned: AtomicBool,
    /// True if turns have run, so that cells stayed where they were, since somebody last asked.
    broken_off: AtomicBool,
    /// True if memory goes back to the system when it is over: a caller has asked for that, or the machine rests.
    gives_back: AtomicBool,
}

impl Compaction {
    /// A collection is over, of a machine that stands so.
    pub(crate) fn look(&self, survey: BlockSurvey, stood: Standing, gives_back: bool) {
        let mut state = self.state.lock();
        state.survey = Some(survey);
        state.stood = Some(stood);
        // Relaxed, also below: written while everything stands still, or a hint.
        self.gives_back.store(gives_back, Relaxed);
    }

    /// Goes on with the survey, and plans when it is done. Returns whether there is more to do.
    pub(crate) fn plan_some(&self) -> bool {
        let mut state = self.state.lock();
        let Some(mut survey) = state.survey.take() else {
            return false;
        };
        if survey.count_some() {
            state.survey = Some(survey);
            return true;
        }
        state.plan = survey.plan();
        self.planned.store(state.plan.is_some(), Relaxed);
        false
    }

    /// Returns whether a collection that moves cells is to begin.
    #[inline(always)]
    pub(crate) fn is_planned(&self) -> bool {
        self.planned.load(Relaxed)
    }

    /// The plan, unless the machine has run since and that is a reason to give it up.
    pub(crate) fn take_plan(&self, stands: &Standing, urgent: bool) -> Option<EvacuationPlan> {
        let mut state = self.state.lock();
        self.planned.store(false, Relaxed);
        let stood = state.stood.take();
        let plan = state.plan.take();
        let is_still = urgent || stood.as_ref() == Some(stands);
        if plan.is_some() && !is_still {
            self.breaks_off();
        }
        plan.filter(|_| is_still)
    }

    /// Cells stay, since turns have run.
    pub(crate) fn breaks_off(&self) {
        self.broken_off.store(true, Relaxed);
    }

    /// Returns whether cells had to stay since this was last asked.
    pub(crate) fn take_broken_off(&self) -> bool {
        self.broken_off.swap(false, Relaxed)
    }

    /// A collection begins that moves cells.
    pub(crate) fn begins(&self, stands: Standing) {
        self.state.lock().stood = Some(stands);
    }

    /// Takes the machine's standing when the collection that moves cells began.
    pub(crate) fn take_stood(&self) -> Option<Standing> {
        self.state.lock().stood.take()
    }

    /// Cells are to move from now on.
    pub(crate) fn moves(&self, moving: Moving) {
        self.state.lock().moving = Some(moving);
    }

    /// Takes the cells that move.
    pub(crate) fn take_moving(&self) -> Option<Moving> {
        self.state.lock().moving.take()
    }

    /// See the field.
    pub(crate) fn gives_back(&self) -> bool {
        self.gives_back.load(Relaxed)
    }
}
