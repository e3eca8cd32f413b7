//! Putting binaries and bitstrings together.
mod bit_string;

use super::arith::as_f64;
use super::binaries::{as_character, INTEGER_BITS};
use super::characters::is_text;
use super::integers::lowest_bits;
use super::lists::Elements;
use super::types::as_binary;
use crate::heap::Heap;
use crate::values::bits::Bits;
use crate::values::value::Value;
use bit_string::{copy, without_unused, BitString};

/// The kind of a segment; the numbers are those of its specification.
#[derive(Clone, Copy, PartialEq)]
enum SegmentKind {
    Integer = 0,
    Float = 1,
    /// A whole binary.
    Binary = 2,
    /// The first bits of a bitstring.
    Part = 3,
    Utf8 = 4,
    /// A whole bitstring.
    Bits = 5,
}

struct Segment {
    kind: SegmentKind,
    little: bool,
    /// The size is `size` times the value behind the segment's own.
    dynamic: bool,
    size: usize,
}

impl Segment {
    /// `size * 32 + dynamic * 16 + little * 8 + kind`
    fn of(spec: Value) -> Option<Segment> {
        let spec = usize::try_from(spec.as_fixnum()?).ok()?;
        use SegmentKind::*;
        Some(Segment {
            kind: *[Integer, Float, Binary, Part, Utf8, Bits].get(spec & 7)?,
            little: spec & 8 != 0,
            dynamic: spec & 16 != 0,
            size: spec >> 5,
        })
    }
}

/// A binary or a bitstring of the values in a tuple, as a tuple of specifications says (see [`Segment`]). What is put together is paid
/// for also if a later value does not fit. Something that is only appended to (heap/appending.rs) is neither copied nor paid for.
pub(crate) fn bin_of(heap: &mut Heap, values: Value, specs: Value) -> Value {
    let (Some(values), Some(specs)) = (values.as_tuple(), specs.as_tuple()) else {
        return Value::NONE;
    };
    let first = match (values, specs) {
        ([first, ..], [spec, ..]) if is_whole(*spec) && as_binary(*first).is_some() => Some(*first),
        _ => None,
    };
    let Some(first) = first else {
        return put_together(heap, values, specs).map_or(Value::NONE, |all| all.made(heap));
    };
    if !heap.has_room_behind(first) {
        return put_together(heap, values, specs)
            .map_or(Value::NONE, |all| all.appended(heap, first));
    }
    put_together(heap, &values[1..], &specs[1..])
        .and_then(|more| match heap.append(first, &more.bytes) {
            Some(made) => Some(without_unused(heap, made, more.over)),
            None => {
                let mut all = BitString::default();
                let unused = (8 - more.over) % 8;
                let more = Bits::of(&more.bytes);
                let more = more.part(0..more.len() - unused);
                for part in [first.as_bits()?, more] {
                    copy(heap, &mut all, part)?;
                }
                Some(all.appended(heap, first))
            }
        })
        .unwrap_or(Value::NONE)
}

/// Returns whether a segment is a binary or a bitstring as a whole.
fn is_whole(spec: Value) -> bool {
    let whole = [SegmentKind::Binary, SegmentKind::Bits];
    Segment::of(spec).is_some_and(|segment| whole.contains(&segment.kind) && !segment.dynamic)
}

/// `binary_join(list, joiner)`: a binary of all those in a proper list, with another one between each two of them; of a list of
/// bitstrings, if that is `nil`; of bytes and binaries, if it is `:bytes`; of characters and texts, if it is `:utf8`. What is put
/// together is paid for also if a later element is of another kind.
pub(crate) fn binary_join(heap: &mut Heap, list: Value, joiner: Value) -> Value {
    let mut bits = BitString::default();
    match join(heap, &mut bits, list, joiner) {
        Some(()) => bits.made(heap),
        None => Value::NONE,
    }
}

