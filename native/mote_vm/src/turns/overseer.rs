//! The questions that a long turn asks, now and then, of the thread that it runs on.
use super::marking::packets::MarkingWork;
use super::turn::Turn;
use crate::base::atom::Atom;
use crate::base::clock::Clock;
use crate::base::ids::ThreadNumber;
use crate::code::program::Program;
use crate::heap::block::BlockPool;
use crate::values::actor::SponsorId;
use crate::values::value::Value;
use std::sync::Arc;

/// The thread, as a turn knows it. A short turn calls none of this.
pub(crate) trait Overseer: Send + Sync {
    /// Returns whether a turn on that message may go on, whatever fuel it has. The error is the reason why not.
    fn may_go_on(&self, message: Value) -> Result<(), Atom>;

    /// Lets other threads have part of the queue, whose events take about `backlog` nanoseconds.
    fn share(&self, turn: &mut Turn, backlog: u64);

    /// The sponsor of that name, which an actor is to be pinned to.
    fn pin(&self, sponsor: Atom) -> Option<SponsorId>;

    /// Returns whether that sponsor's turns run away, outside of the machine.
    fn runs_away(&self, sponsor: SponsorId) -> bool;
}

/// A turn's view of where it runs: the same for all turns of a thread.
pub(crate) struct Surroundings {
    /// The thread that it asks now and then.
    pub(crate) overseer: Arc<dyn Overseer>,
    pub(crate) thread: ThreadNumber,
    pub(crate) sponsor: SponsorId,
    pub(crate) pool: Arc<BlockPool>,
    pub(crate) program: Arc<Program>,
    pub(crate) clock: Arc<Clock>,
    /// Takes the values that a collection has still to see.
    pub(crate) work: Arc<MarkingWork>,
    /// The fuel of a turn, as the machine allows it.
    pub(crate) fuel: u64,
    /// Bytes that a timer is charged with.
    pub(crate) timer_bytes: usize,
}
