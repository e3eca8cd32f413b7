//! Events that leave the queue of a thread without a turn there: for actors of other threads, for other sponsors, and for
//! actors that are still on their way here. threads/route.rs and threads/giving.rs say what happens to them.
use super::queue::Event;
use crate::base::ids::ThreadNumber;
use crate::values::actor::Actor;
use std::mem::take;

/// The assumption behind a list of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListKind {
    /// The thread owns their actors.
    Owner,
    /// Nothing is assumed: they enter the thread's sponsor by it, whoever owns their actors.
    Entrance,
}

/// Events for one thread.
pub(crate) struct List {
    pub(crate) to: ThreadNumber,
    pub(crate) kind: ListKind,
    pub(crate) events: Vec<Event>,
    /// Version of the owner's inbox when a list for an owner was begun (inbox.rs, invariant 9).
    pub(crate) version: u64,
}

/// A thread of another sponsor wants to run an event for an actor of this one. Events queued before that one run here:
/// two sponsors would only pass the actor to and fro otherwise.
pub(crate) struct Claim {
    pub(crate) event: Event,
    pub(crate) by: ThreadNumber,
    /// Its turn has come: that event and all behind it wait.
    pub(crate) is_due: bool,
}

/// The events that leave one thread, in a list for each way that they can go.
pub(crate) struct Leaving {
    /// Two for each thread, at twice its number.
    lists: Vec<List>,
    /// The places of those that are not empty.
    addressed: Vec<usize>,
    /// Number of times that actors had changed hands in the machine when the lists for owners were right.
    pub(crate) seen: u64,
    /// The actor that an event was last forwarded for, and to whom. Others for it follow without a look at its record: each
    /// look would take the cache line away from the owner, which writes to it turn by turn.
    pub(crate) elsewhere: (*const Actor, ThreadNumber),
    /// The threads that ask for actors of this one, and the events that wait for them to go. No root: a claim is here no longer
    /// than its event is queued or waits.
    pub(crate) claims: Vec<Claim>,
    pub(crate) wanted: Vec<Event>,
    /// Number of turns that the thread had run when it last gave what was asked for.
    pub(crate) given_at: u64,
    /// Events that come before all that is queued here, as soon as their actors are here.
    pub(crate) held: Vec<Event>,
    /// Number of events that were handed to other threads by now, or refused by them.
    pub(crate) gone: u64,
    /// Batches to come in which nothing is shared (sharing.rs).
    pub(crate) reluctance: u32,
    /// True if neighbours in the queue are to stay together when it is shared (backlog.rs).
    pub(crate) goes_round: bool,
}

const NOWHERE: (*const Actor, ThreadNumber) = (std::ptr::null(), 0);

impl Default for Leaving {
    fn default() -> Leaving {
        Leaving {
            lists: Vec::new(),
            addressed: Vec::new(),
            seen: 0,
            elsewhere: NOWHERE,
            claims: Vec::new(),
            wanted: Vec::new(),
            given_at: 0,
            held: Vec::new(),
            gone: 0,
            reluctance: 0,
            goes_round: false,
        }
    }
}

impl ListKind {
    fn place(self, to: ThreadNumber) -> usize {
        2 * to as usize + (self == ListKind::Entrance) as usize
    }
}

