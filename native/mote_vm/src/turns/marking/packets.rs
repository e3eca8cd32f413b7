//! The work that a collection has still to mark, shared by all markers: threads that stand still for it, and threads between their turns.
//!
//! Each marker works on a stack of its own. While another one is hungry, it gives away part of what it has; when its
//! time is up, all of it.
//!
//! Invariants:
//! 1. `busy` counts the markers that may still give something away. A marker is counted from before it takes a packet until the
//!    rest of it is back in the list.
//! 2. So when no packet is left and no marker is busy, everything that was ever added is marked.
use super::barrier::Reading;
use super::mark::{Marked, Marker};
use super::moment::Moment;
use super::span::Span;
use crate::base::sync::{AtomicBool, Relaxed};
use crate::code::program::Program;
use crate::heap::block::GRANULE;
use crate::heap::evacuation::Evacuation;
use crate::values::value::Value;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of threads that can mark at once; more threads than that leave it to others.
const MARKERS: usize = 32;
/// The least left to scan that is worth giving away, and the most that is given at once.
const WORTH_GIVING: usize = 64;
const MOST_GIVEN: usize = 8 * 1024;
/// The most cells that a slice marks because it is late, and how long it takes at most: callers and other threads may wait for it.
const MOST_LATE: usize = 128 * 1024;
const LONGEST: Duration = Duration::from_millis(1);
/// Records that a marker writes down before it hands them over.
const MOST_RECORDED: usize = 32 * 1024;
/// Cells between two looks at the clock, and at whether another marker is hungry.
const STEP: usize = 128;

/// A part of the work.
pub(crate) enum Packet {
    Values(Vec<Value>),
    Span(Span),
}

/// The values that turns and drains of one thread have met and that must be scanned.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) values: Vec<Value>,
    pub(crate) found: Marked,
}

/// The amount of marking to do.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) cells: usize,
    pub(crate) until: Option<Instant>,
}

impl Effort {
    /// The effort of marking to the end.
    pub(crate) const ALL: Effort = Effort {
        cells: usize::MAX,
        until: None,
    };

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

#[derive(Default)]
struct Packets {
    number: u64,
    packets: Vec<Packet>,
    busy: usize,
    /// Helpers in a pause that have not returned yet.
    inside: usize,
    /// They are to return.
    over: bool,
    found: Marked,
    spent: Duration,
    /// Free places in `readings`.
    free: Vec<usize>,
    /// The cells that are to move when everything is marked.
    evacuation: Option<Evacuation>,
}

impl Packets {
    /// Adds values that roots, or turns since, refer to.
    fn add(&mut self, packet: Packet) {
        if let (Some(evacuation), Packet::Values(values)) = (&mut self.evacuation, &packet) {
            values.iter().for_each(|value| evacuation.pin(*value));
        }
        self.packets.push(packet);
    }

    /// Takes what a marker has written down.
    #[cold]
    fn follow<const RECORDS: bool>(&mut self, marker: &mut Marker<'_, RECORDS>) {
        if let Some(evacuation) = &mut self.evacuation {
            evacuation.follow(&mut marker.trail);
        }
    }
}

/// The result of marking a little.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    /// True if there was anything to take.
    pub(crate) any: bool,
    /// True if something was taken, and less is marked still than should be.
    pub(crate) is_late: bool,
}

/// The work that one collection has still to mark.
pub(crate) struct MarkingWork {
    program: Arc<Program>,
    /// The last one is for whoever walks for an image.
    readings: [Reading; MARKERS + 1],
    pub(crate) moment: Moment,
    state: Mutex<Packets>,
    news: Condvar,
    hungry: AtomicBool,
}

impl MarkingWork {
    pub(crate) fn new(program: Arc<Program>) -> MarkingWork {
        let free = (0..MARKERS).rev().collect();
        MarkingWork {
            program,
            readings: std::array::from_fn(|_| Reading::new()),
            moment: Moment::default(),
            state: Mutex::new(Packets {
                free,
                ..Packets::default()
            }),
            news: Condvar::new(),
            hungry: AtomicBool::new(false),
        }
    }

    /// Returns the words in which markers say which actors they are about to read.
    pub(crate) fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Returns the word in which whoever walks for an image says the same.
    pub(crate) fn reading_of_walk(&self) -> &Reading {
        &self.readings[MARKERS]
    }

    /// A collection begins, with nothing to do yet, after which cells are to move.
    pub(crate) fn begin(&self, number: u64, evacuation: Option<Evacuation>) {
        let mut state = self.state.lock();
        debug_assert!(state.packets.is_empty() && state.busy == 0);
        state.number = number;
        state.found = Marked::default();
        state.spent = Duration::ZERO;
        state.evacuation = evacuation;
    }

    /// Takes the cells that are to move, when everything is marked.
    pub(crate) fn take_evacuation(&self) -> Option<Evacuation> {
        self.state.lock().evacuation.take()
    }

    /// Adds packets to the work.
    pub(crate) fn add(&self, packets: impl IntoIterator<Item = Packet>) {
        let mut state = self.state.lock();
        packets.into_iter().for_each(|packet| state.add(packet));
    }

    /// Adds the values of a log to the work, and what it has counted.
    pub(crate) fn flush(&self, log: &mut Log) {
        if log.values.is_empty() && log.found.bytes == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.found.add(std::mem::take(&mut log.found));
        if !log.values.is_empty() {
            let values = std::mem::take(&mut log.values);
            state.add(Packet::Values(values));
        }
    }

