//! Turns that run outside of the machine: those of a sponsor whose turns may take long, and do what no turn here can.
//!
//! Invariants:
//! 1. While a turn of it is outside, an actor is **away**: it stays with this thread, and what comes for it waits in a line of its
//!    own. Nobody takes it over (`is_done`), and it is given to nobody: a thread that asks for it waits in line.
//! 2. What a turn outside has done comes back as a whole. It is staged and committed here, between two batches, as what any
//!    other turn does. The first end of a turn counts: later ones find nothing.
//! 3. At most `most` turns are outside. While as many are, nothing leaves the queue: so turns begin in the order in which their
//!    events were queued, but for those whose actors are away, and with `most` of 1 the sponsor is first in, first out.
//! 4. A turn that is outside is outstanding, and its actor and its message are roots.
//! 5. What is in line is charged to the machine's memory, as what is queued.
use crate::base::atom::Atom;
use crate::base::ids::ThreadNumber;
use crate::base::quota::Quota;
use crate::boundary::turn_outside::{Effect, Effects, Outcome, TurnOutside};
use crate::threads::backlog::TurnBatch;
use crate::threads::route::{actor, header};
use crate::threads::thread::Dispatch;
use crate::threads::watched::See;
use crate::turns::interpreter::{Aborted, End};
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::term::{ActorRef, Term};
use crate::values::value::Value;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// See the head of this file.
pub(crate) struct Away {
    most: usize,
    quota: Arc<Quota>,
    outside: FxHashMap<u64, Event>,
    lines: FxHashMap<*const Actor, VecDeque<Event>>,
    /// How many events are in all lines.
    lined_up: usize,
}

/// Room of the lines' table that is kept.
const KEPT: usize = 1 << 10;

impl Away {
    pub(crate) fn new(most: usize, quota: Arc<Quota>) -> Away {
        Away {
            most,
            quota,
            outside: FxHashMap::default(),
            lines: FxHashMap::default(),
            lined_up: 0,
        }
    }

    /// How many events are in line.
    pub(crate) fn waiting(&self) -> usize {
        self.lined_up
    }

    fn is_full(&self) -> bool {
        self.outside.len() >= self.most
    }

    /// Shows every event.
    pub(crate) fn each(&self, mut show: impl FnMut(Event)) {
        self.outside.values().for_each(|event| show(*event));
        self.each_waiting(show);
    }

    /// The same without those whose turns are outside.
    pub(crate) fn each_waiting(&self, mut show: impl FnMut(Event)) {
        self.lines.values().flatten().for_each(|event| show(*event));
    }

    /// The turn of an event goes outside, and its actor is away.
    pub(crate) fn leaves(&mut self, number: u64, event: Event) {
        self.lines.entry(event.target).or_default();
        self.outside.insert(number, event);
    }

    /// Puts the event in line if its actor is away.
    pub(crate) fn line_up(&mut self, event: Event) -> bool {
        let line = self.lines.get_mut(&event.target);
        let is_away = line.is_some();
        if let Some(line) = line {
            line.push_back(event);
            self.lengthen(1);
        }
        is_away
    }

    /// Puts events before all others in the line of their actor, if it is away.
    pub(crate) fn precede(&mut self, events: &[Event]) -> bool {
        let line = events
            .first()
            .and_then(|event| self.lines.get_mut(&event.target));
        let is_away = line.is_some();
        if let Some(line) = line {
            events
                .iter()
                .rev()
                .for_each(|event| line.push_front(*event));
            self.lengthen(events.len());
        }
        is_away
    }

    /// Lines are longer by so much. What is in them was accepted before.
    fn lengthen(&mut self, events: usize) {
        self.lined_up += events;
        self.quota.take_anyway(events * size_of::<Event>());
    }

    fn shorten(&mut self, events: usize) {
        self.lined_up -= events;
        self.quota.give(events * size_of::<Event>());
    }

    /// The next in the line of an actor that comes back; where there is none, it is away no longer.
    fn next_for(&mut self, actor: *const Actor) -> Option<Event> {
        let next = self.lines.get_mut(&actor).and_then(VecDeque::pop_front);
        match next {
            Some(_) => self.shorten(1),
            None => drop(self.take_line(actor)),
        }
        next
    }

