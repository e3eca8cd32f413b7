//! Journals of durable machines: the folder that they are in, where they begin, and running them again.
use crate::deliver::message::post;
use crate::enter::drain::Drain;
use crate::enter::noted::{enter_again, ChangedUnits};
use crate::enter::question::inquiry;
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::look::image::BeginJournal;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::resource::ResourceArc;
use mote_vm::boundary::journal::JournalConfig;
use mote_vm::machine::durable::{
    JournalEnd, JournalError, JournalFile, JournalHeader, JournalInfo, JournalSync,
};
use mote_vm::machine::Machine;
use rustler::{Atom, Encoder, Env, Term};
use std::path::{Path, PathBuf};

/// Returns the mode of syncing, by its name in Elixir.
pub fn sync_of(name: Atom) -> JournalSync {
    if name == names::always() {
        JournalSync::Always
    } else if name == names::os() {
        JournalSync::System
    } else if name == names::none() {
        JournalSync::Unacknowledged
    } else {
        JournalSync::Batch
    }
}

/// Returns the beginning of a journal, while an image is saved.
pub fn beginning(
    path: PathBuf,
    number: u64,
    config: JournalConfig,
    (told, named): (u64, u64),
) -> BeginJournal {
    let before = JournalHeader {
        told,
        named,
        ..JournalHeader::default()
    };
    Box::new(move |survey| survey.begin_journal(&path, number, config, before))
}

/// Describes a journal: `{:ok, {entries, fuel, {told, named}, continues, cut}}`, where `cut` is the byte at which something
/// incomplete was cut off, or `nil`; or `{:error, text}`.
pub fn about<'a>(env: Env<'a>, path: &Path) -> Term<'a> {
    match JournalFile::open(path) {
        Ok(file) => {
            let header = file.header;
            let told = (header.told, header.named);
            let about = (
                file.entries.len(),
                header.fuel,
                told,
                header.continues,
                file.cut,
            );
            (names::ok(), about).encode(env)
        }
        Err(error) => (names::error(), error.to_string()).encode(env),
    }
}

/// Makes a machine that has done nothing yet one that runs again what is in journals, the first of which has that name: `:ok` or
/// `{:error, text}`.
pub fn prepare<'a>(env: Env<'a>, machine: &Machine, path: &Path) -> Term<'a> {
    match JournalFile::open(path) {
        Ok(file) => {
            machine.prepare_to_run_again(file.header);
            names::ok().encode(env)
        }
        Err(error) => (names::error(), error.to_string()).encode(env),
    }
}

/// Lets things enter as they were noted.
fn enter_as_noted() -> impl Fn(&Machine, &[u8]) -> Result<(), String> + Send {
    let unchanged = ChangedUnits::default();
    move |machine: &Machine, record: &[u8]| enter_again(&unchanged, machine, record)
}

/// Puts a question to which the answer is `{:ok, {told, named}}`, or `{:error, {path, text}}` of the journal that is wrong.
pub fn run_again<'a>(
    env: Env<'a>,
    (machine, running): (Term<'a>, &Machine),
    paths: Vec<PathBuf>,
    tag: Term<'a>,
) -> Term<'a> {
    let opened: Result<Vec<_>, (usize, JournalError)> = paths
        .iter()
        .enumerate()
        .map(|(n, path)| JournalFile::open(path).map_err(|error| (n, error)))
        .collect();
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let told = move |ran: Result<JournalHeader, (usize, JournalError)>| {
            if !customer.claim() {
                return;
            }
            post(customer.pid(), |env, _| {
                let answer = match ran {
                    Ok(header) => (names::ok(), (header.told, header.named)).encode(env),
                    Err((n, error)) => {
                        let path = paths[n].to_string_lossy().into_owned();
                        (names::error(), (path, error.to_string())).encode(env)
                    }
                };
                customer.tagged(env, answer)
            });
        };
        match opened {
            Ok(journals) => running.run_again(journals, Box::new(enter_as_noted()), Box::new(told)),
            Err(wrong) => told(Err(wrong)),
        }
        Ok(())
    })
}

/// Waits in the calling process until the disk has what was noted so far, as `drain` waits.
pub fn wait<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    running: &Machine,
    tag: Term<'a>,
) -> Term<'a> {
    let (customer, asker) = Customer::of_machine(env.pid(), tag, machine.clone());
    let told = ResourceArc::new(Drain { customer, machine });
    running.when_durable(Box::new(move || drop(told)));
    ResourceArc::new(asker).encode(env)
}

/// Sends the calling process the message `tag` when the journal ends behind that place.
pub fn more(env: Env<'_>, machine: &Machine, place: JournalEnd, tag: Term<'_>) {
    let (pid, tag) = (env.pid(), OwnTerm::make_always(|env| tag.in_env(env)));
    let more = move || {
        post(&pid, |env, _| tag.with(|tag| tag.in_env(env)));
    };
    machine.when_journal_more(place, Box::new(more));
}

/// `{number, bytes, {told, named}, batches, microseconds}`.
pub fn info<'a>(env: Env<'a>, info: &JournalInfo) -> Term<'a> {
    let told = (info.told, info.named);
    let took = info.took.as_micros() as u64;
    (info.number, info.bytes, told, info.batches, took).encode(env)
}
