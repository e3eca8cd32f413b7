//! Tuples: size, elements, and the ways from and to lists.
use super::lists;
use crate::heap::Heap;
use crate::value::Value;

/// The most elements of a tuple, as on the BEAM: a larger one could never leave the machine.
pub(crate) const TUPLE_LIMIT: usize = (1 << 24) - 1;

/// `tuple_size(a)`
#[inline(always)]
pub(crate) fn tuple_size(a: Value) -> Value {
    match a.as_tuple() {
        Some(elements) => Value::fixnum(elements.len() as i64),
        None => Value::NONE,
    }
}

/// `elem(a, index)`
#[inline(always)]
pub(crate) fn elem(a: Value, index: Value) -> Value {
    match position(a, index) {
        Some((elements, at)) => elements[at],
        None => Value::NONE,
    }
}

/// `put_elem(a, index, value)`
pub(crate) fn put_elem(heap: &mut Heap, a: Value, index: Value, value: Value) -> Value {
    match position(a, index) {
        Some((elements, at)) => {
            heap.tuple(
                elements.len(),
                |i| {
                    if i == at {
                        value
                    } else {
                        elements[i]
                    }
                },
            )
        }
        None => Value::NONE,
    }
}

/// The elements of a tuple, and an index within them.
#[inline(always)]
fn position<'h>(a: Value, index: Value) -> Option<(&'h [Value], usize)> {
    let elements = a.as_tuple()?;
    // A negative index becomes a number far beyond any size.
    let at = index.as_fixnum()? as usize;
    (at < elements.len()).then_some((elements, at))
}

/// `Tuple.to_list(a)`
pub(crate) fn tuple_to_list(heap: &mut Heap, a: Value) -> Value {
    match a.as_tuple() {
        Some(elements) => lists::from_slice(heap, elements),
        None => Value::NONE,
    }
}

/// `List.to_tuple(a)`, for proper lists of at most [`TUPLE_LIMIT`] elements.
pub(crate) fn list_to_tuple(heap: &mut Heap, a: Value) -> Value {
    match lists::proper_length(a) {
        Some(n) if n <= TUPLE_LIMIT => {
            let mut elements = lists::Elements::of(a);
            // The list was just measured, so there are n elements.
            heap.tuple(n, |_| elements.next().unwrap_or(Value::UNDEFINED))
        }
        _ => Value::NONE,
    }
}
