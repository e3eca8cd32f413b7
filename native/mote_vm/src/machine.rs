//! One machine: what its threads and the outside share.
//!
//! Invariants:
//! 1. Everything that holds values (threads' queues and registers, timers) is dropped before the blocks that the
//!    values point into: the pool is shared by count, and each heap holds it.
//! 2. The outside refers to actors by handle only; a handle keeps its actor.
//! 3. Every heap in use, by a thread or by a caller outside, is lent by `resting` and comes back; the memory is
//!    given back to the system only when all are back and none is lent any more.
//! 4. `threads` is locked from when a sponsor can be found until its threads are in it, and while one is taken out:
//!    who removes a sponsor finds all of its threads.
use crate::actor::{Actor, BehaviourId, Header, SponsorId};
use crate::atom::Atom;
use crate::code::error::LoadError;
use crate::code::program::{DecodeOpaque, Program};
pub use crate::contract::*;
use crate::counters::Counts;
pub use crate::fault::Fault;
use crate::gc::safepoint::Safepoint;
use crate::gc::GcInfo;
use crate::handles::{Handles, Key};
use crate::heap::block::BlockPool;
use crate::heap::pace::Pace;
use crate::heap::view::ActorRef;
use crate::heap::Heap;
use crate::inbox::{Contents, Entry, Target};
use crate::interpreter::Interpreter;
use crate::parcel::{Builder, Parcel};
use crate::quiescence::Quiescence;
pub use crate::quiescence::Ticket;
use crate::sponsor::{AddError, Sponsor, SponsorConfig, Sponsors};
use crate::station::{Station, Stations, ThreadNumber};
use crate::thread::Dispatch;
use crate::turn::{Place, Turn};
use crate::value::Value;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::JoinHandle;

struct Shared {
    name: String,
    pool: Arc<BlockPool>,
    program: Arc<Program>,
    handles: Handles,
    sponsors: Sponsors,
    stations: Stations,
    quiescence: Quiescence,
    safepoint: Safepoint,
    gc: Mutex<GcInfo>,
    /// Heaps that no thread uses at the moment: allocators for actors made from outside, and those of threads
    /// that have ended.
    resting: Mutex<Resting>,
    /// Told when the last lent heap comes back.
    all_rest: Condvar,
    ended: Mutex<Counts>,
    stopping: AtomicBool,
    threads: Mutex<Vec<(ThreadNumber, JoinHandle<()>)>>,
    outside: Box<dyn Outside>,
    fuel: u64,
}

#[derive(Default)]
struct Resting {
    heaps: Vec<Heap>,
    /// How many are with threads and callers outside.
    lent: usize,
    /// How many of these are with callers: a collection waits for them.
    guests: usize,
    /// None is lent any more.
    closed: bool,
}

/// A running machine; clones refer to the same one. It stops when told to, not when dropped.
#[derive(Clone)]
pub struct Machine(Arc<Shared>);

impl Machine {
    /// Starts a machine with its threads.
    pub fn start(config: Config, outside: Box<dyn Outside>) -> Result<Machine, StartError> {
        let machine = Machine(Arc::new(Shared {
            name: config.name,
            pool: Arc::new(BlockPool::new(config.memory, Pace::new(config.gc))),
            program: Arc::new(Program::new().ok_or(StartError::Memory)?),
            handles: Handles::default(),
            sponsors: Sponsors::default(),
            stations: Stations::default(),
            quiescence: Quiescence::new(),
            safepoint: Safepoint::default(),
            gc: Mutex::default(),
            resting: Mutex::default(),
            all_rest: Condvar::new(),
            ended: Mutex::default(),
            stopping: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            outside,
            fuel: config.fuel,
        }));
        for sponsor in &config.sponsors {
            if let Err(error) = machine.add_sponsor(sponsor) {
                machine.stop();
                machine.join();
                return Err(error);
            }
        }
        Ok(machine)
    }

