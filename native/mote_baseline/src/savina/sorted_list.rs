//! The sorted list: the requests of 20 workers, one of each in turn.
//!
//! Left out: the messages, and so the tuples that are requests.
use crate::cells::{Heap, Int, List};
use crate::savina::dice::roll;
use std::hint::black_box;

const WORKERS: i64 = 20;
const LIMIT: i64 = 10_000;

/// The sum of the numbers of the list in the end, each times its place, from 1 on.
pub(crate) fn run(heap: &Heap, n: u32) -> f64 {
    let mut workers: Vec<Int> = (1..=WORKERS).map(Int::new).collect();
    let mut numbers = List::EMPTY;
    for _ in 0..n {
        for dice in &mut workers {
            *dice = roll(*dice);
            let number = dice.div(100) % LIMIT;
            match (*dice % 100).get() {
                0 => _ = black_box(numbers.length()),
                1..=10 => numbers = add(heap, numbers, number),
                _ => _ = black_box(contains(numbers, number)),
            }
        }
    }
    let places = numbers.zip(1i64..);
    places
        .map(|(number, place)| (number.get() * place) as f64)
        .sum()
}

fn contains(mut numbers: List, number: Int) -> bool {
    numbers.find(|&first| first >= number) == Some(number)
}

fn add<'h>(heap: &'h Heap, numbers: List<'h>, number: Int) -> List<'h> {
    heap.copied(
        numbers,
        |first| first < number,
        |rest| heap.cons(number, rest),
    )
}
