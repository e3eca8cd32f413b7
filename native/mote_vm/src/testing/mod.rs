//! Support for this crate's own tests.
#[cfg(not(loom))]
mod scarcity;
#[cfg(not(loom))]
pub(crate) mod still;
pub(crate) mod terms;
