//! Two vectors into one, element by element, or a vector and a number.
use super::*;

/// An operation on two elements.
#[derive(Clone, Copy)]
enum ElementOperation {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

impl ElementOperation {
    fn of(name: Value) -> Option<ElementOperation> {
        Some(match name.as_atom()?.name() {
            "add" => ElementOperation::Add,
            "sub" => ElementOperation::Sub,
            "mul" => ElementOperation::Mul,
            "div" => ElementOperation::Div,
            "min" => ElementOperation::Min,
            "max" => ElementOperation::Max,
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
            // One loop for each operation, so that each can work on several elements at once.
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
            match operation {
                ElementOperation::Add => integers_with(heap, x, other, i64::checked_add),
                ElementOperation::Sub => integers_with(heap, x, other, i64::checked_sub),
                ElementOperation::Mul => integers_with(heap, x, other, i64::checked_mul),
                ElementOperation::Div => integers_with(heap, x, other, i64::checked_div),
                ElementOperation::Min => integers_with(heap, x, other, |x, y| Some(x.min(y))),
                ElementOperation::Max => integers_with(heap, x, other, |x, y| Some(x.max(y))),
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
    let (n, parts) = (x.len(), x.chunks(ELEMENTS_AT_ONCE));
    match other {
        Other::Many(y) => {
            let both = parts.zip(y.chunks(ELEMENTS_AT_ONCE));
            floats(
                heap,
                n,
                both.map(|(x, y)| x.iter().zip(y).map(|(x, y)| f(of(x), of(y)))),
            )
        }
        Other::One(y) => floats(heap, n, parts.map(|x| x.iter().map(|x| f(of(x), y)))),
    }
}

fn integers_with(
    heap: &mut Heap,
    x: &[[u8; ELEMENT]],
    other: Other<'_, i64>,
    f: impl Fn(i64, i64) -> Option<i64>,
) -> Value {
    let of = |e: &[u8; ELEMENT]| i64::from_le_bytes(*e);
    let (n, parts) = (x.len(), x.chunks(ELEMENTS_AT_ONCE));
    match other {
        Other::Many(y) => {
            let both = parts.zip(y.chunks(ELEMENTS_AT_ONCE));
            integers(
                heap,
                n,
                both.map(|(x, y)| x.iter().zip(y).map(|(x, y)| f(of(x), of(y)))),
            )
        }
        Other::One(y) => integers(heap, n, parts.map(|x| x.iter().map(|x| f(of(x), y)))),
    }
}
