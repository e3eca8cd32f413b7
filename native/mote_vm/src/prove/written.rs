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
use super::parts::{Component, Components, TooLarge};
use super::situation::{is_safe, SentBy, Situation, WaitingEvent};
use crate::boundary::parcel;
use crate::code::program::Program;
use crate::values::value::Value;
use crate::watching::reach::captures;
use smallvec::{smallvec, SmallVec};
use std::ops::Range;

/// Senders as they are written: anybody, the actor itself, then those that send nothing more; with this bit, the number of an actor.
pub(super) const ACTOR: u32 = 1 << 31;
pub(super) const ANY: u32 = 0;
pub(super) const ITSELF: u32 = 1;
pub(super) const GONE: u32 = 2;

/// The words before those of the actors.
pub(super) const HEAD: usize = 3;

/// A situation, and where in it the events have gone that waited, from the first one written.
pub(super) struct WrittenDown {
    pub(super) words: Box<[Value]>,
    pub(super) places: Vec<u32>,
}

/// The kind of a row of events, in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RowKind {
    GivenBack,
    Single,
    /// Of one sender that sends nothing more.
    OfGone,
    /// Of the actor with that number.
    OfActor(u32),
}

/// Events for one actor that keep their order.
struct EventRow {
    target: u32,
    kind: RowKind,
    sender: SentBy,
    events: SmallVec<[usize; 2]>,
}

/// Writes a situation down.
pub(super) fn write(
    situation: &Situation,
    program: &Program,
    parts: &mut Components,
) -> Result<WrittenDown, TooLarge> {
    parts.begin();
    let numbering = Numbering::new(situation, program, parts)?;
    let mut writer = SituationWriter {
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
    Ok(WrittenDown { words, places })
}

/// The words that say target and sender of each event.
fn heads(rows: &[EventRow]) -> Vec<Value> {
    let mut gone = GONE;
    let mut heads = Vec::new();
    for row in rows {
        let sender = match row.kind {
            RowKind::GivenBack => ITSELF,
            RowKind::Single => ANY,
            RowKind::OfActor(number) => ACTOR | number,
            RowKind::OfGone => {
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
) -> Vec<EventRow> {
    let mut rows: Vec<EventRow> = Vec::new();
    for (at, WaitingEvent { target, sender, .. }) in situation.pending.iter().enumerate() {
        // Invariant 1 of the numbering.
        let number = numbering.of(*target).unwrap_or(u32::MAX);
        let kind = match sender {
            SentBy::Itself => RowKind::GivenBack,
            SentBy::Any => RowKind::Single,
            _ if is_safe(program, *target) => RowKind::Single,
            SentBy::Gone(_) => RowKind::OfGone,
            SentBy::Actor(actor) => numbering
                .of(*actor)
                .map_or(RowKind::OfGone, RowKind::OfActor),
        };
        let is_same =
            |row: &&mut EventRow| (row.target, row.kind, row.sender) == (number, kind, *sender);
        match rows
            .iter_mut()
            .find(is_same)
            .filter(|_| kind != RowKind::Single)
        {
            Some(row) => row.events.push(at),
            None => rows.push(EventRow {
                target: number,
                kind,
                sender: *sender,
                events: smallvec![at],
            }),
        }
    }
    for row in &mut rows {
        // Nothing comes before it or after it.
        if row.kind == RowKind::OfGone && row.events.len() == 1 {
            row.kind = RowKind::Single;
        }
    }
    let words = |row: &EventRow| -> Vec<u64> {
        let words = row.events.iter().flat_map(|at| message(*at));
        words.map(|value| value.word()).collect()
    };
    rows.sort_by(|a, b| {
        let size = |row: &EventRow| (row.target, row.kind, row.events.len());
        size(a).cmp(&size(b)).then_with(|| words(a).cmp(&words(b)))
    });
    rows
}

struct SituationWriter<'p> {
    numbering: &'p Numbering,
    parts: &'p mut Components,
    words: Vec<Value>,
}

impl SituationWriter<'_> {
    fn range(&mut self, value: Value) -> Result<Range<usize>, TooLarge> {
        let from = self.words.len();
        self.value(value)?;
        Ok(from..self.words.len())
    }

    fn value(&mut self, value: Value) -> Result<(), TooLarge> {
        let SituationWriter {
            numbering, words, ..
        } = self;
        self.parts.each(value, |part| {
            let command = match part {
                Component::Word(value) => return words.push(value),
                // All are numbered that anything names.
                Component::Address(actor) => {
                    let number = numbering.of(actor).unwrap_or(u32::MAX);
                    (parcel::MADE, number as usize)
                }
                Component::Tuple(n) => (parcel::TUPLE, n),
                Component::Function(what, n) => {
                    words.push(what);
                    (parcel::FUNCTION, n)
                }
                Component::List(n) => (parcel::LIST, n),
                Component::Map(n) => (parcel::MAP, n),
                Component::On => (parcel::ON, 0),
                Component::Foreign(number) => (parcel::FOREIGN, number as usize),
                Component::Float(bits) => {
                    words.push(Value::from_word(bits));
                    (parcel::FLOAT, 0)
                }
                Component::Bytes(bytes) => {
                    words.extend(bytes.chunks(8).map(|chunk| {
                        let mut word = [0; 8];
                        word[..chunk.len()].copy_from_slice(chunk);
                        Value::from_word(u64::from_ne_bytes(word))
                    }));
                    (parcel::BYTES, bytes.len())
                }
                Component::Integer(big) => {
                    words.extend(big.limbs().iter().map(|limb| Value::from_word(*limb)));
                    (
                        parcel::INTEGER,
                        2 * big.limbs().len() + usize::from(big.is_negative()),
                    )
                }
                Component::Timer(id) => {
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
