//! One machine, from start to stop, as its embedder sees it.
//!
//! What its threads know of it is in threads/shared.rs. Here, [`sponsors`] starts and ends threads, [`creating`] makes
//! actors for callers, [`outside`] is what these callers do with actors, [`batches`] with many at once, [`moving`] lets actors
//! leave for other machines, [`durable`] writes down what comes in, [`net`] opens sockets, [`time`] has clock and timers, and
//! [`traces`] shows turns to others.
//!
//! Invariants:
//! 1. Everything that holds values (threads' queues and registers, timers) is dropped before the blocks that the
//!    values point into: the pool is shared by count, and each heap holds it.
//! 2. The memory is given back to the system only when all heaps are back and none is lent any more.
mod asking;
mod batches;
pub(crate) mod contract;
mod creating;
pub mod durable;
pub mod moving;
pub mod net;
mod outside;
mod recruit;
pub mod replaying;
mod sponsors;
mod time;
mod traces;

use crate::base::atom::Atom;
use crate::base::clock::{Clock, ClockKind};
use crate::boundary::batch::BatchBuffers;
use crate::boundary::leases::Leases;
use crate::code::constants::DecodeOpaque;
use crate::code::error::LoadError;
use crate::code::functions::KnownFunction;
use crate::code::program::Program;
use crate::heap::block::BlockPool;
use crate::heap::pace::Pace;
pub use crate::machine::contract::*;
use crate::native::CompilerThread;
use crate::platform::malloc;
pub use crate::threads::embedder::Embedder;
pub use crate::threads::fault::Fault;
use crate::threads::inbox::Entry;
use crate::threads::quiescence::Quiescence;
pub use crate::threads::quiescence::{Quiet, Ticket};
use crate::threads::safepoint::Safepoint;
use crate::threads::seeded::Seeded;
pub use crate::threads::shared::Machine;
use crate::threads::shared::Shared;
use crate::threads::sponsor::{Sponsor, Sponsors};
use crate::threads::station::Stations;
use crate::turns::marking::state::Gc;
use crate::values::actor::SponsorId;
use crate::values::handles::Handles;
use crate::watching::attention::Attention;
pub use batches::Entrance;
pub use outside::OutsideCharge;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

impl Machine {
    /// Starts a machine with its threads.
    pub fn start(config: Config, embedder: Box<dyn Embedder>) -> Result<Machine, StartError> {
        let pool = Arc::new(BlockPool::new(config.memory, Pace::new(config.gc)));
        let quota = pool.quota.clone();
        let quiescence = Arc::new(Quiescence::new(config.clock == ClockKind::Manual));
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
            batch_buffers: BatchBuffers::default(),
            ended: Mutex::default(),
            stopping: Arc::new(AtomicBool::new(false)),
            threads: Mutex::new(Vec::new()),
            seeded: Seeded::of(config.schedule).map(Arc::new),
            embedder,
            fuel: config.fuel,
            clock: Arc::new(Clock::new(config.clock)),
            journal: OnceLock::new(),
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
            station.inbox.end();
            station.timers.clear();
        }
        for sponsor in self.sponsors().all() {
            sponsor.room.close();
        }
        self.0.batch_buffers.clear();
        if let Some(journal) = self.journal() {
            journal.end();
        }
        self.0.handles.discharge();
        malloc::give_back();
        self.0.quiescence.tell();
    }

    /// Calls `waiter` as soon as the machine has nothing to do: no event queued, no turn running, nothing in an
    /// inbox, no thread awake. Also called when the machine has stopped. May be called on any thread.
    pub fn when_quiet(&self, waiter: Box<dyn FnOnce() + Send>) -> Ticket {
        self.when(Quiet::Whole, waiter)
    }

    /// Works as [`Machine::when_quiet`], for a machine that may have turns away.
    pub fn when(&self, quiet: Quiet, waiter: Box<dyn FnOnce() + Send>) -> Ticket {
        let ticket = self.0.quiescence.wait(quiet, waiter);
        // Whoever closes tells afterwards, and does it only once.
        if self.0.leases.is_closed() {
            self.0.quiescence.tell();
        }
        ticket
    }

    /// Drops a waiter of `when` that was not called yet.
    pub fn forget(&self, ticket: Ticket) {
        self.0.quiescence.forget(ticket);
    }

    /// Returns whether the machine has nothing to do at this moment. It has while a thread is awake for a collection, too.
    pub fn is_quiet(&self) -> bool {
        self.is(Quiet::Whole)
    }

    /// Works as [`Machine::is_quiet`], for a machine that may have turns away.
    pub fn is(&self, quiet: Quiet) -> bool {
        self.0.quiescence.is(quiet)
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

    /// Lets the current version of a module take over the actors of all versions before it, from their next turn on, as far as that
    /// can be done while turns run. Returns the behaviours of the others, whether there are such actors or not.
    pub fn succeed(&self, module: Atom) -> Vec<StayingBehaviour> {
        let how = match self.is_durable() {
            true => TakeOver::Never,
            false => TakeOver::Running,
        };
        self.0.program.succeed(module, how)
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

    /// A function that is used as a value, with so many captures, in that version of a unit, if the machine has loaded it.
    pub fn function(
        &self,
        (module, name, arity): (Atom, Atom, u32),
        version: u64,
        captures: usize,
    ) -> Option<KnownFunction> {
        let name = (module, name, arity);
        self.0.program.function(name, version, captures)
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

    /// Returns the state and the counters of the machine.
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
            new_bytes: self.0.pool.pace.since_collected(),
            spare_bytes: self.0.pool.spare(),
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
        held: sponsor.room.held(),
        overloaded,
        queued: stations.iter().map(|s| s.queued.load(Relaxed)).sum(),
        queue_bytes: stations.iter().map(|s| s.queue_bytes.load(Relaxed)).sum(),
        net: sponsor.net.as_ref().map(|counts| counts.read()),
    }
}
