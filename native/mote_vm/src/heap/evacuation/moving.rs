//! Copies the cells of one group, while everything stands still.
//!
//! Invariants:
//! 1. The mark of a cell that has moved is cleared, and its first word says where it is.
//! 2. A cell that stays, since a root refers to it or there was no room for a copy, is marked in the table of the collection before as
//!    well, which nobody else uses (vacating.rs, invariant 1). Its own places are corrected where they are.
//! 3. Of each cell that was copied, or stays, each place is looked at once: what refers into this group is corrected, what refers
//!    into a later one is written down there.
use super::destination::DenseBlocks;
use super::trail::{Referrer, Shape};
use super::Group;
use crate::heap::block::{Block, BlockPool, GRANULE};
use crate::heap::cell::cell_of;
use crate::heap::marks::{has_any, Marks};
use crate::heap::space::Extent;
use crate::heap::vacating;
use crate::values::value::Value;
use std::sync::atomic::Ordering::Relaxed;

/// The form of a cell, as told by the word that refers to it.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Cons,
    Boxed,
    Captures(usize),
}

impl Form {
    fn of(value: Value) -> Form {
        match value.is_cons() {
            true => Form::Cons,
            false => Form::Boxed,
        }
    }
}

/// One group that moves.
pub(super) struct Mover<'e> {
    pub(super) number: u64,
    pub(super) group: u32,
    pub(super) destination: &'e mut DenseBlocks,
    pub(super) pool: &'e BlockPool,
    /// The groups behind this one.
    pub(super) later: &'e mut [Group],
    /// Cells whose places are still to be looked at.
    pub(super) work: Vec<(*mut u64, Form)>,
    /// Places that were looked at, and pins.
    pub(super) walked: usize,
}

impl Mover<'_> {
    fn marks(&self, cell: *const u64) -> (Marks, Marks, usize) {
        let block = Block::of(cell.cast());
        let granule = Block::granule_of(cell.cast());
        let stay = Marks::of(block, self.number - 1);
        (Marks::of(block, self.number), stay, granule)
    }

    /// An extent of the group: nothing in it stays so far.
    pub(super) fn prepare(&mut self, extent: &Extent) {
        let (first, end) = extent.bounds();
        Marks::of(extent.block, self.number - 1).unset_alone(first, end);
    }

    /// Cells of the group that roots refer to stay. All of them are known before the first cell moves.
    pub(super) fn pin(&mut self, values: &[Value]) {
        self.walked += values.len();
        for value in values {
            self.stay(cell_of(*value) as *mut u64, Form::of(*value));
        }
        self.scan();
    }

    /// Invariant 2.
    fn stay(&mut self, cell: *mut u64, form: Form) {
        let (_, stay, granule) = self.marks(cell);
        if !stay.has(granule) {
            stay.set_alone(granule, granule + granules(cell, form));
            self.work.push((cell, form));
        }
    }

    /// A place that refers to a cell of the group.
    pub(super) fn slot(&mut self, slot: Referrer) {
        self.place(slot.at(), slot.shape());
        self.scan();
    }

    fn scan(&mut self) {
        while let Some((cell, form)) = self.work.pop() {
            let value = Value::boxed(cell);
            let (first, n, shape) = match form {
                Form::Cons => (cell, 2, Shape::Value),
                Form::Captures(n) => (cell, n, Shape::Value),
                Form::Boxed => {
                    let shape = match value.is_slice() {
                        true => Shape::Slice,
                        false => Shape::Value,
                    };
                    // SAFETY: parts lie behind the header.
                    (unsafe { cell.add(1) }, value.boxed_parts().len(), shape)
                }
            };
            for i in 0..n {
                // SAFETY: the cell has `n` values.
                self.place(unsafe { first.add(i) }, shape);
            }
        }
    }

    /// Corrects a place, or writes it down for a later group.
    fn place(&mut self, at: *mut u64, shape: Shape) {
        self.walked += 1;
        // SAFETY: a place in a live cell or actor, and everything stands still.
        let word = unsafe { *at };
        let value = Value::from_word(word);
        let (cell, form) = match shape {
            Shape::Captures(n) => (word as *mut u64, Form::Captures(n as usize)),
            _ if value.is_immediate() || value.is_none() || value.is_address() => return,
            _ => (cell_of(value) as *mut u64, Form::of(value)),
        };
        match vacating::group_of(cell.cast()) {
            Some(group) if group == self.group => {}
            Some(group) if group > self.group => {
                let ahead = (group - self.group - 1) as usize;
                if let Some(later) = self.later.get_mut(ahead) {
                    later.copied.push(Referrer::new(at, shape, false));
                }
                return;
            }
            _ => return,
        }
        let Some(moved) = self.moved(cell, form) else {
            return;
        };
        let by = (moved as u64).wrapping_sub(cell as u64);
        // SAFETY: as above.
        unsafe { *at = word.wrapping_add(by) };
        if shape == Shape::Slice && Value::boxed(moved).is_bytes() {
            // SAFETY: behind the binary of a slice is a pointer to its bytes, which lie in that cell.
            unsafe { *at.add(1) = (*at.add(1)).wrapping_add(by) };
        }
    }

    /// Returns the new place of a cell of the group, or `None` if the cell stays.
    fn moved(&mut self, cell: *mut u64, form: Form) -> Option<*mut u64> {
        let (marks, stay, granule) = self.marks(cell);
        if !marks.has(granule) {
            // SAFETY: invariant 1.
            return Some(unsafe { *cell } as *mut u64);
        }
        if stay.has(granule) {
            return None;
        }
        let granules = granules(cell, form);
        let Some(copy) = self.destination.take(granules, self.pool) else {
            self.stay(cell, form);
            return None;
        };
        let copy = copy.as_ptr();
        // SAFETY: a cell of that size, and fresh room for one.
        unsafe {
            std::ptr::copy_nonoverlapping(cell, copy, granules * GRANULE / 8);
            cell.write(copy as u64);
        }
        marks.unset_alone(granule, granule + granules);
        self.work.push((copy, form));
        Some(copy)
    }
}

fn granules(cell: *mut u64, form: Form) -> usize {
    match form {
        Form::Cons => 1,
        Form::Captures(n) => n.div_ceil(2),
        Form::Boxed => Value::boxed(cell).boxed_granules(),
    }
}

/// Returns whether everything has left an extent except what stays.
pub(super) fn has_left(extent: &Extent, number: u64) -> bool {
    let (first, end) = extent.bounds();
    let [marks, stay] = [number, number - 1].map(|of| Marks::of(extent.block, of));
    !has_any(extent.block, number)
        || (first / 64..end / 64)
            .all(|word| marks.word(word).load(Relaxed) & !stay.word(word).load(Relaxed) == 0)
}
