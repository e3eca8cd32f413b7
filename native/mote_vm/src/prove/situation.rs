//! A situation: what the actors of a machine are between two turns, what waits for them, and what the outside has heard.
//!
//! Actors are numbers here, and values are shapes (shapes.rs) with the numbers of the actors that they name. So nothing of it is
//! in a heap.
//!
//! Invariants:
//! 1. The actors that the outside holds come first, in an order that does not change.
//! 2. The events of one sender to one actor are in the order in which they were sent, and those that an actor has given back to
//!    itself in the order in which they come. Armed timers are in the order in which they were armed. Messages heard are in the
//!    order of who has heard them, and then of when.
use super::deeds::{Deed, Sending, Sketch, TimerDeed};
use super::shapes::Shapes;
use super::timing::TimerBounds;

/// The one who has sent an event, as far as the order of events depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SentBy(u32);

impl SentBy {
    /// Nobody's other events are ordered with it.
    pub(super) const ANY: SentBy = SentBy(0);
    /// The actor gives it back to itself, before all that waits.
    pub(super) const ITSELF: SentBy = SentBy(1);

    /// It has come before, and comes once more: nobody's other events are ordered with it.
    pub(super) const COPY: SentBy = SentBy(2);

    /// Nobody yet: it is a timer's, which is armed.
    pub(super) const ARMED: SentBy = SentBy(3);

    /// The clock: its timer has fired.
    pub(super) const CLOCK: SentBy = SentBy(4);

    /// Somebody who sends nothing more, told from others by a number.
    pub(super) fn gone(number: u32) -> SentBy {
        SentBy(5 + 2 * number)
    }

    pub(super) fn actor(number: u32) -> SentBy {
        SentBy(6 + 2 * number)
    }

    /// The actor's number, if it is one.
    pub(super) fn as_actor(self) -> Option<u32> {
        (self.0 > 5 && self.0.is_multiple_of(2)).then(|| (self.0 - 6) / 2)
    }

    /// Returns whether no other event has to come before it.
    pub(super) fn is_open(self) -> bool {
        self == SentBy::ANY || self == SentBy::COPY
    }

    pub(super) fn code(self) -> u32 {
        self.0
    }

    pub(super) fn of_code(code: u32) -> SentBy {
        SentBy(code)
    }
}

/// A value, or what an actor is: its shape, and where the names of its actors are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) shape: u32,
    pub(super) from: u32,
    pub(super) count: u32,
}

/// An event that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingEvent {
    pub(super) target: u32,
    pub(super) sender: SentBy,
    pub(super) message: Named,
}

impl WaitingEvent {
    /// What an armed timer sends when it fires. The first one that it names is the timer.
    fn fired(self, shapes: &Shapes) -> WaitingEvent {
        let Named { shape, from, count } = self.message;
        WaitingEvent {
            sender: SentBy::CLOCK,
            message: Named {
                shape: shapes.of(shape).timed,
                from: from + 1,
                count: count - 1,
            },
            ..self
        }
    }
}

/// A message that has left the machine, and who was to get it: a number of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) by: u32,
    pub(super) message: Named,
}

/// What becomes of a timer.
#[derive(Clone, Copy)]
pub(super) enum TimerChange {
    /// It waits, as the last event.
    Armed,
    /// It was armed, as many as that before it, and has fired at once: its event is the last one.
    AtOnce(usize),
    /// The event at that place has gone, if it was armed.
    Cancelled(Option<usize>),
    /// It has fired: the event at that place has gone, of as many timers before it, and another one has come as the last one.
    Fired(usize, usize),
}

/// See the head of this file.
#[derive(Default)]
pub(super) struct Situation {
    pub(super) actors: Vec<Named>,
    pub(super) pending: Vec<WaitingEvent>,
    pub(super) heard: Vec<Heard>,
    /// What is known of when the armed timers are due.
    pub(super) bounds: TimerBounds,
    /// The processes that have ended, in the order of their numbers.
    pub(super) ended: Vec<u32>,
    /// What has become of the timers of the last step, one by one.
    pub(super) changes: Vec<TimerChange>,
    /// Names of all values, by places. Some may be of none any more.
    names: Vec<u32>,
}

impl Situation {
    /// The actors that something names.
    #[inline]
    pub(super) fn names(&self, of: Named) -> &[u32] {
        &self.names[of.from as usize..(of.from + of.count) as usize]
    }

