//! The phases of a collection.
use std::time::Duration;

/// Longest time that a thread without work sleeps while a collection goes on.
pub(crate) const NAP: Duration = Duration::from_micros(500);

/// The phase of the collection that goes on, if one does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    None,
    /// An image is written of the moment at which the collection began, which marks nothing before that is over (moment.rs).
    Saving,
    Marking,
    /// Everything is marked, and cells move.
    Moving,
    Clearing,
}
