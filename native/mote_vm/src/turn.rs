//! The staging area of a turn: what it allocates, sends, arms and becomes, until commit or abort.
//!
//! Invariants:
//! 1. Between turns nothing is staged: `outside`, `timers` and `next` are empty.
//! 2. An abort restores heap, queue and tally to where `begin` found them, and forgets the rest.
use crate::actor::{Actor, BehaviourId};
use crate::atom::Atom;
use crate::code::program::Program;
use crate::heap::block::BlockPool;
use crate::heap::{Heap, Mark};
use crate::prim::random::Random;
use crate::queue::{EventQueue, QueueMark};
use crate::value::Value;
use std::sync::Arc;

/// A message to something that is not simply an actor: a process, a customer, a reference with a sponsor.
pub(crate) struct Outgoing {
    pub(crate) sponsor: Value,
    pub(crate) target: Value,
    pub(crate) message: Value,
}

/// A timer to be armed at commit.
pub(crate) struct StagedTimer {
    pub(crate) number: u64,
    pub(crate) milliseconds: u64,
    pub(crate) target: Value,
    pub(crate) message: Value,
}

/// What a thread counts, turn by turn; an abort takes back what the turn itself counted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) sends: u64,
    pub(crate) creates: u64,
    pub(crate) dropped: u64,
}

/// See the head of this file.
pub(crate) struct Turn {
    pub(crate) heap: Heap,
    pub(crate) queue: EventQueue,
    pub(crate) random: Random,
    pub(crate) outside: Vec<Outgoing>,
    pub(crate) timers: Vec<StagedTimer>,
    pub(crate) next: Option<(BehaviourId, Value)>,
    pub(crate) actor: *const Actor,
    pub(crate) fuel: u64,
    pub(crate) tally: Tally,
    pub(crate) timer_number: u64,
    pub(crate) program: Arc<Program>,
    pub(crate) sponsors: Arc<[Atom]>,
}

// SAFETY: `actor` is only set while the owning thread runs a turn.
unsafe impl Send for Turn {}

/// Where an aborted turn returns to.
pub(crate) struct Savepoint {
    heap: Mark,
    queue: QueueMark,
    tally: Tally,
}

impl Turn {
    pub(crate) fn new(
        pool: Arc<BlockPool>,
        program: Arc<Program>,
        sponsors: Arc<[Atom]>,
        seed: u64,
    ) -> Turn {
        Turn {
            heap: Heap::new(pool),
            queue: EventQueue::new(),
            random: Random::from_seed(seed),
            outside: Vec::new(),
            timers: Vec::new(),
            next: None,
            actor: std::ptr::null(),
            fuel: 0,
            tally: Tally::default(),
            timer_number: 0,
            program,
            sponsors,
        }
    }

    /// The number of the sponsor of that name.
    pub(crate) fn sponsor_number(&self, name: Value) -> Option<u8> {
        let name = name.as_atom()?;
        let at = self.sponsors.iter().position(|sponsor| *sponsor == name)?;
        u8::try_from(at).ok()
    }

    /// Starts a turn of `actor` with that much fuel.
    #[inline(always)]
    pub(crate) fn begin(&mut self, actor: *const Actor, fuel: u64) -> Savepoint {
        self.actor = actor;
        self.fuel = fuel;
        Savepoint {
            heap: self.heap.mark(),
            queue: self.queue.mark(),
            tally: self.tally,
        }
    }

    /// Makes the become visible. Sends to actors and new actors already stand where they belong; what goes outside
    /// is left to the caller.
    #[inline(always)]
    pub(crate) fn commit(&mut self) {
        if let Some((behaviour, state)) = self.next.take() {
            // SAFETY: the running actor is live: its event was queued.
            unsafe { (*self.actor).set(behaviour, state) };
        }
    }

    /// Leaves no footprints.
    pub(crate) fn abort(&mut self, savepoint: Savepoint) {
        self.next = None;
        self.outside.clear();
        self.timers.clear();
        self.queue.rewind(savepoint.queue);
        self.tally = savepoint.tally;
        self.heap.rewind(savepoint.heap);
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, target: Value, message: Value) {
        self.tally.sends += 1;
        if target.is_address() {
            self.queue.push(target.address_pointer(), message);
        } else {
            self.send_outside(Value::NONE, target, message);
        }
    }

    /// A send to a named sponsor. An `on` reference inside of it has the last word.
    pub(crate) fn sendx(&mut self, sponsor: Value, target: Value, message: Value) {
        self.tally.sends += 1;
        self.send_outside(sponsor, target, message);
    }

    #[cold]
    fn send_outside(&mut self, sponsor: Value, target: Value, message: Value) {
        let (sponsor, target) = target.as_on().unwrap_or((sponsor, target));
        let known = target.is_address() || target.as_foreign().is_some_and(|f| f.is_address());
        if known {
            self.outside.push(Outgoing {
                sponsor,
                target,
                message,
            });
        } else {
            self.tally.sends -= 1;
            self.tally.dropped += 1;
        }
    }

    /// Stages a timer; its number, or `:undefined` when the delay is no count of milliseconds.
    pub(crate) fn send_after(&mut self, delay: Value, target: Value, message: Value) -> Value {
        let Some(milliseconds) = delay.as_fixnum().and_then(|n| u64::try_from(n).ok()) else {
            return Value::UNDEFINED;
        };
        self.timer_number += 1;
        self.timers.push(StagedTimer {
            number: self.timer_number,
            milliseconds,
            target,
            message,
        });
        Value::fixnum(self.timer_number as i64)
    }
}
