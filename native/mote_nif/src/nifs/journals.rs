//! Durable machines and their journals.
use crate::held::folder::{self, FolderLock};
use crate::held::machine::MachineResource;
use crate::look::{image, journal};
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use mote_vm::boundary::journal::JournalConfig;
use rustler::{Atom, Binary, Encoder, Env, Term};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Locks a file: `{:ok, lock}`, where nobody else has it while the lock is referred to; `{:taken, who}`, or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn journal_lock<'a>(env: Env<'a>, path: Binary<'a>, who: &str) -> Term<'a> {
    folder::lock(env, OsStr::from_bytes(path.as_slice()).as_ref(), who)
}

/// Describes a journal: `{:ok, {entries, fuel, {told, named}, continues, cut}}` or `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn journal_about<'a>(env: Env<'a>, path: Binary<'a>) -> Term<'a> {
    journal::about(env, OsStr::from_bytes(path.as_slice()).as_ref())
}

/// Saves an image as `image_save` does, and begins the journal that goes on from it. The lock is the machine's until it was joined.
#[allow(clippy::too_many_arguments)] // What a NIF takes.
#[rustler::nif(schedule = "DirtyCpu")]
fn journal_begin<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    (lock, image, journal): (ResourceArc<FolderLock>, Binary<'a>, Binary<'a>),
    number: u64,
    (sync, numbered): (Atom, bool),
    told: (u64, u64),
    named: Term<'a>,
    kept: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let begins = |resource: &MachineResource| {
        *resource.folder.lock() = Some(lock);
        let sync = journal::sync_of(sync);
        let path = OsStr::from_bytes(journal.as_slice()).into();
        Some(journal::beginning(
            path,
            number,
            JournalConfig { sync, numbered },
            told,
        ))
    };
    image::save(env, machine, image, (named, kept), begins, tag)
}

/// Makes a machine that has done nothing yet one that runs journals again, the first of which has that name: `:ok`, `:stopped` or
/// `{:error, text}`.
#[rustler::nif(schedule = "DirtyIo")]
fn journal_prepare<'a>(env: Env<'a>, machine: &MachineResource, path: Binary<'a>) -> Term<'a> {
    let path = OsStr::from_bytes(path.as_slice());
    match machine.running() {
        Some(running) => journal::prepare(env, running, path.as_ref()),
        None => names::stopped().encode(env),
    }
}

/// Runs journals again. Returns the asker's side of a question; the answer is `{:ok, {told, named}}` or `{:error, {path, text}}`.
#[rustler::nif(schedule = "DirtyIo")]
fn journal_run<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    paths: Vec<Binary<'a>>,
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let paths = paths
        .iter()
        .map(|path| OsStr::from_bytes(path.as_slice()).into());
    match resource.running() {
        Some(running) => journal::run_again(env, (machine, running), paths.collect(), tag),
        None => names::stopped().encode(env),
    }
}

/// Waits in the calling process until the disk has all that has entered this life of a machine before. Returns the asker's side of a question, to which the answer is
/// `:ok`, or `:stopped`.
#[rustler::nif]
fn journal_wait<'a>(env: Env<'a>, machine: Term<'a>, tag: Term<'a>) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    match resource.running().cloned() {
        Some(running) => journal::wait(env, resource, &running, tag),
        None => names::stopped().encode(env),
    }
}

/// `{number, bytes, {told, named}, batches, microseconds}`, `nil` of a machine that is not durable, or `:stopped`.
#[rustler::nif(schedule = "DirtyIo")]
fn journal_info<'a>(env: Env<'a>, machine: &MachineResource) -> Term<'a> {
    let Some(running) = machine.running() else {
        return names::stopped().encode(env);
    };
    match running.journal_info() {
        Some(info) => journal::info(env, &info),
        None => names::nil().encode(env),
    }
}

/// Sends the calling process the message `tag` when the journal has more than that many bytes of the file with that number: `:ok`, or
/// `:stopped`.
#[rustler::nif]
fn journal_more<'a>(
    env: Env<'a>,
    machine: &MachineResource,
    place: (u64, u64),
    tag: Term<'a>,
) -> Atom {
    let Some(running) = machine.running() else {
        return names::stopped();
    };
    journal::more(env, running, place, tag);
    names::ok()
}

/// Says where a copy of the journal ends, for which the machine is to wait, or `nil` if it is to wait for none.
#[rustler::nif]
fn journal_copied(machine: &MachineResource, end: Option<(u64, u64)>) -> Atom {
    if let Some(running) = machine.running() {
        running.journal_copied(end);
    }
    names::ok()
}
