//! Turns whatever reaches a dispatch thread from elsewhere into events: its inbox, messages from outside, timers that are due.
//! Runs only between turns.
use super::{prefetch_captures, Dispatch, PREFETCH_ACTOR, PREFETCH_CAPTURES};
use crate::base::ids::TimerId;
use crate::base::sync::Relaxed;
use crate::boundary::batch::Batch;
use crate::boundary::journal::Journal;
use crate::boundary::parcel::Parcel;
use crate::boundary::timers::{Message, Timer};
use crate::platform::prefetch::prefetch;
use crate::threads::inbox::{Contents, Entry, FEW};
use crate::turns::queue::Event;
use crate::values::handles::Target;
use crate::values::value::Value;

/// Timers that are taken out of their wheel in one go: as many as there may be, they have their room in the wheel or in the queue.
const FIRED_AT_ONCE: usize = 256;

impl Dispatch {
    /// Takes what has come from elsewhere.
    pub(crate) fn drain(&mut self) {
        if self.context.machine.journal().is_some_and(Journal::notes) {
            return self.drain_noted();
        }
        let mut contents = self.take_contents();
        self.context.station.inbox.drain(&mut contents);
        self.take_in(contents);
    }

    /// Room for what has come, to be taken in.
    pub(crate) fn take_contents(&mut self) -> Contents {
        std::mem::take(&mut self.intake.contents)
    }

    /// Drains the inbox for a stand-in, if little is in it. Returns whether that was so.
    pub(crate) fn drain_little(&mut self) -> bool {
        if self.context.machine.journal().is_some() {
            return self.drain_noted_little(None);
        }
        self.lent.took_in = true;
        let mut contents = self.take_contents();
        let little = self.context.station.inbox.drain_little(&mut contents);
        self.take_in(contents);
        little
    }

    pub(crate) fn take_in(&mut self, mut contents: Contents) {
        self.show_drained(&mut contents);
        let taken = contents.len();
        let outstanding = contents.outstanding();
        if taken > 0 {
            self.idling.claimed_only = if contents.claimed == taken {
                self.idling.claimed_only.saturating_add(1)
            } else {
                0
            };
        }
        self.idling.trickle.took(contents.only_sent());
        let siblings = self.context.sponsor.stations.len() > 1;
        self.idling.shared |= siblings && !contents.events.is_empty();
        self.accept_first(&mut contents);
        for event in contents.events.drain(..) {
            self.turn.queue.push(event.target, event.message);
        }
        let (mut given, mut asked) = (Vec::new(), Vec::new());
        for entry in contents.entries.drain(..) {
            match entry {
                Entry::Inspect(_, look) => look(self),
                Entry::Alarm => self.fire(),
                Entry::Task(task) => self.duties.tasks.push(task),
                Entry::Ended(ended) => self.duties.ended.push_back(*ended),
                Entry::Collect(done) => {
                    let next = self.context.machine.gc().next();
                    self.duties.collections.push((next, done));
                }
                Entry::Migrate(event, by) => asked.push((event, by)),
                Entry::Given(events) => given.extend(events),
                Entry::Retire => self.duties.retiring = true,
                Entry::Batch(batch) if self.seeded.choices.is_some() => {
                    self.seeded.arrivals.extend(batch.split());
                }
                Entry::Batch(batch) => self.accept_all(batch),
                Entry::Message(target, parcel) if self.seeded.choices.is_some() => {
                    self.seeded.arrivals.push_back((target, parcel));
                }
                Entry::Message(target, parcel) => self.accept(target, parcel),
            }
        }
        self.welcome(&given);
        for (event, by) in asked {
            self.ask_from(event, by);
        }
        let left = taken + contents.places;
        contents.reset();
        self.intake.contents = contents;
        let queued = self.waiting();
        self.starved.expects_few = queued <= FEW;
        self.context.recount_places(&mut self.turn, queued, left);
        self.context.machine.quiescence().done(outstanding);
    }

    /// Takes in actors that were given to this thread, with what is queued for them (giving.rs, step 4).
    pub(crate) fn welcome(&mut self, given: &[Event]) {
        if given.is_empty() {
            return;
        }
        for event in given {
            event.actor().take_in();
        }
        let siblings = self.context.sponsor.stations.len() > 1;
        self.idling.shared |= siblings;
        // What it had for their old owners comes behind.
        self.context.put_lists_right(&mut self.turn);
        self.take_up_held();
        self.turn.queue.prepend(given);
        self.seeded.senders.forget();
    }

    /// Queues the messages from outside before what other threads have sent, if the sponsor is removed: what the same callers send next
    /// comes by way of the first sponsor, and must not overtake them.
    pub(super) fn accept_first(&mut self, contents: &mut Contents) {
        // Relaxed: whoever was led elsewhere has seen it under a lock, and what it sent comes through the inbox's.
        if !self.context.sponsor.removed.load(Relaxed) || self.seeded.choices.is_some() {
            return;
        }
        let is_sent = |entry: &mut Entry| matches!(entry, Entry::Message(..) | Entry::Batch(..));
        for entry in contents.entries.extract_if(.., is_sent) {
            match entry {
                Entry::Message(target, parcel) => self.accept(target, parcel),
                Entry::Batch(batch) => self.accept_all(batch),
                _ => {}
            }
        }
    }

