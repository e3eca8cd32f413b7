//! What a term weighs: how many elements would be compared to find it equal to another copy of it.
//!
//! That is the price of a key that has to find its place among others: comparing it with each of them takes less. It is known
//! from the key alone, so machine and Elixir charge the same, whatever their maps look like inside.
//!
//! A shared part weighs each time that it is met; a walk that cannot be paid for ends (work.rs).
use super::integers::LINEAR;
use crate::base::lent::LentStack;
use crate::base::work::COPIED;
use crate::base::work::{Over, Work};
use crate::terms::map::Node;
use crate::values::value::Value;

/// A value that has to find its place among others costs this many times its weight.
pub(crate) const PLACED: usize = 4;

/// Counts what it costs to find a key's place.
#[inline(always)]
pub(crate) fn place(key: Value, work: &mut Work) -> Result<(), Over> {
    if key.is_immediate() || key.is_address() {
        return Ok(());
    }
    match key.as_tuple() {
        // Most keys that weigh anything: their elements weigh nothing.
        Some(elements) if elements.iter().all(|element| element.is_immediate()) => {
            work.count(elements.len().saturating_mul(PLACED))
        }
        _ => weigh(key, PLACED, work),
    }
}

/// Counts `times` times the weight of the value.
#[inline(never)]
pub(crate) fn weigh(value: Value, times: usize, work: &mut Work) -> Result<(), Over> {
    count::<true>(value, times, work)
}

/// Counts the elements of a value that is written out. Of its long binaries nothing is.
#[inline(never)]
pub(crate) fn written_out(value: Value, work: &mut Work) -> Result<(), Over> {
    count::<false>(value, 1, work)
}

#[inline(always)]
fn count<const BYTES: bool>(value: Value, times: usize, work: &mut Work) -> Result<(), Over> {
    let whole = [value];
    let mut row: &[Value] = &whole;
    // Grows only where something is left behind a part: not along a list's spine.
    let mut rest: LentStack<&[Value]> = LentStack::new();
    loop {
        while let [value, others @ ..] = row {
            row = others;
            let Some((parts, more)) = opened::<BYTES>(*value, times, work)? else {
                continue;
            };
            for later in [row, more] {
                if !later.is_empty() && !rest.push(later, &work.lender) {
                    return Err(work.lacks_memory());
                }
            }
            row = parts;
        }
        match rest.pop() {
            Some(next) => row = next,
            None => return Ok(()),
        }
    }
}

type Rows<'h> = (&'h [Value], &'h [Value]);

/// The parts of a value that may weigh something themselves; counts them.
#[inline(always)]
fn opened<'h, const BYTES: bool>(
    value: Value,
    times: usize,
    work: &mut Work,
) -> Result<Option<Rows<'h>>, Over> {
    let mut opened = |elements: usize, parts: &'h [Value], more: &'h [Value]| {
        work.count(elements.saturating_mul(times))?;
        Ok(Some((parts, more)))
    };
    if value.is_immediate() || value.is_address() {
        return Ok(None);
    }
    if value.is_cons() {
        return opened(2, value.cons_cell(), &[]);
    }
    if let Some(elements) = value.as_tuple() {
        return opened(elements.len(), elements, &[]);
    }
    if let Some(captured) = value.as_captured() {
        return opened(captured.len() + 1, captured, &[]);
    }
    if let Some(node) = Node::of(value) {
        return match node.is_leaf() {
            true => opened(2 * node.keys.len(), node.keys, node.items),
            // Its keys are some of its children's.
            false => opened(0, node.items, &[]),
        };
    }
    if let Some(big) = value.as_big() {
        work.count((big.limbs().len() / LINEAR).saturating_mul(times))?;
        return Ok(None);
    }
    if let Some(bits) = value.as_bits().filter(|_| BYTES) {
        work.count((bits.len() / 8 / COPIED).saturating_mul(times))?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::prim::compare::equal;
    use crate::testing::terms::{model, Built};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

        #[test]
        fn a_value_weighs_what_it_costs_to_find_it_equal(model in model()) {
            let mut built = Built::new();
            let (a, b) = (built.value(&model), built.value(&model));
            let (mut weight, mut compared) = (Work::free(), Work::free());
            prop_assert!(weigh(a, 1, &mut weight).is_ok() && equal(a, b, &mut compared));
            prop_assert_eq!(weight.counted(), compared.counted());
        }
    }

    #[test]
    fn a_function_weighs_what_it_has_captured() {
        let mut built = Built::new();
        let heap = &mut built.heap;
        let list = (0..1000).fold(Value::EMPTY_LIST, |list, n| {
            heap.cons(Value::fixnum(n), list)
        });
        let tuple = heap.tuple(3, |i| [Value::NIL, list, list][i]);
        let function = heap.function(3, |i| [Value::NIL, list, list][i]);
        let weights = [tuple, function].map(|value| {
            let mut work = Work::free();
            assert!(place(value, &mut work).is_ok());
            work.counted()
        });
        assert!(weights[0] > 4_000 && weights[0] == weights[1]);
    }

    #[test]
    fn what_is_shared_is_not_weighed_beyond_what_can_be_paid() {
        let mut built = Built::new();
        let tree = (0..100).fold(Value::NIL, |below, _| built.heap.tuple(2, |_| below));
        let mut work = Work::free();
        work.allow(1000);
        assert!(weigh(tree, 1, &mut work).is_err());
    }
}
