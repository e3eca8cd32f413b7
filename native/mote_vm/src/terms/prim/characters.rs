//! Texts as characters in UTF-8: what functions of String look at first.
//!
//! Invariants:
//! 1. A plain code point is a character by itself, whatever plain ones are beside it, in every release of Unicode. A test compares
//!    the table with the classes that the release of Erlang has (test/mote/behaviour/texts_test.exs).
//! 2. Letters are changed here only where every release of Elixir changes them as Rust does. The same test compares them.
use super::lists::ListBuilder;
use super::types::as_binary;
use crate::base::work::COPIED;
use crate::base::work::{Over, Work};
use crate::heap::Heap;
use crate::values::value::Value;

/// Bytes that are changed in one go.
const CHANGED_AT_ONCE: usize = 1 << 16;
/// The most bytes that a letter grows to when it is changed, for each one that it had.
const GROWTH: usize = 3;

/// The character that some bytes begin with.
#[inline(always)]
pub(super) fn first_character(bytes: &[u8]) -> Option<char> {
    let following = |i: usize| {
        let byte = bytes.get(i).filter(|byte| follows(byte))?;
        Some(u32::from(byte & 0x3F))
    };
    let first = u32::from(*bytes.first()?);
    let (c, least) = match first {
        0..0x80 => (first, 0),
        0xC0..0xE0 => ((first & 0x1F) << 6 | following(1)?, 0x80),
        0xE0..0xF0 => (
            (first & 0xF) << 12 | following(1)? << 6 | following(2)?,
            0x800,
        ),
        0xF0..0xF8 => (
            (first & 7) << 18 | following(1)? << 12 | following(2)? << 6 | following(3)?,
            0x1_0000,
        ),
        _ => return None,
    };
    char::from_u32(c).filter(|_| c >= least)
}

/// Returns whether a byte is not the first one of its character.
fn follows(byte: &u8) -> bool {
    byte & 0xC0 == 0x80
}

fn is_printable(byte: &u8) -> bool {
    (b' '..=b'~').contains(byte)
}

/// Invariant 1.
fn is_plain(c: char) -> bool {
    matches!(u32::from(c),
        0x20..=0x7E | 0xAF..=0x2FF | 0x370..=0x482 | 0x5D0..=0x5EA | 0x1E00..=0x1FFF | 0x2010..=0x2027
        | 0x20A0..=0x20BF | 0x3001..=0x3029 | 0x3041..=0x3096 | 0x309D..=0x30FF | 0x4E00..=0x9FFF | 0xFF01..=0xFF9D)
}

/// Invariant 2.
fn is_of_known_case(c: char) -> bool {
    matches!(u32::from(c),
        0..=0x17F | 0x300..=0x52F | 0x5D0..=0x5EA | 0x2000..=0x20BF | 0x3000..=0x9FFF | 0xFE00..=0xFE0F | 0x1F300..=0x1FAFF)
}

/// `text_run(binary, kind, most)`: `{bytes, characters}` of the plain characters that a binary begins with, or with `:utf8` of any;
/// no more than `most` characters. What is looked at is paid for.
pub(crate) fn text_run(heap: &mut Heap, binary: Value, kind: Value, most: Value) -> Value {
    let arguments = || {
        let most = usize::try_from(most.as_fixnum()?).ok()?;
        Some((as_binary(binary)?, kind.as_atom()?.name(), most))
    };
    let Some((text, kind, most)) = arguments() else {
        return Value::NONE;
    };
    let found = match kind {
        "plain" => run(&mut heap.work, text, most, is_printable, is_plain),
        "utf8" => run(&mut heap.work, text, most, u8::is_ascii, |_| true),
        _ => return Value::NONE,
    };
    match found {
        Ok((bytes, characters)) => {
            let both = [bytes, characters].map(|n| Value::fixnum(n as i64));
            heap.tuple(2, |i| both[i])
        }
        Err(Over) => Value::NONE,
    }
}

