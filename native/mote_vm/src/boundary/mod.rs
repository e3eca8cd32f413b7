//! What leaves a heap and comes in: values packed as parcels, several of them as a batch, timers, what goes out to the
//! world outside (outbox), and how much may wait (room.rs).
pub mod batch;
pub mod outbox;
pub mod parcel;
pub(crate) mod refusal;
pub mod room;
pub mod timers;
pub(crate) mod trickle;
pub(crate) mod turn_outside;
