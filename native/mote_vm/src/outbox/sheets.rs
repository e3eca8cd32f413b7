//! Letters on sheets of some thousand words each, which are read in the order in which they were written.
//!
//! Sheets that were read are written on again: one row of words that grows with what waits, and is given back when that was
//! read, is fresh memory time and again, and to touch that takes longer than to write a letter.
use super::letters::Letters;
use std::collections::VecDeque;
use std::mem::{replace, take};

/// Blank sheets that are kept.
const KEPT: usize = 8;

/// See the head of this file.
pub(super) struct Sheets<F> {
    /// The oldest first.
    full: VecDeque<Letters<F>>,
    /// The one that is written on.
    open: Letters<F>,
    blank: Vec<Letters<F>>,
}

impl<F> Default for Sheets<F> {
    fn default() -> Sheets<F> {
        Sheets {
            full: VecDeque::new(),
            open: Letters::default(),
            blank: Vec::new(),
        }
    }
}

impl<F> Sheets<F> {
    /// Where the next letter is written.
    #[inline]
    pub(super) fn next(&mut self) -> &mut Letters<F> {
        if self.open.is_full() {
            self.turn();
        }
        &mut self.open
    }

    #[cold]
    fn turn(&mut self) {
        let blank = self.blank.pop().unwrap_or_else(Letters::sheet);
        self.full.push_back(replace(&mut self.open, blank));
    }

    /// Gives the oldest sheet for one that was read and is blank; whether there is one with anything on it.
    pub(super) fn exchange(&mut self, read: &mut Letters<F>) -> bool {
        if self.full.is_empty() && self.open.is_empty() {
            return false;
        }
        let blank = take(read);
        *read = match self.full.pop_front() {
            Some(oldest) => {
                if self.blank.len() < KEPT {
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
    use crate::outbox::Part;

    fn write(sheets: &mut Sheets<usize>, letters: std::ops::Range<usize>) {
        letters.for_each(|n| assert!(sheets.next().add(n)));
    }

    /// All that is there, in the order of reading, and how many sheets that was.
    fn read(sheets: &mut Sheets<usize>, read: &mut Letters<usize>) -> (Vec<usize>, usize) {
        let (mut found, mut count) = (Vec::new(), 0);
        while sheets.exchange(read) {
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
        let (mut sheets, mut reader) = (Sheets::default(), Letters::default());
        let n = if cfg!(miri) { 5_000 } else { 100_000 };
        write(&mut sheets, 0..n);
        let (found, count) = read(&mut sheets, &mut reader);
        assert!(found.into_iter().eq(0..n));
        assert!(count > 1, "{count}");
        assert_eq!(read(&mut sheets, &mut reader), (vec![], 0));
        write(&mut sheets, 0..3);
        assert_eq!(read(&mut sheets, &mut reader), (vec![0, 1, 2], 1));
    }

    #[test]
    fn what_was_read_is_written_on_again_and_little_is_kept() {
        let (mut sheets, mut reader) = (Sheets::default(), Letters::default());
        let n = if cfg!(miri) { 30_000 } else { 100_000 };
        write(&mut sheets, 0..n);
        read(&mut sheets, &mut reader);
        assert_eq!(sheets.blank.len(), KEPT);
        let mut known: Vec<_> = sheets.blank.iter().map(Letters::place).collect();
        known.extend([sheets.open.place(), reader.place()]);
        for _ in 0..3 {
            write(&mut sheets, 0..5_000);
            let all = sheets.full.iter().chain([&sheets.open, &reader]);
            assert!(all.map(Letters::place).all(|place| known.contains(&place)));
            read(&mut sheets, &mut reader);
        }
    }
}
