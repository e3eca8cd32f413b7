//! Replays, as the embedder sees them: a machine goes on with the journal of a recording, to the place that is wanted.
//!
//! Invariants:
//! 1. It is mute and paused (threads/journaling/again.rs). Looks at it are answered at the place where it is.
use super::Machine;
use crate::boundary::journal::{Journal, JournalError, JournalFile};
use crate::threads::inbox::Entry;
use crate::threads::journaling::again::EnterAgain;
pub use crate::threads::journaling::again::{
    ReplayGoal, ReplayMark, ReplayPlace, ReplaySearch, Replayed,
};
use crate::threads::thread::{task, Dispatch};
use std::sync::Arc;

/// Told where a replay has come to, or what is wrong with its journal.
pub type ToldReplayed = Box<dyn FnOnce(Result<Replayed, JournalError>) + Send>;

impl Machine {
    /// Returns whether it is at a place of a recording.
    pub fn is_replay(&self) -> bool {
        self.journal().is_some_and(Journal::is_replay)
    }

    /// Begins a replay in a machine that has gone on from an image: the one of the journal, or one that was made on the way, with its mark.
    /// Calls `begun` with the number of the next entry.
    pub fn begin_replay(
        &self,
        file: Arc<JournalFile>,
        mark: Option<ReplayMark>,
        begun: Box<dyn FnOnce(usize) + Send>,
    ) {
        self.on_its_thread(move |thread, journal| begun(thread.begin_replay(journal, &file, mark)));
    }

    /// Goes on from the entry of that number to a goal.
    pub fn replay(
        &self,
        file: Arc<JournalFile>,
        entry: usize,
        goal: ReplayGoal,
        how: (EnterAgain, Option<ReplaySearch>),
        told: ToldReplayed,
    ) {
        self.on_its_thread(move |thread, journal| {
            let (enter, search) = how;
            told(thread.replay(journal, &file, entry, goal, (&enter, search)));
        });
    }

    fn on_its_thread(&self, act: impl FnOnce(&mut Dispatch, &Journal) + Send + 'static) {
        let act = task(move |thread: &mut Dispatch| {
            let machine = thread.context.machine.clone();
            if let Some(journal) = machine.journal() {
                act(thread, journal);
            }
        });
        self.push(self.0.sponsors.first().lead(), Entry::Task(act));
    }
}