fn join(heap: &mut Heap, bits: &mut BitString, list: Value, joiner: Value) -> Option<()> {
    let between = Bits::of(as_binary(joiner).unwrap_or(&[]));
    let kind = match as_binary(joiner) {
        Some(_) => "",
        None if joiner == Value::NIL => "bits",
        None => joiner.as_atom()?.name(),
    };
    let mut elements = Elements::of(list);
    for (i, element) in elements.by_ref().enumerate() {
        heap.work.count(1).ok()?;
        if i > 0 {
            copy(heap, bits, between)?;
        }
        match (kind, element.as_fixnum(), as_binary(element)) {
            ("utf8", Some(_), _) => {
                bits.extend(as_character(element)?.encode_utf8(&mut [0; 4]).as_bytes());
                bits.pay_for(0, &mut heap.work).ok()?;
            }
            ("bytes", Some(byte), _) => {
                bits.extend(&[u8::try_from(byte).ok()?]);
                bits.pay_for(0, &mut heap.work).ok()?;
            }
            ("utf8", _, Some(text)) if !is_text(&mut heap.work, text).ok()? => return None,
            ("" | "bytes" | "utf8", _, Some(bytes)) => copy(heap, bits, Bits::of(bytes))?,
            ("bits", ..) => copy(heap, bits, element.as_bits()?)?,
            _ => return None,
        }
    }
    elements.ended_properly().then_some(())
}

/// The values as bits; none if one of them does not fit.
fn put_together(heap: &mut Heap, values: &[Value], specs: &[Value]) -> Option<BitString> {
    let mut bits = BitString::default();
    let built = add_all(heap, &mut bits, values, specs);
    let paid = bits.pay_for(0, &mut heap.work);
    built.and(paid.ok())?;
    Some(bits)
}

fn add_all(heap: &mut Heap, bits: &mut BitString, values: &[Value], specs: &[Value]) -> Option<()> {
    let mut values = values.iter().copied();
    for spec in specs {
        let segment = Segment::of(*spec)?;
        let value = values.next()?;
        let size = match segment.dynamic {
            true => usize::try_from(values.next()?.as_fixnum()?)
                .ok()?
                .checked_mul(segment.size)?,
            false => segment.size,
        };
        heap.work.pass(1).ok()?;
        add(heap, bits, &segment, value, size)?;
    }
    Some(())
}

