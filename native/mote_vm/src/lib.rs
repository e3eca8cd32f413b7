//! The actors machine: values, heap, code, turns, queues, dispatch threads.
//!
//! This crate knows nothing of the BEAM. Whatever lives outside (processes, terms that the machine cannot look
//! into) reaches it through the [`values::foreign::Foreign`] trait only.

#[cfg(not(unix))]
compile_error!(
    "Mote does not support Windows: its threads need a Unix system, such as Linux in WSL 2"
);
#[cfg(not(target_pointer_width = "64"))]
compile_error!("Mote needs a 64-bit processor: addresses and numbers share words of 64 bits");

pub mod base;

pub(crate) mod platform;

pub mod values;

pub mod heap;

pub mod terms;

pub mod code;

pub(crate) mod turns;

pub(crate) mod native;

pub mod boundary;

pub mod threads;

pub mod gc;

pub mod look;

pub mod machine;

#[cfg(all(test, not(loom)))]
pub(crate) mod testing;

pub use terms::prim::order::distinguish_zeros;
pub use terms::view::{Map, Tuple, View};
pub use turns::turn::staged::Staged;
pub use values::term::{ActorRef, Committed, Origin, Term, Uncommitted};
