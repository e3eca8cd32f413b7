//! `:math`: elementary functions of numbers, always floats.
//!
//! Computed by the platform's C library, because that is what the BEAM calls: a behaviour computes the same bits on the machine
//! and as Elixir code. Anything that is not finite (a pole, outside of the domain, an overflow) is no answer.
use super::arith::{as_f64, finite};
use crate::heap::Heap;
use crate::terms::prim::primitive::Primitive;
use crate::values::value::Value;

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
        pub(super) safe fn fmod(x: f64, y: f64) -> f64;
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

/// Returns the C function that a primitive is, of one or two doubles. Its result is an answer if it is finite.
pub fn function(p: Primitive) -> Option<*const ()> {
    use Primitive as P;
    Some(match p {
        P::Sqrt => c::sqrt as *const (),
        P::Exp => c::exp as *const (),
        P::Log => c::log as *const (),
        P::Log2 => c::log2 as *const (),
        P::Log10 => c::log10 as *const (),
        P::Sin => c::sin as *const (),
        P::Cos => c::cos as *const (),
        P::Tan => c::tan as *const (),
        P::Asin => c::asin as *const (),
        P::Acos => c::acos as *const (),
        P::Atan => c::atan as *const (),
        P::Sinh => c::sinh as *const (),
        P::Cosh => c::cosh as *const (),
        P::Tanh => c::tanh as *const (),
        P::Erf => c::erf as *const (),
        P::Erfc => c::erfc as *const (),
        P::Pow => c::pow as *const (),
        P::Atan2 => c::atan2 as *const (),
        P::Fmod => c::fmod as *const (),
        _ => return None,
    })
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

/// `:math.fmod(a, b)`: what is left of `a`, with its sign.
pub(crate) fn fmod(heap: &mut Heap, a: Value, b: Value) -> Value {
    of_two(heap, a, b, |x, y| c::fmod(x, y))
}

// miri does not call the C library.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::testing::terms::{float, heap};
    use proptest::prelude::*;

    type Of1 = fn(&mut Heap, Value) -> Value;
    type Model = fn(f64) -> f64;

    fn answer(f: Of1, x: f64) -> Option<f64> {
        let mut heap = heap();
        let x = heap.float(x);
        float_of(f(&mut heap, x))
    }

    fn float_of(answer: Value) -> Option<f64> {
        (!answer.is_none()).then(|| answer.as_float().expect("a float"))
    }

    #[test]
    fn known_values() {
        use std::f64::consts::{E, FRAC_PI_2, LN_2, PI};
        let rows: [(Of1, f64, f64); 20] = [
            (sqrt, 2.25, 1.5),
            (exp, 1.0, E),
            (exp, -1000.0, 0.0),
            (log, 2.0, LN_2),
            (log2, 8.0, 3.0),
            (log10, 1000.0, 3.0),
            (sin, FRAC_PI_2, 1.0),
            (cos, PI, -1.0),
            (tan, 0.0, 0.0),
            (asin, 1.0, FRAC_PI_2),
            (acos, -1.0, PI),
            (atan, 1e300, FRAC_PI_2),
            (sinh, 0.0, 0.0),
            (cosh, 0.0, 1.0),
            (tanh, 100.0, 1.0),
            (erf, 0.0, 0.0),
            (erf, 1.0, 0.8427007929497149),
            (erfc, 0.0, 1.0),
            (erfc, -10.0, 2.0),
            (erfc, 1.0, 0.15729920705028513),
        ];
        for (i, (f, x, expected)) in rows.into_iter().enumerate() {
            let y = answer(f, x).unwrap();
            assert!(
                (y - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "row {i}: {y}"
            );
        }
        assert_eq!(
            answer(sqrt, -0.0).map(f64::to_bits),
            Some((-0.0f64).to_bits())
        );
    }

    #[test]
    fn outside_of_the_domain() {
        let rows: [(Of1, f64); 12] = [
            (sqrt, -1.0),
            (sqrt, -5e-324),
            (log, 0.0),
            (log, -1.0),
            (log2, 0.0),
            (log10, -0.0),
            (asin, 1.0000000000000002),
            (acos, -2.0),
            (exp, 710.0),
            (sinh, 1000.0),
            (cosh, -1000.0),
            (log10, -1e300),
        ];
        for (i, (f, x)) in rows.into_iter().enumerate() {
            assert_eq!(answer(f, x), None, "row {i}");
        }
    }

    #[test]
    fn of_two_numbers() {
        let mut heap = heap();
        let mut ask = |f: fn(&mut Heap, Value, Value) -> Value, x: f64, y: f64| {
            let (x, y) = (heap.float(x), heap.float(y));
            float_of(f(&mut heap, x, y))
        };
        assert_eq!(ask(pow, 2.0, 0.5), Some(std::f64::consts::SQRT_2));
        assert_eq!(ask(pow, 0.0, 0.0), Some(1.0));
        assert_eq!(ask(pow, 0.0, -1.0), None);
        assert_eq!(ask(pow, -8.0, 1.0 / 3.0), None);
        assert_eq!(ask(pow, 10.0, 400.0), None);
        assert_eq!(ask(pow, 10.0, -400.0), Some(0.0));
        assert_eq!(ask(atan2, 1.0, 0.0), Some(std::f64::consts::FRAC_PI_2));
        assert_eq!(ask(atan2, 0.0, 0.0), Some(0.0));
        assert_eq!(ask(atan2, 0.0, -0.0), Some(std::f64::consts::PI));
        assert_eq!(ask(fmod, -5.5, 2.0), Some(-1.5));
        assert_eq!(ask(fmod, 1.0, 0.0), None);
    }

    #[test]
    fn integers_count_as_floats_and_other_things_do_not() {
        let mut heap = heap();
        let four = Value::fixnum(4);
        assert_eq!(sqrt(&mut heap, four).as_float(), Some(2.0));
        assert_eq!(pow(&mut heap, four, four).as_float(), Some(256.0));
        for odd in [Value::NIL, Value::EMPTY_LIST] {
            assert!(sqrt(&mut heap, odd).is_none());
            assert!(pow(&mut heap, odd, four).is_none() && atan2(&mut heap, four, odd).is_none());
        }
    }

    proptest! {
        #[test]
        fn as_the_standard_library_says(x in float(), y in float()) {
            // It calls the same C library for these.
            let rows: [(Of1, Model); 14] = [
                (sqrt, f64::sqrt), (exp, f64::exp), (log, f64::ln), (log2, f64::log2), (log10, f64::log10),
                (sin, f64::sin), (cos, f64::cos), (tan, f64::tan), (asin, f64::asin), (acos, f64::acos),
                (atan, f64::atan), (sinh, f64::sinh), (cosh, f64::cosh), (tanh, f64::tanh),
            ];
            for (i, (f, model)) in rows.into_iter().enumerate() {
                let expected = Some(model(x)).filter(|y| y.is_finite());
                prop_assert_eq!(answer(f, x).map(f64::to_bits), expected.map(f64::to_bits), "row {}", i);
            }
            let mut heap = heap();
            let (a, b) = (heap.float(x), heap.float(y));
            let expected = Some(x.powf(y)).filter(|y| y.is_finite());
            prop_assert_eq!(float_of(pow(&mut heap, a, b)).map(f64::to_bits), expected.map(f64::to_bits));
            let expected = Some(x.atan2(y));
            prop_assert_eq!(float_of(atan2(&mut heap, a, b)).map(f64::to_bits), expected.map(f64::to_bits));
        }
    }
}
