//! Events whose actor this thread does not own: run all the same, taken over, passed on, or sent for.
//!
//! | the actor | what happens |
//! |---|---|
//! | is in transit to this thread | the event is held until it has come |
//! | is this thread's, but asked for by another sponsor's | the event waits until the actor goes |
//! | is pinned to another sponsor | the event goes there |
//! | has a safe behaviour | runs here, unowned: it never becomes |
//! | is nobody's | taken, runs here; if it is pinned, by the sponsor's lead |
//! | belongs to a thread that is asleep and has nothing to do | taken over, runs here |
//! | belongs to a thread of this sponsor | the event is forwarded to it |
//! | belongs to a thread of another sponsor | that thread is asked to give it away, with the event |
//!
//! Forwarded events wait on this thread until the end of its batch and travel together. What keeps their order is said in
//! giving.rs.
use crate::base::ids::ThreadNumber;
use crate::threads::inbox::NotIn;
use crate::threads::parker::Waker;
use crate::threads::place::Place;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::turns::leaving::{Asked, Kind, List};
use crate::turns::queue::Event;
use crate::turns::turn::Turn;
use crate::values::actor::{Actor, Decided, Header};
use crate::values::value::Value;
use std::sync::Arc;

/// So often in a row is enough to go to another core for, which takes as long as some dozens of yields.
const CROWDED: u32 = 16;
/// A thread that has so many more events queued than it has run turns goes on before it gives what others want: to look
/// through all of them would take longer.
const BUSY: u64 = 8;

/// The actor that an event is for.
pub(crate) fn actor(event: &Event) -> &Actor {
    // SAFETY: targets of events in queues, lists and inboxes are live actors.
    unsafe { &*event.target }
}

/// What its record says.
#[inline]
pub(crate) fn header(event: &Event) -> Header {
    actor(event).header()
}

/// What has come of an attempt to take an actor over.
enum Taken {
    Yes,
    /// It is somebody else's by now.
    Changed,
    /// Not before this thread has taken in what has come.
    Later,
    /// Its owner is awake, or has something to do.
    No,
}

impl Place {
    /// Whether the event can run here and now; otherwise it is on its way, or held.
    #[cold]
    #[inline(never)]
    pub(crate) fn route(&self, turn: &mut Turn, event: Event) -> bool {
        let actor = actor(&event);
        let me = self.station.number;
        let header = actor.header();
        // By far the most frequent case, and no order is promised.
        if header.pinned().is_none() && turn.around.program.behaviour(header.behaviour()).safe {
            if header.owner() == 0 {
                // Its next event here needs no route.
                actor.take(header, me);
            }
            return true;
        }
        loop {
            if turn.leaving.holds(event.target) {
                break;
            }
            let header = actor.header();
            // giving.rs, invariant 2: what is known of it is as old as the lists, or they are put right.
            if self.put_lists_right(turn) {
                continue;
            }
            let owner = header.owner();
            if owner == me {
                if header.is_in_transit() {
                    break;
                }
                turn.leaving.see_next(&event);
                let waits = turn.leaving.is_due(actor);
                if waits {
                    turn.leaving.wanted.push(event);
                }
                return !waits;
            }
            if let Some(to) = self.entrance_of(header) {
                if self.forward(turn, event, to) {
                    turn.counts.sendx += 1;
                    return false;
                }
                continue;
            }
            if turn.around.program.behaviour(header.behaviour()).safe {
                // Pinned to this sponsor.
                return true;
            }
            if owner == 0 {
                if actor.take(header, me) {
                    return true;
                }
                continue;
            }
            match self.take_over(turn, actor, header) {
                Taken::Yes => {
                    turn.counts.taken_over += 1;
                    return true;
                }
                Taken::Changed => continue,
                Taken::Later => break,
                Taken::No => {}
            }
            if self.sponsor.station(owner).is_some() {
                if self.forward(turn, event, owner) {
                    turn.counts.forwarded += 1;
                    if turn.leaving.has_for(owner) {
                        turn.leaving.elsewhere = (actor, owner);
                    }
                    return false;
                }
                continue;
            }
            if self.ask_for(turn, event, owner).is_ok() {
                return false;
            }
            // It gives actors away at this moment, or has just ended and will count as asleep.
            break;
        }
        turn.leaving.held.push(event);
        false
    }

