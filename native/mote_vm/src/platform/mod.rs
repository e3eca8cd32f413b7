//! What differs between operating systems and processors: which cores threads run on, how much stack a thread has left,
//! where pages come from and how they are given back, when fresh code may run, when a file goes to the disk. What is kept in
//! such pages by number (slab.rs) stands here as well.
//!
//! The machine is tuned for Linux. Where another Unix lacks something, there is a substitute here that is correct, if slower.
//! `--cfg mote_portable` takes these answers on Linux as well, so that tests can run them (`bin/prove portable`).
//!
//! Invariants:
//! 1. Outside of this directory no code of the machine depends on the operating system.
//! 2. Anything that a system does not say counts as unknown; nothing is assumed in its place.
#[cfg(not(unix))]
compile_error!(
    "Mote runs on Unix: Linux, macOS, FreeBSD. On Windows, please build and run it in WSL 2."
);

pub(crate) mod code_pages;
pub(crate) mod cores;
pub(crate) mod failure;
pub(crate) mod malloc;
pub(crate) mod pages;
pub(crate) mod poller;
pub(crate) mod prefetch;
pub(crate) mod slab;
pub(crate) mod stack;
pub(crate) mod write_out;
