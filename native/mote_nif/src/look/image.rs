//! Images of machines: the values of the BEAM that are written in them, and the replacements of all others.
//!
//! Invariants:
//! 1. A value that is read back makes no atoms and has its old kind: nothing in it refers to a process, a node or code.
//! 2. The thread that walks for an image hands over blocks and waits only while [`BLOCKS`] of them are not written yet:
//!    so an image takes no more memory than that. Only where the machine stands still for all of it do turns wait for that thread.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::deliver::mail::assembled;
use crate::deliver::message::post;
use crate::enter::config::{read_untrusted, untrusted};
use crate::enter::noted::nobody;
use crate::enter::question::inquiry;
use crate::held::far::Far;
use crate::held::foreign::{Abroad, Elsewhere, Opaque, Process};
use crate::held::lives::{take_up, went_on};
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::look::migration::Asking;
use crate::look::survey::behaviour;
use crate::term::atoms::{self, names};
use crate::term::own_term::OwnTerm;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::image::file::{hand_over, said, write, ImageFile, ImagePart, NotTaken};
use mote_vm::image::save::{ImageRoots, NotSaved};
use mote_vm::image::tables::{ImageLost, ImageTables};
use mote_vm::image::walk::WrittenForeign;
use mote_vm::image::{ImageError, MigratingActor, Migration};
use mote_vm::look::holders::HeldIn;
use mote_vm::look::survey::Survey;
use mote_vm::machine::Machine;
use mote_vm::values::big::MOST_LIMBS;
use mote_vm::values::foreign::{Class, ForeignRef};
use mote_vm::values::handles::Key;
use mote_vm::Term as VmTerm;
use rustc_hash::FxHashSet;
use rustler::sys::enif_make_ref;
use rustler::{Atom, Binary, Encoder, Env, OwnedEnv, Term};
use std::cell::Cell;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Blocks of a megabyte that may wait to be written, and the longest that the next one waits until the disk takes one.
const BLOCKS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

/// The prefix of a trace: nodes without a name all give the same pids, and only the system process that has given one knows
/// whose it is.
static SYSTEM_PROCESS: LazyLock<[u8; 8]> =
    LazyLock::new(|| RandomState::new().hash_one(()).to_le_bytes());

/// An image that was opened.
pub struct ImageResource(ImageFile);

impl Resource for ImageResource {}

resource_type!(ImageResource);

/// The tables of a saved image, and how long the machine stood still for it.
type Saved = (Result<ImageTables, Unsaved>, Duration);

/// The reason why nothing was saved.
enum Unsaved {
    Image(NotSaved),
    /// The journal that is to go on from the image could not begin.
    Journal(String),
    /// The disk took nothing more.
    Stuck,
}

/// Begins the journal that goes on from an image, while the machine stands still for it.
pub type BeginJournal = Box<dyn FnOnce(&mut Survey<'_>) -> io::Result<()> + Send>;

/// Puts a question to which the answer is `{:ok, {bytes, microseconds, about}}` or `{:error, text}`, once the image is in the file of
/// that name. `begins` makes what begins the journal that goes on from it, if there is to be one.
pub fn save<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    path: Binary<'a>,
    (named, kept): (Term<'a>, Term<'a>),
    begins: impl FnOnce(&MachineResource) -> Option<BeginJournal>,
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    let mut writer = Writer::new(&resource, running, WriteMode::dirty(kept));
    if let Err(why) = writer.all(&[named]) {
        return Atom::from(why).encode(env);
    }
    let named = writer.builder.finish();
    let identity = resource.identity.lock().clone();
    let begin = begins(&resource);
    let path = PathBuf::from(OsStr::from_bytes(path.as_slice()));
    inquiry(env, machine, tag, |customer| {
        let (blocks, parts) = sync_channel(BLOCKS);
        let ((rooms, free), (told, saved)) = (channel(), channel());
        let customer = customer.clone();
        let writer = std::thread::Builder::new().name("mote-image".into());
        let asker = customer.clone();
        let written = writer.spawn(move || {
            let bytes = write(&path, &parts, &rooms);
            // Where the system does not take it, the machine need not hand over the rest. One that has ended says so itself.
            drop(parts);
            if let Ok(saved) = saved.recv() {
                answer(&asker, saved, bytes);
            }
        });
        written.map_err(|_| names::no_memory())?;
        let (begins, stopping) = (begin.is_some(), running.stopping());
        let note = move |survey: &mut Survey<'_>| {
            let begun = Instant::now();
            let journal = begin.map_or(Ok(()), |begin| begin(survey));
            let journal = journal.map_err(|error| Unsaved::Journal(said(&error)));
            let roots = || survey.image_roots(&named, identity).map_err(Unsaved::Image);
            (journal.and_then(|()| roots()), begun, begun.elapsed())
        };
        let walk =
            move |(roots, begun, noted): (Result<ImageRoots, Unsaved>, Instant, Duration)| {
                let scratch = OwnedEnv::new();
                let written_form = |value: &ForeignRef| written_form(value, &scratch);
                let is_stuck = Cell::new(false);
                let give = |part| {
                    // Relaxed: as in `is_stopping`.
                    let given = hand_over(&blocks, part, PATIENCE, || stopping.load(Relaxed));
                    is_stuck.set(given == Err(NotTaken::Stuck));
                    given.ok()
                };
                let mut take = |block| {
                    give(ImagePart::Block(block))?;
                    Some(free.try_recv().unwrap_or_default())
                };
                let beside = roots.as_ref().is_ok_and(ImageRoots::is_written_beside);
                let tables = roots.and_then(|roots| {
                    let written = roots.write(&written_form, &mut take);
                    written.map_err(Unsaved::Image)
                });
                let stood = if beside { noted } else { begun.elapsed() };
                if tables.is_ok() {
                    // Whoever has stopped reading says why.
                    give(ImagePart::Whole);
                }
                if is_stuck.get() {
                    // Whoever writes it may never come back.
                    let bytes = Err(io::ErrorKind::TimedOut.into());
                    answer(&customer, (Err(Unsaved::Stuck), stood), bytes);
                }
                let _ = told.send((tables, stood));
            };
        let asked = running.at_moment(begins, note, walk);
        asked.map_err(|_| names::no_memory())
    })
}

