//! The actor: an identity of exactly one granule.
//!
//! ```text
//! header  bits  0..20  behaviour (0: sink)
//!         bits 20..32  pinned sponsor + 1 (0: not pinned)
//!         bits 32..48  owner: the number of the only thread that runs its turns (0: nobody yet)
//! state   the captured value (one capture), or a pointer to the captured values (several), or 0 (none)
//! ```
//!
//! Invariants:
//! 1. Header and state change only at the commit of a turn of this actor, by its owner. The owner field changes
//!    only by the owner's own hand (it gives the actor away), or by compare-and-swap from nobody, or from a thread
//!    that is asleep (presence.rs). So an awake owner may read and write without atomic steps.
//! 2. The pinned sponsor never changes.
//! 3. The captures that the state points to belong to this actor alone and are never written again.
//! 4. The state is written before the header that says how to read it (release); whoever reads the header of an
//!    actor that it does not own (acquire) may read the state of a behaviour that never becomes.
use crate::station::ThreadNumber;
use crate::value::Value;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The number of a behaviour in the machine's program; one number per installed version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BehaviourId(pub(crate) u32);

impl BehaviourId {
    /// What ignores every message.
    pub const SINK: BehaviourId = BehaviourId(0);
    /// How many behaviours (versions counted) a machine can hold.
    pub const LIMIT: usize = 1 << 20;
}

/// The number of a sponsor of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SponsorId(pub(crate) u16);

impl SponsorId {
    /// How many sponsors a machine can have had that actors were pinned to.
    pub const LIMIT: usize = (1 << 12) - 1;
}

const BEHAVIOUR_MASK: u64 = BehaviourId::LIMIT as u64 - 1;
const SPONSOR_SHIFT: u32 = 20;
const SPONSOR_MASK: u64 = (1 << 12) - 1;
const OWNER_SHIFT: u32 = 32;
const OWNER_MASK: u64 = 0xFFFF << OWNER_SHIFT;

/// An actor's record in the heap.
#[repr(C, align(16))]
pub struct Actor {
    header: AtomicU64,
    state: AtomicU64,
}

const _: () = assert!(std::mem::size_of::<Actor>() == 16);

/// What an actor's header says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header(u64);

impl Header {
    /// Of a new actor.
    #[inline(always)]
    pub(crate) fn new(
        behaviour: BehaviourId,
        pinned: Option<SponsorId>,
        owner: ThreadNumber,
    ) -> Header {
        let pinned = pinned.map_or(0, |s| (s.0 as u64 + 1) << SPONSOR_SHIFT);
        Header(behaviour.0 as u64 | pinned | (owner as u64) << OWNER_SHIFT)
    }

    #[inline(always)]
    pub(crate) fn behaviour(self) -> BehaviourId {
        BehaviourId((self.0 & BEHAVIOUR_MASK) as u32)
    }

    #[inline(always)]
    pub(crate) fn owner(self) -> ThreadNumber {
        (self.0 >> OWNER_SHIFT) as ThreadNumber
    }

    pub(crate) fn pinned(self) -> Option<SponsorId> {
        let n = (self.0 >> SPONSOR_SHIFT) & SPONSOR_MASK;
        n.checked_sub(1).map(|n| SponsorId(n as u16))
    }

    #[inline(always)]
    fn with_owner(self, owner: ThreadNumber) -> Header {
        Header(self.0 & !OWNER_MASK | (owner as u64) << OWNER_SHIFT)
    }
}

impl Actor {
    /// A fresh record.
    #[inline(always)]
    pub(crate) fn new(header: Header, state: Value) -> Actor {
        Actor {
            header: AtomicU64::new(header.0),
            state: AtomicU64::new(state.word()),
        }
    }

    /// The header, for its owner; others see an older one at worst.
    #[inline(always)]
    pub(crate) fn header(&self) -> Header {
        // Relaxed: invariant 1 makes it exact for the owner.
        Header(self.header.load(Relaxed))
    }

    /// The header, for a thread that does not own the actor and wants to read what belongs to it.
    pub(crate) fn header_of_other(&self) -> Header {
        // Acquire: invariant 4.
        Header(self.header.load(Acquire))
    }

    /// The state word: one capture, or where the captures are.
    #[inline(always)]
    pub(crate) fn state(&self) -> Value {
        Value::from_word(self.state.load(Relaxed))
    }

    /// The commit of a become, by the owner.
    #[inline(always)]
    pub(crate) fn set(&self, behaviour: BehaviourId, state: Value) {
        let header = self.header.load(Relaxed);
        self.state.store(state.word(), Relaxed);
        // Release: invariant 4.
        self.header
            .store(header & !BEHAVIOUR_MASK | behaviour.0 as u64, Release);
    }

    /// Gives the actor to another thread, by the owner.
    #[inline(always)]
    pub(crate) fn give(&self, owner: ThreadNumber) {
        let header = self.header().with_owner(owner);
        // Release: the new owner finds the actor as this thread left it, also if it learns of it by the header.
        self.header.store(header.0, Release);
    }

    /// Takes the actor, if the header is still `seen`, whose owner is nobody or a thread under visit.
    pub(crate) fn take(&self, seen: Header, owner: ThreadNumber) -> bool {
        // Acquire: what the last owner wrote. Relaxed on failure: it is read again.
        self.header
            .compare_exchange(seen.0, seen.with_owner(owner).0, Acquire, Relaxed)
            .is_ok()
    }
}
