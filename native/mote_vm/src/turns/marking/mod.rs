//! Marking what can be reached, while turns go on: the part of collection that turns have to know.
pub(crate) mod barrier;
pub(crate) mod compaction;
pub(crate) mod garbage;
pub(crate) mod mark;
pub(crate) mod moment;
pub(crate) mod packets;
pub(crate) mod pauses;
pub(crate) mod phase;
pub(crate) mod span;
pub(crate) mod state;
pub(crate) mod visitor;
