//! Equality and the order of all terms: `==`, `===`, `<`, `max` and so on.
//!
//! This is the walk through tuples, lists and maps; what it finds at their leaves is compared in order.rs, which also says
//! what the order is.
//!
//! Terms may be a million levels deep or long, so nothing here recurses; and they may share parts so that they would
//! be exponentially large written out, so long comparisons remember what they have compared.
//!
//! A turn pays for what is looked at: `work` grows by one for each element of tuples, lists (head and tail of each cell)
//! and maps that is compared with another one, up to the first difference, and by one for 32 bytes of two binaries.
//! What is one and the same cell is not looked into.
use super::build::COPIED;
use super::order::{key_leaves, leaves_equal, leaves_same, order};
use super::types::as_binary;
use crate::map::{entries, Node};
use crate::value::Value;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Ordering;

/// What is asked about two terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    /// Their order; `1 == 1.0`.
    Order,
    /// Their order as keys of maps: equal is the same, and integers come before floats.
    Key,
    /// Whether they are equal.
    Equal,
    /// Whether they are the same.
    Same,
}

impl Question {
    /// The answer for two leaves whose words differ.
    #[inline(always)]
    fn leaves(self, a: Value, b: Value, work: &mut usize) -> Ordering {
        if a.is_boxed() && b.is_boxed() {
            *work += bytes_in_both(a, b) / COPIED;
        }
        match self {
            Question::Order => order(a, b),
            Question::Key => key_leaves(a, b),
            Question::Equal => differing(!leaves_equal(a, b)),
            Question::Same => differing(!leaves_same(a, b)),
        }
    }
}

/// The order of all terms. `Equal` is Elixir's `==`.
#[inline(always)]
pub(crate) fn compare(a: Value, b: Value, work: &mut usize) -> Ordering {
    if Value::both_fixnum(a, b) {
        // Tagging keeps the order.
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    compare_slowly(a, b, work)
}

/// `a < b`
#[inline(always)]
pub(crate) fn less(a: Value, b: Value, work: &mut usize) -> bool {
    compare(a, b, work).is_lt()
}

/// `a == b`: `1 == 1.0`, also inside of tuples and lists.
#[inline(always)]
pub(crate) fn equal(a: Value, b: Value, work: &mut usize) -> bool {
    if a == b {
        return true;
    }
    if Value::both_fixnum(a, b) {
        return false;
    }
    equal_slowly(a, b, work)
}

/// `a === b`: the same type and value; floats by their bits.
#[inline(always)]
pub(crate) fn same(a: Value, b: Value, work: &mut usize) -> bool {
    if a == b {
        return true;
    }
    // What has no cell has one word only: other word, other value.
    if a.is_immediate() || b.is_immediate() {
        return false;
    }
    same_slowly(a, b, work)
}

/// The order of keys in a map. Equal keys are the same key. Nobody pays for it: how many keys are compared is the
/// business of the tree that they are in.
#[inline(always)]
pub(crate) fn key_order(a: Value, b: Value) -> Ordering {
    if Value::both_fixnum(a, b) {
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    walk(a, b, Question::Key, &mut 0)
}

/// The larger; the first if they are equal.
#[inline(always)]
pub(crate) fn max(a: Value, b: Value, work: &mut usize) -> Value {
    if less(a, b, work) {
        b
    } else {
        a
    }
}

/// The smaller; the first if they are equal.
#[inline(always)]
pub(crate) fn min(a: Value, b: Value, work: &mut usize) -> Value {
    if less(b, a, work) {
        b
    } else {
        a
    }
}

#[cold]
#[inline(never)]
fn compare_slowly(a: Value, b: Value, work: &mut usize) -> Ordering {
    walk(a, b, Question::Order, work)
}

#[cold]
#[inline(never)]
fn equal_slowly(a: Value, b: Value, work: &mut usize) -> bool {
    walk(a, b, Question::Equal, work).is_eq()
}

#[cold]
#[inline(never)]
fn same_slowly(a: Value, b: Value, work: &mut usize) -> bool {
    walk(a, b, Question::Same, work).is_eq()
}

/// Of two binaries the size of the shorter one; 0 of anything else.
fn bytes_in_both(a: Value, b: Value) -> usize {
    match (as_binary(a), as_binary(b)) {
        (Some(a), Some(b)) => a.len().min(b.len()),
        _ => 0,
    }
}

/// For questions that only tell equal from different, and not which is less.
fn differing(different: bool) -> Ordering {
    if different {
        Ordering::Less
    } else {
        Ordering::Equal
    }
}

/// How many elements a comparison looks at before it begins to remember what it has found equal.
const PATIENCE: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Of a list's spine, or a tower of last elements, one pair in so many is remembered.
const SPARSE: usize = 64;

/// Compares two terms depth first, from the left. The first difference is the answer.
#[inline]
fn walk(a: Value, b: Value, question: Question, work: &mut usize) -> Ordering {
    if a == b {
        Ordering::Equal
    } else if Parts::of(a, b).is_none() {
        // The usual case needs none of what follows.
        question.leaves(a, b, work)
    } else {
        walk_compound(a, b, question, work)
    }
}

/// Pairs of values that wait to be compared, from `at` on.
struct Pairs<'h> {
    left: Cow<'h, [Value]>,
    right: Cow<'h, [Value]>,
    at: usize,
    question: Question,
}

impl<'h> Pairs<'h> {
    #[inline(always)]
    fn new(left: Cow<'h, [Value]>, right: Cow<'h, [Value]>, question: Question) -> Pairs<'h> {
        let at = 0;
        Pairs {
            left,
            right,
            at,
            question,
        }
    }
}

