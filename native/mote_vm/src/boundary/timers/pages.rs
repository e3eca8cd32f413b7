//! Numbered things in pages that never move, each twice as large as the one before. So growing copies nothing, however many there
//! are; and of a page that is not full, the system has only provided what was touched.
use std::ops::{Index, IndexMut};

/// Bytes of the first page.
const FIRST: usize = 4096;

/// Things by their numbers, which are given in order from 0.
pub(super) struct Pages<T> {
    pages: Vec<Vec<T>>,
    len: usize,
}

impl<T> Pages<T> {
    /// The first page has two to that power.
    const BITS: u32 = (FIRST / size_of::<T>()).ilog2();

    pub(super) const fn new() -> Pages<T> {
        Pages {
            pages: Vec::new(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Which page a number is in, and where.
    #[inline(always)]
    fn find(number: u32) -> (usize, usize) {
        // Shifted by the size of the first page, those of a page have their highest bit in common.
        let shifted = number as usize + (1 << Self::BITS);
        let highest = shifted.ilog2();
        let page = highest - Self::BITS;
        (page as usize, shifted - (1 << highest))
    }

    /// Adds one. Returns its number.
    pub(super) fn push(&mut self, item: T) -> u32 {
        let number = self.len as u32;
        let (page, _) = Self::find(number);
        if page == self.pages.len() {
            self.pages.push(Vec::with_capacity(1 << Self::BITS << page));
        }
        self.pages[page].push(item);
        self.len += 1;
        number
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let (page, at) = Self::find(number);
        self.pages.get(page)?.get(at)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (page, at) = Self::find(number);
        self.pages.get_mut(page)?.get_mut(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }
}

impl<T> Index<u32> for Pages<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        let (page, at) = Self::find(number);
        &self.pages[page][at]
    }
}

impl<T> IndexMut<u32> for Pages<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        let (page, at) = Self::find(number);
        &mut self.pages[page][at]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn things_lie_still_while_more_come() {
        let mut pages = Pages::new();
        assert_eq!(pages.push(0u64), 0);
        let first = &raw const pages[0];
        for n in 1..10_000 {
            assert_eq!(pages.push(n), n as u32);
        }
        assert!(std::ptr::eq(first, &pages[0]));
        assert_eq!((pages.get(9_999), pages.get(10_000)), (Some(&9_999), None));
        assert!(pages.iter().copied().eq(0..10_000) && pages.len() == 10_000);
    }
}