    /// Returns whether all is done.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.state.lock();
        state.packets.is_empty() && state.busy == 0
    }

    /// Returns the counts of what was found, and the time that it took all markers together.
    pub(crate) fn result(&self) -> (Marked, Duration) {
        let state = self.state.lock();
        (state.found, state.spent)
    }

    /// Marks a little, beside turns: `cells` cells, or more if fewer than `by_now` bytes are marked.
    pub(crate) fn slice(&self, cells: usize, by_now: usize) -> Slice {
        let mut state = self.state.lock();
        let mut slice = Slice::default();
        let Some(place) = state.free.pop() else {
            return slice;
        };
        let late = by_now.saturating_sub(state.found.bytes) / GRANULE;
        let mut effort = Effort {
            cells: cells.max(late.min(MOST_LATE)),
            until: Some(Instant::now() + LONGEST),
        };
        // What turns have met comes anew after each batch, and must not keep the others waiting. A packet counts as a cell, for
        // it may have none.
        while effort.cells > 0 {
            let Some(packet) = state.packets.pop() else {
                break;
            };
            let (then, left) = self.work_on(state, place, packet, effort);
            state = then;
            effort.cells = left.min(effort.cells - 1);
            slice.any = true;
            if effort.is_late() {
                break;
            }
        }
        state.free.push(place);
        slice.is_late = slice.any && state.found.bytes < by_now;
        slice
    }

    /// A new round of helping in a pause begins.
    pub(crate) fn call(&self) {
        self.state.lock().over = false;
    }

    /// Marks in a pause, with others who stand still, until all is done or the effort is spent.
    pub(crate) fn help(&self, effort: Effort) {
        let mut state = self.state.lock();
        let Some(place) = state.free.pop() else {
            return;
        };
        state.inside += 1;
        while !state.over {
            if let Some(packet) = state.packets.pop() {
                (state, _) = self.work_on(state, place, packet, effort);
                state.over |= effort.is_late() || effort.cells != usize::MAX;
                continue;
            }
            if state.busy == 0 {
                break;
            }
            // Relaxed: a hint; what it leads to is handed over under the lock.
            self.hungry.store(true, Relaxed);
            self.news.wait(&mut state);
        }
        state.over = true;
        state.inside -= 1;
        state.free.push(place);
        self.news.notify_all();
    }

    /// Waits until the last helper of a pause has returned. Returns whether all is done.
    pub(crate) fn finish(&self) -> bool {
        let mut state = self.state.lock();
        self.news.wait_while(&mut state, |state| state.inside > 0);
        state.packets.is_empty()
    }

    /// Works on a packet; what is left of it when the effort is spent goes back. How many cells are left of the effort.
    fn work_on<'s>(
        &'s self,
        state: MutexGuard<'s, Packets>,
        place: usize,
        packet: Packet,
        effort: Effort,
    ) -> (MutexGuard<'s, Packets>, usize) {
        match state.evacuation {
            None => self.work_as::<false>(state, place, packet, effort),
            Some(_) => self.work_as::<true>(state, place, packet, effort),
        }
    }

    fn work_as<'s, const RECORDS: bool>(
        &'s self,
        mut state: MutexGuard<'s, Packets>,
        place: usize,
        packet: Packet,
        effort: Effort,
    ) -> (MutexGuard<'s, Packets>, usize) {
        state.busy += 1;
        let wanting = state.packets.is_empty() && state.inside > state.busy;
        self.hungry.store(wanting, Relaxed);
        let number = state.number;
        drop(state);
        let start = Instant::now();
        let mut marker = Marker::<RECORDS>::new(&self.program, &self.readings[place], number);
        match packet {
            Packet::Values(values) => marker.stack = values,
            Packet::Span(span) => marker.spans.push(span),
        }
        let mut cells = effort.cells;
        while cells > 0 {
            let step = cells.min(STEP);
            let rest = marker.run(step);
            cells -= step - rest;
            if RECORDS && marker.trail.len() >= MOST_RECORDED {
                self.state.lock().follow(&mut marker);
            }
            if rest > 0 || effort.is_late() {
                break;
            }
            if self.hungry.load(Relaxed) {
                self.give(&mut marker);
            }
        }
        marker.empty_window();
        let mut state = self.state.lock();
        if RECORDS {
            state.follow(&mut marker);
        }
        state.found.add(marker.found());
        state.found.scanned += effort.cells - cells;
        state.spent += start.elapsed();
        state
            .packets
            .extend(marker.spans.drain(..).map(Packet::Span));
        let mut stack = std::mem::take(&mut marker.stack);
        if stack.len() >= 2 * WORTH_GIVING && state.packets.is_empty() {
            state.packets.push(Packet::Values(part(&mut stack)));
        }
        if !stack.is_empty() {
            state.packets.push(Packet::Values(stack));
        }
        state.busy -= 1;
        self.news.notify_all();
        (state, cells)
    }

    /// Hands part of a marker's work to others.
    #[cold]
    fn give<const RECORDS: bool>(&self, marker: &mut Marker<'_, RECORDS>) {
        let packet = if let Some(span) = marker.spans.pop() {
            Packet::Span(span)
        } else if marker.stack.len() >= WORTH_GIVING {
            Packet::Values(part(&mut marker.stack))
        } else {
            return;
        };
        let mut state = self.state.lock();
        state.packets.push(packet);
        self.hungry.store(false, Relaxed);
        self.news.notify_all();
    }
}

/// Takes half of a stack, or less of a large one: moving all of that would take longer than it is worth.
fn part(stack: &mut Vec<Value>) -> Vec<Value> {
    if stack.len() > 2 * MOST_GIVEN {
        return stack.split_off(stack.len() - MOST_GIVEN);
    }
    // The older half: what lies deep in the stack leads to more.
    let rest = stack.split_off(stack.len() / 2);
    std::mem::replace(stack, rest)
}

#[cfg(all(test, not(loom)))]
mod tests;
