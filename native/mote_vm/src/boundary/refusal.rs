//! The reasons why a message from outside is refused.

/// The reason why a message from outside is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The handle belongs to another machine.
    Unknown,
    /// The machine has ended.
    Stopped,
    /// The machine's quota is used up.
    NoMemory,
    /// The machine is durable, and could not note this down.
    NotDurable,
    /// The sponsor holds as many events as may wait in it. Says whether it asks senders to wait for room.
    Full {
        /// See `SponsorConfig::patient`.
        patient: bool,
    },
}

/// The reason why a message from outside did not enter at a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotEntered {
    /// It is not accepted.
    Refused(Refusal),
    /// The thread has ended: it may enter elsewhere.
    Closed,
}