impl Leaving {
    /// Returns whether nothing is here that the thread must see to before it sleeps.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_handed_over() && self.wanted.is_empty() && self.held.is_empty()
    }

    /// Returns whether nothing is to be handed over.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.addressed.is_empty()
    }

    /// Returns whether events for actors of that thread are here.
    pub(crate) fn has_for(&self, owner: ThreadNumber) -> bool {
        let list = self.lists.get(ListKind::Owner.place(owner));
        list.is_some_and(|list| !list.events.is_empty())
    }

    /// Returns whether an event for that actor of that thread is here.
    pub(crate) fn lists(&self, owner: ThreadNumber, actor: *const Actor) -> bool {
        let list = self.lists.get(ListKind::Owner.place(owner));
        list.is_some_and(|list| list.events.iter().any(|event| event.target == actor))
    }

    /// Sees the next event of an actor that another thread asks for: it may be the one that it is asked for.
    pub(crate) fn see_next(&mut self, event: &Event) {
        let mut claims = self.claims.iter_mut();
        if let Some(claim) = claims.find(|claim| claim.event.target == event.target) {
            claim.is_due |= claim.event.message == event.message;
        }
    }

    /// Returns whether a thread of another sponsor asks for that actor.
    pub(crate) fn is_asked(&self, actor: *const Actor) -> bool {
        self.claims.iter().any(|claim| claim.event.target == actor)
    }

    /// Forgets the claims on that actor, which the asker does not need any more.
    pub(crate) fn forget_asker(&mut self, actor: *const Actor) {
        self.claims.retain(|claim| claim.event.target != actor);
    }

    /// Returns whether events for that actor, which another thread asks for, wait until it has gone.
    pub(crate) fn is_due(&self, actor: *const Actor) -> bool {
        let mut claims = self.claims.iter();
        claims.any(|claim| claim.event.target == actor && claim.is_due)
    }

    /// Puts events before all others that wait until their actor has gone, if any does.
    pub(crate) fn precede(&mut self, events: &[Event]) -> bool {
        let is_first = |event: &Event| events.first().is_some_and(|e| e.target == event.target);
        let at = self.wanted.iter().position(is_first);
        if let Some(at) = at {
            self.wanted.splice(at..at, events.iter().copied());
        }
        at.is_some()
    }

    /// Returns whether an event for that actor is held.
    pub(crate) fn holds(&self, actor: *const Actor) -> bool {
        self.held.iter().any(|event| event.target == actor)
    }

    /// The events that are held no longer, taken out: those whose actors are `here`, or elsewhere.
    pub(crate) fn take_up(&mut self, here: impl FnMut(&Event) -> bool) -> Vec<Event> {
        // From the last one on: an actor that is given to this thread meanwhile keeps its first events held, and those behind
        // them, taken up, will find that and be held as well.
        let here: Vec<bool> = self.held.iter().rev().map(here).collect();
        let mut here = here.into_iter().rev();
        let taken = self.held.extract_if(.., |_| here.next() == Some(true));
        taken.collect()
    }

    /// Begins the list for an owner with that event. The owner's inbox had that version before the actor's record was read.
    pub(crate) fn begin(&mut self, owner: ThreadNumber, version: u64, event: Event) {
        let at = ListKind::Owner.place(owner);
        self.list(at).version = version;
        self.add(owner, ListKind::Owner, event);
    }

    #[inline]
    pub(crate) fn add(&mut self, to: ThreadNumber, kind: ListKind, event: Event) {
        let at = kind.place(to);
        let list = self.list(at);
        list.events.push(event);
        if list.events.len() == 1 {
            self.addressed.push(at);
        }
    }

    #[inline]
    fn list(&mut self, at: usize) -> &mut List {
        for next in self.lists.len()..=at {
            self.lists.push(List {
                to: (next / 2) as ThreadNumber,
                kind: if next % 2 == 0 {
                    ListKind::Owner
                } else {
                    ListKind::Entrance
                },
                events: Vec::new(),
                version: 0,
            });
        }
        &mut self.lists[at]
    }

    /// A list that is not empty, taken out.
    pub(crate) fn take(&mut self) -> Option<List> {
        let at = self.addressed.pop()?;
        Some(self.take_out(at))
    }

    /// The lists for owners that are not right any more, taken out.
    pub(crate) fn take_wrong(&mut self, is_right: impl Fn(&List) -> bool) -> Vec<List> {
        let lists = &self.lists;
        let wrong = |at: &mut usize| lists[*at].kind == ListKind::Owner && !is_right(&lists[*at]);
        let wrong: Vec<usize> = self.addressed.extract_if(.., wrong).collect();
        wrong.into_iter().map(|at| self.take_out(at)).collect()
    }

    fn take_out(&mut self, at: usize) -> List {
        // Nothing follows it without a look.
        self.elsewhere = NOWHERE;
        let list = &mut self.lists[at];
        List {
            events: take(&mut list.events),
            ..*list
        }
    }

    /// Keeps the room of an emptied list for the next events.
    pub(crate) fn keep_room(&mut self, emptied: List) {
        let list = self.list(emptied.kind.place(emptied.to));
        if list.events.is_empty() {
            list.events = emptied.events;
        }
    }

    /// A batch begins: whoever owned an actor in the last one may have given it away.
    pub(crate) fn look_again(&mut self) {
        self.elsewhere = NOWHERE;
    }

    /// Shows every event.
    pub(crate) fn each(&self, mut show: impl FnMut(Event)) {
        self.each_listed(|_, event| show(event));
        let others = self.wanted.iter().chain(&self.held);
        others.for_each(|event| show(*event));
    }

    /// Shows every event that leaves for another thread, with the number of that thread.
    pub(crate) fn each_listed(&self, mut show: impl FnMut(ThreadNumber, Event)) {
        for list in &self.lists {
            list.events.iter().for_each(|event| show(list.to, *event));
        }
    }
}

// SAFETY: pointers are compared here, not followed.
unsafe impl Send for Leaving {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::values::value::Value;

    #[test]
    fn what_is_still_held_of_an_actor_comes_before_what_is_taken_up() {
        let actors = [16, 32].map(|address: usize| address as *const Actor);
        let numbered = |(n, target): (usize, &*const Actor)| Event {
            target: *target,
            message: Value::fixnum(n as i64),
        };
        let events: Vec<Event> = actors
            .iter()
            .cycle()
            .take(8)
            .enumerate()
            .map(numbered)
            .collect();
        // The first actor is given to this thread, and is in transit, after that many looks.
        for looks in 0..=8 {
            let mut leaving = Leaving {
                held: events.clone(),
                ..Leaving::default()
            };
            let mut left = looks;
            let taken = leaving.take_up(|event| {
                let is_elsewhere = left > 0;
                left -= usize::from(is_elsewhere);
                event.target != actors[0] || is_elsewhere
            });
            let order: Vec<_> = leaving.held.iter().chain(&taken).collect();
            assert_eq!(order.len(), events.len());
            for actor in actors {
                let of = |events: &[&Event]| -> Vec<Option<i64>> {
                    let of = events.iter().filter(|event| event.target == actor);
                    of.map(|event| event.message.as_fixnum()).collect()
                };
                assert!(of(&order).is_sorted());
            }
        }
    }
}
