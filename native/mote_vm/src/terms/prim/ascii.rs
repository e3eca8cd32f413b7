//! Texts of ASCII, whose characters are bytes: what functions of String look at first.
use super::build::COPIED;
use super::types::as_binary;
use crate::base::work::{Over, Work};
use crate::heap::Heap;
use crate::values::value::Value;

/// Bytes that are changed in one go.
const CHANGED_AT_ONCE: usize = 1 << 16;

/// `ascii_run(binary, from)`: how many bytes from a place on are printable characters of ASCII. What is looked at is paid for.
pub(crate) fn ascii_run(work: &mut Work, binary: Value, from: Value) -> Value {
    let rest = || as_binary(binary)?.get(usize::try_from(from.as_fixnum()?).ok()?..);
    match rest().map(|rest| run(work, rest, is_printable)) {
        Some(Ok(bytes)) => Value::fixnum(bytes as i64),
        Some(Err(Over)) | None => Value::NONE,
    }
}

/// A change that `ascii_changed` makes to a text.
#[derive(Clone, Copy)]
enum AsciiChange {
    Upcase,
    Downcase,
    Reverse,
}

impl AsciiChange {
    fn of(name: Value) -> Option<AsciiChange> {
        Some(match name.as_atom()?.name() {
            "upcase" => AsciiChange::Upcase,
            "downcase" => AsciiChange::Downcase,
            "reverse" => AsciiChange::Reverse,
            _ => return None,
        })
    }

    /// Adds what becomes of `some` bytes behind the first `done` of a text.
    fn add(self, text: &[u8], done: usize, some: usize, to: &mut Vec<u8>) {
        let (ahead, end) = (&text[done..done + some], text.len() - done);
        match self {
            AsciiChange::Upcase => to.extend(ahead.iter().map(u8::to_ascii_uppercase)),
            AsciiChange::Downcase => to.extend(ahead.iter().map(u8::to_ascii_lowercase)),
            AsciiChange::Reverse => to.extend(text[end - some..end].iter().rev()),
        }
    }
}

/// `ascii_changed(binary, how)`: with `:upcase` or `:downcase`, its letters changed, if it is of ASCII; with `:reverse`, its
/// characters backwards, if all of them are printable ones of ASCII. Otherwise `nil`.
pub(crate) fn ascii_changed(heap: &mut Heap, binary: Value, how: Value) -> Value {
    let arguments = as_binary(binary).zip(AsciiChange::of(how));
    arguments
        .and_then(|(text, how)| changed(heap, text, how))
        .unwrap_or(Value::NONE)
}

fn is_printable(byte: &u8) -> bool {
    (b' '..=b'~').contains(byte)
}

/// The number of bytes before the first one that is not good.
fn run(work: &mut Work, text: &[u8], good: impl Fn(&u8) -> bool) -> Result<usize, Over> {
    for (i, some) in text.chunks(COPIED).enumerate() {
        work.count(1)?;
        // Without a branch for each.
        if !some.iter().fold(true, |all, byte| all & good(byte)) {
            let here = some.iter().take_while(|byte| good(byte)).count();
            return Ok(i * COPIED + here);
        }
    }
    Ok(text.len())
}

/// The changed text, or `nil`; none if the turn is to end.
fn changed(heap: &mut Heap, text: &[u8], how: AsciiChange) -> Option<Value> {
    let good = match how {
        AsciiChange::Reverse => run(&mut heap.work, text, is_printable),
        _ => run(&mut heap.work, text, u8::is_ascii),
    };
    if good.ok()? < text.len() {
        return Some(Value::NIL);
    }
    let all = heap.beside(text.len(), |heap| {
        let mut all = Vec::with_capacity(text.len());
        while all.len() < text.len() {
            let some = CHANGED_AT_ONCE.min(text.len() - all.len());
            heap.work.pass(some / COPIED).ok()?;
            how.add(text, all.len(), some, &mut all);
        }
        Some(all)
    });
    all.map(|all| heap.owned_bytes(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::atom::Atom;
    use crate::testing::terms::heap;

    fn changed(text: &[u8], how: &'static str) -> Option<Vec<u8>> {
        let mut heap = heap();
        let text = heap.bytes(text);
        let answer = ascii_changed(&mut heap, text, Value::atom(Atom::new(how)));
        assert!(!answer.is_none());
        answer.as_binary().map(<[u8]>::to_vec)
    }

    #[test]
    fn a_run_ends_before_what_is_not_printable() {
        let mut heap = heap();
        for n in [0, 1, 31, 32, 33, 300] {
            for end in [&b""[..], b"\n", b"\x7F", "ä".as_bytes(), b"\0"] {
                let text = heap.bytes(&[&vec![b'~'; n][..], end, b"  "].concat());
                let expected = if end.is_empty() { n + 2 } else { n };
                let found = ascii_run(&mut heap.work, text, Value::fixnum(0));
                assert_eq!(found, Value::fixnum(expected as i64));
            }
        }
        let text = heap.bytes(b"\nabc");
        assert_eq!(
            ascii_run(&mut heap.work, text, Value::fixnum(1)),
            Value::fixnum(3)
        );
        assert_eq!(
            ascii_run(&mut heap.work, text, Value::fixnum(4)),
            Value::fixnum(0)
        );
        for (text, from) in [
            (text, Value::fixnum(5)),
            (text, Value::fixnum(-1)),
            (Value::NIL, Value::fixnum(0)),
        ] {
            assert!(ascii_run(&mut heap.work, text, from).is_none());
        }
    }

    #[test]
    fn texts_of_ascii_are_changed_and_others_are_not() {
        let long: Vec<u8> = (0..2 * CHANGED_AT_ONCE + 7)
            .map(|i| b' ' + (i % 95) as u8)
            .collect();
        for text in [&b""[..], b"aZ{@[`", &long] {
            assert_eq!(changed(text, "upcase"), Some(text.to_ascii_uppercase()));
            assert_eq!(changed(text, "downcase"), Some(text.to_ascii_lowercase()));
            assert_eq!(
                changed(text, "reverse"),
                Some(text.iter().rev().copied().collect())
            );
        }
        assert_eq!(changed(b"a\r\nb", "upcase"), Some(b"A\r\nB".to_vec()));
        assert_eq!(changed(b"a\r\nb", "reverse"), None);
        assert_eq!(changed("aä".as_bytes(), "downcase"), None);
        let mut heap = heap();
        let (text, how) = (heap.bytes(b"a"), Value::atom(Atom::new("title")));
        assert!(ascii_changed(&mut heap, text, how).is_none());
        assert!(ascii_changed(&mut heap, how, how).is_none());
    }

    #[test]
    fn what_is_looked_at_is_paid_for() {
        let mut heap = heap();
        heap.work.allow(u64::MAX);
        let text = heap.bytes(&[b'a'; 32_000]);
        ascii_run(&mut heap.work, text, Value::fixnum(0));
        assert_eq!(heap.work.counted(), 1_000);
        ascii_changed(&mut heap, text, Value::atom(Atom::new("reverse")));
        assert_eq!(heap.work.counted(), 2_000);
    }
}
