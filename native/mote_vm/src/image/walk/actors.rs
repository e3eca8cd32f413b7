//! Writes actors: each after what it has captured.
//!
//! Invariants:
//! 1. Captures are written once, for all actors that share them.
use super::{HolderOf, ImageWalk};
use crate::image::record::Record;
use crate::look::holders::HeldIn;
use crate::platform::prefetch::prefetch;
use crate::turns::queue::Event;
use crate::values::actor::{captured, Actor, BehaviourId, Header};
use crate::values::value::Value;

/// Actors after which one is written whose captures are prefetched; it is itself as long before.
const AHEAD: usize = 8;

impl<'w> ImageWalk<'w> {
    /// Writes every actor that was met, and what these lead to.
    pub(crate) fn write_actors(&mut self) {
        while let Some(actor) = self.actors.get(self.written) {
            if self.out.refused {
                return;
            }
            self.look_ahead();
            // SAFETY: it was reached from the roots, while everything stands still or what was there is kept.
            self.write_actor(unsafe { &*actor });
            self.written += 1;
        }
    }

    /// Prefetches what is soon written: actors, and what they have captured.
    #[inline]
    fn look_ahead(&self) {
        if let Some(later) = self.actors.get(self.written + 2 * AHEAD) {
            prefetch(later.cast());
        }
        if let Some(soon) = self.actors.get(self.written + AHEAD) {
            // SAFETY: as above.
            let state = unsafe { &*soon }.state();
            if !state.is_immediate() {
                let cell = state.word() as *const u8;
                prefetch(cell);
                self.numbers.expect(cell);
            }
        }
    }

    /// Returns what an actor holds, or held.
    fn held(&mut self, actor: &Actor) -> (Header, Value) {
        match &mut self.moment {
            Some(moment) => moment.held(actor),
            None => (actor.header(), actor.state()),
        }
    }

    fn write_actor(&mut self, actor: &Actor) {
        let (header, state) = self.held(actor);
        let mut id = header.behaviour();
        let n = self.program.behaviour(id).captures as usize;
        self.holder = (HolderOf::Known(id), HeldIn::State);
        let (state, before) = match n {
            _ if n == self.held.parts() && self.program.name(id) == self.held => {
                let values = self.before_a_move(actor, state);
                id = values.0;
                match values.1 {
                    [] | [_] => (values.1.first().copied(), None),
                    captures => (None, Some(self.write_captures(captures))),
                }
            }
            // No socket goes on in another machine: what is sent to it there is told that it is closed.
            _ if id.is_socket() => (Some(Value::fixnum(-1)), None),
            _ if n > 1 => (None, Some(self.captures_of(n, state))),
            _ => ((n == 1).then_some(state), None),
        };
        if let Some(value) = state {
            self.behind(value);
        }
        self.out.byte(Record::Actor as u8);
        let behaviour = self.behaviour(id);
        self.out.varint(behaviour);
        let pinned = header.pinned();
        let pinned = pinned.map_or(0, |id| u64::from(self.sponsors.number(id)) + 1);
        self.out.varint(pinned);
        if let Some(value) = state {
            self.value(value);
        }
        before
            .into_iter()
            .for_each(|number| self.out.varint((self.captures - number).into()));
        self.out.settle();
    }

    /// Returns what an actor was that a move holds, with its captures, and keeps its messages: it is that again, since no move goes on in
    /// another machine.
    #[cold]
    fn before_a_move(&mut self, actor: &Actor, state: Value) -> (BehaviourId, &'w [Value]) {
        let held: Vec<Value> = captured(self.held.parts(), state).collect();
        let [was, before, _, kept] = held[..] else {
            return (BehaviourId::SINK, &[]);
        };
        let id = BehaviourId(before.as_fixnum().unwrap_or(0) as u32);
        self.holder.0 = HolderOf::Known(id);
        self.keep(actor, id, kept);
        (id, was.as_tuple().unwrap_or(&[]))
    }

    /// Keeps the messages of an actor that was held, the oldest first.
    fn keep(&mut self, actor: &Actor, id: BehaviourId, kept: Value) {
        let cells = std::iter::successors(kept.as_cons(), |(_, others)| others.as_cons());
        let mut messages: Vec<Value> = cells.map(|(message, _)| message).collect();
        messages.reverse();
        let target = std::ptr::from_ref(actor);
        let events = messages
            .into_iter()
            .map(|message| (Event { target, message }, id));
        self.kept.extend(events);
    }

    /// The number of the captures that a state points to, which are written once for all actors that share them.
    fn captures_of(&mut self, n: usize, state: Value) -> u32 {
        let cell = state.word() as *const u8;
        let number = self.numbers.of(cell);
        if *number != 0 {
            return *number;
        }
        // No captures are written before these are.
        *number = self.captures + 1;
        // SAFETY: the state of a behaviour with several captures points to as many.
        self.write_captures(unsafe { std::slice::from_raw_parts(cell.cast(), n) })
    }

    /// Mostly nothing is missing, so each value is looked up once.
    fn write_captures(&mut self, values: &[Value]) -> u32 {
        let record = self.out.next_record();
        if !self.write_values(Record::Captures, values) {
            self.out.take_back(record);
            values.iter().for_each(|value| self.behind(*value));
            self.write_values(Record::Captures, values);
        }
        self.captures += 1;
        self.out.settle();
        self.captures
    }
}
