//! The actors machine as a NIF of `Mote.Native`.
//!
//! What a machine does is written in `mote_vm`. Here terms become values and values become terms, machines and
//! addresses become resources, and messages find their process. Nothing here waits, and nothing here recurses over
//! a term.

mod actor;
mod aside;
mod atoms;
mod batch;
mod bridge;
mod customer;
mod decode;
mod drain;
mod encode;
mod fault;
mod foreign;
mod future;
mod info;
mod machine;
mod mail;
mod maps;
mod message;
mod order;
mod outbox;
mod own_term;
mod pattern;
mod question;
mod read;
mod repack;
mod resources;
mod room;
mod survey;
mod terms;
mod timer;
mod trace;

use rustler::{Env, Term};

/// Machines do with zeros what this node does.
fn load(env: Env<'_>, _info: Term<'_>) -> bool {
    mote_vm::distinguish_zeros(read::two_zeros(env));
    true
}

rustler::init!("Elixir.Mote.Native", load = load);