    /// Takes the line of an actor, which is away no longer.
    fn take_line(&mut self, actor: *const Actor) -> VecDeque<Event> {
        let line = self.lines.remove(&actor).unwrap_or_default();
        self.shorten(line.len());
        if self.lines.is_empty() && self.lines.capacity() > KEPT {
            self.lines.shrink_to(KEPT);
            self.outside.shrink_to(KEPT);
        }
        line
    }
}

/// The number of a turn says which thread it is of.
fn numbered(thread: ThreadNumber) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    (LAST.fetch_add(1, Relaxed) + 1) << ThreadNumber::BITS | u64::from(thread)
}

impl Dispatch {
    /// Whether a turn is outside.
    pub(crate) fn is_anybody_away(&self) -> bool {
        let away = self.away.as_ref();
        away.is_some_and(|away| !away.outside.is_empty())
    }

    /// Whether what is queued has to wait until a turn outside has ended.
    pub(crate) fn is_full_outside(&self) -> bool {
        self.away.as_ref().is_some_and(|away| away.is_full())
    }

    /// Sends turns outside for a batch.
    #[cold]
    pub(crate) fn run_batch_outside(&mut self) -> TurnBatch {
        let mut batch = TurnBatch::of(self.turn.queue.len());
        self.turn.leaving.look_again();
        // What came in between was accepted before.
        self.turn.queue.forgive();
        while !self.is_paused() && !self.is_full_outside() && batch.units < self.load.batch {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            self.send_outside(event);
            batch.units += 1;
            batch.turns += 1;
        }
        batch
    }

    /// An event is next, and there is room outside: its turn goes there, or it waits for the one of its actor that is there.
    pub(crate) fn send_outside(&mut self, event: Event) {
        let is_away = self.away.as_mut().is_some_and(|away| away.line_up(event));
        if !is_away {
            self.go(event);
        }
    }

    /// The turn of an event whose actor is not away goes outside, if it is this thread's to run; whether it is.
    fn go(&mut self, event: Event) -> bool {
        if !self.may_run(event) {
            return false;
        }
        let number = numbered(self.place.station.number);
        if let Some(away) = &mut self.away {
            away.leaves(number, event);
        }
        let place = &self.place;
        // Invariant 4.
        place.machine.quiescence().add(1);
        let program = &self.turn.around.program;
        let id = header(&event).behaviour();
        let code = program.behaviour(id);
        let turn = TurnOutside {
            number,
            sponsor: place.sponsor.name,
            behaviour: program.name(id),
            version: code.hash,
            only_outside: code.outside_only,
            actor: ActorRef::new(event.target),
            captures: actor(&event)
                .captured(code.captures as usize)
                .map(Term::new)
                .collect(),
            message: Term::new(event.message),
        };
        place.machine.outside().begin_turn(&place.machine, turn);
        true
    }

    /// A turn outside has ended; its actor comes back.
    pub(crate) fn turn_ended(&mut self, number: u64, outcome: Outcome) {
        let away = self.away.as_mut();
        let Some(event) = away.and_then(|away| away.outside.remove(&number)) else {
            // Invariant 2; or the sponsor is removed, and this is another thread.
            return;
        };
        self.turn.queue.forgive();
        let traces = self.place.machine.attention().traces();
        match outcome {
            Outcome::Here => self.watched_turn(event, &traces),
            outcome => self.watched(event, &traces, |thread, see| {
                thread.end_turn(event, outcome, see)
            }),
        };
        let mark = self.turn.queue.mark();
        self.turn.savepoint.queue = mark;
        self.come_back(event.target);
        self.place.machine.quiescence().done(1);
    }

    /// What waits for an actor that is back goes on: the first turn outside, the others stay in line; or all of it on its way to
    /// where the actor is wanted.
    fn come_back(&mut self, target: *const Actor) {
        if self.is_paused() {
            let line = self.away.as_mut().map(|away| away.take_line(target));
            let line: Vec<Event> = line.unwrap_or_default().into();
            self.turn.queue.prepend(&line);
            return self.seeded.senders.precede(line.len());
        }
        while let Some(event) = self.away.as_mut().and_then(|away| away.next_for(target)) {
            if self.go(event) {
                return;
            }
        }
    }

