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
use crate::base::ids::ThreadNumber;
use crate::threads::inbox::Entry;
use crate::threads::parker::Waker;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::values::actor::Actor;
use crate::values::value::Value;
use std::sync::Arc;

/// So often in a row is enough to go to another core for, which takes as long as some dozens of yields.
const CROWDED: u32 = 16;

impl Dispatch {
    /// Whether the event can run here and now; otherwise it is on its way.
    #[cold]
    #[inline(never)]
    pub(crate) fn route(&mut self, event: Event) -> bool {
        // SAFETY: targets of queued events are live actors.
        let actor = unsafe { &*event.target };
        let me = self.place.station.number;
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
                let sponsor = self.place.machine.sponsors().by_id(pinned);
                if sponsor.id != self.place.sponsor.id {
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
            if self.is_sibling(owner) {
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
        let me = self.place.station.number;
        loop {
            let header = actor.header();
            let owner = header.owner();
            if owner == me {
                return None;
            }
            if let Some(pinned) = header.pinned() {
                let sponsor = self.place.machine.sponsors().by_id(pinned);
                if sponsor.id != self.place.sponsor.id {
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
            if actor.header().owner() == self.place.station.number {
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
        let found = named.and_then(|name| self.place.machine.sponsors().by_name(name));
        match found {
            None => {
                self.turn.counts.dropped += 1;
                self.turn.counts.sends -= 1;
            }
            Some(sponsor) if sponsor.id == self.place.sponsor.id => {
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

    /// Hands the forwarded events over; whether there were any.
    pub(crate) fn flush(&mut self) -> bool {
        let are_any = !self.addressed.is_empty();
        while let Some(to) = self.addressed.pop() {
            let (station, waker) = (self.peer(to), self.as_waker_of(to));
            let mut events = std::mem::take(&mut self.forwards[to as usize]);
            // One of the two moves, not both.
            let me = self.place.station.number;
            let is_here = waker == Waker::Rests && me < to && station.is_here();
            self.place.hand_over(&station, &mut events, waker);
            // Empty again; its room is kept for the next ones.
            self.forwards[to as usize] = events;
            self.keep_apart(is_here);
        }
        are_any
    }

    /// Two threads that hand work to and fro and wait for each other on one core take turns there, each at the price
    /// of a yield: after a while the one that has nothing to do goes to another core. Whether it has.
    fn keep_apart(&mut self, is_here: bool) -> bool {
        self.crowded = if is_here { self.crowded + 1 } else { 0 };
        if self.crowded < CROWDED {
            return false;
        }
        self.crowded = 0;
        self.place.station.parker.step_aside()
    }

    /// What this thread does next, once it has told another one what it has for it. A sibling that rests looks for a
    /// share of what it has just given, which takes a core for each of them; and who stands in goes on outside.
    fn as_waker_of(&self, other: ThreadNumber) -> Waker {
        let place = &self.place;
        let rests = self.turn.queue.is_empty()
            && self.addressed.is_empty()
            && !place.station.inbox.is_pending()
            && !self.stands_in;
        match rests && !self.is_sibling(other) {
            true => Waker::Rests,
            false => Waker::GoesOn,
        }
    }

    fn is_sibling(&self, other: ThreadNumber) -> bool {
        let sibling = self.siblings.get(other as usize);
        sibling.is_some_and(Option::is_some)
    }

    /// The station of a number, from this thread's own memory of them.
    fn peer(&mut self, number: ThreadNumber) -> Arc<Station> {
        let at = number as usize;
        if self.peers.len() <= at {
            self.peers.resize(at + 1, None);
        }
        let stations = self.place.machine.stations();
        self.peers[at]
            .get_or_insert_with(|| stations.get(number))
            .clone()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::platform::cores::{self, NOWHERE};
    use crate::testing::still::Still;

    #[test]
    fn who_has_nothing_left_leaves_its_core_to_another_sponsor() {
        let mut still = Still::new(2);
        let thread = &mut still.thread;
        let sibling = thread.place.sponsor.stations[1].number;
        let stranger = 1;
        assert_eq!(thread.as_waker_of(stranger), Waker::Rests);
        assert_eq!(thread.as_waker_of(sibling), Waker::GoesOn);
        // Somebody else is told as well.
        thread.addressed.push(sibling);
        assert_eq!(thread.as_waker_of(stranger), Waker::GoesOn);
        thread.addressed.clear();
        // A caller outside, which goes on there.
        thread.stands_in = true;
        assert_eq!(thread.as_waker_of(stranger), Waker::GoesOn);
        thread.stands_in = false;
        thread.turn.queue.push(std::ptr::null(), Value::NIL);
        assert_eq!(thread.as_waker_of(stranger), Waker::GoesOn);
    }

    #[test]
    fn threads_that_take_turns_on_one_core_part() {
        let mut still = Still::new(1);
        let thread = &mut still.thread;
        thread.place.station.parker.open(false);
        // Where the system does not say where a thread runs, it can be taken nowhere.
        let known = cores::here() != NOWHERE;
        let many = known && cores::usable().len() > 1;
        let parted =
            |thread: &mut Dispatch| (0..CROWDED).map(|_| thread.keep_apart(true)).collect();
        let last: Vec<bool> = (1..=CROWDED).map(|n| n == CROWDED && many).collect();
        // Anew each time, and from the beginning when they were apart in between.
        for _ in 0..2 {
            let parted: Vec<bool> = parted(thread);
            assert_eq!(parted, last);
        }
        thread.keep_apart(true);
        assert!(!thread.keep_apart(false));
        let parted: Vec<bool> = parted(thread);
        assert_eq!(parted, last);
        thread.place.station.parker.close();
    }

    #[test]
    fn who_is_asleep_is_not_here() {
        let still = Still::new(1);
        let station = &still.thread.place.station;
        let start = std::time::Instant::now();
        let is_here = || {
            station
                .core
                .store(cores::here(), std::sync::atomic::Ordering::Relaxed);
            station.is_here()
        };
        assert!(!is_here());
        station.presence.wake();
        // The system may move this thread in between. Where it does not say where a thread runs, none is here.
        while !is_here() && cores::here() != NOWHERE {
            assert!(start.elapsed().as_secs() < 20, "never here");
        }
        for elsewhere in [NOWHERE - 1, NOWHERE] {
            station
                .core
                .store(elsewhere, std::sync::atomic::Ordering::Relaxed);
            assert!(!station.is_here());
        }
    }
}
