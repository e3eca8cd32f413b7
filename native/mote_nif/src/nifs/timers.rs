//! Timers that processes arm and cancel, and the clock.
use crate::codec::budget::WriteMode;
use crate::enter::drain::quiet;
use crate::enter::timer::send_after_within;
use crate::held::handle::parse_timer;
use crate::held::machine::MachineResource;
use crate::term::atoms::names;
use crate::term::resource;
use mote_vm::machine::Machine;
use rustler::{Encoder, Env, Term};

in_three_forms! {
    /// `%Mote.Timer{}`, or why not: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`, `:no_memory`.
    send_after, send_after_again, send_after_big as "send_after" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        message: Term<'a>,
        milliseconds: u64
    ) |env, mode| send_after_within(env, (machine, key, sponsor), message, milliseconds, mode)
}

/// The milliseconds that were left, `false` when it was not armed any more, `:unknown` when the key is not a timer's.
#[rustler::nif]
fn cancel_timer<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>) -> Term<'a> {
    let machine = resource::get::<MachineResource>(machine);
    let (Some(machine), Some(timer)) = (machine, parse_timer(key)) else {
        return names::unknown().encode(env);
    };
    let running = machine.running();
    if running.is_some_and(Machine::is_durable) {
        return names::not_durable().encode(env);
    }
    match running.and_then(|running| running.cancel_timer(timer)) {
        Some(milliseconds) => milliseconds.encode(env),
        None => false.encode(env),
    }
}

/// The machine's time in milliseconds, or `:stopped`.
#[rustler::nif]
fn machine_now<'a>(env: Env<'a>, machine: &MachineResource) -> Term<'a> {
    match machine.running() {
        Some(running) => running.now().encode(env),
        None => names::stopped().encode(env),
    }
}

/// Moves a manual clock on to the next moment, `limit` at most. Returns whether there may be another, `:system` when the clock moves by
/// itself, or `:stopped`. `ignores` as for `drain`.
#[rustler::nif]
fn machine_advance<'a>(
    env: Env<'a>,
    machine: &MachineResource,
    limit: u64,
    ignores: bool,
) -> Term<'a> {
    let running = machine.running();
    match running.map(|running| running.step_clock(limit, quiet(ignores))) {
        Some(Some(more)) => more.encode(env),
        Some(None) => names::system().encode(env),
        None => names::stopped().encode(env),
    }
}
