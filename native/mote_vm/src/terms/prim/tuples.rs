//! Tuples: size, elements, and the ways from and to lists.
use super::lists;
use crate::heap::Heap;
use crate::values::value::Value;

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
        Some((elements, at)) if a.is_consecutive() => {
            Value::address(elements[0].address_pointer().wrapping_add(at))
        }
        Some((elements, at)) => elements[at],
        None => Value::NONE,
    }
}

/// `put_elem(a, index, value)`
pub(crate) fn put_elem(heap: &mut Heap, a: Value, index: Value, value: Value) -> Value {
    match position(a, index) {
        Some((elements, at)) if heap.work.count(elements.len()).is_ok() => heap.long_tuple(
            elements.len(),
            |i| {
                if i == at {
                    value
                } else {
                    elements[i]
                }
            },
        ),
        _ => Value::NONE,
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
        Some(elements) if heap.work.count(elements.len()).is_ok() => {
            lists::from_slice(heap, elements)
        }
        _ => Value::NONE,
    }
}

/// `List.to_tuple(a)`, for proper lists of at most [`TUPLE_LIMIT`] elements.
pub(crate) fn list_to_tuple(heap: &mut Heap, a: Value) -> Value {
    match lists::proper_length(a, &mut heap.work) {
        Some(n) if n <= TUPLE_LIMIT => {
            let mut elements = lists::Elements::of(a);
            // The list was just measured, so there are n elements.
            heap.long_tuple(n, |_| elements.next().unwrap_or(Value::UNDEFINED))
        }
        _ => Value::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::{elements, heap};
    use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};

    #[test]
    fn elements_by_index() {
        let mut heap = heap();
        let tuple = heap.tuple(3, |i| Value::fixnum(i as i64 * 10));
        let empty = heap.tuple(0, |_| Value::NIL);
        assert_eq!(tuple_size(tuple).as_fixnum(), Some(3));
        assert_eq!(tuple_size(empty).as_fixnum(), Some(0));
        for (index, expected) in [(0, Value::fixnum(0)), (2, Value::fixnum(20))] {
            assert!(elem(tuple, Value::fixnum(index)) == expected);
        }
        for index in [-1, 3, FIXNUM_MIN, FIXNUM_MAX] {
            assert!(elem(tuple, Value::fixnum(index)).is_none());
            assert!(put_elem(&mut heap, tuple, Value::fixnum(index), Value::NIL).is_none());
        }
        assert!(elem(empty, Value::fixnum(0)).is_none());
        assert!(elem(tuple, Value::flonum(1.0).unwrap()).is_none());
        assert!(elem(Value::EMPTY_LIST, Value::fixnum(0)).is_none());
        assert!(tuple_size(Value::EMPTY_LIST).is_none());
    }

    #[test]
    fn put_elem_leaves_the_original_alone() {
        let mut heap = heap();
        let tuple = heap.tuple(3, |i| Value::fixnum(i as i64));
        let changed = put_elem(&mut heap, tuple, Value::fixnum(1), Value::NIL);
        assert!(changed.as_tuple() == Some(&[Value::fixnum(0), Value::NIL, Value::fixnum(2)]));
        assert_eq!(elem(tuple, Value::fixnum(1)).as_fixnum(), Some(1));
    }

    #[test]
    fn to_lists_and_back() {
        let mut heap = heap();
        for n in [0, 1, 2, 5, 1000] {
            let tuple = heap.tuple(n, |i| Value::fixnum(i as i64));
            let list = tuple_to_list(&mut heap, tuple);
            assert!(elements(list).0 == tuple.as_tuple().unwrap());
            let back = list_to_tuple(&mut heap, list);
            assert!(back.as_tuple() == tuple.as_tuple());
        }
        let improper = heap.cons(Value::NIL, Value::NIL);
        assert!(list_to_tuple(&mut heap, improper).is_none());
        assert!(list_to_tuple(&mut heap, Value::NIL).is_none());
        assert!(tuple_to_list(&mut heap, Value::EMPTY_LIST).is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large")]
    fn tuples_have_a_largest_size() {
        let mut heap = heap();
        let list = (0..TUPLE_LIMIT).fold(Value::EMPTY_LIST, |tail, _| heap.cons(Value::NIL, tail));
        let tuple = list_to_tuple(&mut heap, list);
        assert_eq!(tuple_size(tuple).as_fixnum(), Some(TUPLE_LIMIT as i64));
        let longer = heap.cons(Value::NIL, list);
        assert!(list_to_tuple(&mut heap, longer).is_none() && !heap.exhausted());
    }
}
