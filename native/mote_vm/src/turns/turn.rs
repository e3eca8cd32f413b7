//! The staging area of a turn: what it allocates, sends, arms and becomes, until commit or abort.
//!
//! Invariants:
//! 1. Between turns nothing is staged: `outside`, `timers` and `stash` are empty, `staged` is nothing, `next` is nothing,
//!    `unusual` is not set, and all the fuel is there.
//! 2. An abort restores heap, queue and tally to where `begin` found them, and forgets the rest. The numbers that the turn
//!    has drawn and those of its timers are used up: who tries again is not to draw the same. A turn that is to run once
//!    more is undone instead, as if it had not begun, and draws and arms with the same numbers.
//! 3. Whatever a turn leaves behind but events and cells with room where they were expected, a become, and what is counted
//!    of these, sets `unusual`: a turn that ends without has nothing to do but `commit`.
pub(crate) mod fuel;
pub(crate) mod staged;
pub(crate) mod stash;

use crate::base::atom::Atom;
use crate::base::clock::Clock;
use crate::base::counters::Counts;
use crate::base::ids::{ThreadNumber, TimerId};
use crate::base::quota::Quota;
use crate::code::program::Program;
use crate::heap::marks::mark;
use crate::heap::{Heap, Mark};
use crate::terms::prim::random::Random;
use crate::terms::prim::types::is_reference;
use crate::turns::leaving::Leaving;
use crate::turns::marking::barrier::before_become;
use crate::turns::marking::mark::held_parts;
use crate::turns::marking::visitor::Visitor;
use crate::turns::marking::work::{Log, MarkingWork};
use crate::turns::overseer::{Overseer, Surroundings};
use crate::turns::queue::{Event, EventQueue, QueueMark};
use crate::values::actor::{Actor, BehaviourId, Header, SponsorId};
use crate::values::foreign::{Class, Outgoing};
use crate::values::value::Value;
use stash::Stash;
use std::any::Any;
use std::sync::Arc;

/// What a commit does with timers, in the order of the program.
pub(crate) enum TimerStep {
    Arm {
        /// Its reference, which learns at commit where it is.
        timer: Value,
        milliseconds: u64,
        target: Value,
        message: Value,
    },
    Cancel(Value),
}

/// What a turn counts beside its actors and the events that it queues; an abort forgets it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) sends: u64,
    pub(crate) dropped: u64,
}

/// Where an aborted turn returns to.
#[derive(Clone, Copy)]
pub(crate) struct Savepoint {
    pub(crate) heap: Mark,
    pub(crate) queue: QueueMark,
    pub(crate) creates: u64,
}

/// What the actor becomes at commit. Native code writes it.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// [`Next::NOTHING`] when the actor stays as it is.
    pub(crate) behaviour: u32,
    pub(crate) state: Value,
}

impl Next {
    pub(crate) const NOTHING: u32 = u32::MAX;
    const STAYS: Next = Next {
        behaviour: Next::NOTHING,
        state: Value::NONE,
    };
}

/// Why native code stopped in the middle of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Stop {
    /// The turn is aborted, for [`Halt::reason`].
    Aborted = 0,
    /// Something has no native code yet: the interpreter is to run the turn.
    NotReady = 1,
    /// As above, and it never will have.
    Never = 2,
    /// A helper panicked; [`Halt::payload`] has what it said.
    Panicked = 3,
}

/// What native code and its helpers leave behind when they stop in the middle of a turn.
pub(crate) struct Halt {
    pub(crate) stop: Stop,
    pub(crate) reason: Value,
    pub(crate) payload: Option<Box<dyn Any + Send>>,
}

/// Bytes that a turn may have staged beside the queue without anybody looking at the quota.
const STAGED: usize = 1 << 20;

