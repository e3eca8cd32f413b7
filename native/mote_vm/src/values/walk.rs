//! What a collection walks through beside turns, piece by piece: tables of things that wait, of any size.
//!
//! Invariants:
//! 1. Between [`Walkable::begin`] and the end of the walk, every value is shown that was there at the beginning: by the walk itself,
//!    or, taken out while it was ahead of the walk, as [`Missed`].
//! 2. Neither the beginning nor one step takes longer where there is more.
//! 3. What is noted is charged: a walk may have to wait for an image, and any number of things are taken out meanwhile.
use super::actor::Actor;
use super::value::Value;
use crate::base::quota::Quota;
use std::sync::Arc;

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
pub(crate) struct Missed {
    values: Vec<Value>,
    charged: usize,
    quota: Arc<Quota>,
}

impl Missed {
    pub(crate) fn new(quota: &Arc<Quota>) -> Missed {
        Missed {
            values: Vec::new(),
            charged: 0,
            quota: quota.clone(),
        }
    }

    /// One more.
    pub(crate) fn note(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() {
            self.values.push(value);
            self.charge();
        }
    }

    /// Forgets those of the last collection, should there be any.
    pub(crate) fn begin(&mut self) {
        self.values = Vec::new();
        self.charge();
    }

    /// Shows the next few. Returns whether there are more.
    pub(crate) fn walk(&mut self, most: usize, show: impl FnMut(Value)) -> bool {
        let from = self.values.len().saturating_sub(most);
        self.values.drain(from..).for_each(show);
        let is_more = !self.values.is_empty();
        if !is_more {
            self.begin();
        }
        is_more
    }

    fn charge(&mut self) {
        let bytes = self.values.capacity() * size_of::<Value>();
        self.quota.charge(&mut self.charged, bytes);
    }
}

impl Drop for Missed {
    fn drop(&mut self) {
        self.quota.give(self.charged);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Invariant 3.
    #[test]
    fn what_is_missed_is_charged_until_it_is_shown() {
        let quota = Arc::<Quota>::default();
        let mut missed = Missed::new(&quota);
        let value = |n: usize| Value::address((16 * n) as *const Actor);
        (1..=100).for_each(|n| missed.note(value(n)));
        assert!(quota.held() >= 100 * size_of::<Value>());
        let mut shown = 0;
        while missed.walk(7, |_| shown += 1) {}
        assert_eq!((shown, quota.held()), (100, 0));
        missed.note(value(1));
        drop(missed);
        assert_eq!(quota.held(), 0);
    }
}
