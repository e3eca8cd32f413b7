//! The actor: an identity of exactly one granule.
//!
//! ```text
//! header  bits  0..20  behaviour (0: sink, 1: a shared constant, 2 and 3: sockets)
//!         bits 20..32  pinned sponsor + 1 (0: not pinned)
//!         bits 32..48  owner: the number of the only thread that runs its turns (0: nobody yet)
//!         bit  48      in transit: given to the owner, which has not taken it in yet
//!         bits 49, 50  stays, goes: what a giver has decided while it looks through its queue
//!         bit  51      asked for: a thread of another sponsor wants to run it (threads/giving.rs)
//!         bits 52..64  home + 1: where it ran before a beam sponsor took it (0: nowhere; threads/away/home.rs)
//! state   the captured value (one capture), or a pointer to the captured values (several), or 0 (none)
//! ```
//!
//! Invariants:
//! 1. Header and state change only at the commit of a turn of this actor, by its owner. The owner field changes
//!    only by the owner's own hand (it gives the actor away), or by compare-and-swap from nobody, or from a thread
//!    that is asleep (presence.rs). So an awake owner may read and write without atomic steps. An actor in transit is changed
//!    only by its new owner, which takes it in (threads/giving.rs).
//! 2. The pinned sponsor never changes. The home is written together with the owner, and only where that is a thread of a beam
//!    sponsor: so a native owner's header is its number and nothing above it (`is_run_by`).
//! 3. The captures that the state points to are never written again. They belong to this actor alone, or to a row of actors that
//!    were created alike (heap/make.rs).
//! 4. The state is written before the header that says how to read it (release); a thread that reads the header of an
//!    actor that it does not own (acquire) may read the state of a behaviour that never becomes.
use crate::base::ids::ThreadNumber;
use crate::base::sync::{Acquire, AtomicU64, Relaxed, Release};
use crate::values::value::Value;

/// The number of a behaviour in the machine's program; one number per installed version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BehaviourId(pub(crate) u32);

impl BehaviourId {
    /// The behaviour that ignores every message.
    pub const SINK: BehaviourId = BehaviourId(0);
    /// The behaviour of a shared constant: it holds one value that nobody changes, and ignores every message.
    pub(crate) const SHARED: BehaviourId = BehaviourId(1);
    /// The behaviour of sockets, and of those that wait for connections: threads/net/ has their code.
    pub(crate) const SOCKET: BehaviourId = BehaviourId(2);
    /// See [`BehaviourId::SOCKET`].
    pub(crate) const LISTENER: BehaviourId = BehaviourId(3);
    /// The behaviour of those that make connections, also there.
    pub(crate) const DIALER: BehaviourId = BehaviourId(4);
    /// Number of behaviours (versions counted) that a machine can hold.
    pub const LIMIT: usize = 1 << 20;

    /// Returns whether it is a behaviour of sockets, or of what makes them.
    pub(crate) fn is_socket(self) -> bool {
        let own = [
            BehaviourId::SOCKET,
            BehaviourId::LISTENER,
            BehaviourId::DIALER,
        ];
        own.contains(&self)
    }
}

/// The number of a sponsor of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SponsorId(pub(crate) u16);

impl SponsorId {
    /// Number of sponsors a machine can have had that actors were pinned to.
    pub const LIMIT: usize = (1 << 12) - 1;
}

const BEHAVIOUR_MASK: u64 = BehaviourId::LIMIT as u64 - 1;
const SPONSOR_SHIFT: u32 = 20;
const SPONSOR_MASK: u64 = (1 << 12) - 1;
const OWNER_SHIFT: u32 = 32;
const OWNER_MASK: u64 = 0xFFFF << OWNER_SHIFT;
const TRANSIT: u64 = 1 << 48;
const STAYS: u64 = 1 << 49;
const GOES: u64 = 1 << 50;
const ASKED_FOR: u64 = 1 << 51;
const HOME_SHIFT: u32 = 52;

/// An actor's record in the heap.
#[repr(C, align(16))]
pub struct Actor {
    header: AtomicU64,
    state: AtomicU64,
}

// Loom's atomics are larger.
#[cfg(not(loom))]
const _: () = assert!(std::mem::size_of::<Actor>() == 16);

