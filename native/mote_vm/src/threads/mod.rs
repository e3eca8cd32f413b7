//! Dispatch threads: where events wait for them (inbox.rs, station.rs), how they run turns (thread.rs, dispatch.rs),
//! share work, sleep and wake, and how a test runs them in an order of its choice ([`seeded`]).
pub(crate) mod away;
pub(crate) mod backlog;
pub(crate) mod core_balance;
pub(crate) mod dispatch;
pub(crate) mod due;
pub(crate) mod fault;
pub(crate) mod giving;
pub(crate) mod inbox;
pub(crate) mod parker;
pub(crate) mod place;
pub(crate) mod presence;
pub(crate) mod quiescence;
pub(crate) mod request;
pub(crate) mod route;
pub mod seeded;
pub(crate) mod sharing;
pub mod sponsor;
pub(crate) mod stand_in;
pub(crate) mod station;
pub(crate) mod thread;
pub(crate) mod wake_threshold;
pub(crate) mod watch;
pub(crate) mod watched;