    /// Does here what a turn has done outside, and commits it.
    fn end_turn(&mut self, event: Event, outcome: Outcome, see: See<'_>) -> u64 {
        let program = self.turn.around.program.clone();
        let behaviour = program.behaviour(header(&event).behaviour());
        self.turn.begin(event);
        self.running = Some((behaviour, event.message));
        let end = match outcome {
            Outcome::Done(effects) => match self.stage(event, effects) {
                Some(()) => Ok(End::Done),
                None => Err(Aborted(Value::atom(Atom::NO_MEMORY))),
            },
            Outcome::Ignored | Outcome::Here => Ok(End::Ignored),
            Outcome::Aborted(reason) => {
                let reason = reason.unpack(&mut self.turn.heap, &mut Vec::new());
                let lacks = reason.is_none();
                Err(Aborted(if lacks {
                    Value::atom(Atom::NO_MEMORY)
                } else {
                    reason
                }))
            }
        };
        let interpreted = self.turn.counts.interpreted;
        let units = self.conclude(behaviour, event, end, interpreted, see);
        self.running = None;
        units + self.turn.tidy_up()
    }

    /// Stages effects; none when the memory is exhausted.
    fn stage(&mut self, event: Event, effects: Effects) -> Option<()> {
        let Effects { steps, values } = effects;
        let Some(values) = values else {
            return Some(());
        };
        let made = self.make(&steps)?;
        let heap = &mut self.turn.heap;
        let values = values.unpack_with(&made, heap, &mut Vec::new());
        let mut values = values.as_tuple()?.iter().copied();
        let mut made = made.into_iter();
        let mut next = || values.next().unwrap_or(Value::UNDEFINED);
        for step in steps {
            match step {
                Effect::Create(behaviour, _, n) => {
                    let state = self.turn.heap.captures(n, |_| next())?;
                    let actor = made.next()?.address_pointer();
                    let id = behaviour.map_or(BehaviourId::SINK, |behaviour| behaviour.id);
                    // SAFETY: made above, and nobody knows it yet.
                    unsafe { (*actor).set(id, state) };
                }
                Effect::Send => self.turn.send(next(), next()),
                Effect::Sendx => self.turn.sendx(next(), next(), next()),
                Effect::SendAfter(None) => {
                    let _ = (next(), next(), made.next());
                    self.turn
                        .send_after(Value::UNDEFINED, Value::NIL, Value::NIL);
                }
                Effect::SendAfter(Some(ms)) => self.turn.arm(made.next()?, ms, next(), next()),
                Effect::CancelTimer => {
                    self.turn.cancel_timer(next());
                }
                Effect::Unstash => self
                    .turn
                    .at_commit
                    .stash
                    .put(next(), &mut self.turn.unusual),
                Effect::Become(behaviour, n) => {
                    let state = self.turn.heap.captures(n, |_| next())?;
                    let id = behaviour.map_or(BehaviourId::SINK, |behaviour| behaviour.id);
                    self.turn.see_place(id, header(&event).pinned());
                    self.turn.become_next(id, state);
                }
            }
        }
        Some(())
    }

    /// What a turn has made, still without contents, so that everything can refer to it.
    fn make(&mut self, steps: &[Effect]) -> Option<Vec<Value>> {
        let here = Value::atom(self.place.sponsor.name);
        let mut made = Vec::new();
        for step in steps {
            let turn = &mut self.turn;
            made.push(match step {
                Effect::Create(behaviour, sponsor, _) => {
                    let id = behaviour.as_ref().map_or(BehaviourId::SINK, |b| b.id);
                    let only_outside = turn.around.program.behaviour(id).outside_only;
                    let sponsor = sponsor.map(Value::atom);
                    match sponsor.or(only_outside.then_some(here)) {
                        Some(sponsor) => turn.create_on(id, sponsor, Value::NONE),
                        None => turn.create(id, Value::NONE),
                    }
                }
                Effect::SendAfter(Some(_)) => turn.timer(),
                Effect::SendAfter(None) => Value::UNDEFINED,
                _ => continue,
            });
        }
        let lacks = made.iter().any(|value| value.is_none());
        (!lacks).then_some(made)
    }

