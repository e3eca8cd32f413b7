//! The tables of an image: what its cells and actors refer to by number, and what people want to know of it.
use super::blocks::BlockWriter;
use super::{wrong, ImageError};
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::code::decode::decode;
use crate::code::error::LoadError;
use crate::code::ir::{MAX_ARITY, MAX_ATOM_CHARACTERS};
use crate::code::program::written_name;
pub use crate::code::program::LoadedUnit;
use crate::code::reader::Reader;
use crate::look::holders::HeldIn;
use crate::values::actor::{BehaviourId, SponsorId};
use crate::values::foreign::Class;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// Atoms of one image, with those of its code. All of them are made, and none is ever forgotten.
pub(crate) const MOST_ATOMS: usize = 1 << 17;

/// Says whether atoms of these names may be made, or else why not: they stay for as long as the system process does.
pub type AdmitAtoms<'a> = &'a dyn Fn(&FxHashSet<String>) -> Result<(), String>;

/// Things in the order in which they were met, each with its number.
pub(crate) struct NumberedNames<T> {
    numbers: FxHashMap<T, u32>,
    pub(crate) all: Vec<T>,
}

impl<T> Default for NumberedNames<T> {
    fn default() -> NumberedNames<T> {
        NumberedNames {
            numbers: FxHashMap::default(),
            all: Vec::new(),
        }
    }
}

impl<T: Copy + Eq + Hash> NumberedNames<T> {
    pub(crate) fn number(&mut self, name: T) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.all.push(name);
        }
        number
    }
}

/// A behaviour that actors have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageBehaviour {
    /// Its name.
    pub name: BehaviourName,
    /// The hash of its unit.
    pub hash: u64,
    /// The number of its actors.
    pub actors: u64,
}

/// Values of the outside that were not written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ImageLost {
    /// Their class.
    pub class: Class,
    /// The behaviour of the actors that held them, or that the message was for; none of what was named.
    pub behaviour: Option<BehaviourName>,
    /// The place where they had them.
    pub held: HeldIn,
}

/// The identity of a machine beyond one life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageIdentity {
    /// The user's name for it.
    pub name: String,
    /// The embedder's name of the machine in each life, the latest last.
    pub lives: Vec<Vec<u8>>,
}

/// Lives that an identity remembers, and the bytes of each: addresses of a life before these lead nowhere.
pub const MOST_LIVES: usize = 4_096;
const MOST_LIFE_BYTES: u64 = 64;

/// Bytes that the name of an identity has at most.
pub const MOST_IDENTITY_BYTES: usize = 255;

/// See the head of this file.
#[derive(Clone, Default)]
pub struct ImageTables {
    /// The machine's time, in milliseconds.
    pub moment: u64,
    /// The number of cells, of captures, of actors, of events, of timers and of keys.
    pub counts: [u64; 6],
    /// The machine's identity, if it had one.
    pub identity: Option<ImageIdentity>,
    /// The atoms, of an image that was read.
    pub(crate) atoms: Vec<Atom>,
    /// Sponsors that actors are pinned to, or that something waits in.
    pub sponsors: Vec<Atom>,
    /// The code, in the order in which it was loaded.
    pub units: Vec<LoadedUnit>,
    /// The behaviours.
    pub behaviours: Vec<ImageBehaviour>,
    /// The values that were not written, by kind and holder.
    pub lost: Vec<ImageLost>,
    /// Each value of these: the number of the above, and what says which it was.
    pub traces: Vec<(u32, Vec<u8>)>,
}

/// Is added to the number of captures of a behaviour that stashes, which counts what it keeps.
const STASHES: u64 = 1 << 16;
/// The places that a value may be held in, by their numbers.
const HELD_IN: [HeldIn; 4] = [HeldIn::State, HeldIn::Message, HeldIn::Turn, HeldIn::Timer];