/// Answers, unless that was done.
fn answer(customer: &Customer, (tables, stood): Saved, bytes: io::Result<u64>) {
    if !customer.claim() {
        return;
    }
    post(customer.pid(), |env, _| {
        let why = match (&tables, bytes) {
            (Ok(tables), Ok(bytes)) => {
                let saved = (bytes, stood.as_micros() as u64, about(env, tables));
                return customer.tagged(env, (names::ok(), saved).encode(env));
            }
            (Err(Unsaved::Journal(why)), _) => format!("its journal cannot begin: {why}"),
            (Err(Unsaved::Stuck), _) => {
                let seconds = PATIENCE.as_secs();
                format!("the disk has taken nothing of it for {seconds} seconds")
            }
            (Err(Unsaved::Image(why)), _) if *why != NotSaved::Refused => why.to_string(),
            (_, Err(error)) => said(&error),
            (Err(Unsaved::Image(why)), _) => why.to_string(),
        };
        customer.tagged(env, (names::error(), why).encode(env))
    });
}

/// Opens an image, if there are no more than `most` atoms afterwards, where the node has `there` of them: `{:ok, image, about, [{module,
/// hash}]}` or `{:error, text}`.
pub fn open<'a>(env: Env<'a>, path: PathBuf, (most, there): (usize, usize)) -> Term<'a> {
    // Those of images that were only read are in the machines' table alone.
    type IsKnown<'k> = &'k dyn Fn(&str) -> bool;
    let of_node = |name: &str| Atom::existing_from_utf8_bytes(env, name.as_bytes()).is_ok();
    let tables: [(usize, IsKnown<'_>); 2] =
        [(there, &of_node), (VmAtom::count(), &VmAtom::is_known)];
    let admit = |names: &FxHashSet<String>| {
        for (there, is_known) in tables {
            let new = names.iter().filter(|name| !is_known(name)).count();
            let most = most.saturating_sub(there);
            if new > most {
                return Err(format!(
                    "it has {new} atoms that are new to this node, and images may make {most} more: half of the table of atoms is for \
                     other things (`erl +t` makes it larger)"
                ));
            }
        }
        Ok(())
    };
    match ImageFile::open(&path, &admit) {
        Ok(image) => {
            let units = image.tables.units.iter();
            let units: Vec<_> = units
                .map(|unit| (atoms::to_term(env, unit.module), unit.hash))
                .collect();
            let about = about(env, &image.tables);
            let image = ResourceArc::new(ImageResource(image));
            (names::ok(), image, about, units).encode(env)
        }
        Err(error) => (names::error(), error.to_string()).encode(env),
    }
}

/// Loads the unit of that number into a machine: `:ok` or `{:error, text}`.
pub fn load<'a>(env: Env<'a>, machine: &Machine, image: &ImageResource, number: usize) -> Term<'a> {
    let Some(unit) = image.0.tables.units.get(number) else {
        return names::unknown().encode(env);
    };
    match machine.load(&unit.bytes, &untrusted) {
        Ok(_) => names::ok().encode(env),
        Err(error) => (names::error(), error.to_string()).encode(env),
    }
}

