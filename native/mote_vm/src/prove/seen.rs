//! The situations that a search has met: of each its digest, and how it was come to first.
//!
//! Invariants:
//! 1. A situation's number is that of its digest in `digests`; it is in `places` once.
//! 2. At most three of four places are taken.
use super::digest::mixed;

const FREE: u32 = u32::MAX;
const FEWEST: usize = 1 << 10;

/// The step that a situation was come to by: from which one, and by which of the events that waited there.
#[derive(Clone, Copy)]
pub(super) struct SearchStep {
    pub(super) from: u32,
    pub(super) event: u16,
}

/// See the head of this file.
pub(super) struct KnownSituations {
    digests: Vec<u128>,
    from: Vec<u32>,
    event: Vec<u16>,
    places: Vec<u32>,
}

impl KnownSituations {
    pub(super) fn new() -> KnownSituations {
        KnownSituations {
            digests: Vec::new(),
            from: Vec::new(),
            event: Vec::new(),
            places: vec![FREE; FEWEST],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.digests.len()
    }

    /// Bytes of the tables.
    pub(super) fn bytes(&self) -> usize {
        let each = size_of::<u128>() + size_of::<u32>() + size_of::<u16>();
        self.digests.capacity() * each + self.places.len() * size_of::<u32>()
    }

    /// The number of a situation, and whether it is new.
    pub(super) fn meet(&mut self, digest: u128, by: SearchStep) -> (u32, bool) {
        let mut at = self.start(digest);
        while self.places[at] != FREE {
            let number = self.places[at];
            if self.digests[number as usize] == digest {
                return (number, false);
            }
            at = (at + 1) % self.places.len();
        }
        let number = self.digests.len() as u32;
        self.places[at] = number;
        self.digests.push(digest);
        self.from.push(by.from);
        self.event.push(by.event);
        if 4 * self.digests.len() > 3 * self.places.len() {
            self.widen();
        }
        (number, true)
    }

    fn start(&self, digest: u128) -> usize {
        mixed(digest as u64, (digest >> 64) as u64) as usize % self.places.len()
    }

    fn widen(&mut self) {
        self.places = vec![FREE; 2 * self.places.len()];
        for number in 0..self.digests.len() {
            let mut at = self.start(self.digests[number]);
            while self.places[at] != FREE {
                at = (at + 1) % self.places.len();
            }
            self.places[at] = number as u32;
        }
    }

    /// The events that lead from the first situation to that one, each by its place among those that wait.
    pub(super) fn way(&self, to: u32) -> Vec<u16> {
        let mut way = Vec::new();
        let mut at = to;
        while at > 0 {
            way.push(self.event[at as usize]);
            at = self.from[at as usize];
        }
        way.reverse();
        way
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_is_new_once_and_has_its_way() {
        let mut seen = KnownSituations::new();
        let by = |from: u32| SearchStep {
            from,
            event: from as u16 + 1,
        };
        // Many begin their search for a place at the same one.
        let digest = |n: u32| u128::from(n % 7) << 64 | u128::from(n);
        for n in 0..5_000u32 {
            assert_eq!(seen.meet(digest(n), by(n / 2)), (n, true));
            assert_eq!(seen.meet(digest(n / 3), by(0)), (n / 3, false));
        }
        assert_eq!(seen.len(), 5_000);
        assert_eq!((seen.way(0), seen.way(11)), (vec![], vec![1, 2, 3, 6]));
    }
}
