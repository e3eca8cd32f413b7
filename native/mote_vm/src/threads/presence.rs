//! Tells whether a dispatch thread is awake, and lets others take over actors of one that is not.
//!
//! An actor is owned by one thread, the only one that runs its turns; so turns need no claim. A thread that is asleep
//! owns actors that other threads may need. They take such an actor over by compare-and-swap on its header. The sleeper
//! must not find itself the owner of an actor that is being taken. So the taker first enters a visit, which is possible
//! only while the thread is asleep, and a waking thread waits until the last visit has ended. A visit lasts for one
//! compare-and-swap.
//!
//! A caller from outside may also stand in for a sleeper (stand_in.rs). To all others it is the thread then, and the thread
//! itself does not finish waking until the caller has gone.
//!
//! Invariants:
//! 1. Bit 0 says asleep, bit 1 that a caller stands in, bit 2 that the thread waits for that caller to go; the bits above count
//!    visits. A visit begins only while bit 0 is set, in one atomic step. So does standing in, which takes bit 0 away, and only
//!    while no other bit is set: there is no visit, and the thread does not wait.
//! 2. While its thread is awake and `wake` has returned, there is no visit: the owner's plain reads of the owner
//!    field are exact for its own actors.
//! 3. What the sleeper wrote before `sleep` is seen by visitors and stand-ins (release, acquire), and what they wrote is
//!    seen by the thread after `wake` (likewise, in the other direction).
use crate::base::sync::{fence_behind_step, pause, AcqRel, Acquire, AtomicU64, Relaxed, Release};

/// The presence of one dispatch thread, awake or asleep, in one word.
pub(crate) struct Presence(AtomicU64);

const ASLEEP: u64 = 1;
const STAND_IN: u64 = 2;
const WAITING: u64 = 4;
const VISIT: u64 = 8;

/// Times that it is tried again while another one stands in: about a microsecond. Most stand-ins take less.
const TRIES: usize = 32;

impl Presence {
    /// Creates the presence of a thread that has not begun yet, which is like one asleep.
    pub(crate) fn new() -> Presence {
        Presence(AtomicU64::new(ASLEEP))
    }

    /// The thread will touch none of its actors until it wakes.
    pub(crate) fn sleep(&self) {
        // Release: invariant 3.
        self.0.fetch_or(ASLEEP, Release);
        // The look for work that follows stays behind (inbox.rs, invariant 3).
        fence_behind_step();
    }

    /// Wakes the thread. Returns when no visitor and no stand-in is left.
    pub(crate) fn wake(&self) {
        // AcqRel: acquire for invariant 3; release so that a failed visit sees a thread that is really awake.
        if self.0.fetch_and(!ASLEEP, AcqRel) & STAND_IN != 0 {
            self.wait_for_stand_in();
        }
        // Acquire: pairs with the release at a visit's end.
        while self.0.load(Acquire) != 0 {
            pause();
        }
    }

    /// Waits until the stand-in has gone, which leaves the thread asleep and is the last one.
    #[cold]
    fn wait_for_stand_in(&self) {
        // Relaxed, both: the step after them is the one that acquires.
        self.0.fetch_or(WAITING, Relaxed);
        while self.0.load(Relaxed) & STAND_IN != 0 {
            pause();
        }
        // As in `wake`.
        self.0.fetch_and(!(ASLEEP | WAITING), AcqRel);
    }

    /// Returns whether the thread is asleep: a hint, unless ordered by a fence (inbox.rs, invariant 3).
    pub(crate) fn is_asleep(&self) -> bool {
        self.0.load(Relaxed) & ASLEEP != 0
    }

    /// Enters, if the thread is asleep.
    pub(crate) fn visit(&self) -> Option<Visit<'_>> {
        let mut seen = self.0.load(Relaxed);
        while seen & ASLEEP != 0 {
            // Acquire: invariant 3. Relaxed on failure: it is read again.
            match self
                .0
                .compare_exchange_weak(seen, seen + VISIT, Acquire, Relaxed)
            {
                Ok(_) => return Some(Visit(self)),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Stands in, if the thread is asleep and no visitor or stand-in is there.
    pub(crate) fn stand_in(&self) -> Option<StandIn<'_>> {
        // Acquire: invariant 3.
        self.0
            .compare_exchange(ASLEEP, STAND_IN, Acquire, Relaxed)
            .is_ok()
            // Made only where it is true: its end is a change of the word.
            .then(|| StandIn(self))
    }

    /// Stands in as [`Presence::stand_in`] does, and for a moment waits for a stand-in or visitors to leave.
    pub(crate) fn stand_in_soon(&self) -> Option<StandIn<'_>> {
        for _ in 0..TRIES {
            if let Some(stand_in) = self.stand_in() {
                return Some(stand_in);
            }
            let seen = self.0.load(Relaxed);
            if seen & WAITING != 0 || seen & (ASLEEP | STAND_IN) == 0 {
                return None;
            }
            pause();
        }
        None
    }

