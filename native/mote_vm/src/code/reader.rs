//! Reads numbers, strings and sequences from untrusted bytes. Knows nothing of units.
//!
//! Nothing here panics, and nothing allocates more than the bytes that are really there can justify.

use super::error::{FormatProblem, LoadError};

/// A position within bytes.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Returns the number of bytes that have been read.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes that are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], LoadError> {
        // `at` never passes the end, so the slice from it exists; `get` refuses a count that is too large.
        let taken = self.bytes[self.at..]
            .get(..count)
            .ok_or_else(|| problem(self.at, FormatProblem::End))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, LoadError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// Eight bytes, little endian.
    pub fn u64(&mut self) -> Result<u64, LoadError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// An unsigned LEB128 varint of at most ten bytes and 64 bits. Padding with zero bits is allowed.
    pub fn varint(&mut self) -> Result<u64, LoadError> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            // Of the tenth byte only the lowest bit is still within 64.
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(problem(start, FormatProblem::Varint))
    }

    /// A zigzag varint: 0, -1, 1, -2, …
    pub fn signed(&mut self) -> Result<i64, LoadError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A varint of at most `max`, in the type of `max`; `what` names it in the error.
    pub fn at_most<T>(&mut self, what: &'static str, max: T) -> Result<T, LoadError>
    where
        T: Copy + TryFrom<u64> + Into<u64>,
    {
        let start = self.at;
        let value = self.varint()?;
        T::try_from(value)
            .ok()
            .filter(|_| value <= max.into())
            .ok_or_else(|| {
                let max = max.into();
                problem(start, FormatProblem::TooLarge { what, value, max })
            })
    }

    /// Reads a length and that many bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], LoadError> {
        let start = self.at;
        let length = self.varint()?;
        // A length that does not fit into `usize` is longer than the bytes as well.
        let length = usize::try_from(length).map_err(|_| problem(start, FormatProblem::End))?;
        self.take(length)
    }

    /// Reads a length and that many bytes of UTF-8.
    pub fn string(&mut self) -> Result<&'a str, LoadError> {
        let start = self.at;
        std::str::from_utf8(self.bytes()?).map_err(|_| problem(start, FormatProblem::Utf8))
    }

    /// Reads a count and that many items, at most `max` of them. An item takes at least `item_bytes` bytes, so a count that the
    /// rest of the input cannot hold is refused before anything is allocated for it.
    pub fn sequence<T>(
        &mut self,
        what: &'static str,
        max: usize,
        item_bytes: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, LoadError>,
    ) -> Result<Vec<T>, LoadError> {
        let start = self.at;
        let count = self.at_most(what, max as u64)?;
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.remaining() / item_bytes.max(1))
            .ok_or_else(|| problem(start, FormatProblem::End))?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

fn problem(offset: usize, problem: FormatProblem) -> LoadError {
    LoadError::Format { offset, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(bytes: &[u8]) -> Result<u64, LoadError> {
        Reader::new(bytes).varint()
    }

    #[test]
    fn varints_hold_64_bits_and_no_more() {
        assert_eq!(varint(&[0]), Ok(0));
        assert_eq!(varint(&[0xac, 0x02]), Ok(300));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(varint(&most), Ok(u64::MAX));
        most[9] = 2;
        assert_eq!(varint(&most), Err(problem(0, FormatProblem::Varint)));
        assert_eq!(varint(&[0x80; 11]), Err(problem(0, FormatProblem::Varint)));
        assert_eq!(varint(&[0x80]), Err(problem(1, FormatProblem::End)));
    }

    #[test]
    fn zigzag_reaches_both_ends() {
        let signed = |bytes: &[u8]| Reader::new(bytes).signed();
        assert_eq!(signed(&[1]), Ok(-1));
        assert_eq!(signed(&[2]), Ok(1));
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(signed(&most), Ok(i64::MIN));
        most[0] = 0xfe;
        assert_eq!(signed(&most), Ok(i64::MAX));
    }

    #[test]
    fn strings_are_checked() {
        assert_eq!(Reader::new(b"\x02hi").string(), Ok("hi"));
        assert_eq!(
            Reader::new(b"\x02\xff\xff").string(),
            Err(problem(0, FormatProblem::Utf8))
        );
        assert_eq!(
            Reader::new(b"\x03hi").string(),
            Err(problem(1, FormatProblem::End))
        );
        let mut forged = [0xff; 10];
        forged[9] = 1;
        assert!(Reader::new(&forged).string().is_err());
    }

    #[test]
    fn a_forged_count_is_refused_before_the_first_item() {
        let count = |bytes: &[u8], max, item_bytes| {
            Reader::new(bytes).sequence("items", max, item_bytes, Reader::u8)
        };
        assert_eq!(count(&[2, 7, 8], 9, 1), Ok(vec![7, 8]));
        assert_eq!(count(&[3, 7, 8], 9, 1), Err(problem(0, FormatProblem::End)));
        assert_eq!(
            count(&[2, 7, 8, 9], 9, 2),
            Err(problem(0, FormatProblem::End))
        );
        let too_large = FormatProblem::TooLarge {
            what: "items",
            value: 2,
            max: 1,
        };
        assert_eq!(count(&[2, 7, 8], 1, 1), Err(problem(0, too_large)));
        let mut forged = [0xff; 10];
        forged[9] = 1;
        assert!(count(&forged, usize::MAX, 1).is_err());
    }
}
