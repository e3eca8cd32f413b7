//! The boundary of heaps: values packed as parcels, several of them as a batch, timers, messages to the outside (outbox),
//! the workers that run turns that are away (places.rs), the bound on waiting messages (room.rs), the heaps that callers
//! outside work in (leases.rs), the journal of a durable machine ([`journal`]), and the sockets of a thread
//! ([`sockets`]).
pub mod batch;
pub mod journal;
pub(crate) mod leases;
pub mod outbox;
pub mod parcel;
pub mod places;
pub(crate) mod refusal;
pub mod room;
pub(crate) mod sockets;
pub mod timers;
pub(crate) mod trickle;
pub(crate) mod turn_away;
