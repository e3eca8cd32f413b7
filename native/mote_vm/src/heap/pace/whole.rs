//! Which collections are whole, and which mark only what is young (heap/young.rs).
//!
//! A young collection marks what survives of what was made since the last one, and keeps old garbage. It pays where little survives.
//! Then collections come sooner: so less garbage waits for one, and all of them together take less time than whole ones.
//!
//! Invariants:
//! 1. What is old grows by one part in [`GROWTH`] of what the last whole collection has left, and by what one collection adds. Then the
//!    next is whole.
//!    It is whole after [`MOST_YOUNG`] young ones anyway: what goes with old garbage is not only memory, but also a socket or a file.
//! 2. Where much survives a young collection all are whole for a while, longer each time.
//! 3. Where little lives all are whole: they are as short, and turns have nothing to note for them.

/// Young collections are worth it while they mark less than one part in this many of what was allocated.
const WORTH: usize = 8;
/// See invariant 1.
const GROWTH: usize = 2;
/// See invariant 1.
const MOST_YOUNG: u32 = 16;
/// Most whole collections that come one after the other before a young one is tried again.
const MOST_WHOLE: u32 = 15;

/// What the last collections have shown.
#[derive(Default)]
pub(super) struct Generations {
    /// Bytes that the last whole collection has left.
    whole: usize,
    /// Bytes that are old, or were young garbage at the last one.
    old: usize,
    /// Young collections since then.
    young: u32,
    /// Whole collections that come before a young one is tried, the last time and from now on.
    refrained: u32,
    refrains: u32,
    pays: bool,
}

impl Generations {
    /// A whole collection has left that much, `survived` of it made since the one before, like all that was allocated; all of
    /// `least` bytes is little. Returns whether young ones pay.
    pub(super) fn was_whole(
        &mut self,
        left: usize,
        (survived, allocated): (usize, usize),
        least: usize,
    ) -> bool {
        let is_little = survived.saturating_mul(WORTH) < allocated;
        self.pays = left > least && is_little && self.refrains == 0;
        self.refrains = self.refrains.saturating_sub(1);
        (self.whole, self.old, self.young) = (left, left, 0);
        self.pays
    }

    /// A young collection has left that much in all, and has looked at so much for that. Returns whether more of them pay.
    pub(super) fn was_young(&mut self, left: usize, looked: usize, allocated: usize) -> bool {
        self.old = left;
        self.young += 1;
        self.pays = looked.saturating_mul(WORTH) < allocated;
        self.refrained = match self.pays {
            true => 0,
            false => (2 * self.refrained + 1).min(MOST_WHOLE),
        };
        self.refrains = self.refrained;
        self.pays
    }

    /// Returns whether the next collection may be young. What is old may grow by `least` bytes anyway.
    pub(super) fn may_be_young(&self, least: usize) -> bool {
        let may_grow = (self.whole / GROWTH).max(least);
        self.pays && self.young < MOST_YOUNG && self.old - self.whole <= may_grow
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn collections_are_young_while_little_survives_and_old_garbage_is_little() {
        let mut all = Generations::default();
        all.was_whole(1_000, (1_000, 1_000), 0);
        // All that was made lives.
        assert!(!all.may_be_young(0));
        all.was_whole(1_000, (0, 2_000), 1_000);
        assert!(!all.may_be_young(0));
        all.was_whole(1_000, (0, 2_000), 999);
        assert!(all.may_be_young(0));
        for old in [1_200, 1_500] {
            all.was_young(old, 200, 2_000);
            assert!(all.may_be_young(0));
        }
        all.was_young(1_501, 1, 2_000);
        assert!(!all.may_be_young(0) && all.may_be_young(501));
        all.was_whole(1_000, (0, 2_000), 0);
        assert!(all.may_be_young(0));
    }

    #[test]
    fn one_in_a_while_is_whole() {
        let mut all = Generations::default();
        all.was_whole(1_000, (0, 2_000), 0);
        for _ in 0..MOST_YOUNG {
            assert!(all.may_be_young(0));
            all.was_young(1_000, 0, 2_000);
        }
        assert!(!all.may_be_young(0));
        all.was_whole(1_000, (0, 2_000), 0);
        assert!(all.may_be_young(0));
    }

    #[test]
    fn where_much_survives_young_collections_are_tried_less_and_less() {
        let mut all = Generations::default();
        let mut wholes = Vec::new();
        for _ in 0..6 {
            let tries = (0..).find(|_| {
                all.was_whole(1_000, (0, 100_000), 0);
                all.may_be_young(0)
            });
            wholes.extend(tries);
            all.was_young(1_100, 500, 1_000);
            assert!(!all.may_be_young(0));
        }
        assert_eq!(wholes, [0, 1, 3, 7, 15, 15]);
        all.was_young(1_100, 1, 1_000);
        all.was_whole(1_000, (0, 1_000), 0);
        assert!(all.may_be_young(0));
    }
}
