//! The situations that a search has met, by their digests.
//!
//! Invariants:
//! 1. A situation's number is that of its digest in `digests`; it is in `places` once, with a few bits of its digest, so that most
//!    others are told from it without a look at `digests`.
//! 2. At most three of four places are taken.
use super::compact::make_room;
use super::digest::Digest;
use crate::platform::prefetch::prefetch;

const FREE: u32 = u32::MAX;
const FEWEST: usize = 1 << 8;

/// The bits of a place that are the number's. The largest number would be `FREE`.
const NUMBER: u32 = MOST_SITUATIONS as u32;

/// Situations that can be told apart.
pub(super) const MOST_SITUATIONS: u64 = (1 << 28) - 1;

/// See the head of this file.
pub(super) struct KnownSituations {
    digests: Vec<Digest>,
    places: Vec<u32>,
}

impl KnownSituations {
    pub(super) fn new() -> KnownSituations {
        KnownSituations {
            digests: Vec::new(),
            places: vec![FREE; FEWEST],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.digests.len()
    }

    /// Bytes of the tables.
    pub(super) fn bytes(&self) -> usize {
        self.digests.capacity() * size_of::<Digest>() + self.places.len() * size_of::<u32>()
    }

    /// Calls for what tells whether a situation is known.
    #[inline]
    pub(super) fn prefetch(&self, digest: Digest) {
        prefetch((&raw const self.places[self.start(digest)]).cast());
    }

    /// Calls for the digest that is to be that of a situation, as soon as its place has come.
    #[inline]
    pub(super) fn prefetch_digest(&self, digest: Digest) {
        let number = self.places[self.start(digest)] & NUMBER;
        if let Some(known) = self.digests.get(number as usize) {
            prefetch((&raw const *known).cast());
        }
    }

    /// The digest of a situation.
    pub(super) fn digest(&self, number: u32) -> Digest {
        self.digests[number as usize]
    }

    /// The number of a situation, if it is known.
    #[inline]
    pub(super) fn number(&self, digest: Digest) -> Option<u32> {
        self.find(digest).ok()
    }

    /// The number of a situation; or the place for it.
    #[inline]
    fn find(&self, digest: Digest) -> Result<u32, usize> {
        let mark = mark(digest);
        let mut at = self.start(digest);
        loop {
            let place = self.places[at];
            if place == FREE {
                return Err(at);
            }
            let number = place & NUMBER;
            if place & !NUMBER == mark && self.digests[number as usize] == digest {
                return Ok(number);
            }
            at = self.behind(at);
        }
    }

    /// The number of a situation, and whether it is new.
    pub(super) fn meet(&mut self, digest: Digest) -> (u32, bool) {
        let mark = mark(digest);
        let at = match self.find(digest) {
            Ok(number) => return (number, false),
            Err(at) => at,
        };
        let number = self.digests.len() as u32;
        self.places[at] = number | mark;
        make_room(&mut self.digests, 1);
        self.digests.push(digest);
        if 4 * self.digests.len() > 3 * self.places.len() {
            self.widen();
        }
        (number, true)
    }

    fn start(&self, digest: Digest) -> usize {
        ((u64::from(digest[0]) * self.places.len() as u64) >> 32) as usize
    }

    fn behind(&self, at: usize) -> usize {
        if at + 1 == self.places.len() {
            0
        } else {
            at + 1
        }
    }

    fn widen(&mut self) {
        let places = self.places.len() + self.places.len() / 4;
        self.places = Vec::new();
        self.places = vec![FREE; places];
        for number in 0..self.digests.len() {
            let digest = self.digests[number];
            let mut at = self.start(digest);
            while self.places[at] != FREE {
                at = self.behind(at);
            }
            self.places[at] = number as u32 | mark(digest);
        }
    }
}

/// Returns some bits of a digest, for which a place has room.
fn mark(digest: Digest) -> u32 {
    digest[2] & !NUMBER
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_is_new_once() {
        let mut seen = KnownSituations::new();
        // Many begin their search for a place at the same one, and look alike there.
        let digest = |n: u32| [(n % 7) << 29, n, (n % 3) << 30];
        for n in 0..5_000u32 {
            assert_eq!(seen.meet(digest(n)), (n, true));
            assert_eq!(seen.meet(digest(n / 3)), (n / 3, false));
        }
        assert_eq!(seen.len(), 5_000);
        let each = seen.bytes() / seen.len();
        assert!(each < 26, "{each} bytes");
    }
}
