//! Quicksort of a list by its first number, and the judge, which checks that it is in order and adds it up.
//!
//! Left out: the actors for the parts of more than 2,048 numbers; such a part is a call. The sum, which takes an integer of more
//! than one word in the machine, is one of 128 bits.
use crate::cells::{Heap, Int, List};
use crate::savina::dice::roll;

/// The longest list that is sorted without another one for its length.
const CUTOFF: Int = Int::new(2_048);

/// The numbers: each two of the generator.
pub(crate) fn numbers(heap: &Heap, n: u32) -> List<'_> {
    let mut dice = Int::ONE;
    let mut part = || {
        dice = roll(dice);
        dice.get() % (1 << 30)
    };
    let numbers: Vec<i64> = (0..n).map(|_| part() << 30 | part()).collect();
    let cons = |rest, &number: &i64| heap.cons(Int::new(number), rest);
    numbers.iter().rev().fold(List::EMPTY, cons)
}

/// The lowest 53 bits of the sum of the numbers, or -1 when they are not sorted.
pub(crate) fn run<'h>(heap: &'h Heap, numbers: List<'h>) -> f64 {
    let numbers = sorted(heap, numbers);
    if !ordered(numbers) {
        return -1.0;
    }
    let sum: i128 = numbers.map(|number| i128::from(number.get())).sum();
    (sum & ((1 << 53) - 1)) as f64
}

fn sorted<'h>(heap: &'h Heap, numbers: List<'h>) -> List<'h> {
    if numbers.length() <= CUTOFF {
        return sort(heap, numbers, List::EMPTY);
    }
    let Some((pivot, rest)) = numbers.split() else {
        return List::EMPTY;
    };
    let (less, greater) = parts(heap, rest, pivot);
    let less = sorted(heap, less);
    let greater = sorted(heap, greater);
    heap.append(less, heap.cons(pivot, greater))
}

/// Sorts the numbers before those that are `sorted` already.
fn sort<'h>(heap: &'h Heap, mut numbers: List<'h>, mut sorted: List<'h>) -> List<'h> {
    while let Some((pivot, rest)) = numbers.split() {
        let (less, greater) = parts(heap, rest, pivot);
        sorted = heap.cons(pivot, sort(heap, greater, sorted));
        numbers = less;
    }
    sorted
}

/// Splits the numbers into those less than the pivot and all others, both in reverse order.
#[inline(always)]
fn parts<'h>(heap: &'h Heap, numbers: List<'h>, pivot: Int) -> (List<'h>, List<'h>) {
    let (mut less, mut greater) = (List::EMPTY, List::EMPTY);
    for number in numbers {
        if number < pivot {
            less = heap.cons(number, less);
        } else {
            greater = heap.cons(number, greater);
        }
    }
    (less, greater)
}

fn ordered(mut numbers: List) -> bool {
    let Some(mut last) = numbers.next() else {
        return true;
    };
    numbers.all(|number| std::mem::replace(&mut last, number) <= number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_order_is_found() {
        let heap = Heap::new();
        let numbers = numbers(&heap, 5_000);
        assert!(!ordered(numbers));
        let sorted = sorted(&heap, numbers);
        assert!(ordered(sorted));
        let mut reference: Vec<Int> = numbers.collect();
        reference.sort();
        assert_eq!(sorted.collect::<Vec<Int>>(), reference);
    }
}
