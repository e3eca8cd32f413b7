//! The system thread of a seeded machine.
use super::{Fibre, Line, Seeded};
use crate::base::ids::ThreadNumber;
use crate::threads::shared::Machine;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Time that a paused machine waits before it looks again.
const WAIT: Duration = Duration::from_millis(1);

/// Runs the dispatchers of a seeded machine, one step of one of them after the other.
pub(crate) struct Scheduler {
    machine: Machine,
    seeded: Arc<Seeded>,
    fibres: Vec<Fibre>,
    /// Index of the dispatcher that does something at present.
    at: usize,
    /// The number of the one that had the last turn.
    last: ThreadNumber,
    /// A turn is outside, and something has come in meanwhile.
    goes_on: bool,
}

impl Scheduler {
    pub(crate) fn new(machine: Machine, seeded: Arc<Seeded>) -> Scheduler {
        Scheduler {
            machine,
            seeded,
            fibres: Vec::new(),
            at: 0,
            last: 0,
            goes_on: false,
        }
    }

    /// Runs until the machine stops or a turn panics.
    pub(crate) fn run(mut self) {
        self.line().serve();
        self.machine.quiescence().add(1);
        while !self.machine.is_stopping() {
            match catch_unwind(AssertUnwindSafe(|| self.step())) {
                Ok(true) => {}
                Ok(false) => self.wait(),
                Err(payload) => {
                    self.machine.stop();
                    if let Some(fibre) = self.fibres.get(self.at) {
                        self.machine.fault(fibre.fault(&*payload));
                    }
                }
            }
        }
        let late = self.line().close();
        for fibre in self.fibres.drain(..).chain(late) {
            fibre.end();
        }
        self.machine.quiescence().done(1);
    }

    fn line(&self) -> &Line {
        &self.seeded.line
    }

    /// Does the next thing. Returns whether there was any.
    fn step(&mut self) -> bool {
        self.take_up();
        self.take_in();
        self.keep();
        if self.machine.attention().is_paused() {
            return false;
        }
        // It is not known how long a turn outside takes. So that nothing depends on that, nothing else goes on meanwhile
        // except what comes in and all that follows from it. The turn itself may be waiting for that.
        let is_away = self.fibres.iter().any(Fibre::is_anybody_away);
        if is_away && !self.goes_on {
            self.goes_on = self.admit() || self.ignores_away();
            self.admit_open();
            return self.goes_on;
        }
        if self.line().lets_in(&self.seeded.choices) {
            return self.admit();
        }
        let waiting: Vec<usize> = self
            .in_turn()
            .filter(|at| self.fibres[*at].has_events())
            .collect();
        if let Some(at) = waiting.get(self.seeded.choices.choose(waiting.len())) {
            self.last = self.fibres[*at].number();
            let at = *at;
            self.on(at, Fibre::play);
            if self.fibres[at].is_anybody_away() {
                // It may end at any time: what may enter at any time must not depend on that.
                self.admit_open();
            }
            return true;
        }
        if std::mem::take(&mut self.goes_on) || self.admit() {
            return true;
        }
        for at in 0..self.fibres.len() {
            self.on(at, Fibre::look_at_the_clock);
        }
        self.fibres.iter().any(Fibre::has_events)
    }

    /// Returns whether a caller waits until nothing is left to do but turns that are outside, and something is.
    fn ignores_away(&self) -> bool {
        self.machine.quiescence().is_away_ignored() && self.fibres.iter().any(Fibre::has_events)
    }

    /// The dispatchers, beginning behind the one that had the last turn: so without choices each has its turn.
    fn in_turn(&self) -> impl Iterator<Item = usize> {
        let n = self.fibres.len();
        let last = self.fibres.iter().position(|f| f.number() == self.last);
        let next = last.map_or(0, |last| last + 1);
        (next..next + n).map(move |at| at % n)
    }

    /// Begins with new dispatchers.
    fn take_up(&mut self) {
        for mut fibre in self.line().newcomers() {
            fibre.begin();
            self.fibres.push(fibre);
        }
    }

    /// Lets every dispatcher take in what others have sent.
    fn take_in(&mut self) {
        for at in 0..self.fibres.len() {
            self.on(at, Fibre::take_in);
        }
    }

    /// Lets every dispatcher keep house, and ends those whose sponsors are removed.
    fn keep(&mut self) {
        let mut at = 0;
        while at < self.fibres.len() {
            if self.on(at, Fibre::keep) {
                at += 1;
            } else {
                self.fibres.remove(at).end();
            }
        }
    }

    /// Takes in everything that may enter at any time.
    fn admit_open(&mut self) {
        while self.line().is_open() && self.admit() {}
    }

    /// Takes in the next message from outside. Returns whether there was one.
    fn admit(&mut self) -> bool {
        let Some(number) = self.line().next() else {
            return false;
        };
        // It is in the inbox by now (line.rs, invariant 1), or with the first sponsor, if its own was removed since.
        self.take_in();
        let at = self
            .fibres
            .iter()
            .position(|fibre| fibre.number() == number);
        if !at.is_some_and(|at| self.on(at, Fibre::admit)) {
            self.on(0, Fibre::admit);
        }
        true
    }

    /// Lets one of them do something, with everything else left to the collector meanwhile.
    fn on<R>(&mut self, at: usize, act: impl FnOnce(&mut Fibre) -> R) -> R {
        for other in &mut self.fibres {
            other.show();
        }
        self.at = at;
        act(&mut self.fibres[at])
    }

    /// Waits for something to come. Not quiet as long as anything is queued, or was taken in and is yet to be admitted:
    /// a message is in an inbox a moment before it is in line, and nobody else counts it once it was taken out.
    fn wait(&mut self) {
        let busy = |fibre: &Fibre| fibre.has_events() || fibre.has_arrivals();
        if self.fibres.iter().any(busy) {
            return std::thread::park_timeout(WAIT);
        }
        debug_assert!(!self.fibres.iter().any(Fibre::owes));
        let waits = self.fibres.iter().map(|fibre| fibre.dispatch.may_sleep());
        let at_most = waits.flatten().min();
        self.machine.quiescence().done(1);
        let pending = self.fibres.iter().any(Fibre::is_pending);
        if !pending && self.line().is_empty() && !self.machine.is_stopping() {
            match at_most {
                Some(duration) => std::thread::park_timeout(duration),
                None => std::thread::park(),
            }
        }
        self.machine.quiescence().add(1);
    }
}
