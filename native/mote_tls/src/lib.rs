//! TLS 1.2 and 1.3 for connections of the actors machine, by rustls.
//!
//! `mote_vm` knows that the bytes of a connection may be sealed, and not how: see [`mote_vm::machine::net::seal`]. An embedder that
//! was built without this crate has no TLS.

pub mod config;
mod failure;
mod seal;
