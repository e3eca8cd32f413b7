//! How large a value is when it is written out, as messages to the outside are. A part that the value shares is written once
//! for each place, so a few turns can build a value that is a million times larger written out than in the heap.
use super::map::Node;
use crate::base::lent::{Lender, LentStack};
use crate::values::value::Value;
use std::sync::Arc;

/// Number of parts that may be written out whatever the machine holds: milliseconds.
const ANYWAY: usize = 1 << 17;

/// Cells of a small value, and how deep they are nested.
const SMALL: usize = 64;
const NESTED: usize = 6;

/// Returns whether a value, written out, has more parts than [`ANYWAY`], and more than the machine's words, `all`. Also returns
/// true if there is no memory to find out.
pub(crate) fn exceeds(
    value: Value,
    all: impl FnOnce() -> usize,
    lender: impl FnOnce() -> Option<Arc<dyn Lender>>,
) -> bool {
    if is_small(value, &mut { SMALL }, NESTED) {
        return false;
    }
    let mut walk = WrittenWalk {
        left: ANYWAY,
        parts: LentStack::new(),
        lender: lender(),
        lacks_memory: false,
    };
    if walk.visit(value) && walk.on() {
        return false;
    }
    if walk.lacks_memory {
        return true;
    }
    walk.left = all().saturating_sub(ANYWAY);
    !walk.on()
}

/// Returns the number of parts that a value has when it is written out, if that are no more than `most`, [`exceeds`] is not true of it,
/// and there is memory to find out.
pub(crate) fn parts_within(
    value: Value,
    most: usize,
    all: impl FnOnce() -> usize,
    lender: impl FnOnce() -> Option<Arc<dyn Lender>>,
) -> Option<usize> {
    let most = match most > ANYWAY {
        true => most.min(ANYWAY.max(all())),
        false => most,
    };
    let mut walk = WrittenWalk {
        left: most,
        parts: LentStack::new(),
        lender: lender(),
        lacks_memory: false,
    };
    (walk.visit(value) && walk.on()).then_some(most - walk.left)
}

/// Returns whether a value has few parts, nested no deeper than `depth`, as most messages: seen without memory for a walk.
fn is_small(value: Value, left: &mut usize, depth: usize) -> bool {
    if value.is_immediate() {
        return true;
    }
    let (Some(fewer), Some(depth)) = (left.checked_sub(1), depth.checked_sub(1)) else {
        return false;
    };
    *left = fewer;
    if let Some(big) = value.as_big() {
        return big.limbs().len() <= SMALL;
    }
    if let Some(elements) = value.as_tuple() {
        return elements.len() <= SMALL && are_small(elements, left, depth);
    }
    if let Some(map) = Node::of(value) {
        let leaf = map.is_leaf() && are_small(map.keys, left, depth);
        return leaf && are_small(map.items, left, depth);
    }
    if let Some(captured) = value.as_captured() {
        return captured.len() <= SMALL && are_small(captured, left, depth);
    }
    let mut rest = value;
    while let Some((head, tail)) = rest.as_cons() {
        if !is_small(head, left, depth) || *left == 0 {
            return false;
        }
        *left -= 1;
        rest = tail;
    }
    // What has no parts, or the end of a list.
    rest == value || is_small(rest, left, depth)
}

fn are_small(row: &[Value], left: &mut usize, depth: usize) -> bool {
    row.iter().all(|part| is_small(*part, left, depth))
}

struct WrittenWalk<'h> {
    left: usize,
    /// Parts that are still to be visited.
    parts: LentStack<PartsLeft<'h>>,
    lender: Option<Arc<dyn Lender>>,
    lacks_memory: bool,
}

