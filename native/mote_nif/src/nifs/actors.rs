//! Actors: creating them, sending to them.
use crate::codec::budget::WriteMode;
use crate::enter::create::{create_many_within, create_row_within, create_within, share_within};
use crate::enter::target::send_within;
use crate::held::machine::MachineResource;
use crate::term::atoms::Name;
use crate::term::resource::ResourceArc;
use rustler::{Encoder, Env, Term};

in_three_forms! {
    /// The key of a new actor's address, or why there is none: `:big`, `:long`, `:load` (the machine has no such version of the behaviour), `:stopped`,
    /// `:no_memory`, `:no_sponsor`.
    create, create_again, create_big as "create" (
        machine: ResourceArc<MachineResource>,
        module: Name,
        name: Name,
        version: u64,
        captures: Term<'a>,
        sponsor: Term<'a>
    ) |env, mode| create_within(env, machine, (module, name, version), captures, sponsor, mode)
}

in_normal_and_dirty_form! {
    /// Creates actors of one behaviour from a list of captures, all of the same size: the keys of their addresses, the captures
    /// that are left, and why: `:ok` (none are), `:more` (call again), or what `create` says of the first one that is left.
    create_many, create_many_big (
        machine: ResourceArc<MachineResource>,
        module: Name,
        name: Name,
        version: u64,
        captures: Term<'a>,
        sponsor: Term<'a>
    ) |env, may_take_long| {
        let mode = WriteMode::on(may_take_long);
        create_many_within(env, machine, (module, name, version), captures, sponsor, mode)
    }
}

/// A shared constant of this value, by the key of its struct, or why there is none. On a dirty scheduler, since it may be large.
#[rustler::nif(schedule = "DirtyCpu")]
fn share<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    value: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    share_within(env, machine, value, WriteMode::dirty(kept))
}

/// Creates `count` actors that are alike, and lie next to each other. Returns the keys of their addresses, or why there are none, as
/// `create` does. On a dirty scheduler, since there may be many.
#[allow(clippy::too_many_arguments)] // What a NIF takes.
#[rustler::nif(schedule = "DirtyCpu")]
fn create_row<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    module: Name,
    name: Name,
    version: u64,
    captures: Term<'a>,
    sponsor: Term<'a>,
    count: usize,
    kept: Term<'a>,
) -> Term<'a> {
    let rest = (count, WriteMode::dirty(kept));
    create_row_within(
        env,
        machine,
        (module, name, version),
        captures,
        sponsor,
        rest,
    )
}

in_three_forms! {
    /// `:ok`, or why not: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`, `:full`, `:full_wait` (the sponsor asks
    /// senders to wait for room), `:no_memory`.
    send, send_again, send_big as "send" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        message: Term<'a>
    ) |env, mode| send_within((machine, key, sponsor), message, mode).encode(env)
}
