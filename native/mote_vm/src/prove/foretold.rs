//! What a turn leads to, told from what it changes, without going there.
//!
//! Most turns lead to a situation that another order has led to before. So of each situation it is known what everything in it
//! adds to its digest, and of a turn's outcome only what has changed is digested: by the numbers that actors have in that
//! situation. The digest up to renaming (likeness.rs) is then looked up (outcomes.rs), or made out where it is not there.
//!
//! Invariants:
//! 1. Two situations for which the same is foretold differ in nothing that likeness.rs digests, whatever numbers it gives. The converse
//!    does not hold: what is foretold may differ where actors have other numbers, or one holds itself that nobody else knows.
//! 2. An actor that nobody names any more is not part of what is foretold, as if nobody had ever made it.
//! 3. The situation was read (written.rs): the order of its events is there only where it counts.
use super::deeds::{Deed, Sending, Sketch};
use super::digest::{Digest, DigestSum};
use super::likeness::{each_heard, of_actor, of_ended, of_event, of_heard};
use super::rows::{is_free, seen_as};
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Situation, WaitingEvent};
use smallvec::SmallVec;

/// See the head of this file. It keeps its room from one situation to the next.
#[derive(Default)]
pub(super) struct Foreteller {
    is_able: bool,
    roots: u32,
    total: DigestSum,
    actors: Vec<DigestSum>,
    events: Vec<DigestSum>,
    /// The number of times that each actor is named.
    named: Vec<u32>,
    /// The actors for whom that number has changed by a turn, and what it was.
    changed: Vec<(u32, u32)>,
    /// The actors that were named less often.
    left: Vec<u32>,
    /// The actors that nobody names any more.
    gone: SmallVec<[u32; 8]>,
}

/// A turn in a situation.
struct ForetoldTurn<'a> {
    here: &'a Situation,
    shapes: &'a Shapes,
    event: usize,
    used: WaitingEvent,
    deed: &'a Deed,
}

impl ForetoldTurn<'_> {
    #[inline]
    fn name(&self, of: u32) -> u32 {
        self.here.named_by_deed(&self.used, of)
    }

    #[inline]
    fn names<'a>(&'a self, sketch: &'a Sketch) -> impl Iterator<Item = u32> + 'a {
        sketch.names.iter().map(|of| self.name(*of))
    }

    /// Returns the new state of an actor that has become or was created.
    #[inline]
    fn changed(&self, actor: u32) -> Option<&Sketch> {
        if actor == self.used.target {
            return self.deed.becomes.as_ref();
        }
        let mut creates = (0..).zip(&self.deed.creates);
        let made = creates.find(|(n, _)| self.here.next_number(*n) == actor);
        made.map(|(_, made)| made)
    }

    /// The shape of an actor after the turn.
    #[inline]
    fn shape(&self, actor: u32) -> u32 {
        match self.changed(actor) {
            Some(next) => next.shape,
            None => self.here.actors[actor as usize].shape,
        }
    }

    fn is_safe(&self, actor: u32) -> bool {
        self.shapes.of(self.shape(actor)).is_safe
    }

    /// The messages that somebody hears.
    fn heard(&self) -> impl Iterator<Item = &(u32, Sketch)> {
        let mut heard = self.deed.heard.iter();
        let ended = &self.here.ended;
        std::iter::from_fn(move || heard.find(|(by, _)| !ended.contains(by)))
    }

    /// The number of events that wait in a row after the turn.
    fn count(&self, target: u32, sender: SentBy) -> usize {
        let is_same = |other: &WaitingEvent| (other.target, other.sender) == (target, sender);
        let others = self.others().filter(|(_, other)| is_same(other)).count();
        match sender == SentBy::actor(self.used.target) {
            true => others + self.queued(target, 0),
            false => others,
        }
    }

    /// Returns how many events with an order the turn queues for that actor, from that one on.
    fn queued(&self, target: u32, from: usize) -> usize {
        let mut queued = self.deed.queued[from..].iter();
        let is_same = |other: &Sending| other.is_ordered && self.name(other.target) == target;
        queued.by_ref().filter(|other| is_same(other)).count()
    }

    /// The events that wait after the turn as before.
    fn others(&self) -> impl Iterator<Item = (usize, &WaitingEvent)> {
        let pending = self.here.pending.iter().enumerate();
        pending.filter(|(at, _)| *at != self.event)
    }
}

