//! Regular expressions: what `Regex` and `:re` find, by the rules of Perl.
//!
//! Invariants:
//! 1. A place is found by going back: the first alternative that leads to a match counts, as in PCRE. Every step is counted, so a
//!    pattern that goes back for ever ends with the turn's fuel.
//! 2. What is not certain to mean the same has no answer: constructs that the parser does not know, and characters beyond those of
//!    `characters.rs`, whose properties are the same in all tables of Unicode.
//! 3. A program is made once for a thread, and then found by the text of its pattern. What is paid does not depend on that: each time as
//!    much as for making it.
//! 4. A text is checked once for all matches in it, and what is walked over and made is counted. So all matches together cost fuel in
//!    proportion to the text, unless the search goes back.
mod characters;
mod nodes;
mod parse;
mod program;
mod run;
#[cfg(test)]
mod tests;

use super::types::as_binary;
use crate::base::work::Over;
use crate::heap::Heap;
use crate::values::value::Value;
use program::{RegexProgram, INSTRUCTIONS};
use run::{Matcher, SEARCHED};
use std::cell::RefCell;
use std::rc::Rc;

/// Programs that a thread keeps.
const KEPT: usize = 32;

/// The reason why a search neither finds a match nor is certain that there is none.
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
fn program(heap: &mut Heap, pattern: Value) -> Option<Rc<RegexProgram>> {
    let &[source, options] = pattern.as_tuple()? else {
        return None;
    };
    let (source, options) = (as_binary(source)?, as_binary(options)?);
    heap.work.count(source.len() + options.len()).ok()?;
    let made = PROGRAMS.with_borrow_mut(|kept| {
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
    });
    let size = made.as_ref().map_or(INSTRUCTIONS, |made| made.steps.len());
    heap.work.count(size).ok()?;
    made
}

/// `regex_run({source, options}, text, at)`: where the pattern and its groups match first, at or behind a place: a list of
/// `{start, length}`, with `{-1, 0}` for groups that take no part, and those with names once more at the end, by their names; or `nil`.
/// If `at` is negative, a list of all matches at or behind `-1 - at`, the last one first.
pub(crate) fn regex_run(heap: &mut Heap, pattern: Value, text: Value, at: Value) -> Value {
    let Some((bytes, at)) = as_binary(text).zip(at.as_fixnum()) else {
        return Value::NONE;
    };
    let (from, all) = if at < 0 { (-1 - at, true) } else { (at, false) };
    let from = from as usize;
    let Some(program) = program(heap, pattern).filter(|_| from <= bytes.len()) else {
        return Value::NONE;
    };
    if (program.returns || program.unicode) && heap.work.count(bytes.len() / SEARCHED).is_err() {
        return Value::NONE;
    }
    // With the option `s` a line may end with a carriage return, which this knows nothing of.
    if program.returns && memchr::memchr(b'\r', bytes).is_some() {
        return Value::NONE;
    }
    if program.unicode && !std::str::from_utf8(bytes).is_ok_and(|text| text.is_char_boundary(from))
    {
        return Value::NONE;
    }
    let mut matcher = Matcher::new(&program, bytes, heap);
    let found = match all {
        true => matches(&mut matcher, from),
        false => matcher.search(from, false).and_then(|end| match end {
            Some(_) => places(&mut matcher),
            None => Ok(Value::NIL),
        }),
    };
    found.unwrap_or(Value::NONE)
}

/// All matches from a place on. Behind an empty one there may be one that is not, at the same place.
fn matches(matcher: &mut Matcher, mut at: usize) -> Result<Value, Unsure> {
    let mut list = Value::EMPTY_LIST;
    let mut here = false;
    loop {
        match matcher.search(at, here)? {
            Some(end) => {
                let places = places(matcher)?;
                (at, here) = (end, matcher.slots[0] == end);
                list = match places {
                    Value::NONE => Value::NONE,
                    places => matcher.heap.cons(places, list),
                };
                if list.is_none() {
                    return Ok(list);
                }
            }
            None if here && at < matcher.text.len() => (at, here) = (matcher.behind(at), false),
            None => return Ok(list),
        }
    }
}

/// The places of the match that was found, and of its groups.
fn places(matcher: &mut Matcher) -> Result<Value, Unsure> {
    let program = matcher.program;
    let named = program.names.iter().map(|(_, group)| *group);
    matcher.heap.work.count(program.groups + named.len())?;
    let mut list = Value::EMPTY_LIST;
    for group in (0..program.groups).chain(named).rev() {
        let (start, length) = match (matcher.slots[2 * group], matcher.slots[2 * group + 1]) {
            (usize::MAX, _) | (_, usize::MAX) => (-1, 0),
            (start, end) => (start as i64, end as i64 - start as i64),
        };
        let pair = [Value::fixnum(start), Value::fixnum(length)];
        list = paired(matcher.heap, pair, list);
    }
    Ok(list)
}

/// `regex_names({source, options})`: the names of groups, in their order.
pub(crate) fn regex_names(heap: &mut Heap, pattern: Value) -> Value {
    let Some(program) = program(heap, pattern) else {
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
