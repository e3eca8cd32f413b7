//! N-queens: all boards of up to four queens, then all solutions from each.
//!
//! Left out: the workers, and the messages by which they get boards. The order is another one, depth first; what is done with
//! each board is the same.
use crate::cells::{Heap, Int, List};

/// Queens that are placed before the solutions are counted.
const THRESHOLD: Int = Int::new(4);

/// Returns the number of solutions with that many queens.
pub(crate) fn run(heap: &Heap, queens: u32) -> f64 {
    boards(heap, List::EMPTY, Int::new(queens.into())).get() as f64
}

/// Counts the solutions of a board, given as the columns of its queens. It does a worker's task for the board, and for all that come of
/// it.
fn boards<'h>(heap: &'h Heap, board: List<'h>, size: Int) -> Int {
    let length = board.length();
    if length >= THRESHOLD {
        return solutions(heap, board, size - length, size);
    }
    let mut found = Int::ZERO;
    let mut column = Int::ONE;
    while column <= size {
        if safe(board, column) {
            found = found + boards(heap, heap.cons(column, board), size);
        }
        column = column + Int::ONE;
    }
    found
}

/// The next column is a loop, as one would write a call whose result is only added to something.
fn solutions<'h>(heap: &'h Heap, board: List<'h>, left: Int, size: Int) -> Int {
    if left == Int::ZERO {
        return Int::ONE;
    }
    let mut found = Int::ZERO;
    let mut column = size;
    while column != Int::ZERO {
        if safe(board, column) {
            found = found + solutions(heap, heap.cons(column, board), left - Int::ONE, size);
        }
        column = column - Int::ONE;
    }
    found
}

#[inline(always)]
fn safe(board: List, column: Int) -> bool {
    let mut distance = Int::ONE;
    for queen in board {
        if queen == column || (queen - column).abs() == distance {
            return false;
        }
        distance = distance + Int::ONE;
    }
    true
}