    /// The number of words that it takes.
    pub(super) fn size(&self) -> usize {
        let timers = self.bounds.len();
        let bounds = timers * (timers + 1);
        self.actors.len()
            + self.pending.len()
            + self.heard.len()
            + self.names.len()
            + self.ended.len()
            + bounds
    }

    pub(super) fn clear(&mut self) {
        self.actors.clear();
        self.pending.clear();
        self.heard.clear();
        self.bounds.clear();
        self.ended.clear();
        self.names.clear();
    }

    /// Makes a value's names part of this situation.
    #[inline]
    pub(super) fn named(&mut self, shape: u32, names: impl Iterator<Item = u32>) -> Named {
        let from = self.names.len() as u32;
        self.names.extend(names);
        Named {
            shape,
            from,
            count: self.names.len() as u32 - from,
        }
    }

    /// Notes that somebody has heard a message, after what that one has heard before.
    pub(super) fn hear(&mut self, heard: Heard) {
        let at = self.heard.partition_point(|other| other.by <= heard.by);
        self.heard.insert(at, heard);
    }

    /// The events that may be next, by their places.
    pub(super) fn enabled(&self, shapes: &Shapes, enabled: &mut Vec<u16>) {
        enabled.clear();
        let mut events = self.pending.iter();
        let is_any_given_back = events.any(|event| event.sender == SentBy::ITSELF);
        let all = 0..self.pending.len();
        let may_be = all.filter(|at| self.may_be_next(shapes, *at, is_any_given_back));
        enabled.extend(may_be.map(|at| at as u16));
    }

    fn may_be_next(&self, shapes: &Shapes, at: usize, is_any_given_back: bool) -> bool {
        let WaitingEvent { target, sender, .. } = self.pending[at];
        if sender == SentBy::ARMED {
            return self.bounds.may_fire(self.rank(at));
        }
        let given_back = |events: &[WaitingEvent]| {
            let mut events = events.iter();
            events.any(|event| event.target == target && event.sender == SentBy::ITSELF)
        };
        if sender == SentBy::ITSELF {
            return !given_back(&self.pending[..at]);
        }
        let is_open = sender.is_open() || shapes.of(self.actors[target as usize].shape).is_safe;
        let is_first = || {
            let mut before = self.pending[..at].iter();
            !before.any(|other| (other.target, other.sender) == (target, sender))
        };
        !(is_any_given_back && given_back(&self.pending)) && (is_open || is_first())
    }

    /// The number of messages that a foreign value has heard.
    pub(super) fn heard_by(&self, by: u32) -> usize {
        self.heard.iter().filter(|heard| heard.by == by).count()
    }

    /// The number of events of the same sender that wait for the same actor before that one.
    pub(super) fn place(&self, at: usize) -> usize {
        let WaitingEvent { target, sender, .. } = self.pending[at];
        if sender.is_open() {
            return 0;
        }
        let same = |other: &&WaitingEvent| (other.target, other.sender) == (target, sender);
        self.pending[..at].iter().filter(same).count()
    }

    /// The number of timers that were armed before that one.
    pub(super) fn rank(&self, at: usize) -> usize {
        let before = self.pending[..at].iter();
        before.filter(|event| event.sender == SentBy::ARMED).count()
    }

    /// Returns whether nothing comes any more but what ends of processes lead to.
    pub(super) fn rests(&self, shapes: &Shapes) -> bool {
        let mut pending = self.pending.iter();
        pending.all(|event| self.awaited(event, shapes).is_some())
    }

    /// The process whose end a timer waits for.
    fn awaited(&self, event: &WaitingEvent, shapes: &Shapes) -> Option<u32> {
        match event.sender {
            SentBy::ARMED => shapes.of(event.message.shape).process,
            _ => None,
        }
    }

    /// Becomes the situation after a timer of `before` has fired, or a process has ended that one waits for.
    pub(super) fn after_firing(&mut self, before: &Situation, at: usize, shapes: &Shapes) {
        self.actors.clone_from(&before.actors);
        self.heard.clone_from(&before.heard);
        self.names.clone_from(&before.names);
        self.pending.clone_from(&before.pending);
        self.bounds.copy_from(&before.bounds);
        self.ended.clone_from(&before.ended);
        self.changes.clear();
        let Some(process) = self.awaited(&self.pending[at], shapes) else {
            return self.fire(at, shapes);
        };
        let place = self.ended.partition_point(|other| *other < process);
        self.ended.insert(place, process);
        let waits = |situation: &Situation| {
            let mut pending = situation.pending.iter();
            pending.position(|event| situation.awaited(event, shapes) == Some(process))
        };
        while let Some(at) = waits(self) {
            self.fire(at, shapes);
        }
    }

