//! The contract of a machine with its embedder: its configuration and its answers. What it reports unasked is in
//! threads/embedder.rs.
//!
//! Plain data; what is done with it is in machine/.
use crate::base::atom::Atom;
use crate::base::clock::ClockKind;
use crate::base::counters::Counts;
use crate::base::reasons::reasons;
pub use crate::boundary::refusal::Refusal;
pub use crate::boundary::sockets::counts::NetCounts;
pub use crate::boundary::turn_away::{Effect, Effects, Outcome, TurnAway};
pub use crate::code::program::{BehaviourVersion, StayingBehaviour, TakeOver, WhyStaying};
use crate::gc::GcInfo;
use crate::heap::pace::GcConfig;
pub use crate::look::inspect::{Inspection, Look};
use crate::native::compiler::Compiler;
pub use crate::native::tier::{NativeInfo, Tier};
use crate::threads::seeded::Schedule;
use crate::threads::sponsor::SponsorConfig;
pub use crate::threads::start_error::StartError;
pub use crate::turns::abort::Abort;
use std::time::Instant;

/// The configuration of a machine.
pub struct Config {
    /// Its name, for its threads.
    pub name: String,
    /// Its sponsors, at least one; the first one is there to the end.
    pub sponsors: Vec<SponsorConfig>,
    /// Calls, tail calls and loop steps that one turn may spend.
    pub fuel: u64,
    /// Bytes that the machine may hold (quota.rs).
    pub memory: usize,
    /// The frequency of collections.
    pub gc: GcConfig,
    /// The source of its time.
    pub clock: ClockKind,
    /// The source of the order in which turns run.
    pub schedule: Schedule,
    /// The compiler that makes native code of behaviours, and of the functions that they call. Without one, they are interpreted.
    pub compiler: Option<&'static dyn Compiler>,
}

/// The fuel of a turn unless configured otherwise.
pub const DEFAULT_FUEL: u64 = 10_000_000;

/// The reason why a sponsor cannot be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoveError {
    /// No sponsor has that name.
    Unknown,
    /// The sponsor is the first one, which takes over what others leave.
    First,
}

reasons! {
    /// The reason why an actor could not be created.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    CreateError {
        /// Or it has stopped.
        NoMemory => "the machine has no memory left for the actor";
        OtherMachine => "the behaviour or an address is one of another machine's";
        Misplaced
            => "the behaviour's turns run only outside of the machine, and those of this sponsor do not";
        NotDurable => "the machine is durable, and this is not written into its journal";
    }
}

impl std::error::Error for CreateError {}

/// The reason why an actor was not launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchError {
    /// The actor was not created.
    Create(CreateError),
    /// Its message was not accepted.
    Send(Refusal),
}

/// State and counters of a machine.
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
    /// Part of the bytes of heaps that was given to threads to fill since the last collection.
    pub new_bytes: usize,
    /// Bytes that nothing is in, and that the system has not got back yet.
    pub spare_bytes: usize,
    /// Bytes that are charged to the quota.
    pub charged_bytes: usize,
    /// Counters of the collections.
    pub gc: GcInfo,
    /// Counters of the compiler.
    pub native: NativeInfo,
}

/// The part of [`Info`] of one sponsor.
#[derive(Clone, Debug)]
pub struct SponsorInfo {
    /// Its name.
    pub name: Atom,
    /// Time when it was added.
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
    /// Part of `waiting`: messages that outboxes hold.
    pub held: usize,
    /// Messages from outside that found it full.
    pub overloaded: u64,
    /// Events that are queued.
    pub queued: u64,
    /// Bytes of its event queues.
    pub queue_bytes: usize,
    /// The counters of its sockets, if its threads have sockets.
    pub net: Option<NetCounts>,
}

impl Info {
    /// The counters of all threads together.
    pub fn counts(&self) -> Counts {
        let threads = self.sponsors.iter().flat_map(|s| &s.threads);
        threads.fold(self.ended, |sum, counts| sum.plus(counts))
    }
}