/// Puts a question to which the answer is `{:ok, names}`, `:no_memory` or `{:error, text}`, once a machine goes on from an image, or
/// does not. Its keys are the machine's own if both have one identity. Before, the process is asked about the actors that have the first behaviours of
/// `migrating` (migration.rs), and those with the others take up the present version of theirs.
pub fn restore<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    image: ResourceArc<ImageResource>,
    resolved: (Vec<u32>, Parcel),
    migrating: (Vec<u32>, Vec<u32>),
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let goes_on = match takes_up(env, &resource, &image.0) {
        Ok(goes_on) => goes_on,
        Err(text) => return (names::ok(), (names::error(), text)).encode(env),
    };
    inquiry(env, machine, tag, |customer| {
        let mut asking = Asking::new(customer.clone());
        let restorer = std::thread::Builder::new().name("mote-restore".into());
        let restored = restorer.spawn(move || {
            let Some(running) = resource.running() else {
                return asking.answer(|env, _| names::stopped().encode(env));
            };
            let mut ask =
                |actors: &mut dyn Iterator<Item = MigratingActor<'_>>| asking.ask(running, actors);
            let migration = Migration {
                behaviours: &migrating.0,
                renewed: &migrating.1,
                ask: &mut ask,
            };
            let resolved = (&resolved.0[..], resolved.1);
            let show = |named: VmTerm<'_>| {
                assembled(|env, decoder| {
                    (names::ok(), decoder.term(env, running, named)).encode(env)
                })
            };
            let read = |class: Class, written: Option<&[u8]>| match (class, written) {
                // Turns that run again are to do with it what they did.
                (Class::Address, None) if running.runs_again() => {
                    let nobody = OwnedEnv::new().run(|env| nobody(env, &resource, Key::NONE));
                    Some(Arc::new(nobody) as ForeignRef)
                }
                // As is a function of which nothing was written but that it is one.
                (Class::Function, None) if running.runs_again() => Some(a_new(Class::Function)),
                _ => read_form(class, written),
            };
            let restored =
                running.restore(&image.0, goes_on, resolved, &read, Some(migration), show);
            match restored {
                Ok(named) => {
                    if goes_on {
                        went_on(&resource);
                    }
                    asking.answer_with(named)
                }
                Err(ImageError::NoMemory) => asking.answer(|env, _| names::no_memory().encode(env)),
                Err(error) => {
                    asking.answer(|env, _| (names::error(), error.to_string()).encode(env))
                }
            }
        });
        restored.map(drop).map_err(|_| names::no_memory())
    })
}

/// Gives a machine with an identity the lives of an image of itself. Returns whether it was one, or what is wrong.
fn takes_up(
    env: Env<'_>,
    machine: &ResourceArc<MachineResource>,
    image: &ImageFile,
) -> Result<bool, String> {
    let own = machine.identity.lock().as_ref().map(|own| own.name.clone());
    let Some((theirs, own)) = image.tables.identity.as_ref().zip(own) else {
        return Ok(false);
    };
    if theirs.name != own {
        let theirs = &theirs.name;
        return Err(format!(
            "it is an image of the identity {theirs:?}, and the machine has {own:?}"
        ));
    }
    match take_up(env, machine, &theirs.lives) {
        Ok(()) => Ok(true),
        Err(other) => Err(format!(
            "it names a life of the machine with the identity {other:?}, which runs"
        )),
    }
}

/// `{milliseconds, {actors, cells, events, timers}, {identity, keys}, sponsors, [{behaviour, hash, actors}], [{kind, behaviour, held, count}]}`
fn about<'a>(env: Env<'a>, tables: &ImageTables) -> Term<'a> {
    let [cells, _, actors, events, timers, keys] = tables.counts;
    let identity = tables.identity.as_ref().map(|of| of.name.as_str());
    let sponsors = tables.sponsors.iter();
    let sponsors: Vec<_> = sponsors.map(|name| atoms::to_term(env, *name)).collect();
    let behaviours = tables.behaviours.iter();
    let behaviours: Vec<_> = behaviours
        .map(|of| (behaviour(env, of.name), of.hash, of.actors))
        .collect();
    let lost = tables.losses().into_iter();
    let lost: Vec<_> = lost
        .map(|(lost, count)| of_lost(env, &lost, count))
        .collect();
    let counts = (actors, cells, events, timers);
    let identity = (identity, keys);
    (tables.moment, counts, identity, sponsors, behaviours, lost).encode(env)
}

