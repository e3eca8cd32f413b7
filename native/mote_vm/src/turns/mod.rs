//! A turn: an actor takes one event from a queue and runs to the end, or not at all (turn.rs). The interpreter runs
//! any code; native code is the next folder's. What a turn reports to the collector that marks beside it is in
//! [`marking`].
pub(crate) mod abort;
pub(crate) mod given_back;
pub(crate) mod interpreter;
pub(crate) mod leaving;
pub(crate) mod marking;
pub(crate) mod overseer;
pub(crate) mod queue;
pub(crate) mod taken_up;
pub(crate) mod turn;
