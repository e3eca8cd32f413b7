//! What leaves a heap and comes in: values packed as parcels, several of them as a batch, timers, what goes out to the
//! world outside (outbox), which workers run turns that are away (places.rs), how much may wait (room.rs), the heaps that
//! callers outside work in meanwhile (leases.rs), what a durable machine writes down of all that comes in ([`journal`]), and the sockets of a
//! thread ([`sockets`]).
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
