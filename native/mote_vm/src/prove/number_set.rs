//! Sets of small numbers.

/// A set of small numbers. Most searches have fewer actors than a word has bits: then all of them are in the first word.
#[derive(Clone, Default)]
pub(super) struct NumberSet {
    first: u64,
    others: Vec<u64>,
}

impl NumberSet {
    #[inline]
    pub(super) fn add(&mut self, number: u32) {
        match number.checked_sub(64) {
            None => self.first |= 1 << number,
            Some(number) => {
                let at = number as usize / 64;
                if self.others.len() <= at {
                    self.others.resize(at + 1, 0);
                }
                self.others[at] |= 1 << (number % 64);
            }
        }
    }

    #[inline]
    pub(super) fn has(&self, number: u32) -> bool {
        let word = match number.checked_sub(64) {
            None => self.first,
            Some(number) => self.others.get(number as usize / 64).copied().unwrap_or(0),
        };
        word >> (number % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn add_all(&mut self, others: &NumberSet) {
        self.first |= others.first;
        if self.others.len() < others.others.len() {
            self.others.resize(others.others.len(), 0);
        }
        for (word, other) in self.others.iter_mut().zip(&others.others) {
            *word |= other;
        }
    }

    /// Keeps its room.
    pub(super) fn clear(&mut self) {
        self.first = 0;
        self.others.iter_mut().for_each(|word| *word = 0);
    }

    /// The first one that is not in `others`.
    #[inline]
    pub(super) fn next_but(&self, others: &NumberSet) -> Option<u32> {
        let left = self.first & !others.first;
        if left != 0 {
            return Some(left.trailing_zeros());
        }
        let mut words = self.others.iter().enumerate();
        words.find_map(|(at, word)| {
            let left = word & !others.others.get(at).copied().unwrap_or(0);
            (left != 0).then(|| (at as u32 + 1) * 64 + left.trailing_zeros())
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
