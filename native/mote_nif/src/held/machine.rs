//! A machine as Elixir refers to it, from its start until nothing does any more.
//!
//! Invariants:
//! 1. A running machine holds its own resource (the pin, in bridge.rs) until it was joined, so the library is never unloaded
//!    under its threads. The process that joined it releases the pin.
//! 2. Destructors run on any thread at any time: they only release, send, and set flags. A scheduler is not held up: destructors
//!    of large things, or of things with many receivers, leave the work to another thread (aside.rs).
use crate::held::binaries::Binaries;
use crate::held::copied::Copied;
use crate::held::folder::FolderLock;
use crate::held::mailbox::Mail;
use crate::held::question::Questions;
use crate::held::watches::Watches;
use crate::term::atoms::{names, Name};
use crate::term::own_term::Nursery;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::boundary::outbox::Outbox;
use mote_vm::image::tables::ImageIdentity;
use mote_vm::machine::{Machine, SponsorInfo};
use mote_vm::values::actor::SponsorId;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::types::atom::Atom;
use rustler::{Env, LocalPid, Term};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

/// Number of further abort reports that the process that answers for a machine wants. Reports it does not ask for are only counted, so
/// its mailbox never holds more than that.
#[derive(Default)]
pub struct Reports(AtomicU32);

impl Reports {
    // Relaxed, both: a number that guards nothing.

    /// Asks for `count` reports, in place of those that were left.
    pub fn want(&self, count: u32) {
        self.0.store(count, Relaxed);
    }

    /// Claims one report, if one more is wanted. Then it must be sent.
    pub fn take(&self) -> bool {
        // A look goes ahead: while none is wanted, nobody writes to this word.
        self.0.load(Relaxed) > 0
            && self
                .0
                .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_ok()
    }
}

/// Messages of each behaviour that were used up by turns for lack of memory, counted since the last look.
#[derive(Default)]
pub struct LostMessages(Mutex<FxHashMap<(VmAtom, VmAtom), u64>>);

impl LostMessages {
    /// Counts one of that module and behaviour.
    pub fn count(&self, module: VmAtom, behaviour: VmAtom) {
        *self.0.lock().entry((module, behaviour)).or_default() += 1;
    }

    /// Takes the counts, which begin anew.
    pub fn take(&self) -> Vec<((VmAtom, VmAtom), u64)> {
        self.0.lock().drain().collect()
    }
}

/// Work that a machine has accepted and not done.
#[derive(Clone, Copy, Default)]
pub struct Unfinished {
    /// Events and messages that wait.
    pub events: usize,
    /// Turns of beam sponsors that wait for a worker, or run.
    pub turns: usize,
    /// Timers that are armed.
    pub timers: u64,
    /// Messages in outboxes that nobody has taken.
    pub letters: u64,
    /// Questions without an answer.
    pub questions: u64,
}

/// One machine, from its start until nobody refers to it any more.
pub struct MachineResource {
    /// The machine, set once, so that a sender takes no lock. It stays as long as the resource, though what it held in actors is given
    /// back by a join.
    pub(super) machine: OnceLock<Machine>,
    joined: AtomicBool,
    /// True while it accepts nothing new from outside: once it finishes what it has, and until the journal of a durable one has begun.
    closing: AtomicBool,
    /// Held while a unit is loaded, so that a unit is loaded once.
    pub loading: Mutex<()>,
    /// Held while somebody starts threads or waits for some to end: one at a time.
    pub joining: Mutex<()>,
    /// Environments for small terms that the machine cannot look into.
    pub nursery: Nursery,
    /// Environments for references, which may be resources of some library. They have a place of their own, so that few of them keep each
    /// other alive.
    pub references: Nursery,
    /// Environments for the tags of questions, which are plain references and soon gone. This many of them share an environment, because
    /// making one takes longer than the rest of a question.
    pub tags: Nursery,
    /// The long binaries that it shares with the BEAM.
    pub binaries: Arc<Binaries>,
    /// The process that answers for it.
    pub owner: LocalPid,
    /// Time at which it was started.
    pub started: Instant,
    /// The questions asked from outside.
    pub questions: Arc<Questions>,
    /// Number of abort reports wanted.
    pub reports: Arc<Reports>,
    /// Messages that wait to be sent to processes.
    pub mail: Arc<Mail>,
    /// Timers that fire when processes end.
    pub watches: Arc<Watches>,
    /// Messages lost for want of memory.
    pub lost: Arc<LostMessages>,
    /// The work it left unfinished, known as soon as it was joined.
    left: OnceLock<Unfinished>,
    /// The identity that it has beyond this life, and its lives so far (lives.rs).
    pub identity: Mutex<Option<ImageIdentity>>,
    /// The folder of its journal, which is its own until it was joined.
    pub folder: Mutex<Option<ResourceArc<FolderLock>>>,
    /// The outboxes that were opened, and are still there.
    outboxes: Mutex<Vec<Weak<Outbox<Copied>>>>,
}

