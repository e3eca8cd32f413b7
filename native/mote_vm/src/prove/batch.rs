//! Situations that are looked at together, by as many threads as there are.
//!
//! Invariants:
//! 1. All of a batch are as many turns away from the first situation (known.rs).
//! 2. What is found is taken up in the order of the situations. So what a search finds does not depend on which thread has looked
//!    at which of them, on how many threads there are, or on how large batches are.
//! 3. What lookers keep until a batch is taken up is many times what its situations take, so these take [`MOST_BYTES`], and one more.
use super::compact::SituationLine;
use super::known::SearchKnowledge;
use super::looking::{LookEnd, Looker};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Builder;

/// Situations of a batch: on one thread, and for each of several.
const ALONE: usize = 64;
const FOR_EACH: usize = 2_048;

/// Bytes of the situations of a batch: as many as small ones take. A thousand steps may lead on from a large one, each to one as large.
const MOST_BYTES: usize = 1 << 18;

/// Situations that a thread takes at a time.
const AT_A_TIME: usize = 16;

/// The least number of situations for one thread: starting it costs as much as a few.
const WORTH_A_THREAD: usize = 64;

/// See the head of this file.
#[derive(Default)]
pub(super) struct SearchBatch {
    written: Vec<u8>,
    /// The end of each situation.
    ends: Vec<usize>,
    /// For each situation the looker that has looked at it, where its steps begin there, and how the look has ended.
    looked: Vec<(usize, usize, LookEnd)>,
    /// The number of situations that were taken up.
    taken: usize,
}

impl SearchBatch {
    pub(super) fn is_done(&self) -> bool {
        self.taken == self.ends.len()
    }

    /// Takes situations off the line, and no more than `most`.
    pub(super) fn fill(&mut self, line: &mut SituationLine, most: usize, threads: usize) {
        self.written.clear();
        self.ends.clear();
        self.taken = 0;
        let size = if threads > 1 {
            FOR_EACH * threads
        } else {
            ALONE
        };
        let has_room = |batch: &SearchBatch| {
            batch.ends.len() < size.min(most) && batch.written.len() < threads * MOST_BYTES
        };
        while has_room(self) && line.pop(&mut self.written) {
            self.ends.push(self.written.len());
        }
    }

    fn of(&self, at: usize) -> &[u8] {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.written[from..self.ends[at]]
    }

    /// The next that is taken up, by whom it was looked at, where its steps begin, and how the look has ended.
    pub(super) fn next(&mut self) -> (&[u8], usize, usize, LookEnd) {
        let at = self.taken;
        self.taken += 1;
        let (by, from, end) = self.looked[at];
        (self.of(at), by, from, end)
    }

    /// Looks at all of them.
    pub(super) fn look(&mut self, known: &SearchKnowledge, lookers: &mut [Looker]) {
        lookers.iter_mut().for_each(Looker::clear);
        let threads = (self.ends.len() / WORTH_A_THREAD).clamp(1, lookers.len());
        // Relaxed: which thread takes which situations makes no difference, and scopes end with all that was done in them.
        let next = AtomicUsize::new(0);
        let look = |looker: &mut Looker| loop {
            let from = next.fetch_add(AT_A_TIME, Relaxed);
            if from >= self.ends.len() {
                return;
            }
            let steps = looker.steps.len();
            for at in from..self.ends.len().min(from + AT_A_TIME) {
                let begin = looker.steps.len() as u32;
                let end = looker.look_at(known, self.of(at));
                looker.looked.push((at as u32, begin, end));
            }
            looker.look_up(known, steps);
        };
        if let [mine, others @ ..] = &mut lookers[..threads] {
            std::thread::scope(|scope| {
                for looker in others {
                    // Where the system gives no thread, the others look at more.
                    let _ = Builder::new().spawn_scoped(scope, || look(looker));
                }
                look(mine);
            });
        }
        self.looked.clear();
        let nothing = (0, 0, LookEnd::Rests);
        self.looked.resize(self.ends.len(), nothing);
        for (by, looker) in lookers.iter().enumerate() {
            for (at, from, end) in &looker.looked {
                self.looked[*at as usize] = (by, *from as usize, *end);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn of_large_situations_few_are_looked_at_together() {
        let large = vec![7; MOST_BYTES / 4 + 1];
        for (written, threads, together) in [
            (&large[..1], 1, ALONE),
            (&large[..1], 2, 2 * FOR_EACH),
            (&large[..], 1, 4),
            (&large[..], 2, 8),
        ] {
            let (mut line, mut batch) = (SituationLine::default(), SearchBatch::default());
            (0..3 * FOR_EACH).for_each(|_| line.push(written));
            batch.fill(&mut line, usize::MAX, threads);
            assert_eq!(batch.ends.len(), together);
            assert_eq!(batch.written.len(), together * written.len());
        }
    }
}