/// [`walk`] for terms of any depth.
///
/// The stack is explicit, and grows only where something is left to compare behind a pair: a list's spine or a tower
/// of last elements costs none.
///
/// A pair that is remembered and met again was found equal before (it cannot be still open, for that would be a
/// cycle). So were two cells that were both found equal to a third: as many pairs are entered as there are cells, not
/// as there are pairs of them, even where sharing makes the written-out terms exponentially large.
///
/// Of two maps of the same size all keys come before all values, as in Elixir.
fn walk_compound(a: Value, b: Value, question: Question, work: &mut usize) -> Ordering {
    let mut looked_at = 0;
    let order = walk_counting(a, b, question, &mut looked_at);
    // The pair itself is no element of anything.
    *work += looked_at - 1;
    order
}

fn walk_counting(a: Value, b: Value, question: Question, looked_at: &mut usize) -> Ordering {
    let (a, b) = ([a], [b]);
    let mut pairs = Pairs::new(Cow::Borrowed(&a), Cow::Borrowed(&b), question);
    let mut pending: Vec<Pairs> = Vec::new();
    let mut alike = Alike::default();
    loop {
        while pairs.at < pairs.left.len() {
            let (x, y) = (pairs.left[pairs.at], pairs.right[pairs.at]);
            pairs.at += 1;
            *looked_at += 1;
            if x == y {
                continue;
            }
            let question = pairs.question;
            let Some(parts) = Parts::of(x, y) else {
                match question.leaves(x, y, looked_at) {
                    Ordering::Equal => continue,
                    different => return different,
                }
            };
            let (n, m) = parts.sizes();
            if n != m {
                return n.cmp(&m);
            }
            let more = pairs.at < pairs.left.len();
            if *looked_at > PATIENCE {
                let branches = more || matches!(parts, Parts::Maps(..));
                if (branches || looked_at.is_multiple_of(SPARSE)) && !alike.join(x, y, question) {
                    continue;
                }
            }
            let inner = match parts {
                Parts::Cells(xs, ys) => Pairs::new(Cow::Borrowed(xs), Cow::Borrowed(ys), question),
                Parts::Maps(x, y) => {
                    let ((x_keys, x_values), (y_keys, y_values)) = (columns(x), columns(y));
                    if more {
                        pending.push(std::mem::replace(
                            &mut pairs,
                            Pairs::new(x_values, y_values, question),
                        ));
                    } else {
                        pairs = Pairs::new(x_values, y_values, question);
                    }
                    pending.push(std::mem::replace(
                        &mut pairs,
                        Pairs::new(x_keys, y_keys, Question::Key),
                    ));
                    continue;
                }
            };
            let rest = std::mem::replace(&mut pairs, inner);
            if more {
                pending.push(rest);
            }
        }
        match pending.pop() {
            Some(next) => pairs = next,
            None => return Ordering::Equal,
        }
    }
}

/// Cells that were found equal, in classes (union and find). What is equal for one question need not be for another.
#[derive(Default)]
struct Alike(FxHashMap<(Value, Question), Value>);

impl Alike {
    /// Makes one class of two; `false` if they are one already.
    fn join(&mut self, a: Value, b: Value, question: Question) -> bool {
        let (a, b) = (self.head(a, question), self.head(b, question));
        if a != b {
            self.0.insert((a, question), b);
        }
        a != b
    }

