//! What markers write down for an evacuation: the places that refer to cells which are to move.
use super::super::vacating::{group_of, is_free_of};
use crate::heap::cell::cell_of;
use crate::values::value::Value;

/// Flags of a slot: it does not hold a value, or its cell has another pointer along with it; and it is itself in a cell that is
/// to move.
const SLICE: u64 = 1;
const CAPTURES: u64 = 2;
const LEAVES: u64 = 4;
const FLAGS: u64 = 7;
/// Above the address: the number of captures.
const COUNT_SHIFT: u32 = 48;

/// The form of a reference to a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A value.
    Value,
    /// The first value of a slice, with a pointer to its bytes behind it.
    Slice,
    /// An actor's state, a pointer to this many captures.
    Captures(u16),
}

/// A place that refers to a cell which is to move: address, shape, and whether the place is in such a cell itself, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Referrer(u64);

impl Referrer {
    pub(super) fn new(at: *const u64, shape: Shape, leaves: bool) -> Referrer {
        let shape = match shape {
            Shape::Value => 0,
            Shape::Slice => SLICE,
            Shape::Captures(n) => CAPTURES | u64::from(n) << COUNT_SHIFT,
        };
        debug_assert!(at as u64 & FLAGS == 0 && at as u64 >> COUNT_SHIFT == 0);
        Referrer(at as u64 | shape | if leaves { LEAVES } else { 0 })
    }

    pub(super) fn at(self) -> *mut u64 {
        (self.0 & !FLAGS & ((1 << COUNT_SHIFT) - 1)) as *mut u64
    }

    pub(super) fn shape(self) -> Shape {
        match self.0 & (SLICE | CAPTURES) {
            0 => Shape::Value,
            SLICE => Shape::Slice,
            _ => Shape::Captures((self.0 >> COUNT_SHIFT) as u16),
        }
    }

    /// Returns whether the cell that the place is in has not moved since a marker met it (mod.rs, invariant 4).
    pub(super) fn is_current(self, number: u64) -> bool {
        self.0 & LEAVES == 0 || !is_free_of(self.at().cast(), number)
    }
}

/// References that one marker has met.
#[derive(Default)]
pub(crate) struct Trail {
    pub(super) slots: Vec<(u32, Referrer)>,
    pub(super) roots: Vec<Value>,
}

impl Trail {
    /// Returns the number of slots and roots together.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() + self.roots.len()
    }

    /// Values that roots refer to.
    pub(crate) fn roots(&mut self, values: &[Value]) {
        self.roots.extend_from_slice(values);
    }

    /// Values of a cell; `of_slice`: the one of a slice.
    pub(crate) fn parts(&mut self, cell: *const u8, parts: &[Value], of_slice: bool) {
        let from = group_of(cell);
        let shape = if of_slice { Shape::Slice } else { Shape::Value };
        for part in parts {
            self.part(from, part, *part, shape);
        }
    }

    /// Notes the state of an actor with `captures` captures.
    pub(crate) fn state(&mut self, at: *const Value, state: Value, captures: usize) {
        match captures {
            0 => {}
            1 => self.part(None, at, state, Shape::Value),
            n => {
                let shape = Shape::Captures(n as u16);
                self.slot(None, state.word() as *const u8, at, shape);
            }
        }
    }

    #[inline(always)]
    fn part(&mut self, from: Option<u32>, at: *const Value, value: Value, shape: Shape) {
        if !value.is_immediate() && !value.is_none() && !value.is_address() {
            self.slot(from, cell_of(value), at, shape);
        }
    }

    #[inline(always)]
    fn slot(&mut self, from: Option<u32>, cell: *const u8, at: *const Value, shape: Shape) {
        match group_of(cell) {
            // What lies in a group is met when its cells are copied.
            Some(group) if from != Some(group) => {
                let slot = Referrer::new(at.cast(), shape, from.is_some());
                self.slots.push((group, slot));
            }
            _ => {}
        }
    }
}
