//! Text of atoms and numbers, and floats of text.
use super::arith::as_f64;
use super::integers;
use super::types::{as_binary, is_atom};
use crate::heap::Heap;
use crate::values::value::Value;
use std::io::Write;

/// The first float from which on not every integer is a float, and floats are written with an exponent.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Characters of the longest integer of 64 bits.
const MOST_DIGITS: usize = 20;

/// Digits behind the fewest: when the first of these is a 5 and the others are zeros, so are all that follow.
const NEARLY_ALL: usize = 20;

/// `to_string(a)`: of binaries, atoms, integers and floats.
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
    if let Some(n) = a.as_fixnum() {
        return digits(n, |digits| heap.bytes(digits));
    }
    if integers::is_number(a) {
        return match integers::text(heap, a) {
            Some(digits) => heap.owned_bytes(digits.into_bytes()),
            None => Value::NONE,
        };
    }
    match as_f64(a) {
        Some(f) => heap.bytes(written(f).as_bytes()),
        None => Value::NONE,
    }
}

/// `carried_text(a)`: of a process, a reference or a port, as the embedder shows it.
#[cold]
pub(crate) fn carried_text(heap: &mut Heap, a: Value) -> Value {
    match a.as_foreign().and_then(|foreign| foreign.text()) {
        Some(text) => heap.bytes(text.as_bytes()),
        None => Value::NONE,
    }
}

/// Gives the decimal digits of an integer to `take`.
fn digits<T>(n: i64, take: impl FnOnce(&[u8]) -> T) -> T {
    let mut all = [0; MOST_DIGITS];
    let mut rest = &mut all[..];
    // There is room for those of any.
    let _ = write!(rest, "{n}");
    let written = MOST_DIGITS - rest.len();
    take(&all[..written])
}

/// `to_float(a)`: the float nearest to a decimal number that is written as Erlang writes floats, `-12.5e-3`.
pub(crate) fn to_float(heap: &mut Heap, a: Value) -> Value {
    let Some(text) = as_binary(a) else {
        return Value::NONE;
    };
    // A text has no bound; every byte of it is looked at.
    if heap.work.count(text.len()).is_err() {
        return Value::NONE;
    }
    let parsed = |text| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    match is_decimal(text).then(|| parsed(text)).flatten() {
        Some(f) if f.is_finite() => heap.float(f),
        _ => Value::NONE,
    }
}

/// Returns whether a text has a sign or none, digits, a point, digits, and an exponent or none. Rust reads more than that.
fn is_decimal(text: &[u8]) -> bool {
    let unsigned = |text: &[u8]| usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = &text[unsigned(text)..];
    let (point, fraction) = match digits(whole) {
        0 => return false,
        n => (whole.get(n), whole.get(n + 1..).unwrap_or(&[])),
    };
    let behind = &fraction[digits(fraction)..];
    let exponent = |text: &[u8]| !text.is_empty() && digits(text) == text.len();
    point == Some(&b'.')
        && behind.len() < fraction.len()
        && match behind {
            [] => true,
            [b'e' | b'E', rest @ ..] => exponent(&rest[unsigned(rest)..]),
            _ => false,
        }
}

/// The fewest digits that make this float and no other, with a point; with an exponent where that is shorter, as Erlang
/// writes it.
fn written(f: f64) -> String {
    let (digits, exponent) = fewest_digits(f.abs());
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

/// The fewest digits that make this float, and the exponent of the first one. Of two that are equally near it is the one
/// that is even, as in Erlang and not in Rust.
fn fewest_digits(f: f64) -> (String, i32) {
    let (digits, exponent) = digits_of(&format!("{f:e}"));
    let n = digits.len();
    let (exact, _) = digits_of(&format!("{f:.*e}", n + NEARLY_ALL));
    let (kept, cut) = exact.split_at(n);
    let is_half = cut.starts_with('5') && cut[1..].bytes().all(|digit| digit == b'0');
    let last = digits.as_bytes()[n - 1];
    if !is_half || last.is_multiple_of(2) {
        return (digits, exponent);
    }
    let other = match kept == digits {
        true => last + 1,
        false => last - 1,
    };
    let other = format!("{}{}", &digits[..n - 1], other as char);
    match format!("0.{other}e{}", exponent + 1).parse() == Ok(f) {
        true => (other, exponent),
        false => (digits, exponent),
    }
}

/// The digits of a number that is written with an exponent, and the exponent.
fn digits_of(scientific: &str) -> (String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits = mantissa.chars().filter(|c| *c != '.').collect();
    (digits, exponent.parse().unwrap_or(0))
}

/// The digits with the point behind the first one, moved by that much to the right.
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
    use super::*;
    use crate::testing::terms::{Built, Model};

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
    fn texts_of_floats() {
        let mut built = Built::new();
        let long = format!("{}.5", "0".repeat(1000));
        let rows = [
            ("1.5", Some(1.5)),
            ("+00.50", Some(0.5)),
            ("-12.5e-3", Some(-0.0125)),
            ("1.0E+2", Some(100.0)),
            ("2.2250738585072011e-308", Some(2.225_073_858_507_201e-308)),
            ("1.0e-400", Some(0.0)),
            (&long, Some(0.5)),
            ("1.0e400", None),
            ("1", None),
            ("1.", None),
            (".5", None),
            ("1e5", None),
            ("1.0e", None),
            ("1.0e+", None),
            ("1.0 ", None),
            ("inf", None),
            ("", None),
            ("-", None),
        ];
        for (text, expected) in rows {
            let value = built.value(&Model::Bytes(text.as_bytes().to_vec()));
            assert_eq!(as_f64(to_float(&mut built.heap, value)), expected, "{text}");
        }
        let value = built.value(&Model::Atom("a"));
        assert!(to_float(&mut built.heap, value).is_none());
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
            (1_195_969_155_291_910.0 + 0.25, "1195969155291910.2"),
            (1_195_969_155_291_910.0 + 0.75, "1195969155291910.8"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5.0e-324"),
        ];
        for (f, expected) in rows {
            assert_eq!(written(f), expected);
        }
    }
}
