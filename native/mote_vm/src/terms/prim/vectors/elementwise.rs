//! Two vectors into one, element by element, or a vector and a number.
use super::kernels::{odd, Other, Packed, Pairwise, Stored};
use super::*;

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
                ElementOperation::Add => floats_with(heap, x, other, |x, y| x + y),
                ElementOperation::Sub => floats_with(heap, x, other, |x, y| x - y),
                ElementOperation::Mul => floats_with(heap, x, other, |x, y| x * y),
                ElementOperation::Div => floats_with(heap, x, other, |x, y| x / y),
                ElementOperation::Min => {
                    floats_with(heap, x, other, |x, y| if y < x { y } else { x })
                }
                ElementOperation::Max => {
                    floats_with(heap, x, other, |x, y| if x < y { y } else { x })
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
                ElementOperation::Add => answers(heap, kind, x, other, |x: i64, y| {
                    let sum = x.wrapping_add(y);
                    (sum, ((x ^ sum) & (y ^ sum)) as u64 >> 63)
                }),
                ElementOperation::Sub => answers(heap, kind, x, other, |x: i64, y| {
                    let difference = x.wrapping_sub(y);
                    (difference, ((x ^ y) & (x ^ difference)) as u64 >> 63)
                }),
                ElementOperation::Mul => answers(heap, kind, x, other, |x: i64, y| {
                    let (product, overflows) = x.overflowing_mul(y);
                    (product, overflows.into())
                }),
                ElementOperation::Div => answers(heap, kind, x, other, |x: i64, y| {
                    let quotient = x.checked_div(y);
                    (quotient.unwrap_or(0), quotient.is_none().into())
                }),
                ElementOperation::Min => answers(heap, kind, x, other, |x: i64, y| (x.min(y), 0)),
                ElementOperation::Max => answers(heap, kind, x, other, |x: i64, y| (x.max(y), 0)),
            }
        }
    }
}

fn floats_with(
    heap: &mut Heap,
    x: &[Stored],
    other: Other<'_, f64>,
    f: impl Fn(f64, f64) -> f64,
) -> Value {
    answers(heap, names().f64, x, other, |x, y| {
        let answer = f(x, y);
        (answer, odd(answer))
    })
}

/// The vector of the answers of `f`, if all are good. One loop for each operation works on several elements at once.
fn answers<T: Packed>(
    heap: &mut Heap,
    kind: Value,
    x: &[Stored],
    other: Other<'_, T>,
    f: impl Pairwise<T>,
) -> Value {
    if size_of_val(x) <= IN_THE_HEAP {
        let binary = heap.computed_bytes(size_of_val(x), |bytes| {
            let (to, _) = bytes.as_chunks_mut();
            kernels::each(x, other, to, &f)
        });
        return made(heap, kind, binary);
    }
    let bytes = heap.beside(size_of_val(x), |heap| {
        let mut all = heap.buffer(size_of_val(x));
        let (to, _) = all.spare_capacity_mut()[..size_of_val(x)].as_chunks_mut();
        let parts = x
            .chunks(ELEMENTS_AT_ONCE)
            .zip(to.chunks_mut(ELEMENTS_AT_ONCE));
        for (i, (x, to)) in parts.enumerate() {
            heap.work.pass(x.len()).ok()?;
            let from = i * ELEMENTS_AT_ONCE;
            if !kernels::each(x, other.part(from..from + x.len()), to, &f) {
                return None;
            }
        }
        // SAFETY: it has room for as many, and all parts were written.
        unsafe { all.set_len(size_of_val(x)) };
        Some(all)
    });
    let binary = or_none(bytes.map(|bytes| heap.owned_bytes(bytes)));
    made(heap, kind, binary)
}
