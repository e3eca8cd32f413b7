//! The loop of turns while they are watched: the same as that of `run_batch`, with a look at each turn.
use crate::code::program::BehaviourCode;
use crate::threads::backlog::{TurnBatch, LONG};
use crate::threads::run_turn::Verdict;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::watching::trace::Trace;
use crate::watching::watch::Watch;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that a paused thread waits before it looks again whether it may go on, or whether something has come.
const WAIT: Duration = Duration::from_millis(1);

/// A look at a turn.
pub(crate) type See<'a> = &'a mut dyn FnMut(&Dispatch, &BehaviourCode, &Verdict);

impl Dispatch {
    /// Makes a thread that begins take part in the watches that go on.
    pub(crate) fn join_watches(&mut self) {
        for watched in self.context.machine.attention().watches() {
            // A survey may have come to it before it was awake.
            if self.watches.iter().all(|watch| watch.of.id != watched.id) {
                self.watches.push(Watch::new(watched));
            }
        }
    }

    /// Returns whether turns must be looked at one by one, or not run at all.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        !self.watches.is_empty() || self.context.machine.attention().is_on()
    }

    /// Returns whether turns must be looked at one by one, in a machine that is paused.
    pub(crate) fn is_traced(&self) -> bool {
        !self.watches.is_empty() || self.context.machine.attention().is_traced()
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.context.machine.attention().is_paused()
    }

    /// Waits a moment: events are queued, so this is not a sleep (thread.rs, invariant 3).
    pub(crate) fn stay(&mut self) {
        let context = &self.context;
        if !context.station.inbox.is_pending() && !context.machine.is_stopping() {
            std::thread::sleep(WAIT);
        }
    }

    /// Runs turns for a batch.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_watched_batch(&mut self) -> TurnBatch {
        if self.is_paused() {
            return TurnBatch::of(self.turn.queue.len());
        }
        let traces = self.context.machine.attention().traces();
        let now = Instant::now();
        self.watches.retain(|watch| !watch.is_over(now));
        let mut batch = TurnBatch::of(self.turn.queue.len());
        // What came in between was accepted before.
        self.turn.queue.forgive();
        while batch.units < self.load.batch && batch.last < LONG {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            batch.last = match self.may_run(event) {
                true => self.watched_turn(event, &traces),
                false => 1,
            };
            batch.units += batch.last;
            batch.turns += 1;
        }
        batch
    }

    /// Returns whether the event can run here and now. Otherwise it is on its way.
    pub(crate) fn may_run(&mut self, event: Event) -> bool {
        // SAFETY: targets of queued events are live actors.
        let header = unsafe { (*event.target).header() };
        header.is_run_by(self.context.station.number) || self.context.route(&mut self.turn, event)
    }

    /// Runs the turn, counts it and shows it, unless it is to run once more.
    pub(crate) fn watched_turn(&mut self, event: Event, traces: &[Arc<Trace>]) -> u64 {
        self.watched(event, traces, |thread, see| thread.turn_seen_by(event, see))
    }

    /// Shows a turn that `run` runs, or that has come to its end.
    pub(crate) fn watched(
        &mut self,
        event: Event,
        traces: &[Arc<Trace>],
        run: impl FnOnce(&mut Dispatch, See<'_>) -> u64,
    ) -> u64 {
        // SAFETY: as above.
        let id = unsafe { (*event.target).header().behaviour() };
        let behaviour = self.turn.around.program.behaviour(id);
        let sponsor = self.context.sponsor.name;
        let wanting: Vec<_> = traces
            .iter()
            .filter(|trace| trace.wants(event, behaviour, sponsor))
            .collect();
        let mut over = false;
        let mut see = |thread: &Dispatch, behaviour: &BehaviourCode, verdict: &Verdict| {
            over = true;
            // A number is taken when the turn is certain to be shown under it.
            let numbered = wanting.iter().filter_map(|t| Some((t, t.next()?)));
            let numbered: Vec<_> = numbered.collect();
            if numbered.is_empty() {
                return;
            }
            let turn = thread.seen(event, behaviour, verdict);
            for (trace, number) in numbered {
                if !trace.show(&thread.context.machine, number, &turn) {
                    thread.context.machine.attention().remove(trace.number);
                }
            }
        };
        let units = run(self, &mut see);
        if over {
            for watch in &mut self.watches {
                watch.count(event.target, id);
            }
        }
        units
    }
}
