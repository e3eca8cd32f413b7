//! Turns outside of the machine: how workers fetch them from a desk, and say how they have ended.
use crate::codec::budget::WriteMode;
use crate::codec::given;
use crate::enter::desk::{aborted_within, done_within, said};
use crate::held::desk::DeskResource;
use crate::held::handle::Handle;
use crate::held::machine::MachineResource;
use crate::held::structs;
use crate::term::atoms::{self, names, Name};
use crate::term::resource::ResourceArc;
use mote_vm::boundary::places::Found;
use mote_vm::machine::Outcome;
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, LocalPid, Term};
use std::time::Duration;

/// Opens the desk of a sponsor whose turns run outside, and may take `timeout` milliseconds or `:infinity`. The calling process answers
/// for it from now on. Returns `:stopped` if the machine has stopped, or the sponsor is gone.
#[rustler::nif]
fn desk_open<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    timeout: Term<'a>,
) -> Term<'a> {
    let Some(desk) = machine.desk(sponsor.0) else {
        return names::stopped().encode(env);
    };
    let timeout = timeout.decode().ok().map(Duration::from_millis);
    desk.managed_by(env.pid(), timeout);
    ResourceArc::new(DeskResource { desk, machine }).encode(env)
}

/// Returns the number of workers that must be started.
#[rustler::nif]
fn desk_asked(desk: &DeskResource) -> usize {
    desk.desk.take_asked()
}

/// The next turn: `{number, module, name, version, free, {captures, message}}`, where `free` is false, true, or the process that has
/// asked; `:wait` (the calling process gets
/// `:mote_turn` then) or `:closed`. `comes`: it was woken, or has begun.
#[rustler::nif]
fn desk_next<'a>(env: Env<'a>, desk: &DeskResource, comes: bool) -> Term<'a> {
    match desk.desk.next(env.pid(), comes) {
        Found::Turn(turn) => {
            let [module, name] =
                [turn.about.module, turn.about.name].map(|atom| atoms::to_term(env, atom));
            let about = [
                turn.number.encode(env),
                module,
                name,
                turn.version.encode(env),
                match turn.asker.filter(|_| turn.about.free) {
                    Some(asker) => asker.encode(env),
                    None => turn.about.free.encode(env),
                },
                given::read(env, &desk.machine, turn.given),
            ];
            make_tuple(env, &about)
        }
        Found::Nothing => names::wait().encode(env),
        Found::Closed => names::closed().encode(env),
    }
}

/// Returns whether the calling process, which waits, may end.
#[rustler::nif]
fn desk_leave(env: Env<'_>, desk: &DeskResource) -> bool {
    desk.desk.leave(env.pid())
}

/// The turns that dead workers were running, as `{worker, number}`. They have not ended yet.
#[rustler::nif]
fn desk_lost(desk: &DeskResource, workers: Vec<LocalPid>) -> Vec<(LocalPid, u64)> {
    desk.desk.lost(&workers)
}

/// Returns the desk's machine.
#[rustler::nif]
fn desk_machine<'a>(env: Env<'a>, desk: &DeskResource) -> Term<'a> {
    desk.machine.encode(env)
}

/// The address of the actor whose turn that is, while it runs; otherwise `nil`.
#[rustler::nif]
fn turn_self<'a>(env: Env<'a>, desk: &DeskResource, number: u64) -> Term<'a> {
    desk.desk.actor(number).map_or_else(
        || names::nil().encode(env),
        |actor| structs::address(env, &desk.machine, Handle::key_of(&actor, env), None),
    )
}

/// Closes the desk: no turn is fetched or heard any more. Returns the processes that still run one.
#[rustler::nif]
fn desk_close(desk: &DeskResource) -> Vec<LocalPid> {
    desk.desk.close();
    desk.desk.take_left()
}

/// The turns that have taken too long, as `{number, worker}`, and the number of milliseconds after which there may be others.
#[rustler::nif]
fn desk_overdue(desk: &DeskResource) -> (Vec<(u64, LocalPid)>, u64) {
    let (over, next) = desk.desk.overdue();
    (over, next.as_millis() as u64 + 1)
}

/// Returns the times that turns of a beam sponsor have taken since the last call: `[{module, name, turns, waited, ran, longest}]`, in
/// nanoseconds.
#[rustler::nif]
fn machine_turns<'a>(env: Env<'a>, machine: &MachineResource, sponsor: Name) -> Vec<Term<'a>> {
    let nanoseconds = |duration: Duration| duration.as_nanos() as u64;
    let desk = machine.known_desk(sponsor.0);
    let all = desk.map(|desk| desk.take_figures()).unwrap_or_default();
    all.into_iter()
        .map(|((module, name), figures)| {
            let [module, name] = [module, name].map(|atom| atoms::to_term(env, atom));
            let [waited, ran, longest] =
                [figures.waited, figures.ran, figures.longest].map(nanoseconds);
            (module, name, figures.turns, waited, ran, longest).encode(env)
        })
        .collect()
}

/// The `n` turns that have run for longest in beam sponsors: `[{address, {module, name, captures}, sponsor, milliseconds}]`; or
/// `:stopped`.
#[rustler::nif]
fn machine_blocking<'a>(env: Env<'a>, machine: ResourceArc<MachineResource>, n: usize) -> Term<'a> {
    if machine.running().is_none() {
        return names::stopped().encode(env);
    }
    let mut found = Vec::new();
    for (sponsor, desk) in machine.known_desks() {
        desk.each(|turn, actor| found.push((turn.age(), sponsor, turn.about, actor)));
    }
    found.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
    found.truncate(n);
    let shown = found.iter().map(|(age, sponsor, about, actor)| {
        let address = structs::address(env, &machine, Handle::key_of(actor, env), None);
        let [sponsor, module, name] =
            [*sponsor, about.module, about.name].map(|atom| atoms::to_term(env, atom));
        (
            address,
            (module, name, about.captures),
            sponsor,
            age.as_millis() as u64,
        )
            .encode(env)
    });
    shown.collect::<Vec<_>>().encode(env)
}

in_three_forms! {
    /// Commits a turn: `:ok`, or why not: `:big`, `:long`, `{:load, behaviour}`, `:malformed` (these are no effects), `:stopped`,
    /// `:unknown` (it has ended).
    turn_done, turn_done_again, turn_done_big as "turn_done" (
        desk: ResourceArc<DeskResource>,
        number: u64,
        steps: Term<'a>,
        next: Term<'a>
    ) |env, mode| done_within(env, &desk, number, (steps, next), mode)
}

/// A turn has ended without effects: `:ignored`, or it is to run in the machine: `:here`.
#[rustler::nif]
fn turn_over(desk: &DeskResource, number: u64, how: Atom) -> Atom {
    let outcome = match how == names::here() {
        true => Outcome::Here,
        false => Outcome::Ignored,
    };
    said(desk, number, outcome)
}

in_three_forms! {
    /// Aborts a turn, for that reason; as `turn_done`.
    turn_aborted, turn_aborted_again, turn_aborted_big as "turn_aborted" (
        desk: ResourceArc<DeskResource>,
        number: u64,
        reason: Term<'a>
    ) |env, mode| aborted_within(env, &desk, number, reason, mode)
}
