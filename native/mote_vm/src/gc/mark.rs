//! Marking: from the roots through everything they reach.
//!
//! Invariants:
//! 1. A cell's first granule is marked when the cell is met first; so each cell is scanned once.
//! 2. All granules of a cell are marked, so that holes between marks are free. Of a large cell only the first.
//! 3. What waits on the stack or in the window is marked and not yet scanned.
use super::roots::Visitor;
use crate::actor::Actor;
use crate::code::program::Program;
use crate::heap::block::{Block, GRANULE, PAYLOAD};
use crate::heap::sweep::is_marked;
use crate::value::Value;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Cells whose lines are on their way into the cache while others are scanned.
const WINDOW: usize = 16;

/// See the head of this file.
pub(crate) struct Marker<'p> {
    program: &'p Program,
    stack: Vec<Value>,
    window: [Value; WINDOW],
    at: usize,
    actors: u64,
}

impl<'p> Marker<'p> {
    pub(crate) fn new(program: &'p Program) -> Marker<'p> {
        Marker {
            program,
            stack: Vec::new(),
            window: [Value::NONE; WINDOW],
            at: 0,
            actors: 0,
        }
    }

    /// Adds values to be scanned.
    pub(crate) fn take(&mut self, values: Vec<Value>) {
        if self.stack.is_empty() {
            self.stack = values;
        } else {
            self.stack.extend(values);
        }
    }

    /// Scans until nothing is left; `share` may take some of the stack away at any time.
    pub(crate) fn finish(&mut self, mut share: impl FnMut(&mut Vec<Value>)) {
        // The window is empty when as many rounds in a row as it has places brought nothing.
        let mut idle = 0;
        while idle < WINDOW {
            let next = self.stack.pop().unwrap_or(Value::NONE);
            if !next.is_none() {
                crate::dispatch::prefetch(cell_of(next));
                crate::dispatch::prefetch(mark_word(cell_of(next)).cast());
            }
            let ready = std::mem::replace(&mut self.window[self.at], next);
            self.at = (self.at + 1) % WINDOW;
            if ready.is_none() {
                idle = if next.is_none() { idle + 1 } else { 0 };
            } else {
                idle = 0;
                self.scan(ready);
                share(&mut self.stack);
            }
        }
    }

    /// Actors found live.
    pub(crate) fn actors(&self) -> u64 {
        self.actors
    }

    fn scan(&mut self, value: Value) {
        let cell = cell_of(value);
        if value.is_address() {
            if !mark_granules(cell, 1) {
                return;
            }
            self.actors += 1;
            // SAFETY: a reachable actor is live.
            let actor = unsafe { &*value.address_pointer() };
            let state = actor.state();
            match self.program.behaviour(actor.header().behaviour()).captures as usize {
                0 => {}
                1 => self.value(state),
                n => {
                    let captures = state.word() as *const Value;
                    // The captures are this actor's own (actor.rs, invariant 3): marked with it.
                    mark_granules(captures.cast(), n.div_ceil(2));
                    for i in 0..n {
                        // SAFETY: the state points to as many captures as the behaviour has.
                        self.value(unsafe { *captures.add(i) });
                    }
                }
            }
        } else if let Some((head, tail)) = value.as_cons() {
            if mark_granules(cell, 1) {
                self.value(head);
                self.value(tail);
            }
        } else if mark_granules(cell, value.boxed_granules()) {
            for part in value.boxed_parts() {
                self.value(*part);
            }
        }
    }
}

impl Marker<'_> {
    #[inline(always)]
    fn value(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() {
            self.stack.push(value);
        }
    }
}

/// Gathers the roots.
impl Visitor for Vec<Value> {
    fn value(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() {
            self.push(value);
        }
    }
}

/// Walks the heap again after marking, from the same roots, and insists that everything reachable is marked. For stress.
pub(crate) struct Checker<'p> {
    program: &'p Program,
    seen: rustc_hash::FxHashSet<u64>,
    stack: Vec<Value>,
}

impl<'p> Checker<'p> {
    pub(crate) fn new(program: &'p Program, roots: Vec<Value>) -> Checker<'p> {
        Checker {
            program,
            seen: roots.iter().map(|root| root.word()).collect(),
            stack: roots,
        }
    }

    pub(crate) fn finish(mut self) {
        while let Some(value) = self.stack.pop() {
            assert!(
                is_marked(cell_of(value)),
                "a reachable cell is not marked: {value:?}"
            );
            if value.is_address() {
                // SAFETY: a reachable actor is live.
                let actor = unsafe { &*value.address_pointer() };
                let n = self.program.behaviour(actor.header().behaviour()).captures as usize;
                match n {
                    0 => {}
                    1 => self.value(actor.state()),
                    _ => {
                        let captures = actor.state().word() as *const Value;
                        assert!(is_marked(captures.cast()), "captures are not marked");
                        for i in 0..n {
                            // SAFETY: as in `Marker::scan`.
                            self.value(unsafe { *captures.add(i) });
                        }
                    }
                }
            } else if let Some((head, tail)) = value.as_cons() {
                self.value(head);
                self.value(tail);
            } else {
                for part in value.boxed_parts() {
                    self.value(*part);
                }
            }
        }
    }
}

impl Checker<'_> {
    fn value(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() && self.seen.insert(value.word()) {
            self.stack.push(value);
        }
    }
}

#[inline(always)]
fn cell_of(value: Value) -> *const u8 {
    if value.is_cons() {
        value.cons_pointer().cast()
    } else if value.is_address() {
        value.address_pointer().cast()
    } else {
        value.boxed_pointer().cast()
    }
}

#[inline(always)]
fn mark_word(cell: *const u8) -> *mut u64 {
    // SAFETY: the word of this granule is among the block's mark words.
    unsafe { Block::of(cell).marks().add(Block::granule_of(cell) / 64) }
}

/// Marks a cell's granules; whether it was not marked before.
#[inline(always)]
fn mark_granules(cell: *const u8, granules: usize) -> bool {
    let first = Block::granule_of(cell);
    let word = mark_word(cell);
    let bit = 1u64 << (first % 64);
    // SAFETY: mark words are only touched by markers during a collection, and then as atomics.
    let word = unsafe { AtomicU64::from_ptr(word) };
    // Relaxed: a mark guards nothing; what a marker reads was written before the threads stood still. The look
    // before the step spares the step for what is marked already.
    if word.load(Relaxed) & bit != 0 || word.fetch_or(bit, Relaxed) & bit != 0 {
        return false;
    }
    if granules > 1 && granules * GRANULE <= PAYLOAD {
        let marks = Block::of(cell).marks();
        for granule in first + 1..first + granules {
            // SAFETY: as above; a cell that is not large lies within one block.
            let word = unsafe { AtomicU64::from_ptr(marks.add(granule / 64)) };
            word.fetch_or(1 << (granule % 64), Relaxed);
        }
    }
    true
}

const _: () = assert!(std::mem::size_of::<Actor>() == GRANULE);
