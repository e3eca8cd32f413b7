//! The tables of an image: what its cells and actors refer to by number, and what people want to know of it.
use super::blocks::BlockWriter;
use super::{wrong, ImageError};
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::code::decode::decode;
use crate::code::error::LoadError;
use crate::code::ir::MAX_ARITY;
pub use crate::code::program::LoadedUnit;
use crate::code::reader::Reader;
use crate::look::holders::HeldIn;
use crate::values::foreign::Class;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Atoms of one image. All of them are made, and none is ever forgotten: a thousand times as many as programs have would fill
/// the tables of the node.
pub(crate) const MOST_ATOMS: usize = 1 << 16;
/// Bytes of an atom's name: 255 characters.
const ATOM_BYTES: usize = 4 * 255;

/// Things in the order in which they were met, each with its number.
pub(crate) struct Names<T> {
    numbers: FxHashMap<T, u32>,
    pub(crate) all: Vec<T>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names {
            numbers: FxHashMap::default(),
            all: Vec::new(),
        }
    }
}

impl<T: Copy + Eq + Hash> Names<T> {
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
    /// What they were.
    pub class: Class,
    /// The behaviour of the actors that held them, or that the message was for; none of what was named.
    pub behaviour: Option<BehaviourName>,
    /// The place where they had them.
    pub held: HeldIn,
}

/// See the head of this file.
#[derive(Clone, Default)]
pub struct ImageTables {
    /// The machine's time, in milliseconds.
    pub moment: u64,
    /// The number of cells, of captures, of actors, of events and of timers.
    pub counts: [u64; 5],
    /// The atoms.
    pub(crate) atoms: Vec<Atom>,
    /// Sponsors that actors are pinned to, or that something waits in.
    pub sponsors: Vec<Atom>,
    /// The code, in the order in which it was loaded.
    pub units: Vec<LoadedUnit>,
    /// The behaviours.
    pub behaviours: Vec<ImageBehaviour>,
    /// What was not written, with how many of each.
    pub lost: Vec<(ImageLost, u64)>,
}

/// The places that a value may be held in, by their numbers.
const HELD_IN: [HeldIn; 4] = [HeldIn::State, HeldIn::Message, HeldIn::Turn, HeldIn::Timer];

impl ImageTables {
    pub(crate) fn write(&self, out: &mut BlockWriter<'_>) {
        out.varint(self.moment);
        self.counts.iter().for_each(|count| out.varint(*count));
        for atoms in [&self.atoms, &self.sponsors] {
            out.varint(atoms.len() as u64);
            atoms
                .iter()
                .for_each(|atom| out.text(atom.name().as_bytes()));
        }
        out.varint(self.units.len() as u64);
        self.units.iter().for_each(|unit| out.text(&unit.bytes));
        out.varint(self.behaviours.len() as u64);
        for behaviour in &self.behaviours {
            write_name(out, behaviour.name);
            out.word(behaviour.hash);
            out.varint(behaviour.actors);
        }
        out.varint(self.lost.len() as u64);
        for (lost, count) in &self.lost {
            out.byte(lost.class as u8);
            out.byte(
                HELD_IN
                    .iter()
                    .position(|held| *held == lost.held)
                    .unwrap_or(0) as u8,
            );
            out.byte(lost.behaviour.is_some().into());
            lost.behaviour
                .into_iter()
                .for_each(|name| write_name(out, name));
            out.varint(*count);
        }
    }

    pub(crate) fn read(bytes: &[u8], from: usize) -> Result<ImageTables, ImageError> {
        let reader = &mut Reader::new(bytes);
        reader.take(from)?;
        let moment = reader.at_most("time", 1u64 << 47)?;
        let mut counts = [0; 5];
        for count in &mut counts {
            // Each of them has a byte at least.
            *count = reader.at_most(
                "number of things",
                (bytes.len() as u64).min(u32::MAX.into()),
            )?;
        }
        let mut tables = ImageTables {
            moment,
            counts,
            atoms: atoms(reader)?,
            sponsors: atoms(reader)?,
            ..ImageTables::default()
        };
        let count = reader.at_most("number of units", reader.remaining() as u64)?;
        for _ in 0..count {
            tables.units.push(unit(reader)?);
        }
        tables.behaviours = reader.sequence("number of behaviours", 1 << 20, 12, |reader| {
            Ok(ImageBehaviour {
                name: name(reader)?,
                hash: reader.u64()?,
                actors: reader.varint()?,
            })
        })?;
        let count = reader.at_most("number of lost values", reader.remaining() as u64)?;
        for _ in 0..count {
            let at = reader.offset();
            let (class, held) = (reader.u8()?, reader.u8()?);
            let (Some(class), Some(held)) = (Class::from_number(class), HELD_IN.get(held as usize))
            else {
                return wrong(at, "there is no such kind of value, or of holder");
            };
            let behaviour = match reader.u8()? {
                0 => None,
                _ => Some(name(reader)?),
            };
            let lost = ImageLost {
                class,
                behaviour,
                held: *held,
            };
            tables.lost.push((lost, reader.varint()?));
        }
        Ok(tables)
    }
}

fn write_name(out: &mut BlockWriter<'_>, name: BehaviourName) {
    out.text(name.module.name().as_bytes());
    out.text(name.name.name().as_bytes());
    out.varint(name.captures as u64);
}

fn name(reader: &mut Reader<'_>) -> Result<BehaviourName, LoadError> {
    Ok(BehaviourName {
        module: atom(reader)?,
        name: atom(reader)?,
        captures: reader.at_most("number of captures", u64::from(MAX_ARITY))? as usize,
    })
}

fn atom(reader: &mut Reader<'_>) -> Result<Atom, LoadError> {
    Ok(Atom::new(reader.string()?))
}

fn atoms(reader: &mut Reader<'_>) -> Result<Vec<Atom>, ImageError> {
    let at = reader.offset();
    let names = reader.sequence("number of atoms", MOST_ATOMS, 1, |reader| reader.string())?;
    if names
        .iter()
        .any(|name| name.len() > ATOM_BYTES || name.chars().count() > 255)
    {
        return wrong(at, "an atom has more than 255 characters");
    }
    Ok(names.into_iter().map(Atom::new).collect())
}

fn unit(reader: &mut Reader<'_>) -> Result<LoadedUnit, ImageError> {
    let bytes = reader.bytes()?;
    let from = reader.offset() - bytes.len();
    match decode(bytes) {
        Ok(unit) => Ok(LoadedUnit {
            module: Atom::new(&unit.module),
            hash: unit.hash,
            bytes: bytes.into(),
        }),
        Err(error) => wrong(from, format!("code is damaged: {error}")),
    }
}
