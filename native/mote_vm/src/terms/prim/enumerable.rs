//! What loops and functions of `Enum` go through: lists, maps, and the two structs that Elixir programs use in their place,
//! `MapSet` and `Range`. They are maps to the machine, with the keys that Elixir gives them.
use super::integers::{self, as_i128, Exact};
use super::lists::{self, ListBuilder};
use super::maps;
use super::types::is_atom;
use crate::base::atom::Atom;
use crate::heap::Heap;
use crate::terms::map::{self, named, Node};
use crate::values::value::Value;
use std::sync::OnceLock;

struct EnumerableAtoms {
    structure: Value,
    set: Value,
    members: Value,
    range: Value,
    first: Value,
    last: Value,
    step: Value,
}

fn names() -> &'static EnumerableAtoms {
    static NAMES: OnceLock<EnumerableAtoms> = OnceLock::new();
    NAMES.get_or_init(|| {
        let atom = |name| Value::atom(Atom::new(name));
        EnumerableAtoms {
            structure: atom("__struct__"),
            set: atom("Elixir.MapSet"),
            members: atom("map"),
            range: atom("Elixir.Range"),
            first: atom("first"),
            last: atom("last"),
            step: atom("step"),
        }
    })
}

/// The name of a struct. A map whose `__struct__` is no atom is not one.
fn structure(map: Node<'_>, heap: &mut Heap) -> Option<Value> {
    map::get(map, names().structure, &mut heap.work).filter(|name| is_atom(*name))
}

/// `Enum.to_list(a)`: a list, proper or not, is itself. No answer for any other struct: it says itself how it is gone through,
/// and a machine cannot ask it.
pub(crate) fn elements(heap: &mut Heap, a: Value) -> Value {
    let names = names();
    let Some(map) = Node::of(a) else {
        return match a.is_cons() || a == Value::EMPTY_LIST {
            true => a,
            false => Value::NONE,
        };
    };
    match structure(map, heap) {
        None => maps::to_list(heap, a),
        Some(name) if name == names.set => match named(map, names.members) {
            Some(members) => maps::map_keys(heap, members),
            None => Value::NONE,
        },
        Some(name) if name == names.range => integers(heap, map).unwrap_or(Value::NONE),
        Some(_) => Value::NONE,
    }
}

/// `Map.new(a)`: of a struct it is that of what the struct is gone through as.
pub(crate) fn map_new(heap: &mut Heap, a: Value) -> Value {
    let pairs = match Node::of(a) {
        Some(map) if structure(map, heap).is_some() => elements(heap, a),
        _ => a,
    };
    if pairs.is_none() {
        return Value::NONE;
    }
    maps::map_new(heap, pairs)
}

/// `value in a`, and `Enum.member?(a, value)`.
pub(crate) fn member(heap: &mut Heap, value: Value, a: Value) -> Value {
    let names = names();
    let Some(map) = Node::of(a) else {
        return lists::member(heap, value, a);
    };
    match structure(map, heap) {
        None => {
            let pairs = maps::to_list(heap, a);
            lists::member(heap, value, pairs)
        }
        Some(name) if name == names.set => match named(map, names.members) {
            Some(members) => maps::map_has_key(&mut heap.work, members, value),
            None => Value::NONE,
        },
        Some(name) if name == names.range => match parts(map) {
            Some(range) => Value::boolean(as_i128(value).is_some_and(|n| holds(range, n))),
            None => far_member(heap, map, value).unwrap_or(Value::NONE),
        },
        Some(_) => Value::NONE,
    }
}

/// Limit for the bounds and the step of a range: while they lie between this and its negative, their differences fit 128 bits.
/// Farther ones are calculated as integers of any size.
const FARTHEST: i128 = 1 << 100;

/// First, last and step of a range that is not far.
fn parts(range: Node<'_>) -> Option<(i128, i128, i128)> {
    let names = names();
    let near = |n: &i128| (-FARTHEST..=FARTHEST).contains(n);
    let integer = |key| as_i128(named(range, key)?).filter(near);
    let step = integer(names.step).filter(|step| *step != 0)?;
    Some((integer(names.first)?, integer(names.last)?, step))
}

fn holds((first, last, step): (i128, i128, i128), n: i128) -> bool {
    let between = if step > 0 {
        first <= n && n <= last
    } else {
        last <= n && n <= first
    };
    between && (n - first) % step == 0
}

/// The integers of a range.
fn integers(heap: &mut Heap, range: Node<'_>) -> Option<Value> {
    let Some((first, last, step)) = parts(range) else {
        return far_integers(heap, range);
    };
    let steps = usize::try_from((last - first) / step).unwrap_or(usize::MAX - 1);
    let backwards = (last < first) != (step < 0) && last != first;
    let count = if backwards { 0 } else { steps + 1 };
    heap.work.count(count).ok()?;
    listed(heap, count, 1, |heap, i| {
        heap.wide_integer(first + i as i128 * step)
    })
}

/// Makes the list of `count` integers, which are paid for, each as `each` elements.
fn listed(
    heap: &mut Heap,
    count: usize,
    each: usize,
    mut nth: impl FnMut(&mut Heap, usize) -> Value,
) -> Option<Value> {
    let mut list = ListBuilder::new();
    for i in 0..count {
        let n = nth(heap, i);
        if n.is_none() {
            return None;
        }
        list.push(heap, n)?;
        heap.work.pass(each).ok()?;
    }
    Some(list.finish(Value::EMPTY_LIST))
}

