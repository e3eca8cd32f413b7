//! What is done with values: reading them ([`view`]), maps, and the primitives of the language ([`prim`]).
pub(crate) mod map;
pub mod prim;
pub mod view;
