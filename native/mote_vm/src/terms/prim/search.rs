//! Where a text stands in another one.
use super::types::as_binary;
use crate::base::work::COPIED;
use crate::base::work::{Over, Work};
use crate::values::value::Value;
use memchr::memmem;

/// Bytes that are searched in one go, at least.
const AT_ONCE: usize = 1 << 13;

/// `binary_find(binary, part, from)`: the first place, at `from` or behind it, where a part that is not empty stands in the
/// binary, or `nil`. What is searched is paid for.
pub(crate) fn binary_find(work: &mut Work, binary: Value, part: Value, from: Value) -> Value {
    let arguments = || {
        let from = usize::try_from(from.as_fixnum()?).ok()?;
        let part = as_binary(part).filter(|part| !part.is_empty())?;
        Some((from, as_binary(binary)?.get(from..)?, part))
    };
    let Some((from, rest, part)) = arguments() else {
        return Value::NONE;
    };
    match places(rest, part)(work, 0) {
        Ok(Some(at)) => Value::fixnum((from + at) as i64),
        Ok(None) => Value::NIL,
        Err(Over) => Value::NONE,
    }
}

/// Returns what finds the first place, at another one or behind it, where a part that is not empty stands in a text.
pub(super) fn places<'t>(
    text: &'t [u8],
    part: &'t [u8],
) -> impl FnMut(&mut Work, usize) -> Result<Option<usize>, Over> + 't {
    let mut finder = None;
    move |work, from| {
        let text = &text[from..];
        // Wherever it is, as much is searched at least; looking for a long part begins with going through it.
        let mut paid = part.len().min(text.len()) / COPIED;
        work.count(paid)?;
        if part.len() > text.len() {
            return Ok(None);
        }
        // The whole part is gone through here: it is no longer than the text, which is paid for.
        let finder = finder.get_or_insert_with(|| memmem::Finder::new(part));
        let at_once = AT_ONCE.max(2 * part.len());
        let mut start = 0;
        loop {
            let end = text.len().min(start + at_once);
            let found = finder.find(&text[start..end]).map(|at| start + at);
            let searched = found.map_or(end, |at| at + part.len()) / COPIED;
            work.count(searched - paid)?;
            paid = searched;
            if found.is_some() || end == text.len() {
                return Ok(found.map(|at| from + at));
            }
            // The part may begin before the end, and end behind it.
            start = end - (part.len() - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::heap;

    fn found(text: &[u8], part: &[u8], from: i64) -> Value {
        let mut heap = heap();
        let (text, part) = (heap.bytes(text), heap.bytes(part));
        binary_find(&mut heap.work, text, part, Value::fixnum(from))
    }

    #[test]
    fn the_first_place_at_or_behind_another() {
        let text = b"abcabc";
        assert_eq!(found(text, b"abc", 0), Value::fixnum(0));
        assert_eq!(found(text, b"abc", 1), Value::fixnum(3));
        assert_eq!(found(text, b"c", 3), Value::fixnum(5));
        for (part, from) in [(&b"abc"[..], 4), (b"ac", 0), (b"abcabca", 0), (b"c", 6)] {
            assert_eq!(found(text, part, from), Value::NIL);
        }
        assert_eq!(found(b"", b"a", 0), Value::NIL);
    }

    #[test]
    fn what_is_no_place_or_no_part_has_no_answer() {
        for from in [-1, 4, i64::MAX >> 1] {
            assert!(found(b"abc", b"c", from).is_none());
        }
        assert!(found(b"abc", b"", 0).is_none());
        let mut heap = heap();
        let (text, zero) = (heap.bytes(b"abc"), Value::fixnum(0));
        for [a, b, c] in [[zero, text, zero], [text, zero, zero], [text, text, text]] {
            assert!(binary_find(&mut heap.work, a, b, c).is_none());
        }
    }

    #[test]
    fn a_part_lies_across_what_is_searched_in_one_go() {
        for size in [1, 2, 7, AT_ONCE] {
            let part = vec![1; size];
            for place in (AT_ONCE.saturating_sub(size + 1)..AT_ONCE + 2).step_by(1 + size / 4) {
                let mut text = vec![0; 3 * AT_ONCE];
                text[place..place + size].fill(1);
                assert_eq!(
                    found(&text, &part, 0),
                    Value::fixnum(place as i64),
                    "{size}"
                );
                assert_eq!(found(&text, &part, place as i64 + 1), Value::NIL);
            }
        }
    }

    #[test]
    fn what_is_searched_is_counted() {
        let mut heap = heap();
        let mut text = vec![0; 10 * AT_ONCE];
        text[5 * AT_ONCE] = 1;
        let (text, part) = (heap.bytes(&text), heap.bytes(&[1]));
        heap.work.allow(1 << 30);
        binary_find(&mut heap.work, text, part, Value::fixnum(0));
        assert_eq!(heap.work.counted(), (5 * AT_ONCE + 1) / COPIED);
        // A part that is longer costs what could be searched.
        heap.work.allow(1 << 30);
        binary_find(&mut heap.work, part, text, Value::fixnum(0));
        let long = heap.bytes(&vec![0; 11 * AT_ONCE]);
        binary_find(&mut heap.work, text, long, Value::fixnum(0));
        assert_eq!(heap.work.counted(), 10 * AT_ONCE / COPIED);
        heap.work.allow(1);
        assert!(binary_find(&mut heap.work, text, part, Value::fixnum(0)).is_none());
    }
}
