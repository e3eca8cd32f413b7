//! How far a collection is.

/// How far the collection is that goes on, if one does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Phase {
    None,
    Marking,
    /// Everything is marked, and cells move.
    Moving,
    Clearing,
}
