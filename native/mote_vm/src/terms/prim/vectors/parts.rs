//! Vectors from lists and bytes and back, and parts of them.
use super::super::lists::{proper_length, Elements, ListBuilder};
use super::*;

/// `Mote.Vector.new(type, list)`
pub(crate) fn vec_new(heap: &mut Heap, kind: Value, list: Value) -> Value {
    let float = |a| as_float(a).filter(|f| f.is_finite()).map(f64::to_le_bytes);
    let bytes = if kind == names().f64 {
        listed(heap, list, float)
    } else if kind == names().i64 {
        listed(heap, list, |a| as_i64(a).map(i64::to_le_bytes))
    } else {
        None
    };
    let binary = or_none(bytes.map(|bytes| heap.owned_bytes(bytes)));
    made(heap, kind, binary)
}

/// Forgets a vector that is not read again. Anything else is left alone.
pub(crate) fn vec_drop(heap: &mut Heap, a: Value) -> Value {
    if let Some(binary) = Vector::binary(a) {
        // SAFETY: code/temporaries.rs has put this where nothing else refers to the vector, which `made` has made in this turn.
        unsafe { heap.forget(binary, (a, GRANULES)) };
    }
    Value::NIL
}

/// The bytes of what is in a list, if all of it has some.
fn listed(
    heap: &mut Heap,
    list: Value,
    encode: impl Fn(Value) -> Option<[u8; ELEMENT]>,
) -> Option<Vec<u8>> {
    let n = proper_length(list, &mut heap.work)?;
    heap.beside(n * ELEMENT, |heap| {
        let mut all = Vec::with_capacity(n);
        for element in Elements::of(list) {
            heap.work.pass(1).ok()?;
            all.push(encode(element)?);
        }
        Some(all.into_flattened())
    })
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
            let finite = |e: &[u8; ELEMENT]| f64::from_le_bytes(*e).is_finite();
            let mut parts = elements.chunks(ELEMENTS_AT_ONCE);
            match parts.all(|some| heap.work.pass(some.len()).is_ok() && some.iter().all(finite)) {
                true => made(heap, names.f64, binary),
                false => Value::NONE,
            }
        }
        ("s", 64) if bytes.len().is_multiple_of(8) => made(heap, names.i64, binary),
        ("f", 32) if bytes.len().is_multiple_of(4) => {
            let (elements, _) = bytes.as_chunks();
            let float = |e: &[u8; 4]| f32::from_le_bytes(*e).into();
            let parts = elements.chunks(ELEMENTS_AT_ONCE);
            floats(
                heap,
                elements.len(),
                parts.map(|some| some.iter().map(float)),
            )
        }
        ("s", 32) if bytes.len().is_multiple_of(4) => {
            let (elements, _) = bytes.as_chunks();
            let integer = |e: &[u8; 4]| Some(i32::from_le_bytes(*e).into());
            let parts = elements.chunks(ELEMENTS_AT_ONCE);
            integers(
                heap,
                elements.len(),
                parts.map(|some| some.iter().map(integer)),
            )
        }
        ("u", 8) => {
            let parts = bytes.chunks(ELEMENTS_AT_ONCE);
            let integer = |byte: &u8| Some((*byte).into());
            integers(
                heap,
                bytes.len(),
                parts.map(|some| some.iter().map(integer)),
            )
        }
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
    let mut list = ListBuilder::new();
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
    let Some((kind, x, y)) = both() else {
        return Value::NONE;
    };
    let n = x.len() + y.len();
    if pay(heap, n).is_none() {
        return Value::NONE;
    }
    let parts = x.chunks(ELEMENTS_AT_ONCE).chain(y.chunks(ELEMENTS_AT_ONCE));
    let bytes = bytes(heap, n, parts.map(<[_]>::iter), |e: &[u8; ELEMENT]| *e);
    let binary = or_none(bytes.map(|bytes| heap.owned_bytes(bytes)));
    made(heap, kind, binary)
}
