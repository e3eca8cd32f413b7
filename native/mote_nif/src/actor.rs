//! Actors: creating them, sending to them.
//!
//! What carries a term comes three times: once for normal schedulers, which answers `:big` when the term is too much for
//! them, and `:long` when there is a long binary in it; the same with what its long binaries keep (encode.rs); and once for
//! dirty schedulers, with that or without.
use crate::atoms::{names, Name};
use crate::encode::{Encoder as Writer, Means};
use crate::read::tuple_elements;
use crate::resources::{parse_key, sponsor, Handle, MachineResource};
use crate::terms;
use mote_vm::base::ids::TimerId;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::boundary::room::Permit;
use mote_vm::machine::{Behaviour, CreateError, Inspection, Machine, Refusal};
use mote_vm::values::actor::SponsorId;
use mote_vm::values::handles::Key;
use rustler::{Atom, Encoder, Env, ResourceArc, Term};

/// `%Mote.Address{}`, or why not: `:big`, `:long`, `:load` (the machine has no such version of the behaviour), `:stopped`,
/// `:no_memory`, `:no_sponsor`.
#[rustler::nif]
fn create<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    module: Name,
    name: Name,
    version: u64,
    captures: Term<'a>,
    sponsor: Term<'a>,
) -> Term<'a> {
    create_within(
        env,
        machine,
        (module, name, version),
        captures,
        sponsor,
        Means::first(),
    )
}

#[rustler::nif(name = "create")]
#[allow(clippy::too_many_arguments)] // What a NIF takes.
fn create_again<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    module: Name,
    name: Name,
    version: u64,
    captures: Term<'a>,
    sponsor: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let behaviour = (module, name, version);
    create_within(
        env,
        machine,
        behaviour,
        captures,
        sponsor,
        Means::again(kept),
    )
}

#[rustler::nif(schedule = "DirtyCpu")]
#[allow(clippy::too_many_arguments)] // What a NIF takes.
fn create_big<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    module: Name,
    name: Name,
    version: u64,
    captures: Term<'a>,
    sponsor: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let behaviour = (module, name, version);
    create_within(
        env,
        machine,
        behaviour,
        captures,
        sponsor,
        Means::dirty(kept),
    )
}

fn create_within<'a>(
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
            terms::address(env, &resource, handle, None)
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
    }
}

/// `:ok`, or why not: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`, `:full`, `:full_wait` (the sponsor asks senders to
/// wait for room), `:no_memory`.
#[rustler::nif]
fn send<'a>(machine: Term<'a>, key: Term<'a>, sponsor: Term<'a>, message: Term<'a>) -> Atom {
    send_within((machine, key, sponsor), message, Means::first())
}

#[rustler::nif(name = "send")]
fn send_again<'a>(
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    kept: Term<'a>,
) -> Atom {
    send_within((machine, key, sponsor), message, Means::again(kept))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn send_big<'a>(
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    kept: Term<'a>,
) -> Atom {
    send_within((machine, key, sponsor), message, Means::dirty(kept))
}

fn send_within<'a>(
    target: (Term<'a>, Term<'a>, Term<'a>),
    message: Term<'a>,
    means: Means<'a>,
) -> Atom {
    let sent = Target::find(target).and_then(|target| {
        let mut writer = Writer::new(target.resource, target.machine, means);
        writer.term(message)?;
        writer.count_spent(message.get_env());
        let parcel = writer.builder.finish();
        target.send(parcel)
    });
    sent.err().unwrap_or_else(names::ok)
}

/// Why a message was not accepted.
pub fn refusal(refusal: Refusal) -> Atom {
    match refusal {
        Refusal::Unknown => names::unknown(),
        Refusal::NoMemory => names::no_memory(),
        Refusal::Full { patient: false } => names::full(),
        Refusal::Full { patient: true } => names::full_wait(),
    }
}

/// What is done with an actor that is looked at.
pub type Look = Box<dyn FnOnce(&Machine, Inspection<'_>) + Send>;

/// Where a message goes.
pub struct Target<'a> {
    /// The actor's machine.
    pub resource: &'a MachineResource,
    /// The same, running.
    pub machine: &'a Machine,
    /// The actor's key.
    pub key: Key,
    /// The sponsor that was named.
    pub sponsor: Option<SponsorId>,
}

impl<'a> Target<'a> {
    /// The fields of an address, or what is wrong with them.
    pub fn find((machine, key, name): (Term<'a>, Term<'a>, Term<'a>)) -> Result<Self, Atom> {
        let resource: &MachineResource = machine.try_get_resource().ok_or_else(names::unknown)?;
        let machine = resource.running().ok_or_else(names::stopped)?;
        let key = parse_key(key).ok_or_else(names::unknown)?;
        let sponsor = sponsor(machine, name)?;
        Ok(Target {
            resource,
            machine,
            key,
            sponsor,
        })
    }

    /// Sends, unless the actor is not known.
    pub fn send(&self, message: Parcel) -> Result<(), Atom> {
        let sent = self.machine.send(self.key, self.sponsor, message);
        sent.map_err(refusal)
    }

    /// The same for a process that does nothing else before it is answered.
    pub fn ask(&self, request: Parcel, answered: &dyn Fn() -> bool) -> Result<(), Atom> {
        let sent = self.machine.ask(self.key, self.sponsor, request, answered);
        sent.map_err(refusal)
    }

    /// The same, after waiting for room.
    pub fn send_permitted(&self, permit: Permit, message: Parcel) -> Result<(), Atom> {
        let sent = self
            .machine
            .send_permitted(permit, self.key, self.sponsor, message);
        sent.map_err(refusal)
    }

    /// The same after so many milliseconds.
    pub fn send_after(&self, milliseconds: u64, message: Parcel) -> Result<TimerId, Atom> {
        let armed = self
            .machine
            .send_after(milliseconds, self.key, self.sponsor, message);
        armed.map_err(refusal)
    }

    /// Looks at the actor between two turns.
    pub fn inspect(&self, look: Look) -> Result<(), Atom> {
        match self.machine.inspect(self.key, look) {
            true => Ok(()),
            false => Err(names::unknown()),
        }
    }
}
