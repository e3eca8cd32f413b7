//! Turns that are away: the turns of a beam sponsor run outside of the machine. They may block, and have side effects.
//!
//! Invariants:
//! 1. While a turn of it is away, an actor is **away**, too: it stays with this thread, and what comes for it waits in a line of its
//!    own. Nobody takes it over (`is_done`), and it is given to nobody: a thread that asks for it waits in line.
//! 2. What a turn has done while away comes back as a whole. It is staged and committed here, between two batches, like the
//!    effects of any other turn: by the thread, or while that sleeps by whoever tells of the end (stand_in.rs). Only the first
//!    report that a turn has ended counts.
//! 3. At most `most` turns are away. At that limit nothing leaves the queue. So turns begin in the order of their events,
//!    except for actors that are away, and with `most` of 1 the sponsor is first in, first out.
//! 4. A turn that is away is outstanding, and its actor and its message are roots.
//! 5. Events in line are charged to the machine's memory, like queued ones.
use crate::base::atom::Atom;
use crate::base::ids::ThreadNumber;
use crate::base::quota::Quota;
use crate::boundary::turn_away::{Effect, Effects, Outcome, TurnAway, TurnEnd};
use crate::threads::backlog::TurnBatch;
use crate::threads::route::{actor, header};
use crate::threads::stand_in::is_little;
use crate::threads::thread::watched::See;
use crate::threads::thread::Dispatch;
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
    turns: FxHashMap<u64, Event>,
    lines: FxHashMap<*const Actor, VecDeque<Event>>,
    /// How many events are in all lines.
    lined_up: usize,
}

/// Room of the tables that is kept: some hundred kilobytes. To grow them anew for each burst of turns takes longer than the rest.
const KEPT: usize = 1 << 13;

impl Away {
    pub(crate) fn new(most: usize, quota: Arc<Quota>) -> Away {
        Away {
            most,
            quota,
            turns: FxHashMap::default(),
            lines: FxHashMap::default(),
            lined_up: 0,
        }
    }

    /// How many events are in line.
    pub(crate) fn waiting(&self) -> usize {
        self.lined_up
    }

    fn is_full(&self) -> bool {
        self.turns.len() >= self.most
    }

    /// Shows every event.
    pub(crate) fn each(&self, mut show: impl FnMut(Event)) {
        self.turns.values().for_each(|event| show(*event));
        self.each_waiting(show);
    }

    /// Shows every event that waits in line: none whose turn is away.
    pub(crate) fn each_waiting(&self, mut show: impl FnMut(Event)) {
        self.lines.values().flatten().for_each(|event| show(*event));
    }

    /// The turn of an event goes away, and so does its actor.
    pub(crate) fn leaves(&mut self, number: u64, event: Event) {
        self.lines.entry(event.target).or_default();
        self.turns.insert(number, event);
    }

