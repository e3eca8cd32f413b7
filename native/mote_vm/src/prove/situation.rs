//! A situation: what the actors of a machine are between two turns, what waits for them, and what the outside has heard.
//!
//! Actors are numbers here, and values are shapes (shapes.rs) with the numbers of the actors that they name. So nothing of it is
//! in a heap. An actor keeps its number for as long as somebody can come to it: so a turn leaves most of a situation as it is, and
//! what is known of that is known of the next one (foretold.rs).
//!
//! Invariants:
//! 1. The actors that the outside holds come first, in an order that does not change. A number that nobody has is that of a gap
//!    ([`Shapes::GAP`]); a turn gives the lowest ones to the actors that it makes.
//! 2. The events of one sender to one actor are in the order in which they were sent, and those that an actor has given back to
//!    itself in the order in which they come. Armed timers are in the order in which they were armed. Messages heard are in the
//!    order of who has heard them, and then of when.
use super::deeds::{Deed, Sending, Sketch, TimerDeed};
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::timing::TimerBounds;

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
    /// The number of events of the same sender that wait for the same actor before it, if they have an order.
    pub(super) place: u32,
    pub(super) message: Named,
}

impl WaitingEvent {
    /// Returns the event of an armed timer that fires. The first actor that it names is the timer.
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

/// The change of a timer.
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
    /// Numbers that nobody has, the lowest first.
    pub(super) gaps: Vec<u32>,
    pub(super) pending: Vec<WaitingEvent>,
    pub(super) heard: Vec<Heard>,
    /// The bounds on when the armed timers are due.
    pub(super) bounds: TimerBounds,
    /// The processes that have ended, in the order of their numbers.
    pub(super) ended: Vec<u32>,
    /// The changes of the timers in the last step, one by one.
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
        self.gaps.clear();
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

    /// The number of the n-th actor that the next turn makes.
    #[inline]
    pub(super) fn next_number(&self, n: usize) -> u32 {
        let behind = || (self.actors.len() + n - self.gaps.len()) as u32;
        self.gaps.get(n).copied().unwrap_or_else(behind)
    }

    /// Another event waits, behind all others.
    pub(super) fn push_event(&mut self, event: WaitingEvent) {
        let before = self
            .pending
            .iter()
            .filter(|other| event.is_in_row_with(other));
        let place = before.count() as u32;
        self.pending.push(WaitingEvent { place, ..event });
    }

    /// An event waits no more.
    fn take_event(&mut self, at: usize) -> WaitingEvent {
        let taken = self.pending.remove(at);
        self.close_row(&taken, at);
        taken
    }

    /// Moves the events behind a taken one in its row one place forward.
    fn close_row(&mut self, taken: &WaitingEvent, at: usize) {
        for other in &mut self.pending[at..] {
            other.place -= u32::from(other.is_in_row_with(taken));
        }
    }

    /// Notes that somebody has heard a message, after what that one has heard before.
    pub(super) fn hear(&mut self, heard: Heard) {
        let at = self.heard.partition_point(|other| other.by <= heard.by);
        self.heard.insert(at, heard);
    }

    /// The events that may be next, by their places.
    pub(super) fn enabled(&self, enabled: &mut Vec<u16>) {
        enabled.clear();
        let mut events = self.pending.iter();
        let is_any_given_back = events.any(|event| event.sender == SentBy::ITSELF);
        let all = 0..self.pending.len();
        let may_be = all.filter(|at| self.may_be_next(*at, is_any_given_back));
        enabled.extend(may_be.map(|at| at as u16));
    }

    fn may_be_next(&self, at: usize, is_any_given_back: bool) -> bool {
        let WaitingEvent {
            target,
            sender,
            place,
            ..
        } = self.pending[at];
        if sender == SentBy::ARMED {
            return self.bounds.may_fire(self.rank(at));
        }
        if sender == SentBy::ITSELF {
            return place == 0;
        }
        let given_back = || {
            let mut events = self.pending.iter();
            events.any(|event| event.target == target && event.sender == SentBy::ITSELF)
        };
        place == 0 && !(is_any_given_back && given_back())
    }

