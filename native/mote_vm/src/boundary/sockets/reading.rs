//! What a read asks for, and how much of the bytes that have come answers it.
//!
//! Invariants:
//! 1. A read takes no more than it answers with. What is read from the system beyond that, to find the end of a line, of a packet
//!    or of a pattern, stays for the next read, and is never more than the read's own limit.
//! 2. Bytes are looked at once, however slowly they come.
use crate::base::atom::Atom;

/// The most bytes of `:some`, and of one call to the system.
pub(crate) const CHUNK: usize = 64 << 10;

/// The request of a read.
pub(crate) enum ReadSpec {
    /// The connection is to be there.
    Connection,
    /// Also, and the answer is its socket.
    Socket,
    /// There will be no connection, for that reason. Nobody has asked yet.
    Failed(Atom),
    /// The next datagram, so many bytes of it at most.
    Datagram(u32),
    /// Whatever bytes have arrived.
    Some,
    Exact(u32),
    /// Up to a newline; so many bytes were looked at.
    Line {
        max: u32,
        seen: u32,
    },
    /// A packet behind its length, which takes this many bytes.
    Packet {
        width: u8,
        max: u32,
    },
    Until(Box<ReadUntil>),
}

/// A pattern to read up to.
pub(crate) struct ReadUntil {
    pub(crate) bytes: Vec<u8>,
    pub(crate) max: u32,
    pub(crate) seen: u32,
}

/// The result of matching a read against the bytes that have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadMatch {
    /// So many bytes are taken, and the answer is what follows the first `skip` of them.
    Answer { taken: usize, skip: usize },
    /// At most so many more are to be read.
    More(usize),
    /// The requested part is longer than it may be.
    TooLong,
}

impl ReadSpec {
    /// Looks at what is there.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> ReadMatch {
        let n = bytes.len();
        let answer = |taken| ReadMatch::Answer { taken, skip: 0 };
        match self {
            // The others are answered elsewhere.
            ReadSpec::Connection
            | ReadSpec::Failed(_)
            | ReadSpec::Socket
            | ReadSpec::Datagram(_)
            | ReadSpec::Some => match n {
                0 => ReadMatch::More(CHUNK),
                _ => answer(n.min(CHUNK)),
            },
            ReadSpec::Exact(wanted) => match (*wanted as usize).checked_sub(n) {
                Some(0) | None => answer(*wanted as usize),
                Some(more) => ReadMatch::More(more),
            },
            ReadSpec::Line { max, seen } => {
                let within = n.min(*max as usize);
                let from = (*seen as usize).min(within);
                match memchr::memchr(b'\n', &bytes[from..within]) {
                    Some(at) => answer(from + at + 1),
                    None => {
                        *seen = within as u32;
                        more_up_to(*max, n)
                    }
                }
            }
            ReadSpec::Packet { width, max } => {
                let width = *width as usize;
                let Some(length) = bytes.get(..width) else {
                    return ReadMatch::More(width + *max as usize - n);
                };
                let length = length.iter().fold(0, |n, byte| n << 8 | *byte as usize);
                if length > *max as usize {
                    return ReadMatch::TooLong;
                }
                match n >= width + length {
                    true => ReadMatch::Answer {
                        taken: width + length,
                        skip: width,
                    },
                    false => ReadMatch::More(width + *max as usize - n),
                }
            }
            ReadSpec::Until(pattern) => {
                let ReadUntil {
                    bytes: end,
                    max,
                    seen,
                } = &mut **pattern;
                let within = n.min(*max as usize);
                // The pattern may have begun in what was looked at.
                let from = (*seen as usize).saturating_sub(end.len() - 1).min(within);
                match memchr::memmem::find(&bytes[from..within], end) {
                    Some(at) => answer(from + at + end.len()),
                    None => {
                        *seen = within as u32;
                        more_up_to(*max, n)
                    }
                }
            }
        }
    }
}

