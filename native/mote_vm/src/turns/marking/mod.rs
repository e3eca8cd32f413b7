//! Marking what can be reached, while turns go on: the part of collection that turns have to know.
pub(crate) mod barrier;
pub(crate) mod mark;
pub(crate) mod phase;
pub(crate) mod span;
pub(crate) mod visitor;
pub(crate) mod work;
