//! The foundations, which know nothing of actors: locks and atomics that loom can take the place
//! of (sync.rs), names, clocks, counters, and how much a machine may hold and a primitive may do.
pub mod atom;
pub(crate) mod checksum;
pub mod clock;
pub mod counters;
pub mod ids;
pub(crate) mod interleaving;
pub(crate) mod lent;
pub(crate) mod quota;
pub(crate) mod reasons;
pub(crate) mod sync;
pub(crate) mod work;
