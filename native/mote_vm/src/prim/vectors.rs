//! Vectors: packed arrays of 64-bit floats or integers.
//!
//! A vector is what it is for Elixir, the struct `%Mote.Vector{type: :f64 | :i64, binary: bytes}`: a map whose bytes are
//! the elements in little endian order. So it needs no cell of its own, and leaves and enters the machine as it is.
//!
//! Everything is of one type: floats with floats, integers with integers. A float that is not finite and an integer of
//! more than 64 bits are no elements; a result with one of them has no answer. Sums of floats are made in [`LANES`]
//! lanes, the i-th of which adds every element whose index is i modulo their number, and then the lanes from the first
//! to the last; so the machine can add several at once, and everybody gets the same.
use super::build::{number_of, COPIED};
use super::lists::{proper_length, Builder, Elements};
use super::types::as_binary;
use crate::atom::Atom;
use crate::foreign::Wide;
use crate::heap::Heap;
use crate::map::{self, Node};
use crate::value::Value;
use std::sync::{Arc, OnceLock};

/// How many sums of floats are made beside each other.
const LANES: usize = 8;
/// Bytes of an element.
const ELEMENT: usize = 8;

/// The atoms that make a vector.
struct Names {
    module: Value,
    binary: Value,
    structure: Value,
    kind: Value,
    f64: Value,
    i64: Value,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let atom = |name| Value::atom(Atom::new(name));
        Names {
            module: atom("Elixir.Mote.Vector"),
            binary: atom("binary"),
            structure: atom("__struct__"),
            kind: atom("type"),
            f64: atom("f64"),
            i64: atom("i64"),
        }
    })
}

/// The elements of a vector.
#[derive(Clone, Copy)]
enum Vector<'h> {
    Floats(&'h [[u8; ELEMENT]]),
    Integers(&'h [[u8; ELEMENT]]),
}
use Vector::{Floats, Integers};

impl<'h> Vector<'h> {
    fn of(a: Value) -> Option<Vector<'h>> {
        let names = names();
        let map = Node::of(a).filter(|map| map.size == 3)?;
        if map::get(map, names.structure)? != names.module {
            return None;
        }
        let (elements, rest) = as_binary(map::get(map, names.binary)?)?.as_chunks();
        let kind = map::get(map, names.kind)?;
        match rest {
            [] if kind == names.f64 => Some(Floats(elements)),
            [] if kind == names.i64 => Some(Integers(elements)),
            _ => None,
        }
    }

    fn elements(self) -> &'h [[u8; ELEMENT]] {
        match self {
            Floats(elements) | Integers(elements) => elements,
        }
    }

    fn kind(self) -> Value {
        match self {
            Floats(_) => names().f64,
            Integers(_) => names().i64,
        }
    }

    /// The value of an element.
    fn value(self, heap: &mut Heap, element: &[u8; ELEMENT]) -> Value {
        match self {
            Floats(_) => float(heap, f64::from_le_bytes(*element)),
            Integers(_) => integer(heap, i64::from_le_bytes(*element).into()),
        }
    }
}

/// The turn pays for going over so many elements: several are as fast as one of a list.
fn work(heap: &mut Heap, elements: usize) {
    heap.work += elements * ELEMENT / COPIED;
}

/// The same for all elements of a vector.
fn walk(heap: &mut Heap, a: Value) {
    work(
        heap,
        Vector::of(a).map_or(0, |vector| vector.elements().len()),
    );
}

/// `value`, or no answer; the memory may be exhausted.
fn or_none(value: Option<Value>) -> Value {
    value.unwrap_or(Value::NONE)
}

fn float(heap: &mut Heap, f: f64) -> Value {
    match f.is_finite() {
        true => heap.float(f),
        false => Value::NONE,
    }
}

fn integer(heap: &mut Heap, n: i128) -> Value {
    match i64::try_from(n) {
        Ok(_) => match Wide::new(n) {
            Some(wide) => heap.foreign(Arc::new(wide)),
            None => Value::fixnum(n as i64),
        },
        Err(_) => Value::NONE,
    }
}

