//! What actors are made of.
use crate::codec::budget::Means;
use crate::codec::encode::Encoder as Writer;
use crate::held::handle::Handle;
use crate::held::machine::{sponsor, MachineResource};
use crate::held::structs;
use crate::term::atoms::{names, Name};
use crate::term::read::tuple_elements;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::machine::{Behaviour, CreateError, Machine};
use mote_vm::values::handles::Key;
use rustler::{Atom, Encoder, Env, ResourceArc, Term};

pub fn create_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    behaviour: (Name, Name, u64),
    captures: Term<'a>,
    sponsor: Term<'a>,
    means: Means<'a>,
) -> Term<'a> {
    match make(&resource, behaviour, captures, sponsor, means) {
        Ok(key) => {
            let handle = Handle::new(resource.clone(), key);
            structs::address(env, &resource, handle, None)
        }
        Err(word) => word.encode(env),
    }
}

/// A new actor, or why there is none; the caller releases the key.
pub fn make<'a>(
    resource: &ResourceArc<MachineResource>,
    behaviour: (Name, Name, u64),
    captures: Term<'a>,
    pinned: Term<'a>,
    means: Means<'a>,
) -> Result<Key, Atom> {
    let machine = resource.running().ok_or_else(names::stopped)?;
    let (behaviour, captures) = prepare(resource, machine, behaviour, captures, means)?;
    let pinned = sponsor(machine, pinned)?;
    let made = machine.create(&behaviour, pinned, captures);
    made.map_err(not_created)
}

/// What an actor is made of.
pub fn prepare<'a>(
    resource: &MachineResource,
    machine: &Machine,
    (Name(module), Name(name), version): (Name, Name, u64),
    captures: Term<'a>,
    means: Means<'a>,
) -> Result<(Behaviour, Parcel), Atom> {
    let behaviour = match machine.behaviour(module, name, tuple_elements(captures).len()) {
        Some((behaviour, hash)) if hash == version => behaviour,
        _ => return Err(names::load()),
    };
    let mut writer = Writer::new(resource, machine, means);
    writer.term(captures)?;
    writer.count_spent(captures.get_env());
    Ok((behaviour, writer.builder.finish()))
}

/// Why there is no actor.
pub fn not_created(error: CreateError) -> Atom {
    match error {
        CreateError::NoMemory => names::no_memory(),
        CreateError::OtherMachine => names::load(),
        CreateError::Misplaced => names::misplaced(),
    }
}