    /// The head of a value's class. Makes the way there shorter for those who come later.
    fn head(&mut self, value: Value, question: Question) -> Value {
        let mut at = value;
        while let Some(next) = self.0.get(&(at, question)).copied() {
            if let Some(beyond) = self.0.get(&(next, question)).copied() {
                self.0.insert((at, question), beyond);
            }
            at = next;
        }
        at
    }
}

/// The keys of a map in order, and their values.
fn columns<'h>(map: Node<'h>) -> (Cow<'h, [Value]>, Cow<'h, [Value]>) {
    if map.is_leaf() {
        return (Cow::Borrowed(map.keys), Cow::Borrowed(map.items));
    }
    let (keys, values): (Vec<Value>, Vec<Value>) = entries(map).unzip();
    (Cow::Owned(keys), Cow::Owned(values))
}

/// What is inside of two values of the same kind.
enum Parts<'h> {
    /// The elements of tuples, or head and tail of lists.
    Cells(&'h [Value], &'h [Value]),
    Maps(Node<'h>, Node<'h>),
}

impl<'h> Parts<'h> {
    #[inline(always)]
    fn of(a: Value, b: Value) -> Option<Parts<'h>> {
        if a.is_cons() && b.is_cons() {
            return Some(Parts::Cells(cell(a), cell(b)));
        }
        if !a.is_boxed() || !b.is_boxed() {
            return None;
        }
        if let Some(elements) = a.as_tuple() {
            return Some(Parts::Cells(elements, b.as_tuple()?));
        }
        Some(Parts::Maps(Node::of(a)?, Node::of(b)?))
    }

    #[inline(always)]
    fn sizes(&self) -> (usize, usize) {
        match self {
            Parts::Cells(a, b) => (a.len(), b.len()),
            Parts::Maps(a, b) => (a.size, b.size),
        }
    }
}

/// Head and tail of a value known to be a non-empty list.
#[inline(always)]
fn cell<'h>(list: Value) -> &'h [Value] {
    // SAFETY: a list cell is two values; the pointer is good by value.rs, invariant 1 (see the head of heap/cell.rs).
    unsafe { std::slice::from_raw_parts(list.cons_pointer(), 2) }
}

#[cfg(test)]
mod tests {
    use super::super::compare as counted;
    use super::super::testing::uncounted::{compare, equal, less, max, min, same};
    use super::super::testing::{heap, model, model_of, Built, Model};
    use super::{PATIENCE, SPARSE};
    use crate::foreign::Class;
    use crate::heap::Heap;
    use crate::value::Value;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    const MANY: usize = if cfg!(miri) { 500 } else { 1_000_000 };

