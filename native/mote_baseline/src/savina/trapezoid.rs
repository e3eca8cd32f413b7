//! The trapezoidal rule: the pieces of all workers, with the same functions of the C library.
//!
//! Left out: the messages. One after the other, the workers do what they do as actors: each computes both heights of every piece.

const WORKERS: u32 = 100;
const LEFT: f64 = 1.0;
const RIGHT: f64 = 5.0;

/// The area, in `n` pieces for each worker.
pub(crate) fn run(n: u32) -> f64 {
    let width = (RIGHT - LEFT) / f64::from(WORKERS);
    let worker = |number| area(LEFT + f64::from(number) * width, width / f64::from(n), n);
    (0..WORKERS).map(worker).sum()
}

fn area(mut left: f64, width: f64, pieces: u32) -> f64 {
    let mut area = 0.0;
    for _ in 0..pieces {
        let right = left + width;
        area += (height(left) + height(right)) / 2.0 * width;
        left = right;
    }
    area
}

// Not inlined: else the height on the right of a piece, which is that on the left of the next one, could be computed once.
#[inline(never)]
fn height(x: f64) -> f64 {
    1.0 / (x + 1.0) * (1.0 + (2.0 * x).sqrt().exp()).sqrt() * (x * x * x - 1.0).sin()
}
