//! The doubly recursive Fibonacci numbers: calls, and little else.

/// The n-th one.
pub fn fib(n: i64) -> i64 {
    if n < 2 {
        n
    } else {
        fib(n - 1) + fib(n - 2)
    }
}