    /// Adds a sponsor and starts its threads.
    pub fn add_sponsor(&self, config: &SponsorConfig) -> Result<(), StartError> {
        if self.is_stopping() {
            return Err(StartError::Stopped);
        }
        let count = config.threads.max(1);
        let interpreters: Option<Vec<_>> = (0..count).map(|_| Interpreter::new()).collect();
        let interpreters = interpreters.ok_or(StartError::Memory)?;
        let stations: Vec<_> = (0..count).map_while(|_| self.stations().open()).collect();
        let mut threads = self.0.threads.lock();
        let added = match stations.len() == count {
            true => self.0.sponsors.add(config.name, |id| {
                stations.iter().for_each(|station| station.inbox.open());
                Sponsor::new(id, config.name, stations.clone())
            }),
            false => Err(AddError::TooMany),
        };
        let sponsor = added.map_err(|error| {
            for station in &stations {
                self.stations().close(station.number);
            }
            match error {
                AddError::Exists => StartError::Exists,
                AddError::TooMany => StartError::TooMany,
            }
        })?;
        for (n, (interpreter, station)) in interpreters.into_iter().zip(stations).enumerate() {
            let core = config.cores.get(n % config.cores.len().max(1)).copied();
            let number = station.number;
            let place = Place {
                machine: self.clone(),
                sponsor: sponsor.clone(),
                station,
            };
            let seed = RandomState::new().hash_one(n);
            let heap = self.lend_new().ok_or(StartError::Stopped)?;
            let turn = Turn::new(place, heap, seed);
            let dispatch = Dispatch::new(turn, interpreter);
            let name = format!("mote-{}-{}-{}", self.0.name, config.name.name(), n + 1);
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                bind(core);
                dispatch.run()
            });
            match thread {
                Ok(thread) => threads.push((number, thread)),
                Err(error) => {
                    // Its heap went with it, and never held anything.
                    self.take_back(None);
                    // Threads started so far would wait for siblings that never come: the machine cannot go on.
                    self.stop();
                    return Err(StartError::Thread(error));
                }
            }
        }
        Ok(())
    }

    /// Removes a sponsor: what is queued there moves to the first one. Waits for its threads to end, a turn at most;
    /// must not be called on a dispatch thread.
    pub fn remove_sponsor(&self, name: Atom) -> Result<(), RemoveError> {
        let mut threads = self.0.threads.lock();
        let Some(sponsor) = self.0.sponsors.remove(name) else {
            return Err(match self.0.sponsors.by_name(name) {
                Some(_) => RemoveError::First,
                None => RemoveError::Unknown,
            });
        };
        for station in &sponsor.stations {
            self.push(station, Entry::Retire);
        }
        let mine = |number: ThreadNumber| sponsor.stations.iter().any(|s| s.number == number);
        let (ending, going_on) = std::mem::take(&mut *threads)
            .into_iter()
            .partition::<Vec<_>, _>(|(number, _)| mine(*number));
        *threads = going_on;
        drop(threads);
        for (_, thread) in ending {
            // A thread catches its own panics; there is nothing to learn from the result.
            let _ = thread.join();
        }
        let mut ended = self.0.ended.lock();
        for station in &sponsor.stations {
            *ended = ended.plus(&station.counters.read());
            station.counters.publish(&Counts::default());
        }
        drop(ended);
        if self.0.sponsors.recycle(&sponsor) {
            for station in &sponsor.stations {
                self.stations().close(station.number);
            }
        }
        Ok(())
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
        for (_, thread) in threads {
            // As in `remove_sponsor`.
            let _ = thread.join();
        }
        let mut resting = self.0.resting.lock();
        resting.closed = true;
        // Callers outside, and threads that another caller has taken out of the list.
        self.0
            .all_rest
            .wait_while(&mut resting, |resting| resting.lent > 0);
        resting.heaps.clear();
        // SAFETY: invariant 3: no heap is left, none is lent any more, and without one nothing reads values.
        unsafe { self.0.pool.free_everything() };
        drop(resting);
        for station in self.stations().all() {
            station.inbox.close(&mut Contents::default());
        }
        self.0.quiescence.tell();
    }

    /// Whether `stop` was called or a fault has happened.
    pub fn is_stopping(&self) -> bool {
        // Relaxed: a flag that guards no data; a thread sees it a batch later at worst.
        self.0.stopping.load(Relaxed)
    }

    /// Calls `waiter` as soon as the machine has nothing to do: no event queued, no turn running, nothing in an
    /// inbox. Also called when the machine has stopped: `is_quiet` tells which. May be called on any thread.
    pub fn when_quiet(&self, waiter: Box<dyn FnOnce() + Send>) -> Ticket {
        let ticket = self.0.quiescence.wait(waiter);
        // Whoever closes tells afterwards, and does it only once.
        if self.0.resting.lock().closed {
            self.0.quiescence.tell();
        }
        ticket
    }

    /// Drops a waiter of `when_quiet` that was not called yet.
    pub fn forget(&self, ticket: Ticket) {
        self.0.quiescence.forget(ticket);
    }

    /// Whether the machine has nothing to do at this moment.
    pub fn is_quiet(&self) -> bool {
        self.0.quiescence.is_quiet()
    }

    /// Loads a unit of code; answers with its module.
    pub fn load(&self, unit: &[u8], opaque: DecodeOpaque<'_>) -> Result<Atom, LoadError> {
        self.0.program.load(unit, opaque)
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
    ) -> Option<(BehaviourId, u64)> {
        let captures = u32::try_from(captures).ok()?;
        self.0.program.find((module, name, captures))
    }

    /// The sponsor of that name.
    pub fn sponsor(&self, name: Atom) -> Option<SponsorId> {
        self.0.sponsors.by_name(name).map(|sponsor| sponsor.id)
    }

    /// Creates an actor, pinned to a sponsor if one is given; `captures` holds a tuple of as many values as the
    /// behaviour captures. The caller owns the handle.
    pub fn create(
        &self,
        behaviour: BehaviourId,
        pinned: Option<SponsorId>,
        captures: Parcel,
    ) -> Result<Key, NoMemory> {
        let mut heap = self.lend_to_guest().ok_or(NoMemory)?;
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        let made = self.create_in(&mut heap, Header::new(behaviour, pinned, 0), captures);
        // Held by a handle before the heap goes back: a collection sees the one or waits for the other.
        let key = made.map(|actor| self.0.handles.acquire(actor, pinned));
        self.take_back_from_guest(heap);
        key
    }

    /// Takes all heaps that no thread uses, once none is lent. Until `end_of_collection` callers get new ones, which
    /// the collection does not sweep; what they put there refers only to actors that they hold.
    pub(crate) fn rest_for_collection(&self) -> Vec<Heap> {
        loop {
            let mut resting = self.0.resting.lock();
            if resting.guests == 0 {
                return std::mem::take(&mut resting.heaps);
            }
            // A caller is just about to give its heap back.
            drop(resting);
            std::thread::yield_now();
        }
    }

    /// Gives what was swept back.
    pub(crate) fn end_of_collection(&self, heap: Option<Heap>) {
        self.0.resting.lock().heaps.extend(heap);
    }

    /// Collects soon and then calls `done`, on a dispatch thread; drops it if the machine stops before. Returns at
    /// once.
    pub fn collect(&self, done: impl FnOnce() + Send + 'static) {
        let entry = Entry::Collect(Box::new(done));
        self.push(self.0.sponsors.first().lead(), entry);
    }

    fn lend_to_guest(&self) -> Option<Heap> {
        let mut resting = self.0.resting.lock();
        if resting.closed {
            return None;
        }
        resting.lent += 1;
        resting.guests += 1;
        let heap = resting.heaps.pop();
        Some(heap.unwrap_or_else(|| Heap::new(self.0.pool.clone())))
    }

    /// A heap for a thread: a new one, so that a collection that comes before the thread has begun misses nothing.
    fn lend_new(&self) -> Option<Heap> {
        let mut resting = self.0.resting.lock();
        if resting.closed {
            return None;
        }
        resting.lent += 1;
        Some(Heap::new(self.0.pool.clone()))
    }

    fn take_back_from_guest(&self, heap: Heap) {
        let mut resting = self.0.resting.lock();
        resting.heaps.push(heap);
        resting.guests -= 1;
        drop(resting);
        self.take_back(None);
        if self.0.pool.pace.is_due() {
            // All threads may be asleep.
            self.0.sponsors.first().lead().wake();
        }
    }

    /// The end of a lease. What is in the heap may be in use elsewhere, so it is kept.
    pub(crate) fn take_back(&self, heap: Option<Heap>) {
        let mut resting = self.0.resting.lock();
        resting.heaps.extend(heap);
        resting.lent -= 1;
        if resting.lent == 0 {
            self.0.all_rest.notify_all();
        }
    }

    fn create_in(
        &self,
        heap: &mut Heap,
        header: Header,
        captures: Parcel,
    ) -> Result<*const Actor, NoMemory> {
        let mark = heap.mark();
        let n = self.0.program.behaviour(header.behaviour()).captures as usize;
        let captures = captures.unpack(heap, &mut Vec::new());
        if !captures.is_none() {
            let values = captures.as_tuple().unwrap_or(&[]);
            let actor = heap
                .captures(n, |i| values.get(i).copied().unwrap_or(Value::UNDEFINED))
                .map(|state| heap.actor(header, state))
                .filter(|actor| !actor.is_none());
            if let Some(actor) = actor {
                return Ok(actor.address_pointer());
            }
        }
        heap.rewind(mark);
        Err(NoMemory)
    }

    /// Sends to the actor of a handle, by that sponsor or the first one; `false` when the handle is none of this
    /// machine's.
    #[must_use]
    pub fn send(&self, target: Key, sponsor: Option<SponsorId>, message: Parcel) -> bool {
        let Some((actor, pinned)) = self.0.handles.resolve(target) else {
            return false;
        };
        let sponsor = match pinned.or(sponsor) {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first(),
        };
        self.push(sponsor.lead(), Entry::Message(Target(actor), message));
        true
    }

    /// A handle of an actor seen in a term. The caller owns it.
    pub fn acquire(&self, actor: ActorRef<'_>) -> Key {
        // SAFETY: the term that the actor was seen in is borrowed from the running machine.
        let pinned = unsafe { (*actor.actor).header().pinned() };
        self.0.handles.acquire(actor.actor, pinned)
    }

    /// Gives a handle back.
    pub fn release(&self, key: Key) {
        self.0.handles.release(key);
    }

    /// Whether the key is a live handle of this machine.
    pub fn knows(&self, key: Key) -> bool {
        self.0.handles.resolve(key).is_some()
    }

    /// Writes the address of a handle into a parcel; `false` when the handle is none of this machine's.
    #[must_use]
    pub fn write_address(&self, key: Key, builder: &mut Builder) -> bool {
        match self.0.handles.resolve(key) {
            Some((actor, _)) => {
                builder.address(actor);
                true
            }
            None => false,
        }
    }

    /// Looks at an actor between two of its turns, after what the caller sent to it before; `look` runs on a
    /// dispatch thread. `false` when the handle is none of this machine's.
    #[must_use]
    pub fn inspect(&self, key: Key, look: Look) -> bool {
        let Some((actor, pinned)) = self.0.handles.resolve(key) else {
            return false;
        };
        let sponsor = match pinned {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first(),
        };
        let target = Target(actor);
        self.push(sponsor.lead(), Entry::Inspect(target, look));
        true
    }

    /// What it holds and has done.
    pub fn info(&self) -> Info {
        let (mapped_bytes, heap_bytes) = self.0.pool.bytes();
        let sponsors = self.0.sponsors.all();
        Info {
            sponsors: sponsors
                .iter()
                .map(|sponsor| sponsor_info(sponsor))
                .collect(),
            ended: *self.0.ended.lock(),
            handles: self.0.handles.len(),
            heap_bytes,
            mapped_bytes,
            gc: *self.0.gc.lock(),
        }
    }

    /// What the embedder gave at the start.
    pub fn outside(&self) -> &dyn Outside {
        &*self.0.outside
    }

    /// Puts an entry into a thread's inbox, or into the first sponsor's if that thread has ended.
    pub(crate) fn push(&self, station: &Station, entry: Entry) {
        self.0.quiescence.add(1);
        if let Err(entry) = station.push(entry) {
            // The first sponsor's lead ends only with the machine, and then nothing is dispatched any more.
            if self.0.sponsors.first().lead().push(entry).is_err() {
                self.0.quiescence.done(1);
            }
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

    pub(crate) fn handles(&self) -> &Handles {
        &self.0.handles
    }

    pub(crate) fn pool(&self) -> &BlockPool {
        &self.0.pool
    }

    pub(crate) fn safepoint(&self) -> &Safepoint {
        &self.0.safepoint
    }

    pub(crate) fn gc_info(&self) -> MutexGuard<'_, GcInfo> {
        self.0.gc.lock()
    }

    pub(crate) fn quiescence(&self) -> &Quiescence {
        &self.0.quiescence
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.0.fuel
    }

    pub(crate) fn report_abort(&self, abort: Abort<'_>) {
        self.0.outside.aborted(self, abort);
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.0.outside.fault(self, fault);
    }
}

fn sponsor_info(sponsor: &Sponsor) -> SponsorInfo {
    let stations = &sponsor.stations;
    SponsorInfo {
        name: sponsor.name,
        threads: stations.iter().map(|s| s.counters.read()).collect(),
        asleep: stations.iter().filter(|s| s.presence.is_asleep()).count(),
        inbox: stations.iter().map(|s| s.inbox.len()).sum(),
        queued: stations.iter().map(|s| s.queued.load(Relaxed)).sum(),
        queue_bytes: stations.iter().map(|s| s.queue_bytes.load(Relaxed)).sum(),
    }
}

/// Binds the calling thread to a core, if one is given. A core that there is not binds to none.
fn bind(core: Option<usize>) {
    if let Some(id) = core {
        core_affinity::set_for_current(core_affinity::CoreId { id });
    }
}
