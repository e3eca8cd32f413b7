//! Lists. Everything is a loop: a list may be as long as the heap is large.
use super::compare::same;
use crate::base::work::Work;
use crate::heap::Heap;
use crate::values::value::Value;

/// The elements of a list, up to its end, be that `[]` or not.
pub(crate) struct Elements {
    rest: Value,
}

impl Elements {
    /// The elements of `list`; none if it is not a list.
    pub(crate) fn of(list: Value) -> Elements {
        Elements { rest: list }
    }

    /// Returns what is left of the list.
    pub(crate) fn rest(&self) -> Value {
        self.rest
    }

    /// Returns whether nothing is left, and nothing odd: the list was a proper one.
    pub(crate) fn ended_properly(&self) -> bool {
        self.rest == Value::EMPTY_LIST
    }
}

impl Iterator for Elements {
    type Item = Value;

    #[inline(always)]
    fn next(&mut self) -> Option<Value> {
        let (head, tail) = self.rest.as_cons()?;
        self.rest = tail;
        Some(head)
    }
}

/// Builds a list from its front: each new cell becomes the tail of the one before.
///
/// Until `finish` hands the list out, its last cell is unfinished and nobody but the builder knows any of its cells;
/// that is what heap/mod.rs, invariant 3, asks for.
pub(crate) struct ListBuilder {
    first: Value,
    last: Value,
}

impl ListBuilder {
    pub(crate) fn new() -> ListBuilder {
        ListBuilder {
            first: Value::NONE,
            last: Value::NONE,
        }
    }

    /// Adds an element; `None` when the memory is exhausted, and then the builder is of no more use.
    #[inline(always)]
    pub(crate) fn push(&mut self, heap: &mut Heap, element: Value) -> Option<()> {
        let cell = heap.cons(element, Value::EMPTY_LIST);
        if cell.is_none() {
            return None;
        }
        if self.last.is_none() {
            self.first = cell;
        } else {
            self.end_with(cell);
        }
        self.last = cell;
        Some(())
    }

    /// The list, with `tail` behind its last element.
    pub(crate) fn finish(mut self, tail: Value) -> Value {
        if self.last.is_none() {
            return tail;
        }
        self.end_with(tail);
        self.first
    }

    #[inline(always)]
    fn end_with(&mut self, tail: Value) {
        let cell = self.last.cons_pointer().cast_mut();
        // SAFETY: `last` is a list cell, two values, made by `push` in memory that the heap owns and may write; no
        // one else can read it yet (see the head of this type).
        unsafe { cell.add(1).write(tail) };
    }
}

/// The list of those elements; `NONE` when the memory is exhausted, and if the turn is to end.
pub(crate) fn from_slice(heap: &mut Heap, elements: &[Value]) -> Value {
    let mut list = ListBuilder::new();
    for element in elements {
        if list.push(heap, *element).is_none() || heap.work.pass(1).is_err() {
            return Value::NONE;
        }
    }
    list.finish(Value::EMPTY_LIST)
}

/// The number of elements of a proper list. The turn pays for them, also if it is none.
pub(crate) fn proper_length(list: Value, work: &mut Work) -> Option<usize> {
    let mut elements = Elements::of(list);
    let mut n = 0;
    loop {
        // As far as there is nothing to look at, the work need not hear of each.
        let room = work.room().max(1);
        let walked = elements.by_ref().take(room).count();
        n += walked;
        work.count(walked).ok()?;
        if walked < room {
            return elements.ended_properly().then_some(n);
        }
    }
}

/// `hd(list)`
#[inline(always)]
pub(crate) fn hd(list: Value) -> Value {
    match list.as_cons() {
        Some((head, _)) => head,
        None => Value::NONE,
    }
}

/// `tl(list)`
#[inline(always)]
pub(crate) fn tl(list: Value) -> Value {
    match list.as_cons() {
        Some((_, tail)) => tail,
        None => Value::NONE,
    }
}

/// `length(list)`
pub(crate) fn length(heap: &mut Heap, list: Value) -> Value {
    match proper_length(list, &mut heap.work) {
        Some(n) => Value::fixnum(n as i64),
        None => Value::NONE,
    }
}

/// `left ++ right`; `right` need not be a list. Shares `right`.
pub(crate) fn append(heap: &mut Heap, left: Value, right: Value) -> Value {
    if right == Value::EMPTY_LIST {
        return match proper_length(left, &mut heap.work) {
            Some(_) => left,
            None => Value::NONE,
        };
    }
    let mut list = ListBuilder::new();
    let mut elements = Elements::of(left);
    for element in elements.by_ref() {
        if heap.work.count(1).is_err() || list.push(heap, element).is_none() {
            return Value::NONE;
        }
    }
    if elements.ended_properly() {
        list.finish(right)
    } else {
        Value::NONE
    }
}

/// `Enum.reverse(list)`
pub(crate) fn reverse(heap: &mut Heap, list: Value) -> Value {
    let mut elements = Elements::of(list);
    let mut reversed = Value::EMPTY_LIST;
    for element in elements.by_ref() {
        if heap.work.count(1).is_err() {
            return Value::NONE;
        }
        reversed = heap.cons(element, reversed);
        if reversed.is_none() {
            return Value::NONE;
        }
    }
    if elements.ended_properly() {
        reversed
    } else {
        Value::NONE
    }
}