    #[test]
    fn one_of_each_type_in_their_order() {
        let mut built = Built::new();
        let ascending = [
            Model::Big(-(1 << 70)),
            Model::Int(crate::value::FIXNUM_MIN),
            Model::Float(-1.0e10),
            Model::Int(-1),
            Model::Float(-5e-324),
            Model::Int(0),
            Model::Float(5e-324),
            Model::Float(0.5),
            Model::Int(1),
            Model::Int(crate::value::FIXNUM_MAX),
            Model::Float(4611686018427387904.0),
            Model::Big((1 << 62) + 1),
            Model::Big(1 << 70),
            Model::Float(f64::MAX),
            Model::Atom("B"),
            Model::Atom("a"),
            Model::Atom("aa"),
            Model::Atom("b"),
            Model::Atom("nil"),
            Model::Opaque(Class::Reference, 1),
            Model::Opaque(Class::Reference, 2),
            Model::Opaque(Class::Function, 0),
            Model::Opaque(Class::Port, 0),
            Model::Address(0),
            Model::Address(1),
            Model::On("aa", 1),
            Model::On("b", 0),
            Model::On("b", 1),
            Model::Opaque(Class::Pid, 0),
            Model::Tuple(vec![]),
            Model::Tuple(vec![Model::Bytes(vec![1])]),
            Model::Tuple(vec![Model::Int(1), Model::Int(1)]),
            Model::Tuple(vec![Model::Int(1), Model::Atom("a")]),
            Model::Opaque(Class::Map, 0),
            Model::List(vec![], None),
            Model::List(vec![Model::Int(1)], Some(Box::new(Model::Int(2)))),
            Model::List(vec![Model::Int(1)], None),
            Model::List(vec![Model::Int(1), Model::Int(2)], None),
            Model::List(vec![Model::Int(2)], None),
            Model::Bytes(vec![]),
            Model::Bytes(vec![1]),
            Model::Bytes(vec![1; 300]),
            Model::Bytes(vec![2]),
            Model::Opaque(Class::Bitstring, 0),
        ];
        let values: Vec<Value> = ascending.iter().map(|m| built.value(m)).collect();
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(
                    compare(*a, *b),
                    i.cmp(&j),
                    "{:?}, {:?}",
                    ascending[i],
                    ascending[j]
                );
                assert_eq!(less(*a, *b), i < j);
                assert_eq!(equal(*a, *b), i == j);
                assert_eq!(same(*a, *b), i == j);
            }
        }
    }

    #[test]
    fn numbers_are_equal_across_types_but_not_the_same() {
        let mut built = Built::new();
        let mut pair = |a: Model, b: Model| {
            let (a, b) = (built.value(&a), built.value(&b));
            (equal(a, b), same(a, b), compare(a, b) == Ordering::Equal)
        };
        let nested = |m| Model::Tuple(vec![Model::List(vec![m, Model::Atom("a")], None)]);
        let equal_not_same = (true, false, true);
        let different = (false, false, false);
        assert_eq!(pair(Model::Int(1), Model::Float(1.0)), equal_not_same);
        assert_eq!(
            pair(nested(Model::Int(1)), nested(Model::Float(1.0))),
            equal_not_same
        );
        assert_eq!(pair(Model::Float(0.0), Model::Float(-0.0)), equal_not_same);
        assert_eq!(pair(Model::Int(0), Model::Float(-0.0)), equal_not_same);
        assert_eq!(
            pair(Model::Big(1 << 70), Model::Float(2f64.powi(70))),
            equal_not_same
        );
        assert_eq!(
            pair(Model::Float(1e300), Model::Float(1e300)),
            (true, true, true)
        );
        // 2^53 + 1 is no float; converting would make these equal.
        let odd = (1i64 << 53) + 1;
        assert_eq!(pair(Model::Int(odd), Model::Float(odd as f64)), different);
        assert_eq!(
            pair(Model::Int(odd - 1), Model::Float(odd as f64)),
            equal_not_same
        );
        assert_eq!(
            pair(
                Model::Int(crate::value::FIXNUM_MAX),
                Model::Float(2f64.powi(62))
            ),
            different
        );
        assert_eq!(
            pair(
                Model::Int(crate::value::FIXNUM_MIN),
                Model::Float(-(2f64.powi(62)))
            ),
            equal_not_same
        );
    }

    #[test]
    fn max_and_min_prefer_the_first() {
        let (one, float) = (Value::fixnum(1), Value::flonum(1.0).unwrap());
        assert!(max(one, float) == one && max(float, one) == float);
        assert!(min(one, float) == one && min(float, one) == float);
        assert!(max(one, Value::fixnum(2)) == Value::fixnum(2));
        assert!(min(one, Value::TRUE) == one && min(Value::TRUE, one) == one);
    }

    fn tower(heap: &mut Heap, bottom: Value, level: fn(&mut Heap, Value) -> Value) -> Value {
        (0..MANY).fold(bottom, |below, _| level(heap, below))
    }

    #[test]
    fn depth_costs_no_native_stack() {
        let levels: [fn(&mut Heap, Value) -> Value; 5] = [
            |heap, below| heap.cons(Value::NIL, below),
            |heap, below| heap.cons(below, Value::EMPTY_LIST),
            |heap, below| heap.tuple(1, |_| below),
            |heap, below| heap.tuple(2, |i| if i == 0 { below } else { Value::NIL }),
            |heap, below| heap.tuple(2, |i| if i == 1 { below } else { Value::NIL }),
        ];
        for level in levels {
            let mut heap = heap();
            let a = tower(&mut heap, Value::fixnum(1), level);
            let b = tower(&mut heap, Value::fixnum(1), level);
            let c = tower(&mut heap, Value::flonum(1.0).unwrap(), level);
            let d = tower(&mut heap, Value::fixnum(2), level);
            assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
            assert!(!same(a, c) && equal(a, c) && compare(a, c).is_eq());
            assert!(!same(a, d) && !equal(a, d) && compare(a, d).is_lt() && compare(d, a).is_gt());
        }
    }

    #[test]
    fn long_lists_of_tuples() {
        let mut heap = heap();
        let mut list = |last: i64| {
            (0..MANY as i64).rev().fold(Value::EMPTY_LIST, |tail, n| {
                let n = if n == MANY as i64 - 1 { last } else { n };
                let head = heap.tuple(1, |_| Value::fixnum(n));
                heap.cons(head, tail)
            })
        };
        let (a, b, c) = (list(7), list(7), list(8));
        assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
        assert!(!same(a, c) && !equal(a, c) && compare(a, c).is_lt());
    }

    #[test]
    fn sharing_is_not_written_out() {
        // Each of these has 2^500 leaves in 500 cells.
        let levels: [fn(&mut Heap, Value) -> Value; 3] = [
            |heap, below| heap.tuple(2, |_| below),
            |heap, below| heap.cons(below, below),
            |heap, below| heap.tuple(3, |i| if i == 1 { Value::NIL } else { below }),
        ];
        for level in levels {
            let mut heap = heap();
            let mut shared = |bottom: i64| {
                (0..500).fold(Value::fixnum(bottom), |below, _| level(&mut heap, below))
            };
            let (a, b) = (shared(1), shared(1));
            assert!(same(a, b) && equal(a, b) && compare(a, b).is_eq());
            assert!(compare(a, shared(2)).is_lt());
        }
    }

    /// Two terms with many cells that are equal to many others, which are not in the same places.
    #[test]
    fn what_is_equal_to_a_third_is_not_compared() {
        let mut heap = heap();
        let (levels, copies) = if cfg!(miri) { (10, 4) } else { (40, 300) };
        let mut sides = [1, 2].map(|side| {
            let mut level: Vec<Value> = (0..copies).map(|_| heap.tuple(1, number)).collect();
            for n in 0..levels {
                level = (0..copies)
                    .map(|i| {
                        let other = (i * 7 + side * 31 + n * 13) % copies;
                        let parts = [level[i], level[other]];
                        heap.tuple(2, |i| parts[i])
                    })
                    .collect();
            }
            level[0]
        });
        let mut work = 0;
        assert!(counted::same(sides[0], sides[1], &mut work));
        let cells = 2 * levels * copies;
        assert!(work < PATIENCE + SPARSE * cells, "{work} for {cells}");
        sides[1] = heap.tuple(2, |i| sides[i]);
        assert!(!same(sides[0], sides[1]));
    }

    #[test]
    fn turns_pay_for_what_is_looked_at() {
        let mut heap = heap();
        let mut list = |last: i64| {
            (0..100).fold(Value::EMPTY_LIST, |tail, n| {
                heap.cons(number(if n == 99 { last } else { n } as usize), tail)
            })
        };
        let (a, b, c) = (list(99), list(99), list(7));
        let [short, long] = [10, 20].map(|n| heap.tuple(n, number));
        let texts = [0, 0, 1].map(|first| heap.bytes(&[&[first], &[7; 6399][..]].concat()));
        let paid = |a, b| {
            let mut work = [0; 3];
            counted::same(a, b, &mut work[0]);
            counted::equal(a, b, &mut work[1]);
            counted::less(a, b, &mut work[2]);
            assert!(work[0] == work[1] && work[1] == work[2], "{work:?}");
            work[0]
        };
        assert_eq!(paid(a, b), 200);
        assert_eq!(paid(a, a), 0);
        // The first element differs, and nothing is looked at where sizes do.
        assert_eq!(paid(a, c), 1);
        assert_eq!(paid(short, long), 0);
        assert_eq!(paid(short, heap.tuple(10, number)), 10);
        assert_eq!(paid(texts[0], texts[1]), 200);
        assert_eq!(paid(texts[0], texts[2]), 200);
        assert_eq!(paid(number(1), number(2)), 0);
    }

    fn number(n: usize) -> Value {
        Value::fixnum(n as i64)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        #[test]
        fn as_the_model_says(a in model(), b in model()) {
            let mut built = Built::new();
            let (x, y) = (built.value(&a), built.value(&b));
            let expected = model_of::compare(&a, &b);
            prop_assert_eq!(compare(x, y), expected);
            prop_assert_eq!(compare(y, x), expected.reverse());
            prop_assert_eq!(less(x, y), expected.is_lt());
            prop_assert_eq!(equal(x, y), expected.is_eq());
            prop_assert_eq!(same(x, y), model_of::same(&a, &b));
        }

        #[test]
        fn a_copy_is_the_same(a in model()) {
            let mut built = Built::new();
            let (x, y) = (built.value(&a), built.value(&a));
            prop_assert!(same(x, y) && equal(x, y) && compare(x, y).is_eq());
        }

        #[test]
        fn the_order_is_transitive(models in proptest::collection::vec(model(), 3)) {
            let mut built = Built::new();
            let mut v: Vec<Value> = models.iter().map(|m| built.value(m)).collect();
            v.sort_by(|a, b| compare(*a, *b));
            prop_assert!(compare(v[0], v[1]).is_le() && compare(v[1], v[2]).is_le());
            let (ab, bc) = (compare(v[0], v[1]), compare(v[1], v[2]));
            prop_assert_eq!(compare(v[0], v[2]), ab.then(bc));
        }
    }
}