    /// The sponsor is removed: what is outside will not be heard any more, and all of it is queued again.
    pub(crate) fn call_off(&mut self) {
        let Some(mut away) = self.away.take() else {
            return;
        };
        self.place
            .machine
            .outside()
            .call_off(self.place.sponsor.name);
        let outside = away.outside.len();
        let mut numbers: Vec<u64> = away.outside.keys().copied().collect();
        numbers.sort_unstable();
        let mut events = Vec::new();
        for number in numbers {
            let event = away.outside[&number];
            events.push(event);
            events.extend(away.take_line(event.target));
        }
        self.turn.queue.prepend(&events);
        self.place.machine.quiescence().done(outside);
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::testing::still::Still;

    /// A thread that never runs, and may have `most` turns outside at once.
    fn still(most: usize) -> Still {
        let mut still = Still::new(1);
        let quota = still.machine.pool().quota.clone();
        still.thread.away = Some(Box::new(Away::new(most, quota)));
        still
    }

    fn actors<const N: usize>(thread: &mut Dispatch) -> [*const Actor; N] {
        let turn = &mut thread.turn;
        let made = [(); N].map(|()| turn.create(BehaviourId::SINK, Value::NIL));
        turn.tidy_up();
        made.map(|actor| actor.address_pointer())
    }

    fn event(target: *const Actor) -> Event {
        Event {
            target,
            message: Value::NIL,
        }
    }

    #[test]
    fn what_is_in_line_is_charged_until_it_is_not() {
        let mut still = still(1);
        let quota = still.machine.pool().quota.clone();
        let [one, other] = actors(&mut still.thread);
        let before = quota.held();
        let away = still.thread.away.as_mut().expect("a thread of those");
        away.leaves(1, event(one));
        assert!(!away.line_up(event(other)) && !away.precede(&[event(other)]));
        assert_eq!(quota.held(), before);
        (0..5).for_each(|_| assert!(away.line_up(event(one))));
        assert!(away.precede(&[event(one); 2]));
        assert_eq!(quota.held(), before + 7 * size_of::<Event>());
        assert!(away.next_for(one).is_some());
        assert_eq!(quota.held(), before + 6 * size_of::<Event>());
        assert_eq!(away.take_line(one).len(), 6);
        assert_eq!((quota.held(), away.waiting()), (before, 0));
        assert!(!away.line_up(event(one)), "it is back");
    }

    #[test]
    fn an_actor_is_back_when_nothing_is_left_in_its_line() {
        let mut still = still(1);
        let [one] = actors(&mut still.thread);
        let away = still.thread.away.as_mut().expect("a thread of those");
        away.leaves(1, event(one));
        assert!(away.line_up(event(one)));
        assert!(away.next_for(one).is_some() && away.line_up(event(one)));
        assert!(away.next_for(one).is_some() && away.next_for(one).is_none());
        assert!(!away.line_up(event(one)));
    }

    #[test]
    fn what_comes_back_to_a_paused_thread_takes_the_senders_of_nobody_else() {
        let mut still = still(2);
        let thread = &mut still.thread;
        let [away, target, one, other] = actors(thread);
        // There is room before the two that are queued, in their chunk: only what is there is in sight.
        (0..2).for_each(|_| thread.turn.queue.push(target, Value::NIL));
        for sender in [one, other] {
            thread
                .seeded
                .senders
                .keep_up(thread.turn.queue.len(), std::ptr::null());
            thread.turn.queue.push(target, Value::NIL);
            thread
                .seeded
                .senders
                .keep_up(thread.turn.queue.len(), sender);
        }
        for _ in 0..2 {
            assert!(thread.turn.queue.pop().is_some());
            thread.seeded.senders.take(0);
        }
        thread.place.machine.quiescence().add(1);
        let outside = thread.away.as_mut().expect("a thread of those");
        outside.leaves(1, event(away));
        (0..2).for_each(|_| assert!(outside.line_up(event(away))));
        thread.place.machine.pause();
        thread.turn_ended(1, Outcome::Ignored);
        let queued = thread.turn.queue.len();
        thread.seeded.senders.keep_up(queued, std::ptr::null());
        // Of the two that waited in line the second may not overtake the first. Those of the two senders may overtake each other.
        let may_be_next = thread.seeded.senders.may_be_next(&thread.turn.queue);
        assert_eq!((queued, may_be_next), (4, vec![0, 2, 3]));
        while thread.turn.queue.pop().is_some() {}
    }
}
