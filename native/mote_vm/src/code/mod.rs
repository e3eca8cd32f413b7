//! Units of code: from untrusted bytes to runnable behaviours.
pub mod decode;
pub mod entry;
pub mod error;
pub(crate) mod instructions;
pub mod ir;
pub(crate) mod job;
pub(crate) mod lower;
pub(crate) mod memory;
pub(crate) mod op;
pub mod program;
pub mod reader;
pub mod verify;
