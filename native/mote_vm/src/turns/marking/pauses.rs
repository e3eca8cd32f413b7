//! The times for which threads stood still for collections, counted by length: so a rare long pause differs from a usual one, in
//! the same few words of memory however many there were.

/// Lengths that are distinguished, each twice the one before.
const LENGTHS: usize = 32;
/// Bits of the least of these, in nanoseconds: every shorter pause counts as that.
const LEAST: u32 = 8;

/// Numbers of pauses of each length.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Pauses([u64; LENGTHS]);

impl Pauses {
    /// Counts one more pause, in nanoseconds.
    pub(crate) fn count(&mut self, nanoseconds: u64) {
        let bits = u64::BITS - nanoseconds.leading_zeros();
        let at = bits.saturating_sub(LEAST) as usize;
        self.0[at.min(LENGTHS - 1)] += 1;
    }

    /// The number of pauses for each length that occurred. A length is a power of two in nanoseconds: its pauses are shorter
    /// than that, and at least half as long, except for the shortest and, beyond nine minutes, the longest.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counts = self.0.iter().zip(LEAST..);
        counts.filter_map(|(n, bits)| (*n > 0).then_some((1 << bits, *n)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_counted_below_the_next_power_of_two() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.entries().count(), 0);
        for length in [0, 1, 255, 256, 511, 512, 1_000_000, 1 << 38, u64::MAX] {
            pauses.count(length);
        }
        let found: Vec<_> = pauses.entries().collect();
        let expected = [(256, 3), (512, 2), (1024, 1), (1 << 20, 1), (1 << 39, 2)];
        assert_eq!(found, expected);
    }
}