/// See the head of this file.
pub(crate) struct Turn {
    pub(crate) heap: Heap,
    pub(crate) queue: EventQueue,
    pub(crate) random: Random,
    pub(crate) outside: Vec<Outgoing>,
    pub(crate) timers: Vec<TimerStep>,
    pub(crate) next: Next,
    pub(crate) stash: Stash,
    pub(crate) halt: Halt,
    /// A behaviour whose turns run outside only, and that an actor of another sponsor was to have.
    pub(crate) misplaced: Option<BehaviourId>,
    /// The header of actors created here, but for the behaviour.
    pub(crate) birth: Header,
    pub(crate) actor: *const Actor,
    message: Value,
    /// What is left of the current slice, and of the turn beyond it; and what a turn begins with.
    pub(crate) fuel: u64,
    reserve: u64,
    allowance: u64,
    /// Fuel that primitives were paid with since the turn last looked around.
    unlooked: u64,
    /// Invariant 3. A word, since native code writes it.
    pub(crate) unusual: u32,
    /// What native code asks a helper for through a stub, and what that has answered (helpers.rs).
    pub(crate) asked: [u64; 4],
    pub(crate) answer: u64,
    pub(crate) staged: Tally,
    pub(crate) counts: Counts,
    /// What a collection that marks beside turns has still to see of them.
    pub(crate) log: Log,
    pub(crate) savepoint: Savepoint,
    /// What was queued here and leaves without a turn. Boxed: seldom looked at, and large.
    pub(crate) leaving: Box<Leaving>,
    /// About how many nanoseconds a long turn took lately; 0 while turns are small (backlog.rs).
    pub(crate) long_turn: u64,
    /// Batches to come in which nothing is shared (sharing.rs).
    pub(crate) reluctance: u32,
    /// How many of the queue's events have a place in the sponsor's room.
    pub(crate) placed: usize,
    pub(crate) program: Arc<Program>,
    /// Whom it asks now and then, and what it knows of where it runs.
    pub(crate) overseer: Arc<dyn Overseer>,
    pub(crate) clock: Arc<Clock>,
    thread: ThreadNumber,
    sponsor: SponsorId,
    quota: Arc<Quota>,
    work: Arc<MarkingWork>,
    /// The fuel that the machine allows.
    full: u64,
    timer_bytes: usize,
    /// How many timers this thread has staged: the serial number of the last one.
    pub(crate) timer_serial: u64,
}

// SAFETY: `actor` is only set while the owning thread runs a turn.
unsafe impl Send for Turn {}