/// The header of an actor.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Header(u64);

impl Header {
    /// The header in the place of an actor that is none: no sponsor and no thread has such a number.
    pub(crate) const BURIED: Header = Header(u64::MAX);

    /// Creates the header of a new actor.
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

    /// Returns whether the thread of that number owns the actor, and nothing has to be done before it runs.
    #[inline(always)]
    pub(crate) fn is_run_by(self, thread: ThreadNumber) -> bool {
        self.0 >> OWNER_SHIFT == thread as u64
    }

    /// Returns whether the actor is still on its way to its owner.
    pub(crate) fn is_in_transit(self) -> bool {
        self.0 & TRANSIT != 0
    }

    /// Returns whether another sponsor's thread wants to run it.
    pub(crate) fn is_asked_for(self) -> bool {
        self.0 & ASKED_FOR != 0
    }

    /// Returns the owner's decision about it while it gives.
    pub(crate) fn decided(self) -> Option<Decided> {
        match self.0 & (STAYS | GOES) {
            0 => None,
            STAYS => Some(Decided::Stays),
            _ => Some(Decided::Goes),
        }
    }

    /// The header of an actor that differs only in its behaviour.
    #[inline(always)]
    pub(crate) fn of(self, behaviour: BehaviourId) -> Header {
        Header(self.0 & !BEHAVIOUR_MASK | behaviour.0 as u64)
    }

    pub(crate) fn pinned(self) -> Option<SponsorId> {
        let n = (self.0 >> SPONSOR_SHIFT) & SPONSOR_MASK;
        n.checked_sub(1).map(|n| SponsorId(n as u16))
    }

    /// The sponsor that ran its last native turn, if the owner is a thread of a beam sponsor.
    pub(crate) fn home(self) -> Option<SponsorId> {
        let n = self.0 >> HOME_SHIFT;
        n.checked_sub(1).map(|n| SponsorId(n as u16))
    }

    #[inline(always)]
    fn with_owner(self, owner: ThreadNumber, home: Option<SponsorId>) -> Header {
        let home = home.map_or(0, |s| (s.0 as u64 + 1) << HOME_SHIFT);
        let rest = self.0 & !OWNER_MASK & ((1 << HOME_SHIFT) - 1);
        Header(rest | (owner as u64) << OWNER_SHIFT | home)
    }
}

/// The decision about an actor whose owner gives others away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
    Stays,
    Goes,
}

impl Actor {
    /// Offset of the state word, for native code.
    pub(crate) const STATE: usize = std::mem::offset_of!(Actor, state);

    /// A fresh record.
    #[inline(always)]
    pub(crate) fn new(header: Header, state: Value) -> Actor {
        Actor {
            header: AtomicU64::new(header.0),
            state: AtomicU64::new(state.word()),
        }
    }

    /// The header; exact for the owner, others see an older one at worst.
    #[inline(always)]
    pub(crate) fn header(&self) -> Header {
        // Acquire: invariant 4; and a thread may learn by nothing but this that the actor was given to it.
        Header(self.header.load(Acquire))
    }

    /// The state word: one capture, or where the captures are.
    #[inline(always)]
    pub(crate) fn state(&self) -> Value {
        Value::from_word(self.state.load(Relaxed))
    }

    /// Returns the address of the state word, for a collection that moves what it points to.
    #[inline(always)]
    pub(crate) fn state_word(&self) -> *const Value {
        (self as *const Actor)
            .wrapping_byte_add(Actor::STATE)
            .cast()
    }

