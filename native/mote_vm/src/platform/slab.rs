//! Things by number, in pages that come from the system and go back to it.
//!
//! What waits for long, in any number, is kept in a slab: a burst leaves no room behind, and a collection walks through it
//! beside turns.
//!
//! Invariants:
//! 1. A thing lies still, and has its number for itself, from when it is put in until it is taken out.
//! 2. A page goes back to the system with the last thing in it, but for the first page, and for one more, so that a number
//!    that goes up and down at the border of a page does not ask the system each time.
//! 3. No two things have both number and stamp in common, also where pages came and went in between.
//! 4. A walk meets everything that was there when it began, unless it was taken out while it was `ahead`.
use super::pages;
use std::alloc::{handle_alloc_error, Layout};
use std::ptr::NonNull;

/// Bytes of a page, about.
const PAGE: usize = 64 << 10;
/// Places of the first page, which comes from the allocator.
const FEW: u32 = 64;
const NONE: u32 = u32::MAX;

struct SlabPlace<T> {
    thing: Option<T>,
    /// The next free place of the page, where the thing is gone.
    next: u32,
    stamp: u32,
}

struct Page<T> {
    places: Option<NonNull<SlabPlace<T>>>,
    used: u32,
    /// Number of places that were used since the page came; the others are not initialised.
    touched: u32,
    free: u32,
    /// A stamp no less than that of every place, including those that the page had when it was last there.
    stamp: u32,
    /// Its position in `roomy`, if it is there.
    listed: u32,
}

/// See the head of this file.
pub(crate) struct Slab<T> {
    pages: Vec<Page<T>>,
    /// Pages that have room, and numbers of those that are not there.
    roomy: Vec<u32>,
    gone: Vec<u32>,
    len: usize,
    /// Number of pages that are there, and of those that have nothing in them, except the first.
    mapped: usize,
    empty: usize,
    /// The number that a walk comes to next, while there is one, and how many pages it goes through: those that come meanwhile
    /// have nothing in them that was there when it began.
    walk: Option<u32>,
    walked: usize,
}

// SAFETY: the pages are the slab's own.
unsafe impl<T: Send> Send for Slab<T> {}

impl<T> Slab<T> {
    /// A page has two to that power of places, except the first.
    const BITS: u32 = match (PAGE / size_of::<SlabPlace<T>>()).ilog2() {
        bits if cfg!(miri) && bits > 7 => 7,
        bits => bits,
    };
    const PLACES: u32 = 1 << Self::BITS;
    const BYTES: usize = size_of::<SlabPlace<T>>() << Self::BITS;
    /// Bytes of one place, and of the first page.
    pub(crate) const PLACE: usize = size_of::<SlabPlace<T>>();
    pub(crate) const FIRST: usize = Self::PLACE * FEW as usize;

    pub(crate) const fn new() -> Slab<T> {
        Slab {
            pages: Vec::new(),
            roomy: Vec::new(),
            gone: Vec::new(),
            len: 0,
            mapped: 0,
            empty: 0,
            walk: None,
            walked: 0,
        }
    }

    /// Returns the number of things.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of its pages beside the first, and of what leads to them.
    pub(crate) fn bytes(&self) -> usize {
        let pages = self.pages.len().saturating_sub(1);
        let table = pages * (size_of::<Page<T>>() + 2 * size_of::<u32>());
        table + self.mapped.saturating_sub(1) * Self::BYTES
    }

    #[inline(always)]
    fn split(number: u32) -> (usize, u32) {
        ((number >> Self::BITS) as usize, number & (Self::PLACES - 1))
    }

