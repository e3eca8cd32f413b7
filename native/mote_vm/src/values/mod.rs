//! A value is a word (value.rs). Some refer to an actor (actor.rs), some to something that only the world outside knows
//! (foreign.rs). The world outside refers to actors by handles (handles.rs). walk.rs says how a collection finds values in what
//! waits.
pub mod actor;
pub mod big;
pub mod bits;
pub mod foreign;
pub mod handles;
pub mod term;
pub mod value;
pub(crate) mod walk;
