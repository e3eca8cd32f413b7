//! Events whose actor this thread does not own: run all the same, taken over, passed on, or sent for.
//!
//! | the actor | what happens |
//! |---|---|
//! | is pinned to another sponsor | the event goes there |
//! | has a safe behaviour | runs here, unowned: it never becomes |
//! | is nobody's | taken, runs here |
//! | belongs to a thread that is asleep | taken over, runs here |
//! | belongs to a thread of this sponsor | the event is forwarded to it |
//! | belongs to a thread of another sponsor | that thread is asked to give it away, with the event |
//!
//! Forwarded events wait on this thread until the end of its batch and travel together.
use crate::actor::Actor;
use crate::inbox::Entry;
use crate::queue::Event;
use crate::station::{Station, ThreadNumber};
use crate::thread::Dispatch;
use crate::value::Value;
use std::sync::Arc;

impl Dispatch {
    /// Whether the event can run here and now; otherwise it is on its way.
    #[cold]
    #[inline(never)]
    pub(crate) fn route(&mut self, event: Event) -> bool {
        // SAFETY: targets of queued events are live actors.
        let actor = unsafe { &*event.target };
        let me = self.turn.place.station.number;
        loop {
            let header = actor.header();
            let owner = header.owner();
            if owner == me {
                return true;
            }
            let sibling = self.siblings.get(owner as usize).and_then(Option::as_ref);
            if let Some(sibling) = sibling.filter(|_| header.pinned().is_none()) {
                // By far the most frequent case, without touching anything shared but the header.
                let safe = self.turn.program.behaviour(header.behaviour()).safe;
                if !safe && !sibling.presence.is_asleep() {
                    self.elsewhere = (actor, owner);
                    self.forward_again(event);
                    return false;
                }
            }
            if let Some(pinned) = header.pinned() {
                let sponsor = self.turn.place.machine.sponsors().by_id(pinned);
                if sponsor.id != self.turn.place.sponsor.id {
                    let lead = sponsor.lead().number;
                    let inside = sponsor.stations.iter().any(|s| s.number == owner);
                    self.turn.counts.sendx += 1;
                    self.forward(if inside { owner } else { lead }, event);
                    return false;
                }
            }
            if self.turn.program.behaviour(header.behaviour()).safe {
                return true;
            }
            if owner == 0 {
                if actor.take(header, me) {
                    return true;
                }
                continue;
            }
            let station = self.peer(owner);
            if let Some(_visit) = station.presence.visit() {
                if actor.take(header, me) {
                    self.turn.counts.taken_over += 1;
                    return true;
                }
                continue;
            }
            if self
                .siblings
                .get(owner as usize)
                .is_some_and(Option::is_some)
            {
                self.turn.counts.forwarded += 1;
                self.forward(owner, event);
                return false;
            }
            if station.push(Entry::Migrate(event, me)).is_ok() {
                self.turn.counts.migrations += 1;
                return false;
            }
            // The thread has just ended: it counts as asleep from now on.
        }
    }

    /// Makes this thread the owner of `actor` if it may be; otherwise says which thread is or should be.
    pub(crate) fn settle(&mut self, actor: &Actor) -> Option<Arc<Station>> {
        let me = self.turn.place.station.number;
        loop {
            let header = actor.header();
            let owner = header.owner();
            if owner == me {
                return None;
            }
            if let Some(pinned) = header.pinned() {
                let sponsor = self.turn.place.machine.sponsors().by_id(pinned);
                if sponsor.id != self.turn.place.sponsor.id {
                    return Some(sponsor.lead().clone());
                }
            }
            if owner == 0 {
                actor.take(header, me);
                continue;
            }
            let station = self.peer(owner);
            let taken = station
                .presence
                .visit()
                .map(|_visit| actor.take(header, me));
            if taken.is_none() {
                return Some(station);
            }
        }
    }

    /// Gives the actors away that other sponsors' threads want, with the events.
    pub(crate) fn migrate(&mut self) {
        let mut wanted = std::mem::take(&mut self.wanted);
        for (event, to) in wanted.drain(..) {
            // SAFETY: targets of queued events are live actors.
            let actor = unsafe { &*event.target };
            if actor.header().owner() == self.turn.place.station.number {
                actor.give(to);
            }
            // If it is not this thread's, the asker looks again.
            self.forward(to, event);
        }
        self.wanted = wanted;
    }

    /// Sends `event` in the name of a sponsor: the value of an atom, or none for this one.
    pub(crate) fn send_by(&mut self, sponsor: Value, event: Event) {
        if sponsor.is_none() {
            self.turn.queue.push(event.target, event.message);
            return;
        }
        let named = sponsor.as_atom();
        let found = named.and_then(|name| self.turn.place.machine.sponsors().by_name(name));
        match found {
            None => {
                self.turn.counts.dropped += 1;
                self.turn.counts.sends -= 1;
            }
            Some(sponsor) if sponsor.id == self.turn.place.sponsor.id => {
                self.turn.queue.push(event.target, event.message);
            }
            Some(sponsor) => {
                self.turn.counts.sendx += 1;
                self.forward(sponsor.lead().number, event);
            }
        }
    }

    /// One more for the actor of which it is known who owned it a moment ago.
    #[inline]
    pub(crate) fn forward_again(&mut self, event: Event) {
        self.turn.counts.forwarded += 1;
        self.forward(self.elsewhere.1, event);
    }

    #[inline]
    fn forward(&mut self, to: ThreadNumber, event: Event) {
        let at = to as usize;
        if self.forwards.len() <= at {
            self.forwards.resize_with(at + 1, Vec::new);
        }
        if self.forwards[at].is_empty() {
            self.addressed.push(to);
        }
        self.forwards[at].push(event);
    }

    /// Hands the forwarded events over.
    pub(crate) fn flush(&mut self) {
        while let Some(to) = self.addressed.pop() {
            let station = self.peer(to);
            let mut events = std::mem::take(&mut self.forwards[to as usize]);
            self.turn.hand_over(&station, &mut events);
            // Empty again; its room is kept for the next ones.
            self.forwards[to as usize] = events;
        }
    }

    /// The station of a number, from this thread's own memory of them.
    fn peer(&mut self, number: ThreadNumber) -> Arc<Station> {
        let at = number as usize;
        if self.peers.len() <= at {
            self.peers.resize(at + 1, None);
        }
        let stations = self.turn.place.machine.stations();
        self.peers[at]
            .get_or_insert_with(|| stations.get(number))
            .clone()
    }
}