fn as_float(a: Value) -> Option<f64> {
    match a.as_fixnum() {
        Some(n) => Some(n as f64),
        None if a.is_flonum() || a.is_boxed() => a.as_float(),
        None => None,
    }
}

fn as_i64(a: Value) -> Option<i64> {
    i64::try_from(number_of(a)?).ok()
}

/// A vector of these bytes, which may be another one's.
fn made(heap: &mut Heap, kind: Value, binary: Value) -> Value {
    if binary.is_none() {
        return Value::NONE;
    }
    let names = names();
    // In the order of their names.
    let keys = [names.structure, names.binary, names.kind];
    heap.map_node(0, 3, 3, |room| {
        room.extend(&keys, &[names.module, binary, kind])
    })
}

/// A vector of floats, if all of them are finite.
fn floats(heap: &mut Heap, elements: impl Iterator<Item = f64>) -> Value {
    let mut finite = true;
    let bytes = bytes(elements.map(|f| {
        finite &= f.is_finite();
        f.to_le_bytes()
    }));
    if !finite {
        return Value::NONE;
    }
    let binary = heap.owned_bytes(bytes);
    made(heap, names().f64, binary)
}

fn integers(heap: &mut Heap, elements: impl Iterator<Item = Option<i64>>) -> Value {
    let mut all = true;
    let bytes = bytes(elements.map(|n| {
        all &= n.is_some();
        n.unwrap_or(0).to_le_bytes()
    }));
    if !all {
        return Value::NONE;
    }
    let binary = heap.owned_bytes(bytes);
    made(heap, names().i64, binary)
}

fn bytes(elements: impl Iterator<Item = [u8; ELEMENT]>) -> Vec<u8> {
    elements.collect::<Vec<_>>().into_flattened()
}

/// `Mote.Vector.new(type, list)`
pub(crate) fn vec_new(heap: &mut Heap, kind: Value, list: Value) -> Value {
    let Some(n) = proper_length(list).filter(|n| heap.fits(n * ELEMENT)) else {
        return Value::NONE;
    };
    heap.work += n;
    if kind == names().f64 {
        let all: Option<Vec<f64>> = Elements::of(list).map(as_float).collect();
        or_none(all.map(|all| floats(heap, all.into_iter())))
    } else if kind == names().i64 {
        integers(heap, Elements::of(list).map(as_i64))
    } else {
        Value::NONE
    }
}

/// `Mote.Vector.from_binary(type, binary)`: the elements in little endian order. Beside the two types of vectors the
/// types of tensors, `{:f, 64}`, `{:f, 32}`, `{:s, 64}`, `{:s, 32}` and `{:u, 8}`.
pub(crate) fn vec_from_binary(heap: &mut Heap, kind: Value, binary: Value) -> Value {
    let Some(bytes) = as_binary(binary) else {
        return Value::NONE;
    };
    heap.work += bytes.len() / COPIED;
    let names = names();
    let tensor = |kind: Value| match kind.as_tuple()? {
        [letter, bits] => Some((letter.as_atom()?.name(), bits.as_fixnum()?)),
        _ => None,
    };
    let kind = match kind {
        kind if kind == names.f64 => ("f", 64),
        kind if kind == names.i64 => ("s", 64),
        kind if kind.is_boxed() => match tensor(kind) {
            Some(kind) => kind,
            None => return Value::NONE,
        },
        _ => return Value::NONE,
    };
    match kind {
        ("f", 64) if bytes.len().is_multiple_of(8) => {
            let (elements, _) = bytes.as_chunks();
            match elements.iter().all(|e| f64::from_le_bytes(*e).is_finite()) {
                true => made(heap, names.f64, binary),
                false => Value::NONE,
            }
        }
        ("s", 64) if bytes.len().is_multiple_of(8) => made(heap, names.i64, binary),
        ("f", 32) if bytes.len().is_multiple_of(4) => {
            let (elements, _) = bytes.as_chunks();
            floats(heap, elements.iter().map(|e| f32::from_le_bytes(*e).into()))
        }
        ("s", 32) if bytes.len().is_multiple_of(4) => {
            let (elements, _) = bytes.as_chunks();
            integers(
                heap,
                elements.iter().map(|e| Some(i32::from_le_bytes(*e).into())),
            )
        }
        ("u", 8) => integers(heap, bytes.iter().map(|byte| Some((*byte).into()))),
        _ => Value::NONE,
    }
}

