//! What a dispatch thread has done, readable from anywhere without stopping it.
//!
//! Each counter has one writer, its thread, which publishes its private tally every batch of turns. Readers see values that are
//! at most a batch old; the parts of a sum need not be from the same moment.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The published counters of one thread, alone on their cache lines.
        #[derive(Default)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $($name: AtomicU64,)*
        }

        /// A reading of the counters, or a thread's own tally.
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            // Relaxed throughout: each number stands for itself, none of them guards data.
            pub(crate) fn publish(&self, counts: &Counts) {
                $(self.$name.store(counts.$name, Relaxed);)*
            }

            pub(crate) fn read(&self) -> Counts {
                Counts { $($name: self.$name.load(Relaxed),)* }
            }
        }

        impl Counts {
            /// Returns the sum of both.
            pub fn plus(&self, other: &Counts) -> Counts {
                // Wrapping: a part of a sum may be less than zero (machine/outside.rs).
                Counts { $($name: self.$name.wrapping_add(other.$name),)* }
            }

            /// Names and values, in the order of the documentation.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Turns that ended, whichever way.
    turns,
    /// Turns, of these, that the interpreter ran.
    interpreted,
    /// Messages sent by committed turns.
    sends,
    /// Actors created by committed turns.
    creates,
    /// Becomes of committed turns.
    becomes,
    /// Messages that matched no clause, sinks included.
    ignored,
    /// Sends to something that is not an address.
    dropped,
    /// Messages to the outside that nobody was there to take.
    undelivered,
    /// Messages to the outside for which there was no room, or no memory in another machine.
    overflowed,
    /// Turns aborted by `abort(reason)`.
    aborts_explicit,
    /// Turns aborted by a failed match that knows no line: `=`, `case`, `cond` or the clauses of a function.
    aborts_match,
    /// Turns aborted because their fuel was spent.
    aborts_fuel,
    /// Turns aborted because calls were too deep.
    aborts_stack,
    /// Turns aborted for a module that is not loaded.
    aborts_undefined_function,
    /// Turns aborted where Elixir would raise: an operation had no answer, or nothing matched.
    aborts_raised,
    /// Turns aborted outside of the machine: they raised, threw or exited, or were killed.
    aborts_crashed,
    /// Turns aborted because they took longer outside of the machine than they may.
    aborts_timeout,
    /// Turns aborted because what had asked for them was killed.
    aborts_killed,
    /// Turns aborted, and messages from outside given up, because memory ended.
    aborts_no_memory,
    /// Refusals, because memory ended, of things from outside or for an outbox. They are the machine's, not a thread's.
    refused_no_memory,
    /// Aborted turns, for any reason, that were only counted, because there were too many to report each.
    unreported,
    /// Messages that entered from outside.
    foreign_in,
    /// Messages handed to the outside.
    foreign_out,
    /// Timers armed and not yet due.
    timers,
    /// Events passed on to the thread of the same sponsor that owns their actor.
    forwarded,
    /// Actors taken over from threads that were asleep.
    taken_over,
    /// Events for which another sponsor's thread was asked to give the actor away.
    migrations,
    /// Times that queued events were given to another thread.
    shares_given,
    /// Times that another thread's queued events were received on request.
    shares_taken,
    /// Times that the thread has seen sharing lose, so that its sponsor shares nothing for a while.
    sharing_paused,
    /// Events moved to another sponsor: `sendx`, `on` references and pinned actors.
    sendx,
    /// Times the thread went to sleep.
    parks,
    /// Times that a process which waited for an answer ran the turns while the thread slept.
    stand_ins,
    /// Nanoseconds awake.
    busy_ns,
    /// The most events that were queued at the end of a batch.
    queue_high_water,
}