impl ImageTables {
    /// All names that the tables refer to are among `atoms`.
    pub(crate) fn write(&self, atoms: &mut NumberedNames<Atom>, out: &mut BlockWriter<'_>) {
        out.varint(self.moment);
        self.counts.iter().for_each(|count| out.varint(*count));
        let identity = self.identity.as_ref();
        out.text(identity.map_or("", |of| &of.name).as_bytes());
        let lives = identity.map_or(&[][..], |of| &of.lives);
        out.varint(lives.len() as u64);
        lives.iter().for_each(|life| out.text(life));
        out.varint(atoms.all.len() as u64);
        let names = atoms.all.iter();
        names.for_each(|atom| out.text(atom.name().as_bytes()));
        let mut number = |atom| u64::from(atoms.number(atom));
        out.varint(self.units.len() as u64);
        self.units.iter().for_each(|unit| out.text(&unit.bytes));
        out.varint(self.sponsors.len() as u64);
        self.sponsors
            .iter()
            .for_each(|name| out.varint(number(*name)));
        let mut write_name = |out: &mut BlockWriter<'_>, name: BehaviourName| {
            out.varint(number(name.module));
            out.varint(number(name.name));
            let stashes = if name.stashes { STASHES } else { 0 };
            out.varint(name.parts() as u64 | stashes);
        };
        out.varint(self.behaviours.len() as u64);
        for behaviour in &self.behaviours {
            write_name(out, behaviour.name);
            out.word(behaviour.hash);
            out.varint(behaviour.actors);
        }
        out.varint(self.lost.len() as u64);
        for lost in &self.lost {
            out.byte(lost.class as u8);
            let held = HELD_IN.iter().position(|held| *held == lost.held);
            out.byte(held.unwrap_or(0) as u8);
            out.byte(lost.behaviour.is_some().into());
            let behaviour = lost.behaviour.into_iter();
            behaviour.for_each(|name| write_name(out, name));
        }
        out.varint(self.traces.len() as u64);
        for (lost, trace) in &self.traces {
            out.varint(u64::from(*lost));
            out.text(trace);
            out.settle();
        }
    }

    /// Notes the names that tables refer to.
    pub(crate) fn name_all(&self, atoms: &mut NumberedNames<Atom>) {
        let lost = self.lost.iter().filter_map(|lost| lost.behaviour);
        let behaviours = self.behaviours.iter().map(|behaviour| behaviour.name);
        let named = behaviours.chain(lost);
        let named = named.flat_map(|name| [name.module, name.name]);
        for name in named.chain(self.sponsors.iter().copied()) {
            atoms.number(name);
        }
    }

    /// Counts what was not written.
    pub fn losses(&self) -> Vec<(ImageLost, u64)> {
        let mut counts = vec![0; self.lost.len()];
        for (lost, _) in &self.traces {
            counts[*lost as usize] += 1;
        }
        self.lost.iter().copied().zip(counts).collect()
    }

    pub(crate) fn read(
        bytes: &[u8],
        from: usize,
        admit: AdmitAtoms<'_>,
    ) -> Result<ImageTables, ImageError> {
        let reader = &mut Reader::new(bytes);
        reader.take(from)?;
        let moment = reader.at_most("time", 1u64 << 47)?;
        let mut counts = [0; 6];
        for count in &mut counts {
            // Each of them has a byte at least.
            let most = (bytes.len() as u64).min(u32::MAX.into());
            *count = reader.at_most("number of things", most)?;
        }
        let identity = identity(reader)?;
        let at = reader.offset();
        let names = reader.sequence("number of atoms", MOST_ATOMS, 1, |reader| reader.string())?;
        if names
            .iter()
            .any(|name| name.chars().count() > MAX_ATOM_CHARACTERS)
        {
            return wrong(at, "an atom has more than 255 characters");
        }
        let mut met: FxHashSet<String> = names.iter().map(|name| name.to_string()).collect();
        let units = units(reader, &mut met)?;
        if let Err(why) = admit(&met) {
            return wrong(at, why);
        }
        let units = units.into_iter().map(|(module, hash, bytes)| LoadedUnit {
            module: Atom::new(&module),
            hash,
            bytes: bytes.into(),
        });
        let units = units.collect();
        let atoms: Vec<Atom> = names.iter().map(|name| Atom::new(name)).collect();
        let sponsors = reader.sequence("number of sponsors", SponsorId::LIMIT, 1, |reader| {
            atom(reader, &atoms)
        })?;
        let behaviours = reader.sequence("number of behaviours", BehaviourId::LIMIT, 12, |r| {
            Ok(ImageBehaviour {
                name: name(r, &atoms)?,
                hash: r.u64()?,
                actors: r.varint()?,
            })
        })?;
        let count = reader.at_most("number of lost values", reader.remaining() as u64)?;
        let lost = (0..count).map(|_| lost(reader, &atoms));
        let lost = lost.collect::<Result<Vec<_>, _>>()?;
        let last = (lost.len() as u32).saturating_sub(1);
        // One of nothing would be of nobody.
        let most = if lost.is_empty() {
            0
        } else {
            u32::MAX as usize
        };
        let traces = reader.sequence("number of traces", most, 2, |reader| {
            Ok((
                reader.at_most("number of a loss", last)?,
                reader.bytes()?.to_vec(),
            ))
        })?;
        Ok(ImageTables {
            moment,
            counts,
            identity,
            atoms,
            sponsors,
            units,
            behaviours,
            lost,
            traces,
        })
    }
}