    fn fire(&mut self, at: usize, shapes: &Shapes) {
        let rank = self.rank(at);
        self.bounds.fire(rank);
        let fired = self.pending.remove(at).fired(shapes);
        self.pending.push(fired);
        self.changes.push(TimerChange::Fired(at, rank));
    }

    /// Becomes the situation after a turn of `before`, whose event it uses up, or one that `comes_again`.
    pub(super) fn after(
        &mut self,
        before: &Situation,
        event: usize,
        deed: &Deed,
        comes_again: bool,
        shapes: &Shapes,
    ) {
        self.actors.clone_from(&before.actors);
        self.heard.clone_from(&before.heard);
        self.names.clone_from(&before.names);
        self.bounds.copy_from(&before.bounds);
        self.ended.clone_from(&before.ended);
        let used = before.pending[event];
        self.pending.clear();
        let me = used.target;
        let held = before.actors[me as usize];
        let known = [before.names(held), before.names(used.message)];
        let made = before.actors.len() as u32;
        let name = |of: u32| match of.checked_sub(1) {
            None => me,
            Some(at) if at < held.count => known[0][at as usize],
            Some(at) if at - held.count < used.message.count => {
                known[1][(at - held.count) as usize]
            }
            Some(at) => made + at - held.count - used.message.count,
        };
        let (first, last) = deed.queued.split_at(deed.given_back);
        for sending in first {
            let event = self.arrival(sending, name, SentBy::ITSELF);
            self.pending.push(event);
        }
        self.pending.extend_from_slice(&before.pending[..event]);
        if comes_again {
            let sender = SentBy::COPY;
            self.pending.push(WaitingEvent { sender, ..used });
        }
        self.pending.extend_from_slice(&before.pending[event + 1..]);
        for sending in last {
            let sender = match sending.is_ordered {
                true => SentBy::actor(me),
                false => SentBy::ANY,
            };
            let event = self.arrival(sending, name, sender);
            self.pending.push(event);
        }
        self.set_timers(&deed.timers, name, shapes);
        if let Some(next) = &deed.becomes {
            self.actors[me as usize] = self.sketched(next, name);
        }
        for next in &deed.creates {
            let next = self.sketched(next, name);
            self.actors.push(next);
        }
        let is_there = |(by, _): &&(u32, Sketch)| !before.ended.contains(by);
        for (by, message) in deed.heard.iter().filter(is_there) {
            let message = self.sketched(message, name);
            self.hear(Heard { by: *by, message });
        }
    }

    /// Arms and cancels timers.
    fn set_timers(&mut self, deeds: &[TimerDeed], name: impl Fn(u32) -> u32, shapes: &Shapes) {
        self.changes.clear();
        // All of these at one instant: those that were there before were armed earlier.
        let mut since = self.bounds.len();
        for deed in deeds {
            match deed {
                TimerDeed::Arm { delay, sending } => {
                    let event = self.arrival(sending, &name, SentBy::ARMED);
                    let process = self.awaited(&event, shapes);
                    if process.is_some_and(|process| self.ended.contains(&process)) {
                        self.pending.push(event.fired(shapes));
                        self.changes.push(TimerChange::AtOnce(self.bounds.len()));
                        continue;
                    }
                    self.pending.push(event);
                    self.bounds.arm(*delay, since);
                    self.changes.push(TimerChange::Armed);
                }
                TimerDeed::Cancel(timer) => {
                    let timer = name(*timer);
                    let mut events = self.pending.iter();
                    let at = events.position(|event| {
                        event.sender == SentBy::ARMED && self.names(event.message)[0] == timer
                    });
                    if let Some(at) = at {
                        let rank = self.rank(at);
                        since -= usize::from(rank < since);
                        self.bounds.remove(rank);
                        self.pending.remove(at);
                    }
                    self.changes.push(TimerChange::Cancelled(at));
                }
            }
        }
    }

    fn arrival(
        &mut self,
        sending: &Sending,
        name: impl Fn(u32) -> u32,
        sender: SentBy,
    ) -> WaitingEvent {
        WaitingEvent {
            target: name(sending.target),
            sender,
            message: self.sketched(&sending.message, name),
        }
    }

    fn sketched(&mut self, sketch: &Sketch, name: impl Fn(u32) -> u32) -> Named {
        self.named(sketch.shape, sketch.names.iter().map(|of| name(*of)))
    }
}
