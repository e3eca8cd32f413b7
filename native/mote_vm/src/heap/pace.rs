//! When to collect:
//! - after the machine has allocated an amount in proportion to what was live after the last collection;
//! - later while more is queued than then, in proportion, because most of it is still live;
//! - later, too, while a long queue gets shorter, because little of it will soon be live;
//! - earlier when the machine rests, and for nearly anything when it has rested for long;
//! - when memory runs out;
//! - now and then while a caller outside waits for an answer, because that caller must be notified if nothing can answer it any
//!   more.
mod config;
mod whole;

pub use config::{GcConfig, Stress};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use whole::Generations;

/// Under stress, this many collections follow one after each turn; the others leave half of the time to the turns.
const ONE_EACH: u64 = 500;
/// While memory is used up, collections take one part in this many of the time.
pub(crate) const SHARE_WHEN_FULL: u64 = 5;
/// While somebody waits for an answer, they take one part in this many at most.
const SHARE_WHEN_AWAITED: u64 = 20;
/// Collections in long rests take one part in this many of the time, unless much was made or the last one was made beside
/// turns.
const SHARE_AT_LONG_REST: u64 = 50;
/// Wait of the first collection after a question, and the longest wait of one while nobody asks anew.
pub(crate) const FIRST_PATIENCE: Duration = Duration::from_millis(10);
const MOST_PATIENCE: Duration = Duration::from_secs(1);

/// A collection waits until `EACH` bytes are allocated for each event that was queued since the last one began and still
/// is. When that is so for those that were queued, the queue is looked at again.
const EACH: usize = 256;
/// A machine that rests collects after that part of what is allocated between two collections otherwise.
const AT_REST: usize = 4;
/// One that has done nothing for long collects after one part in this many of what lived, and after this many bytes: so its
/// garbage is little beside what lives, and what comes now and then costs no collection each time.
const AT_LONG_REST: usize = 16;
const LEAST_AT_LONG_REST: usize = 512 << 10;
/// While a collection marks, turns make at most one part in this many of what it has to mark, as far as slices can see to
/// that: all of it counts as live.
const MEANWHILE: usize = 4;
/// One part in this many of the memory that is left is for what is made before a collection begins. The same part of the rest
/// is for what is made while it marks.
const OF_WHAT_IS_LEFT: usize = 2;
/// While young collections pay, they come after one part in this many of what is allocated before a whole one.
const SOONER: usize = 8;
/// This many events are a long queue: while it gets shorter, a collection waits for half as much again, once.
const LONG: u64 = 16 * 1024;

/// Work that waits.
pub(crate) struct Queued {
    pub(crate) events: u64,
    pub(crate) grows: bool,
    pub(crate) shrinks: bool,
}

/// The pace of one machine. All numbers are hints that guard nothing, hence relaxed. Times are nanoseconds since the
/// start.
pub(crate) struct Pace {
    pub(crate) config: GcConfig,
    start: Instant,
    allocated: AtomicUsize,
    /// The value of `allocated` when the current collection began.
    at_begin: AtomicUsize,
    /// Bytes that the last collection left, found or made meanwhile.
    left: AtomicUsize,
    /// Bytes that the last collection found live, and how many may be allocated while the next one marks.
    expected: AtomicUsize,
    grace: AtomicUsize,
    /// True if turns have run since the last collection began, as far as threads have reported; and true if that one began and
    /// ended in a long rest.
    worked: AtomicBool,
    settled: AtomicBool,
    generations: Mutex<Generations>,
    /// Bytes that survived the collection that ends.
    survived: AtomicUsize,
    /// True if memory was short since the last whole collection began.
    calls_for_all: AtomicBool,
    /// Most bytes that may be allocated before a collection begins, for the sake of the quota. It is not put off beyond that.
    most: AtomicUsize,
    /// The fewest events that were queued, as far as anybody looked, since the last collection began: what is queued
    /// beyond them has come since.
    fewest_queued: AtomicU64,
    threshold: AtomicUsize,
    /// The threshold of a machine that rests.
    at_rest: AtomicUsize,
    due: AtomicBool,
    /// True if the next collection has been put off because there was less and less to do. One thread at a time puts it off.
    waits_for_end: Mutex<bool>,
    collections: AtomicU64,
    /// Time when the last collection ended, and how long it kept threads from their turns.
    ended: AtomicU64,
    pause: AtomicU64,
    /// Time since which it is known that somebody waits; 0 means nobody, or not since the last collection.
    awaited_since: AtomicU64,
    /// The newest question at the last collection, and how long the next one waits if it is still the newest.
    question: AtomicU64,
    patience: AtomicU64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::new(GcConfig::default())
    }
}