    /// Puts a thing in. Returns its number, and the stamp that tells it from others that had this number.
    pub(crate) fn insert(&mut self, thing: T) -> (u32, u32) {
        let number = self.page_with_room();
        let few = if number == 0 {
            FEW.min(Self::PLACES)
        } else {
            Self::PLACES
        };
        let page = &mut self.pages[number as usize];
        if page.used == 0 && number > 0 {
            self.empty -= 1;
        }
        page.used += 1;
        self.len += 1;
        let Some(places) = page.places else {
            unreachable!("a page with room is there")
        };
        let at = page.free;
        let (at, stamp) = if at == NONE {
            let at = page.touched;
            page.touched += 1;
            let place = SlabPlace {
                thing: Some(thing),
                next: NONE,
                stamp: page.stamp,
            };
            // SAFETY: fewer places than the page has were touched, because it has room and none is free.
            unsafe { places.add(at as usize).write(place) };
            (at, page.stamp)
        } else {
            // SAFETY: free places were touched, so they are initialised.
            let place = unsafe { places.add(at as usize).as_mut() };
            page.free = place.next;
            place.thing = Some(thing);
            (at, place.stamp)
        };
        if page.used == few {
            page.listed = NONE;
            self.roomy.pop();
        }
        (number << Self::BITS | at, stamp)
    }

    /// The number of a page that has room, which is then the last of `roomy`.
    #[inline]
    fn page_with_room(&mut self) -> u32 {
        match self.roomy.last() {
            Some(number) => *number,
            None => self.another_page(),
        }
    }

    #[cold]
    fn another_page(&mut self) -> u32 {
        let number = self.gone.pop().unwrap_or(self.pages.len() as u32);
        let at = number as usize;
        if at == self.pages.len() {
            assert!(number <= NONE >> Self::BITS, "a slab has no more numbers");
            self.pages.push(Page {
                places: None,
                used: 0,
                touched: 0,
                free: NONE,
                stamp: 0,
                listed: NONE,
            });
        }
        let layout = Self::layout(number);
        let places = match number {
            // SAFETY: the layout has a size.
            0 => NonNull::new(unsafe { std::alloc::alloc(layout) }),
            _ => pages::map(layout.size(), layout.align()).and_then(NonNull::new),
        };
        let page = &mut self.pages[at];
        page.places = Some(match places {
            Some(places) => places.cast(),
            None => handle_alloc_error(layout),
        });
        (page.touched, page.free) = (0, NONE);
        self.mapped += 1;
        self.empty += usize::from(number > 0);
        self.list(at);
        number
    }

    fn layout(page: u32) -> Layout {
        let places = if page == 0 {
            FEW.min(Self::PLACES)
        } else {
            Self::PLACES
        };
        match Layout::array::<SlabPlace<T>>(places as usize) {
            Ok(layout) => layout,
            Err(_) => unreachable!("a page has a size"),
        }
    }

    /// The place of that number, if it is there.
    #[inline(always)]
    fn place(&self, number: u32) -> Option<NonNull<SlabPlace<T>>> {
        let (page, at) = Self::split(number);
        let page = self.pages.get(page)?;
        let places = page.places.filter(|_| at < page.touched)?;
        // SAFETY: the page has more than `at` places.
        Some(unsafe { places.add(at as usize) })
    }