impl Turn {
    pub(crate) fn new(around: Surroundings, heap: Heap, seed: u64) -> Turn {
        let quota = around.pool.quota.clone();
        let queue = EventQueue::new(around.pool);
        let savepoint = Savepoint {
            heap: heap.mark(),
            queue: queue.mark(),
            creates: 0,
        };
        let mut turn = Turn {
            heap,
            queue,
            random: Random::from_seed(seed),
            outside: Vec::new(),
            timers: Vec::new(),
            next: Next::STAYS,
            stash: Stash::default(),
            halt: Halt {
                stop: Stop::Aborted,
                reason: Value::NONE,
                payload: None,
            },
            misplaced: None,
            birth: Header::new(BehaviourId::SINK, None, around.thread),
            actor: std::ptr::null(),
            message: Value::NONE,
            fuel: 0,
            reserve: 0,
            unlooked: 0,
            allowance: around.fuel,
            unusual: 0,
            asked: [0; 4],
            answer: 0,
            staged: Tally::default(),
            counts: Counts::default(),
            log: Log::default(),
            savepoint,
            leaving: Box::default(),
            long_turn: 0,
            reluctance: 0,
            placed: 0,
            program: around.program,
            timer_serial: around.timer_serial,
            overseer: around.overseer,
            clock: around.clock,
            thread: around.thread,
            sponsor: around.sponsor,
            quota,
            work: around.work,
            full: around.fuel,
            timer_bytes: around.timer_bytes,
        };
        for ends in around.ends {
            turn.heap.work.end_with(ends);
        }
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

    /// Whether what the turn has sent and armed is more than there is memory for.
    #[inline(always)]
    pub(crate) fn lacks_memory(&self) -> bool {
        let staged = !self.outside.is_empty() || !self.timers.is_empty();
        self.queue.is_starved() || staged && self.lacks_room_elsewhere()
    }

    /// What goes to actors of other sponsors, and timers, take room that is not the queue's.
    #[cold]
    fn lacks_room_elsewhere(&self) -> bool {
        let sent = self.outside.iter().filter(|out| out.target.is_address());
        let arms = |step: &&TimerStep| matches!(step, TimerStep::Arm { .. });
        let armed = self.timers.iter().filter(arms);
        let bytes = sent.count() * size_of::<Event>() + armed.count() * self.timer_bytes;
        bytes > 0 && !self.quota.has(bytes)
    }

    /// A long turn's list of what is to leave at the commit is no way round the quota.
    fn has_staged_too_much(&self) -> bool {
        let bytes =
            self.outside.len() * size_of::<Outgoing>() + self.timers.len() * size_of::<TimerStep>();
        bytes > STAGED && !self.quota.has(bytes)
    }

    /// Whether nothing but a commit is left to do for a turn that has ended well.
    #[inline(always)]
    pub(crate) fn is_usual(&self) -> bool {
        self.unusual == 0
    }

    /// The turn is over, committed or aborted, and everything unusual was handled. Returns the fuel that it has spent.
    pub(crate) fn tidy_up(&mut self) -> u64 {
        let spent = self.spent();
        self.fill_up();
        self.unusual = 0;
        self.misplaced = None;
        spent
    }

    /// Makes the become visible. Sends to actors and new actors already stand where they belong; what goes outside
    /// is left to the caller.
    #[inline(always)]
    pub(crate) fn commit(&mut self) {
        self.counts.sends += self.queue.pushed_since(&self.savepoint.queue) as u64;
        if let Some((behaviour, state)) = self.becoming() {
            if self.heap.marking() != 0 {
                self.keep_for_collection();
            }
            self.next.behaviour = Next::NOTHING;
            // SAFETY: the running actor is live: its event was queued.
            unsafe { (*self.actor).set(behaviour, state) };
            self.counts.becomes += 1;
        }
    }

    /// A collection marks: what the actor held when it began is read before it is gone (turns/marking/barrier.rs).
    #[cold]
    #[inline(never)]
    fn keep_for_collection(&mut self) {
        let number = self.heap.marking();
        let cell = self.actor.cast();
        // SAFETY: the running actor is live: its event was queued.
        let actor = unsafe { &*self.actor };
        let held = before_become(self.work.readings(), actor, || mark(cell, 1, number));
        if let Some(held) = held {
            let Log { values, found } = &mut self.log;
            held_parts(&self.program, number, found, held, |value| {
                values.value(value)
            });
        }
    }

    /// The staged become, if there is one.
    #[inline(always)]
    pub(crate) fn becoming(&self) -> Option<(BehaviourId, Value)> {
        let Next { behaviour, state } = self.next;
        (behaviour != Next::NOTHING).then_some((BehaviourId(behaviour), state))
    }

    /// Stages a become; the last one of a turn counts.
    #[inline(always)]
    pub(crate) fn become_next(&mut self, behaviour: BehaviourId, state: Value) {
        self.next = Next {
            behaviour: behaviour.0,
            state,
        };
    }

    /// What was staged outside of the queue counts.
    pub(crate) fn count_staged(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        self.counts.sends += staged.sends;
        self.counts.dropped += staged.dropped;
    }

    /// Leaves no footprints.
    pub(crate) fn abort(&mut self) {
        self.next = Next::STAYS;
        self.stash = Stash::default();
        self.outside.clear();
        self.timers.clear();
        self.queue.rewind(self.savepoint.queue);
        self.staged = Tally::default();
        self.counts.creates = self.savepoint.creates;
        self.heap.rewind(self.savepoint.heap);
    }

    /// As if the turn had not begun: it is to run once more.
    pub(crate) fn undo(&mut self) {
        let arms = |step: &&TimerStep| matches!(step, TimerStep::Arm { .. });
        self.timer_serial -= self.timers.iter().filter(arms).count() as u64;
        self.random.take_back(self.counts.turns);
        self.abort();
    }

    /// A new actor, owned by this thread unless it is pinned elsewhere; `NONE` when the memory is exhausted.
    #[inline(always)]
    pub(crate) fn create(&mut self, behaviour: BehaviourId, state: Value) -> Value {
        self.counts.creates += 1;
        self.heap.actor(self.birth.of(behaviour), state)
    }

    /// The same, pinned to the sponsor of that name; the name of no sponsor pins to none.
    pub(crate) fn create_on(
        &mut self,
        behaviour: BehaviourId,
        sponsor: Value,
        state: Value,
    ) -> Value {
        self.counts.creates += 1;
        let named = sponsor.as_atom();
        let pinned = named.and_then(|name| self.overseer.pin(name));
        self.see_place(behaviour, pinned);
        let here = pinned.is_none_or(|id| id == self.sponsor);
        let owner = if here { self.thread } else { 0 };
        self.heap
            .actor(Header::new(behaviour, pinned, owner), state)
    }

    /// An actor pinned like that is to have this behaviour: notes it down if its turns could not run there.
    pub(crate) fn see_place(&mut self, behaviour: BehaviourId, pinned: Option<SponsorId>) {
        let only_outside = self.program.behaviour(behaviour).outside_only;
        if only_outside && !pinned.is_some_and(|id| self.overseer.runs_outside(id)) {
            self.misplaced = Some(behaviour);
            self.unusual = 1;
        }
    }

    /// Why a turn is aborted that has put this behaviour where its turns cannot run: `{:beam_only, {module, name}}`.
    #[cold]
    pub(crate) fn told_misplaced(&mut self, behaviour: BehaviourId) -> Value {
        let code = self.program.behaviour(behaviour);
        let name = [code.module, code.name].map(Value::atom);
        let name = self.heap.tuple(2, |i| name[i]);
        let reason = [Value::atom(Atom::BEAM_ONLY), name];
        let told = self.heap.tuple(2, |i| reason[i]);
        match name.is_none() || told.is_none() {
            true => Value::atom(Atom::NO_MEMORY),
            false => told,
        }
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, target: Value, message: Value) {
        if target.is_address() {
            self.queue.push(target.address_pointer(), message);
            self.unusual |= !self.queue.is_where(&self.savepoint.queue) as u32;
        } else {
            self.send_outside(Value::NONE, target, message);
        }
    }

    /// A send to a named sponsor. An `on` reference inside of it has the last word.
    pub(crate) fn sendx(&mut self, sponsor: Value, target: Value, message: Value) {
        self.send_outside(sponsor, target, message);
    }

    #[cold]
    fn send_outside(&mut self, sponsor: Value, target: Value, message: Value) {
        self.unusual = 1;
        // Many consecutive ones go to the same sponsor.
        let last = self.outside.last();
        let again = last.is_some_and(|last| (last.sponsor, last.target) == (sponsor, target));
        let (sponsor, target) = match again {
            true => (sponsor, target),
            false => target.as_on().unwrap_or((sponsor, target)),
        };
        if again || target.is_address() || target.as_foreign().is_some_and(|f| f.is_address()) {
            self.staged.sends += 1;
            self.outside.push(Outgoing {
                sponsor,
                target,
                message,
            });
        } else {
            self.staged.dropped += 1;
        }
    }

    /// Stages a timer; its reference, `:undefined` when the delay is no count of milliseconds, `NONE` when the memory is
    /// exhausted.
    pub(crate) fn send_after(&mut self, delay: Value, target: Value, message: Value) -> Value {
        self.unusual = 1;
        let Some(milliseconds) = delay.as_fixnum().and_then(|n| u64::try_from(n).ok()) else {
            self.staged.dropped += 1;
            return Value::UNDEFINED;
        };
        let timer = self.timer();
        if !timer.is_none() {
            self.arm(timer, milliseconds, target, message);
        }
        timer
    }

    /// The reference of a timer that the turn will arm; `NONE` when the memory is exhausted.
    pub(crate) fn timer(&mut self) -> Value {
        // An abort does not take the number back (invariant 2).
        self.timer_serial += 1;
        self.heap.timer(TimerId {
            serial: self.timer_serial << 1,
            thread: self.thread,
            place: u32::MAX,
        })
    }

    /// Stages the timer of a reference.
    pub(crate) fn arm(&mut self, timer: Value, milliseconds: u64, target: Value, message: Value) {
        self.unusual = 1;
        self.timers.push(TimerStep::Arm {
            timer,
            milliseconds,
            target,
            message,
        });
    }

    /// Stages the end of a timer. `:ok` for every reference, whatever has become of its timer.
    pub(crate) fn cancel_timer(&mut self, timer: Value) -> Value {
        if timer.as_timer().is_some() || timer.foreign_class() == Some(Class::Timer) {
            self.unusual = 1;
            self.timers.push(TimerStep::Cancel(timer));
        }
        match is_reference(timer) {
            true => Value::atom(Atom::OK),
            false => Value::UNDEFINED,
        }
    }
}
