//! The blocks of an image's file: a length, a checksum, and that many bytes of the contents.
//!
//! Invariants:
//! 1. All blocks but the last have [`BLOCK`] bytes, and the last one has some: so a byte of the contents has a place in the file that
//!    can be computed.
//! 2. The checksum of a block depends on its number: a block in another's place is as wrong as a changed one.
use super::{wrong, ImageError};
use crate::base::checksum::checksum;

/// The first bytes of a file, and the version of the format.
const MAGIC: [u8; 8] = *b"MOTE\0img";
const VERSION: u64 = 2;
/// Bytes of the contents in a block.
const BLOCK: usize = 1 << 20;
/// Bytes before those of a block: its length and its checksum.
const HEAD: usize = 16;
/// Bytes before the first block.
const FIRST: usize = 16;

/// Takes the blocks of an image as they become full. Returns room for another one, such as that of a block that is written; none if
/// nobody wants any more.
pub(crate) type TakeBlock<'t> = &'t mut dyn FnMut(Vec<u8>) -> Option<Vec<u8>>;

/// Bytes that a writer has room for before it asks for more: a block, and the records that go beyond it.
const ROOM: usize = FIRST + HEAD + BLOCK + (64 << 10);

/// The contents of an image on their way into blocks.
pub(crate) struct BlockWriter<'t> {
    /// The block that becomes full, as it will be in the file, and perhaps more.
    bytes: Vec<u8>,
    /// The place in it where the contents begin.
    from: usize,
    take: TakeBlock<'t>,
    blocks: u64,
    /// True if nobody wants any more.
    pub(crate) refused: bool,
}

impl<'t> BlockWriter<'t> {
    pub(crate) fn new(take: TakeBlock<'t>) -> BlockWriter<'t> {
        let mut bytes = Vec::with_capacity(ROOM);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; HEAD]);
        BlockWriter {
            from: bytes.len(),
            bytes,
            take,
            blocks: 0,
            refused: false,
        }
    }

    /// Returns the number of bytes of the contents that were written.
    pub(crate) fn len(&self) -> u64 {
        self.blocks * BLOCK as u64 + (self.bytes.len() - self.from) as u64
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.put(byte.into(), 1);
    }

    /// A number, seven bits in a byte, the lowest first.
    #[inline(always)]
    pub(crate) fn varint(&mut self, n: u64) {
        match n >> 56 {
            _ if n < 0x80 => self.put(n, 1),
            0 => {
                let (word, length) = spread(n);
                self.put(word, length);
            }
            _ => self.long_varint(n),
        }
    }

    /// The lowest bytes of a word, at most all eight. All of it is stored, whatever its length is: that takes one store.
    #[inline(always)]
    fn put(&mut self, word: u64, length: usize) {
        self.bytes.reserve(size_of::<u64>());
        let end = self.bytes.len();
        // SAFETY: there is room for the word, and `length` bytes of it become part of the row.
        unsafe {
            let room = self.bytes.as_mut_ptr().add(end);
            room.cast::<u64>().write_unaligned(word.to_le());
            self.bytes.set_len(end + length);
        }
    }

    /// Returns where the record begins that comes next, for [`Self::take_back`].
    #[inline(always)]
    pub(crate) fn next_record(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets what was written since the record began, before it was settled.
    pub(crate) fn take_back(&mut self, record: usize) {
        self.bytes.truncate(record);
    }

    #[cold]
    fn long_varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    #[inline(always)]
    pub(crate) fn word(&mut self, word: u64) {
        self.put(word, size_of::<u64>());
    }

    /// A length, and that many bytes.
    pub(crate) fn text(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Hands over the blocks that are full.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if self.bytes.len() - self.from >= BLOCK {
            self.hand_over_full();
        }
    }

    #[cold]
    fn hand_over_full(&mut self) {
        let beyond = self.bytes.split_off(self.from + BLOCK);
        self.hand_over();
        for part in beyond.chunks(BLOCK) {
            self.bytes.extend_from_slice(part);
            if part.len() == BLOCK {
                self.hand_over();
            }
        }
    }

    /// Hands over the block, and begins another one.
    fn hand_over(&mut self) {
        let mut block = std::mem::take(&mut self.bytes);
        let (before, contents) = block.split_at_mut(self.from);
        let (_, head) = before.split_at_mut(self.from - HEAD);
        head[..8].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        head[8..].copy_from_slice(&checksum(self.blocks, contents).to_le_bytes());
        if self.refused {
            self.bytes = block;
        } else if let Some(room) = (self.take)(block) {
            self.bytes = room;
        } else {
            self.refused = true;
        }
        self.bytes.clear();
        self.bytes.reserve(ROOM);
        self.bytes.extend_from_slice(&[0; HEAD]);
        self.from = HEAD;
        self.blocks += 1;
    }

    /// Hands over the rest. Returns whether everything was taken.
    pub(crate) fn finish(mut self) -> bool {
        self.settle();
        if self.bytes.len() > self.from {
            self.hand_over();
        }
        !self.refused
    }
}

/// The bytes of a number of at most 56 bits, seven in each, the lowest first; and how many these are. No step depends on the number:
/// lengths that change from one to the next would be guessed wrongly.
#[inline(always)]
fn spread(n: u64) -> (u64, usize) {
    let length = (n | 1).ilog2() as usize / 7 + 1;
    let n = n & 0x0FFF_FFFF | (n & 0xFF_FFFF_F000_0000) << 4;
    let n = n & 0x3FFF_0000_3FFF | (n & 0xFFF_C000_0FFF_C000) << 2;
    let n = n & 0x7F_007F_007F_007F | (n & 0x3F80_3F80_3F80_3F80) << 1;
    let others = (1 << (8 * (length - 1))) - 1;
    (n | 0x8080_8080_8080_8080 & others, length)
}