impl Pace {
    pub(crate) fn new(config: GcConfig) -> Pace {
        Pace {
            config,
            start: Instant::now(),
            allocated: AtomicUsize::new(0),
            at_begin: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            expected: AtomicUsize::new(0),
            grace: AtomicUsize::new(config.min / MEANWHILE),
            worked: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            generations: Mutex::default(),
            survived: AtomicUsize::new(0),
            calls_for_all: AtomicBool::new(false),
            most: AtomicUsize::new(usize::MAX),
            fewest_queued: AtomicU64::new(0),
            threshold: AtomicUsize::new(config.min),
            at_rest: AtomicUsize::new(config.min / AT_REST),
            due: AtomicBool::new(false),
            waits_for_end: Mutex::new(false),
            collections: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            pause: AtomicU64::new(0),
            awaited_since: AtomicU64::new(0),
            question: AtomicU64::new(0),
            patience: AtomicU64::new(FIRST_PATIENCE.as_nanos() as u64),
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// An allocator was given `bytes` to fill.
    pub(crate) fn allocated(&self, bytes: usize) {
        let before = self.allocated.fetch_add(bytes, Relaxed);
        if before + bytes >= self.threshold.load(Relaxed) {
            self.due.store(true, Relaxed);
        }
    }

    /// `bytes` that an allocator was given are free again without a collection.
    pub(crate) fn freed(&self, bytes: usize) {
        if bytes > 0 {
            let less = |allocated: usize| Some(allocated.saturating_sub(bytes));
            let _ = self.allocated.fetch_update(Relaxed, Relaxed, less);
        }
    }

    /// Memory is about to end: a collection, unless `least` bytes were not allocated since the last one.
    pub(crate) fn hurry(&self, least: usize) -> bool {
        let due = self.allocated.load(Relaxed) >= least;
        if due {
            self.awaited();
        }
        due
    }

    /// Memory has ended, of which `much` is worth another collection. What is live may all the same become garbage without anything
    /// being allocated, so time is what spaces collections then.
    #[cold]
    pub(crate) fn refused(&self, much: usize) {
        let rest = self.pause.load(Relaxed) * (SHARE_WHEN_FULL - 1);
        if self.has_allocated(much) || self.now() >= self.ended.load(Relaxed) + rest {
            self.awaited();
        }
    }

    /// Somebody waits for memory: a collection is due that leaves no garbage.
    pub(crate) fn awaited(&self) {
        self.calls_for_all.store(true, Relaxed);
        self.due.store(true, Relaxed);
    }

    /// Returns whether at least `bytes` were allocated since the last collection.
    pub(crate) fn has_allocated(&self, bytes: usize) -> bool {
        self.allocated.load(Relaxed) >= bytes
    }

    /// Returns whether somebody waited when it was looked last.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited_since.load(Relaxed) != 0
    }

    /// Returns how long to wait before checking whether somebody waits in vain. `newest` is the newest question, if any is
    /// still open.
    pub(crate) fn until_look(&self, newest: Option<u64>) -> Option<Duration> {
        if newest.is_none() {
            // Each question ends with this look, and seldom is there anything to write.
            if self.is_awaited() {
                self.awaited_since.store(0, Relaxed);
            }
            return None;
        }
        let now = self.now();
        let since = match self.awaited_since.load(Relaxed) {
            0 => {
                self.awaited_since.store(now, Relaxed);
                now
            }
            since => since,
        };
        let patience = match newest {
            Some(newest) if newest == self.question.load(Relaxed) => self.patience.load(Relaxed),
            _ => FIRST_PATIENCE.as_nanos() as u64,
        };
        let rest = self.pause.load(Relaxed) * (SHARE_WHEN_AWAITED - 1);
        let at = since + patience.max(rest);
        Some(Duration::from_nanos(at.saturating_sub(now)))
    }

    /// Returns whether a collection should happen at the next opportunity.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Relaxed) || self.config.stress != Stress::Off && self.is_stress_due()
    }

