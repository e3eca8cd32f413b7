//! Every order of turns that a machine allows, or as many as there is room for.
//!
//! A paused machine is taken as it stands: its actors, and the events that wait for them. From there each situation
//! (situation.rs) is written down (written.rs) and read again, and every event that may be next has its turn: what that does is known
//! (deeds.rs), or the turn is run and undone (turn.rs). Situations that differ only in where their actors lie are one (likeness.rs,
//! numbering.rs). Those that were met before are not looked at again (seen.rs); most of these are known by what the turn changes, without a
//! look at the rest (foretold.rs, outcomes.rs). Where the order of turns makes no difference, one order stands for all (reduction.rs). Several threads look at situations (batch.rs, looking.rs), and one takes up what they
//! find. What is found is told as an order of events that a seeded machine can repeat (way.rs, threads/seeded).
//!
//! # The orders
//!
//! Messages of one actor, or of the outside, to one actor come in the order in which they were sent, unless one of the two has a
//! safe behaviour. What an actor gives back to itself comes first. Everything else has no order: that is what machines
//! promise whose sponsors have several threads, so what is true in all these orders is true on every machine.
//!
//! Timers fire in every order that one clock allows (timing.rs). What fires then waits like a message: those for one actor come in
//! the order in which they fire, and a timer that is cancelled meanwhile has fired all the same. A process whose end an actor waits
//! for ends at any time, or never: all that wait for it hear of it, and it hears nothing more.
//!
//! # What is left out
//!
//! Random numbers and times are not varied, and timers for the outside do not fire. Where a turn draws, asks, or arms one, the search
//! says so ([`LeftOut`]): it is not complete.
mod batch;
mod compact;
mod deeds;
mod digest;
mod foretold;
mod known;
mod likeness;
mod looking;
mod number_set;
mod numbering;
mod outcomes;
mod parts;
mod reduction;
mod rows;
mod search;
mod seen;
mod sent_by;
mod shapes;
mod situation;
mod steps;
mod timing;
mod turn;
mod way;
mod written;

use crate::boundary::timers::{Message, NEVER};
use crate::threads::inbox::Entry;
use crate::threads::seeded::EventFate;
use crate::threads::shared::Machine;
use crate::threads::thread::{self, Dispatch};
use crate::values::actor::Actor;
use crate::values::handles::Key;
use crate::values::value::Value;
use known::Sought;
use parts::{Components, TooLarge};
use rustc_hash::FxHashMap;
use search::FirstScene;
pub use search::Search;
use sent_by::SentBy;
use shapes::{Shapes, Sketching};
use situation::{Situation, WaitingEvent};
use std::time::{Duration, Instant};

/// The bounds of a search, and how it goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of situations that are told apart.
    pub states: u64,
    /// Number of turns that lead to one.
    pub depth: u32,
    /// Bytes that the search takes for itself.
    pub bytes: u64,
    /// False if messages have no order at all.
    pub ordered: bool,
    /// Threads that look at situations.
    pub threads: usize,
    /// False if every event that may be next is next, also where that makes no difference.
    pub reduces: bool,
}

/// The plan of a search.
pub struct SearchPlan {
    /// Its bounds.
    pub limits: Limits,
    /// Flaws that are allowed.
    pub allowed: Allowed,
    /// Actors that somebody looks at after each turn.
    pub watched: Vec<Key>,
    /// Actors by which the caller tells whether something has happened that is to happen.
    pub goals: Vec<Key>,
    /// Actors whose messages may get lost; whose messages may come twice; and whose turns may be aborted.
    pub faults: [Vec<Key>; 3],
}

/// The reason why there is no search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoSearch {
    /// The machine holds more than a search can.
    TooLarge,
    /// A watched actor is one of another machine's.
    Unknown,
}

/// The kind of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FindingKind {
    /// The watched actors are what they have not been before.
    View,
    /// The actors that tell of goals are what they have not been before: the caller says whether that is one.
    Goal,
    /// From here nothing leads to a goal.
    Never,
    /// Nothing waits any more.
    Rest,
    /// A turn was aborted.
    Aborted,
    /// A message matched no clause.
    Ignored,
    /// A message was sent to what is no address.
    Dropped,
    /// A customer outside was answered more often than it was asked for.
    AnsweredAgain,
    /// Nothing waits any more, and a customer outside was not answered.
    Unanswered,
    /// Nothing waits any more, and an actor still keeps messages for later.
    Stashed,
}

