//! Letters that an outbox holds beyond its capacity, and where they count meanwhile.
//!
//! Each is counted among what waits in the sponsor whose turn has sent it. So callers outside that feed a sponsor faster than the
//! reader takes what comes of it are refused there, or wait for room, as at any sponsor that is full.
//!
//! Invariants:
//! 1. What was counted in a sponsor is taken off its count once: when the letters before it were read, or nobody reads any more.
//! 2. Whoever has written counts, and whoever has read counts, after it has done so and under the senders' lock. So the last of
//!    them sees everything, and leaves as many counted as there are beyond the capacity.
use crate::values::foreign::HeldPlaces;
use std::collections::VecDeque;
use std::sync::Arc;

type CountedRun = (Arc<dyn HeldPlaces>, u64);

/// The letters of one outbox that are counted in sponsors.
#[derive(Default)]
pub(super) struct Surplus {
    /// In the order of their letters.
    runs: VecDeque<CountedRun>,
    counted: u64,
}

/// Letters that are not counted any more. They are taken off without a lock, since callers that wait for room are called then.
#[must_use]
pub(super) struct Uncounted(VecDeque<CountedRun>);

impl Surplus {
    /// Puts it right: so many letters are `beyond` the capacity. What has come since the last time counts in `places`.
    pub(super) fn put_right(
        &mut self,
        beyond: u64,
        places: Option<Arc<dyn HeldPlaces>>,
    ) -> Uncounted {
        if let (Some(more @ 1..), Some(places)) = (beyond.checked_sub(self.counted), places) {
            places.add_held(more as usize);
            self.runs.push_back((places, more));
            self.counted = beyond;
        }
        let mut uncounted = VecDeque::new();
        while self.counted > beyond {
            let Some((places, letters)) = self.runs.pop_front() else {
                break;
            };
            let less = letters.min(self.counted - beyond);
            if less < letters {
                self.runs.push_front((places.clone(), letters - less));
            }
            self.counted -= less;
            uncounted.push_back((places, less));
        }
        Uncounted(uncounted)
    }
}

impl Uncounted {
    pub(super) fn take_off(self) {
        for (places, letters) in self.0 {
            places.give_held(letters as usize);
        }
    }
}
