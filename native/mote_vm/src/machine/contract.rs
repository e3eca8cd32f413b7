//! What a machine and its embedder say to each other: how it is set up, what it reports, what it answers.
//!
//! Plain data and one trait; what is done with them is in machine/.
use crate::base::atom::Atom;
use crate::base::clock::ClockKind;
use crate::base::counters::Counts;
use crate::base::ids::BehaviourName;
pub use crate::boundary::refusal::Refusal;
pub use crate::boundary::turn_outside::{Effect, Effects, Outcome, TurnOutside};
pub use crate::code::program::BehaviourVersion;
use crate::gc::GcInfo;
use crate::heap::pace::GcConfig;
use crate::machine::Machine;
use crate::native::compiler::Compiler;
pub use crate::native::tier::{NativeInfo, Tier};
use crate::threads::fault::Fault;
use crate::threads::seeded::Schedule;
use crate::threads::sponsor::SponsorConfig;
pub use crate::turns::abort::Abort;
use crate::values::term::Term;
use std::any::Any;
use std::time::Instant;

/// What a machine tells its embedder. Called on dispatch threads: must not block.
pub trait Outside: Send + Sync + 'static {
    /// A turn was aborted. Whether it is reported: the machine counts those that are not.
    fn aborted(&self, machine: &Machine, abort: Abort<'_>) -> bool;
    /// A dispatch thread met a panic and has ended; the machine runs no further.
    fn fault(&self, machine: &Machine, fault: Fault);
    /// The number of the newest question of the outside, greater than 0, if any that was asked is still open. A caller
    /// whose answer nobody can give any more learns it when the foreign value is dropped; so the machine collects now and
    /// then while somebody waits.
    fn newest_question(&self) -> Option<u64> {
        None
    }
    /// Whether the caller that asked for a turn with that message has killed it. Called now and then during long turns.
    fn is_killed(&self, _message: Term<'_>) -> bool {
        false
    }
    /// A turn is to run outside: of a sponsor whose turns do. Whoever has run it says so by `Machine::end_turn`.
    fn begin_turn(&self, machine: &Machine, turn: TurnOutside<'_>) {
        let _ = (machine, turn);
    }
    /// A sponsor is removed whose turns run outside: those that have not ended will not be heard any more.
    fn call_off(&self, sponsor: Atom) {
        let _ = sponsor;
    }
    /// For the embedder to get at its own type.
    fn as_any(&self) -> &dyn Any;
}

/// How a machine is set up.
pub struct Config {
    /// Its name, for its threads.
    pub name: String,
    /// Its sponsors, at least one; the first one is there to the end.
    pub sponsors: Vec<SponsorConfig>,
    /// Calls, tail calls and loop steps that one turn may spend.
    pub fuel: u64,
    /// Bytes that the machine may hold (quota.rs).
    pub memory: usize,
    /// How often to collect.
    pub gc: GcConfig,
    /// Where its time comes from.
    pub clock: ClockKind,
    /// What decides the order in which turns run.
    pub schedule: Schedule,
    /// What makes native code of behaviours, and of the functions that they call; without one, they are interpreted.
    pub compiler: Option<&'static dyn Compiler>,
}

/// The fuel of a turn unless configured otherwise.
pub const DEFAULT_FUEL: u64 = 10_000_000;