    /// Queues a message from outside.
    fn accept(&mut self, target: Target, parcel: Parcel) {
        self.turn.counts.foreign_in += 1;
        if let Some(message) = self.unpack(parcel) {
            self.turn.queue.push(target.0, message);
        }
    }

    /// Queues the messages of a batch.
    fn accept_all(&mut self, batch: Box<Batch>) {
        let turn = &mut self.turn;
        let (counts, queue) = (&mut turn.counts, &mut turn.queue);
        let scratch = &mut self.intake.scratch;
        // As in `unpack`.
        let buffer = turn.heap.insist(|heap| {
            batch.unpack(heap, scratch, |target, message| {
                counts.foreign_in += 1;
                match message {
                    Some(message) => queue.push(target.0, message),
                    None => counts.aborts_no_memory += 1,
                }
            })
        });
        self.context.machine.batch_buffers().give(buffer);
    }

    /// Queues a message from outside that a stand-in brings, and that has no place (room.rs, invariant 1).
    pub(crate) fn take_brought(&mut self, target: Target, parcel: &mut Option<Parcel>) {
        self.idling.claimed_only = self.idling.claimed_only.saturating_add(1);
        self.idling.trickle.took(0);
        self.starved.expects_few = true;
        if let Some(parcel) = parcel.take() {
            self.accept(target, parcel);
        }
    }

    /// Queues the next message from outside that waits for it. Returns whether there was one.
    pub(crate) fn admit(&mut self) -> bool {
        let Some((target, parcel)) = self.seeded.arrivals.pop_front() else {
            return false;
        };
        self.accept(target, parcel);
        self.publish();
        true
    }

    /// The value of a parcel, in this thread's heap; given up when the memory is exhausted.
    fn unpack(&mut self, parcel: Parcel) -> Option<Value> {
        let position = self.turn.heap.position();
        let scratch = &mut self.intake.scratch;
        // It was accepted, and charged for: nothing but the system can refuse it now.
        let value = self.turn.heap.insist(|heap| parcel.unpack(heap, scratch));
        if value.is_none() {
            self.turn.heap.rewind(&position);
            self.turn.counts.aborts_no_memory += 1;
            return None;
        }
        Some(value)
    }

    /// Fires what is due, if time passes by itself. If it is moved by hand, whoever moves it rings.
    pub(crate) fn look_at_the_clock(&mut self) {
        let context = &self.context;
        let (next, clock) = (context.station.timers.next(), context.machine.clock());
        if context.machine.journal().is_some() {
            if self.is_entry_due() || self.lent.unwritten > 0 {
                self.drain();
            }
        } else if next < u64::MAX && clock.passes() && next <= clock.now() {
            self.fire();
        }
    }

    /// Turns due timers into events.
    pub(in crate::threads) fn fire(&mut self) {
        let now = self.context.machine.clock().now();
        self.send_due(|dispatch, due| {
            dispatch
                .context
                .station
                .timers
                .fire(now, FIRED_AT_ONCE, due)
        });
    }

    /// Turns these timers into events, those that still wait.
    pub(crate) fn fire_now(&mut self, timers: &[TimerId]) {
        let mut some = timers.chunks(FIRED_AT_ONCE);
        self.send_due(|dispatch, due| {
            let ids = some.next().unwrap_or_default();
            let timer = |id: &TimerId| Some(dispatch.context.machine.take_timer(*id)?.1);
            due.extend(ids.iter().filter_map(timer));
            !ids.is_empty()
        });
    }

    /// Turns timers into events: `take` takes some of them out, and returns whether there may be more.
    fn send_due(&mut self, mut take: impl FnMut(&Dispatch, &mut Vec<Timer>) -> bool) {
        let before = self.turn.queue.position();
        let mut due = std::mem::take(&mut self.intake.due);
        loop {
            let is_more = take(self, &mut due);
            self.fire_those(&mut due);
            if !is_more {
                break;
            }
        }
        self.intake.due = due;
        self.turn.counts.sends += self.turn.queue.pushed_since(&before) as u64;
        self.turn.count_staged();
        self.turn.tidy_up();
        if !self.turn.at_commit.outgoing.is_empty() {
            self.commit_outgoing();
        }
    }

    fn fire_those(&mut self, due: &mut Vec<Timer>) {
        // The turns of the first ones come before what fetches ahead gets to them.
        let targets = || due.iter().map(|timer| timer.target);
        let actors = |target: Value| target.is_address().then(|| target.address_pointer());
        let soon = targets().take(PREFETCH_ACTOR).filter_map(actors);
        soon.for_each(|actor| prefetch(actor.cast()));
        let sooner = targets().take(PREFETCH_CAPTURES).filter_map(actors);
        // SAFETY: a timer's target is live.
        sooner.for_each(|actor| unsafe { prefetch_captures(actor) });
        for timer in due.drain(..) {
            let (message, by_turn) = match timer.message {
                Message::Value(message) => (Some(message), true),
                Message::Parcel(parcel) => (self.unpack(*parcel), false),
            };
            let Some(message) = message else { continue };
            if by_turn && self.away.is_some() && timer.target.is_address() {
                let target = timer.target.address_pointer();
                let is_queued = self.send_from_away(Event { target, message });
                // What is queued is counted below.
                self.turn.counts.sends += u64::from(!is_queued);
            } else {
                self.turn.send(timer.target, message);
            }
        }
    }
}