impl MachineResource {
    /// A machine that is not running yet.
    pub fn new(owner: LocalPid) -> MachineResource {
        MachineResource {
            machine: OnceLock::new(),
            joined: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            loading: Mutex::new(()),
            joining: Mutex::new(()),
            nursery: Nursery::new(64),
            references: Nursery::new(16),
            tags: Nursery::new(256),
            binaries: Arc::default(),
            owner,
            started: Instant::now(),
            questions: Arc::default(),
            reports: Arc::default(),
            mail: Arc::default(),
            watches: Arc::default(),
            lost: Arc::default(),
            left: OnceLock::new(),
            identity: Mutex::default(),
            folder: Mutex::default(),
            outboxes: Mutex::default(),
        }
    }

    /// Makes it known as running.
    pub fn set(&self, machine: Machine) {
        // The first one stays.
        let _ = self.machine.set(machine);
    }

    /// The machine, unless it was told to stop or has met a fault.
    pub fn running(&self) -> Option<&Machine> {
        self.machine.get().filter(|machine| !machine.is_stopping())
    }

    /// The machine for what the calling process wants of it: `:stopping` once it is closing, unless that process runs one of
    /// its turns, which the machine has accepted.
    #[inline]
    pub fn open(&self, env: Env<'_>) -> Result<&Machine, Atom> {
        let machine = self.running().ok_or_else(names::stopped)?;
        // Acquire: for `reopen`. A caller that comes in beside `close` was before it. What it brings is counted as what was there.
        match self.closing.load(Acquire) {
            false => Ok(machine),
            true => self.open_to_turns(env, machine),
        }
    }

    #[cold]
    fn open_to_turns<'m>(&self, env: Env<'_>, machine: &'m Machine) -> Result<&'m Machine, Atom> {
        let caller = env.pid();
        let desks = self.known_desks();
        match desks.iter().any(|(_, desk)| desk.is_worker(&caller)) {
            true => Ok(machine),
            false => Err(names::stopping()),
        }
    }

    /// The machine for what another one's turns have sent to it.
    pub fn open_between(&self) -> Option<&Machine> {
        self.running().filter(|_| !self.closing.load(Acquire))
    }

    /// Takes nothing new from now on. Whoever waits for room learns it.
    pub fn close(&self) {
        self.closing.store(true, Relaxed);
        if let Some(machine) = self.running() {
            machine.release_waiters();
        }
    }

    /// Takes what is new again.
    pub fn reopen(&self) {
        if let Some(machine) = self.running() {
            machine.bound_rooms();
        }
        // Release: whoever finds it open finds the journal that has begun.
        self.closing.store(false, Release);
    }

    /// Notes an outbox of its actors.
    pub fn has_outbox(&self, outbox: &Arc<Outbox<Copied>>) {
        let mut outboxes = self.outboxes.lock();
        // Now and then, so that those that are gone are never more than the others.
        if outboxes.len() == outboxes.capacity() {
            outboxes.retain(|outbox| outbox.strong_count() > 0);
        }
        outboxes.push(Arc::downgrade(outbox));
    }

    /// Returns the work that a machine has accepted and not done; exact once its threads have ended.
    pub fn unfinished(&self, machine: &Machine) -> Unfinished {
        let info = machine.info();
        let outboxes = self.outboxes.lock().clone();
        let outboxes = outboxes.iter().filter_map(Weak::upgrade);
        let desks = self.known_desks();
        let desks = desks.iter().map(|(_, desk)| desk.unfinished());
        // The two are not read at one moment.
        let events = |sponsor: &SponsorInfo| sponsor.waiting.saturating_sub(sponsor.held);
        Unfinished {
            events: info.sponsors.iter().map(events).sum(),
            turns: desks.sum(),
            timers: info.counts().timers,
            letters: outboxes.map(|outbox| outbox.info().waiting).sum(),
            questions: self.questions.counts().0,
        }
    }

    /// The machine, also while it stops; not after a join.
    pub fn any(&self) -> Option<&Machine> {
        // Acquire: a thread that sees it finds everything joined.
        let machine = self.machine.get();
        machine.filter(|_| !self.joined.load(Acquire))
    }

    /// Tells it to stop.
    pub fn stop(&self) {
        if let Some(machine) = self.machine.get() {
            machine.stop();
        }
    }

    /// Notes that the machine was joined, and the work it left unfinished.
    pub fn joined(&self, left: Unfinished) {
        // The first one stays: joins come one after the other, and only the first has found anything.
        let _ = self.left.set(left);
        self.joined.store(true, Release);
    }

    /// Returns the work it left unfinished, once it was joined.
    pub fn left(&self) -> Unfinished {
        self.left.get().copied().unwrap_or_default()
    }
}

impl Resource for MachineResource {
    const IMPLEMENTS_DOWN: bool = true;

    // The owner was killed. Its janitor joins; here the threads are only told, which waits for nobody.
    fn down(&self) {
        self.stop();
    }
}

resource_type!(MachineResource);

/// The sponsor of a name in a running machine; none of `nil`.
pub fn sponsor(machine: &Machine, name: Term<'_>) -> Result<Option<SponsorId>, Atom> {
    let Name(name) = name.decode().map_err(|_| names::no_sponsor())?;
    match name {
        VmAtom::NIL => Ok(None),
        name => machine
            .sponsor(name)
            .map(Some)
            .ok_or_else(names::no_sponsor),
    }
}
