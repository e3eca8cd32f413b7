//! One turn of one event: run it, then commit or abort.
//!
//! Invariants:
//! 1. An observer sees a turn once its outcome is known (`Verdict`), and before any of its effects is visible. A turn that is to
//!    run once more is not shown, and no address made by an aborted turn gets out (turn/staged.rs).
//! 2. A message that leaves the machine is no larger, written out, than everything that the machine holds (terms/written.rs): a
//!    commit takes time and memory in proportion to what it delivers, and neither is charged.
mod telling;

use crate::base::atom::Atom;
use crate::base::sync::Relaxed;
use crate::boundary::timers::NEVER;
use crate::code::entry;
use crate::code::program::{BehaviourCode, Program};
use crate::threads::journaling::not_durable;
use crate::threads::thread::Dispatch;
use crate::turns::abort::Abort;
use crate::turns::interpreter::call_site::{is_raised, is_raised_elsewhere};
use crate::turns::interpreter::{Aborted, End};
use crate::turns::queue::Event;
use crate::turns::turn::at_commit::{Due, TimerStep};
use crate::turns::turn::exchange::Stop;
use crate::turns::turn::staged::Staged;
use crate::values::actor::BehaviourId;
use crate::values::term::{ActorRef, Term};
use crate::values::value::Value;
use std::panic::resume_unwind;

/// The verdict on a turn that has run.
pub(crate) enum Verdict {
    Commits,
    /// The message matched no clause.
    Ignored,
    /// The turn is aborted, for this reason.
    Aborted(Value),
    /// The turn is to run from its beginning: by the thread if it is more than a stand-in may do, or by a thread of another
    /// sponsor.
    Postponed,
}

impl Dispatch {
    /// Runs the event's actor, which this thread owns or whose behaviour is safe; what the turn cost, in units of
    /// a small turn. Between turns `turn.actor` is the last one's until the caller forgets it.
    #[inline(always)]
    pub(crate) fn turn_of(&mut self, event: Event) -> u64 {
        let (id, how) = self.enter_turn(event);
        if how == entry::DONE && self.turn.is_usual() {
            self.turn.counts.turns += 1;
            self.turn.commit();
            return 1;
        }
        // Most of those that call functions. The others have more to do at their end.
        if how == entry::DONE && self.turn.has_but_spent() && self.taken_up.is_empty() {
            self.turn.counts.turns += 1;
            self.turn.commit();
            return 1 + self.turn.tidy_up() / 2;
        }
        self.finish(event, id, how, |_, _, _| ())
    }

    /// Runs the event's actor as `turn_of` does, and shows the turn to `see` (invariant 1).
    pub(crate) fn turn_seen_by(
        &mut self,
        event: Event,
        see: impl FnOnce(&Dispatch, &BehaviourCode, &Verdict),
    ) -> u64 {
        let (id, how) = self.enter_turn(event);
        self.finish(event, id, how, see)
    }

    /// Begins a turn and runs the actor's native code, or what stands in for it; which behaviour that was, and how it ended.
    #[inline(always)]
    fn enter_turn(&mut self, event: Event) -> (BehaviourId, u32) {
        // SAFETY: targets of queued events are live actors.
        let actor = unsafe { &*event.target };
        let id = actor.header().behaviour();
        self.turn.begin(event);
        let entry = self.turn.around.program.entry(id);
        (id, entry((&raw mut self.turn).cast(), actor, event.message))
    }

    /// Finishes a turn whose native code, or what stands in for it, has answered `how`.
    #[inline(never)]
    fn finish(
        &mut self,
        event: Event,
        id: BehaviourId,
        how: u32,
        see: impl FnOnce(&Dispatch, &BehaviourCode, &Verdict),
    ) -> u64 {
        if how == entry::SOCKET {
            return self.turn_of_socket(event, see);
        }
        let interpreted = self.turn.counts.interpreted;
        let (behaviour, mut end) = self.end_of(event, id, how);
        if std::mem::take(&mut self.seeded.aborts) {
            end = Err(Aborted(Value::atom(Atom::KILLED)));
        }
        let units = self.conclude(behaviour, event, end, interpreted, see);
        self.running = None;
        units + self.turn.tidy_up() / 2
    }

    /// Runs a turn to its end and no further: everything that it has done is staged. The caller undoes it with
    /// [`Dispatch::forget_rehearsal`].
    pub(crate) fn rehearse(&mut self, event: Event) -> Verdict {
        let (id, how) = self.enter_turn(event);
        let (_, end) = self.end_of(event, id, how);
        self.verdict(end)
    }

