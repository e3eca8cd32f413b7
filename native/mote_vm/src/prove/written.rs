//! A situation, written down: the same words for all that differ in nothing but where their actors lie.
//!
//! ```text
//! number of actors; of events that wait; of messages heard
//! for each actor   its behaviour
//! for each event   its target, and its sender above
//! for each message the foreign value that heard it
//! values           captures, messages that wait, messages heard, as in a parcel (boundary/parcel.rs)
//! ```
//!
//! Invariants:
//! 1. The words say everything that the turns to come depend on, and what the outside has heard: situations with the same
//!    words have the same future.
//! 2. The order of events is written only where it counts: events without an order are written by their words.
use super::numbering::Numbering;
use super::parts::{Part, Parts, TooLarge};
use super::situation::{is_safe, Pending, Sender, Situation};
use crate::boundary::parcel;
use crate::code::program::Program;
use crate::values::value::Value;
use crate::watching::reach::captures;
use std::ops::Range;

/// Senders as they are written: anybody, the actor itself, then those that send nothing more; with this bit, the number of an actor.
pub(super) const ACTOR: u32 = 1 << 31;
pub(super) const ANY: u32 = 0;
pub(super) const ITSELF: u32 = 1;
pub(super) const GONE: u32 = 2;

/// The words before those of the actors.
pub(super) const HEAD: usize = 3;

/// A situation, and where in it the events have gone that waited, from the first one written.
pub(super) struct Written {
    pub(super) words: Box<[Value]>,
    pub(super) places: Vec<u32>,
}

/// The kind of a row of events, in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    GivenBack,
    Single,
    /// Of one sender that sends nothing more.
    OfGone,
    /// Of the actor with that number.
    OfActor(u32),
}

/// Events for one actor that keep their order.
struct Row {
    target: u32,
    kind: Kind,
    sender: Sender,
    events: Vec<usize>,
}

/// Writes a situation down.
pub(super) fn write(
    situation: &Situation,
    program: &Program,
    parts: &mut Parts,
) -> Result<Written, TooLarge> {
    parts.begin();
    let numbering = Numbering::new(situation, program, parts)?;
    let mut writer = Writer {
        numbering: &numbering,
        parts,
        words: Vec::new(),
    };
    let mut messages = Vec::with_capacity(situation.pending.len());
    for pending in &situation.pending {
        messages.push(writer.range(pending.message)?);
    }
    let written = std::mem::take(&mut writer.words);
    let rows = rows(situation, program, &numbering, |at| {
        &written[messages[at].clone()]
    });
    let mut heard: Vec<usize> = (0..situation.heard.len()).collect();
    heard.sort_by_key(|at| situation.heard[*at].by);

    let counts = [numbering.actors.len(), situation.pending.len(), heard.len()];
    let words = &mut writer.words;
    words.reserve(HEAD + 3 * (counts[0] + counts[1]) + written.len());
    words.extend(counts.map(|n| Value::from_word(n as u64)));
    // SAFETY: actors of a situation are live.
    let actors = || numbering.actors.iter().map(|actor| unsafe { &**actor });
    words.extend(actors().map(|actor| Value::from_word(actor.header().behaviour().0.into())));
    words.extend(heads(&rows));
    words.extend(
        heard
            .iter()
            .map(|at| Value::from_word(situation.heard[*at].by.into())),
    );
    for actor in actors() {
        for capture in captures(program, actor) {
            writer.value(capture)?;
        }
    }
    let places: Vec<u32> = rows
        .iter()
        .flat_map(|row| &row.events)
        .map(|at| *at as u32)
        .collect();
    for at in &places {
        let range = messages[*at as usize].clone();
        writer.words.extend_from_slice(&written[range]);
    }
    for at in heard {
        writer.value(situation.heard[at].message)?;
    }
    let words = writer.words.into_boxed_slice();
    Ok(Written { words, places })
}

