//! One machine: what its threads and the outside share, from start to stop.
//!
//! Rooms: [`leases`] lends heaps, [`sponsors`] starts and ends threads, [`outside`] is what callers do with actors,
//! [`time`] has clock and timers, [`traces`] shows turns to others.
//!
//! Invariants:
//! 1. Everything that holds values (threads' queues and registers, timers) is dropped before the blocks that the
//!    values point into: the pool is shared by count, and each heap holds it.
//! 2. The memory is given back to the system only when all heaps are back and none is lent any more.
pub(crate) mod contract;
mod ended;
mod leases;
mod outside;
mod recruit;
mod sponsors;
mod time;
mod traces;

use crate::base::atom::Atom;
use crate::base::clock::Clock;
use crate::base::ids::ThreadNumber;
use crate::base::quota::Account;
use crate::boundary::batch::Papers;
use crate::code::constants::DecodeOpaque;
use crate::code::error::LoadError;
use crate::code::program::Program;
use crate::gc::safepoint::Safepoint;
use crate::gc::state::Gc;
use crate::heap::block::BlockPool;
use crate::heap::pace::Pace;
use crate::heap::Heap;
use crate::look::attention::Attention;
pub use crate::machine::contract::*;
use crate::native::CompilerThread;
pub use crate::threads::fault::Fault;
use crate::threads::inbox::{Contents, Entry};
use crate::threads::quiescence::Quiescence;
pub use crate::threads::quiescence::Ticket;
use crate::threads::seeded::Seeded;
use crate::threads::sponsor::{Sponsor, Sponsors};
use crate::threads::station::{Station, Stations};
use crate::values::actor::SponsorId;
use crate::values::handles::Handles;
use ended::Ended;
use leases::Leases;
pub use outside::Entrance;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Arc;

struct Shared {
    name: String,
    pool: Arc<BlockPool>,
    program: Arc<Program>,
    handles: Arc<Handles>,
    sponsors: Sponsors,
    stations: Stations,
    quiescence: Arc<Quiescence>,
    safepoint: Safepoint,
    attention: Attention,
    gc: Gc,
    leases: Leases,
    papers: Papers,
    ended: Mutex<Ended>,
    stopping: Arc<AtomicBool>,
    threads: Mutex<Vec<(ThreadNumber, Ending)>>,
    seeded: Option<Arc<Seeded>>,
    outside: Box<dyn Outside>,
    fuel: u64,
    clock: Arc<Clock>,
    compiler: Arc<CompilerThread>,
}

/// Waits for a thread, or what stands for one, to end.
type Ending = Box<dyn FnOnce() + Send>;

/// A running machine; clones refer to the same one. It stops when told to, not when dropped.
#[derive(Clone)]
pub struct Machine(Arc<Shared>);

impl Machine {
    /// Starts a machine with its threads.
    pub fn start(config: Config, outside: Box<dyn Outside>) -> Result<Machine, StartError> {
        let pool = Arc::new(BlockPool::new(config.memory, Pace::new(config.gc)));
        let quota = pool.quota.clone();
        let quiescence = Arc::<Quiescence>::default();
        let program = Arc::new(Program::new().ok_or(StartError::Memory)?);
        let machine = Machine(Arc::new(Shared {
            name: config.name,
            leases: Leases::new(pool.clone()),
            pool,
            gc: Gc::new(program.clone()),
            program,
            handles: Arc::new(Handles::new(quota.clone())),
            sponsors: Sponsors::default(),
            stations: Stations::new(quota, quiescence.clone()),
            quiescence,
            safepoint: Safepoint::default(),
            attention: Attention::default(),
            papers: Papers::default(),
            ended: Mutex::default(),
            stopping: Arc::new(AtomicBool::new(false)),
            threads: Mutex::new(Vec::new()),
            seeded: Seeded::of(config.schedule).map(Arc::new),
            outside,
            fuel: config.fuel,
            clock: Arc::new(Clock::new(config.clock)),
            compiler: Arc::new(CompilerThread::new(config.compiler)),
        }));
        machine.start_scheduler()?;
        for sponsor in &config.sponsors {
            if let Err(error) = machine.add_sponsor(sponsor) {
                machine.stop();
                machine.join();
                return Err(error);
            }
        }
        Ok(machine)
    }

    /// Asks the threads to end at their next turn boundary. Returns at once; may be called again, from anywhere.
    pub fn stop(&self) {
        self.0.stopping.store(true, SeqCst);
        for station in self.stations().all() {
            station.wake();
        }
    }

    /// Waits until the threads have ended, then gives the memory of all actors back and drops what still waits in
    /// inboxes. Must not be called on one of them; may be called by several at once.
    pub fn join(&self) {
        let threads = std::mem::take(&mut *self.0.threads.lock());
        for (_, ended) in threads {
            ended();
        }
        self.0.compiler.close();
        // Callers outside have some too, and threads that another caller has taken out of the list.
        self.0.leases.close(|| {
            self.0.gc.garbage.drop_all(&self.0.pool);
            // SAFETY: invariant 2: no heap is left, none is lent any more, and without one nothing reads values.
            unsafe { self.0.pool.free_everything() }
        });
        for station in self.stations().all() {
            station.inbox.close(&mut Contents::default());
            station.timers.clear();
        }
        for sponsor in self.sponsors().all() {
            sponsor.room.close();
        }
        self.0.papers.clear();
        self.0.handles.discharge();
        self.0.quiescence.tell();
    }