    /// One more for the actor of which it is known who owned it a moment ago.
    #[inline]
    pub(crate) fn forward_again(&self, turn: &mut Turn, event: Event) {
        turn.counts.forwarded += 1;
        let owner = turn.leaving.elsewhere.1;
        turn.leaving.add(owner, Kind::Owner, event);
    }

    /// Adds the event to the list of the thread that it is to go to by its actor's record, if that still says so. It is held
    /// if that thread's actors change hands at this moment: what such a list relies on would be over before it is known.
    fn forward(&self, turn: &mut Turn, event: Event, to: ThreadNumber) -> bool {
        if turn.leaving.has_for(to) {
            turn.leaving.add(to, Kind::Owner, event);
            return true;
        }
        let version = self.at(to, |station| station.inbox.version());
        let still = self.goes_to(header(&event)) == to;
        if still && version.is_multiple_of(2) {
            turn.leaving.begin(to, version, event);
        } else if still {
            turn.leaving.held.push(event);
        }
        still
    }

    /// The thread that events for an actor of that record go to; 0 if they run wherever they are.
    fn goes_to(&self, header: Header) -> ThreadNumber {
        self.entrance_of(header).unwrap_or(header.owner())
    }

    /// The thread that events for a pinned actor go to, where that is not as for others.
    fn entrance_of(&self, header: Header) -> Option<ThreadNumber> {
        let sponsor = self.machine.sponsors().by_id(header.pinned()?);
        let lead = sponsor.lead().number;
        let owner = header.owner();
        if sponsor.id == self.sponsor.id {
            // Messages from outside wait there for one that is nobody's: who took it would be ahead of them.
            return (owner == 0 && lead != self.station.number).then_some(lead);
        }
        let is_inside = sponsor.station(owner).is_some();
        Some(if is_inside { owner } else { lead })
    }

    /// Puts the lists for owners right if actors have changed hands since they were; whether anything has changed.
    pub(crate) fn put_lists_right(&self, turn: &mut Turn) -> bool {
        let moves = self.machine.stations().moves();
        if turn.leaving.seen == moves {
            return false;
        }
        turn.leaving.seen = moves;
        let version = |to| self.at(to, |station| station.inbox.version());
        let is_right = |list: &List| version(list.to) == list.version;
        let wrong = turn.leaving.take_wrong(is_right);
        self.readdress(turn, wrong)
    }

    /// Sorts the events of lists anew; whether there are any.
    pub(crate) fn readdress(&self, turn: &mut Turn, lists: Vec<List>) -> bool {
        for event in lists.iter().flat_map(|list| &list.events) {
            loop {
                // What runs here, or is for another sponsor's thread to be asked for, is seen to with the next batch.
                let header = header(event);
                let to = self.goes_to(header);
                let is_listed = match self.entrance_of(header) {
                    None => to != self.station.number && self.sponsor.station(to).is_some(),
                    Some(_) => true,
                };
                if !is_listed || turn.leaving.holds(event.target) {
                    turn.leaving.held.push(*event);
                    break;
                }
                if self.forward(turn, *event, to) {
                    break;
                }
            }
        }
        !lists.is_empty()
    }

    /// Takes an actor over from a thread that sleeps, for which nothing is on its way (giving.rs).
    fn take_over(&self, turn: &mut Turn, actor: &Actor, header: Header) -> Taken {
        self.at(header.owner(), |owner| {
            self.take_from(owner, turn, actor, header)
        })
    }

