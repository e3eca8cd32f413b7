//! The primitives: total functions over values. Their meaning is fixed by guides/ir.md, section "Primitives".
//!
//! Nothing here raises or panics, whatever the arguments. [`Value::NONE`] is "no answer"; the caller makes
//! `:undefined` or a jump of it. A primitive that allocates also returns `NONE` when the memory is exhausted, and then
//! [`Heap::exhausted`] says so. Predicates that always have an answer are `bool`, because native code and patterns
//! branch on them; [`apply`] makes values of them.
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
pub(crate) mod search;
pub(crate) mod sorted_lists;
pub(crate) mod sorting;
pub(crate) mod subtract;
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

const _: () = assert!(Clock::LAST == FIXNUM_MAX);

/// Applies `primitive` to the first of `arguments`, as many as its arity; the others are not looked at.
///
/// The one place that maps primitives to functions: one line for each of them.
#[inline]
pub(crate) fn apply(
    primitive: Primitive,
    heap: &mut Heap,
    draws: Draws<'_>,
    clock: &Clock,
    arguments: &[Value; 3],
) -> Value {
    use Primitive as P;
    let [a, b, c] = *arguments;
    match primitive {
        P::Add => arith::add(heap, a, b),
        P::Sub => arith::sub(heap, a, b),
        P::Mul => arith::mul(heap, a, b),
        P::Fdiv => arith::fdiv(heap, a, b),
        P::Idiv => arith::idiv(heap, a, b),
        P::Irem => arith::irem(heap, a, b),
        P::Neg => arith::neg(heap, a),
        P::Abs => arith::abs(heap, a),
        P::Round => arith::round(heap, a),
        P::Trunc => arith::trunc(heap, a),
        P::Floor => arith::floor(heap, a),
        P::Ceil => arith::ceil(heap, a),

        P::Band => bits::band(heap, a, b),
        P::Bor => bits::bor(heap, a, b),
        P::Bxor => bits::bxor(heap, a, b),
        P::Bnot => bits::bnot(heap, a),
        P::Bsl => bits::bsl(heap, a, b),
        P::Bsr => bits::bsr(heap, a, b),

        P::Add64 => integers::wrapped(heap, a, b, u64::wrapping_add),
        P::Sub64 => integers::wrapped(heap, a, b, u64::wrapping_sub),
        P::Mul64 => integers::wrapped(heap, a, b, u64::wrapping_mul),

        P::Eq => Value::boolean(compare::equal(a, b, &mut heap.work)),
        P::Ne => Value::boolean(!compare::equal(a, b, &mut heap.work)),
        P::Same => Value::boolean(compare::same(a, b, &mut heap.work)),
        P::Differ => Value::boolean(!compare::same(a, b, &mut heap.work)),
        P::Lt => Value::boolean(compare::less(a, b, &mut heap.work)),
        P::Le => Value::boolean(!compare::less(b, a, &mut heap.work)),
        P::Gt => Value::boolean(compare::less(b, a, &mut heap.work)),
        P::Ge => Value::boolean(!compare::less(a, b, &mut heap.work)),
        P::Max => compare::max(a, b, &mut heap.work),
        P::Min => compare::min(a, b, &mut heap.work),

        P::Not => types::not(a),
        P::IsInteger => Value::boolean(types::is_integer(a)),
        P::IsFloat => Value::boolean(types::is_float(a)),
        P::IsNumber => Value::boolean(types::is_number(a)),
        P::IsAtom => Value::boolean(types::is_atom(a)),
        P::IsBoolean => Value::boolean(types::is_boolean(a)),
        P::IsTuple => Value::boolean(types::is_tuple(a)),
        P::IsList => Value::boolean(types::is_list(a)),
        P::IsBinary => Value::boolean(types::is_binary(a)),
        P::IsBitstring => Value::boolean(types::is_bitstring(a)),
        P::IsMap => Value::boolean(types::is_map(a)),
        P::IsFunction => Value::boolean(types::is_function(a)),
        P::IsReference => Value::boolean(types::is_reference(a)),
        P::IsPid => Value::boolean(types::is_pid(a)),
        P::IsAddress => Value::boolean(types::is_address(a)),
        P::ByteSize => types::byte_size(a),
        P::On => types::on(heap, a, b),

        P::Hd => lists::hd(a),
        P::Tl => lists::tl(a),
        P::Length => lists::length(heap, a),
        P::Append => lists::append(heap, a, b),
        P::Reverse => lists::reverse(heap, a),
        P::Member => enumerable::member(heap, a, b),
        P::Subtract => subtract::subtract(heap, a, b),

        P::MapOf => maps::map_of(heap, a),
        P::MapGet => maps::map_get(&mut heap.work, a, b, c),
        P::MapFetch => maps::map_fetch(&mut heap.work, a, b),
        P::MapPut => maps::map_put(heap, a, b, c),
        P::MapUpdate => maps::map_update(heap, a, b, c),
        P::MapDelete => maps::map_delete(heap, a, b),
        P::MapHasKey => maps::map_has_key(&mut heap.work, a, b),
        P::MapSize => maps::map_size(a),
        P::MapKeys => maps::map_keys(heap, a),
        P::MapValues => maps::map_values(heap, a),
        P::MapNew => enumerable::map_new(heap, a),
        P::MapMerge => maps::map_merge(heap, a, b),
        P::ToList => maps::to_list(heap, a),
        P::Elements => enumerable::elements(heap, a),
        P::Sort => sorted_lists::sort(heap, a),
        P::Keysort => sorted_lists::keysort(heap, a, b),

        P::BinOf => build::bin_of(heap, a, b),
        P::BinInt => binaries::bin_int(heap, a, b, c),
        P::BinFloat => binaries::bin_float(heap, a, b, c),
        P::BinSlice => binaries::bin_slice(heap, a, b, c),
        P::BinRest => binaries::bin_rest(heap, a, b),
        P::BinUtf8 => binaries::bin_utf8(a, b),
        P::Utf8Bits => binaries::utf8_bits(a),
        P::BitSize => binaries::bit_size(a),
        P::BinaryPart => binaries::binary_part(heap, a, b, c),
        P::BinaryAt => binaries::binary_at(a, b),
        P::ToString => text::to_string(heap, a),
        P::ToFloat => text::to_float(heap, a),
        P::BinaryFind => search::binary_find(&mut heap.work, a, b, c),
        P::BinaryJoin => build::binary_join(heap, a, b),

        P::VecNew => vectors::vec_new(heap, a, b),
        P::VecFromBinary => vectors::vec_from_binary(heap, a, b),
        P::VecToList => vectors::vec_to_list(heap, a),
        P::VecToBinary => vectors::vec_to_binary(a),
        P::VecSize => vectors::vec_size(a),
        P::VecGet => vectors::vec_get(heap, a, b),
        P::VecSlice => vectors::vec_slice(heap, a, b, c),
        P::VecConcat => vectors::vec_concat(heap, a, b),
        P::VecMap2 => vectors::vec_map2(heap, a, b, c),
        P::VecDot => vectors::vec_dot(heap, a, b),
        P::VecDistance => vectors::vec_distance(heap, a, b),
        P::VecSum => vectors::vec_sum(heap, a),
        P::VecMin => vectors::vec_min(heap, a),
        P::VecMax => vectors::vec_max(heap, a),
        P::VecArgmin => vectors::vec_argmin(heap, a),
        P::VecArgmax => vectors::vec_argmax(heap, a),
        P::VecSort => vectors::vec_sort(heap, a),

        P::TupleSize => tuples::tuple_size(a),
        P::Elem => tuples::elem(a, b),
        P::PutElem => tuples::put_elem(heap, a, b, c),
        P::TupleToList => tuples::tuple_to_list(heap, a),
        P::ListToTuple => tuples::list_to_tuple(heap, a),

        P::Sqrt => math::sqrt(heap, a),
        P::Exp => math::exp(heap, a),
        P::Log => math::log(heap, a),
        P::Log2 => math::log2(heap, a),
        P::Log10 => math::log10(heap, a),
        P::Sin => math::sin(heap, a),
        P::Cos => math::cos(heap, a),
        P::Tan => math::tan(heap, a),
        P::Asin => math::asin(heap, a),
        P::Acos => math::acos(heap, a),
        P::Atan => math::atan(heap, a),
        P::Sinh => math::sinh(heap, a),
        P::Cosh => math::cosh(heap, a),
        P::Tanh => math::tanh(heap, a),
        P::Erf => math::erf(heap, a),
        P::Erfc => math::erfc(heap, a),
        P::Pow => math::pow(heap, a, b),
        P::Atan2 => math::atan2(heap, a, b),

        P::Random => random::uniform(heap, draws),
        P::RandomInt => random::random_int(draws, a),
        P::Now => Value::fixnum(clock.nanoseconds()),
    }
}