enum PartsLeft<'h> {
    Row(&'h [Value]),
    /// Nodes of a map, which are no parts.
    Nodes(&'h [Value]),
    /// The rest of a list.
    List(Value),
    Value(Value),
}

impl<'h> WrittenWalk<'h> {
    /// Visits what is left to visit; `false` when there is too much, and then it can go on from there.
    fn on(&mut self) -> bool {
        while let Some(parts) = self.parts.pop() {
            let next = match parts {
                PartsLeft::Value(value) => value,
                PartsLeft::Row([]) | PartsLeft::Nodes([]) => continue,
                PartsLeft::Row([first, rest @ ..]) => {
                    if !rest.is_empty() && !self.later(PartsLeft::Row(rest)) {
                        return false;
                    }
                    *first
                }
                PartsLeft::Nodes([first, rest @ ..]) => {
                    let more = rest.is_empty() || self.later(PartsLeft::Nodes(rest));
                    if !more || !self.open(*first) {
                        return false;
                    }
                    continue;
                }
                PartsLeft::List(list) => match list.as_cons() {
                    Some((head, tail)) => {
                        if !self.later(PartsLeft::List(tail)) {
                            return false;
                        }
                        head
                    }
                    None => list,
                },
            };
            if !self.visit(next) {
                return false;
            }
        }
        true
    }

    /// Something is to be visited later; `false` if there is no memory for it.
    fn later(&mut self, parts: PartsLeft<'h>) -> bool {
        let known = self.parts.push(parts, &self.lender);
        self.lacks_memory |= !known;
        known
    }

    /// A node of a map: its parts come later.
    fn open(&mut self, node: Value) -> bool {
        match Node::of(node) {
            Some(node) if node.is_leaf() => {
                self.later(PartsLeft::Row(node.items)) && self.later(PartsLeft::Row(node.keys))
            }
            Some(node) => self.later(PartsLeft::Nodes(node.items)),
            None => true,
        }
    }

    /// Counts a value; `false`, and it is still to be visited, when nothing is left.
    fn visit(&mut self, value: Value) -> bool {
        let big = value.as_big().map_or(0, |big| big.limbs().len() - 1);
        // The limbs that are not a part: all but the first.
        let Some(left) = self.left.checked_sub(1 + big) else {
            self.later(PartsLeft::Value(value));
            return false;
        };
        self.left = left;
        if value.is_cons() {
            return self.later(PartsLeft::List(value));
        }
        match value.as_tuple().or_else(|| value.as_captured()) {
            Some(row) => self.later(PartsLeft::Row(row)),
            None => self.open(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::lent::tests::Bounded;
    use crate::heap::Heap;
    use crate::terms::map::from_puts;
    use crate::testing::terms::heap;
    use std::sync::atomic::Ordering::Relaxed;

    fn exceeds(value: Value, all: impl FnOnce() -> usize) -> bool {
        super::exceeds(value, all, || None)
    }

    #[test]
    fn what_is_shared_counts_each_time() {
        let mut heap = heap();
        let mut value = Value::fixnum(1);
        for depth in 1..=40 {
            value = heap.tuple(2, |_| value);
            // The parts: the tuples and their leaves.
            let parts = (1usize << (depth + 1)) - 1;
            if parts > ANYWAY && depth < 22 {
                assert!(!exceeds(value, || parts), "{depth}");
                assert!(exceeds(value, || parts - 1), "{depth}");
            } else if parts <= ANYWAY {
                assert!(!exceeds(value, || 0), "{depth}");
            }
        }
        assert!(exceeds(value, || 1 << 20));
    }

    #[test]
    fn parts_are_counted_up_to_all_bounds() {
        let mut heap = heap();
        let pair = heap.tuple(2, |_| Value::NIL);
        let parts = |value, most, all| parts_within(value, most, || all, || None);
        assert_eq!((parts(pair, 3, 0), parts(pair, 2, 0)), (Some(3), None));
        let value = (0..17).fold(pair, |value, _| heap.tuple(2, |_| value));
        let count = (1 << 19) - 1;
        assert_eq!(parts(value, usize::MAX, count), Some(count));
        assert_eq!(parts(value, usize::MAX, count - 1), None);
        assert_eq!(parts(value, count - 1, usize::MAX), None);
    }

    #[test]
    fn what_functions_have_captured_counts() {
        let mut heap = heap();
        let deepened = |heap: &mut Heap, value, n| {
            (0..n).fold(value, |value, _| {
                heap.function(3, |i| [Value::NIL, value, value][i])
            })
        };
        let few = deepened(&mut heap, Value::NIL, 3);
        assert!(is_small(few, &mut { SMALL }, NESTED) && !exceeds(few, || 0));
        let many = deepened(&mut heap, few, 40);
        assert!(exceeds(many, || 1 << 20));
    }

    #[test]
    fn what_is_small_is_seen_at_once() {
        let mut heap = heap();
        let small = |value| is_small(value, &mut { SMALL }, NESTED);
        let binary = heap.bytes(&[7; 100]);
        let pair = heap.tuple(2, |_| binary);
        assert!(small(Value::NIL) && small(binary) && small(pair));
        let map = from_puts(&mut heap, vec![(Value::NIL, pair), (Value::TRUE, binary)]);
        assert!(small(map));
        let list = |heap: &mut Heap, n, end| (0..n).fold(end, |list, _| heap.cons(binary, list));
        let (few, many) = (
            list(&mut heap, 30, binary),
            list(&mut heap, 40, Value::EMPTY_LIST),
        );
        assert!(small(few) && !small(many));
        let deep = (0..NESTED).fold(binary, |value, _| heap.tuple(1, |_| value));
        let wide = heap.tuple(SMALL + 1, |_| Value::NIL);
        assert!(!small(deep) && !small(wide));
    }

    #[test]
    fn a_walk_takes_memory_for_depth_alone_and_no_more_than_there_is() {
        let mut heap = heap();
        let wide = heap.tuple(ANYWAY, |_| Value::NIL);
        let entries = (0..ANYWAY as i64 / 4).map(|n| (Value::fixnum(n), Value::NIL));
        let map = from_puts(&mut heap, entries.collect());
        let long = (0..ANYWAY).fold(Value::NIL, |list, _| heap.cons(Value::NIL, list));
        let tower = (0..ANYWAY).fold(Value::NIL, |last, _| heap.tuple(1, |_| last));
        for value in [wide, map, long, tower] {
            let none = Bounded::of(0);
            assert!(!super::exceeds(value, || usize::MAX / 2, || Some(none)));
        }
        let deep = (0..ANYWAY).fold(Value::NIL, |first, n| {
            let last = Value::fixnum(n as i64);
            heap.tuple(2, |at| if at == 0 { first } else { last })
        });
        let bounded = Bounded::of(8 << 20);
        let lender = || Some(bounded.clone() as Arc<dyn Lender>);
        assert!(!super::exceeds(deep, || usize::MAX / 2, lender));
        assert!(bounded.most.load(Relaxed) > 1 << 20 && bounded.lent.load(Relaxed) == 0);
        let none = Bounded::of(0);
        assert!(super::exceeds(deep, || usize::MAX / 2, || Some(none)));
    }

    #[test]
    fn lists_and_maps_have_parts() {
        let mut heap = heap();
        let mut list = Value::EMPTY_LIST;
        for _ in 0..ANYWAY {
            list = heap.cons(Value::NIL, list);
        }
        // The list, its elements, and its end.
        assert!(exceeds(list, || ANYWAY + 1) && !exceeds(list, || ANYWAY + 2));
        let map = from_puts(&mut heap, vec![(Value::NIL, list), (Value::TRUE, list)]);
        assert!(!exceeds(map, || 2 * ANYWAY + 7) && exceeds(map, || 2 * ANYWAY + 6));
    }
}
