//! The staging area of a turn: what it allocates, sends, arms and becomes, until commit or abort.
//!
//! Invariants:
//! 1. Between turns nothing is staged: `at_commit` is empty, `unusual` is not set, and all the fuel is there.
//! 2. An abort restores heap, queue and counts to where `begin` found them, and forgets the rest. The numbers that the turn
//!    has drawn and those of its timers are used up: a turn that is tried again must not draw the same. A turn that is to
//!    run once more is undone instead, as if it had not begun, and draws and arms with the same numbers.
//! 3. The usual turn leaves behind only events and cells that had room where they were expected, a become, and the counts of
//!    these. Anything else sets `unusual`: a turn that ends without it only has to `commit`. After one that has but spent fuel,
//!    there is fuel to fill up besides.
pub(crate) mod at_commit;
pub(crate) mod exchange;
pub(crate) mod fuel;
pub(crate) mod protected;
pub(crate) mod staged;
pub(crate) mod stash;

use crate::base::counters::Counts;
use crate::heap::marks::mark;
use crate::heap::{Heap, HeapPosition};
use crate::terms::prim::random::Random;
use crate::turns::leaving::Leaving;
use crate::turns::marking::barrier::before_become;
use crate::turns::marking::mark::held_parts;
use crate::turns::marking::packets::Log;
use crate::turns::marking::visitor::Visitor;
use crate::turns::overseer::Surroundings;
use crate::turns::queue::{Event, EventQueue, QueuePosition};
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::value::Value;
use at_commit::{AtCommit, Next, TimerStep};
use exchange::Exchange;
use fuel::Fuel;

/// Marks a turn that has spent fuel, and has looked around for no more of it.
pub const SPENT: u32 = 2;

/// The state to which an aborted turn returns.
#[derive(Clone, Copy)]
pub(crate) struct Savepoint {
    pub(crate) heap: HeapPosition,
    pub(crate) queue: QueuePosition,
    pub(crate) creates: u64,
}

/// The turn that a thread runs, and what it runs it with: its heap, its queue and its counters.
pub(crate) struct Turn {
    pub(crate) heap: Heap,
    pub(crate) queue: EventQueue,
    pub(crate) actor: *const Actor,
    message: Value,
    /// The header of actors created here, but for the behaviour.
    pub(crate) birth: Header,
    pub(crate) fuel: Fuel,
    /// Invariant 3: [`SPENT`], or that and more. A word, since native code writes it.
    pub(crate) unusual: u32,
    pub(crate) at_commit: AtCommit,
    pub(crate) exchange: Exchange,
    pub(crate) random: Random,
    pub(crate) counts: Counts,
    /// Number of timers that this thread has staged: the serial number of the last one.
    pub(crate) timer_serial: u64,
    /// The actor that became last.
    pub(crate) became: *const Actor,
    /// The values that a collection that marks beside turns has still to see of them.
    pub(crate) log: Log,
    pub(crate) savepoint: Savepoint,
    /// Events that were queued here and leave without a turn. Boxed: seldom looked at, and large.
    pub(crate) leaving: Box<Leaving>,
    /// Number of the queue's events that have a place in the sponsor's room.
    pub(crate) placed: usize,
    pub(crate) around: Surroundings,
}

// SAFETY: `actor` is only set while the owning thread runs a turn.
unsafe impl Send for Turn {}

impl Turn {
    /// `timer_serial`: that of the last timer that a thread of this number has staged.
    pub(crate) fn new(around: Surroundings, heap: Heap, seed: u64, timer_serial: u64) -> Turn {
        let queue = EventQueue::new(around.pool.clone());
        let savepoint = Savepoint {
            heap: heap.position(),
            queue: queue.position(),
            creates: 0,
        };
        let mut turn = Turn {
            heap,
            queue,
            actor: std::ptr::null(),
            message: Value::NONE,
            birth: Header::new(BehaviourId::SINK, None, around.thread),
            fuel: Fuel::new(around.fuel),
            unusual: 0,
            at_commit: AtCommit::default(),
            exchange: Exchange::default(),
            random: Random::from_seed(seed),
            counts: Counts::default(),
            timer_serial,
            became: std::ptr::null(),
            log: Log::default(),
            savepoint,
            leaving: Box::default(),
            placed: 0,
            around,
        };
        turn.fill_up();
        turn
    }