fn add(
    heap: &mut Heap,
    bits: &mut BitString,
    segment: &Segment,
    value: Value,
    size: usize,
) -> Option<()> {
    match segment.kind {
        SegmentKind::Integer if size <= INTEGER_BITS => {
            bits.number(lowest_bits(value)?, size, segment.little)
        }
        SegmentKind::Integer => return None,
        SegmentKind::Float => match size {
            64 => bits.number(as_f64(value)?.to_bits(), 64, segment.little),
            32 => {
                let float = as_f64(value)? as f32;
                bits.number(
                    float.is_finite().then_some(float)?.to_bits().into(),
                    32,
                    segment.little,
                );
            }
            _ => return None,
        },
        SegmentKind::Binary => copy(heap, bits, Bits::of(as_binary(value)?))?,
        SegmentKind::Bits => copy(heap, bits, value.as_bits()?)?,
        SegmentKind::Part => {
            let all = value.as_bits().filter(|all| size <= all.len())?;
            copy(heap, bits, all.part(0..size))?;
        }
        SegmentKind::Utf8 => {
            let mut encoded = [0; 4];
            bits.extend(as_character(value)?.encode_utf8(&mut encoded).as_bytes());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::binaries::bin_int;
    use super::*;
    use crate::base::atom::Atom;
    use crate::base::work::COPIED;
    use crate::testing::terms::{bitstring, heap};
    use proptest::prelude::*;

    fn spec(kind: SegmentKind, size: i64, little: bool, dynamic: bool) -> Value {
        Value::fixnum(size * 32 + i64::from(dynamic) * 16 + i64::from(little) * 8 + kind as i64)
    }

    fn built(heap: &mut Heap, values: &[Value], specs: &[Value]) -> Option<Vec<u8>> {
        let [values, specs] = [values, specs].map(|all| heap.tuple(all.len(), |i| all[i]));
        let binary = bin_of(heap, values, specs);
        (!binary.is_none()).then(|| binary.as_bytes().unwrap().to_vec())
    }

    #[test]
    fn segments_of_all_kinds() {
        let mut heap = heap();
        let text = heap.bytes(b"hello");
        let int = Value::fixnum;
        let values = [
            int(0x1FF),
            int(-2),
            int(1),
            text,
            text,
            int(2),
            int(0x20AC),
            int(3),
        ];
        let specs = [
            spec(SegmentKind::Integer, 8, false, false),
            spec(SegmentKind::Integer, 16, true, false),
            spec(SegmentKind::Float, 32, false, false),
            spec(SegmentKind::Binary, 0, false, false),
            spec(SegmentKind::Part, 8, false, true),
            spec(SegmentKind::Utf8, 0, false, false),
            spec(SegmentKind::Integer, 8, false, false),
        ];
        let expected = [
            &[0xFF, 0xFE, 0xFF, 0x3F, 0x80, 0, 0][..],
            b"hellohe\xE2\x82\xAC\x03",
        ]
        .concat();
        assert_eq!(built(&mut heap, &values, &specs), Some(expected));
        assert_eq!(built(&mut heap, &[], &[]), Some(vec![]));
    }

    #[test]
    fn binaries_of_a_list_are_joined() {
        let mut heap = heap();
        let [odd, rest] = [(4, 6), (4, 2)].map(|(n, at)| bitstring(&mut heap, &vec![true; n], at));
        let [a, b, none, byte] = [&b"a"[..], b"bc", b"", b"\xE4"].map(|bytes| heap.bytes(bytes));
        let mut joined = |elements: &[Value], end: Value, joiner: Value| {
            let list = elements
                .iter()
                .rev()
                .fold(end, |rest, e| heap.cons(*e, rest));
            let binary = binary_join(&mut heap, list, joiner);
            (!binary.is_none()).then(|| binary.as_bytes().unwrap().to_vec())
        };
        let empty = Value::EMPTY_LIST;
        assert_eq!(joined(&[], empty, b), Some(vec![]));
        assert_eq!(joined(&[a], empty, b), Some(b"a".to_vec()));
        assert_eq!(
            joined(&[a, none, b, a], empty, b),
            Some(b"abcbcbcbca".to_vec())
        );
        assert_eq!(joined(&[a, b], empty, none), Some(b"abc".to_vec()));
        assert_eq!(joined(&[a, Value::NIL], empty, b), None);
        assert_eq!(joined(&[a, b], a, b), None);
        assert_eq!(joined(&[a, b], empty, empty), None);
        let [bytes, utf8] = ["bytes", "utf8"].map(|kind| Value::atom(Atom::new(kind)));
        let [high, wide] = [0xE4, 0x8A9E].map(Value::fixnum);
        assert_eq!(joined(&[high, a], empty, bytes), Some(b"\xE4a".to_vec()));
        assert_eq!(joined(&[wide], empty, bytes), None);
        let text = "äa語".as_bytes();
        assert_eq!(joined(&[high, a, wide], empty, utf8), Some(text.to_vec()));
        for odd in [byte, Value::fixnum(0xD800), Value::fixnum(-1), empty] {
            assert_eq!(joined(&[odd], empty, utf8), None);
        }
        assert_eq!(joined(&[odd], empty, bytes), None);
        assert_eq!(joined(&[a], empty, Value::TRUE), None);
        assert_eq!(joined(&[a, odd], empty, b), None);
        assert_eq!(
            joined(&[odd, a, rest], empty, Value::NIL),
            Some(vec![0xF6, 0x1F])
        );
    }

    #[test]
    fn what_is_only_appended_to_is_not_paid_for_again() {
        let mut heap = heap();
        heap.work.allow(u64::MAX);
        let mut whole = heap.bytes(&[b'a'; 10_000]);
        let [byte, parts] = [
            spec(SegmentKind::Integer, 8, false, false),
            spec(SegmentKind::Binary, 0, false, false),
        ];
        let specs = heap.tuple(2, |i| [parts, byte][i]);
        for i in 0..5_000 {
            let values = heap.tuple(2, |at| [whole, Value::fixnum(i)][at]);
            whole = bin_of(&mut heap, values, specs);
        }
        let bytes = whole.as_binary().unwrap();
        assert_eq!(bytes.len(), 15_000);
        assert!(bytes[10_000..]
            .iter()
            .zip(0usize..)
            .all(|(b, i)| *b == i as u8));
        // It was copied twice, and has not grown beyond its room.
        assert_eq!(heap.work.counted(), 2 * (10_001 / COPIED));
    }

    #[test]
    fn what_does_not_fit_has_no_answer() {
        let mut heap = heap();
        let text = heap.bytes(b"hello");
        let int = Value::fixnum;
        let large = heap.float(1.0e300);
        let bits = bitstring(&mut heap, &[true; 3], 2);
        let rows: [(&[Value], Value); 15] = [
            (&[int(1)], spec(SegmentKind::Bits, 0, false, false)),
            (&[bits], spec(SegmentKind::Binary, 0, false, false)),
            (&[bits, int(4)], spec(SegmentKind::Part, 1, false, true)),
            (&[int(1)], spec(SegmentKind::Integer, 72, false, false)),
            (&[text], spec(SegmentKind::Integer, 8, false, false)),
            (&[int(1)], spec(SegmentKind::Binary, 0, false, false)),
            (&[text, int(6)], spec(SegmentKind::Part, 8, false, true)),
            (&[text, int(-1)], spec(SegmentKind::Part, 8, false, true)),
            (&[text, Value::NIL], spec(SegmentKind::Part, 8, false, true)),
            (&[text], spec(SegmentKind::Part, 8, false, true)),
            (&[large], spec(SegmentKind::Float, 32, false, false)),
            (&[large], spec(SegmentKind::Float, 16, false, false)),
            (&[int(0xD800)], spec(SegmentKind::Utf8, 0, false, false)),
            (&[], spec(SegmentKind::Integer, 8, false, false)),
            (&[int(1)], Value::fixnum(7)),
        ];
        for (i, (values, spec)) in rows.into_iter().enumerate() {
            assert_eq!(built(&mut heap, values, &[spec]), None, "row {i}");
        }
        let empty = heap.tuple(0, |_| Value::NIL);
        assert!(bin_of(&mut heap, Value::NIL, empty).is_none());
        assert!(bin_of(&mut heap, empty, Value::NIL).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

        #[test]
        fn integers_come_out_as_they_went_in(
            numbers in proptest::collection::vec((any::<i32>(), 1i64..40, any::<bool>()), 0..8),
        ) {
            let mut heap = heap();
            let total: i64 = numbers.iter().map(|(_, bits, _)| bits).sum();
            let padding = (8 - total % 8) % 8;
            let mut values: Vec<Value> = numbers.iter().map(|(n, ..)| Value::fixnum((*n).into())).collect();
            let mut specs: Vec<Value> =
                numbers.iter().map(|(_, bits, little)| spec(SegmentKind::Integer, *bits, *little, false)).collect();
            values.push(Value::fixnum(0));
            specs.push(spec(SegmentKind::Integer, padding, false, false));
            let bytes = built(&mut heap, &values, &specs).unwrap();
            let binary = heap.bytes(&bytes);
            let mut position = 0;
            for (n, bits, little) in numbers {
                let spec = Value::fixnum(bits * 4 + i64::from(little));
                let found = bin_int(&mut heap, binary, Value::fixnum(position), spec);
                prop_assert_eq!(found.fixnum_value(), i64::from(n) & ((1 << bits) - 1));
                position += bits;
            }
        }
    }
}
