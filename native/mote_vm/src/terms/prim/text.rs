//! Text of what is none.
use super::build::{float, number_of};
use super::types::{as_binary, is_atom};
use crate::heap::Heap;
use crate::values::value::Value;

/// From here on not every integer is a float, and floats are written with an exponent.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// `to_string(a)`: of binaries, atoms, integers of up to 64 bits and floats.
pub(crate) fn to_string(heap: &mut Heap, a: Value) -> Value {
    if as_binary(a).is_some() {
        return a;
    }
    if a == Value::NIL {
        return heap.bytes(b"");
    }
    if is_atom(a) {
        return heap.bytes(a.as_atom().map_or("", |atom| atom.name()).as_bytes());
    }
    match (number_of(a), float(a)) {
        (Some(n), _) => heap.bytes(n.to_string().as_bytes()),
        (None, Some(f)) => heap.bytes(written(f).as_bytes()),
        (None, None) => Value::NONE,
    }
}

/// The fewest digits that make this float and no other, with a point; with an exponent where that is shorter, as Erlang
/// writes it.
fn written(f: f64) -> String {
    let scientific = format!("{:e}", f.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    let scientific = format!("{first}.{rest}e{exponent}");
    let sign = if f.is_sign_negative() { "-" } else { "" };
    let decimal = decimal(&digits, exponent);
    match f.abs() < EXACT && decimal.len() <= scientific.len() {
        true => format!("{sign}{decimal}"),
        false => format!("{sign}{scientific}"),
    }
}

/// The digits with the point behind the first one, moved by so much to the right.
fn decimal(digits: &str, by: i32) -> String {
    let zeros = |n: usize| "0".repeat(n);
    let Ok(by) = usize::try_from(by) else {
        return format!("0.{}{digits}", zeros(by.unsigned_abs() as usize - 1));
    };
    match digits.len() > by + 1 {
        true => format!("{}.{}", &digits[..=by], &digits[by + 1..]),
        false => format!("{digits}{}.0", zeros(by + 1 - digits.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Built, Model};
    use super::*;

    #[test]
    fn strings() {
        let mut built = Built::new();
        let rows = [
            (Model::Int(-7), "-7"),
            (Model::Atom("a"), "a"),
            (Model::Atom("nil"), ""),
            (Model::Bytes(b"x".to_vec()), "x"),
            (Model::Float(-0.5), "-0.5"),
        ];
        for (model, expected) in rows {
            let value = built.value(&model);
            let text = to_string(&mut built.heap, value);
            assert_eq!(text.as_bytes(), Some(expected.as_bytes()));
        }
        for odd in [Model::List(vec![], None), Model::Tuple(vec![])] {
            let value = built.value(&odd);
            assert!(to_string(&mut built.heap, value).is_none());
        }
    }

    #[test]
    fn floats() {
        let rows = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (1000.0, "1.0e3"),
            (1200.5, "1200.5"),
            (123_456.0, "123456.0"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00012, "1.2e-4"),
            (-0.001_234_567_89, "-0.00123456789"),
            (9_007_199_254_740_991.0, "9007199254740991.0"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5.0e-324"),
        ];
        for (f, expected) in rows {
            assert_eq!(written(f), expected);
        }
    }
}