#[cfg(test)]
mod tests {
    use super::random::Random;
    use super::*;
    use crate::base::clock::ClockKind;
    use crate::testing::terms::{model, Built};
    use proptest::prelude::*;

    fn clock() -> Clock {
        Clock::new(ClockKind::System)
    }

    /// Returns whether guides/ir.md promises an answer of a primitive, whatever the arguments.
    fn always_answers(primitive: Primitive) -> bool {
        (Primitive::Eq..=Primitive::Ge).contains(&primitive)
            || (Primitive::IsInteger..=Primitive::IsAddress).contains(&primitive)
            || matches!(
                primitive,
                Primitive::Max | Primitive::Min | Primitive::Random | Primitive::Now
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 1000 }))]

        #[test]
        fn all_are_total(a in model(), b in model(), c in model(), seed: u64) {
            let mut built = Built::new();
            let arguments = [built.value(&a), built.value(&b), built.value(&c)];
            let mut random = Random::from_seed(seed);
            for primitive in Primitive::ALL {
                if cfg!(miri) && (Primitive::Sqrt..=Primitive::Atan2).contains(primitive) {
                    continue;
                }
                let answer = apply(*primitive, &mut built.heap, Draws(&mut random, &0), &clock(), &arguments);
                prop_assert!(!built.heap.exhausted());
                prop_assert!(!always_answers(*primitive) || !answer.is_none(), "{}", primitive.name());
                if !answer.is_none() {
                    prop_assert!(answer.as_float().is_none_or(f64::is_finite), "{}", primitive.name());
                }
            }
        }
    }

    #[test]
    fn arguments_beyond_the_arity_are_not_looked_at() {
        let mut built = Built::new();
        let mut random = Random::from_seed(1);
        for primitive in Primitive::ALL {
            if cfg!(miri) && (Primitive::Sqrt..=Primitive::Atan2).contains(primitive) {
                continue;
            }
            let mut arguments = [Value::NONE; 3];
            arguments[..primitive.arity()].fill(Value::fixnum(1));
            apply(
                *primitive,
                &mut built.heap,
                Draws(&mut random, &0),
                &clock(),
                &arguments,
            );
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