    /// Returns the values that an actor has captured whose behaviour captures `n`. Only while no turn of it runs here.
    pub(crate) fn captured(&self, n: usize) -> impl Iterator<Item = Value> {
        captured(n, self.state())
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

    /// The owner hands the actor to another thread: it is in transit until that thread takes it in.
    #[inline(always)]
    pub(crate) fn give(&self, owner: ThreadNumber, home: Option<SponsorId>) {
        let header = self.header().with_owner(owner, home);
        // Release: the new owner finds the actor as this thread left it, also if it learns of it by the header.
        let word = header.0 & !(STAYS | GOES | ASKED_FOR) | TRANSIT;
        self.header.store(word, Release);
    }

    /// Takes the actor in, by the thread that it was given to.
    pub(crate) fn take_in(&self) {
        // Relaxed: nobody but the owner writes the header. Release, also below: invariant 4 holds for each store.
        let header = self.header.load(Relaxed);
        self.header.store(header & !TRANSIT, Release);
    }

    /// Notes that another sponsor's thread wants to run it, by the owner.
    pub(crate) fn ask_for(&self) {
        let header = self.header.load(Relaxed);
        self.header.store(header | ASKED_FOR, Release);
    }

    /// Notes that none does any more, by the owner.
    pub(crate) fn forget_asker(&self) {
        let header = self.header.load(Relaxed);
        self.header.store(header & !ASKED_FOR, Release);
    }

    /// Forgets where it ran before, by an owner that is a native thread.
    pub(crate) fn forget_home(&self) {
        let header = self.header.load(Relaxed);
        self.header.store(header & ((1 << HOME_SHIFT) - 1), Release);
    }

    /// Notes what the owner has decided, or that this is over.
    pub(crate) fn decide(&self, decided: Option<Decided>) {
        let mark = match decided {
            None => 0,
            Some(Decided::Stays) => STAYS,
            Some(Decided::Goes) => GOES,
        };
        let header = self.header.load(Relaxed);
        self.header.store(header & !(STAYS | GOES) | mark, Release);
    }

    /// Takes the actor, if the header is still `seen`, whose owner is nobody or a thread under visit.
    pub(crate) fn take(&self, seen: Header, owner: ThreadNumber, home: Option<SponsorId>) -> bool {
        let taken = seen.with_owner(owner, home);
        // Acquire: what the last owner wrote. Relaxed on failure: it is read again.
        self.header
            .compare_exchange(seen.0, taken.0, Acquire, Relaxed)
            .is_ok()
    }
}

/// The values behind the state word of a behaviour that captures `n`.
pub(crate) fn captured(n: usize, state: Value) -> impl Iterator<Item = Value> {
    (0..n).map(move |i| match n {
        1 => state,
        // SAFETY: an actor's state is a pointer to as many captures as its behaviour has, if these are two or more.
        _ => unsafe { *(state.word() as *const Value).add(i) },
    })
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    fn actor(owner: ThreadNumber) -> Arc<(Actor, UnsafeCell<u64>)> {
        let header = Header::new(BehaviourId(1), None, owner);
        Arc::new((Actor::new(header, Value::NONE), UnsafeCell::new(0)))
    }

    /// Does what a turn does to the captures that the state points to.
    fn turn(actor: &(Actor, UnsafeCell<u64>)) {
        // SAFETY: the model checks that nobody else is here.
        actor.1.with_mut(|captures| unsafe { *captures += 1 });
        actor.0.set(BehaviourId(1), Value::NONE);
    }

    /// A thread that learns by nothing but the header that it is the owner now, from an older event in its own queue, finds the
    /// actor as the giver left it. The same holds when it gives the actor on.
    #[test]
    fn a_given_actor_is_complete_for_whoever_sees_that_it_owns_it() {
        loom::model(|| {
            let given = actor(1);
            let threads: Vec<_> = [(2, Some(3)), (3, None)]
                .into_iter()
                .map(|(me, next)| {
                    let actor = given.clone();
                    thread::spawn(move || {
                        if actor.0.header().owner() == me {
                            match next {
                                Some(next) => actor.0.give(next, None),
                                None => turn(&actor),
                            }
                        }
                    })
                })
                .collect();
            turn(&given);
            given.0.give(2, None);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    /// A behaviour that never becomes may run anywhere, as soon as the header says so.
    #[test]
    fn a_safe_behaviour_finds_its_captures_without_owning() {
        loom::model(|| {
            let shared = actor(1);
            let s = shared.clone();
            let other = thread::spawn(move || {
                if s.0.header().behaviour() == BehaviourId(2) {
                    // SAFETY: written before the header that is seen.
                    s.1.with(|captures| assert_eq!(unsafe { *captures }, 7));
                }
            });
            // SAFETY: the model checks that nobody else is here.
            shared.1.with_mut(|captures| unsafe { *captures = 7 });
            shared.0.set(BehaviourId(2), Value::NONE);
            shared.0.give(3, None);
            other.join().unwrap();
        });
    }
}