/// The findings that are no failures.
#[derive(Clone, Default, Debug)]
pub struct Allowed(pub Vec<FindingKind>);

impl Allowed {
    fn allows(&self, what: FindingKind) -> bool {
        self.0.contains(&what)
    }
}

/// A finding, and the order of turns that leads there: for each event its place in the queue, and its fate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The kind of the finding.
    pub what: FindingKind,
    /// The order.
    pub order: Vec<u32>,
}

/// The parts that a search has left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftOut {
    /// More situations than it may tell apart.
    States,
    /// Longer orders.
    Depth,
    /// Situations for which there was no memory.
    Memory,
    /// A situation that is too large, or in which too many events wait.
    Size,
    /// Timers that send to the outside: none has fired. Or those that are armed again and again, where some other limit was reached.
    Timers,
    /// Other random numbers than those that turns have drawn.
    Random,
    /// Other times than those that turns have asked for.
    Clock,
}

/// The counters of a search.
#[derive(Clone, Copy, Default, Debug)]
pub struct SearchCounts {
    /// Situations.
    pub states: u64,
    /// Turns that were run.
    pub turns: u64,
    /// Situations in which nothing waits.
    pub ends: u64,
    /// The orders that these turns stand for, when the search is over; none if some of them have no end.
    pub orders: Option<u128>,
    /// Bytes that it has taken for itself at most.
    pub bytes: u64,
}

/// The state of a search after a while.
pub struct Progress {
    /// The counters so far.
    pub counts: SearchCounts,
    /// The findings since the last time.
    pub found: Vec<Finding>,
    /// The parts that were left out.
    pub left_out: Vec<LeftOut>,
    /// True if it does not go on.
    pub is_over: bool,
}

/// A callback that receives a search that has gone on, or learns why there is none.
type Told = Box<dyn FnOnce(Result<(Search, Progress), NoSearch>) + Send>;

impl Machine {
    /// Begins a search in a paused seeded machine of one sponsor, or goes on with one, for that time. Told on the machine's
    /// thread; dropped if it stops before. One that has found situations to be asked of learns before it goes on which of them
    /// are goals ([`Search::learn`]).
    pub fn prove(&self, search: Result<Search, SearchPlan>, slice: Duration, told: Told) {
        let call = thread::task(move |thread| {
            let search = search.or_else(|plan| thread.begin_search(plan));
            let went_on = search.map(|mut search| {
                search.go_on(thread, Instant::now() + slice);
                let progress = Progress {
                    counts: search.counts,
                    found: std::mem::take(&mut search.found),
                    left_out: search.left_out.clone(),
                    is_over: search.is_over(),
                };
                (search, progress)
            });
            told(went_on);
        });
        self.push(self.sponsors().first().lead(), Entry::Task(call));
    }
}

impl Dispatch {
    /// The search that begins with the machine as it is.
    fn begin_search(&mut self, plan: SearchPlan) -> Result<Search, NoSearch> {
        while self.admit() {}
        let held = self.context.machine.handles().in_order();
        let number = |key: &Key| {
            let handles = self.context.machine.handles();
            let actor = handles.visit(*key, |actor, _| actor)?;
            let at = held.iter().position(|root| *root == actor)?;
            Some(at as u32)
        };
        let numbers = |keys: &[Key]| {
            let numbers: Option<Vec<u32>> = keys.iter().map(number).collect();
            numbers.ok_or(NoSearch::Unknown)
        };
        let [lost, twice, aborted] = plan.faults.each_ref().map(|keys| numbers(keys));
        let faults = [
            (EventFate::Lost, lost?),
            (EventFate::Twice, twice?),
            (EventFate::Aborted, aborted?),
        ];
        let (watched, goals) = (numbers(&plan.watched)?, numbers(&plan.goals)?);
        // One process has sent all of it.
        let sender = match plan.limits.ordered {
            true => SentBy::gone(0),
            false => SentBy::ANY,
        };
        let beginning = self.beginning(&held, sender);
        let beginning = beginning.map_err(|TooLarge| NoSearch::TooLarge)?;
        let (mut beginning, customers) = beginning;
        let leaves_timers = beginning.leaves_timers;
        let mut wanted: Vec<(u32, usize)> = Vec::new();
        for customer in customers {
            let by = beginning.parts.foreign(customer);
            match wanted.iter_mut().find(|(other, _)| *other == by) {
                Some((_, count)) => *count += 1,
                None => wanted.push((by, 1)),
            }
        }
        self.context.machine.clock().was_asked();
        let asked = Sought {
            wanted,
            watched,
            goals,
            faults,
            allowed: plan.allowed,
        };
        let mut search = Search::new(plan.limits, asked, beginning);
        if leaves_timers {
            search.leave_out(LeftOut::Timers);
        }
        Ok(search)
    }