    /// Returns whether a collection can wait that is due because of what was allocated. It can if it would find most of that
    /// live, or will find less of it live soon.
    #[cold]
    pub(crate) fn put_off(&self, queued: impl FnOnce() -> Queued) -> bool {
        if self.config.stress != Stress::Off {
            return false;
        }
        let mut waits_for_end = self.waits_for_end.lock();
        if !self.due.load(Relaxed) {
            // Another thread was faster.
            return true;
        }
        let (threshold, allocated) = (self.threshold(), self.allocated.load(Relaxed));
        if allocated < threshold {
            // For want of memory.
            return false;
        }
        let most = self.most.load(Relaxed);
        if allocated >= most {
            return false;
        }
        let queued = queued();
        let later = if queued.shrinks && !queued.grows {
            if queued.events < LONG || *waits_for_end {
                return false;
            }
            *waits_for_end = true;
            allocated.saturating_add(allocated / 2)
        } else {
            self.saw_queued(queued.events);
            let more = queued
                .events
                .saturating_sub(self.fewest_queued.load(Relaxed));
            let until = EACH.saturating_mul(more as usize);
            if until <= allocated {
                return false;
            }
            until
        };
        self.threshold.store(later.min(most), Relaxed);
        self.due.store(false, Relaxed);
        true
    }

    #[cold]
    fn is_stress_due(&self) -> bool {
        self.collections.load(Relaxed) < ONE_EACH
            || self.now() >= self.ended.load(Relaxed) + self.pause.load(Relaxed)
    }

    /// Returns whether a machine that rests should collect. Work that comes then finds little garbage, and is perhaps over
    /// before a collection is due.
    #[inline(always)]
    pub(crate) fn is_due_at_rest(&self) -> bool {
        self.allocated.load(Relaxed) >= self.at_rest.load(Relaxed)
    }

    /// Bytes given to allocators since the last collection.
    pub(crate) fn since_collected(&self) -> usize {
        self.allocated.load(Relaxed)
    }

    /// Returns the time until a machine that does nothing should collect; `None` if there is no reason to. Its allocators have
    /// been given `room` bytes that they have not used yet, and `used` bytes of blocks in all.
    pub(crate) fn until_due_at_long_rest(&self, room: usize, used: usize) -> Option<Duration> {
        let live = self.expected.load(Relaxed);
        let least = (live / AT_LONG_REST).max(LEAST_AT_LONG_REST);
        if self.since_collected().saturating_sub(room) >= least {
            return Some(Duration::ZERO);
        }
        let settled = self.settled.load(Relaxed);
        // Blocks may be mostly empty, and those are only cleared out after a collection in a long rest.
        let is_sparse = !settled && live < used / 2;
        if !self.worked.load(Relaxed) && !is_sparse {
            return None;
        }
        // What turns have let go of is garbage without anything being allocated.
        let rest = match settled {
            true => self.pause.load(Relaxed) * SHARE_AT_LONG_REST,
            false => 0,
        };
        let at = self.ended.load(Relaxed) + rest;
        Some(Duration::from_nanos(at.saturating_sub(self.now())))
    }

    /// Bytes that live as far as anybody knows: what the last collection has left, and what was made since.
    pub(crate) fn lives(&self) -> usize {
        self.left.load(Relaxed) + self.since_collected()
    }

    /// Turns were run.
    pub(crate) fn has_worked(&self) {
        if !self.worked.load(Relaxed) {
            self.worked.store(true, Relaxed);
        }
    }

    /// Returns whether counting the queued events now could show that there are fewer than before.
    #[inline(always)]
    pub(crate) fn counts_queued(&self) -> bool {
        self.fewest_queued.load(Relaxed) > 0
    }

    /// Notes that somebody has looked how many events are queued.
    pub(crate) fn saw_queued(&self, events: u64) {
        self.fewest_queued.fetch_min(events, Relaxed);
    }

    /// Notes that a collection begins, with `queued` events queued.
    pub(crate) fn begun(&self, queued: u64) {
        self.fewest_queued.store(queued, Relaxed);
        self.worked.store(false, Relaxed);
        // Nothing is known before it has ended.
        self.settled.store(true, Relaxed);
        self.at_begin.store(self.allocated.load(Relaxed), Relaxed);
    }

    /// Notes that the collection that begins is a whole one. Who calls for all from now on waits for another.
    pub(crate) fn begun_whole(&self) {
        self.calls_for_all.store(false, Relaxed);
    }

    /// Bytes that the collection that begins finds, garbage included, as far as anybody knows.
    pub(crate) fn expects(&self) -> usize {
        self.expected.load(Relaxed) + self.since_collected()
    }

    /// Notes how many bytes are left when the collection begins: turns are not to use them up while it marks.
    pub(crate) fn has_left(&self, bytes: usize) {
        let part = self.expected.load(Relaxed).max(self.config.min) / MEANWHILE;
        let grace = part.min(bytes / OF_WHAT_IS_LEFT).max(1);
        self.grace.store(grace, Relaxed);
    }

    /// Bytes given to allocators since it began. A caller outside may have been given some before it began, and give them back.
    pub(crate) fn since_begun(&self) -> usize {
        let allocated = self.allocated.load(Relaxed);
        allocated.saturating_sub(self.at_begin.load(Relaxed))
    }

