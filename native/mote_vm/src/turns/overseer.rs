//! What a turn asks of the thread that it runs on, now and then.
use super::marking::work::MarkingWork;
use super::turn::Turn;
use crate::base::atom::Atom;
use crate::base::clock::Clock;
use crate::base::ids::ThreadNumber;
use crate::code::program::Program;
use crate::heap::block::BlockPool;
use crate::values::actor::SponsorId;
use crate::values::value::Value;
use std::sync::Arc;

/// The thread, as a turn knows it. Nothing of this is asked in a turn that is short.
pub(crate) trait Overseer: Send + Sync {
    /// Whether a turn on that message may go on, whatever fuel it has; why not.
    fn may_go_on(&self, message: Value) -> Result<(), Atom>;

    /// Others may have something of what is queued, which takes about that many nanoseconds.
    fn share(&self, turn: &mut Turn, backlog: u64);

    /// The sponsor of that name, which an actor is to be pinned to.
    fn pin(&self, sponsor: Atom) -> Option<SponsorId>;

    /// Whether that sponsor's turns run outside.
    fn runs_outside(&self, sponsor: SponsorId) -> bool;
}

/// What a turn knows of where it runs: the same for all turns of a thread.
pub(crate) struct Surroundings {
    /// Whom it asks now and then.
    pub(crate) overseer: Arc<dyn Overseer>,
    pub(crate) thread: ThreadNumber,
    pub(crate) sponsor: SponsorId,
    pub(crate) pool: Arc<BlockPool>,
    pub(crate) program: Arc<Program>,
    pub(crate) clock: Arc<Clock>,
    /// Where what a collection has still to see goes.
    pub(crate) work: Arc<MarkingWork>,
    /// The fuel of a turn, as the machine allows it.
    pub(crate) fuel: u64,
    /// What a timer is charged with.
    pub(crate) timer_bytes: usize,
}
