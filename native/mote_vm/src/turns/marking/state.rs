//! A machine's collections: which phase the current one is in, and what they have done.
use super::compaction::Compaction;
use super::garbage::Garbage;
use super::pauses::Pauses;
use crate::code::program::Program;
use crate::heap::marks::order;
use crate::heap::residents::Residents;
use crate::turns::marking::packets::MarkingWork;
use crate::turns::marking::phase::Phase;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Arc;
use std::time::Instant;

/// Counters of the collections so far.
#[derive(Clone, Copy, Default, Debug)]
pub struct GcInfo {
    /// Number of collections.
    pub collections: u64,
    /// Nanoseconds for which the threads stood still the last time, the longer of the two times if there were two.
    pub last_pause_ns: u64,
    /// The longest of these.
    pub longest_pause_ns: u64,
    /// The longest time for which turns waited for a collection, since memory was short, in nanoseconds.
    pub longest_wait_ns: u64,
    /// Nanoseconds of all pauses together.
    pub paused_ns: u64,
    /// Numbers of pauses of each length; two of a collection count as two.
    pub pauses: Pauses,
    /// Bytes that were live at the last one.
    pub live_bytes: usize,
    /// Actors that were live at the last one.
    pub live_actors: u64,
    /// Bytes of blocks that all of them together found free.
    pub reclaimed_bytes: u64,
}

/// A machine's collections.
pub(crate) struct Gc {
    phase: AtomicU8,
    /// The number of the last one that has begun, and of the last one that is over.
    begun: AtomicU64,
    /// Of that its place in the order of all.
    over: AtomicU64,
    /// True while turns wait for a collection, since memory is short.
    held: AtomicBool,
    held_since: Mutex<Option<Instant>>,
    info: Mutex<GcInfo>,
    pub(crate) work: Arc<MarkingWork>,
    pub(crate) garbage: Garbage,
    pub(crate) compaction: Compaction,
    residents: Mutex<Arc<Residents>>,
    /// Number of threads that the system runs at once.
    pub(crate) cores: usize,
}

impl Gc {
    pub(crate) fn new(program: Arc<Program>) -> Gc {
        Gc {
            phase: AtomicU8::new(Phase::None as u8),
            begun: AtomicU64::new(0),
            over: AtomicU64::new(0),
            held: AtomicBool::new(false),
            held_since: Mutex::default(),
            info: Mutex::default(),
            work: Arc::new(MarkingWork::new(program)),
            garbage: Garbage::default(),
            compaction: Compaction::default(),
            residents: Mutex::default(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
        }
    }

    /// A thread sees the beginning and the end of marking exactly, because it stands still then.
    #[inline(always)]
    pub(crate) fn phase(&self) -> Phase {
        // Relaxed: ordered by the stop; the end of clearing is a hint.
        match self.phase.load(Relaxed) {
            0 => Phase::None,
            1 => Phase::Saving,
            2 => Phase::Marking,
            3 => Phase::Moving,
            _ => Phase::Clearing,
        }
    }

    /// Returns whether a collection has begun and has not marked everything yet.
    pub(crate) fn has_to_mark(&self) -> bool {
        matches!(self.phase(), Phase::Saving | Phase::Marking)
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    /// Returns the first collection that begins from now on, for `is_over`.
    pub(crate) fn next(&self) -> u64 {
        order(self.begun()) + 1
    }

    /// The number of the last one that has begun.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(SeqCst)
    }

    /// Notes that collection `number` begins.
    pub(crate) fn begin(&self, number: u64) {
        self.begun.store(number, SeqCst);
    }

    /// Notes that everything that collection `number` has found dead is cleared away. It is over when the next one is, if
    /// that is to move what this one has left.
    pub(crate) fn finish(&self, number: u64) {
        if !self.compaction.is_planned() {
            self.over.fetch_max(order(number), SeqCst);
            self.let_turns_go();
        }
        self.set_phase(Phase::None);
    }

    /// Memory is short: no turn runs until this collection is over, and the one that moves cells if there is one. It does its work
    /// in pauses and slices that are as short as ever.
    pub(crate) fn hold_turns(&self) {
        if !self.held.swap(true, Relaxed) {
            *self.held_since.lock() = Some(Instant::now());
        }
    }

    fn let_turns_go(&self) {
        if self.held.swap(false, Relaxed) {
            let since = self.held_since.lock().take();
            let waited = since.map_or(0, |since| since.elapsed().as_nanos() as u64);
            let mut info = self.info();
            info.longest_wait_ns = info.longest_wait_ns.max(waited);
        }
    }

    /// Returns whether turns wait.
    #[inline(always)]
    pub(crate) fn holds_turns(&self) -> bool {
        // Relaxed: a turn that runs all the same makes no more than that cells stay where they are.
        self.held.load(Relaxed)
    }

    /// Returns whether that collection is over.
    pub(crate) fn is_over(&self, number: u64) -> bool {
        self.over.load(SeqCst) >= order(number)
    }

    /// Notes where actors are after a collection.
    pub(crate) fn leaves(&self, residents: Residents) {
        *self.residents.lock() = Arc::new(residents);
    }

    /// Returns where actors were after the last collection.
    pub(crate) fn residents(&self) -> Arc<Residents> {
        self.residents.lock().clone()
    }

    /// Returns the counters of the collections so far.
    pub(crate) fn info(&self) -> MutexGuard<'_, GcInfo> {
        self.info.lock()
    }
}
