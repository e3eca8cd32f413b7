//! The journal records of everything that enters a durable or recorded machine, and their re-entry.
//!
//! A record begins with a byte for its kind. Terms are in the external format, in which addresses find the present life
//! of their machine (held/lives.rs).
//!
//! ```text
//! messages  key, whether a customer goes with it, the terms one after the other: of more than one if they came in one call
//! actor     key, {module, name, version, captures, sponsor}
//! code      the unit of a module
//! released  key
//! ```
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::config::foreign;
use crate::enter::create::{not_created, prepare, BehaviourParts};
use crate::enter::target::refusal;
use crate::held::bridge::pin;
use crate::held::foreign::Awaiting;
use crate::held::lives::as_life_of;
use crate::held::machine::{sponsor, MachineResource};
use crate::held::question::Customer;
use crate::term::atoms::{self, names, Name};
use crate::term::external;
use crate::term::read::list_cell;
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::code::error::LoadError;
use mote_vm::machine::durable::MOST_RECORD;
use mote_vm::machine::Machine;
use mote_vm::values::handles::Key;
use rustc_hash::FxHashMap;
use rustler::{Atom, Encoder, Env, OwnedEnv, Term};
use std::sync::Arc;

const MESSAGES: u8 = 1;
const ACTOR: u8 = 2;
const CODE: u8 = 3;
const RELEASED: u8 = 4;

/// Bytes of a key.
const KEY: usize = 20;

fn key_bytes(key: Key) -> [u8; KEY] {
    let mut bytes = [0; KEY];
    bytes[..4].copy_from_slice(&key.slot.to_le_bytes());
    bytes[4..].copy_from_slice(&key.serial.to_le_bytes());
    bytes
}

fn key_of(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let (slot, rest) = bytes.split_first_chunk()?;
    let (serial, rest) = rest.split_first_chunk()?;
    let key = Key {
        slot: u32::from_le_bytes(*slot),
        serial: u128::from_le_bytes(*serial),
    };
    Some((key, rest))
}

/// The record of a message for the actor of a key, if the machine is durable. `asked`: a customer goes with it.
pub fn message(
    machine: &Machine,
    key: Key,
    asked: bool,
    message: Term<'_>,
) -> Result<Option<Vec<u8>>, Atom> {
    if !machine.is_durable() {
        return Ok(None);
    }
    let mut record = Vec::with_capacity(MESSAGES_HEAD + USUAL);
    begin_messages(key, asked, &mut record);
    add_message(message, 0, &mut record)?;
    Ok(Some(record))
}

/// Bytes before the terms of messages, and those of a usual term.
const MESSAGES_HEAD: usize = 2 + KEY;
const USUAL: usize = 64;

/// Appends what comes before the terms in the record of messages for one actor.
pub fn begin_messages(key: Key, asked: bool, out: &mut Vec<u8>) {
    out.push(MESSAGES);
    out.extend_from_slice(&key_bytes(key));
    out.push(asked.into());
}

/// Appends one of them to the record that begins there.
pub fn add_message(message: Term<'_>, begin: usize, out: &mut Vec<u8>) -> Result<(), Atom> {
    external::write(message, out);
    limited(out.len() - begin)
}

fn limited(length: usize) -> Result<(), Atom> {
    match length <= MOST_RECORD {
        true => Ok(()),
        false => Err(names::no_memory()),
    }
}

/// Returns the answer to the caller of something that has entered: `:ok`, or the machine that is to say when its disk has
/// it, where that is waited for. That is this one, even if another one has gone on by then.
pub fn answer<'a>(machine: &Machine, record: &Option<Vec<u8>>, reference: Term<'a>) -> Term<'a> {
    match record {
        Some(_) if machine.is_waited_for() => reference,
        _ => names::ok().to_term(reference.get_env()),
    }
}

