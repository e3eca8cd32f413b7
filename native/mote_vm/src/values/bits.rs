//! Consecutive bits of some bytes, from any bit on: a bitstring, or a binary.
//!
//! Invariants:
//! 1. What the first and the last byte have beside these bits is never looked at.
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// Bits that are compared at once.
const AT_ONCE: usize = 64;

/// See the head of this file.
#[derive(Clone, Copy)]
pub struct Bits<'h> {
    bytes: &'h [u8],
    from: usize,
    len: usize,
}

impl<'h> Bits<'h> {
    /// All bits of these bytes.
    #[inline(always)]
    pub(crate) fn of(bytes: &'h [u8]) -> Bits<'h> {
        Bits {
            bytes,
            from: 0,
            len: bytes.len() * 8,
        }
    }

    /// Returns how many there are.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// Returns some of them, which must exist.
    #[inline(always)]
    pub(crate) fn part(self, range: Range<usize>) -> Bits<'h> {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        Bits {
            bytes: self.bytes,
            from: self.from + range.start,
            len: range.len(),
        }
    }

    /// The bytes that they are taken from, the places of those that they lie in, and how many bits of the first are not theirs, and of the
    /// last.
    #[inline(always)]
    pub(crate) fn place(self) -> (&'h [u8], Range<usize>, usize, usize) {
        let end = self.from + self.len;
        let bytes = self.from / 8..end.div_ceil(8);
        let unused = bytes.end * 8 - end;
        (self.bytes, bytes, self.from % 8, unused)
    }

    /// The bytes, if they begin with one and are whole ones.
    #[inline(always)]
    pub(crate) fn whole(self) -> Option<&'h [u8]> {
        let (bytes, range, before, behind) = self.place();
        (before == 0 && behind == 0).then(|| &bytes[range])
    }

    /// Returns how many bytes they take.
    pub fn bytes(self) -> usize {
        self.len.div_ceil(8)
    }

    /// Returns how many of the last of these are not used.
    pub fn unused(self) -> usize {
        8 * self.bytes() - self.len
    }

    /// They as bytes, of which the last has zeros behind them.
    pub fn padded(self) -> Cow<'h, [u8]> {
        match self.whole() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => self.each_byte().collect(),
        }
    }

    /// The same, one by one.
    pub(crate) fn each_byte(self) -> impl Iterator<Item = u8> + 'h {
        (0..self.bytes()).map(move |i| self.padded_number(i * 8, 8) as u8)
    }

    /// Returns at most 64 of them from a place on as a number, the highest first; zeros for those behind the end.
    #[inline]
    fn padded_number(self, at: usize, bits: usize) -> u64 {
        let there = bits.min(self.len - at);
        let number = self.part(at..at + there).number();
        match bits - there {
            0 => number,
            missing => number << missing,
        }
    }

    /// Returns at most 64 of them as a number, the highest first.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        let (from, bits) = (self.from, self.len);
        if from.is_multiple_of(8) && bits == 32 {
            // The usual length field.
            let at = from / 8;
            if let Some(Ok(word)) = self.bytes.get(at..at + 4).map(<[u8; 4]>::try_from) {
                return u32::from_be_bytes(word).into();
            }
        }
        let end = from + bits;
        let all = self.bytes[from / 8..end.div_ceil(8)]
            .iter()
            .fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        let all = all >> (end.div_ceil(8) * 8 - end);
        all as u64 & mask(bits)
    }

    /// Returns at most 64 of them as a number in little endian order: whole bytes from the lowest on, then the rest as the
    /// highest bits.
    pub(crate) fn little_endian(self) -> u64 {
        let whole = self.len / 8;
        let low = (0..whole).fold(0, |n, i| {
            n | self.part(i * 8..i * 8 + 8).number() << (8 * i)
        });
        match self.len % 8 {
            0 => low,
            _ => low | self.part(whole * 8..self.len).number() << (8 * whole),
        }
    }
}

/// The order of Erlang: the first bit that differs decides, and then which one ends.
impl Ord for Bits<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Some(a), Some(b)) = (self.whole(), other.whole()) {
            return a.cmp(b);
        }
        let both = self.len.min(other.len);
        for at in (0..both).step_by(AT_ONCE) {
            let range = at..both.min(at + AT_ONCE);
            let (a, b) = (self.part(range.clone()), other.part(range));
            match a.number().cmp(&b.number()) {
                Ordering::Equal => {}
                different => return different,
            }
        }
        self.len.cmp(&other.len)
    }
}

impl PartialOrd for Bits<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bits<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bits<'_> {}

fn mask(bits: usize) -> u64 {
    match bits {
        0 => 0,
        _ => u64::MAX >> (64 - bits),
    }
}
