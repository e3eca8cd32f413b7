//! Replays of recordings.
use crate::held::handle::parse_key;
use crate::held::lives;
use crate::held::machine::MachineResource;
use crate::look::image::written_form;
use crate::look::replay::{self, ReplayFile};
use crate::look::survey::survey;
use crate::term::atoms::{names, Name};
use crate::term::resource::ResourceArc;
use mote_vm::machine::replaying::{ReplayGoal, ReplaySearch};
use rustler::{Atom, Binary, Encoder, Env, OwnedEnv, Term};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Reads the journal of a recording: `{:ok, file, {entries, turns, fuel, cut}}` or `{:error, text}`. `turns` is how many had run at its
/// last entry, and `cut` the byte at which something incomplete was cut off, or `nil`.
#[rustler::nif(schedule = "DirtyIo")]
fn replay_open<'a>(env: Env<'a>, path: Binary<'a>) -> Term<'a> {
    replay::open(env, OsStr::from_bytes(path.as_slice()).as_ref())
}

/// The same recording with other code, `[{module, hash, unit}]`, in the place of what it has of these modules.
#[rustler::nif]
fn replay_changed<'a>(
    file: &ReplayFile,
    units: Vec<(Name, u64, Binary<'a>)>,
) -> ResourceArc<ReplayFile> {
    ResourceArc::new(replay::changed(file, units))
}

/// Makes a machine that has done nothing yet a replay of the machine of that identity: `:ok` or `:stopped`.
#[rustler::nif]
fn replay_prepare<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    file: &ReplayFile,
    identity: &str,
) -> Atom {
    let Some(running) = machine.running() else {
        return names::stopped();
    };
    running.pause();
    running.prepare_to_run_again(file.journal.header);
    lives::replay(env, &machine, identity);
    names::ok()
}

/// Begins a replay in a machine that has gone on from an image, with its mark, or from that of the recording. Returns the asker's side of
/// a question, to which the answer is the number of the next entry.
#[rustler::nif]
fn replay_begin<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    file: &ReplayFile,
    mark: Binary<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    replay::with_running(env, machine, |running| {
        replay::begin(env, running, file, &mark, tag)
    })
}

/// Goes on from the entry of that number to `{turn, entry, most}`. `search` is `{:sent, pattern}`, `{:became, key}` or `nil`. Returns the
/// asker's side of a question; the answer is `{:ok, {{turn, entry}, over, found, mark}}` or `{:error, text}`.
#[rustler::nif]
fn replay_run<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    file: &ReplayFile,
    next: usize,
    (turn, entry, most): (u64, usize, u64),
    search: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let search = match search.decode::<(Atom, Term<'a>)>() {
        Ok((what, pattern)) if what == names::sent() => replay::sent(pattern),
        Ok((_became, key)) => parse_key(key).map(ReplaySearch::Became),
        Err(_) => None,
    };
    let goal = ReplayGoal { turn, entry, most };
    replay::with_running(env, machine, |running| {
        replay::run(env, running, file, (next, goal), search, tag)
    })
}

/// Lets addresses of a replay that was joined lead to another one of the same recording: `:ok`.
#[rustler::nif]
fn replay_succeeds<'a>(before: Term<'a>, machine: ResourceArc<MachineResource>) -> Atom {
    lives::succeed(before, &machine);
    names::ok()
}

/// A number that follows from all that lives in a machine. Returns the asker's side of a question; the answer is the number, or
/// `:no_memory`.
#[rustler::nif(schedule = "DirtyCpu")]
fn machine_fingerprint<'a>(env: Env<'a>, machine: Term<'a>, tag: Term<'a>) -> Term<'a> {
    survey(env, machine, tag, |env, _, survey| {
        let scratch = OwnedEnv::new();
        match survey.fingerprint(&|value| written_form(value, &scratch)) {
            Some(sum) => sum.encode(env),
            None => names::no_memory().to_term(env),
        }
    })
}
