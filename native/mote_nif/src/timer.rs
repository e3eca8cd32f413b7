//! Timers that processes arm and cancel, and the clock.
use crate::actor::Target;
use crate::atoms::names;
use crate::encode::{Encoder as Writer, Means};
use crate::resources::{parse_timer, MachineResource};
use crate::terms;
use mote_vm::base::ids::TimerId;
use rustler::{Atom, Encoder, Env, Term};

/// `%Mote.Timer{}`, or why not: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`, `:no_memory`.
#[rustler::nif]
fn send_after<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    milliseconds: u64,
) -> Term<'a> {
    let target = (machine, key, sponsor);
    send_after_within(env, target, message, milliseconds, Means::first())
}

#[rustler::nif(name = "send_after")]
fn send_after_again<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    milliseconds: u64,
    kept: Term<'a>,
) -> Term<'a> {
    let target = (machine, key, sponsor);
    send_after_within(env, target, message, milliseconds, Means::again(kept))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn send_after_big<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    milliseconds: u64,
    kept: Term<'a>,
) -> Term<'a> {
    let target = (machine, key, sponsor);
    send_after_within(env, target, message, milliseconds, Means::dirty(kept))
}

fn send_after_within<'a>(
    env: Env<'a>,
    target: (Term<'a>, Term<'a>, Term<'a>),
    message: Term<'a>,
    milliseconds: u64,
    means: Means<'a>,
) -> Term<'a> {
    match arm(target, message, milliseconds, means) {
        // The term that there is already: each new one would be a reference of its own to the resource.
        Ok(timer) => terms::timer(env, target.0, timer),
        Err(word) => word.encode(env),
    }
}

fn arm<'a>(
    target: (Term<'a>, Term<'a>, Term<'a>),
    message: Term<'a>,
    milliseconds: u64,
    means: Means<'a>,
) -> Result<TimerId, Atom> {
    let target = Target::find(target)?;
    let mut writer = Writer::new(target.resource, target.machine, means);
    writer.term(message)?;
    writer.count_spent(message.get_env());
    target.send_after(milliseconds, writer.builder.finish())
}

/// The milliseconds that were left, `false` when it was not armed any more, `:unknown` when that is no timer.
#[rustler::nif]
fn cancel_timer<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>) -> Term<'a> {
    let machine = machine.try_get_resource::<MachineResource>();
    let (Some(machine), Some(timer)) = (machine, parse_timer(key)) else {
        return names::unknown().encode(env);
    };
    let running = machine.running();
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

/// Moves a manual clock on to the next moment, `limit` at most: whether there may be another. `:system` when the clock
/// moves by itself, or `:stopped`.
#[rustler::nif]
fn machine_step<'a>(env: Env<'a>, machine: &MachineResource, limit: u64) -> Term<'a> {
    match machine.running().map(|running| running.step_clock(limit)) {
        Some(Some(more)) => more.encode(env),
        Some(None) => names::system().encode(env),
        None => names::stopped().encode(env),
    }
}