    /// Undoes a turn that was rehearsed. Returns whether it has drawn random numbers.
    pub(crate) fn forget_rehearsal(&mut self) -> bool {
        self.running = None;
        let drew = self.turn.undo();
        self.turn.tidy_up();
        self.turn.actor = std::ptr::null();
        drew
    }

    /// The code of a turn whose native code, or what stands in for it, has answered `how`, and how the turn ends.
    #[inline(always)]
    fn end_of<'p>(
        &mut self,
        event: Event,
        id: BehaviourId,
        how: u32,
    ) -> (&'p BehaviourCode, Result<End, Aborted>) {
        let program: *const Program = &*self.turn.around.program;
        // SAFETY: the program is held by the turn, which outlives what calls this; the borrow is split by hand because
        // the interpreter needs the turn mutably.
        let behaviour = unsafe { (*program).behaviour(id) };
        self.running = Some((behaviour, event.message));
        let end = match how {
            entry::DONE => Ok(End::Done),
            entry::IGNORED => Ok(End::Ignored),
            entry::ABSENT => self.interpret(behaviour, event),
            _ => self.stopped(id, behaviour, event),
        };
        (behaviour, end)
    }

    /// Commits or undoes a turn that has ended as `end` says. `interpreted` is how many turns had been interpreted before it.
    pub(crate) fn conclude(
        &mut self,
        behaviour: &BehaviourCode,
        event: Event,
        end: Result<End, Aborted>,
        interpreted: u64,
        see: impl FnOnce(&Dispatch, &BehaviourCode, &Verdict),
    ) -> u64 {
        let end = match end {
            // Here, such code does nothing but abort, whatever reason it gives.
            Err(_) if behaviour.away_only && self.away.is_none() => {
                let id = event.header().behaviour();
                Err(Aborted(self.turn.told_misplaced(id)))
            }
            end => end,
        };
        let mut verdict = self.last_verdict(end);
        let mut units = match verdict {
            Verdict::Postponed => {
                self.turn.counts.interpreted = interpreted;
                self.postpone(event)
            }
            _ => {
                self.turn.counts.turns += 1;
                let commits = matches!(verdict, Verdict::Commits);
                if !self.may_give_back(event, commits) {
                    verdict = Verdict::Aborted(Value::atom(Atom::FUEL));
                }
                see(self, behaviour, &verdict);
                1
            }
        };
        match verdict {
            Verdict::Postponed => {}
            Verdict::Commits => {
                let again = self.turn.at_commit.stash.is_kept_again() && !behaviour.is_newer;
                let left = again.then(|| event.header().behaviour());
                let unstashed = self.turn.unstashed(&mut self.taken_up.spare);
                // What is given back now comes before what was given back earlier.
                if unstashed.is_empty() {
                    units += self.taken_up.keep_again(&mut self.turn, event);
                }
                self.turn.commit();
                self.turn.count_staged();
                if self.away.is_some() {
                    self.send_home();
                }
                if !unstashed.is_empty() {
                    self.take_up_again(&unstashed);
                    self.taken_up.remember(&self.turn, left, unstashed);
                }
                if !self.turn.at_commit.outgoing.is_empty()
                    || !self.turn.at_commit.timers.is_empty()
                {
                    self.commit_outgoing();
                }
            }
            Verdict::Ignored => self.ignored(behaviour, event),
            Verdict::Aborted(reason) => self.aborted(behaviour, event, reason),
        }
        self.turn.actor = std::ptr::null();
        units
    }

    /// Counts what a turn gives back that is to commit (turns/given_back.rs), and the turn.
    #[inline(always)]
    fn may_give_back(&mut self, event: Event, commits: bool) -> bool {
        let given = if commits { self.turn.gives_back() } else { 0 };
        let comes_again = given > 0 && self.turn.gives_last() == Some(event.message);
        match &mut self.away {
            Some(away) => away
                .given_back
                .count(&self.turn, event.target, (given, comes_again)),
            None if given == 0 => true,
            None => self.given_back.count(&self.turn, given, comes_again),
        }
    }

    /// Puts what the actor had kept before all that is queued here, or before all that waits for it while its turn is
    /// outside, or until it has gone to another thread: it is owned by this one, as its behaviour becomes.
    #[cold]
    pub(crate) fn take_up_again(&mut self, unstashed: &[Event]) {
        if self
            .away
            .as_mut()
            .is_some_and(|away| away.precede(unstashed))
            || self.turn.leaving.precede(unstashed)
        {
            return;
        }
        self.turn.queue.prepend(unstashed);
        // They had been accepted before.
        self.turn.queue.forgive();
        self.seeded.senders.precede(unstashed.len());
    }

    /// Returns the verdict on a turn that has ended as `end` says.
    fn verdict(&mut self, end: Result<End, Aborted>) -> Verdict {
        let end = match end {
            Ok(End::Done) if !self.turn.at_commit.outgoing.is_empty() => {
                let paid = self.turn.pay_for_messages();
                paid.map(|()| End::Done)
                    .map_err(|reason| Aborted(Value::atom(reason)))
            }
            end => end,
        };
        let end = match (end, self.turn.at_commit.misplaced) {
            (Ok(End::Done), Some(behaviour)) => Err(Aborted(self.turn.told_misplaced(behaviour))),
            (end, _) => end,
        };
        match end {
            Ok(End::Done)
                if !self.turn.at_commit.timers.is_empty() && self.has_staged_unnoted()
                    || !self.turn.at_commit.outgoing.is_empty() && self.tells_in_no_order() =>
            {
                Verdict::Aborted(not_durable())
            }
            Ok(End::Done) if self.turn.lacks_memory() => {
                Verdict::Aborted(Value::atom(Atom::NO_MEMORY))
            }
            // A turn that was away must not run twice.
            Ok(End::Done)
                if self.lent.stands_in && self.away.is_none() && self.sends_too_much() =>
            {
                Verdict::Postponed
            }
            Ok(End::Done) => Verdict::Commits,
            Ok(End::Ignored) => Verdict::Ignored,
            Err(Aborted(reason)) if self.runs_again(reason) => Verdict::Postponed,
            Err(Aborted(reason)) => Verdict::Aborted(reason),
        }
    }

    /// Returns the same as [`Dispatch::verdict`], except that a turn is given up for lack of memory only after a collection.
    fn last_verdict(&mut self, end: Result<End, Aborted>) -> Verdict {
        match self.verdict(end) {
            Verdict::Aborted(reason)
                if reason == Value::atom(Atom::NO_MEMORY)
                    && (self.turn.heap.exhausted() || self.turn.lacks_memory())
                    && self.tries_again() =>
            {
                Verdict::Postponed
            }
            verdict => verdict,
        }
    }

    /// Native code has stopped in the middle of the turn.
    #[cold]
    fn stopped(
        &mut self,
        id: BehaviourId,
        behaviour: &BehaviourCode,
        event: Event,
    ) -> Result<End, Aborted> {
        let protected = std::mem::take(&mut self.turn.exchange.protected) > 0;
        let reason = self.turn.exchange.halt.reason;
        match self.turn.exchange.halt.stop {
            // The interpreter tells which call led there (turns/interpreter/call_site.rs), or goes on behind it (protected.rs).
            Stop::Aborted
                if is_raised_elsewhere(reason, behaviour.module)
                    || protected && is_raised(reason) => {}
            Stop::Aborted => return Err(Aborted(self.turn.exchange.halt.reason)),
            Stop::Panicked => {
                let payload = self.turn.exchange.halt.payload.take();
                resume_unwind(payload.unwrap_or_else(|| Box::new("a panic without a payload")));
            }
            Stop::NotReady => {}
            Stop::Never => self.turn.around.program.forget_native(id),
        }
        // A turn has no footprints until it commits.
        self.turn.undo();
        self.turn.tidy_up();
        self.turn.begin(event);
        self.interpret(behaviour, event)
    }

    #[inline(never)]
    fn interpret(&mut self, behaviour: &BehaviourCode, event: Event) -> Result<End, Aborted> {
        self.turn.counts.interpreted += 1;
        // SAFETY: targets of queued events are live actors.
        let actor = unsafe { &*event.target };
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
        self.interpreter.run(&mut self.turn, &behaviour.code)
    }

    fn commit_timers(&mut self) {
        let mut steps = std::mem::take(&mut self.turn.at_commit.timers);
        let machine = &self.context.machine;
        let station = &self.context.station;
        for step in steps.drain(..) {
            match step {
                TimerStep::Cancel(timer) => match (timer.as_timer(), timer.as_foreign()) {
                    (Some(id), _) => drop(machine.cancel_timer(id)),
                    (None, Some(elsewhere)) => elsewhere.cancel_timer(),
                    // Nothing else is staged.
                    (None, None) => {}
                },
                TimerStep::Arm {
                    timer,
                    due,
                    target,
                    message,
                } => {
                    let (milliseconds, process) = match due {
                        Due::After(milliseconds) => (milliseconds, None),
                        Due::End(process) => (NEVER, process.as_foreign()),
                    };
                    let instant = machine.clock().after(milliseconds);
                    let serial = timer.as_timer().map_or(0, |id| id.serial);
                    let place = station.timers.arm(instant, serial, target, message);
                    // SAFETY: made by the turn that is being committed.
                    unsafe { timer.place_timer(station.number, place) };
                    // Armed before: it may have ended already.
                    if let (Some(process), Some(id)) = (process, timer.as_timer()) {
                        process.watch(id, machine);
                    }
                }
            }
        }
        self.turn.at_commit.timers = steps;
    }

    /// Returns whether the turn would get further elsewhere, or with the fuel and the stack of the thread.
    fn runs_again(&self, reason: Value) -> bool {
        let is = |atom| reason == Value::atom(atom);
        // A unit may abort with any reason: what is true besides tells whether it is meant.
        let is_leaving = self.context.sponsor.removed.load(Relaxed);
        let is_short = is(Atom::FUEL) || is(Atom::STACK);
        is_short && self.turn.fuel.is_lent || is(Atom::MOVED) && is_leaving
    }

    fn ignored(&mut self, behaviour: &BehaviourCode, event: Event) {
        self.turn.counts.ignored += 1;
        let about = (behaviour.module, behaviour.written);
        let embedder = self.context.machine.embedder();
        embedder.ignored(Term::new(event.message), about);
        self.turn.abort();
        self.hello_was_lost(event);
    }

    #[cold]
    fn aborted(&mut self, behaviour: &BehaviourCode, event: Event, reason: Value) {
        let counts = &mut self.turn.counts;
        let kind = abort_kind(reason);
        let counter = match kind {
            Atom::FUEL => &mut counts.aborts_fuel,
            Atom::STACK => &mut counts.aborts_stack,
            Atom::NO_MEMORY => &mut counts.aborts_no_memory,
            Atom::KILLED => &mut counts.aborts_killed,
            Atom::RAISED => &mut counts.aborts_raised,
            Atom::CRASHED | Atom::BEAM_ONLY => &mut counts.aborts_crashed,
            Atom::TIMEOUT => &mut counts.aborts_timeout,
            Atom::UNDEFINED_FUNCTION => &mut counts.aborts_undefined_function,
            Atom::ABORT => &mut counts.aborts_explicit,
            _ => &mut counts.aborts_match,
        };
        *counter += 1;
        if kind == Atom::NO_MEMORY && self.context.machine.journal().is_some() {
            // Where there is memory depends on when something was collected: the same turns need not find the same (journaling.rs).
            panic!(
                "a turn of a durable machine found no memory: give it more, or let it hold less"
            );
        }
        // Whoever hears of it may ask again at once: so what the turn had is free by then, unless the reason is part of it.
        let is_made_by_turn = reason.as_atom().is_none();
        if !is_made_by_turn {
            self.turn.abort();
        }
        // The killer knows, and a machine that stops has nobody to tell.
        if kind != Atom::STOPPED && kind != Atom::KILLED {
            // Whoever is told can read what had been done by then: that there was an abort, and nothing of the turn.
            self.turn.counts.creates = self.turn.savepoint.creates;
            self.context.station.counters.publish(&self.turn.counts);
            let reported = self.context.machine.report_abort(Abort {
                sponsor: self.context.sponsor.name,
                module: behaviour.module,
                behaviour: behaviour.written,
                actor: ActorRef::new(event.target),
                message: Term::new(event.message),
                reason: Term::of(reason, Staged::undone(&self.turn)),
            });
            self.turn.counts.unreported += !reported as u64;
        }
        if is_made_by_turn {
            self.turn.abort();
        }
        self.hello_was_lost(event);
    }
}

/// The atom that says why: the reason itself or the first element of a tuple.
fn abort_kind(reason: Value) -> Atom {
    let first = reason.as_tuple().and_then(|t| t.first().copied());
    first.unwrap_or(reason).as_atom().unwrap_or(Atom::ABORT)
}
