//! Turns that come back: what they have done is staged and committed, and what waited for their actors goes on (away.rs has
//! the invariants).
use crate::base::atom::Atom;
use crate::boundary::turn_away::{Effect, Effects, Outcome, TurnEnd};
use crate::threads::stand_in::is_little;
use crate::threads::thread::watched::See;
use crate::threads::thread::Dispatch;
use crate::turns::interpreter::{Aborted, End};
use crate::turns::queue::Event;
use crate::turns::turn::at_commit::Due;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::value::Value;

impl Dispatch {
    /// Returns whether the turn that begins when this one has ended receives little. True if none begins.
    pub(crate) fn is_followed_by_little(&self, ended: &TurnEnd) -> bool {
        let away = self.away.as_ref();
        let next = away.and_then(|away| away.lines.behind(ended.number));
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
    pub(super) fn turn_ended(&mut self, number: u64, outcome: Outcome) {
        let away = self.away.as_mut();
        let Some(event) = away.and_then(|away| away.lines.ended(number)) else {
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
        self.context.machine.quiescence().come_back(1);
    }

    /// Resumes the events that wait for an actor that is back. The first turn goes away and the others stay in line; or all
    /// of them leave for where the actor is wanted.
    fn come_back(&mut self, target: *const Actor) {
        if self.is_paused() {
            let line = self.away.as_mut().map(|away| away.lines.take_line(target));
            let line = line.unwrap_or_default();
            self.turn.queue.prepend(&line);
            return self.seeded.senders.precede(line.len());
        }
        while let Some(event) = self.next_in_line(target) {
            if self.go(event) {
                return;
            }
        }
    }

    fn next_in_line(&self, target: *const Actor) -> Option<Event> {
        self.away.as_ref()?.lines.next_for(target)
    }

    /// Does here what a turn has done while away, and commits it.
    fn end_turn(&mut self, event: Event, outcome: Outcome, see: See<'_>) -> u64 {
        let program = self.turn.around.program.clone();
        let behaviour = program.behaviour(event.header().behaviour());
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
                Effect::SendAfter(Some(ms)) => {
                    self.turn.arm(made.next()?, Due::After(ms), next(), next());
                }
                Effect::Monitor => {
                    let process = Due::End(next());
                    self.turn.arm(made.next()?, process, next(), next());
                }
                Effect::CancelTimer => {
                    self.turn.cancel_timer(next());
                }
                Effect::Unstash(comes_again) => {
                    let mut kept = next();
                    if comes_again {
                        kept = self.turn.heap.cons(event.message, kept);
                    }
                    if kept.is_none() {
                        return None;
                    }
                    self.turn.at_commit.stash.put(kept, &mut self.turn.unusual);
                }
                Effect::Become(behaviour, n) => {
                    let state = self.turn.heap.captures(n, |_| next())?;
                    let id = behaviour.map_or(BehaviourId::SINK, |behaviour| behaviour.id);
                    self.turn.see_place(id, event.header().pinned());
                    self.turn.become_next(id, state);
                }
            }
        }
        Some(())
    }

    /// Creates what a turn has made, still without contents, so that everything can refer to it.
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
                Effect::SendAfter(Some(_)) | Effect::Monitor => turn.timer(),
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
        let mut numbers = away.lines.numbers();
        let count = numbers.len();
        numbers.sort_unstable();
        let events = numbers.into_iter().flat_map(|n| away.take_turn(n));
        let events: Vec<Event> = events.collect();
        self.turn.queue.prepend(&events);
        self.context.machine.quiescence().come_back(count);
    }

    /// The actor has become another between two turns: one of it that is away will not be heard any more, and begins anew.
    pub(crate) fn call_back(&mut self, actor: *const Actor) {
        let Some(away) = self.away.as_mut() else {
            return;
        };
        let Some(number) = away.lines.number_of(actor) else {
            return;
        };
        let events = away.take_turn(number);
        self.turn.queue.prepend(&events);
        self.seeded.senders.precede(events.len());
        self.context.machine.quiescence().come_back(1);
    }
}
