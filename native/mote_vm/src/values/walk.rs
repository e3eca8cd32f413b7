//! What a collection walks through beside turns, piece by piece: tables of things that wait, of any size.
//!
//! Invariants:
//! 1. Between [`Walkable::begin`] and the end of the walk, every value is shown that was there at the beginning: by the walk itself,
//!    or, taken out while it was ahead of the walk, as [`Missed`].
//! 2. Neither the beginning nor one step takes longer where there is more.
use super::actor::Actor;
use super::value::Value;

/// See the head of this file. Whoever walks and whoever puts in and takes out may be different threads.
pub(crate) trait Walkable: Send + Sync {
    /// A collection begins.
    fn begin(&self);

    /// Shows what is in the next `most` places. Returns whether there is more.
    fn walk(&self, most: usize, show: &mut dyn FnMut(Value)) -> bool;

    /// Shows everything that is there, however much that is.
    fn each(&self, show: &mut dyn FnMut(Value));
}

/// A table that lets go of what belongs to actors that a collection has not met.
pub(crate) trait Swept: Send + Sync {
    /// Looks at the next `most` places after that collection, between turns. Returns whether there is more.
    fn sweep(&self, collection: u64, most: usize, is_live: &dyn Fn(*const Actor) -> bool) -> bool;
}

/// Values that were taken out before a walk had come to them.
#[derive(Default)]
pub(crate) struct Missed(Vec<Value>);

impl Missed {
    /// One more.
    pub(crate) fn note(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() {
            self.0.push(value);
        }
    }

    /// Forgets those of the last collection, should there be any.
    pub(crate) fn begin(&mut self) {
        self.0 = Vec::new();
    }

    /// Shows the next few. Returns whether there are more.
    pub(crate) fn walk(&mut self, most: usize, show: impl FnMut(Value)) -> bool {
        let from = self.0.len().saturating_sub(most);
        self.0.drain(from..).for_each(show);
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
        !self.0.is_empty()
    }
}