    /// Whether `stop` was called or a fault has happened.
    pub fn is_stopping(&self) -> bool {
        // Relaxed: a flag that guards no data; a thread sees it a batch later at worst.
        self.0.stopping.load(Relaxed)
    }

    /// What `is_stopping` looks at, for those who look often.
    pub(crate) fn stopping(&self) -> Arc<AtomicBool> {
        self.0.stopping.clone()
    }

    /// Calls `waiter` as soon as the machine has nothing to do: no event queued, no turn running, nothing in an
    /// inbox, no thread awake. Also called when the machine has stopped. May be called on any thread.
    pub fn when_quiet(&self, waiter: Box<dyn FnOnce() + Send>) -> Ticket {
        let ticket = self.0.quiescence.wait(waiter);
        // Whoever closes tells afterwards, and does it only once.
        if self.0.leases.is_closed() {
            self.0.quiescence.tell();
        }
        ticket
    }

    /// Drops a waiter of `when_quiet` that was not called yet.
    pub fn forget(&self, ticket: Ticket) {
        self.0.quiescence.forget(ticket);
    }

    /// Whether the machine has nothing to do at this moment; it has while a thread is awake for a collection, too.
    pub fn is_quiet(&self) -> bool {
        self.0.quiescence.is_quiet()
    }

    /// Loads a unit of code; answers with its module.
    pub fn load(&self, unit: &[u8], opaque: DecodeOpaque<'_>) -> Result<Atom, LoadError> {
        let (module, job) = self.0.program.load(unit, opaque)?;
        self.0.compiler.submit(&self.0.program, job);
        Ok(module)
    }

    /// Waits until everything loaded so far has its native code, where it is to have any.
    pub fn wait_for_compiler(&self) {
        self.0.compiler.wait();
    }

    /// The hash of the loaded unit of a module.
    pub fn module(&self, module: Atom) -> Option<u64> {
        self.0.program.module(module)
    }

    /// The current version of a behaviour, and the hash of its unit.
    pub fn behaviour(
        &self,
        module: Atom,
        name: Atom,
        captures: usize,
    ) -> Option<(BehaviourVersion, u64)> {
        let captures = u32::try_from(captures).ok()?;
        let (id, hash) = self.0.program.find((module, name, captures))?;
        let program = self.0.program.clone();
        Some((BehaviourVersion { id, program }, hash))
    }

    /// The sponsor of that name.
    pub fn sponsor(&self, name: Atom) -> Option<SponsorId> {
        self.0.sponsors.by_name(name).map(|sponsor| sponsor.id)
    }

    /// Collects soon and then calls `done`, on a dispatch thread; drops it if the machine stops before. Returns at
    /// once.
    pub fn collect(&self, done: impl FnOnce() + Send + 'static) {
        let entry = Entry::Collect(Box::new(done));
        self.push(self.0.sponsors.first().lead(), entry);
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

    /// What it holds and has done.
    pub fn info(&self) -> Info {
        let (mapped_bytes, heap_bytes) = self.0.pool.bytes();
        let ended = self.0.ended.lock();
        let sponsors = self.0.sponsors.all();
        Info {
            sponsors: sponsors
                .iter()
                .map(|sponsor| sponsor_info(sponsor))
                .collect(),
            ended: ended.sum(),
            handles: self.0.handles.len(),
            heap_bytes,
            mapped_bytes,
            charged_bytes: self.0.pool.quota.held(),
            gc: *self.0.gc.info(),
            native: self.0.compiler.info(),
        }
    }

    /// The names of its sponsors, the first one first.
    pub fn sponsor_names(&self) -> Vec<Atom> {
        let sponsors = self.0.sponsors.all();
        sponsors.iter().map(|sponsor| sponsor.name).collect()
    }

    /// Its quota, for things that wait outside of it.
    pub fn account(&self) -> Account {
        Account::of(&self.0.pool.quota)
    }

    /// What the embedder gave at the start.
    pub fn outside(&self) -> &dyn Outside {
        &*self.0.outside
    }

    /// Puts an entry into a thread's inbox, or into the first sponsor's if that thread has ended.
    pub(crate) fn push(&self, station: &Station, entry: Entry) {
        if let Err(entry) = station.push(entry) {
            // The first sponsor's lead ends only with the machine, and then nothing is dispatched any more.
            let _ = self.0.sponsors.first().lead().push(entry);
        }
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

    /// Where what batches were written on goes.
    pub(crate) fn papers(&self) -> &Papers {
        &self.0.papers
    }

    pub(crate) fn clock(&self) -> &Arc<Clock> {
        &self.0.clock
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.0.fuel
    }

    pub(crate) fn report_abort(&self, abort: Abort<'_>) -> bool {
        self.0.outside.aborted(self, abort)
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.0.outside.fault(self, fault);
    }
}

fn sponsor_info(sponsor: &Sponsor) -> SponsorInfo {
    let stations = &sponsor.stations;
    let (inboxes, ahead) = stations
        .iter()
        .map(|station| station.inbox.figures())
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (taken, high_water, overloaded) = sponsor.room.figures();
    SponsorInfo {
        name: sponsor.name,
        started: sponsor.started,
        threads: stations.iter().map(|s| s.counts()).collect(),
        asleep: stations.iter().filter(|s| s.presence.is_asleep()).count(),
        inbox: inboxes,
        waiting: taken.saturating_sub(ahead),
        high_water,
        overloaded,
        queued: stations.iter().map(|s| s.queued.load(Relaxed)).sum(),
        queue_bytes: stations.iter().map(|s| s.queue_bytes.load(Relaxed)).sum(),
    }
}
