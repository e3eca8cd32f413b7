//! The line for the scheduler: new dispatchers, and the order in which messages came from outside.
//!
//! Invariants:
//! 1. A message's ticket is put in line after the message is in its inbox; so a ticket stands for a message that the dispatcher
//!    that ends up with that inbox can find.
//! 2. A message that may enter at any time was in line when that was decided: for messages that came by one call, when the first
//!    of them enters; for others, when the machine went on. So which messages these are does not depend on the clock.
//! 3. Every dispatcher that is added is ended: by the scheduler or, when that has ended, by the thread that adds it.
use super::choices::Choices;
use super::fibre::Fibre;
use crate::base::ids::ThreadNumber;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::thread::Thread;

/// A message that waits to enter: the inbox that it is in, and how many behind it came by the same call.
type Entrant = (ThreadNumber, usize);

#[derive(Default)]
struct Tickets {
    all: VecDeque<Entrant>,
    /// Number of tickets that may enter at any time (invariant 2).
    open: usize,
    /// The patience of the next of these, once that is chosen.
    patience: Option<usize>,
}

/// Number of powers of two among which a message's patience is chosen, if it may enter at any time. Each step lets it in with
/// a chance of one in that power. So some enter at once, and others only after much has followed from the messages before
/// them.
const PATIENCE: usize = 7;

#[derive(Default)]
struct Newcomers {
    all: Vec<Fibre>,
    closed: bool,
}

/// Newcomers that wait for the scheduler of one seeded machine.
#[derive(Default)]
pub(crate) struct Line {
    tickets: Mutex<Tickets>,
    newcomers: Mutex<Newcomers>,
    scheduler: Mutex<Option<Thread>>,
}

impl Line {
    /// The scheduler's thread, to be woken from now on. Called on it.
    pub(super) fn serve(&self) {
        *self.scheduler.lock() = Some(std::thread::current());
    }

    /// Adds tickets for `count` messages from outside, which came by one call and are in the inbox of that number.
    pub(crate) fn put(&self, number: ThreadNumber, count: usize) {
        let tickets = (0..count).rev().map(|behind| (number, behind));
        self.tickets.lock().all.extend(tickets);
        self.wake();
    }

    /// The inbox of the message that came first.
    pub(super) fn next(&self) -> Option<ThreadNumber> {
        let mut tickets = self.tickets.lock();
        let (number, behind) = tickets.all.pop_front()?;
        tickets.open = tickets.open.saturating_sub(1).max(behind);
        tickets.patience = None;
        Some(number)
    }

    /// The machine goes on: everything that is in line may enter at any time.
    pub(crate) fn open(&self) {
        let mut tickets = self.tickets.lock();
        tickets.open = tickets.all.len();
    }

    /// Takes the first message for that inbox out of line. Returns whether there was one.
    pub(super) fn take_for(&self, number: ThreadNumber) -> bool {
        let mut tickets = self.tickets.lock();
        let Some(at) = tickets.all.iter().position(|(n, _)| *n == number) else {
            return false;
        };
        tickets.all.remove(at);
        tickets.open = tickets.open.saturating_sub(1);
        tickets.patience = None;
        true
    }

    /// Returns whether the next message may enter before nothing else is left to do.
    pub(super) fn is_open(&self) -> bool {
        self.tickets.lock().open > 0
    }

    /// Returns whether the next message, one that may enter at any time, enters now.
    pub(super) fn lets_in(&self, choices: &Choices) -> bool {
        let mut tickets = self.tickets.lock();
        if tickets.open == 0 {
            return false;
        }
        let patience = tickets
            .patience
            .get_or_insert_with(|| choices.choose(PATIENCE));
        choices.choose(1 << *patience) == 0
    }

    /// A dispatcher for the scheduler to run.
    pub(crate) fn add(&self, fibre: Fibre) {
        let mut newcomers = self.newcomers.lock();
        if newcomers.closed {
            drop(newcomers);
            return fibre.end();
        }
        newcomers.all.push(fibre);
        drop(newcomers);
        self.wake();
    }

    pub(super) fn newcomers(&self) -> Vec<Fibre> {
        std::mem::take(&mut self.newcomers.lock().all)
    }

    /// The scheduler ends: the last newcomers, to be ended as well.
    pub(super) fn close(&self) -> Vec<Fibre> {
        let mut newcomers = self.newcomers.lock();
        newcomers.closed = true;
        std::mem::take(&mut newcomers.all)
    }

    /// Returns whether there is nothing to take up.
    pub(super) fn is_empty(&self) -> bool {
        self.tickets.lock().all.is_empty() && self.newcomers.lock().all.is_empty()
    }

    fn wake(&self) {
        if let Some(thread) = &*self.scheduler.lock() {
            thread.unpark();
        }
    }
}