/// `Mote.Vector.to_list(vector)`
pub(crate) fn vec_to_list(heap: &mut Heap, a: Value) -> Value {
    let Some(vector) = Vector::of(a) else {
        return Value::NONE;
    };
    heap.work += vector.elements().len();
    let mut list = Builder::new();
    for element in vector.elements() {
        let value = vector.value(heap, element);
        if value.is_none() || list.push(heap, value).is_none() {
            return Value::NONE;
        }
    }
    list.finish(Value::EMPTY_LIST)
}

/// `Mote.Vector.to_binary(vector)`
pub(crate) fn vec_to_binary(a: Value) -> Value {
    match (Vector::of(a), Node::of(a)) {
        (Some(_), Some(map)) => or_none(map::get(map, names().binary)),
        _ => Value::NONE,
    }
}

/// `Mote.Vector.size(vector)`
pub(crate) fn vec_size(a: Value) -> Value {
    or_none(Vector::of(a).map(|vector| Value::fixnum(vector.elements().len() as i64)))
}

/// `Mote.Vector.get(vector, index)`
pub(crate) fn vec_get(heap: &mut Heap, a: Value, index: Value) -> Value {
    let element = || {
        let vector = Vector::of(a)?;
        let index = usize::try_from(index.as_fixnum()?).ok()?;
        Some((vector, vector.elements().get(index)?))
    };
    or_none(element().map(|(vector, element)| vector.value(heap, element)))
}

/// `Mote.Vector.slice(vector, start, count)`: shares the bytes.
pub(crate) fn vec_slice(heap: &mut Heap, a: Value, start: Value, count: Value) -> Value {
    let range = || {
        let vector = Vector::of(a)?;
        let start = usize::try_from(start.as_fixnum()?).ok()?;
        let end = start.checked_add(usize::try_from(count.as_fixnum()?).ok()?)?;
        (end <= vector.elements().len()).then(|| (vector, start * ELEMENT..end * ELEMENT))
    };
    let Some((vector, range)) = range() else {
        return Value::NONE;
    };
    let whole = vec_to_binary(a);
    let binary = match as_binary(whole) {
        Some(bytes) => heap.slice(whole, bytes, range),
        None => Value::NONE,
    };
    made(heap, vector.kind(), binary)
}

/// `Mote.Vector.concat(a, b)`
pub(crate) fn vec_concat(heap: &mut Heap, a: Value, b: Value) -> Value {
    let both = || match (Vector::of(a)?, Vector::of(b)?) {
        (Floats(x), Floats(y)) => Some((names().f64, x, y)),
        (Integers(x), Integers(y)) => Some((names().i64, x, y)),
        _ => None,
    };
    match both() {
        Some((kind, x, y)) if heap.fits((x.len() + y.len()) * ELEMENT) => {
            work(heap, x.len() + y.len());
            let binary = heap.owned_bytes([x, y].concat().into_flattened());
            made(heap, kind, binary)
        }
        _ => Value::NONE,
    }
}

/// An operation on two elements.
#[derive(Clone, Copy)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

impl Operation {
    fn of(name: Value) -> Option<Operation> {
        Some(match name.as_atom()?.name() {
            "add" => Operation::Add,
            "sub" => Operation::Sub,
            "mul" => Operation::Mul,
            "div" => Operation::Div,
            "min" => Operation::Min,
            "max" => Operation::Max,
            _ => return None,
        })
    }
}

/// The second operand: a vector of the same size, or one number for all.
enum Other<'h, T> {
    Many(&'h [[u8; ELEMENT]]),
    One(T),
}

