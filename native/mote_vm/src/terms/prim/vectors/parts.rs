//! Vectors from lists and bytes and back, and parts of them.
use super::super::lists::{proper_length, Builder, Elements};
use super::*;

/// `Mote.Vector.new(type, list)`
pub(crate) fn vec_new(heap: &mut Heap, kind: Value, list: Value) -> Value {
    // The elements, and the bytes of these.
    let Some(n) = proper_length(list, &mut heap.work).filter(|n| heap.fits(2 * n * ELEMENT)) else {
        return Value::NONE;
    };
    let mut elements = Elements::of(list);
    if kind == names().f64 {
        let all: Option<Vec<f64>> = elements.map(as_float).collect();
        or_none(all.map(|all| floats(heap, all.into_iter())))
    } else if kind == names().i64 {
        // The list was just measured, so there are n elements.
        integers(heap, (0..n).map(|_| elements.next().and_then(as_i64)))
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
    if heap.work.count(bytes.len() / COPIED).is_err() {
        return Value::NONE;
    }
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
    if heap.work.count(vector.elements().len()).is_err() {
        return Value::NONE;
    }
    let mut list = Builder::new();
    for element in vector.elements() {
        let value = vector.value(heap, element);
        if heap.work.pass(1).is_err() || value.is_none() || list.push(heap, value).is_none() {
            return Value::NONE;
        }
    }
    list.finish(Value::EMPTY_LIST)
}

/// `Mote.Vector.to_binary(vector)`
pub(crate) fn vec_to_binary(a: Value) -> Value {
    match (Vector::of(a), Node::of(a)) {
        (Some(_), Some(map)) => or_none(map::named(map, names().binary)),
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
        Some((kind, x, y))
            if pay(heap, x.len() + y.len()).is_some()
                && heap.fits((x.len() + y.len()) * ELEMENT) =>
        {
            let binary = heap.owned_bytes([x, y].concat().into_flattened());
            made(heap, kind, binary)
        }
        _ => Value::NONE,
    }
}