    /// The number of messages that a foreign value has heard.
    pub(super) fn heard_by(&self, by: u32) -> usize {
        self.heard.iter().filter(|heard| heard.by == by).count()
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

    /// Becomes the same as another.
    fn copy_from(&mut self, other: &Situation) {
        self.actors.clone_from(&other.actors);
        self.gaps.clone_from(&other.gaps);
        self.pending.clone_from(&other.pending);
        self.heard.clone_from(&other.heard);
        self.bounds.copy_from(&other.bounds);
        self.ended.clone_from(&other.ended);
        self.names.clone_from(&other.names);
    }

    /// Becomes the situation after a timer of `before` has fired, or a process has ended that one waits for.
    pub(super) fn after_firing(&mut self, before: &Situation, at: usize, shapes: &Shapes) {
        self.copy_from(before);
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
        let fired = self.take_event(at).fired(shapes);
        self.push_event(fired);
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
        self.copy_from(before);
        let used = before.pending[event];
        let me = used.target;
        let name = |of: u32| before.named_by_deed(&used, of);
        match comes_again {
            true => {
                let (sender, place) = (SentBy::COPY, 0);
                self.pending[event] = WaitingEvent {
                    sender,
                    place,
                    ..used
                };
                self.close_row(&used, event);
            }
            false => {
                self.take_event(event);
            }
        }
        let (first, last) = deed.queued.split_at(deed.given_back);
        self.give_back(me, first, name);
        for sending in last {
            let sender = sending.sender(me);
            let event = self.arrival(sending, name, sender);
            self.push_event(event);
        }
        self.set_timers(&deed.timers, name, shapes);
        if let Some(next) = &deed.becomes {
            self.actors[me as usize] = self.sketched(next, name);
        }
        for (n, next) in deed.creates.iter().enumerate() {
            let (next, number) = (self.sketched(next, name), before.next_number(n) as usize);
            match self.actors.get_mut(number) {
                Some(gap) => *gap = next,
                None => self.actors.push(next),
            }
        }
        self.gaps.drain(..before.gaps.len().min(deed.creates.len()));
        let is_there = |(by, _): &&(u32, Sketch)| !before.ended.contains(by);
        for (by, message) in deed.heard.iter().filter(is_there) {
            let message = self.sketched(message, name);
            self.hear(Heard { by: *by, message });
        }
    }

    /// The actor that a deed names so (deeds.rs, invariant 1), where it is the one of that event.
    #[inline]
    pub(super) fn named_by_deed(&self, used: &WaitingEvent, of: u32) -> u32 {
        let Some(at) = of.checked_sub(1) else {
            return used.target;
        };
        let held = self.actors[used.target as usize];
        if at < held.count {
            return self.names[(held.from + at) as usize];
        }
        let at = at - held.count;
        if at < used.message.count {
            return self.names[(used.message.from + at) as usize];
        }
        self.next_number((at - used.message.count) as usize)
    }

    /// An actor gives events back to itself: they come before all others.
    fn give_back(&mut self, me: u32, first: &[Sending], name: impl Fn(u32) -> u32) {
        if first.is_empty() {
            return;
        }
        let is_own =
            |event: &&mut WaitingEvent| (event.target, event.sender) == (me, SentBy::ITSELF);
        for event in self.pending.iter_mut().filter(is_own) {
            event.place += first.len() as u32;
        }
        for (at, sending) in first.iter().enumerate() {
            let event = self.arrival(sending, &name, SentBy::ITSELF);
            let place = at as u32;
            self.pending.insert(at, WaitingEvent { place, ..event });
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
                        self.push_event(event.fired(shapes));
                        self.changes.push(TimerChange::AtOnce(self.bounds.len()));
                        continue;
                    }
                    self.push_event(event);
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
                        self.take_event(at);
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
            place: 0,
            message: self.sketched(&sending.message, name),
        }
    }

    fn sketched(&mut self, sketch: &Sketch, name: impl Fn(u32) -> u32) -> Named {
        self.named(sketch.shape, sketch.names.iter().map(|of| name(*of)))
    }
}
