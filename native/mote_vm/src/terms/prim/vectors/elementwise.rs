//! Two vectors into one, element by element, or a vector and a number.
use super::kernels::{odd, Other, Packed, Pairwise, Products, Stored, Unstored};
use super::*;
use crate::base::work::Work;

/// Results of up to this many bytes are in the heap: making and dropping a value beside it takes longer than computing them.
const IN_THE_HEAP: usize = 1024;

/// An operation on two elements.
#[derive(Clone, Copy)]
pub(super) enum ElementOperation {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

impl ElementOperation {
    /// All of them, by their names.
    pub(super) const ALL: [(&str, ElementOperation); 6] = [
        ("add", ElementOperation::Add),
        ("sub", ElementOperation::Sub),
        ("mul", ElementOperation::Mul),
        ("div", ElementOperation::Div),
        ("min", ElementOperation::Min),
        ("max", ElementOperation::Max),
    ];

    fn of(name: Value) -> Option<ElementOperation> {
        let at = names().operations.iter().position(|known| *known == name)?;
        Some(ElementOperation::ALL[at].1)
    }
}

/// `Mote.Vector.add(a, b)` and its likes: element by element, or each with a number.
pub(crate) fn vec_map2(heap: &mut Heap, name: Value, a: Value, b: Value) -> Value {
    mapped(heap, name, a, b, None)
}

/// The same, in the place of `a`, which is not read again (code/temporaries.rs). Without an answer it is as it was.
pub(crate) fn vec_map2_left(heap: &mut Heap, name: Value, a: Value, b: Value) -> Value {
    mapped(heap, name, a, b, Some(a))
}

/// The same, in the place of `b`.
pub(crate) fn vec_map2_right(heap: &mut Heap, name: Value, a: Value, b: Value) -> Value {
    mapped(heap, name, a, b, Some(b))
}

fn mapped(heap: &mut Heap, name: Value, a: Value, b: Value, place: Option<Value>) -> Value {
    let of = ElementOperation::of(name).and_then(|operation| Some((operation, walked(heap, a)?)));
    let Some((operation, vector)) = of else {
        return Value::NONE;
    };
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
            match operation {
                ElementOperation::Add => floats_with(heap, place, x, other, |x, y| x + y),
                ElementOperation::Sub => floats_with(heap, place, x, other, |x, y| x - y),
                ElementOperation::Mul => floats_with(heap, place, x, other, |x, y| x * y),
                ElementOperation::Div => floats_with(heap, place, x, other, |x, y| x / y),
                ElementOperation::Min => {
                    floats_with(heap, place, x, other, |x, y| if y < x { y } else { x })
                }
                ElementOperation::Max => {
                    floats_with(heap, place, x, other, |x, y| if x < y { y } else { x })
                }
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
            let kind = names().i64;
            match operation {
                // It has overflowed if its sign is that of neither operand.
                ElementOperation::Add => answers(heap, (kind, place), x, other, |x: i64, y| {
                    let sum = x.wrapping_add(y);
                    (sum, ((x ^ sum) & (y ^ sum)) as u64 >> 63)
                }),
                ElementOperation::Sub => answers(heap, (kind, place), x, other, |x: i64, y| {
                    let difference = x.wrapping_sub(y);
                    (difference, ((x ^ y) & (x ^ difference)) as u64 >> 63)
                }),
                ElementOperation::Mul => answers(heap, (kind, place), x, other, Products),
                ElementOperation::Div => answers(heap, (kind, place), x, other, |x: i64, y| {
                    let quotient = x.checked_div(y);
                    (quotient.unwrap_or(0), quotient.is_none().into())
                }),
                ElementOperation::Min => {
                    answers(heap, (kind, place), x, other, |x: i64, y| (x.min(y), 0))
                }
                ElementOperation::Max => {
                    answers(heap, (kind, place), x, other, |x: i64, y| (x.max(y), 0))
                }
            }
        }
    }
}

fn floats_with(
    heap: &mut Heap,
    place: Option<Value>,
    x: &[Stored],
    other: Other<'_, f64>,
    f: impl Fn(f64, f64) -> f64,
) -> Value {
    answers(heap, (names().f64, place), x, other, |x, y| {
        let answer = f(x, y);
        (answer, odd(answer))
    })
}

/// The vector of the answers of `f`, if all are good. One loop for each operation works on several elements at once. In the heap it
/// is a new one: copying it to the place of another takes longer.
fn answers<T: Packed>(
    heap: &mut Heap,
    (kind, place): (Value, Option<Value>),
    x: &[Stored],
    other: Other<'_, T>,
    f: impl Pairwise<T>,
) -> Value {
    let n = size_of_val(x);
    if n <= IN_THE_HEAP {
        let binary = heap.computed_bytes(n, |bytes| {
            let (to, _) = bytes.as_chunks_mut();
            kernels::each(x, other, to, &f)
        });
        return made(heap, kind, binary);
    }
    let all = beside(heap, n, &mut |work, to| {
        let parts = x
            .chunks(ELEMENTS_AT_ONCE)
            .zip(to.chunks_mut(ELEMENTS_AT_ONCE));
        parts.enumerate().all(|(i, (x, to))| {
            let from = i * ELEMENTS_AT_ONCE;
            let other = other.part(from..from + x.len());
            work.pass(x.len()).is_ok() && kernels::each(x, other, to, &f)
        })
    });
    let Some(all) = all else {
        return Value::NONE;
    };
    if let Some((place, binary)) = place.zip(place.and_then(Vector::binary)) {
        // SAFETY: code/temporaries.rs says that nobody reads it again. As many bytes as these are never in the heap.
        unsafe { heap.exchange_bytes(binary, all) };
        return place;
    }
    let binary = heap.owned_bytes(all);
    made(heap, kind, binary)
}

/// The bytes of a vector beside the heap, if `fill` says that it has computed all of them.
fn beside(
    heap: &mut Heap,
    n: usize,
    fill: &mut dyn FnMut(&mut Work, &mut [Unstored]) -> bool,
) -> Option<Vec<u8>> {
    heap.beside(n, |heap| {
        let mut all = heap.buffer(n);
        if !fill(
            &mut heap.work,
            all.spare_capacity_mut()[..n].as_chunks_mut().0,
        ) {
            heap.keep_spare(all);
            return None;
        }
        // SAFETY: it has room for as many, and all were written.
        unsafe { all.set_len(n) };
        Some(all)
    })
}
