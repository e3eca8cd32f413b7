//! The reasons why a machine does not start, or a sponsor is not added.

/// The reason why a machine could not start, or a sponsor not be added.
#[derive(Debug)]
pub enum StartError {
    /// The system refused address space.
    Memory,
    /// The system refused a thread.
    Thread(std::io::Error),
    /// A sponsor of that name exists already.
    Exists,
    /// The machine has as many sponsors as it can have.
    TooManySponsors {
        /// Number of them that were removed, but stand for the first one in actors that are pinned to them.
        gone: usize,
    },
    /// The machine has as many threads as it can have, those of removed sponsors included.
    TooManyThreads,
    /// The machine was told to stop.
    Stopped,
    /// A seed decides the order of turns, and sockets have an order of their own.
    SeededSockets,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Memory => write!(
                f,
                "the system has no address space for the stacks of its threads"
            ),
            StartError::Thread(error) => write!(f, "cannot start a dispatch thread: {error}"),
            StartError::Exists => write!(f, "there is a sponsor of that name already"),
            StartError::TooManySponsors { gone: 0 } => {
                write!(f, "the machine has as many sponsors as it can have")
            }
            StartError::TooManySponsors { gone } => write!(
                f,
                "the machine has as many sponsors as it can have, including {gone} removed ones: actors were pinned to \
                 those, so their numbers are not reused"
            ),
            StartError::TooManyThreads => write!(
                f,
                "the machine has as many threads as it can have; the numbers of threads are not reused if actors were \
                 pinned to their sponsor before it was removed"
            ),
            StartError::SeededSockets => write!(
                f,
                "a seeded machine has no I/O sponsor: nothing decides when bytes come"
            ),
            StartError::Stopped => write!(f, "the machine was told to stop"),
        }
    }
}

impl std::error::Error for StartError {}
