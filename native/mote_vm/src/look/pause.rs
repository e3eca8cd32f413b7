//! Holding a machine still, and letting it run turn by turn.
//!
//! A paused thread goes on taking in messages and answering looks; it runs no turns.
use crate::base::atom::Atom;
use crate::boundary::journal::Journal;
use crate::threads::inbox::Entry;
use crate::threads::shared::Machine;
use crate::threads::sponsor::Sponsor;
use crate::threads::thread::{self, Dispatch};
use crate::watching::shown_turn::TurnSeen;
use std::sync::Arc;

/// The reason why no step can be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepError {
    /// The machine is not paused.
    Running,
    /// The machine has no sponsor of that name.
    Unknown,
    /// The machine runs a journal again: which turn comes next depends on what is to enter before.
    Replayed,
    /// The sponsor has several threads, or its turns run outside: they have no order.
    ManyThreads,
}

/// A callback that receives the turn of a step; none if nothing was queued.
type SeeTurn = Box<dyn FnOnce(&Machine, Option<&TurnSeen<'_>>) + Send>;

impl Machine {
    /// Runs no more turns. Threads see it after their batch: a survey waits for all of them.
    pub fn pause(&self) {
        self.attention().pause(true);
    }

    /// Goes on.
    pub fn resume(&self) {
        if self.journal().is_some_and(Journal::is_mute) {
            // It runs no turns but those of its journal.
            return;
        }
        if self.is_paused() {
            self.open_line();
        }
        self.attention().pause(false);
    }

    /// Returns whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.attention().is_paused()
    }

    /// Runs one turn of a paused machine: the next one of that sponsor, or of the first. `see` is called on the
    /// sponsor's thread, when it is known how the turn ends and before anything of it is visible; with none if nothing is
    /// queued.
    pub fn step(&self, sponsor: Option<Atom>, see: SeeTurn) -> Result<(), StepError> {
        if self.journal().is_some_and(Journal::is_mute) {
            return Err(StepError::Replayed);
        }
        if !self.is_paused() {
            return Err(StepError::Running);
        }
        let found: Option<Arc<Sponsor>> = match sponsor {
            Some(name) => self.sponsors().by_name(name),
            None => Some(self.sponsors().first().clone()),
        };
        let sponsor = found.ok_or(StepError::Unknown)?;
        if sponsor.stations.len() > 1 || sponsor.most_away.is_some() {
            return Err(StepError::ManyThreads);
        }
        self.open_line();
        let call = thread::task(|thread| thread.step(see));
        self.push(sponsor.lead(), Entry::Task(call));
        Ok(())
    }
}

impl Dispatch {
    /// Returns whether the turn that has just run lacked memory and is to run again: not before the collection is over that it waits for.
    fn runs_again_with_memory(&mut self) -> bool {
        let again = std::mem::take(&mut self.starved.again);
        while self.starved.awaits_collection() && !self.context.machine.is_stopping() {
            self.keep_house();
            std::thread::yield_now();
        }
        again && !self.context.machine.is_stopping()
    }

    fn step(&mut self, see: SeeTurn) {
        let machine = self.context.machine.clone();
        let mut see = Some(see);
        // What came in between was accepted before.
        self.turn.queue.forgive();
        while let Some(event) = self.next_in_step() {
            if self.may_run(event) {
                self.starved.again = false;
                self.turn_seen_by(event, |thread, behaviour, verdict| {
                    if let Some(see) = see.take() {
                        see(&machine, Some(&thread.seen(event, behaviour, verdict)));
                    }
                });
                self.note_sender(event.target);
                if see.is_none() || !self.runs_again_with_memory() {
                    break;
                }
            }
        }
        self.hand_over_all();
        if let Some(see) = see {
            see(&machine, None);
        }
    }
}