/// Lets `make` create actors that are alike, and notes that down where the machine is durable. They are held from then on.
pub fn created<K: AsRef<[Key]>>(
    machine: &Machine,
    kind: BehaviourParts,
    (captures, pinned): (Term<'_>, Term<'_>),
    make: impl FnOnce() -> Result<K, Atom>,
) -> Result<K, Atom> {
    note_created(machine, make, |keys| {
        let written = actor(kind, captures, pinned)?;
        Ok(keys.iter().map(|_| written.clone()).collect())
    })
}

/// The same for actors with the captures in a list, of which `make` creates the first ones.
pub fn created_each<'a>(
    machine: &Machine,
    kind: BehaviourParts,
    (list, pinned): (Term<'a>, Term<'a>),
    make: impl FnOnce() -> Result<Vec<Key>, Atom>,
) -> Result<Vec<Key>, Atom> {
    note_created(machine, make, |keys| {
        let mut rest = list;
        let written = keys.iter().map_while(|_| {
            let (captures, tail) = list_cell(rest)?;
            rest = tail;
            Some(actor(kind, captures, pinned))
        });
        written.collect()
    })
}

/// The part of a record that says what an actor is.
fn actor(
    (Name(module), Name(name), version): BehaviourParts,
    captures: Term<'_>,
    pinned: Term<'_>,
) -> Result<Arc<[u8]>, Atom> {
    let env = captures.get_env();
    let [module, name] = [module, name].map(|atom| atoms::to_term(env, atom));
    let parts = (module, name, version, captures, pinned).encode(env);
    let written = parts.to_binary();
    limited(written.len())?;
    Ok(Arc::from(written.as_slice()))
}

fn note_created<K: AsRef<[Key]>>(
    machine: &Machine,
    make: impl FnOnce() -> Result<K, Atom>,
    write: impl FnOnce(&[Key]) -> Result<Vec<Arc<[u8]>>, Atom>,
) -> Result<K, Atom> {
    machine.noting(|notes| {
        let made = make()?;
        if let Some(notes) = notes {
            let keys = made.as_ref();
            for (key, written) in keys.iter().zip(write(keys)?) {
                machine.retain(*key, true);
                notes.record(&[&[ACTOR], &key_bytes(*key), &written]);
            }
        }
        Ok(made)
    })
}

/// Loads the code of a module, and notes that down where the machine is durable.
pub fn load(machine: &Machine, unit: &[u8]) -> Result<(), LoadError> {
    machine.noting(|notes| {
        machine.load(unit, &foreign)?;
        if let Some(notes) = notes {
            notes.record(&[&[CODE], unit]);
        }
        Ok(())
    })
}

/// Holds an actor for whoever has its key, or lets go of it: `:ok`, the machine whose disk is to have that, or `:unknown`. A durable machine
/// holds it until then in any case.
pub fn retained<'a>(reference: Term<'a>, machine: &Machine, key: Key, kept: bool) -> Term<'a> {
    let env = reference.get_env();
    machine.noting(|notes| match notes {
        None if machine.retain(key, kept) => names::ok().to_term(env),
        Some(notes) if machine.holds(key) => {
            if !kept {
                notes.record(&[&[RELEASED], &key_bytes(key)]);
                notes.release(key);
            }
            match machine.is_waited_for() {
                true => reference,
                false => names::ok().to_term(env),
            }
        }
        _ => names::unknown().to_term(env),
    })
}

/// Code that takes the place of what was noted: the hash of a module's unit, and the unit.
pub type ChangedUnits = FxHashMap<VmAtom, (u64, Vec<u8>)>;