    /// The thing of that number.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        // SAFETY: the place is there, and nobody writes to it while the slab is borrowed.
        unsafe { self.place(number)?.as_ref() }.thing.as_ref()
    }

    /// Returns the thing of that number, to be changed.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        // SAFETY: as above, and nobody else has the slab.
        unsafe { self.place(number)?.as_mut() }.thing.as_mut()
    }

    /// The stamp of the thing of that number.
    #[inline(always)]
    pub(crate) fn stamp(&self, number: u32) -> Option<u32> {
        // SAFETY: as in `get`.
        let place = unsafe { self.place(number)?.as_ref() };
        place.thing.as_ref().map(|_| place.stamp)
    }

    /// Returns the address of the thing of that number, for prefetching.
    #[inline(always)]
    pub(crate) fn address(&self, number: u32) -> *const u8 {
        let place = self.place(number);
        place.map_or(std::ptr::null(), |place| place.as_ptr().cast())
    }

    /// Takes the thing of that number out.
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        // SAFETY: as in `get_mut`.
        let place = unsafe { self.place(number)?.as_mut() };
        let thing = place.thing.take()?;
        place.stamp = place.stamp.wrapping_add(1);
        let (at_page, at) = Self::split(number);
        let page = &mut self.pages[at_page];
        place.next = std::mem::replace(&mut page.free, at);
        page.stamp = page.stamp.max(place.stamp);
        page.used -= 1;
        self.len -= 1;
        let (used, listed) = (page.used, page.listed);
        if listed == NONE {
            self.list(at_page);
        }
        if used == 0 && at_page > 0 {
            self.emptied(at_page);
        }
        Some(thing)
    }

    /// Lists a page that has room.
    fn list(&mut self, page: usize) {
        self.pages[page].listed = self.roomy.len() as u32;
        self.roomy.push(page as u32);
    }

    /// Takes a page off that list.
    fn unlist(&mut self, page: usize) {
        let at = std::mem::replace(&mut self.pages[page].listed, NONE);
        self.roomy.swap_remove(at as usize);
        if let Some(moved) = self.roomy.get(at as usize) {
            self.pages[*moved as usize].listed = at;
        }
    }

    /// Notes that nothing is in that page any more.
    #[cold]
    fn emptied(&mut self, at: usize) {
        self.empty += 1;
        if self.empty > 1 {
            self.empty -= 1;
            self.mapped -= 1;
            self.gone.push(at as u32);
            self.unlist(at);
            if let Some(places) = self.pages[at].places.take() {
                let layout = Self::layout(at as u32);
                // SAFETY: mapped by `another_page`, and nothing is in it.
                unsafe { pages::unmap(places.as_ptr().cast(), layout.size(), layout.align()) };
            }
        }
    }

    /// Shows every thing.
    pub(crate) fn each(&self, mut show: impl FnMut(&T)) {
        self.show(0, self.pages.len(), usize::MAX, &mut show);
    }

    /// Shows what is in the next `most` places from that number on. Returns the number to go on with, if there is more.
    pub(crate) fn part(&self, from: u32, most: usize, mut show: impl FnMut(&T)) -> Option<u32> {
        self.show(from, self.pages.len(), most, &mut show)
    }

    /// A walk begins.
    pub(crate) fn begin_walk(&mut self) {
        self.walk = (self.len > 0).then_some(0);
        self.walked = self.pages.len();
    }

    /// Returns whether the walk is not over.
    pub(crate) fn is_walked(&self) -> bool {
        self.walk.is_some()
    }

    /// Returns whether the walk has still to come to that number.
    #[inline(always)]
    pub(crate) fn is_ahead(&self, number: u32) -> bool {
        self.walk.is_some_and(|at| number >= at)
    }

    /// Walks on through that many places at most, and shows the things in them. Returns whether there are more.
    pub(crate) fn walk(&mut self, most: usize, mut show: impl FnMut(&T)) -> bool {
        if let Some(at) = self.walk {
            self.walk = self.show(at, self.walked, most, &mut show);
        }
        self.walk.is_some()
    }

    /// Shows what is in the next places of the first pages, from that place on. Returns the one that is next then, if there is
    /// one. A page counts as a place, too, because it may not be there.
    fn show(&self, from: u32, pages: usize, most: usize, show: &mut impl FnMut(&T)) -> Option<u32> {
        let (mut at_page, mut at) = Self::split(from);
        let mut left = most;
        while let Some(page) = self.pages[..pages].get(at_page) {
            let touched = page.places.map_or(0, |_| page.touched);
            while at < touched {
                if left == 0 {
                    return Some((at_page as u32) << Self::BITS | at);
                }
                if let Some(thing) = self.get((at_page as u32) << Self::BITS | at) {
                    show(thing);
                }
                at += 1;
                left -= 1;
            }
            (at_page, at) = (at_page + 1, 0);
            left = left.saturating_sub(1);
            if left == 0 && at_page < pages {
                return Some((at_page as u32) << Self::BITS);
            }
        }
        None
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        for (number, page) in self.pages.iter_mut().enumerate() {
            let Some(places) = page.places.take() else {
                continue;
            };
            for at in 0..page.touched as usize {
                // SAFETY: touched, so it is initialised, and dropped only here.
                unsafe { places.add(at).drop_in_place() };
            }
            let layout = Self::layout(number as u32);
            // SAFETY: made by `another_page` in the same way.
            unsafe {
                match number {
                    0 => std::alloc::dealloc(places.as_ptr().cast(), layout),
                    _ => pages::unmap(places.as_ptr().cast(), layout.size(), layout.align()),
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