    /// Whether a turn of the actor is away.
    pub(crate) fn is_away(&self, actor: *const Actor) -> bool {
        self.lines.contains_key(&actor)
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

    /// What is next in the line of the actor whose turn of that number is away.
    fn behind(&self, number: u64) -> Option<Event> {
        let event = self.turns.get(&number)?;
        self.lines.get(&event.target)?.front().copied()
    }

    /// Takes the line of an actor, which is away no longer.
    fn take_line(&mut self, actor: *const Actor) -> VecDeque<Event> {
        let line = self.lines.remove(&actor).unwrap_or_default();
        self.shorten(line.len());
        if self.lines.is_empty() && self.lines.capacity() > KEPT {
            self.lines.shrink_to(KEPT);
            self.turns.shrink_to(KEPT);
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
    /// Whether a turn is away.
    pub(crate) fn is_anybody_away(&self) -> bool {
        let away = self.away.as_ref();
        away.is_some_and(|away| !away.turns.is_empty())
    }

    /// Whether what is queued has to wait until a turn that is away has ended.
    pub(crate) fn is_full_away(&self) -> bool {
        self.away.as_ref().is_some_and(|away| away.is_full())
    }

    /// Sends turns away for a batch.
    #[cold]
    pub(crate) fn run_batch_away(&mut self) -> TurnBatch {
        let mut batch = TurnBatch::of(self.turn.queue.len());
        self.turn.leaving.look_again();
        // What came in between was accepted before.
        self.turn.queue.forgive();
        let over = |thread: &Dispatch| {
            thread.is_paused() || thread.is_full_away() || thread.leaves_to_thread()
        };
        while !over(self) && batch.units < self.load.batch {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            self.send_away(event);
            batch.units += 1;
            batch.turns += 1;
        }
        batch
    }

    /// An event is next, and one more turn may be away: its turn goes, or waits for the one of its actor that is away.
    pub(crate) fn send_away(&mut self, event: Event) {
        let is_away = self.away.as_mut().is_some_and(|away| away.line_up(event));
        if !is_away {
            self.go(event);
        }
    }

    /// The turn of an event whose actor is not away goes, if it is this thread's to run; whether it is. A stand-in leaves it to the
    /// thread if much would have to be written for it.
    fn go(&mut self, event: Event) -> bool {
        if !self.may_run(event) {
            return false;
        }
        if self.lent.stands_in && !self.has_line(event) && !is_little(self.given_to(event)) {
            self.turn.queue.prepend(&[event]);
            self.lent.postponed = true;
            return true;
        }
        let number = numbered(self.context.station.number);
        if let Some(away) = &mut self.away {
            away.leaves(number, event);
        }
        let context = &self.context;
        // Invariant 4.
        context.machine.quiescence().add(1);
        let program = &self.turn.around.program;
        let id = header(&event).behaviour();
        let code = program.behaviour(id);
        let turn = TurnAway {
            number,
            sponsor: context.sponsor.name,
            behaviour: program.name(id),
            version: code.hash,
            away_only: code.away_only,
            actor: ActorRef::new(event.target),
            captures: actor(&event)
                .captured(code.captures as usize)
                .map(Term::new)
                .collect(),
            message: Term::new(event.message),
        };
        context
            .machine
            .embedder()
            .begin_turn(&context.machine, turn);
        true
    }

    /// Whether its actor comes back just now: what is next for it was looked at with the end (`is_followed_by_little`).
    fn has_line(&self, event: Event) -> bool {
        let away = self.away.as_ref();
        away.is_some_and(|away| away.lines.contains_key(&event.target))
    }

    /// What the turn of an event is given: captures and message.
    fn given_to(&self, event: Event) -> impl Iterator<Item = Term<'_>> {
        let behaviour = header(&event).behaviour();
        let captures = self.turn.around.program.behaviour(behaviour).captures;
        let captures = actor(&event).captured(captures as usize);
        captures.chain([event.message]).map(Term::new)
    }

    /// Whether the turn that begins when that one has ended is given little; also where none does.
    pub(crate) fn is_followed_by_little(&self, ended: &TurnEnd) -> bool {
        let away = self.away.as_ref();
        let next = away.and_then(|away| away.behind(ended.number));
        next.is_none_or(|event| is_little(self.given_to(event)))
    }

    /// Ends turns that were away and have ended, in their order, for as long as `may` says so of the next one.
    pub(crate) fn end_turns(&mut self, may: impl Fn(&Dispatch, &TurnEnd) -> bool) {
        while let Some(ended) = self.duties.ended.pop_front() {
            if !may(self, &ended) {
                return self.duties.ended.push_front(ended);
            }
            self.turn_ended(ended.number, ended.outcome);
        }
    }

    /// A turn that was away has ended; its actor comes back.
    fn turn_ended(&mut self, number: u64, outcome: Outcome) {
        let away = self.away.as_mut();
        let Some(event) = away.and_then(|away| away.turns.remove(&number)) else {
            // Invariant 2; or the sponsor is removed, and this is another thread.
            return;
        };
        self.turn.queue.forgive();
        let traces = self.context.machine.attention().traces();
        match outcome {
            Outcome::Here => self.watched_turn(event, &traces),
            outcome => self.watched(event, &traces, |thread, see| {
                thread.end_turn(event, outcome, see)
            }),
        };
        let position = self.turn.queue.position();
        self.turn.savepoint.queue = position;
        self.come_back(event.target);
        self.context.machine.quiescence().done(1);
    }

    /// What waits for an actor that is back goes on: the first turn goes away, the others stay in line; or all of it on its way to
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

    /// Does here what a turn has done while away, and commits it.
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
        // If there was no memory, this is not a value, and must not be looked into.
        let values = Some(values).filter(|values| !values.is_none())?;
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
        let here = Value::atom(self.context.sponsor.name);
        let mut made = Vec::new();
        for step in steps {
            let turn = &mut self.turn;
            made.push(match step {
                Effect::Create(behaviour, sponsor, _) => {
                    let id = behaviour.as_ref().map_or(BehaviourId::SINK, |b| b.id);
                    let away_only = turn.around.program.behaviour(id).away_only;
                    let sponsor = sponsor.map(Value::atom);
                    match sponsor.or(away_only.then_some(here)) {
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

    /// The sponsor is removed: what is away will not be heard any more, and all of it is queued again.
    pub(crate) fn call_off(&mut self) {
        let Some(mut away) = self.away.take() else {
            return;
        };
        self.context
            .machine
            .embedder()
            .call_off(self.context.sponsor.name);
        let count = away.turns.len();
        let mut numbers: Vec<u64> = away.turns.keys().copied().collect();
        numbers.sort_unstable();
        let mut events = Vec::new();
        for number in numbers {
            let event = away.turns[&number];
            events.push(event);
            events.extend(away.take_line(event.target));
        }
        self.turn.queue.prepend(&events);
        self.context.machine.quiescence().done(count);
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::boundary::parcel::{Builder, Parcel};
    use crate::heap::block::BLOCK;
    use crate::testing::still::Still;

    /// A thread that never runs, and may have `most` turns away at once.
    fn still(most: usize) -> Still {
        still_within(most, usize::MAX)
    }

    fn still_within(most: usize, memory: usize) -> Still {
        let mut still = Still::within(1, memory);
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
        thread.context.machine.quiescence().add(1);
        let away_turns = thread.away.as_mut().expect("a thread of those");
        away_turns.leaves(1, event(away));
        (0..2).for_each(|_| assert!(away_turns.line_up(event(away))));
        thread.context.machine.pause();
        thread.turn_ended(1, Outcome::Ignored);
        let queued = thread.turn.queue.len();
        thread.seeded.senders.keep_up(queued, std::ptr::null());
        // Of the two that waited in line the second may not overtake the first. Those of the two senders may overtake each other.
        let may_be_next = thread.seeded.senders.may_be_next(&thread.turn.queue);
        assert_eq!((queued, may_be_next), (4, vec![0, 2, 3]));
        while thread.turn.queue.pop().is_some() {}
    }

    #[test]
    fn what_waits_for_an_actor_does_not_overtake_its_turn_that_is_to_run_again() {
        let mut still = still(1);
        let thread = &mut still.thread;
        let [one] = actors(thread);
        let numbered = |n| Event {
            target: one,
            message: Value::fixnum(n),
        };
        thread.context.machine.quiescence().add(1);
        let away = thread.away.as_mut().expect("a thread of those");
        away.leaves(1, numbered(1));
        (2..4).for_each(|n| assert!(away.line_up(numbered(n))));
        // Its sponsor is removed, and so a turn that finds its actor moved has to begin again.
        thread.context.sponsor.removed.store(true, Relaxed);
        thread.context.machine.pause();
        thread.turn_ended(1, Outcome::Aborted(Parcel::atom(Atom::MOVED)));
        let queued = std::iter::from_fn(|| thread.turn.queue.pop());
        let order: Vec<Value> = queued.map(|event| event.message).collect();
        assert_eq!(order, [1, 2, 3].map(Value::fixnum));
    }

    #[test]
    fn effects_that_find_no_memory_abort_their_turn() {
        let memory = 32 * BLOCK;
        let mut still = still_within(1, memory);
        let quota = still.machine.pool().quota.clone();
        let thread = &mut still.thread;
        let [one] = actors(thread);
        // More than what is left of the block that the heap has at present.
        let count = BLOCK;
        let mut values = Builder::new();
        (0..count).for_each(|_| values.atom(Atom::NIL));
        values.tuple(count);
        let effects = Effects {
            steps: (0..count / 2).map(|_| Effect::Send).collect(),
            values: Some(values.finish()),
        };
        thread.context.machine.quiescence().add(1);
        let away = thread.away.as_mut().expect("a thread of those");
        away.leaves(1, event(one));
        quota.take_anyway(memory);
        thread.turn_ended(1, Outcome::Done(effects));
        quota.give(memory);
        let counts = &thread.turn.counts;
        assert_eq!((counts.aborts_no_memory, counts.sends), (1, 0));
        assert!(!thread.is_anybody_away() && thread.turn.queue.is_empty());
    }
}
