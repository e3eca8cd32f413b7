//! Seeded machines: all sponsors' work on one system thread, in an order that a seed decides and reproduces.
//!
//! Each sponsor has one dispatcher, which is a [`Dispatch`] as any thread's, with queue, inbox, heap and timers of its
//! own; one system thread lets them run, a turn at a time (scheduler.rs). Pseudo-random choices decide what a machine
//! with many threads leaves open: which dispatcher is next and, in a sponsor configured with several threads, which of
//! the waiting events. No message overtakes another one from the same actor to the same actor (senders.rs).
//!
//! Invariants:
//! 1. The order of turns depends only on the seed, the program and the input, and on nothing that the clock, the memory
//!    or other system threads do. So messages from outside enter one by one, in the order in which they were sent: when
//!    nothing else is left to do, or, where it is
//!    known which there are (line.rs), whenever the seed says so. A turn that native code gives up draws
//!    the same numbers when it is interpreted (turn.rs, invariant 2), since it depends on the clock when native code is
//!    ready.
//! 2. A dispatcher whose turn it is not counts as asleep (presence.rs): the others may take its actors over, and a
//!    collector may look at it.
//! 3. A dispatcher hands on what it has for others before the scheduler may wait: no other code would look for it.
mod choices;
mod fibre;
mod line;
mod scheduler;
mod senders;

pub(crate) use choices::{Choices, EventFate};
pub(crate) use fibre::Fibre;
pub(crate) use line::Line;
pub(crate) use scheduler::Scheduler;

use crate::boundary::parcel::Parcel;
use crate::values::handles::Target;
use senders::Senders;
use std::collections::VecDeque;
use std::sync::Arc;

/// The source of the order in which turns run.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// The system: every dispatch thread is one of its threads.
    #[default]
    Threads,
    /// A seed.
    Seeded {
        /// The seed.
        seed: u64,
        /// Number of choices after which the order is first in, first out.
        choices: u64,
    },
    /// An order: of each event its place in the queue, and its fate. What comes after these is first in, first out.
    Order(Vec<u32>),
}

/// The additional state of a seeded machine.
pub(crate) struct Seeded {
    pub(crate) choices: Arc<Choices>,
    pub(crate) line: Line,
    pub(crate) seed: u64,
}

/// The additional state of each of its dispatchers; nothing in other machines.
#[derive(Default)]
pub(crate) struct SeededThread {
    /// Present if open alternatives are chosen, and messages from outside wait until they are admitted.
    pub(crate) choices: Option<Arc<Choices>>,
    /// Any event that waits may be the next.
    pub(crate) shuffled: bool,
    pub(crate) senders: Senders,
    /// The next turn is aborted, whatever it does: an order says so.
    pub(crate) aborts: bool,
    pub(crate) arrivals: VecDeque<(Target, Parcel)>,
}

impl Seeded {
    pub(crate) fn of(schedule: Schedule) -> Option<Seeded> {
        let (choices, seed) = match schedule {
            Schedule::Threads => return None,
            Schedule::Seeded { seed, choices } => (Choices::new(seed, choices), seed),
            Schedule::Order(order) => (Choices::in_order(&order), 0),
        };
        Some(Seeded {
            choices: Arc::new(choices),
            line: Line::default(),
            seed,
        })
    }
}