impl Foreteller {
    /// Looks at a situation, of whose actors the outside holds the first `roots`.
    pub(super) fn prepare(&mut self, here: &Situation, roots: usize) {
        self.roots = roots as u32;
        // The order of timers among each other is in their bounds.
        self.is_able = here.bounds.len() == 0;
        if !self.is_able {
            return;
        }
        let Foreteller {
            total,
            actors,
            events,
            named,
            ..
        } = self;
        *total = DigestSum::default();
        named.clear();
        named.resize(here.actors.len(), 0);
        let mut add = |sum: DigestSum| {
            total.add(sum);
            sum
        };
        let mut name = |names: &[u32]| names.iter().for_each(|name| named[*name as usize] += 1);
        actors.clear();
        let all = (0..).zip(&here.actors);
        actors.extend(all.map(|(number, actor)| {
            let names = here.names(*actor);
            name(names);
            match actor.shape {
                Shapes::GAP => DigestSum::default(),
                shape => add(of_actor(number, shape, names.iter().copied())),
            }
        }));
        events.clear();
        events.extend(here.pending.iter().map(|event| {
            let names = here.names(event.message);
            name(names);
            name(&[event.target]);
            add(of_waiting(here, event, event.sender, event.place))
        }));
        each_heard(here, |by, after, message| {
            let names = here.names(message);
            name(names);
            add(of_heard(by, after, message.shape, names.iter().copied()));
        });
        here.ended.iter().for_each(|process| {
            add(of_ended(*process));
        });
    }

    /// Foretells what the turn of an event leads to, which uses it up; if that is to be told.
    pub(super) fn foretell(
        &mut self,
        here: &Situation,
        event: usize,
        deed: &Deed,
        shapes: &Shapes,
    ) -> Option<Digest> {
        if !self.is_able || deed.given_back > 0 || !deed.timers.is_empty() {
            return None;
        }
        let turn = ForetoldTurn {
            here,
            shapes,
            event,
            used: here.pending[event],
            deed,
        };
        self.count_names(&turn);
        let told = self.tell(&turn);
        while let Some((actor, count)) = self.changed.pop() {
            self.named[actor as usize] = count;
        }
        told
    }

    /// Counts who is named after a turn, and finds those who are gone.
    fn count_names(&mut self, turn: &ForetoldTurn) {
        let ForetoldTurn {
            here, used, deed, ..
        } = turn;
        self.left.clear();
        self.gone.clear();
        self.unname(used.target);
        let message = here.names(used.message);
        message.iter().for_each(|name| self.unname(*name));
        if let Some(next) = &deed.becomes {
            let held = here.names(here.actors[used.target as usize]);
            held.iter().for_each(|name| self.unname(*name));
            turn.names(next).for_each(|name| self.name(name));
        }
        for (n, made) in deed.creates.iter().enumerate() {
            self.left.push(here.next_number(n));
            turn.names(made).for_each(|name| self.name(name));
        }
        for sending in &deed.queued {
            self.name(turn.name(sending.target));
            turn.names(&sending.message)
                .for_each(|name| self.name(name));
        }
        for (_, message) in turn.heard() {
            turn.names(message).for_each(|name| self.name(name));
        }
        while let Some(actor) = self.left.pop() {
            let is_named = self
                .named
                .get(actor as usize)
                .is_some_and(|count| *count > 0);
            let is_held = is_named || actor < self.roots || turn.shapes.of(turn.shape(actor)).keeps;
            if is_held || self.gone.contains(&actor) {
                continue;
            }
            self.gone.push(actor);
            match turn.changed(actor) {
                Some(next) => turn.names(next).for_each(|name| self.unname(name)),
                None => {
                    let held = here.names(here.actors[actor as usize]);
                    held.iter().for_each(|name| self.unname(*name));
                }
            }
        }
    }

    fn name(&mut self, actor: u32) {
        let at = actor as usize;
        if at >= self.named.len() {
            self.named.resize(at + 1, 0);
        }
        self.changed.push((actor, self.named[at]));
        self.named[at] += 1;
    }

    fn unname(&mut self, actor: u32) {
        let count = &mut self.named[actor as usize];
        self.changed.push((actor, *count));
        *count -= 1;
        if *count == 0 {
            self.left.push(actor);
        }
    }

    fn is_gone(&self, sender: SentBy) -> bool {
        let is_gone = |actor| self.gone.contains(&actor);
        sender.as_actor().is_some_and(is_gone)
    }

