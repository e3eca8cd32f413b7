//! Numbers in as few bytes as they need, and rows that are hardly longer than what is in them.
use std::collections::VecDeque;

/// Writes a number: seven bits a byte, the lowest first, and a bit that says whether more come.
#[inline]
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Bytes that are written one behind the other, with room behind them: nothing is filled in that is written over at once.
#[derive(Default)]
pub(super) struct RoomyBytes {
    bytes: Vec<u8>,
    /// The number of numbers that were written.
    written: usize,
}

impl RoomyBytes {
    pub(super) fn len(&self) -> usize {
        self.written
    }

    /// Forgets what was written from there on.
    pub(super) fn truncate(&mut self, written: usize) {
        self.written = written;
    }

    pub(super) fn written(&self, from: usize, to: usize) -> &[u8] {
        &self.bytes[from..to]
    }

    /// Makes room for so many more.
    pub(super) fn make_room(&mut self, more: usize) {
        let needed = self.written + more;
        if self.bytes.len() < needed {
            self.bytes.resize(2 * needed, 0);
        }
    }

    /// Writes a number like [`put`], where there is room.
    #[inline]
    pub(super) fn put(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.bytes[self.written] = number as u8 | 0x80;
            self.written += 1;
            number >>= 7;
        }
        self.bytes[self.written] = number as u8;
        self.written += 1;
    }
}

/// The most bytes of a number.
pub(super) const LONGEST: usize = 5;

/// Takes the number off that bytes begin with; 0 where there is none.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    number
}

/// Makes room for `more`, and for no more than an eighth of what is there: rows that fill the memory grow by less than twice.
#[inline]
pub(super) fn make_room<T>(row: &mut Vec<T>, more: usize) {
    if row.capacity() - row.len() < more {
        row.reserve_exact(more.max(row.len() / 8).max(64));
    }
}

/// Bytes of one piece of a line.
const PIECE: usize = 1 << 16;

/// Situations in a line, the first of them first.
#[derive(Default)]
pub(super) struct SituationLine {
    pieces: VecDeque<Vec<u8>>,
    /// The place of the next number in the first piece.
    at: usize,
    held: usize,
    spare: Vec<u8>,
}

impl SituationLine {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.held
    }

    pub(super) fn push(&mut self, written: &[u8]) {
        let needed = written.len() + LONGEST;
        let has_room = |piece: &Vec<u8>| piece.len() + needed <= PIECE;
        if !self.pieces.back().is_some_and(has_room) {
            let mut piece = std::mem::take(&mut self.spare);
            piece.clear();
            self.held += piece.capacity();
            self.pieces.push_back(piece);
        }
        if let Some(piece) = self.pieces.back_mut() {
            let before = piece.capacity();
            make_room(piece, needed);
            self.held += piece.capacity() - before;
            put(piece, written.len() as u32);
            piece.extend_from_slice(written);
        }
    }

    /// Takes the first one off, to the end of `written`. Returns whether there was one.
    pub(super) fn pop(&mut self, written: &mut Vec<u8>) -> bool {
        let Some(piece) = self.pieces.front() else {
            return false;
        };
        let mut rest = &piece[self.at..];
        let count = take(&mut rest) as usize;
        written.extend_from_slice(&rest[..count]);
        self.at = piece.len() - rest.len() + count;
        if self.at == piece.len() {
            self.held -= piece.capacity();
            self.at = 0;
            self.spare = self.pieces.pop_front().unwrap_or_default();
        }
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let all = [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX];
        let mut bytes = Vec::new();
        all.iter().for_each(|number| put(&mut bytes, *number));
        let mut rest = &bytes[..];
        assert!(all.iter().all(|number| take(&mut rest) == *number));
        assert!(rest.is_empty() && take(&mut rest) == 0);
    }

    #[test]
    fn situations_come_out_as_they_went_in() {
        let written = |n: usize| vec![n as u8; n * 37 % 5_000];
        let (mut line, mut out, mut next) = (SituationLine::default(), Vec::new(), 0);
        for n in 0..400 {
            line.push(&written(n));
            if n % 3 == 0 {
                assert!(line.pop(&mut out) && out == written(next));
                out.clear();
                next += 1;
            }
        }
        while line.pop(&mut out) {
            assert_eq!(out, written(next));
            out.clear();
            next += 1;
        }
        assert_eq!((next, line.is_empty(), line.bytes()), (400, true, 0));
    }
}