/// The words that say target and sender of each event.
fn heads(rows: &[Row]) -> Vec<Value> {
    let mut gone = GONE;
    let mut heads = Vec::new();
    for row in rows {
        let sender = match row.kind {
            Kind::GivenBack => ITSELF,
            Kind::Single => ANY,
            Kind::OfActor(number) => ACTOR | number,
            Kind::OfGone => {
                gone += 1;
                gone - 1
            }
        };
        let head = u64::from(row.target) | u64::from(sender) << 32;
        heads.extend(row.events.iter().map(|_| Value::from_word(head)));
    }
    heads
}

/// The rows of all events, in the order in which they are written.
fn rows<'w>(
    situation: &Situation,
    program: &Program,
    numbering: &Numbering,
    message: impl Fn(usize) -> &'w [Value],
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, Pending { target, sender, .. }) in situation.pending.iter().enumerate() {
        // Invariant 1 of the numbering.
        let number = numbering.of(*target).unwrap_or(u32::MAX);
        let kind = match sender {
            Sender::Itself => Kind::GivenBack,
            Sender::Any => Kind::Single,
            _ if is_safe(program, *target) => Kind::Single,
            Sender::Gone(_) => Kind::OfGone,
            Sender::Actor(actor) => numbering.of(*actor).map_or(Kind::OfGone, Kind::OfActor),
        };
        let is_same =
            |row: &&mut Row| (row.target, row.kind, row.sender) == (number, kind, *sender);
        match rows
            .iter_mut()
            .find(is_same)
            .filter(|_| kind != Kind::Single)
        {
            Some(row) => row.events.push(at),
            None => rows.push(Row {
                target: number,
                kind,
                sender: *sender,
                events: vec![at],
            }),
        }
    }
    for row in &mut rows {
        // Nothing comes before it or after it.
        if row.kind == Kind::OfGone && row.events.len() == 1 {
            row.kind = Kind::Single;
        }
    }
    let words = |row: &Row| -> Vec<u64> {
        let words = row.events.iter().flat_map(|at| message(*at));
        words.map(|value| value.word()).collect()
    };
    rows.sort_by(|a, b| {
        let size = |row: &Row| (row.target, row.kind, row.events.len());
        size(a).cmp(&size(b)).then_with(|| words(a).cmp(&words(b)))
    });
    rows
}

struct Writer<'p> {
    numbering: &'p Numbering,
    parts: &'p mut Parts,
    words: Vec<Value>,
}

impl Writer<'_> {
    fn range(&mut self, value: Value) -> Result<Range<usize>, TooLarge> {
        let from = self.words.len();
        self.value(value)?;
        Ok(from..self.words.len())
    }

    fn value(&mut self, value: Value) -> Result<(), TooLarge> {
        let Writer {
            numbering, words, ..
        } = self;
        self.parts.each(value, |part| {
            let command = match part {
                Part::Word(value) => return words.push(value),
                // All are numbered that anything names.
                Part::Address(actor) => {
                    let number = numbering.of(actor).unwrap_or(u32::MAX);
                    (parcel::MADE, number as usize)
                }
                Part::Tuple(n) => (parcel::TUPLE, n),
                Part::List(n) => (parcel::LIST, n),
                Part::Map(n) => (parcel::MAP, n),
                Part::On => (parcel::ON, 0),
                Part::Foreign(number) => (parcel::FOREIGN, number as usize),
                Part::Float(bits) => {
                    words.push(Value::from_word(bits));
                    (parcel::FLOAT, 0)
                }
                Part::Bytes(bytes) => {
                    words.extend(bytes.chunks(8).map(|chunk| {
                        let mut word = [0; 8];
                        word[..chunk.len()].copy_from_slice(chunk);
                        Value::from_word(u64::from_ne_bytes(word))
                    }));
                    (parcel::BYTES, bytes.len())
                }
                Part::Integer(big) => {
                    words.extend(big.limbs().iter().map(|limb| Value::from_word(*limb)));
                    (
                        parcel::INTEGER,
                        2 * big.limbs().len() + usize::from(big.is_negative()),
                    )
                }
                Part::Timer(id) => {
                    words.push(Value::from_word(id.serial));
                    (
                        parcel::TIMER,
                        (id.thread as usize) << 32 | id.place as usize,
                    )
                }
            };
            words.push(parcel::command(command.0, command.1));
        })
    }
}
