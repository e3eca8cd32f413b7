//! A dispatch thread: takes events, runs turns, delivers what committed turns send outside.
//!
//! Invariants:
//! 1. Between turns nothing is staged (turn.rs), and only between turns does the thread drain, fire timers, run
//!    calls from outside and stop.
//! 2. A panic is caught at the turn boundary; the thread then reports the fault and ends without another turn.
use crate::atom::Atom;
use crate::code::program::BehaviourCode;
use crate::counters::Counts;
use crate::foreign::Delivery;
use crate::heap::view::Term;
use crate::inbox::{Entry, Target};
use crate::interpreter::{Aborted, End, Interpreter};
use crate::machine::{Abort, Inspection, Machine};
use crate::queue::Event;
use crate::timers::Timers;
use crate::turn::{Outgoing, Savepoint, StagedTimer, Turn};
use crate::value::Value;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// Turns between two looks at inbox, timers and the stop flag: below a tenth of a millisecond of small turns.
const BATCH: usize = 512;
/// How long an idle thread looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(20);
/// How far ahead the records of coming targets are fetched into the cache, and their captures.
const PREFETCH_ACTOR: usize = 12;
const PREFETCH_CAPTURES: usize = 6;

/// The state of one dispatch thread.
pub(crate) struct Dispatch {
    machine: Machine,
    pub(crate) turn: Turn,
    interpreter: Interpreter,
    timers: Timers,
    counts: Counts,
    batch: Vec<Entry>,
    scratch: Vec<Value>,
    running: Option<*const BehaviourCode>,
}

// SAFETY: `running` is only set while the owning thread runs a turn.
unsafe impl Send for Dispatch {}

impl Dispatch {
    pub(crate) fn new(machine: Machine, turn: Turn, interpreter: Interpreter) -> Dispatch {
        Dispatch {
            machine,
            turn,
            interpreter,
            timers: Timers::default(),
            counts: Counts::default(),
            batch: Vec::new(),
            scratch: Vec::new(),
            running: None,
        }
    }

