//! What the scheduler is to take up next: new dispatchers, and in which order messages came from outside.
//!
//! Invariants:
//! 1. A message's ticket is put in line after the message is in its inbox; so a ticket stands for a message that the dispatcher
//!    that ends up with that inbox can find.
//! 2. Every dispatcher that is added is ended: by the scheduler or, when that has ended, by the thread that adds it.
use super::fibre::Fibre;
use crate::base::ids::ThreadNumber;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::thread::Thread;

#[derive(Default)]
struct Tickets {
    all: VecDeque<ThreadNumber>,
    /// How many of them enter together: those that were in line when the machine went on.
    together: usize,
}

#[derive(Default)]
struct Newcomers {
    all: Vec<Fibre>,
    closed: bool,
}

/// What waits for the scheduler of one seeded machine.
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

    /// A message from outside is in the inbox of that number.
    pub(crate) fn put(&self, number: ThreadNumber) {
        self.tickets.lock().all.push_back(number);
        self.wake();
    }

    /// The inbox of the message that came first.
    pub(super) fn next(&self) -> Option<ThreadNumber> {
        let mut tickets = self.tickets.lock();
        tickets.together = tickets.together.saturating_sub(1);
        tickets.all.pop_front()
    }

    /// The machine goes on: everything that is in line enters together.
    pub(crate) fn open(&self) {
        let mut tickets = self.tickets.lock();
        tickets.together = tickets.all.len();
    }

    /// Whether the next message need not wait until nothing else is left to do.
    pub(super) fn is_open(&self) -> bool {
        self.tickets.lock().together > 0
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

    /// Whether there is anything to take up.
    pub(super) fn is_empty(&self) -> bool {
        self.tickets.lock().all.is_empty() && self.newcomers.lock().all.is_empty()
    }

    fn wake(&self) {
        if let Some(thread) = &*self.scheduler.lock() {
            thread.unpark();
        }
    }
}