/// `Mote.Vector.add(a, b)` and its likes: element by element, or each with a number.
pub(crate) fn vec_map2(heap: &mut Heap, name: Value, a: Value, b: Value) -> Value {
    let (Some(operation), Some(vector)) = (Operation::of(name), Vector::of(a)) else {
        return Value::NONE;
    };
    if !heap.fits(vector.elements().len() * ELEMENT) {
        return Value::NONE;
    }
    work(heap, vector.elements().len());
    match vector {
        Floats(x) => {
            let other = match Vector::of(b) {
                Some(Floats(y)) if y.len() == x.len() => Other::Many(y),
                None => match as_float(b) {
                    Some(number) => Other::One(number),
                    None => return Value::NONE,
                },
                _ => return Value::NONE,
            };
            // One loop for each operation, so that each can work on several elements at once.
            match operation {
                Operation::Add => floats_with(heap, x, other, |x, y| x + y),
                Operation::Sub => floats_with(heap, x, other, |x, y| x - y),
                Operation::Mul => floats_with(heap, x, other, |x, y| x * y),
                Operation::Div => floats_with(heap, x, other, |x, y| x / y),
                Operation::Min => floats_with(heap, x, other, |x, y| if y < x { y } else { x }),
                Operation::Max => floats_with(heap, x, other, |x, y| if x < y { y } else { x }),
            }
        }
        Integers(x) => {
            let other = match Vector::of(b) {
                Some(Integers(y)) if y.len() == x.len() => Other::Many(y),
                None => match as_i64(b) {
                    Some(number) => Other::One(number),
                    None => return Value::NONE,
                },
                _ => return Value::NONE,
            };
            match operation {
                Operation::Add => integers_with(heap, x, other, i64::checked_add),
                Operation::Sub => integers_with(heap, x, other, i64::checked_sub),
                Operation::Mul => integers_with(heap, x, other, i64::checked_mul),
                Operation::Div => integers_with(heap, x, other, i64::checked_div),
                Operation::Min => integers_with(heap, x, other, |x, y| Some(x.min(y))),
                Operation::Max => integers_with(heap, x, other, |x, y| Some(x.max(y))),
            }
        }
    }
}

fn floats_with(
    heap: &mut Heap,
    x: &[[u8; ELEMENT]],
    other: Other<'_, f64>,
    f: impl Fn(f64, f64) -> f64,
) -> Value {
    let of = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e);
    match other {
        Other::Many(y) => floats(heap, x.iter().zip(y).map(|(x, y)| f(of(x), of(y)))),
        Other::One(y) => floats(heap, x.iter().map(|x| f(of(x), y))),
    }
}

fn integers_with(
    heap: &mut Heap,
    x: &[[u8; ELEMENT]],
    other: Other<'_, i64>,
    f: impl Fn(i64, i64) -> Option<i64>,
) -> Value {
    let of = |e: &[u8; ELEMENT]| i64::from_le_bytes(*e);
    match other {
        Other::Many(y) => integers(heap, x.iter().zip(y).map(|(x, y)| f(of(x), of(y)))),
        Other::One(y) => integers(heap, x.iter().map(|x| f(of(x), y))),
    }
}

/// The sum of `term` over pairs of elements, in lanes.
#[inline(always)]
fn lanes(x: &[[u8; ELEMENT]], y: &[[u8; ELEMENT]], term: impl Fn(f64, f64) -> f64) -> f64 {
    let of = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e);
    let mut sums = [0.0; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for i in 0..LANES {
            sums[i] += term(of(&x[i]), of(&y[i]));
        }
    }
    for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
        sums[i] += term(of(x), of(y));
    }
    sums.into_iter().fold(0.0, |sum, lane| sum + lane)
}

/// A sum of integers, which may be large in between.
fn exact(heap: &mut Heap, mut terms: impl Iterator<Item = i128>) -> Value {
    match terms.try_fold(0i128, i128::checked_add) {
        Some(sum) => integer(heap, sum),
        None => Value::NONE,
    }
}

fn wide(e: &[u8; ELEMENT]) -> i128 {
    i64::from_le_bytes(*e).into()
}

