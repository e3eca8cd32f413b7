//! Regular expressions: what `Regex` and `:re` find, by the rules of Perl.
//!
//! Invariants:
//! 1. A place is found by going back: the first alternative that leads to a match counts, as in PCRE. Every step is counted, so a
//!    pattern that goes back for ever ends with the turn's fuel.
//! 2. What is not certain to mean the same has no answer: constructs that the parser does not know, and characters beyond those of
//!    `characters.rs`, whose properties are the same in all tables of Unicode.
//! 3. A program is made once for a thread, and then found by the text of its pattern.
mod characters;
mod nodes;
mod parse;
mod program;
mod run;

use super::types::as_binary;
use crate::base::work::Over;
use crate::heap::Heap;
use crate::values::value::Value;
use program::RegexProgram;
use run::Matcher;
use std::cell::RefCell;
use std::rc::Rc;

/// Programs that a thread keeps.
const KEPT: usize = 32;

/// Why nothing is found, and nothing is missing either.
pub(super) enum Unsure {
    /// Invariant 2.
    Unknown,
    Paid,
}

impl From<Over> for Unsure {
    fn from(_: Over) -> Unsure {
        Unsure::Paid
    }
}

/// Source and options of a pattern, and its program, if it is known.
type KeptProgram = (Vec<u8>, Vec<u8>, Option<Rc<RegexProgram>>);

thread_local! {
    /// The last used first.
    static PROGRAMS: RefCell<Vec<KeptProgram>> = const { RefCell::new(Vec::new()) };
}

/// The program of `{source, options}`, the options as letters.
fn program(pattern: Value) -> Option<Rc<RegexProgram>> {
    let &[source, options] = pattern.as_tuple()? else {
        return None;
    };
    let (source, options) = (as_binary(source)?, as_binary(options)?);
    PROGRAMS.with_borrow_mut(|kept| {
        let found = kept
            .iter()
            .position(|(s, o, _)| s == source && o == options);
        let entry = match found {
            Some(at) => kept.remove(at),
            None => {
                let made =
                    parse::parse(source, options).and_then(|parsed| program::program(&parsed));
                (source.to_vec(), options.to_vec(), made.map(Rc::new))
            }
        };
        let made = entry.2.clone();
        kept.insert(0, entry);
        kept.truncate(KEPT);
        made
    })
}

/// `regex_run({source, options}, text, at)`: where the pattern and its groups match first, at or behind a place: a list of
/// `{start, length}`, with `{-1, 0}` for groups that take no part, and those with names once more at the end, by their names; or `nil`. If `at` is negative, it must match at `-1 - at`, and not
/// be empty.
pub(crate) fn regex_run(heap: &mut Heap, pattern: Value, text: Value, at: Value) -> Value {
    let arguments = || Some((as_binary(text)?, at.as_fixnum()?));
    let Some((bytes, at)) = arguments() else {
        return Value::NONE;
    };
    let (at, here) = if at < 0 { (-1 - at, true) } else { (at, false) };
    let at = at as usize;
    // Making the program, and looking at all of a text.
    let length = pattern
        .as_tuple()
        .and_then(|t| as_binary(*t.first()?))
        .map_or(0, <[u8]>::len);
    if at > bytes.len() || heap.work.count(length + bytes.len() / 256).is_err() {
        return Value::NONE;
    }
    let Some(program) = program(pattern) else {
        return Value::NONE;
    };
    // With the option `s` a line may end with a carriage return, which this knows nothing of.
    if program.returns && memchr::memchr(b'\r', bytes).is_some() {
        return Value::NONE;
    }
    if program.unicode && !std::str::from_utf8(bytes).is_ok_and(|text| text.is_char_boundary(at)) {
        return Value::NONE;
    }
    let found = match Matcher::new(&program, bytes, &mut heap.work).search(at, here) {
        Ok(Some(places)) => places,
        Ok(None) => return Value::NIL,
        Err(_) => return Value::NONE,
    };
    let mut list = Value::EMPTY_LIST;
    let named = program.names.iter().map(|(_, group)| *group);
    for group in (0..program.groups).chain(named).rev() {
        let (start, length) = match (found[2 * group], found[2 * group + 1]) {
            (usize::MAX, _) | (_, usize::MAX) => (-1, 0),
            (start, end) => (start as i64, end as i64 - start as i64),
        };
        let pair = [Value::fixnum(start), Value::fixnum(length)];
        list = paired(heap, pair, list);
    }
    list
}

/// `regex_names({source, options})`: the names of groups, in their order.
pub(crate) fn regex_names(heap: &mut Heap, pattern: Value) -> Value {
    let Some(program) = program(pattern) else {
        return Value::NONE;
    };
    let mut list = Value::EMPTY_LIST;
    for (name, _) in program.names.iter().rev() {
        let name = heap.bytes(name);
        if name.is_none() || list.is_none() {
            return Value::NONE;
        }
        list = heap.cons(name, list);
    }
    list
}

