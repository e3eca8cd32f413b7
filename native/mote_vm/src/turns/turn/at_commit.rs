//! Everything that a turn stages besides new actors and events for its own sponsor: its become, messages that leave the sponsor,
//! timers. The commit makes it visible; an abort forgets it.
use super::stash::Stash;
use super::Turn;
use crate::base::atom::Atom;
use crate::base::ids::TimerId;
use crate::base::lent::Lender;
use crate::terms::prim::types::is_reference;
use crate::terms::written::parts_within;
use crate::turns::queue::Event;
use crate::values::actor::{BehaviourId, SponsorId};
use crate::values::foreign::{Class, Outgoing};
use crate::values::value::Value;
use std::sync::Arc;

/// The moment when a timer is due.
#[derive(Clone, Copy)]
pub(crate) enum Due {
    /// A delay in milliseconds.
    After(u64),
    /// The end of that process outside.
    End(Value),
}

/// A step of a commit with timers. Steps are in the order of the program.
pub(crate) enum TimerStep {
    Arm {
        /// Its reference, which learns at commit where it is.
        timer: Value,
        due: Due,
        target: Value,
        message: Value,
    },
    Cancel(Value),
}

/// Counts of a turn beside its actors and the events that it queues; an abort forgets them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) sends: u64,
    pub(crate) dropped: u64,
}

/// The behaviour and the state that the actor becomes at commit. Native code writes it.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// [`Next::NOTHING`] when the actor stays as it is.
    pub(crate) behaviour: u32,
    pub(crate) state: Value,
}

impl Next {
    pub(crate) const NOTHING: u32 = u32::MAX;
}

impl Default for Next {
    fn default() -> Next {
        Next {
            behaviour: Next::NOTHING,
            state: Value::NONE,
        }
    }
}

/// Everything that becomes visible, or happens, when the turn commits. Empty between turns.
#[derive(Default)]
pub(crate) struct AtCommit {
    pub(crate) next: Next,
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) timers: Vec<TimerStep>,
    pub(crate) stash: Stash,
    pub(crate) tally: Tally,
    /// A behaviour whose turns run outside only, and that an actor of another sponsor was to have.
    pub(crate) misplaced: Option<BehaviourId>,
    /// Number of timers that were armed and undone (turn/protected.rs).
    pub(crate) unarmed: u64,
}

impl AtCommit {
    /// The turn is aborted. What was misplaced is the reason, and stays until the turn is tidied up.
    pub(super) fn forget(&mut self) {
        self.next = Next::default();
        self.stash = Stash::default();
        self.outgoing.clear();
        self.timers.clear();
        self.tally = Tally::default();
    }
}

/// Bytes that a part of a message takes outside, about.
const WRITTEN_PART: usize = 32;

/// Bytes that a turn may have staged beside the queue without anybody looking at the quota.
const STAGED: usize = 1 << 20;

impl Turn {
    /// The staged become, if there is one.
    #[inline(always)]
    pub(crate) fn becoming(&self) -> Option<(BehaviourId, Value)> {
        let Next { behaviour, state } = self.at_commit.next;
        (behaviour != Next::NOTHING).then_some((BehaviourId(behaviour), state))
    }

    /// Stages a become; the last one of a turn counts.
    #[inline(always)]
    pub(crate) fn become_next(&mut self, behaviour: BehaviourId, state: Value) {
        self.at_commit.next = Next {
            behaviour: behaviour.0,
            state,
        };
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, target: Value, message: Value) {
        if target.is_address() {
            self.queue.push(target.address_pointer(), message);
            self.unusual |= !self.queue.is_where(&self.savepoint.queue) as u32;
        } else {
            self.send_away(Value::NONE, target, message);
        }
    }

    /// A send to a named sponsor. An `on` reference inside of it has the last word.
    pub(crate) fn sendx(&mut self, sponsor: Value, target: Value, message: Value) {
        self.send_away(sponsor, target, message);
    }

    #[cold]
    fn send_away(&mut self, sponsor: Value, target: Value, message: Value) {
        self.unusual = 1;
        // Many consecutive ones go to the same sponsor.
        let last = self.at_commit.outgoing.last();
        let again = last.is_some_and(|last| (last.sponsor, last.target) == (sponsor, target));
        let (sponsor, target) = match again {
            true => (sponsor, target),
            false => target.as_on().unwrap_or((sponsor, target)),
        };
        if again || target.is_address() || target.as_foreign().is_some_and(|f| f.is_address()) {
            self.at_commit.tally.sends += 1;
            self.at_commit.outgoing.push(Outgoing {
                sponsor,
                target,
                message,
            });
        } else {
            self.at_commit.tally.dropped += 1;
        }
    }

    /// Stages a timer; its reference, `:undefined` when the delay is neither a number of milliseconds nor a process, `NONE` when the
    /// memory is exhausted.
    pub(crate) fn send_after(&mut self, delay: Value, target: Value, message: Value) -> Value {
        self.unusual = 1;
        let milliseconds = delay.as_fixnum().and_then(|n| u64::try_from(n).ok());
        let due = match milliseconds {
            Some(milliseconds) => Due::After(milliseconds),
            None if delay.foreign_class() == Some(Class::Pid) => Due::End(delay),
            None => {
                self.at_commit.tally.dropped += 1;
                return Value::UNDEFINED;
            }
        };
        let timer = self.timer();
        if !timer.is_none() {
            self.arm(timer, due, target, message);
        }
        timer
    }

