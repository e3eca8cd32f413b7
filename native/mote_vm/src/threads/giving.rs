//! Actors change hands, and no message is overtaken.
//!
//! Messages from one actor to another are dispatched in the order in which they were sent, whatever threads the two move
//! to meanwhile. A thread's queue keeps that order, and so does the way from one thread's lists to another's inbox. The
//! hard case is an actor that moves while something for it, or from it, is under way. So its owner gives it away in
//! steps:
//!
//! 1. The owner hands over what it has for other threads. It then looks through its whole queue, takes out the events of
//!    the actors that go, and hands over events for other threads' actors as well. So everything that the movers have sent is
//!    ahead of everything that they will send from elsewhere.
//! 2. It takes out of its inbox what has come in for them, and admits nothing else from other threads until it is done
//!    (inbox.rs, invariant 9). A sender that is refused looks at the actor's record again.
//! 3. It puts all of these events into the new owner's inbox and, under the same lock, says in the records who owns their
//!    actors. These are in transit from then on: events that other threads have for them come in after these, and the new owner
//!    holds the events that it has for them.
//! 4. The new owner takes them in before everything that it has queued, since what its actors have sent them up to now has gone
//!    to the old owner. Then come the events that it held.
//!
//! Another thread takes over an actor of a sleeping thread without its help, if nothing is queued there and nothing has
//! come in (route.rs). The version of the sleeper's inbox tells the others, as above.
//!
//! A thread of another sponsor that wants to run an event sends it here, as a claim on the event's actor. When that
//! event's turn comes, it is set aside with all later events for the actor, and at the end of the batch the actor is given away
//! with them.
//!
//! Invariants:
//! 1. Only an actor's owner gives it away, never while it is in transit, and never the one whose turn is running.
//! 2. The lists for owners (turns/leaving.rs) are right as of `seen`: each event is in the list of the thread that owned
//!    its actor then, all events of an actor in one list. Before anything is done by a record that may be newer, they are
//!    put right. An event that is held comes before all others of its actor that are here.
//! 3. An event is given, or stays where this thread will find it again; none is lost.
//! 4. A thread whose own inbox is not open never waits for another one that is not: a thread that cannot hand over
//!    everything gives nothing. And only one thread of a sponsor gives at a time.
#[cfg(all(test, not(any(miri, loom))))]
mod tests;

use crate::base::interleaving::others_may_act;
use crate::threads::parker::Waker;
use crate::threads::station::Station;
use crate::threads::thread_context::ThreadContext;
use crate::turns::leaving::ListKind;
use crate::turns::overseer::Overseer;
use crate::turns::queue::Event;
use crate::turns::turn::Turn;
use crate::values::actor::{Decided, Header};

/// Number of times that lists are put right and handed over before the thread does something else.
const ROUNDS: usize = 3;
/// Distance ahead at which the actors of queued events are fetched into the cache.
const AHEAD: usize = 16;

/// The queued events, divided.
#[derive(Default)]
struct Divided {
    stays: Vec<Event>,
    goes: Vec<Event>,
    /// Number of events that go alone: their actors have safe behaviours.
    alone: usize,
}

impl ThreadContext {
    /// Gives actors away, with all that is queued for them: those that were decided to go, and those that `plan` picks by the
    /// place of their first event. Returns the number of events. Returns nothing if it has to wait; then no actor has gone.
    pub(crate) fn give<G: Fn(usize, Event) -> bool>(
        &self,
        turn: &mut Turn,
        to: &Station,
        plan: impl FnOnce(&mut Turn, &[Event]) -> G,
    ) -> Option<usize> {
        if turn.actor.is_null() {
            // Between turns all of it is committed.
            turn.savepoint.queue = turn.queue.position();
        }
        let given = self.give_if_ready(turn, to, plan);
        self.forget(turn.leaving.claims.iter().map(|claim| &claim.event));
        if turn.actor.is_null() {
            turn.savepoint.queue = turn.queue.position();
        }
        let queued = turn.queue.queued_before(&turn.savepoint.queue);
        self.recount_places(turn, queued, 0);
        given
    }

    fn give_if_ready<G: Fn(usize, Event) -> bool>(
        &self,
        turn: &mut Turn,
        to: &Station,
        plan: impl FnOnce(&mut Turn, &[Event]) -> G,
    ) -> Option<usize> {
        let _giving = self.sponsor.give()?;
        // What stays goes back before what a turn has staged: not while a collection reads what is there.
        let may_go_back = turn.actor.is_null() || !turn.queue.is_read();
        if !may_go_back || !self.hand_over_all(turn) {
            return None;
        }
        let Divided { stays, goes, alone } = self.divide(turn, to, plan);
        let is_ready = self.hand_over_all(turn);
        let given = match is_ready {
            true => self.hand_to(turn, to, &goes),
            false => None,
        };
        if given.is_none() {
            self.forget(&goes);
            turn.queue.prepend(&goes);
        }
        self.forget(&stays);
        turn.queue.prepend(&stays);
        given.map(|given| given + alone)
    }