/// A pair before a list; nothing where the memory is exhausted.
fn paired(heap: &mut Heap, pair: [Value; 2], list: Value) -> Value {
    if pair[0].is_none() || list.is_none() {
        return Value::NONE;
    }
    match heap.tuple(2, |i| pair[i]) {
        Value::NONE => Value::NONE,
        pair => heap.cons(pair, list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::prim::lists::Elements;
    use crate::testing::terms::heap;

    /// The places of a match, or what there is instead.
    fn places(
        source: &[u8],
        options: &[u8],
        text: &[u8],
        at: i64,
    ) -> Result<Vec<(i64, i64)>, Value> {
        let mut heap = heap();
        let pattern = [heap.bytes(source), heap.bytes(options)];
        let pattern = heap.tuple(2, |i| pattern[i]);
        let text = heap.bytes(text);
        let found = regex_run(&mut heap, pattern, text, Value::fixnum(at));
        if found.is_none() || found == Value::NIL {
            return Err(found);
        }
        let number = |value: Value| value.as_fixnum().unwrap();
        let pairs = Elements::of(found).map(|pair| pair.as_tuple().unwrap());
        Ok(pairs
            .map(|pair| (number(pair[0]), number(pair[1])))
            .collect())
    }

    #[test]
    fn the_first_way_that_leads_to_a_match_counts() {
        assert_eq!(places(b"a|ab", b"", b"xab", 0), Ok(vec![(1, 1)]));
        assert_eq!(
            places(b"(a|ab)(c|bcd)(d*)", b"", b"abcd", 0),
            Ok(vec![(0, 4), (0, 1), (1, 3), (4, 0)])
        );
        assert_eq!(
            places(b"(?<n>b)?a", b"", b"a", 0),
            Ok(vec![(0, 1), (-1, 0), (-1, 0)])
        );
        assert_eq!(places(b"a+?", b"", b"aaa", 1), Ok(vec![(1, 1)]));
        assert_eq!(places(b"a++a", b"", b"aaa", 0), Err(Value::NIL));
        assert_eq!(places(b"(?<=ab|c)d", b"", b"abd", 0), Ok(vec![(2, 1)]));
        assert_eq!(places(b"^b$", b"m", b"a\nb\nc", 0), Ok(vec![(2, 1)]));
        assert_eq!(places(b"a$", b"", b"a\n", 0), Ok(vec![(0, 1)]));
        assert_eq!(
            places(".".as_bytes(), b"u", "é".as_bytes(), 0),
            Ok(vec![(0, 2)])
        );
        // At one place, and not empty.
        assert_eq!(places(b"a*?", b"", b"ab", -1), Ok(vec![(0, 1)]));
        assert_eq!(places(b"b", b"", b"ab", -1), Err(Value::NIL));
    }

    #[test]
    fn what_is_not_certain_has_no_answer() {
        let unknown = [
            (&b"\\p{L}"[..], &b"u"[..], "a"),
            (b"a**", b"", "a"),
            (b"(", b"", "a"),
            (b"a", b"e", "a"),
            (b"\\w", b"u", "\u{300}"),
        ];
        for (source, options, text) in unknown {
            assert_eq!(
                places(source, options, text.as_bytes(), 0),
                Err(Value::NONE),
                "{source:?}"
            );
        }
        assert_eq!(places(b"a", b"u", b"\xFFa", 0), Err(Value::NONE));
        assert_eq!(places(b"a", b"", b"a", 2), Err(Value::NONE));
    }

    #[test]
    fn a_thread_keeps_the_programs_that_were_used_last() {
        for n in 0..3 * KEPT {
            let source = format!("a{{{n}}}b");
            let text = "a".repeat(n) + "b";
            assert_eq!(
                places(source.as_bytes(), b"", text.as_bytes(), 0),
                Ok(vec![(0, n as i64 + 1)])
            );
        }
        PROGRAMS.with_borrow(|kept| assert_eq!(kept.len(), KEPT));
    }

    #[test]
    fn a_way_that_goes_back_for_ever_ends_with_the_fuel() {
        let mut heap = heap();
        let pattern = [heap.bytes(b"^(a+)+$"), heap.bytes(b"")];
        let pattern = heap.tuple(2, |i| pattern[i]);
        let text = heap.bytes("a".repeat(60).as_bytes());
        let found = regex_run(&mut heap, pattern, text, Value::fixnum(0));
        assert!(!found.is_none());
        let text = heap.bytes(("a".repeat(60) + "!").as_bytes());
        heap.work.allow(10_000);
        assert!(regex_run(&mut heap, pattern, text, Value::fixnum(0)).is_none());
    }
}
