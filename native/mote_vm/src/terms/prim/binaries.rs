//! Reading binaries and bitstrings: integers, floats and parts at any bit. Putting them together is in build.rs.
//!
//! A position counts bits from the start. A specification of an integer or float is `bits * 4 + signed * 2 + little`.
//! Whatever lies outside of the binary has no answer.
use super::characters::first_character;
use super::types::as_binary;
use crate::heap::Heap;
use crate::values::bits::Bits;
use crate::values::value::Value;
use std::ops::Range;

/// Bytes that are shifted in one go.
const SHIFTED_AT_ONCE: usize = 1 << 12;
/// The most bits of an integer.
pub(crate) const INTEGER_BITS: usize = 64;
/// The most bytes of a character.
const MOST_BYTES: usize = 4;

/// The way in which the bits of a number are to be understood.
#[derive(Clone, Copy)]
struct Spec {
    bits: usize,
    signed: bool,
    little: bool,
}

impl Spec {
    #[inline(always)]
    fn of(spec: Value) -> Option<Spec> {
        let spec = usize::try_from(spec.as_fixnum()?).ok()?;
        Some(Spec {
            bits: spec >> 2,
            signed: spec & 2 != 0,
            little: spec & 1 != 0,
        })
    }
}

/// Returns `bits` bits from a position on, if they are there.
#[inline(always)]
fn bits_at(all: Bits<'_>, position: Value, bits: usize) -> Option<Bits<'_>> {
    let from = usize::try_from(position.as_fixnum()?).ok()?;
    let end = from.checked_add(bits)?;
    (end <= all.len()).then(|| all.part(from..end))
}

/// The integer at a position.
pub(crate) fn bin_int(heap: &mut Heap, binary: Value, position: Value, spec: Value) -> Value {
    let number = || {
        let (all, spec) = (binary.as_bits()?, Spec::of(spec)?);
        if spec.bits > INTEGER_BITS {
            return None;
        }
        let bits = bits_at(all, position, spec.bits)?;
        let n = if spec.little {
            bits.little_endian()
        } else {
            bits.number()
        };
        Some((n, spec))
    };
    match number() {
        // Without a sign it is a fixnum: the usual case.
        Some((n, spec)) if !spec.signed && spec.bits <= 62 => Value::fixnum(n as i64),
        Some((n, spec)) if spec.signed && spec.bits > 0 => {
            let unused = 64 - spec.bits;
            integer(heap, ((n << unused) as i64 >> unused).into())
        }
        Some((n, _)) => integer(heap, n.into()),
        None => Value::NONE,
    }
}

/// An integer of at most 64 bits.
#[inline(always)]
fn integer(heap: &mut Heap, n: i128) -> Value {
    heap.wide_integer(n)
}

/// The finite float of 32 or 64 bits at a position.
pub(crate) fn bin_float(heap: &mut Heap, binary: Value, position: Value, spec: Value) -> Value {
    let number = || {
        let (all, spec) = (binary.as_bits()?, Spec::of(spec)?);
        let bits = bits_at(all, position, spec.bits)?;
        let bits = match spec.bits {
            32 | 64 if spec.little => bits.little_endian(),
            32 | 64 => bits.number(),
            _ => return None,
        };
        let float = match spec.bits {
            32 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        };
        float.is_finite().then_some(float)
    };
    match number() {
        Some(float) => heap.float(float),
        None => Value::NONE,
    }
}

/// Returns `count` bytes from a position on.
pub(crate) fn bin_slice(heap: &mut Heap, binary: Value, position: Value, count: Value) -> Value {
    part(heap, binary, |all| {
        let count = usize::try_from(count.as_fixnum()?).ok()?;
        bits_at(all, position, count.checked_mul(8)?)
    })
}

/// Returns `count` bits from a position on.
pub(crate) fn bin_bits(heap: &mut Heap, binary: Value, position: Value, count: Value) -> Value {
    part(heap, binary, |all| {
        bits_at(all, position, usize::try_from(count.as_fixnum()?).ok()?)
    })
}

/// All from a position of whole bytes on, if that is a number of bytes.
pub(crate) fn bin_rest(heap: &mut Heap, binary: Value, position: Value) -> Value {
    part(heap, binary, |all| {
        rest(all, position).filter(|bits| bits.whole().is_some())
    })
}

/// All from a position on, however many bits that are.
pub(crate) fn bin_tail(heap: &mut Heap, binary: Value, position: Value) -> Value {
    part(heap, binary, |all| rest(all, position))
}

#[inline(always)]
fn rest(all: Bits<'_>, position: Value) -> Option<Bits<'_>> {
    let from = usize::try_from(position.as_fixnum()?).ok()?;
    (from <= all.len()).then(|| all.part(from..all.len()))
}

/// Makes a value of some bits of a binary or a bitstring. Bytes that do not begin where a byte does are copied, which is
/// paid for.
#[inline(always)]
fn part(
    heap: &mut Heap,
    binary: Value,
    chosen: impl for<'h> FnOnce(Bits<'h>) -> Option<Bits<'h>>,
) -> Value {
    let Some((all, bits)) = binary.as_bits().and_then(|all| Some((all, chosen(all)?))) else {
        return Value::NONE;
    };
    match bits.len() % 8 == 0 && bits.whole().is_none() {
        true => shifted(heap, bits),
        false => heap.bits(binary, all, bits),
    }
}

fn shifted(heap: &mut Heap, bits: Bits<'_>) -> Value {
    let count = bits.len() / 8;
    if heap.work.count(count).is_err() {
        return Value::NONE;
    }
    let copied = heap.beside(count, |heap| {
        let mut copied = Vec::with_capacity(count);
        let mut bytes = bits.each_byte();
        while copied.len() < count {
            let some = SHIFTED_AT_ONCE.min(count - copied.len());
            heap.work.pass(some).ok()?;
            copied.extend(bytes.by_ref().take(some));
        }
        Some(copied)
    });
    copied.map_or(Value::NONE, |copied| heap.owned_bytes(copied))
}

/// The character in UTF-8 at a position.
pub(crate) fn bin_utf8(binary: Value, position: Value) -> Value {
    let character = || {
        let rest = rest(binary.as_bits()?, position)?;
        let most = rest.len().min(8 * MOST_BYTES) / 8 * 8;
        first_character(&rest.part(0..most).padded())
    };
    match character() {
        Some(character) => Value::fixnum(u32::from(character).into()),
        None => Value::NONE,
    }
}

/// Returns the number of bits that a character takes in UTF-8.
pub(crate) fn utf8_bits(character: Value) -> Value {
    match as_character(character) {
        Some(character) => Value::fixnum(character.len_utf8() as i64 * 8),
        None => Value::NONE,
    }
}

pub(super) fn as_character(a: Value) -> Option<char> {
    char::from_u32(u32::try_from(a.as_fixnum()?).ok()?)
}

/// `bit_size(bitstring)`
pub(crate) fn bit_size(bitstring: Value) -> Value {
    match bitstring.as_bits() {
        Some(bits) => Value::fixnum(bits.len() as i64),
        None => Value::NONE,
    }
}

/// `binary_part(binary, start, length)`; a negative length means the bytes before the start.
pub(crate) fn binary_part(heap: &mut Heap, binary: Value, start: Value, length: Value) -> Value {
    let part = || -> Option<(&[u8], Range<usize>)> {
        let bytes = as_binary(binary)?;
        let (start, length) = (start.as_fixnum()?, length.as_fixnum()?);
        // Fixnums have 63 bits: their sum fits.
        let (from, to) = (start.min(start + length), start.max(start + length));
        let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        (range.end <= bytes.len()).then_some((bytes, range))
    };
    match part() {
        Some((bytes, range)) => heap.slice(binary, bytes, range),
        None => Value::NONE,
    }
}

/// `:binary.at(binary, index)`
pub(crate) fn binary_at(binary: Value, index: Value) -> Value {
    let at = || {
        let bytes = as_binary(binary)?;
        bytes
            .get(usize::try_from(index.as_fixnum()?).ok()?)
            .copied()
    };
    match at() {
        Some(byte) => Value::fixnum(byte.into()),
        None => Value::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::{bitstring, heap};
    use proptest::prelude::*;

    fn spec(bits: i64, signed: bool, little: bool) -> Value {
        Value::fixnum(bits * 4 + i64::from(signed) * 2 + i64::from(little))
    }

    fn at(position: i64) -> Value {
        Value::fixnum(position)
    }

    fn number(n: Value) -> Option<i128> {
        super::super::integers::as_i128(n)
    }

    #[test]
    fn integers_in_both_orders() {
        let mut heap = heap();
        let binary = heap.bytes(&[0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0, 0xFF]);
        let rows = [
            (0, spec(8, false, false), 0x12),
            (4, spec(8, false, false), 0x23),
            (0, spec(12, false, false), 0x123),
            (0, spec(12, false, true), 0x312),
            (0, spec(32, false, false), 0x1234_5678),
            (0, spec(32, false, true), 0x7856_3412),
            (8, spec(16, true, false), 0x3456),
            (32, spec(16, true, false), 0x9ABC - 0x10000),
            (64, spec(8, true, true), -1),
            (4, spec(64, false, false), 0x2345_6789_ABCD_EF0F),
            (0, spec(64, false, true), 0xF0DE_BC9A_7856_3412),
            (
                0,
                spec(64, true, true),
                0xF0DE_BC9A_7856_3412 - (1i128 << 64),
            ),
            (72, spec(0, false, false), 0),
        ];
        for (position, spec, expected) in rows {
            let found = bin_int(&mut heap, binary, at(position), spec);
            assert_eq!(number(found), Some(expected), "{position} {expected:x}");
        }
        for (position, bits) in [
            (65, 8),
            (72, 1),
            (-1, 8),
            (0, 65),
            (i64::MAX >> 2, 8),
            (0, -8),
        ] {
            let spec = spec(bits, false, false);
            assert!(bin_int(&mut heap, binary, at(position), spec).is_none());
        }
        assert!(bin_int(&mut heap, Value::NIL, at(0), spec(8, false, false)).is_none());
    }

    #[test]
    fn floats_are_finite() {
        let mut heap = heap();
        let mut found = |bytes: &[u8], bits, little| {
            let binary = heap.bytes(bytes);
            bin_float(&mut heap, binary, at(0), spec(bits, true, little)).as_float_or_none()
        };
        assert_eq!(found(&1.5f64.to_be_bytes(), 64, false), Some(1.5));
        assert_eq!(found(&1.0e300f64.to_le_bytes(), 64, true), Some(1.0e300));
        assert_eq!(found(&0.25f32.to_be_bytes(), 32, false), Some(0.25));
        assert_eq!(found(&f64::NAN.to_be_bytes(), 64, false), None);
        assert_eq!(found(&f32::INFINITY.to_be_bytes(), 32, false), None);
        assert_eq!(found(&[0; 8], 16, false), None);
        assert_eq!(found(&[0; 7], 64, false), None);
    }

    impl Value {
        fn as_float_or_none(self) -> Option<f64> {
            if self.is_none() {
                return None;
            }
            self.as_float()
        }
    }

    #[test]
    fn slices_share_and_keep_their_whole() {
        let mut heap = heap();
        for size in [200, 5000] {
            let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let whole = heap.bytes(&bytes);
            let slice = bin_slice(&mut heap, whole, at(80), Value::fixnum(100));
            assert_eq!(slice.as_bytes(), Some(&bytes[10..110]));
            assert!(slice.sliced() == Some(whole));
            let again = bin_rest(&mut heap, slice, at(160));
            assert_eq!(again.as_bytes(), Some(&bytes[30..110]));
            assert!(
                again.sliced() == Some(whole),
                "a slice of a slice is one of the whole"
            );
            assert_eq!(
                again.as_bytes().map(<[u8]>::as_ptr),
                Some(whole.as_bytes().unwrap()[30..].as_ptr())
            );
            let few = binary_part(&mut heap, again, Value::fixnum(80), Value::fixnum(-24));
            assert_eq!(few.as_bytes(), Some(&bytes[86..110]));
            assert!(few.sliced().is_none(), "few bytes are copied");
            assert!(bin_rest(&mut heap, whole, at(0)) == whole);
            let odd = bin_slice(&mut heap, whole, at(4), Value::fixnum(2));
            assert_eq!(
                odd.as_bytes(),
                Some(&[bytes[0] << 4 | bytes[1] >> 4, bytes[1] << 4][..])
            );
            assert!(bin_rest(&mut heap, whole, at(4)).is_none());
        }
    }

    #[test]
    fn characters() {
        let mut heap = heap();
        let binary = heap.bytes("aß€😀".as_bytes());
        let mut position = 0;
        for expected in "aß€😀".chars() {
            let found = bin_utf8(binary, at(position));
            assert_eq!(found.as_fixnum(), Some(u32::from(expected).into()));
            position += utf8_bits(found).fixnum_value();
        }
        assert!(bin_utf8(binary, at(position)).is_none());
        for odd in [
            &[0x80][..],
            &[0xC3],
            &[0xED, 0xA0, 0x80],
            &[0xC0, 0x80],
            &[0xF8, 1, 1, 1],
        ] {
            let binary = heap.bytes(odd);
            assert!(bin_utf8(binary, at(0)).is_none(), "{odd:x?}");
        }
        assert!(
            utf8_bits(Value::fixnum(0xD800)).is_none() && utf8_bits(Value::fixnum(-1)).is_none()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 500 }))]

        #[test]
        fn any_bits(
            bits in proptest::collection::vec(any::<bool>(), 0..160),
            before in 0usize..8,
            from in 0usize..160,
            count in 0usize..70,
        ) {
            let mut heap = heap();
            let whole = match bits.len() % 8 {
                0 => {
                    let all = bitstring(&mut heap, &[&bits[..], &[true]].concat(), before);
                    bin_bits(&mut heap, all, at(0), at(bits.len() as i64))
                }
                _ => bitstring(&mut heap, &bits, before),
            };
            let found = |value: Value| {
                let bits = (!value.is_none()).then(|| value.as_bits().expect("bits"))?;
                let bit = |i| bits.part(i..i + 1).number() == 1;
                Some((0..bits.len()).map(bit).collect::<Vec<_>>())
            };
            prop_assert_eq!(found(whole), Some(bits.clone()));
            prop_assert_eq!(whole.as_binary().is_some(), bits.len() % 8 == 0);
            prop_assert_eq!(bit_size(whole).as_fixnum(), Some(bits.len() as i64));

            let position = at(from as i64);
            let there = bits.get(from..from + count);
            let number = number(bin_int(&mut heap, whole, position, spec(count as i64, false, false)));
            let expected = there.filter(|bits| bits.len() <= 64);
            let expected = expected.map(|bits| bits.iter().fold(0, |n, bit| n << 1 | i128::from(*bit)));
            prop_assert_eq!(number, expected);

            let part = bin_bits(&mut heap, whole, position, at(count as i64));
            prop_assert_eq!(found(part), there.map(<[bool]>::to_vec));
            let slice = bin_slice(&mut heap, whole, position, at(count as i64));
            let there = bits.get(from..from + 8 * count);
            prop_assert_eq!(found(slice), there.map(<[bool]>::to_vec));
            prop_assert!(slice.is_none() || slice.as_binary().is_some());
            let tail = bin_tail(&mut heap, whole, position);
            prop_assert_eq!(found(tail), bits.get(from..).map(<[bool]>::to_vec));
            let rest = bin_rest(&mut heap, whole, position);
            let binary = (!tail.is_none() && tail.as_binary().is_some()).then_some(tail);
            let binary = binary.filter(|_| from % 8 == 0).and_then(found);
            prop_assert!(from % 8 > 0 || found(rest) == binary);
            prop_assert!(rest.is_none() || rest.as_binary().is_some());
        }
    }
}
