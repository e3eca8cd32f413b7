//! The actor machine as a NIF of `Mote.Native`.
//!
//! The machine itself is the crate `mote_vm`. Here terms become values and values become terms, machines and
//! addresses become resources, and messages find their process. Nothing here waits, and nothing here recurses over
//! a term.
//!
//! The folders below are listed from the bottom to the top: each uses those before it and none of those after it
//! (`mote_vm/tests/layers.rs` checks this too). A call of Elixir begins in `nifs`; `enter` finds its target and `codec` writes
//! what it carries for the machine. A message from an actor to a process begins in `deliver`, and `codec` makes its terms.

/// Terms of the BEAM, wherever they are: looked into, made, kept, sent.
#[macro_use]
mod term;

/// Values that Elixir holds references to, and terms that machines carry for the BEAM.
mod held;

/// Terms become values, and values become terms.
mod codec;

/// Messages and answers from machines to processes.
mod deliver;

/// Calls by which processes put something into machines.
mod enter;

/// Looking into machines: info, surveys, traces.
mod look;

mod nifs;

use rustler::{Env, Term};

/// Machines treat 0.0 and -0.0 as this node does.
fn load(env: Env<'_>, _info: Term<'_>) -> bool {
    mote_vm::distinguish_zeros(term::read::two_zeros(env));
    term::resource::open_all(env)
}

rustler::init!("Elixir.Mote.Native", load = load);