    fn tell(&self, turn: &ForetoldTurn) -> Option<Digest> {
        let mut sum = self.total;
        self.tell_actors(turn, &mut sum);
        self.tell_rows(turn, &mut sum)?;
        for (at, sending) in turn.deed.queued.iter().enumerate() {
            self.tell_sending(turn, at, sending, &mut sum)?;
        }
        for (at, (by, message)) in turn.heard().enumerate() {
            let mut before = turn.heard().take(at).map(|(by, _)| *by);
            let after =
                turn.here.heard_by(*by) + before.by_ref().filter(|other| other == by).count();
            sum.add(of_heard(*by, after, message.shape, turn.names(message)));
        }
        Some(sum.digest())
    }

    fn tell_actors(&self, turn: &ForetoldTurn, sum: &mut DigestSum) {
        let ForetoldTurn {
            here, used, deed, ..
        } = turn;
        let me = used.target;
        let mut put = |actor: u32, next: &Sketch| {
            if !self.gone.contains(&actor) {
                sum.add(of_actor(actor, next.shape, turn.names(next)));
            }
        };
        if let Some(next) = &deed.becomes {
            put(me, next);
        }
        for (n, made) in deed.creates.iter().enumerate() {
            put(here.next_number(n), made);
        }
        if deed.becomes.is_some() {
            sum.take(self.actors[me as usize]);
        }
        for actor in &self.gone {
            if turn.changed(*actor).is_none() {
                sum.take(self.actors[*actor as usize]);
            }
        }
    }

    /// The event goes, and those behind it in its row come one earlier. Those who are gone send nothing more.
    fn tell_rows(&self, turn: &ForetoldTurn, sum: &mut DigestSum) -> Option<()> {
        let ForetoldTurn { here, used, .. } = turn;
        let me = used.target;
        sum.take(self.events[turn.event]);
        // What waits for one who never becomes any more has no order.
        let loosens = turn.deed.becomes.is_some() && turn.is_safe(me);
        if !loosens && self.gone.is_empty() && used.sender.is_open() {
            return Some(());
        }
        for (at, event) in turn.others() {
            let is_behind = event.is_in_row_with(used);
            let is_loose = loosens && event.target == me && !event.sender.is_kept();
            if is_behind || is_loose || self.is_gone(event.sender) {
                let sender = match is_loose {
                    true => seen_as(event.sender),
                    false => self.sender(turn, event.target, event.sender)?,
                };
                let place = match sender {
                    SentBy::ANY | SentBy::COPY => 0,
                    _ => event.place - u32::from(is_behind),
                };
                sum.take(self.events[at]);
                sum.add(of_waiting(here, event, sender, place));
            }
        }
        Some(())
    }

    /// The sender of an event, as it is written after the turn (written.rs).
    fn sender(&self, turn: &ForetoldTurn, target: u32, sender: SentBy) -> Option<SentBy> {
        let as_gone = match sender.as_actor() {
            Some(actor) if self.is_gone(sender) => SentBy::gone_actor(actor),
            _ if sender.as_gone().is_some() => sender,
            _ => return Some(sender),
        };
        match turn.count(target, sender) {
            1 => Some(SentBy::ANY),
            _ if as_gone == sender || is_free(as_gone, turn.here) => Some(as_gone),
            _ => None,
        }
    }

    fn tell_sending(
        &self,
        turn: &ForetoldTurn,
        at: usize,
        sending: &Sending,
        sum: &mut DigestSum,
    ) -> Option<()> {
        let target = turn.name(sending.target);
        let (mut sender, mut place) = (sending.sender(turn.used.target), 0);
        if sender != SentBy::ANY {
            let behind = turn.queued(target, at);
            sender = match turn.is_safe(target) {
                true => SentBy::ANY,
                false => self.sender(turn, target, sender)?,
            };
            if sender != SentBy::ANY {
                let sent_by = sending.sender(turn.used.target);
                place = (turn.count(target, sent_by) - behind) as u32;
            }
        }
        let message = &sending.message;
        sum.add(of_event(
            target,
            sender,
            place,
            message.shape,
            turn.names(message),
        ));
        Some(())
    }
}

/// An event that waits, as if that were its sender and its place.
fn of_waiting(here: &Situation, event: &WaitingEvent, sender: SentBy, place: u32) -> DigestSum {
    let names = here.names(event.message).iter().copied();
    of_event(event.target, sender, place, event.message.shape, names)
}

#[cfg(all(test, not(loom)))]
mod tests;
