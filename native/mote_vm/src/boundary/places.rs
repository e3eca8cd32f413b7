//! Assigns turns at a desk to workers. A desk belongs to the embedder; turns that are away wait there. Each turn is taken by one
//! worker, and ends once. Without locks, clocks and messages, so that every order of steps can be tried (places/tests.rs).
//!
//! Invariants:
//! 1. A turn waits, or runs, until it has ended once: the caller that takes it out of `running` tells the machine how.
//! 2. While turns wait, the same number of workers are `coming` to look: woken, or requested from the manager. `coming` never
//!    exceeds the number of workers. One that dies on its way, or had died before it was woken, is made up for when the manager
//!    hears of it (`lost`), and nowhere else: otherwise it would count twice.
//! 3. A worker that takes its last turn takes no other.
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::hash::Hash;

/// The workers of one desk, the turns that they run, and those that wait. Workers are known as `W`. What waits is a `T`,
/// what runs an `R`.
pub struct Places<W, T, R> {
    waiting: VecDeque<T>,
    idle: Vec<W>,
    running: FxHashMap<u64, (W, R)>,
    /// Workers that were woken or asked for and have not looked yet; and those that the manager has not heard of.
    coming: usize,
    asked: usize,
    /// Workers that come no more, until the manager hears that they have ended; and the turn that each has taken, if that was
    /// the last one that it may.
    last: FxHashMap<W, Option<u64>>,
    closed: bool,
}

impl<W, T, R> Default for Places<W, T, R> {
    fn default() -> Places<W, T, R> {
        Places {
            waiting: VecDeque::default(),
            idle: Vec::default(),
            running: FxHashMap::default(),
            coming: 0,
            asked: 0,
            last: FxHashMap::default(),
            closed: false,
        }
    }
}

/// The party to notify that a worker is needed.
#[must_use]
#[derive(Clone, Copy)]
pub enum Summons<W> {
    /// One that waits.
    Worker(W),
    /// The manager, which starts workers.
    Manager,
    /// Enough are on their way.
    Nobody,
}

/// A turn that is taken.
pub struct TakenTurn<R, F> {
    /// Its number.
    pub number: u64,
    /// True if its worker takes no other.
    pub last: bool,
    /// Record of the turn, kept while it runs.
    pub running: R,
    /// Value that its worker gets.
    pub fetched: F,
}

/// The result of a worker's look for a turn.
pub enum Found<F> {
    /// A turn.
    Turn(F),
    /// None: it waits until it is woken.
    Nothing,
    /// None will come.
    Closed,
}

/// Everything that was there when the desk was closed.
pub struct LeftOver<W, T, R> {
    /// Turns that nobody has taken.
    pub waiting: VecDeque<T>,
    /// Turns that were running, with their workers.
    pub running: Vec<(W, R)>,
    /// Workers that wait.
    pub idle: Vec<W>,
}

impl<W: Copy + Eq + Hash, T, R> Places<W, T, R> {
    /// One worker more, if one is needed.
    fn call(&mut self) -> Summons<W> {
        if self.waiting.len() <= self.coming {
            return Summons::Nobody;
        }
        self.coming += 1;
        if let Some(worker) = self.idle.pop() {
            return Summons::Worker(worker);
        }
        self.asked += 1;
        match self.asked {
            1 => Summons::Manager,
            _ => Summons::Nobody,
        }
    }

    /// A turn waits; it comes back where it is closed.
    pub fn put(&mut self, turn: T) -> Result<Summons<W>, T> {
        if self.closed {
            return Err(turn);
        }
        self.waiting.push_back(turn);
        Ok(self.call())
    }

    /// Returns the number of workers that are to be started.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// Returns the same number, and counts these workers as on their way from now on.
    pub fn take_asked(&mut self) -> usize {
        std::mem::take(&mut self.asked)
    }

    /// The next turn for a worker, which waits otherwise; `comes`: it was woken, or has begun.
    pub fn next<F>(
        &mut self,
        worker: W,
        comes: bool,
        take: impl FnOnce(T) -> TakenTurn<R, F>,
    ) -> Found<F> {
        if comes {
            self.coming = self.coming.saturating_sub(1);
        }
        if self.closed {
            return Found::Closed;
        }
        let Some(turn) = self.waiting.pop_front() else {
            self.idle.push(worker);
            return Found::Nothing;
        };
        let taken = take(turn);
        self.running.insert(taken.number, (worker, taken.running));
        if taken.last {
            self.last.insert(worker, Some(taken.number));
        }
        Found::Turn(taken.fetched)
    }

    /// A worker that waits wants to end; whether it may: otherwise it has been woken.
    pub fn leave(&mut self, worker: W) -> bool {
        let is_idle = self.forget_idle(worker);
        if is_idle {
            self.last.insert(worker, None);
        }
        is_idle
    }

    fn forget_idle(&mut self, worker: W) -> bool {
        let at = self.idle.iter().position(|idle| *idle == worker);
        at.map(|at| self.idle.remove(at)).is_some()
    }

    /// A turn has ended: what was kept of it, if that is the first end of it.
    pub fn end(&mut self, number: u64) -> Option<R> {
        self.running.remove(&number).map(|(_, running)| running)
    }

    /// Returns whether a turn is running.
    pub fn is_running(&self, number: u64) -> bool {
        self.running.contains_key(&number)
    }

    /// Notes that a worker is gone. Returns the turn that it was running, which has not ended, and whom to summon for other
    /// turns.
    pub fn lost(&mut self, worker: W) -> (Option<u64>, Summons<W>) {
        if let Some(last) = self.last.remove(&worker) {
            return (
                last.filter(|number| self.is_running(*number)),
                Summons::Nobody,
            );
        }
        let mut mine = self.running.iter().filter(|(_, (its, _))| *its == worker);
        let number = mine.next().map(|(number, _)| *number);
        if number.is_none() && !self.forget_idle(worker) {
            // Invariant 2: on its way, or between two turns, and then one more may come than is needed.
            self.coming = self.coming.saturating_sub(1);
        }
        (number, self.call())
    }

    /// Every turn that runs, with its number and its worker.
    pub fn running(&self) -> impl ExactSizeIterator<Item = (u64, W, &R)> {
        let running = self.running.iter();
        running.map(|(number, (worker, running))| (*number, *worker, running))
    }

    /// Returns the record of a turn that runs.
    pub fn running_turn(&mut self, number: u64) -> Option<&mut R> {
        self.running.get_mut(&number).map(|(_, running)| running)
    }

    /// Returns the records of all turns that run.
    pub fn running_turns(&mut self) -> impl Iterator<Item = &mut R> {
        self.running.values_mut().map(|(_, running)| running)
    }

    /// Returns the number of turns that wait.
    pub fn count_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// No turn is taken or ends here any more.
    pub fn close(&mut self) -> LeftOver<W, T, R> {
        self.closed = true;
        LeftOver {
            waiting: std::mem::take(&mut self.waiting),
            running: self.running.drain().map(|(_, running)| running).collect(),
            idle: std::mem::take(&mut self.idle),
        }
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests;
