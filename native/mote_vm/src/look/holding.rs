//! The amount that an actor holds, as far as one look goes, because a look holds a thread up meanwhile.
//!
//! Invariants:
//! 1. The time is bounded whatever the actor holds: each value that is met costs one of [`MOST_VALUES`], and nothing is copied.
//! 2. Everything counted is there: for an actor that holds more, the figure is too low, never too high.
use crate::code::program::Program;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::watching::reach::{captures, cell_bytes, record_bytes};
use rustc_hash::FxHashSet;

/// Values that are met in one look: with each of them somewhere else in memory, about a millisecond.
const MOST_VALUES: usize = 10_000;

/// Bytes, and whether these are all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Holding {
    pub(super) bytes: u64,
    pub(super) complete: bool,
}

/// Adds up what an actor holds: its record, its captures, and what these reach without passing another actor.
pub(super) fn of(program: &Program, actor: &Actor) -> Holding {
    let mut walk = HoldingWalk {
        seen: FxHashSet::default(),
        rows: Vec::new(),
        left: MOST_VALUES,
        bytes: record_bytes(program, actor),
    };
    let complete = captures(program, actor).all(|value| walk.meet(value) && walk.rows());
    Holding {
        bytes: walk.bytes,
        complete,
    }
}

struct HoldingWalk<'h> {
    seen: FxHashSet<u64>,
    /// Values of cells that were met, from those that are still to be met on.
    rows: Vec<&'h [Value]>,
    left: usize,
    bytes: u64,
}

impl HoldingWalk<'_> {
    /// Goes on until nothing is left; `false` when it has come to its end before.
    fn rows(&mut self) -> bool {
        while let Some(row) = self.rows.pop() {
            if let Some((first, rest)) = row.split_first() {
                self.rows.push(rest);
                if !self.meet(*first) {
                    return false;
                }
            }
        }
        true
    }

    fn meet(&mut self, value: Value) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        let others = value.is_immediate() || value.is_none() || value.is_address();
        if !others && self.seen.insert(value.word()) {
            self.bytes += cell_bytes(value);
            self.rows.push(match value.is_cons() {
                true => value.cons_cell(),
                false => value.boxed_parts(),
            });
        }
        true
    }
}