    /// Bytes that the collection that goes on should have marked by now, so that turns make little meanwhile. Turns that make
    /// much would make many times of what lives otherwise, all of which counts as live.
    pub(crate) fn marked_by_now(&self) -> usize {
        if self.config.stress != Stress::Off {
            return 0;
        }
        // As if a machine that has grown had at least the least.
        let expected = self.expected.load(Relaxed).max(self.config.min) as f64;
        let made = self.since_begun() as f64 / self.grace.load(Relaxed) as f64;
        (expected * made) as usize
    }

    /// Returns whether whole collections of that much are worth avoiding.
    pub(crate) fn is_much(&self, live: usize) -> bool {
        live > self.config.min
    }

    /// That much of what lives, beside what was made meanwhile, was made since the collection before.
    pub(crate) fn has_survived(&self, bytes: usize) {
        self.survived.store(bytes, Relaxed);
    }

    /// A collection found that much live, beside what was made meanwhile; with the newest question, if any is open.
    pub(crate) fn collected(&self, live: usize, pause: u64, newest: Option<u64>) {
        let newest = newest.unwrap_or(0);
        let longer = self.patience.load(Relaxed) * 2;
        let patience = match self.question.swap(newest, Relaxed) == newest {
            true => longer.min(MOST_PATIENCE.as_nanos() as u64),
            false => FIRST_PATIENCE.as_nanos() as u64,
        };
        self.patience.store(patience, Relaxed);
        self.awaited_since.store(0, Relaxed);
        // What was made meanwhile may be garbage, and was made already.
        let (before, made) = (self.at_begin.load(Relaxed), self.since_begun());
        let survived = self.survived.load(Relaxed);
        let pays =
            self.generations
                .lock()
                .was_whole(live + made, (survived, before), self.config.min);
        self.ended(live, made, pays, pause);
    }

    /// A young collection has found that much live that was not known before, and has looked at cells and actors of so many
    /// bytes for it. Allocators have not used so many bytes of what they were given. Returns the bytes that live as far as anybody
    /// knows. Nobody who waits for what is garbage is served by that, and a rest still calls for a whole one.
    pub(crate) fn renewed(&self, found: usize, looked: usize, unused: usize, pause: u64) -> usize {
        let (before, made) = (self.at_begin.load(Relaxed), self.since_begun());
        let made = made.saturating_sub(unused);
        let live = self.left.load(Relaxed) + found;
        let pays = self
            .generations
            .lock()
            .was_young(live + made, looked, before);
        self.worked.store(true, Relaxed);
        self.ended(live, made, pays, pause);
        live + made
    }

    /// Returns whether the next collection may be young, if nothing calls for a whole one.
    pub(crate) fn may_be_young(&self) -> bool {
        !self.calls_for_all.load(Relaxed) && self.generations.lock().may_be_young(self.config.min)
    }

    fn ended(&self, live: usize, made: usize, pays: bool, pause: u64) {
        self.collections.fetch_add(1, Relaxed);
        self.pause.store(pause, Relaxed);
        self.ended.store(self.now(), Relaxed);
        let proportional = (live as f64 * self.config.factor) as usize;
        let sooner = match pays {
            true => proportional / SOONER,
            false => proportional,
        };
        let threshold = |bytes: usize| bytes.saturating_sub(made).max(self.config.min);
        self.threshold.store(threshold(sooner), Relaxed);
        self.at_rest
            .store(threshold(proportional) / AT_REST, Relaxed);
        self.expected.store(live, Relaxed);
        self.left.store(live + made, Relaxed);
        self.most.store(usize::MAX, Relaxed);
        self.allocated.store(0, Relaxed);
        self.due.store(false, Relaxed);
        *self.waits_for_end.lock() = false;
    }

    /// The collection that was ended now, began and ended in a long rest, or not.
    pub(crate) fn settles(&self, settled: bool) {
        self.settled.store(settled, Relaxed);
    }

    /// Notes that `left` bytes are left after a collection. The next one begins in time for its marking, but not before `least`
    /// bytes were allocated.
    pub(crate) fn leaves(&self, left: usize, least: usize) {
        let most = (left / OF_WHAT_IS_LEFT).max(least);
        self.most.store(most, Relaxed);
        self.threshold.fetch_min(most, Relaxed);
        self.at_rest.fetch_min(most / AT_REST, Relaxed);
    }

    /// Bytes that will be allocated before the next collection.
    pub(crate) fn threshold(&self) -> usize {
        self.threshold.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
