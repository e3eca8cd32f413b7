//! Machines: start, stop, code, what they hold.
use crate::deliver::mail::{MailLeft, ROUND};
use crate::enter::config::{schedule_of, sponsor_config, stress_of, SponsorTerm};
use crate::enter::noted;
use crate::enter::target::Addressee;
use crate::held::bridge::{unpin, Bridge};
use crate::held::lives::{self, present};
use crate::held::machine::{MachineResource, Unfinished};
use crate::look::{info, succession};
use crate::term::atoms::{self, names, Name};
use crate::term::resource::{self, ResourceArc};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::clock::ClockKind;
use mote_vm::heap::pace::GcConfig;
use mote_vm::machine::{Config, Machine, RemoveError, StartError};
use mote_vm::threads::sponsor::cores;
use rustler::{Atom, Binary, Encoder, Env, NifResult, Term};

/// The numbers of the cores that this process may run on; none where the system does not say. Asked on a dirty
/// scheduler: a normal one may itself be bound to a core.
#[rustler::nif(name = "cores", schedule = "DirtyIo")]
fn available_cores() -> Vec<usize> {
    cores()
}

/// Starts a machine that belongs to the calling process: `{:ok, machine}` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_start<'a>(
    env: Env<'a>,
    name: String,
    sponsors: Vec<SponsorTerm>,
    fuel: u64,
    memory: usize,
    (min, factor, stress): (usize, f64, Atom),
    (clock, schedule, tier): (Atom, Term<'a>, Atom),
) -> NifResult<Term<'a>> {
    let resource = ResourceArc::new(MachineResource::new(env.pid()));
    let config = Config {
        name,
        sponsors: sponsors.into_iter().map(sponsor_config).collect(),
        fuel,
        memory,
        gc: GcConfig {
            min,
            factor,
            stress: stress_of(stress),
        },
        clock: match clock == names::manual() {
            true => ClockKind::Manual,
            false => ClockKind::System,
        },
        schedule: schedule_of(schedule)?,
        compiler: match tier == names::interp() {
            true => None,
            false => mote_jit::compiler(),
        },
    };
    match Machine::start(config, Box::new(Bridge::new(resource.clone()))) {
        Ok(machine) => {
            resource.set(machine);
            if !resource.monitor(env, &env.pid()) {
                resource.stop();
            }
            Ok((names::ok(), resource).encode(env))
        }
        Err(error) => Ok((names::error(), error.to_string()).encode(env)),
    }
}

/// Returns the number of choices that a seeded machine has made, `nil` for any other, or `:stopped`.
#[rustler::nif]
fn machine_choices<'a>(env: Env<'a>, machine: &MachineResource) -> Term<'a> {
    match machine.running() {
        Some(running) => running.choices().encode(env),
        None => names::stopped().encode(env),
    }
}

/// Tells the threads to end. Waits for none, but wakes all.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_stop(machine: &MachineResource) -> Atom {
    machine.stop();
    names::ok()
}

/// Takes nothing new from outside from now on. Waits for none.
#[rustler::nif]
fn machine_close(machine: &MachineResource) -> Atom {
    machine.close();
    names::ok()
}

/// Takes what is new from outside, which `machine_close` has kept out.
#[rustler::nif]
fn machine_open(machine: &MachineResource) -> Atom {
    machine.reopen();
    names::ok()
}

/// `{events, turns, letters, timers, questions}` that it has accepted and not done, or `:stopped`.
#[rustler::nif(schedule = "DirtyCpu")]
fn machine_unfinished<'a>(env: Env<'a>, machine: &MachineResource) -> Term<'a> {
    match machine.running() {
        Some(running) => info::unfinished(env, &machine.unfinished(running)),
        None => names::stopped().encode(env),
    }
}

/// Waits for the threads to end, and frees what the machine holds. Returns what it left unfinished, as `machine_unfinished` does. For the
/// process that answers for it, once it was stopped.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_join<'a>(env: Env<'a>, machine: ResourceArc<MachineResource>) -> Term<'a> {
    let _one_at_a_time = machine.joining.lock();
    if let Some(running) = machine.any() {
        running.stop();
        // A join forgets them.
        let timers = running.info().counts().timers;
        running.join();
        let left = Unfinished {
            timers,
            ..machine.unfinished(running)
        };
        // What the postman has left: in rounds, because the postman may be at it as well, on a normal scheduler.
        while machine.mail.deliver(env, running, ROUND, true) != MailLeft::Nothing {}
        if let Some(postman) = machine.mail.postman.get() {
            machine.mail.outbound.hand_over(env, running, postman);
        }
        lives::ended(&machine);
        if let Some(folder) = machine.folder.lock().take() {
            folder.release();
        }
        unpin(running);
        machine.joined(left);
    }
    info::unfinished(env, &machine.left())
}

/// Adds a sponsor and starts its threads: `:ok`, `:stopped`, `:sponsor_exists` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_add_sponsor<'a>(
    env: Env<'a>,
    machine: &MachineResource,
    sponsor: SponsorTerm,
) -> Term<'a> {
    let _not_while_joining = machine.joining.lock();
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    if running.is_durable() {
        let text = "a durable or recorded machine has one sponsor with one thread";
        return (names::error(), text).encode(env);
    }
    let config = sponsor_config(sponsor);
    match running.add_sponsor(&config) {
        Ok(()) => names::ok().encode(env),
        Err(StartError::Exists) => names::sponsor_exists().encode(env),
        Err(StartError::Stopped) => names::stopped().encode(env),
        Err(error) => (names::error(), error.to_string()).encode(env),
    }
}