/// `Mote.Vector.dot(a, b)`, of vectors of one size.
pub(crate) fn vec_dot(heap: &mut Heap, a: Value, b: Value) -> Value {
    walk(heap, a);
    match (Vector::of(a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => {
            float(heap, lanes(x, y, |x, y| x * y))
        }
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            exact(heap, x.iter().zip(y).map(|(x, y)| wide(x) * wide(y)))
        }
        _ => Value::NONE,
    }
}

/// `Mote.Vector.squared_distance(a, b)`, of vectors of one size.
pub(crate) fn vec_distance(heap: &mut Heap, a: Value, b: Value) -> Value {
    walk(heap, a);
    match (Vector::of(a), Vector::of(b)) {
        (Some(Floats(x)), Some(Floats(y))) if x.len() == y.len() => {
            float(heap, lanes(x, y, |x, y| (x - y) * (x - y)))
        }
        (Some(Integers(x)), Some(Integers(y))) if x.len() == y.len() => {
            // The square of a difference of 65 bits does not fit.
            let square = |(x, y)| {
                let difference: i128 = wide(x) - wide(y);
                difference.checked_mul(difference).unwrap_or(i128::MAX)
            };
            exact(heap, x.iter().zip(y).map(square))
        }
        _ => Value::NONE,
    }
}

/// `Mote.Vector.sum(vector)`
pub(crate) fn vec_sum(heap: &mut Heap, a: Value) -> Value {
    walk(heap, a);
    match Vector::of(a) {
        Some(Floats(x)) => float(heap, lanes(x, x, |x, _| x)),
        Some(Integers(x)) => exact(heap, x.iter().map(wide)),
        None => Value::NONE,
    }
}

/// Where the first of the least elements is, or of the greatest. `None` for no elements, or odd ones.
fn extreme(vector: Vector<'_>, greatest: bool) -> Option<usize> {
    fn first<T: PartialOrd + Copy>(all: impl Iterator<Item = T>, greatest: bool) -> Option<usize> {
        let better = |x: T, best: T| if greatest { best < x } else { x < best };
        let mut found: Option<(usize, T)> = None;
        for (i, x) in all.enumerate() {
            if found.is_none_or(|(_, best)| better(x, best)) {
                found = Some((i, x));
            }
        }
        found.map(|(i, _)| i)
    }
    match vector {
        Floats(x) => {
            let of = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e);
            let finite = x.iter().all(|e| of(e).is_finite());
            finite.then(|| first(x.iter().map(of), greatest)).flatten()
        }
        Integers(x) => first(x.iter().map(|e| i64::from_le_bytes(*e)), greatest),
    }
}

fn extreme_value(heap: &mut Heap, a: Value, greatest: bool) -> Value {
    walk(heap, a);
    let found = || {
        let vector = Vector::of(a)?;
        Some((vector, extreme(vector, greatest)?))
    };
    match found() {
        Some((vector, i)) => vector.value(heap, &vector.elements()[i]),
        None => Value::NONE,
    }
}

/// `Mote.Vector.min(vector)`
pub(crate) fn vec_min(heap: &mut Heap, a: Value) -> Value {
    extreme_value(heap, a, false)
}

/// `Mote.Vector.max(vector)`
pub(crate) fn vec_max(heap: &mut Heap, a: Value) -> Value {
    extreme_value(heap, a, true)
}

/// `Mote.Vector.argmin(vector)`: the index of the first of the least.
pub(crate) fn vec_argmin(heap: &mut Heap, a: Value) -> Value {
    walk(heap, a);
    let index = Vector::of(a).and_then(|vector| extreme(vector, false));
    or_none(index.map(|i| Value::fixnum(i as i64)))
}

/// `Mote.Vector.argmax(vector)`
pub(crate) fn vec_argmax(heap: &mut Heap, a: Value) -> Value {
    walk(heap, a);
    let index = Vector::of(a).and_then(|vector| extreme(vector, true));
    or_none(index.map(|i| Value::fixnum(i as i64)))
}