/// The number of bytes and of characters before the first character that is not good. `good_byte` says the same of ASCII.
fn run(
    work: &mut Work,
    text: &[u8],
    most: usize,
    good_byte: impl Fn(&u8) -> bool,
    good: impl Fn(char) -> bool,
) -> Result<(usize, usize), Over> {
    let (mut at, mut characters) = (0, 0);
    while at < text.len() && characters < most {
        let end = text.len().min(at + COPIED);
        let some = &text[at..end];
        work.count(some.len() / COPIED)?;
        // Without a branch for each.
        if some.len() <= most - characters
            && some.iter().fold(true, |all, byte| all & good_byte(byte))
        {
            (at, characters) = (end, characters + some.len());
            continue;
        }
        while at < end && characters < most {
            match first_character(&text[at..]).filter(|c| good(*c)) {
                Some(c) => (at, characters) = (at + c.len_utf8(), characters + 1),
                None => return Ok((at, characters)),
            }
        }
    }
    Ok((at, characters))
}

/// Returns whether bytes are a text in UTF-8; pays for looking.
pub(super) fn is_text(work: &mut Work, bytes: &[u8]) -> Result<bool, Over> {
    let (valid, _) = run(work, bytes, usize::MAX, u8::is_ascii, |_| true)?;
    Ok(valid == bytes.len())
}

/// `binary_list(binary, kind)`: the list of its bytes, or with `:utf8` of the characters of a text.
pub(crate) fn binary_list(heap: &mut Heap, binary: Value, kind: Value) -> Value {
    let mut listed = || match (as_binary(binary)?, kind.as_atom()?.name()) {
        (bytes, "bytes") => list(heap, bytes, |rest| Some((u32::from(*rest.first()?), 1))),
        (text, "utf8") => list(heap, text, |rest| {
            first_character(rest).map(|c| (u32::from(c), c.len_utf8()))
        }),
        _ => None,
    };
    listed().unwrap_or(Value::NONE)
}

/// The list of what some bytes consist of; `next` says what they begin with, and its size. None if that is nothing.
#[inline(always)]
fn list(
    heap: &mut Heap,
    mut rest: &[u8],
    next: impl Fn(&[u8]) -> Option<(u32, usize)>,
) -> Option<Value> {
    let mut list = ListBuilder::new();
    while !rest.is_empty() {
        let (n, size) = next(rest)?;
        rest = &rest[size..];
        heap.work.count(1).ok()?;
        list.push(heap, Value::fixnum(n.into()))?;
    }
    Some(list.finish(Value::EMPTY_LIST))
}

/// A change that `text_changed` makes to a text.
#[derive(Clone, Copy)]
enum TextChange {
    Upcase,
    Downcase,
    Reverse,
}

impl TextChange {
    fn of(name: Value) -> Option<TextChange> {
        Some(match name.as_atom()?.name() {
            "upcase" => TextChange::Upcase,
            "downcase" => TextChange::Downcase,
            "reverse" => TextChange::Reverse,
            _ => return None,
        })
    }

    /// Adds what becomes of a part of a text.
    fn add(self, part: &str, to: &mut Vec<u8>) {
        let (ascii, from) = (part.is_ascii(), to.len());
        let add = |c: char| to.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        match self {
            TextChange::Upcase if ascii => to.extend(part.bytes().map(|c| c.to_ascii_uppercase())),
            TextChange::Downcase if ascii => {
                to.extend(part.bytes().map(|c| c.to_ascii_lowercase()))
            }
            TextChange::Upcase => part.chars().flat_map(char::to_uppercase).for_each(add),
            TextChange::Downcase => part.chars().flat_map(char::to_lowercase).for_each(add),
            TextChange::Reverse => {
                to.extend(part.bytes().rev());
                if !ascii {
                    to[from..]
                        .split_inclusive_mut(|byte| !follows(byte))
                        .for_each(<[u8]>::reverse);
                }
            }
        }
    }
}