fn more_up_to(max: u32, n: usize) -> ReadMatch {
    match (max as usize).checked_sub(n) {
        Some(0) | None => ReadMatch::TooLong,
        Some(more) => ReadMatch::More(more),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What is found when the bytes come in pieces of that size: the answer, or too long, or nothing.
    fn found(mut spec: ReadSpec, all: &[u8], piece: usize) -> Result<(Vec<u8>, usize), bool> {
        let mut n = 0;
        loop {
            match spec.find(&all[..n]) {
                ReadMatch::Answer { taken, skip } => return Ok((all[skip..taken].to_vec(), taken)),
                ReadMatch::TooLong => return Err(true),
                ReadMatch::More(_) if n == all.len() => return Err(false),
                ReadMatch::More(most) => {
                    assert!(most > 0);
                    n += piece.min(most).min(all.len() - n);
                }
            }
        }
    }

    type Case = (
        fn() -> ReadSpec,
        &'static [u8],
        Result<(&'static [u8], usize), bool>,
    );

    fn until(bytes: &[u8], max: u32) -> ReadSpec {
        ReadSpec::Until(Box::new(ReadUntil {
            bytes: bytes.to_vec(),
            max,
            seen: 0,
        }))
    }

    #[test]
    fn whatever_the_pieces_the_answer_is_the_same() {
        let cases: &[Case] = &[
            (|| ReadSpec::Exact(3), b"abcd", Ok((b"abc", 3))),
            (|| ReadSpec::Exact(0), b"", Ok((b"", 0))),
            (|| ReadSpec::Exact(5), b"abcd", Err(false)),
            (
                || ReadSpec::Line { max: 9, seen: 0 },
                b"ab\ncd\n",
                Ok((b"ab\n", 3)),
            ),
            (
                || ReadSpec::Line { max: 3, seen: 0 },
                b"ab\n",
                Ok((b"ab\n", 3)),
            ),
            (|| ReadSpec::Line { max: 3, seen: 0 }, b"abc\n", Err(true)),
            (|| ReadSpec::Line { max: 9, seen: 0 }, b"abc", Err(false)),
            (
                || ReadSpec::Packet { width: 2, max: 5 },
                b"\0\x03abcd",
                Ok((b"abc", 5)),
            ),
            (
                || ReadSpec::Packet { width: 1, max: 5 },
                b"\0",
                Ok((b"", 1)),
            ),
            (
                || ReadSpec::Packet { width: 4, max: 2 },
                b"\0\0\0\x03abc",
                Err(true),
            ),
            (
                || ReadSpec::Packet { width: 4, max: 3 },
                b"\0\0\0\x03ab",
                Err(false),
            ),
            (
                || until(b"\r\n\r\n", 20),
                b"a\r\n\r\r\n\r\nb",
                Ok((b"a\r\n\r\r\n\r\n", 8)),
            ),
            (|| until(b"\r\n", 4), b"abc\r\n", Err(true)),
            (|| until(b"\r\n", 5), b"abc\r\n", Ok((b"abc\r\n", 5))),
        ];
        for (case, (spec, all, expected)) in cases.iter().enumerate() {
            for piece in 1..=all.len().max(1) {
                let expected = expected.map(|(bytes, taken)| (bytes.to_vec(), taken));
                assert_eq!(
                    found(spec(), all, piece),
                    expected,
                    "case {case} by {piece}"
                );
            }
        }
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        assert_eq!(
            ReadSpec::Line { max: 7, seen: 0 }.find(b"abc"),
            ReadMatch::More(4)
        );
        assert_eq!(
            ReadSpec::Packet { width: 1, max: 7 }.find(b""),
            ReadMatch::More(8)
        );
        assert_eq!(ReadSpec::Exact(7).find(b"abc"), ReadMatch::More(4));
        assert_eq!(until(b"x", 7).find(b"abc"), ReadMatch::More(4));
    }
}
