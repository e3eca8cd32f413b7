//! Binaries that are taken apart: at a part that stands between the others, at white space, or into characters.
use super::characters::first_character;
use super::lists::ListBuilder;
use super::search::places;
use super::types::as_binary;
use crate::base::work::COPIED;
use crate::heap::Heap;
use crate::values::value::Value;
use std::ops::Range;

/// Bytes that are looked at for white space in one go.
const AT_ONCE: usize = 1 << 12;

/// `binary_split(binary, part)`: the list of what is between the places where a part stands; if that is empty, of the characters,
/// where a byte that is of none is one by itself; with `nil`, of the words between white space. The parts are paid for, and what is
/// searched.
pub(crate) fn binary_split(heap: &mut Heap, binary: Value, part: Value) -> Value {
    let Some(text) = as_binary(binary) else {
        return Value::NONE;
    };
    let mut parts = Splitter {
        binary,
        text,
        list: ListBuilder::new(),
    };
    let done = match as_binary(part) {
        Some([]) => parts.characters(heap),
        Some(part) => parts.between(heap, part),
        None if part == Value::NIL => parts.words(heap),
        None => None,
    };
    match done {
        Some(()) => parts.list.finish(Value::EMPTY_LIST),
        None => Value::NONE,
    }
}

/// The parts so far of a binary; what adds to them returns `None` if the turn is to end.
struct Splitter<'h> {
    binary: Value,
    text: &'h [u8],
    list: ListBuilder,
}

impl Splitter<'_> {
    fn add(&mut self, heap: &mut Heap, range: Range<usize>) -> Option<()> {
        heap.work.count(1).ok()?;
        let part = heap.slice(self.binary, self.text, range);
        (!part.is_none()).then_some(())?;
        self.list.push(heap, part)
    }

    fn between(&mut self, heap: &mut Heap, part: &[u8]) -> Option<()> {
        let (text, mut from) = (self.text, 0);
        let mut next = places(text, part);
        while let Some(at) = next(&mut heap.work, from).ok()? {
            self.add(heap, from..at)?;
            from = at + part.len();
        }
        self.add(heap, from..text.len())
    }

    fn characters(&mut self, heap: &mut Heap) -> Option<()> {
        let mut at = 0;
        while at < self.text.len() {
            let size = first_character(&self.text[at..]).map_or(1, char::len_utf8);
            self.add(heap, at..at + size)?;
            at += size;
        }
        Some(())
    }

    fn words(&mut self, heap: &mut Heap) -> Option<()> {
        let (text, mut from, mut at) = (self.text, 0, 0);
        while at < text.len() {
            let end = text.len().min(at + AT_ONCE);
            heap.work.count((end - at) / COPIED).ok()?;
            while at < end {
                let size = white_space(&text[at..]);
                if size > 0 && from < at {
                    self.add(heap, from..at)?;
                }
                at += size.max(1);
                if size > 0 {
                    from = at;
                }
            }
        }
        if from < text.len() {
            self.add(heap, from..text.len())?;
        }
        Some(())
    }
}

/// The size of the white space, of which a line may break, that some bytes begin with.
#[inline(always)]
fn white_space(bytes: &[u8]) -> usize {
    match *bytes {
        [9..=13 | b' ', ..] => 1,
        [..0x80, ..] | [] => 0,
        [0xC2, 0x85, ..] => 2,
        // 0x1680, 0x2000 to 0x200A without 0x2007, 0x2028, 0x2029, 0x205F, 0x3000.
        [0xE1, 0x9A, 0x80, ..]
        | [0xE2, 0x80, 0x80..=0x86 | 0x88..=0x8A | 0xA8 | 0xA9, ..]
        | [0xE2, 0x81, 0x9F, ..]
        | [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::prim::lists::Elements;
    use crate::testing::terms::{bitstring, heap};
    use proptest::prelude::*;

    fn split(text: &[u8], part: Option<&[u8]>) -> Vec<Vec<u8>> {
        let mut heap = heap();
        let text = heap.bytes(text);
        let part = part.map_or(Value::NIL, |part| heap.bytes(part));
        let list = binary_split(&mut heap, text, part);
        assert!(!list.is_none());
        Elements::of(list)
            .map(|part| part.as_binary().unwrap().to_vec())
            .collect()
    }

    #[test]
    fn what_is_no_binary_or_no_part_has_no_answer() {
        let mut heap = heap();
        let text = heap.bytes(b"a");
        assert!(binary_split(&mut heap, Value::NIL, text).is_none());
        assert!(binary_split(&mut heap, text, Value::TRUE).is_none());
        let odd = bitstring(&mut heap, &[true; 13], 3);
        for part in [text, Value::NIL] {
            assert!(binary_split(&mut heap, odd, part).is_none());
        }
        assert!(binary_split(&mut heap, text, odd).is_none());
    }

    #[test]
    fn words_are_those_between_breaks_of_lines() {
        let white = |c: char| c.is_whitespace() && !['\u{A0}', '\u{2007}', '\u{202F}'].contains(&c);
        for c in (0..0x3100).filter_map(char::from_u32) {
            let found = split(format!("a{c}b").as_bytes(), None).len();
            assert_eq!(found, if white(c) { 2 } else { 1 }, "{c:?}");
        }
        let long = " ab".repeat(AT_ONCE);
        assert_eq!(split(long.as_bytes(), None), vec![b"ab".to_vec(); AT_ONCE]);
    }

    #[test]
    fn parts_are_paid_for() {
        let mut heap = heap();
        heap.work.allow(u64::MAX);
        let (text, comma) = (heap.bytes(&b"a,".repeat(3_200)), heap.bytes(b","));
        binary_split(&mut heap, text, comma);
        assert_eq!(heap.work.counted(), 3_201);
        let (text, none) = (heap.bytes(&[b'a'; 6_400]), heap.bytes(b""));
        for (part, price) in [(comma, 201), (Value::NIL, 201), (none, 6_400)] {
            heap.work.allow(u64::MAX);
            binary_split(&mut heap, text, part);
            assert_eq!(heap.work.counted(), price);
        }
        heap.work.allow(1);
        assert!(binary_split(&mut heap, text, none).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1000 }))]

        #[test]
        fn as_rust_splits(text in "[ab,ä \u{2028}]{0,40}", part in "[ab,ä]{1,2}") {
            let of = |parts: Vec<&str>| parts.iter().map(|part| part.as_bytes().to_vec()).collect::<Vec<_>>();
            let bytes = text.as_bytes();
            prop_assert_eq!(split(bytes, Some(part.as_bytes())), of(text.split(&part).collect()));
            prop_assert_eq!(split(bytes, None), of(text.split_whitespace().collect()));
            let characters: Vec<String> = text.chars().map(String::from).collect();
            prop_assert_eq!(split(bytes, Some(b"")), of(characters.iter().map(String::as_str).collect()));
        }
    }
}
