//! Why what comes from outside does not enter.

/// Why a message from outside is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The handle is none of this machine's.
    Unknown,
    /// The machine's quota is used up.
    NoMemory,
    /// As many events wait in the sponsor as may; whether it asks senders to wait for room.
    Full {
        /// See `SponsorConfig::patient`.
        patient: bool,
    },
}

/// Why a message from outside did not enter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// There is no room; whether to wait for some unless the caller says otherwise.
    Full { patient: bool },
    /// The machine's quota is used up.
    NoMemory,
    /// The thread has ended.
    Closed,
}
