//! Numbered things in pages that never move. So growing copies nothing, however many there are, and takes no more than a page
//! too much.
use std::ops::{Index, IndexMut};

/// Bytes of a page.
const PAGE: usize = 4096;

/// Things by their numbers, which are given in order from 0.
pub(super) struct Pages<T> {
    pages: Vec<Vec<T>>,
    len: usize,
}

impl<T> Pages<T> {
    /// How many of them a page has: two to that power.
    const BITS: u32 = (PAGE / size_of::<T>()).ilog2();
    const EACH: usize = 1 << Self::BITS;

    pub(super) const fn new() -> Pages<T> {
        Pages {
            pages: Vec::new(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds one. Returns its number.
    pub(super) fn push(&mut self, item: T) -> u32 {
        if self.len == self.pages.len() << Self::BITS {
            self.pages.push(Vec::with_capacity(Self::EACH));
        }
        self.pages[self.len >> Self::BITS].push(item);
        self.len += 1;
        self.len as u32 - 1
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let page = self.pages.get(number as usize >> Self::BITS)?;
        page.get(number as usize % Self::EACH)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let page = self.pages.get_mut(number as usize >> Self::BITS)?;
        page.get_mut(number as usize % Self::EACH)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }
}

impl<T> Index<u32> for Pages<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.pages[number as usize >> Self::BITS][number as usize % Self::EACH]
    }
}

impl<T> IndexMut<u32> for Pages<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.pages[number as usize >> Self::BITS][number as usize % Self::EACH]
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