    fn take_from(&self, owner: &Station, turn: &mut Turn, actor: &Actor, seen: Header) -> Taken {
        if !owner.presence.is_asleep() || turn.leaving.has_for(owner.number) {
            return Taken::No;
        }
        let Some(_visit) = owner.presence.visit() else {
            return Taken::No;
        };
        // SAFETY: its thread sleeps while it is visited, and nobody stands in for it.
        let is_done = Dispatch::shown_by(owner).is_none_or(|thread| unsafe { (*thread).is_done() });
        if !is_done {
            return Taken::No;
        }
        // The sleeper has handed over what its actors have sent: what is for here must not be overtaken by what they send from
        // here.
        if self.station.inbox.has_events() {
            return Taken::Later;
        }
        let stations = self.machine.stations();
        let taken = owner.inbox.let_take(|| {
            // Its own lists are as right as before: nothing in them is for that thread.
            if stations.count_move() == turn.leaving.seen {
                turn.leaving.seen += 1;
            }
            actor.take(seen, self.station.number)
        });
        match taken {
            None => Taken::No,
            Some(true) => Taken::Yes,
            Some(false) => Taken::Changed,
        }
    }

    /// Asks another sponsor's thread for the event's actor.
    fn ask_for(&self, turn: &mut Turn, event: Event, owner: ThreadNumber) -> Result<(), NotIn> {
        let station = self.station_of(owner);
        let version = station.inbox.version();
        if header(&event).owner() != owner {
            return Err(NotIn::Moved);
        }
        let me = self.station.number;
        let wakes = station.inbox.push_wanted(event, me, version)?;
        station.pushed(wakes);
        turn.counts.migrations += 1;
        Ok(())
    }

    /// What `see` says of the station of a number.
    #[inline]
    fn at<R>(&self, number: ThreadNumber, see: impl FnOnce(&Station) -> R) -> R {
        match self.sponsor.station(number) {
            Some(sibling) => see(sibling),
            None => see(&self.machine.stations().get(number)),
        }
    }

    /// The station of a number.
    pub(crate) fn station_of(&self, number: ThreadNumber) -> Arc<Station> {
        let sibling = self.sponsor.station(number).cloned();
        sibling.unwrap_or_else(|| self.machine.stations().get(number))
    }

    /// Puts a list into the inbox of whom it is for; gives it back if it has to be put right first.
    pub(crate) fn hand_over(&self, turn: &mut Turn, mut list: List, waker: Waker) -> Option<List> {
        let version = (list.kind == Kind::Owner).then_some(list.version);
        let events = &mut list.events;
        match self.at(list.to, |station| {
            station.push_events(events, version, waker)
        }) {
            Ok(()) => {}
            Err(NotIn::Moved) => return Some(list),
            // Its actors can be taken over.
            Err(NotIn::Closed) if list.kind == Kind::Owner => {
                turn.leaving.held.append(&mut list.events);
            }
            Err(NotIn::Closed) => {
                // The first sponsor's lead ends only with the machine, and then nothing is dispatched any more.
                let heir = self.machine.sponsors().first();
                let _ = heir.lead().push_events(&mut list.events, None, waker);
                list.events.clear();
            }
        }
        turn.leaving.keep_room(list);
        None
    }
}

impl Dispatch {
    /// Makes this thread the owner of `actor` if it may be; otherwise says which thread is or should be.
    pub(crate) fn settle(&mut self, actor: &Actor) -> Option<Arc<Station>> {
        let Dispatch { place, turn, .. } = self;
        loop {
            let header = actor.header();
            let owner = header.owner();
            if owner == place.station.number {
                return None;
            }
            let entrance = place.entrance_of(header);
            if let Some(entrance) = entrance {
                return Some(place.station_of(entrance));
            }
            if owner == 0 {
                actor.take(header, place.station.number);
                continue;
            }
            match place.take_over(turn, actor, header) {
                Taken::Yes | Taken::Changed => {}
                Taken::Later | Taken::No => return Some(place.station_of(owner)),
            }
        }
    }

    /// Another sponsor's thread wants to run the event, which is queued here.
    pub(crate) fn ask_from(&mut self, event: Event, by: ThreadNumber) {
        let Dispatch { place, turn, .. } = self;
        let asked = &mut turn.leaving.asked;
        let is_mine = header(&event).owner() == place.station.number;
        if is_mine && !asked.iter().any(|asked| asked.event.target == event.target) {
            actor(&event).ask_for();
            let is_due = false;
            asked.push(Asked { event, by, is_due });
        }
    }