    /// Takes out what is queued, and decides for each actor of this thread whether it goes. Those with safe behaviours
    /// may run anywhere at any time: of them events go, not actors.
    fn divide<G: Fn(usize, Event) -> bool>(
        &self,
        turn: &mut Turn,
        to: &Station,
        plan: impl FnOnce(&mut Turn, &[Event]) -> G,
    ) -> Divided {
        let committed = turn.queue.queued_before(&turn.savepoint.queue);
        let mut queued = Vec::with_capacity(committed);
        queued.extend(std::iter::from_fn(|| {
            turn.queue.take_before(&turn.savepoint.queue)
        }));
        let picks = plan(turn, &queued);
        let mut divided = Divided::default();
        divided.stays.reserve(committed);
        for (i, &event) in queued.iter().enumerate() {
            fetch(&queued, i + AHEAD);
            others_may_act();
            // An actor of this thread stays or goes. An event for another actor is routed, or may run here: that actor's
            // behaviour is safe, or the actor was taken over.
            let header = event.header();
            let is_here = self.owns(header) || self.route(turn, event);
            if !is_here {
                continue;
            }
            if turn.leaving.is_due(event.target) {
                turn.leaving.wanted.push(event);
                continue;
            }
            let is_safe = turn.around.program.behaviour(header.behaviour()).safe;
            let may_go = || picks(i, event) && !turn.leaving.is_asked(event.target);
            if is_safe && may_go() {
                turn.leaving.add(to.number, ListKind::Entrance, event);
                divided.alone += 1;
            } else if !is_safe && self.decide(event, may_go) == Decided::Goes {
                divided.goes.push(event);
            } else {
                divided.stays.push(event);
            }
        }
        divided
    }

    fn decide(&self, event: Event, goes: impl FnOnce() -> bool) -> Decided {
        let header = event.header();
        if !self.owns(header) || header.is_in_transit() {
            return Decided::Stays;
        }
        header.decided().unwrap_or_else(|| {
            let decided = match goes() {
                true => Decided::Goes,
                false => Decided::Stays,
            };
            event.actor().decide(Some(decided));
            decided
        })
    }

    /// Steps 2 and 3: how many events are given. What was to go is back in the queue if the new owner has just ended.
    fn hand_to(&self, turn: &mut Turn, to: &Station, goes: &[Event]) -> Option<usize> {
        let is_going = |event: &Event| {
            let header = event.header();
            self.owns(header) && header.decided() == Some(Decided::Goes)
        };
        if goes.is_empty() && !turn.leaving.wanted.iter().any(is_going) {
            return Some(0);
        }
        others_may_act();
        let taken = self.station.inbox.begin_giving(is_going, |event| {
            // The thread that claims it will be told between two batches.
            is_going(event) && !event.header().is_asked_for()
        })?;
        let leaving = &mut turn.leaving;
        leaving.claims.retain(|claim| !is_going(&claim.event));
        let mut given = goes.to_vec();
        given.extend(leaving.wanted.extract_if(.., |event| is_going(event)));
        given.extend_from_slice(&taken.events);
        let count = given.len();
        leaving.gone += count as u64;
        others_may_act();
        let away = self.runs_away(to.sponsor());
        let pushed = to.inbox.push_given(given, |given| {
            self.machine.stations().count_move();
            for event in given {
                let home = if away {
                    self.home(event.header())
                } else {
                    None
                };
                event.actor().give(to.number, home);
            }
        });
        others_may_act();
        self.station.inbox.end_giving(&taken);
        match pushed {
            Ok(wakes) => {
                to.pushed(wakes);
                Some(count)
            }
            Err(given) => {
                self.forget(&given);
                // Whoever asked for them has ended.
                given.iter().for_each(|event| event.actor().forget_asker());
                turn.queue.prepend(&given);
                Some(0)
            }
        }
    }

    /// Forgets what was decided for the actors of these events that are still this thread's.
    fn forget<'e>(&self, events: impl IntoIterator<Item = &'e Event>) {
        for event in events {
            let header = event.header();
            if self.owns(header) && header.decided().is_some() {
                event.actor().decide(None);
            }
        }
    }

    fn owns(&self, header: Header) -> bool {
        header.owner() == self.station.number
    }

    /// Hands over what is for other threads. Returns whether that was all. Events held for actors that are on their way here
    /// are theirs.
    fn hand_over_all(&self, turn: &mut Turn) -> bool {
        for _ in 0..ROUNDS {
            let mut refused = Vec::new();
            while let Some(list) = turn.leaving.take() {
                refused.extend(self.hand_over(turn, list, Waker::GoesOn));
            }
            if !self.readdress(turn, refused) {
                break;
            }
        }
        let held = turn.leaving.held.iter();
        turn.leaving.is_handed_over()
            && held
                .map(Event::header)
                .all(|h| self.owns(h) && h.is_in_transit())
    }
}

/// Fetches the actor of an event to come into the cache.
#[inline(always)]
fn fetch(events: &[Event], at: usize) {
    if let Some(event) = events.get(at) {
        crate::platform::prefetch::prefetch(event.target.cast());
    }
}
