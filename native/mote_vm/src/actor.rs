//! The actor: an identity of exactly one granule.
//!
//! ```text
//! header  bits 0..20   behaviour (0: sink)
//!         bits 24..32  pinned sponsor + 1 (0: not pinned)
//!         bits 32..64  busy flag and link to parked events
//! state   the captured value (one capture), or a pointer to the captured values (several), or 0 (none)
//! ```
//!
//! Invariants:
//! 1. Header and state change only at the commit of a turn of this actor.
//! 2. The captures that the state points to belong to this actor alone and are never written again.
use crate::value::Value;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of a behaviour in the machine's program; one number per installed version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BehaviourId(pub(crate) u32);

impl BehaviourId {
    /// What ignores every message.
    pub const SINK: BehaviourId = BehaviourId(0);
    /// How many behaviours (versions counted) a machine can hold.
    pub const LIMIT: usize = 1 << 20;
}

const BEHAVIOUR_MASK: u64 = BehaviourId::LIMIT as u64 - 1;
const SPONSOR_SHIFT: u32 = 24;

/// An actor's record in the heap.
#[repr(C, align(16))]
pub struct Actor {
    header: AtomicU64,
    state: AtomicU64,
}

const _: () = assert!(std::mem::size_of::<Actor>() == 16);

impl Actor {
    /// A fresh record. `sponsor` is the number of the sponsor it is pinned to.
    #[inline(always)]
    pub(crate) fn new(behaviour: BehaviourId, sponsor: Option<u8>, state: Value) -> Actor {
        let pinned = sponsor.map_or(0, |s| (s as u64 + 1) << SPONSOR_SHIFT);
        Actor {
            header: AtomicU64::new(behaviour.0 as u64 | pinned),
            state: AtomicU64::new(state.word()),
        }
    }

    /// The current behaviour.
    #[inline(always)]
    pub(crate) fn behaviour(&self) -> BehaviourId {
        // Relaxed: only the thread that runs the actor's turns reads it for dispatch.
        BehaviourId((self.header.load(Relaxed) & BEHAVIOUR_MASK) as u32)
    }

    /// The state word: one capture, or where the captures are.
    #[inline(always)]
    pub(crate) fn state(&self) -> Value {
        Value::from_word(self.state.load(Relaxed))
    }

    /// The commit of a become.
    #[inline(always)]
    pub(crate) fn set(&self, behaviour: BehaviourId, state: Value) {
        let header = self.header.load(Relaxed);
        self.state.store(state.word(), Relaxed);
        self.header
            .store(header & !BEHAVIOUR_MASK | behaviour.0 as u64, Relaxed);
    }
}
