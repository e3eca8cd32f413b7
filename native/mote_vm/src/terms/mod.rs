//! What is done with values: reading them ([`view`]), maps, the primitives of the language ([`prim`]), and how large a value
//! is for the world outside (written.rs).
pub(crate) mod map;
pub mod prim;
pub mod view;
pub(crate) mod written;
