//! The primitives: total functions over values. Their meaning is fixed by guides/ir.md, section "Primitives".
//!
//! Nothing here raises or panics, whatever the arguments. [`Value::NONE`] is "no answer"; the caller makes
//! `:undefined` or a jump of it. A primitive that allocates also returns `NONE` when the memory is exhausted, and then
//! [`Heap::exhausted`] says so. Predicates that always have an answer are `bool`, because native code and patterns
//! branch on them; the table makes values of them.
//!
//! Anything that takes more than a moment is counted in the heap's [`Work`](work::Work), which can end it: see the head of
//! work.rs.
//!
//! Integers that are too large to calculate with (crate::values::big, invariant 2) can be compared, and their type can be
//! tested, but arithmetic neither takes nor returns them.
pub(crate) mod arith;
pub(crate) mod binaries;
pub(crate) mod bits;
pub(crate) mod build;
pub(crate) mod characters;
pub(crate) mod compare;
pub(crate) mod enumerable;
pub(crate) mod integers;
mod limbs;
pub(crate) mod lists;
pub(crate) mod maps;
pub(crate) mod math;
pub(crate) mod order;
mod packed;
pub mod primitive;
pub(crate) mod random;
pub(crate) mod regexes;
pub(crate) mod search;
pub(crate) mod sorted_lists;
pub(crate) mod sorting;
pub(crate) mod split;
pub(crate) mod subtract;
mod table;
pub(crate) mod text;
pub(crate) mod tuples;
pub(crate) mod types;
pub(crate) mod vectors;
pub(crate) mod weight;

use crate::base::clock::Clock;
use crate::heap::Heap;
use crate::terms::prim::primitive::Primitive;
use crate::values::value::{Value, FIXNUM_MAX};
use random::Draws;
use table::primitives;

const _: () = assert!(Clock::LAST == FIXNUM_MAX);

macro_rules! applied {
    (($heap:ident, $draws:ident, $clock:ident) $(
        $number:literal $variant:ident $name:ident($($argument:ident),*) $has:ident $answer:ident $effort:ident $elixir:literal
            => $computed:expr;
    )*) => {
        /// Applies `primitive` to the first of `arguments`, as many as its arity; the others are not looked at.
        #[inline]
        pub(crate) fn apply(
            primitive: Primitive,
            $heap: &mut Heap,
            $draws: Draws<'_>,
            $clock: &Clock,
            arguments: &[Value; 3],
        ) -> Value {
            match primitive {
                $(Primitive::$variant => {
                    let [$($argument,)* ..] = *arguments;
                    $computed
                })*
            }
        }
    };
}

primitives!(applied);

#[cfg(test)]
mod tests {
    use super::primitive::Answer;
    use super::random::Random;
    use super::*;
    use crate::base::clock::ClockKind;
    use crate::testing::terms::{model, Built};
    use proptest::prelude::*;

    fn clock() -> Clock {
        Clock::new(ClockKind::System)
    }

    fn is(value: Value, answer: Answer) -> bool {
        match answer {
            Answer::Any => true,
            Answer::Number => types::is_number(value),
            Answer::Integer => types::is_integer(value),
            Answer::Fixnum => value.is_fixnum(),
            Answer::Float => types::is_float(value),
            Answer::Boolean => types::is_boolean(value),
            Answer::List => types::is_list(value),
            Answer::Tuple => types::is_tuple(value),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1000 }))]

        #[test]
        fn all_are_total_and_answer_what_the_table_says(a in model(), b in model(), c in model(), seed: u64) {
            let mut built = Built::new();
            let arguments = [built.value(&a), built.value(&b), built.value(&c)];
            let mut random = Random::from_seed(seed);
            for primitive in Primitive::ALL {
                if cfg!(miri) && math::function(*primitive).is_some() {
                    continue;
                }
                let answer = apply(*primitive, &mut built.heap, Draws(&mut random, &0), &clock(), &arguments);
                prop_assert!(!built.heap.exhausted());
                prop_assert!(!primitive.always_answers() || !answer.is_none(), "{}", primitive.name());
                if !answer.is_none() {
                    prop_assert!(is(answer, primitive.answer()), "{}", primitive.name());
                    prop_assert!(answer.as_float().is_none_or(f64::is_finite), "{}", primitive.name());
                }
            }
        }
    }

    #[test]
    fn each_number_has_its_function() {
        let mut built = Built::new();
        let mut random = Random::from_seed(1);
        let mut answer = |primitive, arguments: [i64; 2]| {
            let [a, b] = arguments.map(Value::fixnum);
            apply(
                primitive,
                &mut built.heap,
                Draws(&mut random, &0),
                &clock(),
                &[a, b, Value::NONE],
            )
        };
        use Primitive as P;
        let integers = [
            (P::Add, 9),
            (P::Sub, 5),
            (P::Mul, 14),
            (P::Idiv, 3),
            (P::Irem, 1),
            (P::Neg, -7),
            (P::Abs, 7),
            (P::Band, 2),
            (P::Bor, 7),
            (P::Bxor, 5),
            (P::Bnot, -8),
            (P::Bsl, 28),
            (P::Bsr, 1),
            (P::Max, 7),
            (P::Min, 2),
            (P::Round, 7),
            (P::Trunc, 7),
            (P::Floor, 7),
            (P::Ceil, 7),
        ];
        for (primitive, expected) in integers {
            assert_eq!(
                answer(primitive, [7, 2]).as_fixnum(),
                Some(expected),
                "{}",
                primitive.name()
            );
        }
        let comparisons = [
            (P::Eq, [false, true, false]),
            (P::Ne, [true, false, true]),
            (P::Same, [false, true, false]),
            (P::Differ, [true, false, true]),
            (P::Lt, [true, false, false]),
            (P::Le, [true, true, false]),
            (P::Gt, [false, false, true]),
            (P::Ge, [false, true, true]),
        ];
        for (primitive, expected) in comparisons {
            let answers = [1, 2, 3].map(|n| answer(primitive, [n, 2]) == Value::TRUE);
            assert_eq!(answers, expected, "{}", primitive.name());
        }
        assert_eq!(answer(P::Fdiv, [7, 2]).as_float(), Some(3.5));
    }
}
