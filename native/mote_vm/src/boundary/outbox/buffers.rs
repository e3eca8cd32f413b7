//! Letters in buffers of some thousand words each, which are read in the order in which they were written.
//!
//! Buffers that were read are written to again. A single row of words that grows with the waiting letters, and is freed when
//! they were read, would be fresh memory each time, and touching that takes longer than writing a letter.
//!
//! Buffers that are full and wait to be read are charged to the machine's quota.
use super::letters::Letters;
use crate::base::quota::{Account, Charge};
use std::collections::VecDeque;
use std::mem::{replace, take};

/// Blank buffers that are kept.
const BLANKS_KEPT: usize = 8;

/// The buffers of one outbox: written, being read, and blank.
pub(super) struct Buffers<F> {
    /// The oldest first.
    full: VecDeque<(Letters<F>, Charge)>,
    /// The one that is written on.
    open: Letters<F>,
    blank: Vec<Letters<F>>,
    account: Account,
}

impl<F> Default for Buffers<F> {
    fn default() -> Buffers<F> {
        Buffers {
            full: VecDeque::new(),
            open: Letters::default(),
            blank: Vec::new(),
            account: Account::default(),
        }
    }
}

impl<F> Buffers<F> {
    /// Creates an empty queue, charged to that account.
    pub(super) fn new(account: Account) -> Buffers<F> {
        Buffers {
            account,
            ..Buffers::default()
        }
    }

    /// Returns the buffer for the next letter; `None` when there is no memory for it, and it is not to be had `anyway`.
    #[inline]
    pub(super) fn next(&mut self, anyway: bool) -> Option<&mut Letters<F>> {
        if self.open.is_full() {
            self.turn(anyway)?;
        }
        Some(&mut self.open)
    }

    #[cold]
    fn turn(&mut self, anyway: bool) -> Option<()> {
        let charge = match anyway {
            true => self.account.charge_anyway(Letters::<F>::BYTES),
            false => self.account.charge(Letters::<F>::BYTES)?,
        };
        let blank = self.blank.pop().unwrap_or_else(Letters::buffer);
        let full = replace(&mut self.open, blank);
        self.full.push_back((full, charge));
        Some(())
    }

    /// Swaps a buffer that was read, and is blank, for the oldest one. Returns whether there is one with anything in it.
    pub(super) fn exchange(&mut self, read: &mut Letters<F>) -> bool {
        if self.full.is_empty() && self.open.is_empty() {
            return false;
        }
        let blank = take(read);
        *read = match self.full.pop_front() {
            Some((oldest, _)) => {
                if self.blank.len() < BLANKS_KEPT {
                    self.blank.push(blank);
                }
                oldest
            }
            None => replace(&mut self.open, blank),
        };
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::base::quota::Quota;
    use crate::boundary::outbox::Part;
    use std::sync::Arc;

    fn write(buffers: &mut Buffers<usize>, letters: std::ops::Range<usize>) {
        letters.for_each(|n| assert!(buffers.next(false).is_some_and(|buffer| buffer.add(n))));
    }

    /// All that is there, in the order of reading, and how many buffers that was.
    fn read(buffers: &mut Buffers<usize>, read: &mut Letters<usize>) -> (Vec<usize>, usize) {
        let (mut found, mut count) = (Vec::new(), 0);
        while buffers.exchange(read) {
            count += 1;
            while read.read(|part| match part {
                Part::Other(n) => found.push(n),
                _ => unreachable!(),
            }) {}
            read.clear();
        }
        (found, count)
    }

    #[test]
    fn letters_are_read_in_their_order_over_sheets() {
        let (mut buffers, mut reader) = (Buffers::default(), Letters::default());
        let n = if cfg!(miri) { 5_000 } else { 100_000 };
        write(&mut buffers, 0..n);
        let (found, count) = read(&mut buffers, &mut reader);
        assert!(found.into_iter().eq(0..n));
        assert!(count > 1, "{count}");
        assert_eq!(read(&mut buffers, &mut reader), (vec![], 0));
        write(&mut buffers, 0..3);
        assert_eq!(read(&mut buffers, &mut reader), (vec![0, 1, 2], 1));
    }

    #[test]
    fn full_sheets_are_charged_until_they_are_read() {
        let quota = Arc::new(Quota::new(10 * Letters::<usize>::BYTES));
        let (mut buffers, mut reader) = (Buffers::new(Account::of(&quota)), Letters::default());
        for _ in 0..2 {
            let mut n = 0;
            while buffers.next(false).is_some_and(|buffer| buffer.add(n)) {
                n += 1;
            }
            assert_eq!(quota.held(), 9 * Letters::<usize>::BYTES);
            let (found, count) = read(&mut buffers, &mut reader);
            assert!(found.into_iter().eq(0..n), "what was written stays");
            assert_eq!((count, quota.held()), (10, 0));
        }
        write(&mut buffers, 0..10_000);
        assert!(quota.held() > 0);
        drop(buffers);
        assert_eq!(quota.held(), 0);
    }

    #[test]
    fn what_was_read_is_written_on_again_and_little_is_kept() {
        let (mut buffers, mut reader) = (Buffers::default(), Letters::default());
        let n = if cfg!(miri) { 30_000 } else { 100_000 };
        write(&mut buffers, 0..n);
        read(&mut buffers, &mut reader);
        assert_eq!(buffers.blank.len(), BLANKS_KEPT);
        let mut known: Vec<_> = buffers.blank.iter().map(Letters::place).collect();
        known.extend([buffers.open.place(), reader.place()]);
        for _ in 0..3 {
            write(&mut buffers, 0..5_000);
            let full = buffers.full.iter().map(|(full, _)| full);
            let all = full.chain([&buffers.open, &reader]);
            assert!(all.map(Letters::place).all(|place| known.contains(&place)));
            read(&mut buffers, &mut reader);
        }
    }
}
