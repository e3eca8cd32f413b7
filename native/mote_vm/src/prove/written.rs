//! A situation, written down: the same bytes for all that differ in nothing but the numbers of their actors.
//!
//! ```text
//! number of actors; of events that wait; of messages heard
//! for each actor   its shape, and whom that names
//! for each event   its target, its sender, its shape, and whom that names
//! for each message the foreign value that heard it, its shape, and whom that names
//! for armed timers what is known of when they are due (timing.rs)
//! the processes that have ended
//! ```
//!
//! Invariants:
//! 1. The bytes say everything that the turns to come depend on, and what the outside has heard: situations with the same
//!    bytes have the same future.
//! 2. The order of events is written only where it counts: events without an order are written by what they are.
use super::compact::{take, RoomyBytes, LONGEST};
use super::numbering::{Numbering, NOBODY};
use super::shapes::Shapes;
use super::situation::{Heard, Named, SentBy, Situation, WaitingEvent};
use std::cmp::Ordering;

/// Rows of events, in the order in which they are written, with what tells those of one kind apart: the number of the actor that
/// sends them, the rank of the row among others of senders that send nothing more, or the shape of a single event.
const GIVEN_BACK: u64 = 0;
const SINGLE: u64 = 1;
const OF_GONE: u64 = 2;
const OF_ACTOR: u64 = 3;
const COPY: u64 = 4;
const OF_CLOCK: u64 = 5;
/// One row of all targets, behind all others.
const ARMED: u64 = 6;
const ANY_TARGET: u32 = (1 << 29) - 1;

/// An event on its way to its place.
#[derive(Clone, Copy)]
struct Placed {
    /// Its target, its kind, and what tells it from others of that, from the highest bits on.
    key: u64,
    at: u32,
}

const TARGET: u32 = 35;
const KIND: u32 = 32;

impl Placed {
    #[inline]
    fn new(target: u32, kind: u64, of: u32, at: u32) -> Placed {
        let key = u64::from(target) << TARGET | kind << KIND | u64::from(of);
        Placed { key, at }
    }

    #[inline]
    fn kind(&self) -> u64 {
        self.key >> KIND & 7
    }

    fn sender(&self) -> SentBy {
        match self.kind() {
            GIVEN_BACK => SentBy::ITSELF,
            SINGLE => SentBy::ANY,
            COPY => SentBy::COPY,
            OF_CLOCK => SentBy::CLOCK,
            ARMED => SentBy::ARMED,
            OF_GONE => SentBy::gone(self.key as u32),
            _ => SentBy::actor(self.key as u32),
        }
    }
}

/// Writes situations, and keeps its room from one to the next.
#[derive(Default)]
pub(super) struct SituationWriter {
    numbering: Numbering,
    placed: Vec<Placed>,
    /// Rows of senders that send nothing more: target and sender, and the events.
    rows: Vec<(u32, SentBy, Vec<u32>)>,
}

impl SituationWriter {
    /// Writes a situation down behind what is there, of whose actors the outside holds the first `roots`.
    pub(super) fn write(
        &mut self,
        situation: &Situation,
        roots: usize,
        shapes: &Shapes,
        bytes: &mut RoomyBytes,
    ) {
        self.numbering.number(situation, roots, shapes);
        self.place(situation, shapes);
        // Names may be written twice, where an event comes again.
        bytes.make_room(LONGEST * (3 + 4 * situation.size()));
        let numbering = &self.numbering;
        let counts = [
            numbering.actors.len(),
            situation.pending.len(),
            situation.heard.len(),
        ];
        counts.iter().for_each(|count| bytes.put(*count as u32));
        let value = |bytes: &mut RoomyBytes, value: Named| {
            bytes.put(value.shape);
            let names = situation.names(value).iter();
            names.for_each(|name| bytes.put(numbering.of(*name)));
        };
        for actor in &numbering.actors {
            value(bytes, situation.actors[*actor as usize]);
        }
        for placed in &self.placed {
            let event = situation.pending[placed.at as usize];
            bytes.put(numbering.of(event.target));
            bytes.put(placed.sender().code());
            value(bytes, event.message);
        }
        for Heard { by, message } in &situation.heard {
            bytes.put(*by);
            value(bytes, *message);
        }
        situation.bounds.write(|number| bytes.put(number));
        situation
            .ended
            .iter()
            .for_each(|process| bytes.put(*process));
    }