/// `value in list`: whether some element is `===` it. The list must be proper as far as it is searched.
pub(crate) fn member(heap: &mut Heap, value: Value, list: Value) -> Value {
    let mut elements = Elements::of(list);
    for element in elements.by_ref() {
        if heap.work.count(1).is_err() {
            return Value::NONE;
        }
        if same(element, value, &mut heap.work) {
            return Value::TRUE;
        }
    }
    if elements.ended_properly() {
        Value::FALSE
    } else {
        Value::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::{elements, heap, list, numbers};
    use proptest::prelude::*;

    #[test]
    fn heads_tails_and_lengths() {
        let mut heap = heap();
        let three = list(&mut heap, &[1, 2, 3]);
        assert_eq!(hd(three).as_fixnum(), Some(1));
        assert_eq!(numbers(tl(three)), [2, 3]);
        assert_eq!(length(&mut heap, three).as_fixnum(), Some(3));
        assert_eq!(length(&mut heap, Value::EMPTY_LIST).as_fixnum(), Some(0));
        for odd in [Value::EMPTY_LIST, Value::NIL, Value::fixnum(1)] {
            assert!(hd(odd).is_none() && tl(odd).is_none());
        }
        let improper = heap.cons(Value::NIL, Value::fixnum(2));
        assert_eq!(tl(improper).as_fixnum(), Some(2));
        assert!(length(&mut heap, improper).is_none() && length(&mut heap, Value::NIL).is_none());
    }

    #[test]
    fn append_shares_its_right_side() {
        let mut heap = heap();
        let (left, right) = (list(&mut heap, &[1, 2]), list(&mut heap, &[3]));
        let both = append(&mut heap, left, right);
        assert_eq!(numbers(both), [1, 2, 3]);
        assert!(tl(tl(both)) == right);
        assert_eq!(numbers(left), [1, 2], "the left side is as before");
        assert!(append(&mut heap, Value::EMPTY_LIST, right) == right);
        assert!(append(&mut heap, left, Value::EMPTY_LIST) == left);
        assert!(append(&mut heap, Value::EMPTY_LIST, Value::NIL) == Value::NIL);
        let odd = append(&mut heap, left, Value::fixnum(9));
        assert!(elements(odd) == (vec![Value::fixnum(1), Value::fixnum(2)], Value::fixnum(9)));
        for right in [right, Value::EMPTY_LIST] {
            assert!(append(&mut heap, odd, right).is_none());
            assert!(append(&mut heap, Value::NIL, right).is_none());
        }
    }

    #[test]
    fn reverse_wants_a_proper_list() {
        let mut heap = heap();
        let three = list(&mut heap, &[1, 2, 3]);
        assert_eq!(numbers(reverse(&mut heap, three)), [3, 2, 1]);
        assert!(reverse(&mut heap, Value::EMPTY_LIST) == Value::EMPTY_LIST);
        let improper = heap.cons(Value::NIL, Value::NIL);
        assert!(reverse(&mut heap, improper).is_none() && reverse(&mut heap, Value::NIL).is_none());
    }

    #[test]
    fn member_is_exact() {
        let mut heap = heap();
        let three = list(&mut heap, &[1, 2, 3]);
        assert!(member(&mut heap, Value::fixnum(2), three) == Value::TRUE);
        assert!(member(&mut heap, Value::flonum(2.0).unwrap(), three) == Value::FALSE);
        assert!(member(&mut heap, Value::NIL, Value::EMPTY_LIST) == Value::FALSE);
        assert!(member(&mut heap, Value::NIL, Value::NIL).is_none());
        let improper = heap.cons(Value::NIL, Value::TRUE);
        assert!(member(&mut heap, Value::FALSE, improper).is_none());
    }

    #[test]
    fn long_lists() {
        let many = if cfg!(miri) { 500 } else { 1_000_000 };
        let mut heap = heap();
        let all: Vec<i64> = (0..many).collect();
        let left = list(&mut heap, &all);
        let backwards = reverse(&mut heap, left);
        assert_eq!(hd(backwards).as_fixnum(), Some(many - 1));
        let both = append(&mut heap, left, backwards);
        assert_eq!(length(&mut heap, both).as_fixnum(), Some(2 * many));
        assert!(member(&mut heap, Value::TRUE, both) == Value::FALSE);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

        #[test]
        fn reverse_and_append(a: Vec<i32>, b: Vec<i32>) {
            let mut heap = heap();
            let [a, b] = [a, b].map(|v| v.into_iter().map(i64::from).collect::<Vec<_>>());
            let (x, y) = (list(&mut heap, &a), list(&mut heap, &b));
            let twice = reverse(&mut heap, x);
            prop_assert_eq!(numbers(reverse(&mut heap, twice)), &*a);
            let both = append(&mut heap, x, y);
            prop_assert_eq!(numbers(both), [&*a, &*b].concat());
            // reverse(a ++ b) == reverse(b) ++ reverse(a)
            let (x, y) = (reverse(&mut heap, x), reverse(&mut heap, y));
            let expected = append(&mut heap, y, x);
            prop_assert_eq!(numbers(reverse(&mut heap, both)), numbers(expected));
        }
    }
}
