//! Replays: the journal of a recording, and going on with it to a place.
use crate::deliver::message::post;
use crate::enter::noted::{enter_again, ChangedUnits};
use crate::enter::question::inquiry;
use crate::held::machine::MachineResource;
use crate::term::atoms::{names, Name};
use crate::term::pattern::Pattern;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::machine::durable::{JournalError, JournalFile};
use mote_vm::machine::replaying::{ReplayGoal, ReplayMark, ReplaySearch, Replayed};
use mote_vm::machine::Machine;
use rustler::{Atom, Binary, Encoder, Env, NewBinary, Term};
use std::path::Path;
use std::sync::Arc;

/// The journal of a recording, and the code that takes the place of what is in it.
pub struct ReplayFile {
    pub journal: Arc<JournalFile>,
    changed: Arc<ChangedUnits>,
}

impl Resource for ReplayFile {}

resource_type!(ReplayFile);

/// Reads the journal of that name: `{:ok, file, {entries, turns, fuel, cut}}` or `{:error, text}`.
pub fn open<'a>(env: Env<'a>, path: &Path) -> Term<'a> {
    match JournalFile::open(path) {
        Ok(file) => {
            let about = (file.entries.len(), file.turns(), file.header.fuel, file.cut);
            let file = ResourceArc::new(ReplayFile {
                journal: Arc::new(file),
                changed: Arc::default(),
            });
            (names::ok(), file, about).encode(env)
        }
        Err(error) => (names::error(), error.to_string()).encode(env),
    }
}

/// The same journal with other code: `[{module, hash, unit}]`.
pub fn changed(file: &ReplayFile, units: Vec<(Name, u64, Binary<'_>)>) -> ReplayFile {
    let units = units.into_iter();
    let units = units.map(|(module, hash, unit)| (module.0, (hash, unit.as_slice().to_vec())));
    ReplayFile {
        journal: file.journal.clone(),
        changed: Arc::new(units.collect()),
    }
}

/// The bytes of a mark, as Elixir keeps them.
fn mark_bytes<'a>(env: Env<'a>, mark: &ReplayMark) -> Binary<'a> {
    let mut bytes = NewBinary::new(env, size_of::<ReplayMark>());
    for (place, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(mark) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes.into()
}

/// The mark that bytes are, if they are one.
fn mark_of(bytes: &[u8]) -> Option<ReplayMark> {
    let (words, rest) = bytes.as_chunks::<{ size_of::<u64>() }>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    words.try_into().ok().filter(|_| rest.is_empty())
}

/// Lets `act` do something with a machine that runs.
pub fn with_running<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    act: impl FnOnce((Term<'a>, &Machine)) -> Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    match resource.running() {
        Some(running) => act((machine, running)),
        None => names::stopped().encode(env),
    }
}

/// Begins a replay with the image of its journal, or with one that goes with a mark. Puts a question to which the answer is the number of
/// the next entry.
pub fn begin<'a>(
    env: Env<'a>,
    (machine, running): (Term<'a>, &Machine),
    file: &ReplayFile,
    mark: &[u8],
    tag: Term<'a>,
) -> Term<'a> {
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let begun = move |next: usize| {
            if customer.claim() {
                post(customer.pid(), |env, _| {
                    customer.tagged(env, next.encode(env))
                });
            }
        };
        running.begin_replay(file.journal.clone(), mark_of(mark), Box::new(begun));
        Ok(())
    })
}

/// Returns the search for a sent message, from a pattern in a tuple.
pub fn sent(pattern: Term<'_>) -> Option<ReplaySearch> {
    let pattern = Pattern::of(pattern)?;
    Some(ReplaySearch::Sent(Box::new(move |message| {
        pattern.matches(message)
    })))
}

/// Goes on from an entry to a goal, and puts a question to which the answer is `{:ok, {{turn, entry}, over, found, mark}}` or
/// `{:error, text}`.
pub fn run<'a>(
    env: Env<'a>,
    (machine, running): (Term<'a>, &Machine),
    file: &ReplayFile,
    (entry, goal): (usize, ReplayGoal),
    search: Option<ReplaySearch>,
    tag: Term<'a>,
) -> Term<'a> {
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        let told = move |ran: Result<Replayed, JournalError>| {
            if customer.claim() {
                post(customer.pid(), |env, _| {
                    let answer = match ran {
                        Ok(to) => replayed(env, &to),
                        Err(error) => (names::error(), error.to_string()).encode(env),
                    };
                    customer.tagged(env, answer)
                });
            }
        };
        let changed = file.changed.clone();
        let enter = move |machine: &Machine, record: &[u8]| enter_again(&changed, machine, record);
        let how = (Box::new(enter) as _, search);
        running.replay(file.journal.clone(), entry, goal, how, Box::new(told));
        Ok(())
    })
}

fn replayed<'a>(env: Env<'a>, to: &Replayed) -> Term<'a> {
    let place = (to.place.turn, to.place.entry);
    let mark = mark_bytes(env, &to.mark);
    let ok: Atom = names::ok();
    (ok, (place, to.is_over, to.found, mark)).encode(env)
}
