//! Units of code: from untrusted bytes to runnable behaviours.
pub mod constants;
pub mod decode;
pub mod entry;
pub mod error;
pub mod functions;
pub(crate) mod instructions;
pub mod ir;
pub(crate) mod job;
pub mod live;
pub(crate) mod lower;
pub(crate) mod memory;
pub(crate) mod op;
pub(crate) mod program;
pub mod reader;
pub mod slots;
pub(crate) mod temporaries;
pub mod verify;