    /// Runs until the machine stops or a turn panics.
    pub(crate) fn run(mut self) {
        self.machine.inbox().serve();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch()));
        if let Err(payload) = outcome {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| text.to_string())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "panic".to_string());
            // SAFETY: behaviour code lives as long as the program, which the machine holds.
            let behaviour = self.running.map(|code| unsafe { &*code });
            self.machine
                .fault(text, behaviour.map(|b| (b.module, b.name)));
        }
    }

    fn dispatch(&mut self) {
        while !self.machine.is_stopping() {
            if self.machine.inbox().is_pending() {
                self.drain();
            }
            if self.timers.len() > 0 {
                self.fire(Instant::now());
            }
            let ran = self.run_batch();
            self.publish();
            if !ran && self.turn.queue.is_empty() {
                self.idle();
            }
        }
    }

    /// Runs up to a batch of turns; whether any was run.
    fn run_batch(&mut self) -> bool {
        for n in 0..BATCH {
            let Some(event) = self.turn.queue.pop() else {
                return n > 0;
            };
            self.prefetch();
            self.turn_of(event);
        }
        true
    }

    #[inline(always)]
    fn prefetch(&self) {
        if let Some(ahead) = self.turn.queue.peek(PREFETCH_ACTOR) {
            prefetch(ahead.target.cast());
        }
        if let Some(ahead) = self.turn.queue.peek(PREFETCH_CAPTURES) {
            // SAFETY: targets of queued events are live. Whatever the state is, a prefetch of it cannot fault.
            let state = unsafe { (*ahead.target).state() };
            prefetch(state.word() as *const u8);
        }
    }

    #[inline(always)]
    fn turn_of(&mut self, event: Event) {
        // SAFETY: targets of queued events are live actors.
        let actor = unsafe { &*event.target };
        let program: *const _ = &*self.turn.program;
        // SAFETY: the program is held by the turn, which outlives this call; the borrow is split by hand because
        // the interpreter needs the turn mutably.
        let behaviour = unsafe { (*program).behaviour(actor.behaviour()) };
        self.running = Some(behaviour);
        let savepoint = self.turn.begin(actor, self.machine.fuel());
        let registers = self.interpreter.registers();
        let n = behaviour.captures as usize;
        // SAFETY: a frame has room for captures and message (verify.rs); an actor's state is a pointer to as many
        // captures as its behaviour has, if these are two or more.
        unsafe {
            match n {
                0 => {}
                1 => *registers = actor.state(),
                _ => {
                    let captures = actor.state().word() as *const Value;
                    for i in 0..n {
                        *registers.add(i) = *captures.add(i);
                    }
                }
            }
            *registers.add(n) = event.message;
        }
        let end = self.interpreter.run(&mut self.turn, &behaviour.code);
        self.counts.turns += 1;
        match end {
            Ok(End::Done) => {
                self.counts.becomes += self.turn.next.is_some() as u64;
                self.turn.commit();
                if !self.turn.outside.is_empty() || !self.turn.timers.is_empty() {
                    self.commit_outside();
                }
            }
            Ok(End::Ignored) => {
                self.counts.ignored += 1;
                self.turn.abort(savepoint);
            }
            Err(Aborted(reason)) => self.aborted(savepoint, behaviour, event, reason),
        }
    }

    /// The rest of a commit: deliveries and timers.
    #[cold]
    fn commit_outside(&mut self) {
        // Whoever gets a message can read what had been done by then.
        self.publish();
        let mut outside = std::mem::take(&mut self.turn.outside);
        for outgoing in outside.drain(..) {
            self.deliver(outgoing);
        }
        self.turn.outside = outside;
        if !self.turn.timers.is_empty() {
            let now = Instant::now();
            let mut timers = std::mem::take(&mut self.turn.timers);
            for timer in timers.drain(..) {
                let StagedTimer {
                    number,
                    milliseconds,
                    target,
                    message,
                } = timer;
                // A delay beyond what an instant can hold is never due.
                if let Some(due) = now.checked_add(Duration::from_millis(milliseconds)) {
                    self.timers.arm(due, number, target, message);
                }
            }
            self.turn.timers = timers;
        }
    }

    fn deliver(&mut self, outgoing: Outgoing) {
        let Outgoing {
            sponsor,
            target,
            message,
        } = outgoing;
        if target.is_address() {
            if sponsor.is_none() || self.turn.sponsor_number(sponsor).is_some() {
                self.turn.queue.push(target.address_pointer(), message);
            } else {
                self.counts.dropped += 1;
            }
            return;
        }
        let delivery = match target.as_foreign() {
            Some(foreign) => foreign.deliver(Term::new(message), &self.machine),
            None => Delivery::NoAddress,
        };
        match delivery {
            Delivery::Done => self.counts.foreign_out += 1,
            Delivery::Dead => self.counts.undelivered += 1,
            Delivery::NoAddress => self.counts.dropped += 1,
        }
    }

    #[cold]
    fn aborted(
        &mut self,
        savepoint: Savepoint,
        behaviour: &BehaviourCode,
        event: Event,
        reason: Value,
    ) {
        let counter = match abort_kind(reason) {
            Atom::FUEL => &mut self.counts.aborts_fuel,
            Atom::STACK => &mut self.counts.aborts_stack,
            Atom::NO_MEMORY => &mut self.counts.aborts_no_memory,
            Atom::UNDEFINED_FUNCTION => &mut self.counts.aborts_undefined_function,
            Atom::ABORT => &mut self.counts.aborts_explicit,
            _ => &mut self.counts.aborts_match,
        };
        *counter += 1;
        // The reason may have been made by the turn: it is reported before the turn is forgotten.
        self.machine.report_abort(Abort {
            module: behaviour.module,
            behaviour: behaviour.name,
            message: Term::new(event.message),
            reason: Term::new(reason),
        });
        self.turn.abort(savepoint);
    }

    /// Takes what has come from outside.
    fn drain(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        self.machine.inbox().drain(&mut batch);
        for entry in batch.drain(..) {
            match entry {
                Entry::Call(call) => call(self),
                Entry::Event(target, parcel) => {
                    self.counts.foreign_in += 1;
                    let mark = self.turn.heap.mark();
                    let message = parcel.unpack(&mut self.turn.heap, &mut self.scratch);
                    if message.is_none() {
                        self.turn.heap.rewind(mark);
                        self.counts.aborts_no_memory += 1;
                    } else {
                        self.turn.queue.push(target.0, message);
                    }
                }
            }
        }
        self.batch = batch;
    }

    /// Turns due timers into events.
    fn fire(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop_due(now) {
            self.turn.send(timer.target, timer.message);
        }
        if !self.turn.outside.is_empty() {
            self.commit_outside();
        }
    }

    /// What an actor is at this moment.
    pub(crate) fn inspection<'m>(&'m self, Target(actor): Target) -> Inspection<'m> {
        // SAFETY: the caller resolved a handle, which keeps the actor.
        let actor = unsafe { &*actor };
        let behaviour = self.turn.program.behaviour(actor.behaviour());
        let captures = (0..behaviour.captures as usize).map(|i| match behaviour.captures {
            1 => Term::new(actor.state()),
            // SAFETY: as in `turn_of`.
            _ => Term::new(unsafe { *(actor.state().word() as *const Value).add(i) }),
        });
        Inspection {
            module: behaviour.module,
            behaviour: behaviour.name,
            captures: captures.collect(),
        }
    }

    fn publish(&mut self) {
        let tally = self.turn.tally;
        let counts = Counts {
            sends: tally.sends,
            creates: tally.creates,
            dropped: self.counts.dropped + tally.dropped,
            timers: self.timers.len() as u64,
            ..self.counts
        };
        self.machine.publish(&counts, self.turn.queue.bytes());
    }

    /// Nothing is queued: spins briefly, then sleeps until something comes or a timer is due.
    fn idle(&mut self) {
        let start = Instant::now();
        while start.elapsed() < SPIN {
            if self.machine.inbox().is_pending() || self.machine.is_stopping() {
                return;
            }
            std::hint::spin_loop();
        }
        let at_most = self
            .timers
            .next_due()
            .map(|due| due.saturating_duration_since(Instant::now()));
        if at_most != Some(Duration::ZERO) && !self.machine.is_stopping() {
            self.counts.parks += 1;
            self.publish();
            self.machine.inbox().park(at_most);
        }
    }
}

/// The atom that says why: the reason itself or the first element of a tuple.
fn abort_kind(reason: Value) -> Atom {
    let first = reason.as_tuple().and_then(|t| t.first().copied());
    first.unwrap_or(reason).as_atom().unwrap_or(Atom::ABORT)
}

#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing architecturally and cannot fault.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch(address.cast(), _MM_HINT_T0);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