    /// Returns whether the thread has woken, and waits for the stand-in to go.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.0.load(Relaxed) & WAITING != 0
    }
}

/// Makes the caller the thread for as long as this lives.
pub(crate) struct StandIn<'a>(&'a Presence);

impl Drop for StandIn<'_> {
    fn drop(&mut self) {
        // Release: invariant 3.
        self.0 .0.fetch_xor(STAND_IN | ASLEEP, Release);
        // As in `sleep`.
        fence_behind_step();
    }
}

/// Keeps the visited thread from waking for as long as this lives.
pub(crate) struct Visit<'a>(&'a Presence);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // Release: invariant 3.
        self.0 .0.fetch_sub(VISIT, Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::base::sync::AtomicU64;
    use loom::sync::Arc;
    use loom::thread;

    /// An actor owned by the sleeper (1): it wakes and runs it if it is still the owner; another (2) takes over
    /// and runs it. Never both at once, and both see each other's writes.
    #[test]
    fn a_taken_actor_is_run_by_one_thread_at_a_time() {
        loom::model(|| {
            let presence = Arc::new(Presence::new());
            let owner = Arc::new(AtomicU64::new(1));
            let state = Arc::new(loom::cell::UnsafeCell::new(0u64));
            let (p, o, s) = (presence.clone(), owner.clone(), state.clone());
            let taker = thread::spawn(move || {
                let Some(visit) = p.visit() else { return false };
                let taken = o.compare_exchange(1, 2, Relaxed, Relaxed).is_ok();
                drop(visit);
                if taken {
                    // SAFETY: the model checks that nobody else is here.
                    s.with_mut(|state| unsafe { *state += 1 });
                }
                taken
            });
            presence.wake();
            if owner.load(Relaxed) == 1 {
                // SAFETY: as above.
                state.with_mut(|state| unsafe { *state += 1 });
            }
            presence.sleep();
            taker.join().unwrap();
        });
    }

    /// A caller stands in for a sleeper that wakes, and another one tries: one at a time is the thread, each sees what
    /// the one before has done, and a caller that is refused changes nothing.
    #[test]
    fn one_at_a_time_is_the_thread() {
        loom::model(|| {
            let presence = Arc::new(Presence::new());
            let state = Arc::new(loom::cell::UnsafeCell::new(0u64));
            let callers: Vec<_> = (0..2)
                .map(|_| {
                    let (p, s) = (presence.clone(), state.clone());
                    thread::spawn(move || {
                        let Some(stand_in) = p.stand_in() else {
                            return 0;
                        };
                        // SAFETY: the model checks that nobody else is here.
                        s.with_mut(|state| unsafe { *state += 1 });
                        drop(stand_in);
                        1
                    })
                })
                .collect();
            presence.wake();
            assert!(presence.visit().is_none());
            // SAFETY: as above.
            let stood_in = state.with_mut(|state| unsafe { *state });
            presence.sleep();
            let others: u64 = callers.into_iter().map(|c| c.join().unwrap()).sum();
            assert!(stood_in <= others && presence.is_asleep());
            presence.wake();
            // SAFETY: as above.
            assert_eq!(state.with_mut(|state| unsafe { *state }), others);
        });
    }

    /// No thread takes an actor of a thread for which a caller stands in.
    #[test]
    fn who_stands_in_has_no_visitors() {
        loom::model(|| {
            let presence = Arc::new(Presence::new());
            let state = Arc::new(loom::cell::UnsafeCell::new(0u64));
            let (p, s) = (presence.clone(), state.clone());
            let taker = thread::spawn(move || {
                let visit = p.visit();
                if visit.is_some() {
                    // SAFETY: as above.
                    s.with_mut(|state| unsafe { *state += 1 });
                }
                drop(visit);
            });
            if let Some(stand_in) = presence.stand_in() {
                // SAFETY: as above.
                state.with_mut(|state| unsafe { *state += 1 });
                drop(stand_in);
            }
            presence.wake();
            // SAFETY: as above.
            state.with_mut(|state| unsafe { *state += 1 });
            taker.join().unwrap();
        });
    }

    /// Two takers of one actor: one wins.
    #[test]
    fn one_taker_wins() {
        loom::model(|| {
            let presence = Arc::new(Presence::new());
            let owner = Arc::new(AtomicU64::new(1));
            let takers: Vec<_> = [2, 3]
                .into_iter()
                .map(|me| {
                    let (p, o) = (presence.clone(), owner.clone());
                    thread::spawn(move || {
                        let _visit = p.visit().unwrap();
                        o.compare_exchange(1, me, Relaxed, Relaxed).is_ok()
                    })
                })
                .collect();
            let won = takers
                .into_iter()
                .filter(|_| true)
                .map(|t| t.join().unwrap());
            assert_eq!(won.filter(|won| *won).count(), 1);
            presence.wake();
            assert_ne!(owner.load(Relaxed), 1);
        });
    }
}