    /// Of the events as they were written last, their places before.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.placed.iter().map(|placed| placed.at as usize)
    }

    /// Finds the order in which events are written.
    fn place(&mut self, situation: &Situation, shapes: &Shapes) {
        self.placed.clear();
        self.rows.clear();
        for (at, event) in situation.pending.iter().enumerate() {
            let WaitingEvent { target, sender, .. } = *event;
            let number = |actor| Some(self.numbering.of(actor)).filter(|number| *number != NOBODY);
            let is_safe = || shapes.of(situation.actors[target as usize].shape).is_safe;
            let (shape, at) = (event.message.shape, at as u32);
            let (kind, of) = match sender {
                SentBy::ITSELF => (GIVEN_BACK, 0),
                SentBy::ANY => (SINGLE, shape),
                SentBy::COPY => (COPY, shape),
                SentBy::ARMED => {
                    self.placed.push(Placed::new(ANY_TARGET, ARMED, 0, at));
                    continue;
                }
                _ if is_safe() => (SINGLE, shape),
                SentBy::CLOCK => (OF_CLOCK, 0),
                // One without a number sends nothing more.
                _ => match sender.as_actor().and_then(number) {
                    Some(number) => (OF_ACTOR, number),
                    None => {
                        let mut rows = self.rows.iter_mut();
                        match rows.find(|row| (row.0, row.1) == (target, sender)) {
                            Some(row) => row.2.push(at),
                            None => self.rows.push((target, sender, vec![at])),
                        }
                        continue;
                    }
                },
            };
            self.placed
                .push(Placed::new(self.numbering.of(target), kind, of, at));
        }
        if !self.rows.is_empty() {
            self.place_rows(situation);
        }
        let numbering = &self.numbering;
        self.placed.sort_unstable_by(|a, b| {
            let looks = || match a.kind() {
                SINGLE | COPY => compared(situation, numbering, a.at, b.at),
                _ => Ordering::Equal,
            };
            let rows = a.key.cmp(&b.key);
            rows.then_with(looks).then(a.at.cmp(&b.at))
        });
    }

    /// Places the rows of senders that send nothing more.
    fn place_rows(&mut self, situation: &Situation) {
        let SituationWriter {
            numbering,
            placed,
            rows,
            ..
        } = self;
        rows.sort_by(|a, b| {
            let size = |row: &(u32, SentBy, Vec<u32>)| (numbering.of(row.0), row.2.len());
            let mut pairs = a.2.iter().zip(&b.2);
            let looks = || {
                let unlike = |(a, b): (&u32, &u32)| {
                    Some(compared(situation, numbering, *a, *b)).filter(|how| how.is_ne())
                };
                pairs.find_map(unlike).unwrap_or(Ordering::Equal)
            };
            size(a).cmp(&size(b)).then_with(looks)
        });
        let mut rank = 0;
        for (target, _, events) in rows.iter() {
            let target = numbering.of(*target);
            match events[..] {
                // Nothing comes before it or after it.
                [at] => {
                    let shape = situation.pending[at as usize].message.shape;
                    placed.push(Placed::new(target, SINGLE, shape, at));
                }
                _ => {
                    placed.extend(
                        events
                            .iter()
                            .map(|at| Placed::new(target, OF_GONE, rank, *at)),
                    );
                    rank += 1;
                }
            }
        }
    }
}

/// Compares the messages of two events by what they are.
fn compared(situation: &Situation, numbering: &Numbering, a: u32, b: u32) -> Ordering {
    let [a, b] = [a, b].map(|at| situation.pending[at as usize].message);
    let names = |of: Named| situation.names(of).iter().map(|name| numbering.of(*name));
    a.shape.cmp(&b.shape).then_with(|| names(a).cmp(names(b)))
}

/// Reads a situation that was written down.
pub(super) fn read(mut bytes: &[u8], shapes: &Shapes, situation: &mut Situation) {
    let bytes = &mut bytes;
    situation.clear();
    let [actors, pending, heard] = [0; 3].map(|_| take(bytes));
    for _ in 0..actors {
        let actor = value(bytes, shapes, situation);
        situation.actors.push(actor);
    }
    for _ in 0..pending {
        let (target, sender) = (take(bytes), SentBy::of_code(take(bytes)));
        let message = value(bytes, shapes, situation);
        situation.pending.push(WaitingEvent {
            target,
            sender,
            message,
        });
    }
    for _ in 0..heard {
        let by = take(bytes);
        let message = value(bytes, shapes, situation);
        situation.heard.push(Heard { by, message });
    }
    let timers = situation.rank(situation.pending.len());
    situation.bounds.read(timers, || take(bytes));
    while !bytes.is_empty() {
        situation.ended.push(take(bytes));
    }
}

fn value(bytes: &mut &[u8], shapes: &Shapes, situation: &mut Situation) -> Named {
    let shape = take(bytes);
    let count = shapes.of(shape).count;
    situation.named(shape, (0..count).map(|_| take(bytes)))
}
