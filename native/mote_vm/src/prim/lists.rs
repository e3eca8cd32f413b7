//! Lists. Everything is a loop: a list may be as long as the heap is large.
use super::compare::same;
use crate::heap::Heap;
use crate::value::Value;
use rustc_hash::FxHashMap;

/// The elements of a list, up to its end, be that `[]` or not.
pub(crate) struct Elements {
    rest: Value,
}

impl Elements {
    /// The elements of `list`; none if it is no list.
    pub(crate) fn of(list: Value) -> Elements {
        Elements { rest: list }
    }

    /// Whether nothing is left, and nothing odd: the list was a proper one.
    fn ended_properly(&self) -> bool {
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
struct Builder {
    first: Value,
    last: Value,
}

impl Builder {
    fn new() -> Builder {
        Builder {
            first: Value::NONE,
            last: Value::NONE,
        }
    }

    /// Adds an element; `None` when the memory is exhausted, and then the builder is of no more use.
    #[inline(always)]
    fn push(&mut self, heap: &mut Heap, element: Value) -> Option<()> {
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
    fn finish(mut self, tail: Value) -> Value {
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

/// The list of those elements; `NONE` when the memory is exhausted.
pub(crate) fn from_slice(heap: &mut Heap, elements: &[Value]) -> Value {
    let mut list = Builder::new();
    for element in elements {
        if list.push(heap, *element).is_none() {
            return Value::NONE;
        }
    }
    list.finish(Value::EMPTY_LIST)
}

/// The number of elements of a proper list.
pub(crate) fn proper_length(list: Value) -> Option<usize> {
    let mut elements = Elements::of(list);
    let n = elements.by_ref().count();
    elements.ended_properly().then_some(n)
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
pub(crate) fn length(list: Value) -> Value {
    match proper_length(list) {
        Some(n) => Value::fixnum(n as i64),
        None => Value::NONE,
    }
}

/// `left ++ right`; `right` need not be a list. Shares `right`.
pub(crate) fn append(heap: &mut Heap, left: Value, right: Value) -> Value {
    if right == Value::EMPTY_LIST {
        return match proper_length(left) {
            Some(_) => left,
            None => Value::NONE,
        };
    }
    let mut list = Builder::new();
    let mut elements = Elements::of(left);
    for element in elements.by_ref() {
        if list.push(heap, element).is_none() {
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
pub(crate) fn member(value: Value, list: Value) -> Value {
    let mut elements = Elements::of(list);
    if elements.by_ref().any(|element| same(element, value)) {
        Value::TRUE
    } else if elements.ended_properly() {
        Value::FALSE
    } else {
        Value::NONE
    }
}

/// `left -- right`: for each element of `right`, the first `===` one in `left` goes. Shares what lies behind the last
/// element that went.
pub(crate) fn subtract(heap: &mut Heap, left: Value, right: Value) -> Value {
    if proper_length(left).is_none() {
        return Value::NONE;
    }
    let Some(mut unwanted) = Unwanted::of(right) else {
        return Value::NONE;
    };
    let mut list = Builder::new();
    let mut elements = Elements::of(left);
    while unwanted.count > 0 {
        let Some(element) = elements.next() else {
            break;
        };
        if !unwanted.take(element) && list.push(heap, element).is_none() {
            return Value::NONE;
        }
    }
    list.finish(elements.rest)
}

/// What `--` has still to remove. Immediate values are the same only as the same word, so those are counted in a
/// table; only others have to be searched one by one.
struct Unwanted {
    immediates: FxHashMap<Value, usize>,
    others: Vec<Value>,
    count: usize,
}

impl Unwanted {
    /// The elements of a proper list.
    fn of(list: Value) -> Option<Unwanted> {
        let mut unwanted = Unwanted {
            immediates: FxHashMap::default(),
            others: Vec::new(),
            count: 0,
        };
        let mut elements = Elements::of(list);
        for element in elements.by_ref() {
            unwanted.count += 1;
            if element.is_immediate() {
                *unwanted.immediates.entry(element).or_default() += 1;
            } else {
                unwanted.others.push(element);
            }
        }
        elements.ended_properly().then_some(unwanted)
    }

    /// Takes out one like `element`; whether there was one.
    fn take(&mut self, element: Value) -> bool {
        let found = if element.is_immediate() {
            match self.immediates.get_mut(&element) {
                Some(n) if *n > 0 => {
                    *n -= 1;
                    true
                }
                _ => false,
            }
        } else {
            // Whichever of several equal ones goes makes no difference.
            match self.others.iter().position(|other| same(*other, element)) {
                Some(at) => {
                    self.others.swap_remove(at);
                    true
                }
                None => false,
            }
        };
        self.count -= found as usize;
        found
    }
}