    /// The machine as it is, and the customers of the requests that wait. The outside holds these actors.
    fn beginning(
        &mut self,
        held: &[*const Actor],
        sender: SentBy,
    ) -> Result<(FirstScene, Vec<Value>), TooLarge> {
        let from = self.turn.heap.position();
        let armed = self.armed();
        let beginning = self.beginning_with(held, sender, &armed);
        self.turn.heap.rewind(&from);
        beginning
    }

    /// The timers that the outside has armed, in that order. Their messages are in the heap.
    fn armed(&mut self) -> Vec<ArmedTimer> {
        let (station, heap) = (&self.context.station, &mut self.turn.heap);
        let now = self.context.machine.clock().now();
        let mut armed = Vec::new();
        station.timers.each_armed(|due, id, timer| {
            let message = match &timer.message {
                Message::Value(message) => *message,
                Message::Parcel(parcel) => parcel.copy(heap),
            };
            armed.push(ArmedTimer {
                order: id.in_order(),
                timer: heap.timer(id),
                delay: due.saturating_sub(now),
                target: timer.target,
                message,
            });
        });
        armed.sort_by_key(|timer| timer.order);
        armed
    }

    fn beginning_with(
        &self,
        held: &[*const Actor],
        sender: SentBy,
        armed: &[ArmedTimer],
    ) -> Result<(FirstScene, Vec<Value>), TooLarge> {
        let (mut shapes, mut parts) = (Shapes::default(), Components::default());
        let (mut situation, mut customers) = (Situation::default(), Vec::new());
        let program = self.turn.around.program.clone();
        let known = FxHashMap::default();
        let mut sketching = Sketching::new(&program, &mut shapes, &mut parts, known, 0);
        held.iter().for_each(|actor| {
            sketching.name(*actor);
        });
        let mut events = Vec::new();
        self.turn.queue.each(|event| events.push(event));
        for event in events {
            customers.extend(customer(event.message));
            let target = sketching.name(event.target);
            let message = sketching.message(event.message)?;
            let message = situation.named(message.shape, message.names.into_iter());
            situation.push_event(WaitingEvent {
                target,
                sender,
                place: 0,
                message,
            });
        }
        let mut leaves_timers = false;
        for armed in armed {
            let is_whole = !armed.message.is_none() && !armed.timer.is_none();
            if !is_whole || !armed.target.is_address() || armed.delay >= NEVER / 2 {
                leaves_timers = true;
                continue;
            }
            let target = sketching.name(armed.target.address_pointer());
            let message = sketching.timed(armed.timer, None, armed.message)?;
            let message = situation.named(message.shape, message.names.into_iter());
            situation.push_event(WaitingEvent {
                target,
                sender: SentBy::ARMED,
                place: 0,
                message,
            });
            // All of them at one instant: no time passes.
            situation.bounds.arm(Some(armed.delay), 0);
        }
        for actor in sketching.all_found()? {
            let actor = situation.named(actor.shape, actor.names.into_iter());
            situation.actors.push(actor);
        }
        let roots = held.len();
        let beginning = FirstScene {
            situation,
            roots,
            shapes,
            parts,
            leaves_timers,
        };
        Ok((beginning, customers))
    }
}

/// A timer that the outside has armed.
struct ArmedTimer {
    order: (bool, u64),
    timer: Value,
    delay: u64,
    target: Value,
    message: Value,
}

/// The customer outside of a request.
fn customer(message: Value) -> Option<Value> {
    let first = *message.as_tuple()?.first()?;
    let foreign = first.as_foreign()?;
    foreign.is_address().then_some(first)
}
