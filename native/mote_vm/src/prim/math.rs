//! `:math`: elementary functions of numbers, always floats.
//!
//! Computed by the platform's C library, because that is what the BEAM calls: a behaviour gives the same bits on the
//! machine and as Elixir code. Whatever is not finite (a pole, outside of the domain, an overflow) is no answer.
use super::arith::{as_f64, finite};
use crate::heap::Heap;
use crate::value::Value;

mod c {
    // SAFETY: the C standard's functions of these names and types. They read and write no memory but errno.
    #[cfg_attr(unix, link(name = "m"))]
    unsafe extern "C" {
        pub(super) safe fn sqrt(x: f64) -> f64;
        pub(super) safe fn exp(x: f64) -> f64;
        pub(super) safe fn log(x: f64) -> f64;
        pub(super) safe fn log2(x: f64) -> f64;
        pub(super) safe fn log10(x: f64) -> f64;
        pub(super) safe fn sin(x: f64) -> f64;
        pub(super) safe fn cos(x: f64) -> f64;
        pub(super) safe fn tan(x: f64) -> f64;
        pub(super) safe fn asin(x: f64) -> f64;
        pub(super) safe fn acos(x: f64) -> f64;
        pub(super) safe fn atan(x: f64) -> f64;
        pub(super) safe fn sinh(x: f64) -> f64;
        pub(super) safe fn cosh(x: f64) -> f64;
        pub(super) safe fn tanh(x: f64) -> f64;
        pub(super) safe fn erf(x: f64) -> f64;
        pub(super) safe fn erfc(x: f64) -> f64;
        pub(super) safe fn pow(x: f64, y: f64) -> f64;
        pub(super) safe fn atan2(y: f64, x: f64) -> f64;
    }
}

fn of_one(heap: &mut Heap, a: Value, f: impl FnOnce(f64) -> f64) -> Value {
    match as_f64(a) {
        Some(x) => finite(heap, f(x)),
        None => Value::NONE,
    }
}

fn of_two(heap: &mut Heap, a: Value, b: Value, f: impl FnOnce(f64, f64) -> f64) -> Value {
    match (as_f64(a), as_f64(b)) {
        (Some(x), Some(y)) => finite(heap, f(x, y)),
        _ => Value::NONE,
    }
}

macro_rules! functions_of_one {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`:math.", stringify!($name), "(a)`")]
            pub(crate) fn $name(heap: &mut Heap, a: Value) -> Value {
                of_one(heap, a, |x| c::$name(x))
            }
        )*
    };
}

functions_of_one! {
    sqrt exp log log2 log10 sin cos tan asin acos atan sinh cosh tanh erf erfc
}

/// `:math.pow(a, b)`
pub(crate) fn pow(heap: &mut Heap, a: Value, b: Value) -> Value {
    of_two(heap, a, b, |x, y| c::pow(x, y))
}

/// `:math.atan2(a, b)`: the angle of the point whose y is `a` and whose x is `b`.
pub(crate) fn atan2(heap: &mut Heap, a: Value, b: Value) -> Value {
    of_two(heap, a, b, |y, x| c::atan2(y, x))
}
