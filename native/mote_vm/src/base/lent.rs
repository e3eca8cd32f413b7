//! Memory that a walk through values uses beside the heap, for as long as it takes.
//!
//! Invariants:
//! 1. Nothing that grows with a value allocates without asking the quota: what a primitive makes beside the heap, it makes in
//!    `Heap::beside`, whose size is known before, or in a [`LentStack`] or with a [`Loan`], which ask as they grow. What is less
//!    than a page needs no asking. Only marking and unpacking do not ask: the one cannot be refused, and what the other
//!    unpacks is charged with more than it takes.
//! 2. What was lent is given back when the walk is over, whatever its end.
use std::sync::Arc;

/// Bytes that need no asking.
const SLIGHT: usize = 4096;

/// A lender of memory within a machine's quota.
pub(crate) trait Lender: Send + Sync {
    /// Takes bytes from the quota. Returns whether there were enough. With `spare`, some must be left for others.
    fn lend(&self, bytes: usize, spare: bool) -> bool;
    /// Takes the bytes back.
    fn give_back(&self, bytes: usize);
}

/// Bytes that are lent.
pub(crate) struct Loan {
    /// Nobody bounds it where there is none.
    lender: Option<Arc<dyn Lender>>,
    bytes: usize,
}

impl Loan {
    /// Creates a loan of nothing yet.
    pub(crate) fn new(lender: Option<Arc<dyn Lender>>) -> Loan {
        Loan { lender, bytes: 0 }
    }

    /// Makes it as large as that, if it is not; whether that could be had.
    pub(crate) fn extend_to(&mut self, bytes: usize, spare: bool) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if bytes <= SLIGHT || more == 0 {
            return true;
        }
        let lent = match &self.lender {
            Some(lender) => lender.lend(more, spare),
            None => true,
        };
        self.bytes += if lent { more } else { 0 };
        lent
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(lender) = self.lender.as_ref().filter(|_| self.bytes > 0) {
            lender.give_back(self.bytes);
        }
    }
}

/// A stack of what a walk has still to do.
pub(crate) struct LentStack<T> {
    items: Vec<T>,
    loan: Option<Loan>,
}

impl<T> LentStack<T> {
    /// An empty one.
    pub(crate) const fn new() -> LentStack<T> {
        LentStack {
            items: Vec::new(),
            loan: None,
        }
    }

    /// Puts one on top. `false`, and it is not there, if there is no memory for it.
    #[must_use]
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T, lender: &Option<Arc<dyn Lender>>) -> bool {
        if self.items.len() == self.items.capacity() && !self.grow(lender) {
            return false;
        }
        self.items.push(item);
        true
    }

    #[cold]
    fn grow(&mut self, lender: &Option<Arc<dyn Lender>>) -> bool {
        let capacity = (2 * self.items.capacity()).max(8);
        let bytes = capacity * size_of::<T>();
        let loan = self.loan.get_or_insert_with(|| Loan::new(lender.clone()));
        let lent = loan.extend_to(bytes, false);
        if lent {
            self.items.reserve_exact(capacity - self.items.len());
        }
        lent
    }

    /// Takes the one on top.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Lends up to a limit, and knows what is lent and the most that ever was.
    #[derive(Default)]
    pub(crate) struct Bounded {
        pub(crate) limit: usize,
        pub(crate) lent: AtomicUsize,
        pub(crate) most: AtomicUsize,
    }

    impl Bounded {
        pub(crate) fn of(limit: usize) -> Arc<Bounded> {
            Arc::new(Bounded {
                limit,
                ..Bounded::default()
            })
        }
    }

    impl Lender for Bounded {
        fn lend(&self, bytes: usize, _: bool) -> bool {
            let lent = self.lent.load(Relaxed) + bytes;
            if lent <= self.limit {
                self.lent.store(lent, Relaxed);
                self.most.fetch_max(lent, Relaxed);
            }
            lent <= self.limit
        }

        fn give_back(&self, bytes: usize) {
            self.lent.fetch_sub(bytes, Relaxed);
        }
    }

    #[test]
    fn a_stack_grows_as_far_as_there_is_memory_and_gives_it_back() {
        let bounded = Bounded::of(100_000);
        let lender: Option<Arc<dyn Lender>> = Some(bounded.clone());
        let mut stack = LentStack::new();
        let pushed = (0..)
            .take_while(|n: &usize| stack.push(*n, &lender))
            .count();
        assert!((4_096..=100_000 / size_of::<usize>()).contains(&pushed));
        assert_eq!(bounded.lent.load(Relaxed), pushed * size_of::<usize>());
        assert_eq!(stack.pop(), Some(pushed - 1));
        assert!(stack.push(7, &lender), "there is room again");
        drop(stack);
        assert_eq!(bounded.lent.load(Relaxed), 0);
        let mut few = LentStack::new();
        assert!((0..500).all(|n: usize| few.push(n, &Some(Bounded::of(0)))));
    }
}
