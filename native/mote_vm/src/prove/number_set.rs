//! Sets of small numbers.
use smallvec::SmallVec;

/// A set of small numbers. Most searches have fewer actors than a word has bits.
#[derive(Clone, Default)]
pub(super) struct NumberSet(SmallVec<[u64; 1]>);

impl NumberSet {
    pub(super) fn add(&mut self, number: u32) {
        let at = number as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (number % 64);
    }

    pub(super) fn has(&self, number: u32) -> bool {
        let word = self.0.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(super) fn add_all(&mut self, others: &NumberSet) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word |= other;
        }
    }

    /// Keeps its room.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(|word| *word = 0);
    }

    /// The first one that is not in `others`.
    pub(super) fn next_but(&self, others: &NumberSet) -> Option<u32> {
        let mut words = self.0.iter().enumerate();
        words.find_map(|(at, word)| {
            let left = word & !others.0.get(at).copied().unwrap_or(0);
            (left != 0).then(|| at as u32 * 64 + left.trailing_zeros())
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_added_whatever_its_size() {
        let (mut some, mut all, mut seen) = (
            NumberSet::default(),
            NumberSet::default(),
            NumberSet::default(),
        );
        for number in [0, 5, 63, 64, 200] {
            assert!(!some.has(number));
            some.add(number);
        }
        all.add(7);
        all.add_all(&some);
        let mut found = Vec::new();
        while let Some(number) = all.next_but(&seen) {
            seen.add(number);
            found.push(number);
        }
        assert_eq!(found, [0, 5, 7, 63, 64, 200]);
        assert!(!all.has(1_000) && some.next_but(&seen).is_none());
    }
}