    /// The reference of a timer that the turn will arm; `NONE` when the memory is exhausted.
    pub(crate) fn timer(&mut self) -> Value {
        // An abort does not take the number back (invariant 2).
        self.timer_serial += 1;
        self.heap.timer(TimerId {
            serial: self.timer_serial << 1,
            thread: self.around.thread,
            place: u32::MAX,
        })
    }

    /// Stages the timer of a reference.
    pub(crate) fn arm(&mut self, timer: Value, due: Due, target: Value, message: Value) {
        self.unusual = 1;
        self.at_commit.timers.push(TimerStep::Arm {
            timer,
            due,
            target,
            message,
        });
    }

    /// Stages the end of a timer. `:ok` for every reference, whatever has become of its timer.
    pub(crate) fn cancel_timer(&mut self, timer: Value) -> Value {
        if timer.as_timer().is_some() || timer.foreign_class() == Some(Class::Timer) {
            self.unusual = 1;
            self.at_commit.timers.push(TimerStep::Cancel(timer));
        }
        match is_reference(timer) {
            true => Value::atom(Atom::OK),
            false => Value::UNDEFINED,
        }
    }

    /// An actor pinned like that is to have this behaviour: notes it down if its turns could not run there.
    pub(crate) fn see_place(&mut self, behaviour: BehaviourId, pinned: Option<SponsorId>) {
        let away_only = self.around.program.behaviour(behaviour).away_only;
        if away_only && !pinned.is_some_and(|id| self.around.overseer.runs_away(id)) {
            self.at_commit.misplaced = Some(behaviour);
            self.unusual = 1;
        }
    }

    /// Returns the reason for aborting a turn that has put this behaviour where its turns cannot run: `{:beam_only, {module,
    /// name}}`.
    #[cold]
    pub(crate) fn told_misplaced(&mut self, behaviour: BehaviourId) -> Value {
        let code = self.around.program.behaviour(behaviour);
        let name = [code.module, code.name].map(Value::atom);
        let name = self.heap.tuple(2, |i| name[i]);
        let reason = [Value::atom(Atom::BEAM_ONLY), name];
        let told = self.heap.tuple(2, |i| reason[i]);
        match name.is_none() || told.is_none() {
            true => Value::atom(Atom::NO_MEMORY),
            false => told,
        }
    }

    /// Returns whether the turn has sent and armed more than there is memory for.
    #[inline(always)]
    pub(crate) fn lacks_memory(&mut self) -> bool {
        let staged = !self.at_commit.outgoing.is_empty() || !self.at_commit.timers.is_empty();
        self.queue.is_starved()
            || staged && (self.lacks_room_elsewhere() || self.lacks_room_outside())
    }

    /// Returns whether memory is lacking for messages to receivers that refuse none, which would be beyond the quota else.
    fn lacks_room_outside(&self) -> bool {
        let pool = &self.around.pool;
        let lender = || Some(pool.clone() as Arc<dyn Lender>);
        // What is larger than all that the machine holds is refused by those that refuse (terms/written.rs).
        let words = || pool.quota.held() / size_of::<Value>();
        let mut parts = 0;
        let runs = self
            .at_commit
            .outgoing
            .chunk_by(|a, b| a.target == b.target);
        runs.into_iter().any(|run| {
            let target = run[0].target.as_foreign();
            let Some(holding) = target.and_then(|target| target.holding()) else {
                return false;
            };
            let most = holding.memory_left() / WRITTEN_PART;
            run.iter().any(|out| {
                let left = most.saturating_sub(parts);
                let more = parts_within(out.message, left, words, lender);
                parts += more.unwrap_or(0);
                more.is_none()
            })
        })
    }

    /// Returns whether memory is lacking for events to actors of other sponsors and for timers. They take room that is not
    /// the queue's.
    #[cold]
    fn lacks_room_elsewhere(&mut self) -> bool {
        let sent = self
            .at_commit
            .outgoing
            .iter()
            .filter(|out| out.target.is_address());
        let arms = |step: &&TimerStep| matches!(step, TimerStep::Arm { .. });
        let armed = self.at_commit.timers.iter().filter(arms);
        let bytes = sent.count() * size_of::<Event>() + armed.count() * self.around.timer_bytes;
        bytes > 0 && !self.around.pool.quota.has(bytes) && !self.heap.overdraws(bytes)
    }

    /// A long turn cannot evade the quota by its list of messages that are to leave at the commit.
    pub(super) fn has_staged_too_much(&self) -> bool {
        let bytes = self.at_commit.outgoing.len() * size_of::<Outgoing>()
            + self.at_commit.timers.len() * size_of::<TimerStep>();
        bytes > STAGED && !self.around.pool.quota.has(bytes) && !self.heap.can_overdraw(bytes)
    }

    /// Counts what was staged outside of the queue.
    pub(crate) fn count_staged(&mut self) {
        let staged = std::mem::take(&mut self.at_commit.tally);
        self.counts.sends += staged.sends;
        self.counts.dropped += staged.dropped;
    }
}
