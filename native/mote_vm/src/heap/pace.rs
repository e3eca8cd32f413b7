//! When to collect: after so much was allocated since the last time, in proportion to what was live then.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// How often collections happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GcConfig {
    /// Bytes allocated between two collections, at least: small, so that the garbage of messages stays in cache.
    pub min: usize,
    /// Bytes allocated between two collections, in proportion to those that were live at the first.
    pub factor: f64,
    /// For tests: collects whenever threads look around, checks every collection and spoils what is free.
    pub stress: bool,
}

impl Default for GcConfig {
    fn default() -> GcConfig {
        GcConfig {
            min: 8 << 20,
            factor: 2.0,
            stress: false,
        }
    }
}

/// The pace of one machine. All numbers are hints that guard nothing, hence relaxed.
#[derive(Default)]
pub(crate) struct Pace {
    pub(crate) config: GcConfig,
    allocated: AtomicUsize,
    threshold: AtomicUsize,
    due: AtomicBool,
}

impl Pace {
    pub(crate) fn new(config: GcConfig) -> Pace {
        Pace {
            config,
            threshold: AtomicUsize::new(config.min),
            ..Pace::default()
        }
    }

    /// An allocator was given `bytes` to fill.
    pub(crate) fn allocated(&self, bytes: usize) {
        let before = self.allocated.fetch_add(bytes, Relaxed);
        if before + bytes >= self.threshold.load(Relaxed) {
            self.due.store(true, Relaxed);
        }
    }

    /// Memory is about to end.
    pub(crate) fn hurry(&self) {
        // Without anything allocated since the last collection, another one would find nothing.
        if self.allocated.load(Relaxed) > 0 {
            self.due.store(true, Relaxed);
        }
    }

    /// Whether a collection should happen at the next opportunity.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Relaxed) || self.config.stress
    }

    /// Whether a thread without work should collect: it costs nobody anything.
    pub(crate) fn is_due_when_idle(&self) -> bool {
        self.allocated.load(Relaxed) >= self.config.min
    }

    /// A collection found that much live.
    pub(crate) fn collected(&self, live: usize) {
        let proportional = (live as f64 * self.config.factor) as usize;
        self.threshold
            .store(proportional.max(self.config.min), Relaxed);
        self.allocated.store(0, Relaxed);
        self.due.store(false, Relaxed);
    }

    /// Bytes that will be allocated before the next collection.
    pub(crate) fn threshold(&self) -> usize {
        self.threshold.load(Relaxed)
    }
}