    /// Starts the turn of an event.
    #[inline(always)]
    pub(crate) fn begin(&mut self, event: Event) {
        self.actor = event.target;
        self.message = event.message;
        // From turn to turn little but these positions changes.
        self.heap.advance(&mut self.savepoint.heap);
        self.queue.advance(&mut self.savepoint.queue);
        self.savepoint.creates = self.counts.creates;
    }

    /// Returns whether nothing but a commit is left to do for a turn that has ended well.
    #[inline(always)]
    pub(crate) fn is_usual(&self) -> bool {
        self.unusual == 0
    }

    /// Returns whether a turn that has ended well is usual except for fuel that it has spent.
    #[inline(always)]
    pub(crate) fn has_but_spent(&self) -> bool {
        self.unusual == SPENT
    }

    /// The turn is over, committed or aborted, and everything unusual was handled. Returns the fuel that it has spent.
    pub(crate) fn tidy_up(&mut self) -> u64 {
        let spent = self.spent();
        self.fill_up();
        self.unusual = 0;
        self.at_commit.misplaced = None;
        self.at_commit.unarmed = 0;
        spent
    }

    /// Makes the become visible. Sends to actors and new actors already stand where they belong; what goes outside
    /// is left to the caller.
    #[inline(always)]
    pub(crate) fn commit(&mut self) {
        self.counts.sends += self.queue.pushed_since(&self.savepoint.queue) as u64;
        if let Some((behaviour, state)) = self.becoming() {
            if self.heap.watches() {
                self.note_become();
            }
            self.at_commit.next.behaviour = Next::NOTHING;
            // SAFETY: the running actor is live: its event was queued.
            unsafe { (*self.actor).set(behaviour, state) };
            self.counts.becomes += 1;
            self.became = self.actor;
        }
    }

    /// Tells the collection that marks, or else the next one, that the actor becomes another.
    #[cold]
    #[inline(never)]
    fn note_become(&mut self) {
        match self.heap.marking() {
            0 => self.heap.note_change(self.actor.cast()),
            _ => self.keep_for_collection(),
        }
    }

    /// A collection marks: what the actor held when it began is read before it is gone (turns/marking/barrier.rs).
    fn keep_for_collection(&mut self) {
        let number = self.heap.marking();
        let cell = self.actor.cast();
        // SAFETY: the running actor is live: its event was queued.
        let actor = unsafe { &*self.actor };
        let held = before_become(self.around.work.readings(), actor, || mark(cell, 1, number));
        if let Some(held) = held {
            self.around.work.moment.note(actor, held);
            let Log { values, found } = &mut self.log;
            let behaviour = self.around.program.behaviour(held.0.behaviour());
            held_parts(
                (actor, behaviour.captures as usize),
                number,
                found,
                held,
                |parts| {
                    parts.iter().for_each(|part| values.value(*part));
                },
            );
        }
    }

    /// Leaves no footprints.
    pub(crate) fn abort(&mut self) {
        self.at_commit.forget();
        self.queue.rewind(self.savepoint.queue);
        self.counts.creates = self.savepoint.creates;
        self.heap.rewind(&self.savepoint.heap);
    }

    /// Undoes the turn as if it had not begun: it is to run once more. Returns whether it has drawn random numbers.
    pub(crate) fn undo(&mut self) -> bool {
        let arms = |step: &&TimerStep| matches!(step, TimerStep::Arm { .. });
        let armed = self.at_commit.timers.iter().filter(arms).count() as u64;
        self.timer_serial -= armed + self.at_commit.unarmed;
        let drew = self.random.take_back(self.counts.turns);
        self.abort();
        drew
    }

    /// A new actor, owned by this thread unless it is pinned elsewhere; `NONE` when the memory is exhausted.
    #[inline(always)]
    pub(crate) fn create(&mut self, behaviour: BehaviourId, state: Value) -> Value {
        self.counts.creates += 1;
        self.heap.actor(self.birth.of(behaviour), state)
    }

    /// Makes an actor that is pinned to the sponsor of that name; the name of no sponsor pins to none.
    pub(crate) fn create_on(
        &mut self,
        behaviour: BehaviourId,
        sponsor: Value,
        state: Value,
    ) -> Value {
        self.counts.creates += 1;
        let named = sponsor.as_atom();
        let pinned = named.and_then(|name| self.around.overseer.pin(name));
        self.see_place(behaviour, pinned);
        let here = pinned.is_none_or(|id| id == self.around.sponsor);
        let owner = if here { self.around.thread } else { 0 };
        self.heap
            .actor(Header::new(behaviour, pinned, owner), state)
    }
}
