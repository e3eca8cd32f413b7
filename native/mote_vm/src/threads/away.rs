//! Turns that are away: the turns of a beam sponsor run outside of the machine. They may block, and have side effects.
//!
//! Invariants:
//! 1. While a turn of an actor is away, the actor is **away**, too. It stays with this thread, and its events wait in a
//!    line of its own. No thread takes it over (`is_done`), and it is not given away: a thread that asks for it waits in
//!    line.
//! 2. The effects of a turn that was away come back as a whole. They are staged and committed here, between two batches,
//!    like the effects of any other turn (away/back.rs): by the thread, or, while it sleeps, by the caller that reports
//!    the end (stand_in.rs). Only the first report of an end counts.
//! 3. At most `most` turns are away. At that limit nothing leaves the queue. So turns begin in the order of their events,
//!    except for actors that are away, and with `most` of 1 the sponsor is first in, first out.
//! 4. A turn that is away is outstanding, and its actor and its message are roots, as are events in lines
//!    (away/lines.rs).
//! 5. The consequences of a beam turn run where its receivers belong (away/home.rs).
mod back;
mod home;
mod lines;

use crate::base::ids::ThreadNumber;
use crate::base::quota::Quota;
use crate::boundary::turn_away::TurnAway;
use crate::threads::backlog::TurnBatch;
use crate::threads::stand_in::is_little;
use crate::threads::thread::Dispatch;
use crate::turns::given_back::LinesGivenBack;
use crate::turns::queue::Event;
use crate::values::actor::Actor;
use crate::values::term::{ActorRef, Term};
use lines::Lines;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// See the head of this file.
pub(crate) struct Away {
    most: usize,
    /// Shared with the collector.
    pub(crate) lines: Arc<Lines>,
    pub(crate) given_back: LinesGivenBack,
}

impl Away {
    pub(crate) fn new(most: usize, quota: Arc<Quota>) -> Away {
        Away {
            most,
            lines: Arc::new(Lines::new(quota)),
            given_back: LinesGivenBack::default(),
        }
    }

    /// Returns the number of events waiting in lines.
    pub(crate) fn waiting(&self) -> usize {
        self.lines.figures().1
    }

    fn is_full(&self) -> bool {
        self.lines.figures().0 >= self.most
    }

    /// Shows the event of every turn that is away.
    pub(crate) fn each_turn(&self, show: impl FnMut(Event)) {
        self.lines.each_turn(show);
    }

    /// Shows every event that waits in line: none whose turn is away.
    pub(crate) fn each_waiting(&self, show: impl FnMut(Event)) {
        self.lines.each_waiting(show);
    }

    /// Returns whether a turn of the actor is away.
    pub(crate) fn is_away(&self, actor: *const Actor) -> bool {
        self.lines.is_away(actor)
    }

    /// The turn of an event goes away, and so does its actor.
    pub(crate) fn leaves(&mut self, number: u64, event: Event) {
        self.lines.leaves(number, event);
    }

    /// Puts the event in line if its actor is away.
    pub(crate) fn line_up(&mut self, event: Event) -> bool {
        self.lines.line_up(&[event], false)
    }

    /// Puts events before all others in the line of their actor, if it is away.
    pub(crate) fn precede(&mut self, events: &[Event]) -> bool {
        self.lines.line_up(events, true)
    }

    /// Takes the event of the turn of that number, and the line of its actor, which is away no longer.
    fn take_turn(&mut self, number: u64) -> Vec<Event> {
        let Some(event) = self.lines.ended(number) else {
            return Vec::new();
        };
        let mut events = vec![event];
        events.extend(self.lines.take_line(event.target));
        events
    }
}

/// The number of a turn says which thread it is of.
fn numbered(thread: ThreadNumber) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    (LAST.fetch_add(1, Relaxed) + 1) << ThreadNumber::BITS | u64::from(thread)
}

impl Dispatch {
    /// Returns whether any turn is away.
    pub(crate) fn is_anybody_away(&self) -> bool {
        let away = self.away.as_ref();
        away.is_some_and(|away| away.lines.figures().0 > 0)
    }

    /// Returns whether queued events must wait until a turn that is away has ended.
    pub(crate) fn is_full_away(&self) -> bool {
        self.away.as_ref().is_some_and(|away| away.is_full())
    }

    /// Sends turns away for a batch.
    #[cold]
    pub(crate) fn run_batch_away(&mut self) -> TurnBatch {
        let mut batch = TurnBatch::of(self.turn.queue.len());
        self.turn.leaving.look_again();
        // What came in between was accepted before.
        self.turn.queue.forgive();
        let over = |thread: &Dispatch| {
            thread.is_paused() || thread.is_full_away() || thread.leaves_to_thread()
        };
        while !over(self) && batch.units < self.load.batch {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            self.send_away(event);
            batch.units += 1;
            batch.turns += 1;
        }
        batch
    }

    /// An event is next, and one more turn may be away: its turn goes, or waits for the one of its actor that is away.
    pub(crate) fn send_away(&mut self, event: Event) {
        if event.header().behaviour().is_socket() && self.may_run(event) {
            // Its sponsor was removed, and it is closed: that is all it says.
            self.turn_of(event);
            return;
        }
        let is_away = self.away.as_mut().is_some_and(|away| away.line_up(event));
        if !is_away {
            self.go(event);
        }
    }

    /// Sends away the turn of an event whose actor is not away, if it is this thread's to run. Returns whether it is. A
    /// stand-in leaves it to the thread if much would have to be written for it.
    fn go(&mut self, event: Event) -> bool {
        if !self.may_run(event) {
            return false;
        }
        if self.lent.stands_in && !self.has_line(event) && !is_little(self.given_to(event)) {
            self.turn.queue.prepend(&[event]);
            self.lent.postponed = true;
            return true;
        }
        let number = numbered(self.context.station.number);
        if let Some(away) = &mut self.away {
            away.leaves(number, event);
        }
        let context = &self.context;
        // Invariant 4.
        context.machine.quiescence().goes_away();
        let program = &self.turn.around.program;
        let id = event.header().behaviour();
        let code = program.behaviour(id);
        let turn = TurnAway {
            number,
            sponsor: context.sponsor.name,
            behaviour: program.name(id),
            version: code.hash,
            away_only: code.away_only,
            actor: ActorRef::new(event.target),
            captures: event
                .actor()
                .captured(code.captures as usize)
                .map(Term::new)
                .collect(),
            message: Term::new(event.message),
        };
        context
            .machine
            .embedder()
            .begin_turn(&context.machine, turn);
        true
    }

    /// Returns whether the actor of the event is coming back just now. `is_followed_by_little` has then already looked at its
    /// next event.
    fn has_line(&self, event: Event) -> bool {
        let away = self.away.as_ref();
        away.is_some_and(|away| away.is_away(event.target))
    }

    /// Returns what the turn of an event receives: captures and message.
    fn given_to(&self, event: Event) -> impl Iterator<Item = Term<'_>> {
        let behaviour = event.header().behaviour();
        let captures = self.turn.around.program.behaviour(behaviour).captures;
        let captures = event.actor().captured(captures as usize);
        captures.chain([event.message]).map(Term::new)
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests;
