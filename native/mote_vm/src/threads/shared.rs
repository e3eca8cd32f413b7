//! A machine as its threads know it: the state that all of them share, and the operations on it. machine/ sets a machine
//! up, and has the operations of callers outside.
use crate::base::clock::Clock;
use crate::base::ids::{ThreadNumber, TimerId};
use crate::base::quota::Account;
use crate::boundary::batch::BatchBuffers;
use crate::boundary::journal::Journal;
use crate::boundary::leases::Leases;
use crate::boundary::timers::Timer;
use crate::code::program::Program;
use crate::heap::block::BlockPool;
use crate::heap::Heap;
use crate::native::CompilerThread;
use crate::threads::embedder::Embedder;
use crate::threads::ended::Ended;
use crate::threads::fault::Fault;
use crate::threads::inbox::Entry;
use crate::threads::quiescence::Quiescence;
use crate::threads::safepoint::Safepoint;
use crate::threads::seeded::Seeded;
use crate::threads::sponsor::Sponsors;
use crate::threads::station::{Station, Stations};
use crate::turns::abort::Abort;
use crate::turns::marking::state::Gc;
use crate::values::handles::Handles;
use crate::watching::attention::Attention;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// The state that all threads of a machine share. Built by `Machine::start`.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) pool: Arc<BlockPool>,
    pub(crate) program: Arc<Program>,
    pub(crate) handles: Arc<Handles>,
    pub(crate) sponsors: Sponsors,
    pub(crate) stations: Stations,
    pub(crate) quiescence: Arc<Quiescence>,
    pub(crate) safepoint: Safepoint,
    pub(crate) attention: Attention,
    pub(crate) gc: Gc,
    pub(crate) leases: Leases,
    pub(crate) batch_buffers: BatchBuffers,
    pub(crate) ended: Mutex<Ended>,
    pub(crate) stopping: Arc<AtomicBool>,
    pub(crate) threads: Mutex<Vec<(ThreadNumber, Ending)>>,
    pub(crate) seeded: Option<Arc<Seeded>>,
    pub(crate) embedder: Box<dyn Embedder>,
    pub(crate) fuel: u64,
    pub(crate) clock: Arc<Clock>,
    /// Set once, when the machine becomes durable.
    pub(crate) journal: OnceLock<Journal>,
    pub(crate) compiler: Arc<CompilerThread>,
}

/// Waits for a thread, or what stands for one, to end.
pub(crate) type Ending = Box<dyn FnOnce() + Send>;

/// A running machine; clones refer to the same one. It stops when told to, not when dropped.
#[derive(Clone)]
pub struct Machine(pub(crate) Arc<Shared>);

impl Machine {
    /// Asks the threads to end at their next turn boundary. Returns at once; may be called again, from anywhere.
    pub fn stop(&self) {
        self.0.stopping.store(true, SeqCst);
        for station in self.stations().all() {
            station.wake();
        }
    }

    /// Returns whether `stop` was called or a fault has happened.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        // Relaxed: a flag that guards no data; a thread sees it a batch later at worst.
        self.0.stopping.load(Relaxed)
    }

    /// Returns the flag behind `is_stopping`, for callers that look often.
    pub fn stopping(&self) -> Arc<AtomicBool> {
        self.0.stopping.clone()
    }

    /// Its quota, for things that wait outside of it.
    pub fn account(&self) -> Account {
        Account::of(&self.0.pool.quota)
    }

    /// Returns the embedder that was passed at the start.
    pub fn embedder(&self) -> &dyn Embedder {
        &*self.0.embedder
    }

    /// Puts an entry into a thread's inbox, or into the first sponsor's if that thread has ended.
    pub(crate) fn push(&self, station: &Station, entry: Entry) {
        if let Err(entry) = station.push(entry) {
            // The first sponsor's lead ends only with the machine, and then nothing is dispatched any more.
            let _ = self.0.sponsors.first().lead().push(entry);
        }
    }

    /// Wakes as many sleeping threads as there are cores for, to help with a collection.
    pub(crate) fn wake_sleepers(&self) {
        let stations = self.stations().all();
        let alive = stations.iter().filter(|s| s.own_side().is_some());
        let (asleep, awake): (Vec<_>, Vec<_>) = alive.partition(|s| s.presence.is_asleep());
        let spare = self.0.gc.cores.saturating_sub(awake.len());
        for station in asleep.into_iter().take(spare) {
            station.wake();
        }
    }

    /// A thread has ended and leaves its heap.
    pub(crate) fn take_back(&self, heap: Heap) {
        self.0.leases.give_back(Some(heap));
    }

    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.0.program
    }

    pub(crate) fn sponsors(&self) -> &Sponsors {
        &self.0.sponsors
    }

    pub(crate) fn stations(&self) -> &Stations {
        &self.0.stations
    }

    pub(crate) fn handles(&self) -> &Arc<Handles> {
        &self.0.handles
    }

    pub(crate) fn shared_pool(&self) -> Arc<BlockPool> {
        self.0.pool.clone()
    }

    pub(crate) fn pool(&self) -> &BlockPool {
        &self.0.pool
    }

    pub(crate) fn safepoint(&self) -> &Safepoint {
        &self.0.safepoint
    }

    pub(crate) fn attention(&self) -> &Attention {
        &self.0.attention
    }

    pub(crate) fn gc(&self) -> &Gc {
        &self.0.gc
    }

    pub(crate) fn leases(&self) -> &Leases {
        &self.0.leases
    }

    pub(crate) fn quiescence(&self) -> &Quiescence {
        &self.0.quiescence
    }

    /// Returns the buffers that batches were written on, to be used again.
    pub(crate) fn batch_buffers(&self) -> &BatchBuffers {
        &self.0.batch_buffers
    }

    pub(crate) fn clock(&self) -> &Arc<Clock> {
        &self.0.clock
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.0.fuel
    }

    pub(crate) fn report_abort(&self, abort: Abort<'_>) -> bool {
        self.0.embedder.aborted(self, abort)
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.0.embedder.fault(self, fault);
    }

    /// Returns the state of a seeded machine, if a seed decides the order of turns.
    pub(crate) fn seeded(&self) -> Option<&Seeded> {
        self.0.seeded.as_deref()
    }

    /// Lets everything that waits to enter a seeded machine enter at any time.
    pub(crate) fn open_line(&self) {
        if let Some(seeded) = self.seeded() {
            seeded.line.open();
        }
    }

    /// Cancels a timer, wherever it was armed. The whole milliseconds that were left, never more than it was armed with;
    /// `None` when it was not armed any more, and then its message is on its way or there.
    pub fn cancel_timer(&self, id: TimerId) -> Option<u64> {
        let (due, _timer) = self.take_timer(id)?;
        Some(self.clock().left(due))
    }

    /// Takes a timer out, wherever it was armed.
    pub(crate) fn take_timer(&self, id: TimerId) -> Option<(u64, Timer)> {
        let station = self.stations().find(id.thread)?;
        let adopted = || self.sponsors().first().lead().timers.take_adopted(id);
        station.timers.take(id).or_else(adopted)
    }

    /// Returns whether a timer is armed.
    pub fn is_armed(&self, id: TimerId) -> bool {
        let station = self.stations().find(id.thread);
        let adopted = || self.sponsors().first().lead().timers.has_adopted(id);
        station.is_some_and(|station| station.timers.has(id) || adopted())
    }
}
