//! Actors: creating them, sending to them.
use crate::codec::budget::Means;
use crate::enter::create::create_within;
use crate::enter::target::send_within;
use crate::held::machine::MachineResource;
use crate::term::atoms::Name;
use rustler::{Encoder, Env, ResourceArc, Term};

in_three_forms! {
    /// `%Mote.Address{}`, or why not: `:big`, `:long`, `:load` (the machine has no such version of the behaviour), `:stopped`,
    /// `:no_memory`, `:no_sponsor`.
    create, create_again, create_big as "create" (
        machine: ResourceArc<MachineResource>,
        module: Name,
        name: Name,
        version: u64,
        captures: Term<'a>,
        sponsor: Term<'a>
    ) |env, means| create_within(env, machine, (module, name, version), captures, sponsor, means)
}

in_three_forms! {
    /// `:ok`, or why not: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`, `:full`, `:full_wait` (the sponsor asks
    /// senders to wait for room), `:no_memory`.
    send, send_again, send_big as "send" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        message: Term<'a>
    ) |env, means| send_within((machine, key, sponsor), message, means).encode(env)
}