    /// Gives the actors away that other sponsors' threads want to run, and whose turn it is.
    pub(crate) fn migrate(&mut self) {
        let Dispatch { place, turn, .. } = self;
        let run = turn.counts.turns - turn.leaving.given_at;
        let is_busy = turn.queue.len() as u64 > BUSY * run;
        if turn.leaving.wanted.is_empty() || is_busy && self.seeded.choices.is_none() {
            return;
        }
        let due = turn.leaving.asked.iter().filter(|asked| asked.is_due);
        let mut askers: Vec<ThreadNumber> = due.map(|asked| asked.by).collect();
        askers.sort_unstable();
        askers.dedup();
        for asker in askers {
            let station = place.station_of(asker);
            for asked in &turn.leaving.asked {
                if asked.is_due && asked.by == asker {
                    actor(&asked.event).decide(Some(Decided::Goes));
                }
            }
            place.give(turn, &station, |_, _| |_, _| false);
        }
        turn.leaving.given_at = turn.counts.turns;
        self.seeded.senders.forget();
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
                let lead = sponsor.lead().number;
                self.turn.leaving.add(lead, Kind::Entrance, event);
            }
        }
    }

    /// Hands over what is for other threads; whether there was any. What is refused stays until the next time.
    pub(crate) fn flush(&mut self) -> bool {
        let are_any = !self.turn.leaving.is_handed_over();
        let mut refused = Vec::new();
        while let Some(list) = self.turn.leaving.take() {
            let (station, waker) = (self.place.station_of(list.to), self.as_waker_of(list.to));
            // One of the two moves, not both.
            let me = self.place.station.number;
            let is_here = waker == Waker::Rests && me < list.to && station.is_here();
            refused.extend(self.place.hand_over(&mut self.turn, list, waker));
            self.keep_apart(is_here);
        }
        self.place.readdress(&mut self.turn, refused);
        are_any
    }

    /// What is held comes first, where its actors have come, or can be taken.
    pub(crate) fn take_up_held(&mut self) {
        if self.turn.leaving.held.is_empty() {
            return;
        }
        let me = self.place.station.number;
        let is_here = |event: &mut Event| {
            let header = header(event);
            header.owner() != me || !header.is_in_transit()
        };
        let held = self.turn.leaving.held.extract_if(.., is_here);
        let held: Vec<Event> = held.collect();
        self.turn.queue.prepend(&held);
        self.seeded.senders.forget();
    }

    /// Two threads that hand work to and fro and wait for each other on one core take turns there, each at the price
    /// of a yield: after a while the one that has nothing to do goes to another core. Whether it has.
    fn keep_apart(&mut self, is_here: bool) -> bool {
        self.idling.crowded = if is_here { self.idling.crowded + 1 } else { 0 };
        if self.idling.crowded < CROWDED {
            return false;
        }
        self.idling.crowded = 0;
        self.place.station.parker.step_aside()
    }

    /// What this thread does next, once it has told another one what it has for it. A sibling that rests looks for a
    /// share of what it has just given, which takes a core for each of them; and who stands in goes on outside.
    fn as_waker_of(&self, other: ThreadNumber) -> Waker {
        let place = &self.place;
        let rests = self.turn.queue.is_empty()
            && self.turn.leaving.is_handed_over()
            && !place.station.inbox.is_pending()
            && !self.lent.stands_in;
        match rests && place.sponsor.station(other).is_none() {
            true => Waker::Rests,
            false => Waker::GoesOn,
        }
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
        let event = Event {
            target: std::ptr::null(),
            message: Value::NIL,
        };
        thread.turn.leaving.add(sibling, Kind::Entrance, event);
        assert_eq!(thread.as_waker_of(stranger), Waker::GoesOn);
        assert!(thread.turn.leaving.take().is_some());
        // A caller outside, which goes on there.
        thread.lent.stands_in = true;
        assert_eq!(thread.as_waker_of(stranger), Waker::GoesOn);
        thread.lent.stands_in = false;
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
