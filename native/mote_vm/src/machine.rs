//! One machine: what its threads and the outside share.
//!
//! Invariants:
//! 1. Everything that holds values (threads' queues and registers, timers) is dropped before the blocks that the
//!    values point into: the pool is shared by count, and each heap holds it.
//! 2. The outside refers to actors by handle only; a handle keeps its actor.
use crate::actor::{Actor, BehaviourId};
use crate::atom::Atom;
use crate::code::error::LoadError;
use crate::code::program::{DecodeOpaque, Program};
use crate::counters::{Counters, Counts};
use crate::handles::{Handles, Key};
use crate::heap::block::BlockPool;
use crate::heap::view::{ActorRef, Term};
use crate::heap::Heap;
use crate::inbox::{Entry, Inbox, Target};
use crate::interpreter::Interpreter;
use crate::parcel::{Builder, Parcel};
use crate::thread::Dispatch;
use crate::turn::Turn;
use crate::value::Value;
use parking_lot::Mutex;
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::JoinHandle;

/// What a machine tells its embedder. Called on dispatch threads: must not block.
pub trait Outside: Send + Sync + 'static {
    /// A turn was aborted.
    fn aborted(&self, machine: &Machine, abort: Abort<'_>);
    /// A dispatch thread met a panic and has ended; the machine runs no further.
    fn fault(&self, machine: &Machine, fault: Fault);
    /// For the embedder to get at its own type.
    fn as_any(&self) -> &dyn Any;
}

/// An aborted turn.
pub struct Abort<'m> {
    /// The module of the behaviour.
    pub module: Atom,
    /// The behaviour.
    pub behaviour: Atom,
    /// The message, which is consumed.
    pub message: Term<'m>,
    /// Why.
    pub reason: Term<'m>,
}

/// A broken invariant, caught at a turn boundary.
pub struct Fault {
    /// What the panic said.
    pub text: String,
    /// Module and name of the behaviour that was running.
    pub behaviour: Option<(Atom, Atom)>,
}

/// How a machine is set up.
pub struct Config {
    /// Its name, for its threads.
    pub name: String,
    /// The names of its sponsors.
    pub sponsors: Vec<Atom>,
    /// Calls, tail calls and loop steps that one turn may spend.
    pub fuel: u64,
}

/// The fuel of a turn unless configured otherwise.
pub const DEFAULT_FUEL: u64 = 10_000_000;