/// The contents of a file, where they were checked.
pub(crate) fn contents(mut file: Vec<u8>) -> Result<Vec<u8>, ImageError> {
    if file.get(..MAGIC.len()) != Some(&MAGIC[..]) {
        return wrong(0, "this is not an image of a machine");
    }
    match word_at(&file, MAGIC.len()) {
        Some(VERSION) => {}
        Some(other) => {
            let problem = format!(
                "the image is of version {other} of the format, and this Mote reads version {VERSION}"
            );
            return wrong(MAGIC.len(), problem);
        }
        None => return wrong(file.len(), "the file ends here, in the middle of the image"),
    }
    let (mut at, mut number, mut kept) = (FIRST, 0, 0);
    while at < file.len() {
        let (Some(length), Some(sum)) = (word_at(&file, at), word_at(&file, at + 8)) else {
            return wrong(file.len(), "the file ends here, in the middle of the image");
        };
        let from = at + HEAD;
        let length = match usize::try_from(length) {
            Ok(length) if (1..=BLOCK).contains(&length) => length,
            _ => return wrong(at, format!("a block cannot have {length} bytes")),
        };
        let Some(block) = file.get(from..from + length) else {
            return wrong(file.len(), "the file ends here, in the middle of the image");
        };
        if checksum(number, block) != sum {
            return wrong(
                at,
                "the checksum of the block is wrong: its bytes were changed",
            );
        }
        if length < BLOCK && from + length < file.len() {
            return wrong(from + length, "nothing may follow the last block");
        }
        file.copy_within(from..from + length, kept);
        kept += length;
        at = from + length;
        number += 1;
    }
    file.truncate(kept);
    Ok(file)
}

/// The place in the file of a byte of the contents.
pub(crate) fn place(offset: u64) -> u64 {
    FIRST as u64 + offset + HEAD as u64 * (offset / BLOCK as u64 + 1)
}

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(contents: &[u8]) -> Vec<u8> {
        file_by(700_000, contents)
    }

    /// Settles each time when that many bytes are written.
    fn file_by(record: usize, contents: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut take = |block: Vec<u8>| {
            file.extend(block);
            Some(Vec::new())
        };
        let mut writer = BlockWriter::new(&mut take);
        for part in contents.chunks(record) {
            writer.bytes.extend_from_slice(part);
            writer.settle();
        }
        assert_eq!(writer.len(), contents.len() as u64);
        assert!(writer.finish());
        file
    }

    #[test]
    fn contents_come_back_and_each_byte_has_its_place() {
        let bytes: Vec<u8> = (0..2 * BLOCK + 77).map(|n| (n / 3) as u8).collect();
        for record in [1 << 12, 700_000, 2 * BLOCK, bytes.len()] {
            let file = file_by(record, &bytes);
            for at in [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 76] {
                assert_eq!(file[place(at as u64) as usize], bytes[at]);
            }
            assert!(contents(file).as_deref() == Ok(&bytes[..]), "{record}");
        }
    }

    #[test]
    fn a_record_that_is_taken_back_leaves_nothing() {
        let mut taken = Vec::new();
        let mut take = |block: Vec<u8>| {
            taken.extend(block);
            None
        };
        let mut writer = BlockWriter::new(&mut take);
        writer.varint(300);
        let record = writer.next_record();
        writer.byte(1);
        writer.word(u64::MAX);
        writer.take_back(record);
        writer.varint(1 << 60);
        assert_eq!(writer.len(), 11);
        assert!(!writer.finish());
        let numbers = [0xAC, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 16];
        assert_eq!(contents(taken).as_deref(), Ok(&numbers[..]));
    }

    #[test]
    fn numbers_are_written_seven_bits_in_a_byte() {
        for n in (0..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits, u64::MAX >> bits]) {
            let mut take = |_| Some(Vec::new());
            let mut writer = BlockWriter::new(&mut take);
            let from = writer.bytes.len();
            writer.varint(n);
            let bytes = &writer.bytes[from..];
            let (last, others) = bytes.split_last().expect("a byte");
            assert!(
                *last < 0x80 && others.iter().all(|byte| *byte >= 0x80),
                "{n}"
            );
            let groups = bytes.iter().rev();
            let read = groups.fold(0, |read, byte| read << 7 | u64::from(byte & 0x7F));
            assert_eq!((read, n == 0 || n >> (7 * others.len()) > 0), (n, true));
        }
    }

    #[test]
    fn a_file_that_was_cut_is_refused_wherever_it_was() {
        let file = file(&[7; 100]);
        for length in 0..file.len() {
            let cut = contents(file[..length].to_vec());
            // A file without a block has no contents: the tables are missed then.
            assert!(length == FIRST || matches!(cut, Err(ImageError::At { .. })));
        }
    }

    #[test]
    fn blocks_that_changed_places_are_refused() {
        let mut file = file(&[5; 2 * BLOCK]);
        let (a, b) = file[FIRST..].split_at_mut(HEAD + BLOCK);
        a[..HEAD].swap_with_slice(&mut b[..HEAD]);
        assert!(contents(file).is_err());
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed(bytes: Vec<u8>, at: prop::sample::Index, by in 1..=255u8) {
            prop_assume!(!bytes.is_empty());
            let mut changed = file(&bytes);
            let at = at.index(changed.len());
            changed[at] ^= by;
            prop_assert!(contents(changed).is_err());
        }
    }
}
