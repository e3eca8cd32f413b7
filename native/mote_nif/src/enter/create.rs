//! Creating actors: their behaviours and captures.
use crate::codec::budget::{spent, WriteMode};
use crate::codec::encode::Writer;
use crate::enter::noted;
use crate::held::handle::Handle;
use crate::held::machine::{sponsor, MachineResource};
use crate::term::atoms::{names, Name};
use crate::term::read::{list_cell, tuple_elements};
use crate::term::resource::ResourceArc;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::machine::{BehaviourVersion, CreateError, Machine};
use mote_vm::values::handles::Key;
use rustler::{Atom, Encoder, Env, Term};

/// Actors that are created together: a tenth of a millisecond.
const BATCH: usize = 500;

/// Words of the captures of actors that are created together.
const BATCH_WORDS: usize = 64 << 10;

/// Parts that creating an actor counts as, beside those of its captures.
const PARTS: usize = 2;

/// Module, name and version.
pub type BehaviourParts = (Name, Name, u64);

pub fn create_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    behaviour: BehaviourParts,
    captures: Term<'a>,
    sponsor: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    match make(&resource, behaviour, captures, sponsor, mode) {
        Ok(key) => Handle::new(resource, key).key(env),
        Err(word) => word.encode(env),
    }
}

/// A new actor, or why there is none; the caller releases the key.
pub fn make<'a>(
    resource: &ResourceArc<MachineResource>,
    kind: BehaviourParts,
    term: Term<'a>,
    pinned: Term<'a>,
    mode: WriteMode<'a>,
) -> Result<Key, Atom> {
    let machine = resource.open(term.get_env())?;
    let (behaviour, captures) = prepare(resource, machine, kind, term, mode)?;
    let on = sponsor(machine, pinned)?;
    let made = noted::created(machine, kind, (term, pinned), || {
        let key = machine.create(&behaviour, on, captures);
        key.map(|key| [key]).map_err(not_created)
    });
    made.map(|[key]| key)
}

/// Keeps a value for the machine. Returns the key of a shared constant, or why there is none.
pub fn share_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    value: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let made = || {
        let machine = resource.open(env)?;
        let mut writer = Writer::new(&resource, machine, mode);
        writer.is_for_heap();
        writer.all(&[value])?;
        let made = machine.share(writer.builder.finish());
        made.map_err(not_created)
    };
    match made() {
        Ok(key) => Handle::new(resource.clone(), key).key(env),
        Err(word) => word.encode(env),
    }
}

/// Creates `count` actors that are alike, next to each other. Returns their keys, or why there are none.
pub fn create_row_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    kind: BehaviourParts,
    term: Term<'a>,
    pinned: Term<'a>,
    (count, mode): (usize, WriteMode<'a>),
) -> Term<'a> {
    let made = || {
        let machine = resource.open(term.get_env())?;
        let (behaviour, captures) = prepare(&resource, machine, kind, term, mode)?;
        let on = sponsor(machine, pinned)?;
        noted::created(machine, kind, (term, pinned), || {
            let made = machine.create_row(&behaviour, on, captures, count);
            made.map_err(not_created)
        })
    };
    match made() {
        Ok(keys) => {
            let key = |key| Handle::new(resource.clone(), key).key(env);
            keys.into_iter().map(key).collect::<Vec<_>>().encode(env)
        }
        Err(word) => word.encode(env),
    }
}

/// Creates actors of one behaviour from a list of captures. Returns their keys, the captures that are left, and why.
pub fn create_many_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    behaviour: BehaviourParts,
    captures: Term<'a>,
    sponsor: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    match make_many(&resource, behaviour, captures, sponsor, mode) {
        Ok((keys, rest, why)) => {
            let key = |key| Handle::new(resource.clone(), key).key(env);
            let keys: Vec<Term<'a>> = keys.into_iter().map(key).collect();
            spent(env, PARTS * keys.len());
            (keys, rest, why).encode(env)
        }
        Err(word) => (Term::list_new_empty(env), captures, word).encode(env),
    }
}

/// Creates the first of them, as many as are good for a scheduler. Returns their keys, the captures that are left, and why.
fn make_many<'a>(
    resource: &MachineResource,
    kind: BehaviourParts,
    list: Term<'a>,
    pinned: Term<'a>,
    mode: WriteMode<'a>,
) -> Result<(Vec<Key>, Term<'a>, Atom), Atom> {
    let machine = resource.open(list.get_env())?;
    let Some((first, _)) = list_cell(list) else {
        return Ok((Vec::new(), list, names::ok()));
    };
    let count = tuple_elements(first).len();
    let behaviour = behaviour(machine, kind, count)?;
    let on = sponsor(machine, pinned)?;
    let mut writer = Writer::new(resource, machine, mode);
    writer.is_for_heap();
    let (mut made, mut rest, mut why) = (0, list, names::ok());
    while let Some((captures, tail)) = list_cell(rest) {
        if made == BATCH
            || writer.builder.len() >= BATCH_WORDS
            || tuple_elements(captures).len() != count
        {
            why = names::more_left();
            break;
        }
        let position = writer.builder.position();
        if let Err(halt) = writer.term(captures) {
            writer.rewind(position);
            why = match made {
                0 => halt.into(),
                _ => names::more_left(),
            };
            break;
        }
        made += 1;
        rest = tail;
    }
    writer.count_spent(list.get_env());
    let keys = noted::created_each(machine, kind, (list, pinned), || {
        let keys = machine.create_many(&behaviour, on, made, writer.builder.finish());
        keys.map_err(not_created)
    });
    Ok((keys?, rest, why))
}

/// The present version of a behaviour, if it is that one.
pub fn behaviour(
    machine: &Machine,
    (Name(module), Name(name), version): BehaviourParts,
    captures: usize,
) -> Result<BehaviourVersion, Atom> {
    match machine.behaviour(module, name, captures) {
        Some((behaviour, hash)) if hash == version => Ok(behaviour),
        _ => Err(names::load()),
    }
}

/// Prepares the behaviour and the captures of an actor.
pub fn prepare<'a>(
    resource: &MachineResource,
    machine: &Machine,
    kind: BehaviourParts,
    captures: Term<'a>,
    mode: WriteMode<'a>,
) -> Result<(BehaviourVersion, Parcel), Atom> {
    let behaviour = behaviour(machine, kind, tuple_elements(captures).len())?;
    let mut writer = Writer::new(resource, machine, mode);
    writer.is_for_heap();
    writer.term(captures)?;
    writer.count_spent(captures.get_env());
    Ok((behaviour, writer.builder.finish()))
}

/// Returns the reason why there is no actor.
pub fn not_created(error: CreateError) -> Atom {
    match error {
        CreateError::NoMemory => names::no_memory(),
        CreateError::OtherMachine => names::load(),
        CreateError::NotDurable => names::not_durable(),
        CreateError::Misplaced => names::misplaced(),
    }
}
