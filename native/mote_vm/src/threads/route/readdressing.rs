//! Lists of events for other threads: handed over at the end of a batch, and put right when actors have changed hands.
use crate::base::ids::ThreadNumber;
use crate::base::interleaving::others_may_act;
use crate::threads::inbox::NotIn;
use crate::threads::parker::Waker;
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::leaving::{List, ListKind};
use crate::turns::queue::Event;
use crate::turns::turn::Turn;
use crate::values::actor::Actor;
use std::collections::VecDeque;
use std::mem::replace;

/// Consecutive hand-overs to a thread on the same core after which a thread goes to another core. That takes as long as some
/// dozens of yields.
const CROWDED: u32 = 16;

impl ThreadContext {
    /// Puts the lists for owners right if actors have changed hands since they were. Returns whether anything has changed.
    pub(crate) fn put_lists_right(&self, turn: &mut Turn) -> bool {
        let wrong = self.take_wrong_lists(turn);
        self.readdress(turn, wrong)
    }

    /// The lists that are not right any more, taken out; the others are right as of now.
    fn take_wrong_lists(&self, turn: &mut Turn) -> Vec<List> {
        let moves = self.machine.stations().moves();
        if turn.leaving.seen == moves {
            return Vec::new();
        }
        turn.leaving.seen = moves;
        let version = |to| self.at(to, |station| station.inbox.version());
        let is_right = |list: &List| version(list.to) == list.version;
        turn.leaving.take_wrong(is_right)
    }

    /// Holds the events that are listed for a thread, if some are for that actor. Returns whether there are any.
    pub(super) fn hold_listed(
        &self,
        turn: &mut Turn,
        actor: *const Actor,
        owner: ThreadNumber,
    ) -> bool {
        let has_some = turn.leaving.lists(owner, actor);
        if has_some {
            let listed = turn.leaving.take_wrong(|list| list.to != owner);
            turn.leaving.held.extend(events_of(listed));
        }
        has_some
    }

    /// Sorts the events of lists anew. Returns whether there are any. Actors may change hands meanwhile: events that were
    /// sorted before that are then sorted once more, before all that follow them.
    pub(crate) fn readdress(&self, turn: &mut Turn, lists: Vec<List>) -> bool {
        let mut unsorted: VecDeque<Event> = events_of(lists).collect();
        let are_any = !unsorted.is_empty();
        while let Some(event) = unsorted.pop_front() {
            let header = event.header();
            others_may_act();
            // giving.rs, invariant 2.
            let wrong = self.take_wrong_lists(turn);
            if !wrong.is_empty() {
                let first: VecDeque<Event> = events_of(wrong).chain([event]).collect();
                let rest = replace(&mut unsorted, first);
                unsorted.extend(rest);
                continue;
            }
            // What runs here, or is for another sponsor's thread to be asked for, is seen to with the next batch.
            let to = self.goes_to(header);
            let is_listed = match self.entrance_of(header) {
                None => to != self.station.number && self.sponsor.station(to).is_some(),
                Some(_) => true,
            };
            if !is_listed || turn.leaving.holds(event.target) {
                turn.leaving.held.push(event);
            } else if !self.forward(turn, event, to) {
                unsorted.push_front(event);
            }
        }
        are_any
    }

    /// Puts a list into the inbox of the thread that it is for. Returns the list if it has to be put right first.
    pub(crate) fn hand_over(&self, turn: &mut Turn, mut list: List, waker: Waker) -> Option<List> {
        let version = (list.kind == ListKind::Owner).then_some(list.version);
        let events = &mut list.events;
        turn.leaving.gone += events.len() as u64;
        others_may_act();
        match self.at(list.to, |station| {
            station.push_events(events, version, waker)
        }) {
            Ok(()) => {}
            Err(NotIn::Moved) => return Some(list),
            // Its actors can be taken over.
            Err(NotIn::Closed) if list.kind == ListKind::Owner => {
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

fn events_of(lists: Vec<List>) -> impl Iterator<Item = Event> {
    lists.into_iter().flat_map(|list| list.events)
}

impl Dispatch {
    /// Hands over what is for other threads. Returns whether there was any. Refused events stay until the next time.
    pub(crate) fn flush(&mut self) -> bool {
        let are_any = !self.turn.leaving.is_handed_over();
        let mut refused = Vec::new();
        while let Some(list) = self.turn.leaving.take() {
            let (station, waker) = (self.context.station_of(list.to), self.as_waker_of(list.to));
            // One of the two moves, not both.
            let me = self.context.station.number;
            let is_here = waker == Waker::Rests && me < list.to && station.is_here();
            refused.extend(self.context.hand_over(&mut self.turn, list, waker));
            self.keep_apart(is_here);
        }
        self.context.readdress(&mut self.turn, refused);
        are_any
    }

    /// Two threads that hand work to and fro, and wait for each other on one core, alternate there, each at the price of
    /// a yield. After a while the one that has nothing to do goes to another core. Returns whether it has.
    fn keep_apart(&mut self, is_here: bool) -> bool {
        self.idling.crowded = if is_here { self.idling.crowded + 1 } else { 0 };
        if self.idling.crowded < CROWDED {
            return false;
        }
        self.idling.crowded = 0;
        self.context.station.parker.step_aside()
    }

    /// Returns what this thread does next, once it has told another one what it has for it. A sibling that rests looks for a
    /// share of what it has just given, which takes a core for each of them. A caller that stands in goes on outside.
    fn as_waker_of(&self, other: ThreadNumber) -> Waker {
        let context = &self.context;
        let rests = self.turn.queue.is_empty()
            && self.turn.leaving.is_handed_over()
            && !context.station.inbox.is_pending()
            && !self.lent.stands_in;
        match rests && context.sponsor.station(other).is_none() {
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
    use crate::values::value::Value;

    #[test]
    fn who_has_nothing_left_leaves_its_core_to_another_sponsor() {
        let mut still = Still::new(2);
        let thread = &mut still.thread;
        let sibling = thread.context.sponsor.stations[1].number;
        let stranger = 1;
        assert_eq!(thread.as_waker_of(stranger), Waker::Rests);
        assert_eq!(thread.as_waker_of(sibling), Waker::GoesOn);
        // Another one is notified as well.
        let event = Event {
            target: std::ptr::null(),
            message: Value::NIL,
        };
        thread.turn.leaving.add(sibling, ListKind::Entrance, event);
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
        thread.context.station.parker.open(false, None);
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
        thread.context.station.parker.close();
    }

    #[test]
    fn who_is_asleep_is_not_here() {
        let still = Still::new(1);
        let station = &still.thread.context.station;
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