fn identity(reader: &mut Reader<'_>) -> Result<Option<ImageIdentity>, ImageError> {
    let at = reader.offset();
    let name = reader.string()?.to_string();
    if name.len() > MOST_IDENTITY_BYTES {
        return wrong(at, "the name of an identity is too long");
    }
    let lives = reader.sequence("number of lives", MOST_LIVES, 1, |reader| {
        let length = reader.at_most("bytes of a life", MOST_LIFE_BYTES)?;
        Ok(reader.take(length as usize)?.to_vec())
    })?;
    Ok((!name.is_empty()).then_some(ImageIdentity { name, lives }))
}

fn lost(reader: &mut Reader<'_>, atoms: &[Atom]) -> Result<ImageLost, ImageError> {
    let at = reader.offset();
    let (class, held) = (reader.u8()?, reader.u8()?);
    let (Some(class), Some(held)) = (Class::from_number(class), HELD_IN.get(held as usize)) else {
        return wrong(at, "there is no such kind of value, or of holder");
    };
    let behaviour = match reader.u8()? {
        0 => None,
        _ => Some(name(reader, atoms)?),
    };
    Ok(ImageLost {
        class,
        behaviour,
        held: *held,
    })
}

fn name(reader: &mut Reader<'_>, atoms: &[Atom]) -> Result<BehaviourName, LoadError> {
    let (module, name) = (atom(reader, atoms)?, atom(reader, atoms)?);
    let most = STASHES | u64::from(MAX_ARITY);
    let parts = reader.at_most("number of captures", most)?;
    let stashes = parts & STASHES != 0 && parts != STASHES;
    Ok(BehaviourName {
        module,
        name,
        written: written_name(name).0,
        captures: (parts & !STASHES) as usize - usize::from(stashes),
        stashes,
    })
}

fn atom(reader: &mut Reader<'_>, atoms: &[Atom]) -> Result<Atom, LoadError> {
    let last = (atoms.len() as u64).saturating_sub(1);
    let number = reader.at_most("number of an atom", last)?;
    Ok(atoms.get(number as usize).copied().unwrap_or(Atom::NIL))
}

/// The module, the hash and the bytes of a unit that is known to be good.
type ReadUnit<'i> = (String, u64, &'i [u8]);

/// The units, whose names are added to those that were met.
fn units<'i>(
    reader: &mut Reader<'i>,
    met: &mut FxHashSet<String>,
) -> Result<Vec<ReadUnit<'i>>, ImageError> {
    let count = reader.at_most("number of units", reader.remaining() as u64)?;
    let mut units = Vec::new();
    for _ in 0..count {
        let bytes = reader.bytes()?;
        let from = reader.offset() - bytes.len();
        let unit = match decode(bytes) {
            Ok(unit) => unit,
            Err(error) => return wrong(from, format!("code is damaged: {error}")),
        };
        met.extend(unit.atoms);
        met.insert(unit.module.clone());
        if met.len() > MOST_ATOMS {
            return wrong(from, format!("there are more than {MOST_ATOMS} atoms"));
        }
        units.push((unit.module, unit.hash, bytes));
    }
    Ok(units)
}

/// The number of atoms that an image has, with those of its code, if that may be more than there can be.
pub(crate) fn too_many_atoms(atoms: &[Atom], units: &[LoadedUnit]) -> Option<usize> {
    // The name of an atom takes two bytes at least.
    let code = units.iter().map(|unit| unit.bytes.len()).sum::<usize>();
    if atoms.len() + code / 2 <= MOST_ATOMS {
        return None;
    }
    let mut met: FxHashSet<String> = atoms.iter().map(|atom| atom.name().to_string()).collect();
    for unit in units.iter().filter_map(|unit| decode(&unit.bytes).ok()) {
        met.extend(unit.atoms);
        met.insert(unit.module);
    }
    (met.len() > MOST_ATOMS).then_some(met.len())
}