/// `text_changed(binary, how)`: with `:upcase` or `:downcase`, its letters changed, if it has no others than those of invariant 2;
/// with `:reverse`, its characters backwards, if all of them are plain. Otherwise `nil`.
pub(crate) fn text_changed(heap: &mut Heap, binary: Value, how: Value) -> Value {
    let arguments = as_binary(binary).zip(TextChange::of(how));
    arguments
        .and_then(|(text, how)| changed(heap, text, how))
        .unwrap_or(Value::NONE)
}

/// The changed text, or `nil`; none if the turn is to end.
fn changed(heap: &mut Heap, text: &[u8], how: TextChange) -> Option<Value> {
    let backwards = matches!(how, TextChange::Reverse);
    let good = match backwards {
        true => run(&mut heap.work, text, usize::MAX, is_printable, is_plain),
        false => run(
            &mut heap.work,
            text,
            usize::MAX,
            u8::is_ascii,
            is_of_known_case,
        ),
    };
    let (bytes, characters) = good.ok()?;
    if bytes < text.len() {
        return Some(Value::NIL);
    }
    let grown = if backwards || characters == bytes {
        1
    } else {
        GROWTH
    };
    let all = heap.beside(grown * bytes, |heap| {
        let mut all = Vec::with_capacity(bytes);
        let mut rest = text;
        while !rest.is_empty() {
            let some = CHANGED_AT_ONCE.min(rest.len());
            heap.work.pass(some / COPIED).ok()?;
            // No character is cut.
            let starts = |at: usize| rest.get(at).is_none_or(|byte| !follows(byte));
            let part;
            (part, rest) = match backwards {
                true => {
                    let from = (rest.len() - some..rest.len()).find(|at| starts(*at))?;
                    (&rest[from..], &rest[..from])
                }
                false => rest.split_at((1..=some).rfind(|at| starts(*at))?),
            };
            how.add(std::str::from_utf8(part).ok()?, &mut all);
        }
        Some(all)
    });
    all.map(|all| heap.owned_bytes(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::atom::Atom;
    use crate::terms::prim::lists::Elements;
    use crate::testing::terms::{bitstring, heap};
    use proptest::prelude::*;

    fn atom(name: &'static str) -> Value {
        Value::atom(Atom::new(name))
    }

    fn changed(text: &[u8], how: &'static str) -> Option<Vec<u8>> {
        let mut heap = heap();
        let text = heap.bytes(text);
        let answer = text_changed(&mut heap, text, atom(how));
        assert!(!answer.is_none());
        answer.as_binary().map(<[u8]>::to_vec)
    }

    fn run_of(text: &[u8], kind: &'static str, most: i64) -> (i64, i64) {
        let mut heap = heap();
        let text = heap.bytes(text);
        let found = text_run(&mut heap, text, atom(kind), Value::fixnum(most));
        let &[bytes, characters] = found.as_tuple().unwrap() else {
            panic!("it is a pair");
        };
        (bytes.fixnum_value(), characters.fixnum_value())
    }

    #[test]
    fn a_run_ends_before_what_is_not_plain() {
        for n in [0, 1, 31, 32, 33, 300] {
            for (plain, size) in [("~", 1), ("ß", 2), ("語", 3)] {
                let some = plain.repeat(n);
                let n = n as i64;
                for end in ["", "\n", "\x7F", "\u{301}", "👩", "\0"] {
                    let text = [&some, end, "  "].concat();
                    let more = if end.is_empty() { 2 } else { 0 };
                    let whole = (size * n + more, n + more);
                    assert_eq!(run_of(text.as_bytes(), "plain", 1_000), whole);
                    let first = n.min(20);
                    let cut = (size * first, first);
                    assert_eq!(run_of(text.as_bytes(), "plain", first), cut);
                    let all = (text.len() as i64, text.chars().count() as i64);
                    assert_eq!(run_of(text.as_bytes(), "utf8", 1_000), all);
                }
            }
        }
        let mut heap = heap();
        let (text, one) = (heap.bytes(b"a"), Value::fixnum(1));
        for [text, kind, most] in [
            [text, atom("plain"), Value::fixnum(-1)],
            [text, atom("other"), one],
            [one, atom("plain"), one],
        ] {
            assert!(text_run(&mut heap, text, kind, most).is_none());
        }
    }

    #[test]
    fn texts_of_some_letters_are_changed_and_others_are_not() {
        let long: String = (0..2 * CHANGED_AT_ONCE)
            .map(|i| char::from_u32(0x20 + i as u32 % 95).unwrap())
            .collect();
        let wide = "aß語".repeat(CHANGED_AT_ONCE / 4);
        for text in ["", "aZ{@[`", &long, &wide, "Größe, ΐŉ Я"] {
            let [up, down] = [text.to_uppercase(), text.to_lowercase()].map(String::into_bytes);
            let back: String = text.chars().rev().collect();
            assert_eq!(changed(text.as_bytes(), "upcase"), Some(up));
            assert_eq!(changed(text.as_bytes(), "downcase"), Some(down));
            assert_eq!(changed(text.as_bytes(), "reverse"), Some(back.into_bytes()));
        }
        assert_eq!(changed(b"a\r\nb", "upcase"), Some(b"A\r\nB".to_vec()));
        assert_eq!(changed(b"a\r\nb", "reverse"), None);
        assert_eq!(changed("a\u{301}".as_bytes(), "reverse"), None);
        assert_eq!(changed("a\u{264}".as_bytes(), "upcase"), None);
        assert_eq!(changed(b"a\xFF", "downcase"), None);
        let mut heap = heap();
        let text = heap.bytes(b"a");
        assert!(text_changed(&mut heap, text, atom("title")).is_none());
        for odd in [atom("upcase"), bitstring(&mut heap, &[true; 13], 3)] {
            assert!(text_changed(&mut heap, odd, atom("upcase")).is_none());
            assert!(text_run(&mut heap, odd, atom("utf8"), Value::fixnum(1)).is_none());
            assert!(binary_list(&mut heap, odd, atom("bytes")).is_none());
        }
    }

    #[test]
    fn what_is_looked_at_is_paid_for() {
        let mut heap = heap();
        heap.work.allow(u64::MAX);
        let text = heap.bytes(&[b'a'; 32_000]);
        text_run(&mut heap, text, atom("plain"), Value::fixnum(1 << 20));
        assert_eq!(heap.work.counted(), 1_000);
        text_changed(&mut heap, text, atom("reverse"));
        assert_eq!(heap.work.counted(), 2_000);
        binary_list(&mut heap, text, atom("bytes"));
        assert_eq!(heap.work.counted(), 34_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        /// Bytes that are nearly a text.
        #[test]
        fn characters_are_those_of_rust(text in ".{0,8}", odd in any::<[u8; 2]>(), at in 0usize..40, cut in any::<bool>()) {
            let mut bytes = text.into_bytes();
            let at = at.min(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes.splice(at..at, odd);
            }
            let valid = match std::str::from_utf8(&bytes) {
                Ok(text) => text,
                Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap(),
            };
            let expected = (valid.len() as i64, valid.chars().count() as i64);
            prop_assert_eq!(run_of(&bytes, "utf8", 1_000), expected);
            let mut heap = heap();
            let binary = heap.bytes(&bytes);
            let list = binary_list(&mut heap, binary, atom("bytes"));
            let found = Elements::of(list).map(|byte| byte.fixnum_value());
            prop_assert!(found.eq(bytes.iter().map(|byte| i64::from(*byte))));
            let list = binary_list(&mut heap, binary, atom("utf8"));
            prop_assert_eq!(list.is_none(), valid.len() < bytes.len());
            if !list.is_none() {
                let found = Elements::of(list).map(|c| c.fixnum_value());
                prop_assert!(found.eq(valid.chars().map(|c| i64::from(u32::from(c)))));
            }
        }
    }
}
