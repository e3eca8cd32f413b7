//! Watching turns: what threads look at between two batches (attention.rs), turns shown one by one (trace.rs, turn.rs),
//! turns counted for a while (watch.rs), and what can be reached from a value (reach.rs).
//!
//! This lies below the threads, which run their turns in another loop while they are watched (threads/thread/watched.rs).
pub(crate) mod attention;
pub(crate) mod reach;
pub mod shown_turn;
pub mod trace;
pub(crate) mod watch;
