//! The actors machine: values, heap, code, turns, queues, dispatch threads.
//!
//! This crate knows nothing of the BEAM. Whatever lives outside (processes, terms that the machine cannot look
//! into) reaches it through the [`foreign::Foreign`] trait only.

#[cfg(not(unix))]
compile_error!(
    "Mote does not support Windows: its threads need a Unix system, such as Linux in WSL 2"
);
#[cfg(not(target_pointer_width = "64"))]
compile_error!("Mote needs a 64-bit processor: addresses and numbers share words of 64 bits");

pub mod actor;
pub mod atom;
pub(crate) mod backlog;
pub mod batch;
pub mod clock;
pub mod code;
pub(crate) mod contract;
pub mod counters;
pub(crate) mod dispatch;
pub(crate) mod fault;
pub mod foreign;
pub mod gc;
pub mod handles;
pub mod heap;
pub(crate) mod inbox;
pub(crate) mod interpreter;
pub mod look;
pub mod machine;
pub(crate) mod map;
pub(crate) mod native;
pub mod outbox;
pub mod parcel;
pub(crate) mod parker;
pub(crate) mod platform;
pub(crate) mod presence;
pub(crate) mod prim;
pub(crate) mod queue;
pub(crate) mod quiescence;
pub(crate) mod quota;
pub mod room;
pub(crate) mod route;
#[cfg(all(test, not(loom)))]
mod scarcity;
pub mod seeded;
pub(crate) mod sharing;
pub mod sponsor;
pub(crate) mod spot;
pub(crate) mod stand_in;
pub(crate) mod station;
#[cfg(all(test, not(loom)))]
pub(crate) mod still;
pub(crate) mod sync;
pub(crate) mod thread;
pub mod timers;
pub(crate) mod trickle;
pub(crate) mod turn;
pub mod value;
pub(crate) mod worth;

pub use heap::view::{ActorRef, Committed, Map, Origin, Term, Tuple, Uncommitted, View};
pub use prim::order::distinguish_zeros;
pub use turn::staged::Staged;
