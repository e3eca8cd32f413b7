//! Radixsort: a chain of sorters, one for each bit, which passes on the numbers without it at once and the others in the end.
//!
//! Numbers are messages. So these are here, in one queue, first in first out, as a machine with one thread has them; the one
//! that they are addressed to is a place in the chain.
use crate::cells::{Heap, Int, List};
use crate::queue::Queue;
use crate::savina::dice::roll;

const BITS: usize = 59;

/// A number on its way to a sorter, or behind the last of them to the judge.
#[derive(Clone, Copy)]
struct Event {
    to: usize,
    number: Int,
}

/// `bit`: the power of two. `left`: how many numbers are still to come.
struct Sorter<'h> {
    bit: i64,
    left: Int,
    ones: List<'h>,
}

/// The judge's state: the number before, and the sum of those that have not come.
struct Judge {
    last: Int,
    sum: i128,
    ordered: bool,
}

/// Numbers of 59 bits: each three of the generator.
pub(crate) fn numbers(n: u32) -> Vec<Int> {
    let mut dice = Int::ONE;
    let mut part = || {
        dice = roll(dice);
        dice.get()
    };
    let mut number = || (part() << 58 ^ part() << 29 ^ part()) & ((1 << BITS) - 1);
    (0..n).map(|_| Int::new(number())).collect()
}

/// Returns the count of the numbers, or -1 if they did not come in order, or others came.
pub(crate) fn run(heap: &Heap, numbers: &[Int]) -> f64 {
    let count = numbers.len();
    let sorter = |bit| Sorter {
        bit: 1i64 << bit,
        left: Int::new(count as i64),
        ones: List::EMPTY,
    };
    let mut sorters: Vec<Sorter> = (0..BITS).map(sorter).collect();
    let mut judge = Judge {
        last: Int::ZERO,
        sum: numbers.iter().map(|number| i128::from(number.get())).sum(),
        ordered: true,
    };
    let mut queue = Queue::new();
    for &number in numbers {
        queue.push(Event { to: 0, number });
    }
    while let Some(Event { to, number }) = queue.pop() {
        match sorters.get_mut(to) {
            Some(sorter) => sorter.receive(heap, number, to + 1, &mut queue),
            None => judge.receive(number),
        }
    }
    if judge.ordered && judge.sum == 0 {
        count as f64
    } else {
        -1.0
    }
}

impl<'h> Sorter<'h> {
    #[inline(always)]
    fn receive(&mut self, heap: &'h Heap, number: Int, next: usize, queue: &mut Queue<Event>) {
        if number.div(self.bit) % 2 == Int::ZERO {
            queue.push(Event { to: next, number });
        } else {
            self.ones = heap.cons(number, self.ones);
        }
        self.left = self.left - Int::ONE;
        if self.left == Int::ZERO {
            for number in heap.reverse(self.ones, List::EMPTY) {
                queue.push(Event { to: next, number });
            }
        }
    }
}

impl Judge {
    #[inline(always)]
    fn receive(&mut self, number: Int) {
        self.ordered &= number >= self.last;
        self.last = number;
        self.sum -= i128::from(number.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judge_finds_what_is_not_in_order() {
        let mut judge = Judge {
            last: Int::ZERO,
            sum: 12,
            ordered: true,
        };
        judge.receive(Int::new(5));
        judge.receive(Int::new(5));
        assert!(judge.ordered);
        judge.receive(Int::new(2));
        assert!(!judge.ordered && judge.sum == 0);
    }

    #[test]
    fn numbers_have_all_bits() {
        let all = numbers(64)
            .into_iter()
            .fold(0, |all, number| all | number.get());
        assert_eq!(all, (1 << BITS) - 1);
    }
}
