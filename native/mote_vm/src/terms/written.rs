//! How large a value is when it is written out, as messages to the outside are. A part that the value shares is written once
//! for each place, so a few turns can build a value that is a million times larger written out than in the heap.
use super::map::{entries, Node};
use crate::values::value::Value;

/// As many parts may be written out whatever the machine holds: milliseconds.
const ANYWAY: usize = 1 << 17;

/// Cells of a small value, and how deep they are nested.
const SMALL: usize = 64;
const NESTED: usize = 6;

/// Whether a value, written out, has more parts than that, and more than `all` of the machine's words are.
pub(crate) fn exceeds(value: Value, all: impl FnOnce() -> usize) -> bool {
    if is_small(value, &mut { SMALL }, NESTED) {
        return false;
    }
    let mut walk = WrittenWalk {
        left: ANYWAY,
        parts: Vec::new(),
    };
    if walk.visit(value) && walk.on() {
        return false;
    }
    walk.left = all().saturating_sub(ANYWAY);
    !walk.on()
}

/// Whether a value has few parts, nested no deeper than that, as most messages: seen without memory for a walk.
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
    parts: Vec<PartsLeft<'h>>,
}

enum PartsLeft<'h> {
    Row(&'h [Value]),
    /// The rest of a list.
    List(Value),
    Value(Value),
}

impl WrittenWalk<'_> {
    /// Visits what is left to visit; `false` when there is too much, and then it can go on from there.
    fn on(&mut self) -> bool {
        while let Some(parts) = self.parts.pop() {
            let next = match parts {
                PartsLeft::Value(value) => Some(value),
                PartsLeft::Row(row) => row.split_first().map(|(first, rest)| {
                    self.parts.push(PartsLeft::Row(rest));
                    *first
                }),
                PartsLeft::List(list) => Some(match list.as_cons() {
                    Some((head, tail)) => {
                        self.parts.push(PartsLeft::List(tail));
                        head
                    }
                    None => list,
                }),
            };
            if let Some(value) = next {
                if !self.visit(value) {
                    return false;
                }
            }
        }
        true
    }

    /// Counts a value; `false`, and it is still to be visited, when nothing is left.
    fn visit(&mut self, value: Value) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            self.parts.push(PartsLeft::Value(value));
            return false;
        };
        self.left = left;
        if let Some(big) = value.as_big() {
            // The limbs that are not a part: all but the first.
            let Some(left) = self.left.checked_sub(big.limbs().len() - 1) else {
                self.left += 1;
                self.parts.push(PartsLeft::Value(value));
                return false;
            };
            self.left = left;
        } else if value.is_cons() {
            self.parts.push(PartsLeft::List(value));
        } else if let Some(elements) = value.as_tuple() {
            self.parts.push(PartsLeft::Row(elements));
        } else if let Some(map) = Node::of(value) {
            let pairs = entries(map).flat_map(|(key, value)| [key, value]);
            self.parts.extend(pairs.map(PartsLeft::Value));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Heap;
    use crate::terms::map::from_puts;
    use crate::testing::terms::heap;

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
