//! What only this crate's own tests need.
#[cfg(not(loom))]
mod scarcity;
#[cfg(not(loom))]
pub(crate) mod still;
pub(crate) mod terms;
