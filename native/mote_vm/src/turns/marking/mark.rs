//! Marking: from the roots through everything they reach.
//!
//! Invariants:
//! 1. A cell is scanned by the marker that marks it, so each cell is scanned once.
//! 2. All granules of a cell are marked, so that holes between marks are free; of a large cell only the first.
//! 3. The stack, the window and the spans contain everything that this marker has met and not yet scanned.
use super::barrier::Reading;
use super::span::Span;
use crate::code::program::Program;
use crate::heap::block::{large_bytes, GRANULE, PAYLOAD};
use crate::heap::cell::cell_of;
use crate::heap::evacuation::trail::Trail;
use crate::heap::marks::{is_marked, mark};
use crate::heap::young::is_old;
use crate::turns::marking::visitor::Visitor;
use crate::values::actor::{Actor, Header};
use crate::values::value::Value;

/// Cells whose lines are on their way into the cache while others are scanned.
const WINDOW: usize = 16;
/// Cells with more parts are scanned piece by piece.
const WIDE: usize = 256;

/// Counts of what was met so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marked {
    pub(crate) actors: u64,
    pub(crate) bytes: usize,
    /// Values that were looked at.
    pub(crate) scanned: usize,
}

impl Marked {
    pub(crate) fn add(&mut self, other: Marked) {
        self.actors += other.actors;
        self.bytes += other.bytes;
        self.scanned += other.scanned;
    }

    fn cell(&mut self, granules: usize) {
        let bytes = granules * GRANULE;
        self.bytes += match bytes <= PAYLOAD {
            true => bytes,
            false => large_bytes(bytes).unwrap_or(bytes),
        };
    }
}

/// A thread that marks, with its stack of what it has still to scan. If it `RECORDS`, it writes down what refers to cells
/// that are to move.
pub(crate) struct Marker<'w, const RECORDS: bool> {
    program: &'w Program,
    reading: &'w Reading,
    number: u64,
    pub(crate) stack: Vec<Value>,
    pub(crate) spans: Vec<Span>,
    window: [Value; WINDOW],
    at: usize,
    found: Marked,
    pub(crate) trail: Trail,
}

impl<'w, const RECORDS: bool> Marker<'w, RECORDS> {
    /// A marker of that collection.
    pub(crate) fn new(program: &'w Program, reading: &'w Reading, number: u64) -> Self {
        Marker {
            program,
            reading,
            number,
            stack: Vec::new(),
            spans: Vec::new(),
            window: [Value::NONE; WINDOW],
            at: 0,
            found: Marked::default(),
            trail: Trail::default(),
        }
    }

    /// Scans up to `cells` cells; fewer when nothing is left, or spans had nothing for a while. How many are left of the
    /// number.
    pub(crate) fn run(&mut self, mut cells: usize) -> usize {
        // The window is empty when as many consecutive rounds as it has places brought nothing.
        let mut idle = 0;
        while cells > 0 {
            let next = self.next();
            if !next.is_none() {
                crate::platform::prefetch::prefetch(cell_of(next));
            }
            let ready = std::mem::replace(&mut self.window[self.at], next);
            self.at = (self.at + 1) % WINDOW;
            if !ready.is_none() {
                self.scan(ready);
                cells -= 1;
            }
            idle = if next.is_none() && ready.is_none() {
                idle + 1
            } else {
                0
            };
            if idle >= WINDOW {
                break;
            }
        }
        cells
    }

    #[inline(always)]
    fn next(&mut self) -> Value {
        if let Some(value) = self.stack.pop() {
            return value;
        }
        // One piece at a time: it may be empty, and so may be many that follow.
        if let Some(mut span) = self.spans.pop() {
            if RECORDS {
                span.show_parts(&mut self.trail);
            }
            let (is_roots, before) = (span.is_roots(), self.stack.len());
            if span.take(&mut self.stack) {
                self.spans.push(span);
            }
            if RECORDS && is_roots {
                self.trail.roots(&self.stack[before..]);
            }
            return self.stack.pop().unwrap_or(Value::NONE);
        }
        Value::NONE
    }

    /// Empties the window into the stack.
    pub(crate) fn empty_window(&mut self) {
        for value in &mut self.window {
            if !value.is_none() {
                self.stack.push(std::mem::replace(value, Value::NONE));
            }
        }
    }

    /// Takes the counts of what was found since the last time.
    pub(crate) fn found(&mut self) -> Marked {
        std::mem::take(&mut self.found)
    }

    #[inline(always)]
    fn scan(&mut self, value: Value) {
        let cell = cell_of(value);
        // Spares the steps below for what is marked already.
        if is_marked(cell, self.number) {
            return;
        }
        if value.is_address() {
            // SAFETY: a reachable actor is live.
            let actor = unsafe { &*value.address_pointer() };
            let held = self.reading.read(actor, || mark(cell, 1, self.number));
            if let Some(held) = held {
                let (stack, trail) = (&mut self.stack, &mut self.trail);
                let captures = self.program.behaviour(held.0.behaviour()).captures as usize;
                if RECORDS {
                    trail.state(actor.state_word(), held.1, captures);
                }
                held_parts(
                    (actor, captures),
                    self.number,
                    &mut self.found,
                    held,
                    |parts| {
                        if RECORDS && captures > 1 {
                            trail.parts(cell_of(held.1), parts, false);
                        }
                        parts.iter().for_each(|part| stack.value(*part));
                    },
                );
            }
        } else if let Some((head, tail)) = value.as_cons() {
            if mark(cell, 1, self.number) {
                self.found.cell(1);
                if RECORDS {
                    self.trail.parts(cell, value.cons_cell(), false);
                }
                self.stack.value(head);
                self.stack.value(tail);
            }
        } else if mark(cell, value.boxed_granules(), self.number) {
            self.found.cell(value.boxed_granules());
            let parts = value.boxed_parts();
            if parts.len() > WIDE {
                self.spans.push(Span::parts(cell, parts));
            } else {
                if RECORDS {
                    self.trail.parts(cell, parts, value.is_slice());
                }
                parts.iter().for_each(|part| self.stack.value(*part));
            }
            if parts.is_empty() {
                if let Some(foreign) = value.foreign_box() {
                    foreign.see(self.number);
                    self.found.bytes += foreign.value().external_bytes();
                }
            }
        }
    }
}

/// Shows what an actor that was just marked held, and marks its captures. A row of actors shares them (actor.rs, invariant 3): the
/// first that comes shows and counts them for all. They were there when the collection began, so nothing has marked them in
/// advance.
pub(crate) fn held_parts(
    (actor, captures): (&Actor, usize),
    number: u64,
    found: &mut Marked,
    (_, state): (Header, Value),
    show: impl FnOnce(&[Value]),
) {
    if !is_old(std::ptr::from_ref(actor).cast(), number) {
        found.actors += 1;
        found.cell(1);
    }
    match captures {
        0 => {}
        1 => show(&[state]),
        n => {
            let captures = state.word() as *const Value;
            let granules = n.div_ceil(2);
            if mark(captures.cast(), granules, number) {
                found.cell(granules);
                // SAFETY: the state points to as many captures as the behaviour has.
                show(unsafe { std::slice::from_raw_parts(captures, n) });
            }
        }
    }
}

/// Gathers what is to be scanned.
impl Visitor for Vec<Value> {
    #[inline(always)]
    fn value(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() {
            self.push(value);
        }
    }
}

const _: () = assert!(cfg!(loom) || std::mem::size_of::<Actor>() == GRANULE);
