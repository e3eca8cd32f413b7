//! Values as the machine lays them out: tagged words of 64 bits, lists of cells of two words, tuples behind a header, memory that is
//! given out from the front.
//!
//! What a Rust compiler knows is not tested: a head is known to be an integer. Whether a list has another cell and whether an
//! integer overflows is tested, as in the machine, where such an integer would become a large one; here it ends the program.
//! Nothing is collected: memory is given back at the end.
//!
//! Invariants:
//! 1. A list that is not empty points to two initialised words of a heap, which are not written again in its lifetime: only
//!    [`Heap::empty`] lets words be given out twice, and that takes the heap for itself.
use crate::region::Region;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Add, Mul, Rem, Sub};

/// More than any of the programs takes at a size that ends within a minute. What is not touched takes no memory.
const BYTES: usize = 4 << 30;
const CONS: u64 = 0b1000;
const TAGS: u64 = 0b1111;
const TUPLE: u64 = 1;
const EMPTY: u64 = 0b1_1100;

/// An integer of 63 bits: twice its value and one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Int(i64);

impl Int {
    pub(crate) const ZERO: Int = Int::new(0);
    pub(crate) const ONE: Int = Int::new(1);

    /// A number of up to 63 bits: one more is lost.
    #[inline(always)]
    pub(crate) const fn new(value: i64) -> Int {
        Int::of_twice(value << 1)
    }

    #[inline(always)]
    pub(crate) const fn get(self) -> i64 {
        self.0 >> 1
    }

    #[inline(always)]
    const fn of_twice(twice: i64) -> Int {
        Int(twice | 1)
    }

    #[inline(always)]
    const fn twice(self) -> i64 {
        self.0 - 1
    }

    #[inline(always)]
    pub(crate) fn abs(self) -> Int {
        if self < Int::ZERO {
            Int::ZERO - self
        } else {
            self
        }
    }

    /// The quotient by a number that is neither 0 nor -1.
    #[inline(always)]
    pub(crate) fn div(self, by: i64) -> Int {
        Int::new(self.get() / by)
    }
}

impl Add for Int {
    type Output = Int;

    #[inline(always)]
    fn add(self, other: Int) -> Int {
        Int(self.0.checked_add(other.twice()).unwrap_or_else(overflow))
    }
}

impl Sub for Int {
    type Output = Int;

    #[inline(always)]
    fn sub(self, other: Int) -> Int {
        Int(self.0.checked_sub(other.twice()).unwrap_or_else(overflow))
    }
}

impl Mul<i64> for Int {
    type Output = Int;

    #[inline(always)]
    fn mul(self, by: i64) -> Int {
        let twice = self.twice().checked_mul(by);
        Int::of_twice(twice.unwrap_or_else(overflow))
    }
}

impl Rem<i64> for Int {
    type Output = Int;

    #[inline(always)]
    fn rem(self, by: i64) -> Int {
        Int::new(self.get() % by)
    }
}

#[cold]
#[inline(never)]
fn overflow() -> i64 {
    panic!("an integer is not one of 63 bits")
}

/// A list of integers.
#[derive(Clone, Copy)]
pub(crate) struct List<'h> {
    word: u64,
    heap: PhantomData<&'h Heap>,
}

impl<'h> List<'h> {
    pub(crate) const EMPTY: List<'static> = List::of(EMPTY);

    #[inline(always)]
    const fn of(word: u64) -> List<'h> {
        List {
            word,
            heap: PhantomData,
        }
    }

    /// The first integer and the rest.
    #[inline(always)]
    pub(crate) fn split(self) -> Option<(Int, List<'h>)> {
        if self.word & TAGS != CONS {
            return None;
        }
        let cell = (self.word - CONS) as *const u64;
        // SAFETY: by the invariant.
        unsafe { Some((Int(*cell as i64), List::of(*cell.add(1)))) }
    }

    /// Returns the number of integers in the list.
    pub(crate) fn length(mut self) -> Int {
        let mut length = Int::ZERO;
        while let Some((_, rest)) = self.split() {
            length = length + Int::ONE;
            self = rest;
        }
        length
    }
}

impl Iterator for List<'_> {
    type Item = Int;

    #[inline(always)]
    fn next(&mut self) -> Option<Int> {
        let (first, rest) = self.split()?;
        *self = rest;
        Some(first)
    }
}

/// A tuple of integers, behind its header.
#[derive(Clone, Copy)]
pub(crate) struct Tuple<'h>(pub(crate) &'h [Int]);

/// The memory that cells are made in.
pub(crate) struct Heap {
    region: Region,
    next: Cell<*mut u64>,
    end: *mut u64,
}

impl Heap {
    pub(crate) fn new() -> Heap {
        let region = Region::new(BYTES);
        let range = region.range();
        Heap {
            region,
            next: Cell::new(range.start.cast()),
            end: range.end.cast(),
        }
    }

    /// Empties the heap, so that all of it is handed out once more.
    pub(crate) fn empty(&mut self) {
        self.next.set(self.region.range().start.cast());
    }

    /// Hands out `count` words, an even number, which nobody else has.
    #[inline(always)]
    fn words(&self, count: usize) -> *mut u64 {
        let words = self.next.get();
        if (self.end as usize - words as usize) / 8 < count {
            full();
        }
        // SAFETY: they are before the end.
        self.next.set(unsafe { words.add(count) });
        words
    }