/// First, last and step of a range, of any size.
fn far_parts(range: Node<'_>) -> Option<(Exact, Exact, Exact)> {
    let names = names();
    let integer = |key| Exact::of(named(range, key)?);
    let step = integer(names.step).filter(|step| !step.is_zero())?;
    Some((integer(names.first)?, integer(names.last)?, step))
}

/// Makes the list of a range that is far. Each integer is paid for as what goes over its limbs.
fn far_integers(heap: &mut Heap, range: Node<'_>) -> Option<Value> {
    let (first, last, step) = far_parts(range)?;
    let limbs = first.limbs().max(last.limbs()).max(step.limbs());
    let count = first.steps_to(&last, &step);
    let each = 1 + limbs / integers::LINEAR;
    heap.work.count(count.saturating_mul(each)).ok()?;
    let mut next = first;
    listed(heap, count, each, |heap, _| {
        let n = next.to_value(heap);
        next.add(&step);
        n
    })
}

/// Returns whether a range that is far has a value. This is paid for as its remainder by the step.
fn far_member(heap: &mut Heap, range: Node<'_>, value: Value) -> Option<Value> {
    let (first, last, step) = far_parts(range)?;
    let Some(n) = Exact::of(value) else {
        return Some(Value::FALSE);
    };
    let limbs = n.limbs().max(first.limbs()).max(last.limbs());
    let price = integers::remainder_price(limbs, step.limbs());
    heap.work.count(price).ok()?;
    Some(Value::boolean(n.is_between(&first, &last, &step)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::{elements as elements_of, heap};

    fn structure(heap: &mut Heap, fields: &[(Value, Value)]) -> Value {
        map::from_puts(heap, fields.to_vec())
    }

    fn range(first: i64, last: i64, step: i64) -> Option<Vec<i64>> {
        let (mut heap, names) = (heap(), names());
        heap.work.allow(1_000);
        let [first, last, step] = [first, last, step].map(Value::fixnum);
        let fields = [
            (names.structure, names.range),
            (names.first, first),
            (names.last, last),
            (names.step, step),
        ];
        let range = structure(&mut heap, &fields);
        let list = elements(&mut heap, range);
        let integers = |list| {
            elements_of(list)
                .0
                .iter()
                .filter_map(|n| n.as_fixnum())
                .collect()
        };
        (!list.is_none()).then(|| integers(list))
    }

    #[test]
    fn ranges_are_lists_of_their_integers() {
        assert_eq!(range(1, 3, 1), Some(vec![1, 2, 3]));
        assert_eq!(range(3, 1, -1), Some(vec![3, 2, 1]));
        assert_eq!(range(1, 6, 2), Some(vec![1, 3, 5]));
        assert_eq!(range(2, 1, 1), Some(vec![]));
        assert_eq!(range(1, 2, -1), Some(vec![]));
        assert_eq!(range(7, 7, -5), Some(vec![7]));
        assert_eq!(range(1, 3, 0), None);
        let edge = crate::values::value::FIXNUM_MAX;
        assert_eq!(range(edge - 1, edge, 1), Some(vec![edge - 1, edge]));
    }

    #[test]
    fn ranges_hold_their_integers() {
        assert!(holds((1, 5, 2), 3) && holds((5, 1, -2), 1) && holds((2, 2, 9), 2));
        assert!(!holds((1, 5, 2), 2) && !holds((5, 1, 1), 3) && !holds((1, 5, 1), 6));
    }

    /// One of all fixnums is paid for before anything of it is made.
    #[test]
    fn a_range_is_paid_for() {
        use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
        assert_eq!(range(FIXNUM_MIN, FIXNUM_MAX, 1), None);
    }

    #[test]
    fn sets_are_lists_of_their_members_and_other_structs_are_nothing() {
        let (mut heap, names) = (heap(), names());
        let [one, two] = [1, 2].map(Value::fixnum);
        let members = structure(&mut heap, &[(two, Value::EMPTY_LIST), (one, Value::NIL)]);
        let fields = [(names.structure, names.set), (names.members, members)];
        let set = structure(&mut heap, &fields);
        let list = elements(&mut heap, set);
        assert!(elements_of(list).0 == [one, two]);
        assert!(map_new(&mut heap, set).is_none() && map_new(&mut heap, members) == members);
        for name in [names.members, names.range, names.set] {
            let other = structure(&mut heap, &[(names.structure, name)]);
            assert!(elements(&mut heap, other).is_none());
        }
        let list = elements(&mut heap, members);
        assert_eq!(elements_of(list).0.len(), 2);
    }

    #[test]
    fn a_map_whose_struct_is_no_atom_is_no_struct() {
        let (mut heap, names) = (heap(), names());
        let map = structure(&mut heap, &[(names.structure, Value::fixnum(1))]);
        let list = elements(&mut heap, map);
        assert_eq!(elements_of(list).0.len(), 1);
        assert!(map_new(&mut heap, map) == map);
        let pair = elements_of(list).0[0];
        assert_eq!(member(&mut heap, pair, map), Value::TRUE);
    }
}
