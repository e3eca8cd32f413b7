//! What only this crate's own tests need.
mod scarcity;
pub(crate) mod still;