/// Lets what a record says enter again, with code that has changed meanwhile where there is such.
pub fn enter_again(changed: &ChangedUnits, machine: &Machine, record: &[u8]) -> Result<(), String> {
    let Some(resource) = pin(machine) else {
        return Err("the machine has ended".to_string());
    };
    let Some((kind, rest)) = record.split_first() else {
        return Err("a record is empty".to_string());
    };
    match *kind {
        MESSAGES => as_life_of(&resource, || send_again(&resource, machine, rest)),
        ACTOR => as_life_of(&resource, || {
            create_again(changed, &resource, machine, rest)
        }),
        CODE => {
            let loaded = machine.load(rest, &foreign);
            let loaded = loaded.and_then(|module| match changed.get(&module) {
                Some((_, unit)) => machine.load(unit, &foreign),
                None => Ok(module),
            });
            loaded.map(drop).map_err(|error| error.to_string())
        }
        RELEASED => {
            let (key, _) = key_of(rest).ok_or_else(cut)?;
            machine.release_again(key);
            Ok(())
        }
        other => Err(format!("there is no record of kind {other}")),
    }
}

fn cut() -> String {
    "a record is shorter than it can be".to_string()
}

/// Reads the terms of a record, of which there is one at least.
fn read(
    bytes: &[u8],
    mut act: impl for<'a> FnMut(Env<'a>, Term<'a>) -> Result<(), Atom>,
) -> Result<(), String> {
    OwnedEnv::new().run(|env| {
        let mut rest = bytes;
        loop {
            // SAFETY: a journal is written by this machine alone, and trusted with making atoms as its code is.
            let read = unsafe { env.binary_to_term_trusted(rest) };
            let Some((term, size)) = read else {
                return Err("a record has no term in the external format".to_string());
            };
            act(env, term).map_err(|word| {
                if word == names::no_memory() {
                    return "the machine found no memory for it to enter again".to_string();
                }
                let word = word.to_term(env).atom_to_string().unwrap_or_default();
                format!("it does not enter again: {word}")
            })?;
            rest = &rest[size..];
            if rest.is_empty() {
                return Ok(());
            }
        }
    })
}

fn send_again(
    resource: &ResourceArc<MachineResource>,
    machine: &Machine,
    rest: &[u8],
) -> Result<(), String> {
    let (key, rest) = key_of(rest).ok_or_else(cut)?;
    let (asked, written) = rest.split_first().ok_or_else(cut)?;
    read(written, |env, term| {
        let mut writer = Writer::new(resource, machine, known_binaries(env));
        if *asked == 1 {
            writer.request_of(Arc::new(nobody(env, resource, key)));
        }
        writer.term(term)?;
        let sent = machine.send_between(key, None, writer.builder.finish());
        sent.map_err(refusal)
    })
}

/// A customer for which nobody waits any more.
pub fn nobody(env: Env<'_>, resource: &ResourceArc<MachineResource>, asked: Key) -> Awaiting {
    let tag = names::nil().to_term(env);
    let (customer, asker) = Customer::asking(resource.owner, tag, resource.clone(), asked);
    asker.close();
    Awaiting::Known(customer)
}

fn create_again(
    changed: &ChangedUnits,
    resource: &ResourceArc<MachineResource>,
    machine: &Machine,
    rest: &[u8],
) -> Result<(), String> {
    let (key, written) = key_of(rest).ok_or_else(cut)?;
    read(written, |env, term| {
        let parts: Result<(Name, Name, u64, Term<'_>, Term<'_>), _> = term.decode();
        let (module, name, version, captures, pinned) = parts.map_err(|_| names::unknown())?;
        let version = changed.get(&module.0).map_or(version, |(hash, _)| *hash);
        let kind = (module, name, version);
        let mode = known_binaries(env);
        let (behaviour, captures) = prepare(resource, machine, kind, captures, mode)?;
        let pinned = sponsor(machine, pinned)?;
        let made = machine.create_again(&behaviour, pinned, captures, key);
        made.map_err(not_created)
    })
}

/// The mode for terms of which nobody knows what their binaries keep alive: these are copied.
fn known_binaries(env: Env<'_>) -> WriteMode<'_> {
    WriteMode::dirty(Term::list_new_empty(env))
}
