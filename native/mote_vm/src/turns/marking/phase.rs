//! The phases of a collection.

/// The phase of the collection that goes on, if one does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    None,
    Marking,
    /// Everything is marked, and cells move.
    Moving,
    Clearing,
}
