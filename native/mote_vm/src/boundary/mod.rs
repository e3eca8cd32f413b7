//! What leaves a heap and comes in: values packed as parcels, several of them as a batch, timers, what goes out to the
//! world outside (outbox), which workers run turns that are away (places.rs), how much may wait (room.rs), and the heaps that
//! callers outside work in meanwhile (leases.rs).
pub mod batch;
pub(crate) mod leases;
pub mod outbox;
pub mod parcel;
pub mod places;
pub(crate) mod refusal;
pub mod room;
pub mod timers;
pub(crate) mod trickle;
pub(crate) mod turn_away;
