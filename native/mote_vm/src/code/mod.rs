//! Units of code: from untrusted bytes to runnable behaviours.
pub mod ir;
pub mod primitive;