/// `Mote.Vector.sort(vector)`: ascending, and stable for the two zeros.
pub(crate) fn vec_sort(heap: &mut Heap, a: Value) -> Value {
    let Some(vector) = Vector::of(a) else {
        return Value::NONE;
    };
    let n = vector.elements().len();
    if !heap.fits(n * ELEMENT) {
        return Value::NONE;
    }
    work(heap, n * n.checked_ilog2().unwrap_or(0) as usize);
    match vector {
        Floats(x) => {
            let mut sorted: Vec<f64> = x.iter().map(|e| f64::from_le_bytes(*e)).collect();
            if !sorted.iter().all(|f| f.is_finite()) {
                return Value::NONE;
            }
            // Finite floats always compare.
            sorted.sort_by(|x, y| x.partial_cmp(y).unwrap_or(std::cmp::Ordering::Equal));
            floats(heap, sorted.into_iter())
        }
        Integers(x) => {
            let mut sorted: Vec<i64> = x.iter().map(|e| i64::from_le_bytes(*e)).collect();
            sorted.sort_unstable();
            integers(heap, sorted.into_iter().map(Some))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lists::from_slice;
    use super::super::testing::{elements, heap, Built, Model};
    use super::*;

    fn vector(heap: &mut Heap, all: &[f64]) -> Value {
        let all: Vec<Value> = all.iter().map(|f| heap.float(*f)).collect();
        let list = from_slice(heap, &all);
        vec_new(heap, names().f64, list)
    }

    fn integers_of(heap: &mut Heap, all: &[i64]) -> Value {
        integers(heap, all.iter().map(|n| Some(*n)))
    }

    fn list_of(heap: &mut Heap, a: Value) -> Vec<Option<f64>> {
        let list = vec_to_list(heap, a);
        elements(list).0.into_iter().map(as_float).collect()
    }

    #[test]
    fn it_is_the_struct_that_elixir_has() {
        let mut heap = heap();
        let vector = vector(&mut heap, &[1.0, -2.5]);
        let map = Node::of(vector).unwrap();
        assert!(map::get(map, names().structure) == Some(names().module));
        assert!(map::entries(map)
            .map(|(key, _)| key.as_atom().unwrap().name())
            .is_sorted());
        assert!(vec_size(vector) == Value::fixnum(2));
        assert_eq!(list_of(&mut heap, vector), [Some(1.0), Some(-2.5)]);
        assert_eq!(
            vec_to_binary(vector).as_bytes().unwrap()[8..],
            (-2.5f64).to_le_bytes()
        );
    }

    #[test]
    fn elements_and_parts() {
        let mut heap = heap();
        let all: Vec<f64> = (0..1000).map(f64::from).collect();
        let whole = vector(&mut heap, &all);
        let at = Value::fixnum;
        assert_eq!(vec_get(&mut heap, whole, at(999)).as_float(), Some(999.0));
        for odd in [at(1000), at(-1), Value::NIL] {
            assert!(vec_get(&mut heap, whole, odd).is_none());
        }
        let part = vec_slice(&mut heap, whole, at(10), at(100));
        assert_eq!(
            list_of(&mut heap, part),
            all[10..110].iter().copied().map(Some).collect::<Vec<_>>()
        );
        assert!(
            vec_to_binary(part).sliced().is_some(),
            "the bytes are shared"
        );
        assert!(vec_slice(&mut heap, whole, at(10), at(991)).is_none());
        assert!(vec_slice(&mut heap, whole, at(i64::MAX >> 1), at(i64::MAX >> 1)).is_none());
        let twice = vec_concat(&mut heap, part, part);
        assert!(vec_size(twice) == at(200));
    }

    #[test]
    fn sums_of_floats_are_made_in_lanes() {
        let mut heap = heap();
        let all: Vec<f64> = (0..1001).map(|i| 1.0 / f64::from(i + 1)).collect();
        let x = vector(&mut heap, &all);
        let mut sums = [0.0; 8];
        for (i, f) in all.iter().enumerate() {
            sums[i % 8] += f * f;
        }
        let expected = sums.iter().fold(0.0, |sum, lane| sum + lane);
        assert_eq!(vec_dot(&mut heap, x, x).as_float(), Some(expected));
        assert_eq!(vec_distance(&mut heap, x, x).as_float(), Some(0.0));
        let empty = vector(&mut heap, &[]);
        assert_eq!(vec_sum(&mut heap, empty).as_float(), Some(0.0));
        assert!(vec_dot(&mut heap, x, empty).is_none());
    }

    #[test]
    fn integers_have_64_bits_and_no_more() {
        let mut heap = heap();
        let x = integers_of(&mut heap, &[i64::MAX, 1, i64::MIN]);
        assert!(vec_sum(&mut heap, x) == Value::fixnum(0));
        let wide = vec_get(&mut heap, x, Value::fixnum(0));
        assert_eq!(number_of(wide), Some(i64::MAX.into()));
        let plus =
            |heap: &mut Heap, n| vec_map2(heap, Value::atom(Atom::new("add")), x, Value::fixnum(n));
        assert!(plus(&mut heap, 1).is_none() && plus(&mut heap, -1).is_none());
        let same = plus(&mut heap, 0);
        assert!(crate::prim::testing::uncounted::same(same, x));
        assert!(vec_dot(&mut heap, x, x).is_none());
        assert!(vec_distance(&mut heap, x, x) == Value::fixnum(0));
        assert!(
            vec_argmin(&mut heap, x) == Value::fixnum(2)
                && vec_argmax(&mut heap, x) == Value::fixnum(0)
        );
    }

    #[test]
    fn what_has_no_answer() {
        let mut heap = heap();
        let (zero, one) = (vector(&mut heap, &[0.0]), vector(&mut heap, &[1.0]));
        let ints = integers_of(&mut heap, &[1]);
        let name = |name| Value::atom(Atom::new(name));
        assert!(vec_map2(&mut heap, name("div"), one, zero).is_none());
        assert!(vec_map2(&mut heap, name("add"), one, ints).is_none());
        assert!(vec_map2(&mut heap, name("pow"), one, one).is_none());
        assert!(vec_concat(&mut heap, one, ints).is_none());
        let empty = vector(&mut heap, &[]);
        assert!(vec_min(&mut heap, empty).is_none() && vec_argmax(&mut heap, empty).is_none());
        let nan = heap.bytes(&f64::NAN.to_le_bytes());
        assert!(vec_from_binary(&mut heap, names().f64, nan).is_none());
        // Made by hand, past the check.
        let odd = made(&mut heap, names().f64, nan);
        assert!(vec_get(&mut heap, odd, Value::fixnum(0)).is_none());
        assert!(vec_sort(&mut heap, odd).is_none() && vec_min(&mut heap, odd).is_none());
        assert!(vec_sum(&mut heap, odd).is_none() && vec_to_list(&mut heap, odd).is_none());
        let mut built = Built::new();
        for model in [Model::Int(1), Model::Map(vec![]), Model::List(vec![], None)] {
            let value = built.value(&model);
            assert!(vec_size(value).is_none() && vec_sum(&mut heap, value).is_none());
        }
    }

    #[test]
    fn from_tensors() {
        let mut heap = heap();
        let bytes = heap.bytes(&[0x00, 0x00, 0x80, 0x3F, 0xFF, 0xFF, 0xFF, 0xFF]);
        let mut of = |letter, bits| {
            let kind = heap.tuple(2, |i| {
                if i == 0 {
                    Value::atom(Atom::new(letter))
                } else {
                    Value::fixnum(bits)
                }
            });
            let vector = vec_from_binary(&mut heap, kind, bytes);
            (!vector.is_none()).then(|| list_of(&mut heap, vector))
        };
        assert_eq!(of("u", 8).map(|list| list.len()), Some(8));
        assert_eq!(of("s", 32), Some(vec![Some(1_065_353_216.0), Some(-1.0)]));
        assert_eq!(of("f", 32), None, "the second one is no number");
        assert_eq!(of("bf", 16), None);
    }
}