fn of_lost<'a>(env: Env<'a>, lost: &ImageLost, count: u64) -> Term<'a> {
    let holder = lost.behaviour.map(|name| behaviour(env, name));
    let held = match lost.held {
        HeldIn::State => names::state(),
        HeldIn::Message => names::message(),
        HeldIn::Turn => names::running(),
        HeldIn::Timer => names::later(),
    };
    (kind(lost.class), holder, held, count).encode(env)
}

/// Each value that is lost: `[{number, {kind, behaviour, held, count}, {value, here} or nil}]`, where `value` is what it was, if that
/// was written, and `here` says whether this system process has written it.
pub fn lost_values<'a>(env: Env<'a>, image: &ImageResource) -> Term<'a> {
    let tables = &image.0.tables;
    let traces = tables.traces.iter().enumerate();
    let term = |(number, (lost, trace)): (usize, &(u32, Vec<u8>))| {
        let written = trace.split_first_chunk();
        let value = written.and_then(|(by, written)| {
            let is_ours = *by == *SYSTEM_PROCESS;
            read_untrusted(env, written).map(|value| (value, is_ours))
        });
        let lost = of_lost(env, &tables.lost[*lost as usize], 1);
        (number, lost, value).encode(env)
    };
    traces.map(term).collect::<Vec<_>>().encode(env)
}

/// Returns the public name of a class.
fn kind(class: Class) -> Atom {
    match class {
        Class::BigInteger => names::integer(),
        Class::Reference => names::reference_kind(),
        Class::Function => names::function_kind(),
        Class::Port => names::port(),
        Class::Pid => names::pid(),
        Class::Map => names::map(),
        Class::Binary => names::bitstring(),
        Class::Address => names::address_key(),
        Class::Timer => names::later(),
    }
}

/// A value of the outside as it is written: integers that are too large to calculate with. Of others, what may tell
/// somebody what they were, if that is small: not what functions have captured. Customers are nobody's in another machine.
pub fn written_form(value: &ForeignRef, scratch: &OwnedEnv) -> WrittenForeign {
    let written = |term: Term<'_>| term.to_binary().as_slice().to_vec();
    let any = value.as_any();
    if let Some(opaque) = any.downcast_ref::<Opaque>() {
        let bytes = || opaque.term.with(written);
        return match opaque.class {
            Class::BigInteger => WrittenForeign::Whole(bytes()),
            Class::Reference | Class::Port => traced(Some(bytes())),
            Class::Function => traced(opaque.is_named.then(bytes)),
            _ => traced(None),
        };
    }
    let far = any.downcast_ref::<Far>();
    let far = far.filter(|far| far.question.is_none());
    let abroad = any.downcast_ref::<Abroad>().map(|pid| &pid.0);
    let elsewhere = any.downcast_ref::<Elsewhere>().map(|actor| &actor.term);
    let term = abroad.or(elsewhere).or(far.map(|far| &far.term));
    let trace = match any.downcast_ref::<Process>() {
        Some(process) => Some(scratch.run(|env| written(process.0.encode(env)))),
        None => term.map(|term| term.with(written)),
    };
    traced(trace)
}

fn traced(written: Option<Vec<u8>>) -> WrittenForeign {
    let trace = written.map(|written| [&SYSTEM_PROCESS[..], &written].concat());
    WrittenForeign::Trace(trace.unwrap_or_default())
}

/// A value of that class that is equal to no other one.
fn a_new(class: Class) -> ForeignRef {
    // SAFETY: the reference belongs to the environment in which it is made.
    let term = OwnTerm::make_always(|env| unsafe { Term::new(env, enif_make_ref(env.as_c_arg())) });
    Arc::new(Opaque::small(term, class))
}

/// A value of the outside from what was written, or a new reference in its place.
fn read_form(class: Class, written: Option<&[u8]>) -> Option<ForeignRef> {
    let Some(bytes) = written else {
        return Some(a_new(Class::Reference));
    };
    let term = OwnTerm::make(|env| {
        let term = read_untrusted(env, bytes)?;
        let is_good = match class {
            // Padded with zeros, it could be a small one.
            Class::BigInteger => {
                let is_large = bytes.len() > MOST_LIMBS * size_of::<u64>();
                term.is_integer() && is_large && term.to_binary().as_slice() == bytes
            }
            _ => false,
        };
        is_good.then_some(term)
    })?;
    Some(Arc::new(Opaque::alone(term, class)))
}