/// Why a machine could not start, or a sponsor not be added.
#[derive(Debug)]
pub enum StartError {
    /// The system refused address space.
    Memory,
    /// The system refused a thread.
    Thread(std::io::Error),
    /// There is a sponsor of that name already.
    Exists,
    /// There are as many sponsors as a machine can have.
    TooManySponsors {
        /// How many of them were removed, but stand for the first one in actors that are pinned to them.
        gone: usize,
    },
    /// There are as many threads as a machine can have, those of removed sponsors included.
    TooManyThreads,
    /// The machine was told to stop.
    Stopped,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Memory => write!(
                f,
                "the system has no address space for the stacks of its threads"
            ),
            StartError::Thread(error) => write!(f, "cannot start a dispatch thread: {error}"),
            StartError::Exists => write!(f, "there is a sponsor of that name already"),
            StartError::TooManySponsors { gone: 0 } => {
                write!(f, "the machine has as many sponsors as it can have")
            }
            StartError::TooManySponsors { gone } => write!(
                f,
                "{gone} sponsors that were removed have had pinned actors, and their numbers are not given again: with \
                 those that there are, the machine has as many as it can have"
            ),
            StartError::TooManyThreads => write!(
                f,
                "the machine has as many threads as it can have; the numbers of those are not given again whose \
                 sponsor was removed and has had pinned actors"
            ),
            StartError::Stopped => write!(f, "the machine was told to stop"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a sponsor cannot be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoveError {
    /// There is none of that name.
    Unknown,
    /// It is the first one, which takes over what others leave.
    First,
}

/// Why an actor could not be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateError {
    /// The machine has no memory left for it, or has stopped.
    NoMemory,
    /// The behaviour, or an address in the captures, is one of another machine's.
    OtherMachine,
    /// The behaviour's turns run outside only, and the sponsor is none whose turns do.
    Misplaced,
}

impl std::fmt::Display for CreateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CreateError::NoMemory => write!(f, "the machine has no memory left for the actor"),
            CreateError::OtherMachine => {
                write!(f, "the behaviour or an address is one of another machine's")
            }
            CreateError::Misplaced => {
                write!(f, "the behaviour's turns run outside only, and the sponsor is none whose turns do")
            }
        }
    }
}

impl std::error::Error for CreateError {}

/// Why an actor was not launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchError {
    /// It was not created.
    Create(CreateError),
    /// Its message was not accepted.
    Send(Refusal),
}

/// What a machine holds and has done.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its sponsors.
    pub sponsors: Vec<SponsorInfo>,
    /// Counters of threads that have ended.
    pub ended: Counts,
    /// Actors that are referred to from outside.
    pub handles: usize,
    /// Bytes of blocks that heaps hold, and bytes mapped for the pool.
    pub heap_bytes: usize,
    /// See `heap_bytes`.
    pub mapped_bytes: usize,
    /// Bytes that are charged to the quota.
    pub charged_bytes: usize,
    /// What collections have done.
    pub gc: GcInfo,
    /// What the compiler has done.
    pub native: NativeInfo,
}

/// One sponsor's part of [`Info`].
#[derive(Clone, Debug)]
pub struct SponsorInfo {
    /// Its name.
    pub name: Atom,
    /// When it was added.
    pub started: Instant,
    /// Counters of each of its threads.
    pub threads: Vec<Counts>,
    /// Threads that are asleep.
    pub asleep: usize,
    /// Things that wait in its inboxes.
    pub inbox: usize,
    /// Events and messages that wait in its inboxes and queues together, and the most that ever did.
    pub waiting: usize,
    /// See `waiting`.
    pub high_water: usize,
    /// Messages from outside that found it full.
    pub overloaded: u64,
    /// Events that are queued.
    pub queued: u64,
    /// Bytes of its event queues.
    pub queue_bytes: usize,
}

impl Info {
    /// The counters of all threads together.
    pub fn counts(&self) -> Counts {
        let threads = self.sponsors.iter().flat_map(|s| &s.threads);
        threads.fold(self.ended, |sum, counts| sum.plus(counts))
    }
}

/// An actor seen between two turns.
pub struct Inspection<'m> {
    /// Its behaviour.
    pub behaviour: BehaviourName,
    /// What it has captured.
    pub captures: Vec<Term<'m>>,
    /// The sponsor whose thread owns it.
    pub sponsor: Atom,
    /// The sponsor where its events run, whoever sends them.
    pub pinned: Option<Atom>,
    /// Events that wait for it with its owner.
    pub queued: u64,
    /// Bytes of its record and of what its captures reach without passing another actor.
    pub bytes: u64,
    /// Whether these two are all: a look goes only so far, and beyond that they are the least that it can be.
    pub complete: bool,
}

/// What to do with an inspection.
pub type Look = Box<dyn FnOnce(&Machine, Inspection<'_>) + Send>;
