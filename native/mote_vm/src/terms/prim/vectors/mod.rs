//! Vectors: packed arrays of 64-bit floats or integers.
//!
//! A vector is the same as in Elixir, the struct `%Mote.Vector{type: :f64 | :i64, binary: bytes}`: a map whose bytes are the
//! elements in little endian order. So it needs no cell of its own, and leaves and enters the machine as it is.
//!
//! Everything is of one type: floats with floats, integers with integers. A float that is not finite and an integer of
//! more than 64 bits cannot be elements; a result with one of them has no answer.
//!
//! This file says what a vector is; parts.rs makes vectors and takes them apart, elementwise.rs calculates element by element,
//! sums.rs makes one number of all, order.rs sorts. The loops of these are in kernels.rs.
mod elementwise;
mod kernels;
mod order;
mod parts;
mod sums;
#[cfg(test)]
mod tests;

use super::arith::as_f64;
use super::integers::as_i128;
use super::types::as_binary;
use crate::base::atom::Atom;
use crate::base::work::COPIED;
use crate::heap::Heap;
use crate::terms::map::{self, Node};
use crate::values::value::Value;
use std::sync::OnceLock;

use elementwise::ElementOperation;

pub(crate) use elementwise::{vec_map2, vec_map2_left, vec_map2_right};
pub(crate) use order::{vec_argmax, vec_argmin, vec_max, vec_min, vec_sort};
pub(crate) use parts::{
    vec_concat, vec_drop, vec_from_binary, vec_get, vec_new, vec_size, vec_slice, vec_to_binary,
    vec_to_list,
};
pub(crate) use sums::{vec_distance, vec_dot, vec_sum};

/// Bytes of an element.
const ELEMENT: usize = 8;
/// Granules of the cell of a vector: a header, the size, three keys, three items.
const GRANULES: usize = 4;
/// Elements that are gone over between two looks whether the turn is to end (work.rs, invariant 3).
const ELEMENTS_AT_ONCE: usize = 1 << 14;

/// The atoms that make a vector.
struct VectorAtoms {
    module: Value,
    binary: Value,
    structure: Value,
    kind: Value,
    f64: Value,
    i64: Value,
    /// The names of operations on elements, in their order.
    operations: [Value; 6],
}

fn names() -> &'static VectorAtoms {
    static NAMES: OnceLock<VectorAtoms> = OnceLock::new();
    NAMES.get_or_init(|| {
        let atom = |name| Value::atom(Atom::new(name));
        VectorAtoms {
            module: atom("Elixir.Mote.Vector"),
            binary: atom("binary"),
            structure: atom("__struct__"),
            kind: atom("type"),
            f64: atom("f64"),
            i64: atom("i64"),
            operations: ElementOperation::ALL.map(|(name, _)| atom(name)),
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
    #[inline(always)]
    fn of(a: Value) -> Option<Vector<'h>> {
        let names = names();
        let map = Node::of(a)?;
        let ([structure, binary, kind], [module, bytes, of]) = (map.keys, map.items) else {
            return None;
        };
        // In the order of their names.
        if [*structure, *binary, *kind] != [names.structure, names.binary, names.kind]
            || *module != names.module
        {
            return None;
        }
        let (elements, rest) = as_binary(*bytes)?.as_chunks();
        let kind = *of;
        match rest {
            [] if kind == names.f64 => Some(Floats(elements)),
            [] if kind == names.i64 => Some(Integers(elements)),
            _ => None,
        }
    }

    /// The binary of what `made` has made, or of something else than a vector.
    #[inline(always)]
    fn binary(a: Value) -> Option<Value> {
        Some(Node::of(a)?.items[1])
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

/// Lets the turn pay for going over `elements` elements: several are as fast as one of a list. Returns `None` if it cannot pay.
fn pay(heap: &mut Heap, elements: usize) -> Option<()> {
    let price = elements.saturating_mul(ELEMENT) / COPIED;
    heap.work.count(price).ok()
}

/// The vector, if it is one and the turn can pay for going over its elements.
fn walked<'h>(heap: &mut Heap, a: Value) -> Option<Vector<'h>> {
    let vector = Vector::of(a)?;
    pay(heap, vector.elements().len())?;
    Some(vector)
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
        Ok(_) => heap.wide_integer(n),
        Err(_) => Value::NONE,
    }
}

fn as_float(a: Value) -> Option<f64> {
    as_f64(a)
}

fn as_i64(a: Value) -> Option<i64> {
    i64::try_from(as_i128(a)?).ok()
}

/// A vector of these bytes, which may be another one's.
fn made(heap: &mut Heap, kind: Value, binary: Value) -> Value {
    if binary.is_none() {
        return Value::NONE;
    }
    let names = names();
    // In the order of their names.
    let keys = [names.structure, names.binary, names.kind];
    heap.map_node((0, true), 3, 3, |room| {
        room.extend(&keys, &[names.module, binary, kind])
    })
}

/// A vector of `n` floats that come in parts, if all of them are finite.
fn floats<P>(heap: &mut Heap, n: usize, parts: impl Iterator<Item = P>) -> Value
where
    P: ExactSizeIterator<Item = f64>,
{
    let mut finite = true;
    let bytes = bytes(heap, n, parts, |f| {
        finite &= f.is_finite();
        f.to_le_bytes()
    });
    let binary = or_none(bytes.filter(|_| finite).map(|b| heap.owned_bytes(b)));
    made(heap, names().f64, binary)
}

/// A vector of `n` integers that come in parts, if there are all of them.
fn integers<P>(heap: &mut Heap, n: usize, parts: impl Iterator<Item = P>) -> Value
where
    P: ExactSizeIterator<Item = Option<i64>>,
{
    let mut all = true;
    let bytes = bytes(heap, n, parts, |n| {
        all &= n.is_some();
        n.unwrap_or(0).to_le_bytes()
    });
    let binary = or_none(bytes.filter(|_| all).map(|b| heap.owned_bytes(b)));
    made(heap, names().i64, binary)
}

/// The bytes of `n` elements that come in parts of at most [`ELEMENTS_AT_ONCE`]; none if the turn is to end. They are made before they
/// are charged, so what there is no memory for is not made.
fn bytes<T, P>(
    heap: &mut Heap,
    n: usize,
    parts: impl Iterator<Item = P>,
    mut encode: impl FnMut(T) -> [u8; ELEMENT],
) -> Option<Vec<u8>>
where
    P: ExactSizeIterator<Item = T>,
{
    heap.beside(n.saturating_mul(ELEMENT), |heap| {
        let mut all = Vec::with_capacity(n);
        for part in parts {
            heap.work.pass(part.len()).ok()?;
            all.extend(part.map(&mut encode));
        }
        Some(all.into_flattened())
    })
}