/// Why a machine could not start.
#[derive(Debug)]
pub enum StartError {
    /// The system refused address space.
    Memory,
    /// The system refused a thread.
    Thread(std::io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Memory => write!(f, "the system has no address space for a machine"),
            StartError::Thread(error) => write!(f, "cannot start a dispatch thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// The machine has no memory left for what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory;

/// What a machine holds and has done.
#[derive(Clone, Debug)]
pub struct Info {
    /// Counters, summed over the threads.
    pub counts: Counts,
    /// Events and calls from outside that wait to be drained.
    pub inbox: usize,
    /// Actors that are referred to from outside.
    pub handles: usize,
    /// Bytes of blocks that heaps hold, and bytes mapped for the pool.
    pub heap_bytes: usize,
    /// See `heap_bytes`.
    pub mapped_bytes: usize,
    /// Bytes of event queues.
    pub queue_bytes: usize,
}

/// An actor seen between two turns.
pub struct Inspection<'m> {
    /// The module of its behaviour.
    pub module: Atom,
    /// Its behaviour.
    pub behaviour: Atom,
    /// What it has captured.
    pub captures: Vec<Term<'m>>,
}

/// What to do with an inspection.
pub type Look = Box<dyn FnOnce(&Machine, Inspection<'_>) + Send>;

struct Shared {
    pool: Arc<BlockPool>,
    program: Arc<Program>,
    handles: Handles,
    inbox: Inbox,
    /// Allocators for actors made from outside; as many as callers were ever at once.
    guests: Mutex<Vec<Heap>>,
    counters: Counters,
    queue_bytes: AtomicUsize,
    stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    outside: Box<dyn Outside>,
    fuel: u64,
}

/// A running machine; clones refer to the same one. It stops when told to, not when dropped.
#[derive(Clone)]
pub struct Machine(Arc<Shared>);

impl Machine {
    /// Starts a machine with its threads.
    pub fn start(config: Config, outside: Box<dyn Outside>) -> Result<Machine, StartError> {
        let pool = Arc::new(BlockPool::default());
        let program = Arc::new(Program::new().ok_or(StartError::Memory)?);
        let machine = Machine(Arc::new(Shared {
            pool: pool.clone(),
            program: program.clone(),
            handles: Handles::default(),
            inbox: Inbox::default(),
            guests: Mutex::new(Vec::new()),
            counters: Counters::default(),
            queue_bytes: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            outside,
            fuel: config.fuel,
        }));
        let sponsors: Arc<[Atom]> = config.sponsors.into();
        let seed = RandomState::new().hash_one(0);
        let turn = Turn::new(pool, program, sponsors.clone(), seed);
        let interpreter = Interpreter::new().ok_or(StartError::Memory)?;
        let dispatch = Dispatch::new(machine.clone(), turn, interpreter);
        let sponsor = sponsors.first().map_or("main", |name| name.name());
        let thread = std::thread::Builder::new()
            .name(format!("mote-{}-{}-1", config.name, sponsor))
            .spawn(move || dispatch.run())
            .map_err(StartError::Thread)?;
        machine.0.threads.lock().push(thread);
        Ok(machine)
    }

    /// Asks the threads to end at their next turn boundary. Returns at once; may be called again, from anywhere.
    pub fn stop(&self) {
        self.0.stopping.store(true, SeqCst);
        self.0.inbox.wake();
    }

    /// Waits until the threads have ended. Must not be called on one of them.
    pub fn join(&self) {
        let threads = std::mem::take(&mut *self.0.threads.lock());
        for thread in threads {
            // A thread catches its own panics; there is nothing to learn from the result.
            let _ = thread.join();
        }
    }

    /// Whether `stop` was called or a fault has happened.
    pub fn is_stopping(&self) -> bool {
        // Relaxed: a flag that guards no data; a thread sees it a batch later at worst.
        self.0.stopping.load(Relaxed)
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

    /// Creates an actor; `captures` holds a tuple of as many values as the behaviour captures. The caller owns the
    /// handle.
    pub fn create(
        &self,
        behaviour: BehaviourId,
        sponsor: Option<u8>,
        captures: Parcel,
    ) -> Result<Key, NoMemory> {
        let mut heap = match self.0.guests.lock().pop() {
            Some(heap) => heap,
            None => Heap::new(self.0.pool.clone()),
        };
        let made = self.create_in(&mut heap, behaviour, sponsor, captures);
        self.0.guests.lock().push(heap);
        made.map(|actor| self.0.handles.acquire(actor))
    }

    fn create_in(
        &self,
        heap: &mut Heap,
        behaviour: BehaviourId,
        sponsor: Option<u8>,
        captures: Parcel,
    ) -> Result<*const Actor, NoMemory> {
        let mark = heap.mark();
        let n = self.0.program.behaviour(behaviour).captures as usize;
        let captures = captures.unpack(heap, &mut Vec::new());
        let values = captures.as_tuple().unwrap_or(&[]);
        let actor = heap
            .captures(n, |i| values.get(i).copied().unwrap_or(Value::UNDEFINED))
            .map(|state| heap.actor(behaviour, sponsor, state))
            .filter(|actor| !captures.is_none() && !actor.is_none());
        match actor {
            Some(actor) => Ok(actor.address_pointer()),
            None => {
                heap.rewind(mark);
                Err(NoMemory)
            }
        }
    }

    /// Sends to the actor of a handle; `false` when the handle is none of this machine's.
    #[must_use]
    pub fn send(&self, target: Key, message: Parcel) -> bool {
        match self.0.handles.resolve(target) {
            Some(actor) => {
                self.0.inbox.push(Entry::Event(Target(actor), message));
                true
            }
            None => false,
        }
    }

    /// A handle of an actor seen in a term. The caller owns it.
    pub fn acquire(&self, actor: ActorRef<'_>) -> Key {
        self.0.handles.acquire(actor.actor)
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
            Some(actor) => {
                builder.address(actor);
                true
            }
            None => false,
        }
    }

    /// Looks at an actor between two turns, after what was sent to the machine before; `look` runs on a dispatch
    /// thread. `false` when the handle is none of this machine's.
    #[must_use]
    pub fn inspect(&self, key: Key, look: Look) -> bool {
        let Some(actor) = self.0.handles.resolve(key) else {
            return false;
        };
        let (machine, target) = (self.clone(), Target(actor));
        let call = move |dispatch: &mut Dispatch| look(&machine, dispatch.inspection(target));
        self.0.inbox.push(Entry::Call(Box::new(call)));
        true
    }

    /// What it holds and has done.
    pub fn info(&self) -> Info {
        let (mapped_bytes, heap_bytes) = self.0.pool.bytes();
        Info {
            counts: self.0.counters.read(),
            inbox: self.0.inbox.len(),
            handles: self.0.handles.len(),
            heap_bytes,
            mapped_bytes,
            queue_bytes: self.0.queue_bytes.load(Relaxed),
        }
    }

    /// What the embedder gave at the start.
    pub fn outside(&self) -> &dyn Outside {
        &*self.0.outside
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.0.inbox
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.0.fuel
    }

    pub(crate) fn publish(&self, counts: &Counts, queue_bytes: usize) {
        self.0.counters.publish(counts);
        self.0.queue_bytes.store(queue_bytes, Relaxed);
    }

    pub(crate) fn report_abort(&self, abort: Abort<'_>) {
        self.0.outside.aborted(self, abort);
    }

    pub(crate) fn fault(&self, text: String, behaviour: Option<(Atom, Atom)>) {
        self.0.stopping.store(true, SeqCst);
        self.0.outside.fault(self, Fault { text, behaviour });
    }
}