    /// A list with one more integer.
    #[inline(always)]
    pub(crate) fn cons<'h>(&'h self, first: Int, rest: List<'h>) -> List<'h> {
        let cell = self.words(2);
        // SAFETY: a cell that nobody else has.
        unsafe {
            cell.write(first.0 as u64);
            cell.add(1).write(rest.word);
        }
        List::of(cell as u64 + CONS)
    }

    /// A tuple of these.
    pub(crate) fn tuple(&self, elements: &[Int]) -> Tuple<'_> {
        Tuple(self.elements(elements))
    }

    /// A copy of a tuple with another element at that place, counted from 0.
    #[inline(always)]
    pub(crate) fn put_elem(&self, tuple: Tuple, place: usize, element: Int) -> Tuple<'_> {
        let copy = self.elements(tuple.0);
        copy[place] = element;
        Tuple(copy)
    }

    /// A copy behind a header, which nobody has seen before.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)] // Each time other memory.
    fn elements(&self, elements: &[Int]) -> &mut [Int] {
        let count = elements.len();
        let words = self.words((count + 1).next_multiple_of(2));
        // SAFETY: as many words as the header and the elements take, which nobody else has.
        unsafe {
            words.write((count as u64) << 16 | TUPLE);
            let copy = words.add(1).cast::<Int>();
            copy.copy_from_nonoverlapping(elements.as_ptr(), count);
            std::slice::from_raw_parts_mut(copy, count)
        }
    }

    /// A copy of what a list begins with, for as long as `wanted` says so, before what becomes of the others.
    #[inline(always)]
    pub(crate) fn copied<'h>(
        &'h self,
        list: List<'h>,
        wanted: impl Fn(Int) -> bool,
        others: impl FnOnce(List<'h>) -> List<'h>,
    ) -> List<'h> {
        let mut rest = list;
        let mut copy = EMPTY;
        let mut end = &raw mut copy;
        while let Some((first, more)) = rest.split().filter(|(first, _)| wanted(*first)) {
            let cell = self.words(2);
            // SAFETY: a cell that nobody else has; `end` is `copy` or the tail of the cell before it.
            unsafe {
                cell.write(first.0 as u64);
                end.write(cell as u64 + CONS);
                end = cell.add(1);
            }
            rest = more;
        }
        // SAFETY: as above. Now the cells are initialised, and nobody has seen them before.
        unsafe { end.write(others(rest).word) };
        List::of(copy)
    }

    /// `front ++ back`: a copy of the one before the other.
    pub(crate) fn append<'h>(&'h self, front: List<'h>, back: List<'h>) -> List<'h> {
        self.copied(front, |_| true, |_| back)
    }

    /// Puts a list before `back`, in reverse order.
    pub(crate) fn reverse<'h>(&'h self, list: List<'h>, back: List<'h>) -> List<'h> {
        list.fold(back, |back, first| self.cons(first, back))
    }
}

#[cold]
#[inline(never)]
fn full() -> ! {
    panic!("more than {BYTES} bytes of cells")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list<'h>(heap: &'h Heap, numbers: &[i64]) -> List<'h> {
        let cons = |rest, &n| heap.cons(Int::new(n), rest);
        numbers.iter().rev().fold(List::EMPTY, cons)
    }

    fn numbers(list: List) -> Vec<i64> {
        list.map(Int::get).collect()
    }

    #[test]
    fn integers_are_those_of_63_bits() {
        for (a, b) in [(7, 3), (-7, 3), (0, -9), (1 << 40, -1)] {
            let (x, y) = (Int::new(a), Int::new(b));
            assert_eq!(x.get(), a);
            assert_eq!((x + y).get(), a + b);
            assert_eq!((x - y).get(), a - b);
            assert_eq!((x * 5).get(), a * 5);
            assert_eq!((x % 5).get(), a % 5);
            assert_eq!((x.div(5), x.abs()), (Int::new(a / 5), Int::new(a.abs())));
            assert_eq!(x < y, a < b);
        }
    }

    #[test]
    #[should_panic(expected = "63 bits")]
    fn a_sum_of_64_bits_ends_the_program() {
        let _ = Int::new((1 << 62) - 1) + Int::ONE;
    }

    #[test]
    fn lists_are_copied_appended_and_reversed() {
        let heap = Heap::new();
        let (front, back) = (list(&heap, &[1, 2, 3]), list(&heap, &[4, 5]));
        assert_eq!(numbers(heap.append(front, back)), [1, 2, 3, 4, 5]);
        assert_eq!(numbers(heap.append(List::EMPTY, back)), [4, 5]);
        assert_eq!(numbers(heap.reverse(front, back)), [3, 2, 1, 4, 5]);
        let less = |n: Int| n < Int::new(3);
        let added = heap.copied(front, less, |rest| heap.cons(Int::ZERO, rest));
        assert_eq!(numbers(added), [1, 2, 0, 3]);
        assert_eq!(front.length().get(), 3);
        assert_eq!(List::EMPTY.length().get(), 0);
    }

    #[test]
    fn an_emptied_heap_gives_out_the_same_memory() {
        let mut heap = Heap::new();
        let first = list(&heap, &[1]).word;
        assert_eq!(list(&heap, &[2]).word, first + 16);
        heap.empty();
        assert_eq!(list(&heap, &[3]).word, first);
    }
}