/// Removes a sponsor, and waits for its threads to end. Returns what it has done in all, as in `machine_info`, or `:stopped`,
/// `:no_sponsor` or `:first_sponsor`.
#[rustler::nif(schedule = "DirtyIo")]
fn machine_remove_sponsor<'a>(env: Env<'a>, machine: &MachineResource, name: Name) -> Term<'a> {
    let _not_while_joining = machine.joining.lock();
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    match running.remove_sponsor(name.0) {
        Ok(done) => info::sponsor(env, machine, &done),
        Err(RemoveError::Unknown) => names::no_sponsor().encode(env),
        Err(RemoveError::First) => names::first_sponsor().encode(env),
    }
}

/// Gives a machine an identity: `:ok`, or the process that answers for another one which has it.
#[rustler::nif]
fn machine_claim<'a>(env: Env<'a>, machine: ResourceArc<MachineResource>, name: &str) -> Term<'a> {
    match lives::claim(env, &machine, name) {
        Ok(()) => names::ok().encode(env),
        Err(owner) => owner.encode(env),
    }
}

/// Holds an actor for whoever has its key, or lets go of it: `:ok`, the durable machine that is to say when its disk has that, or why not.
#[rustler::nif]
fn machine_retain<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>, kept: bool) -> Term<'a> {
    match Addressee::find((machine, key, names::nil().to_term(env))) {
        Ok(of) => noted::retained(of.reference, of.machine, of.key, kept),
        Err(word) => word.to_term(env),
    }
}

/// The process that answers for it, or `:unknown`.
#[rustler::nif]
fn machine_owner<'a>(env: Env<'a>, machine: Term<'a>) -> Term<'a> {
    match resource::get::<MachineResource>(present(machine)) {
        Some(machine) => machine.owner.encode(env),
        None => names::unknown().encode(env),
    }
}

/// The names of its sponsors, the first one first, or `:stopped`.
#[rustler::nif]
fn machine_sponsors<'a>(env: Env<'a>, machine: Term<'a>) -> NifResult<Term<'a>> {
    let machine: &MachineResource = present(machine).decode()?;
    let Some(running) = machine.running() else {
        return Ok(names::stopped().encode(env));
    };
    let names = running.sponsor_names().into_iter();
    let names: Vec<_> = names.map(|name| atoms::to_term(env, name)).collect();
    Ok(names.encode(env))
}

/// Asks for that many reports of aborted turns, each a message `{:mote_aborted, {sponsor, module, behaviour, reason,
/// message}}` to the process that answers for the machine; at its start it sends none.
#[rustler::nif]
fn machine_reports(machine: &MachineResource, count: u32) -> Atom {
    machine.reports.want(count);
    names::ok()
}

/// `{module, behaviour, count}` of messages that turns have used up for which there was no memory, since this was last asked.
#[rustler::nif]
fn machine_lost<'a>(env: Env<'a>, machine: &MachineResource) -> Vec<Term<'a>> {
    let lost = machine.lost.take().into_iter();
    let term = |((module, name), count): ((VmAtom, VmAtom), u64)| {
        let [module, name] = [module, name].map(|atom| atoms::to_term(env, atom));
        (module, name, count).encode(env)
    };
    lost.map(term).collect()
}

/// Describes what a machine holds and has done, or returns `:stopped`. There may be thousands of threads.
#[rustler::nif(schedule = "DirtyCpu")]
fn machine_info<'a>(env: Env<'a>, machine: Term<'a>) -> NifResult<Term<'a>> {
    let machine: &MachineResource = present(machine).decode()?;
    Ok(match machine.running() {
        Some(running) => info::machine(env, machine, &running.info(), running.is_paused()),
        None => names::stopped().encode(env),
    })
}

/// The hash of the module's code in the machine, or `nil`.
#[rustler::nif]
fn machine_module<'a>(env: Env<'a>, machine: &MachineResource, module: Name) -> Term<'a> {
    match machine.running() {
        Some(running) => running.module(module.0).encode(env),
        None => names::stopped().encode(env),
    }
}

/// Loads a unit of code unless it is loaded already: `:ok`, `:stopped`, `:durable` if the machine takes no other version while it
/// runs, or `{:error, text}`. If `takes_over`, actors of the versions before run it from their next turn on; `:left` instead of `:ok` if
/// some cannot, or only while everything stands still.
#[rustler::nif(schedule = "DirtyCpu")]
fn machine_load<'a>(
    env: Env<'a>,
    machine: &MachineResource,
    (module, hash): (Name, u64),
    unit: Binary<'a>,
    takes_over: bool,
) -> Term<'a> {
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    let _one_at_a_time = machine.loading.lock();
    let before = running.module(module.0);
    if before != Some(hash) {
        if running.is_replay() {
            let text = "a replay has the code of its recording, and takes in nothing else";
            return (names::error(), text).encode(env);
        }
        if before.is_some() && running.is_durable() {
            return names::durable().encode(env);
        }
        if let Err(error) = noted::load(running, &unit) {
            return (names::error(), error.to_string()).encode(env);
        }
    }
    match takes_over && before.is_some() {
        true => succession::succeeded(running, module.0).encode(env),
        false => names::ok().encode(env),
    }
}

/// Lets the version of a module that is loaded take over the actors of all others while everything stands still. The answer is which
/// behaviours have actors that go on as they are, `[{name, captures, why}]`.
#[rustler::nif]
fn machine_succeed<'a>(env: Env<'a>, machine: Term<'a>, module: Name, tag: Term<'a>) -> Term<'a> {
    succession::succeed(env, machine, module.0, tag)
}
