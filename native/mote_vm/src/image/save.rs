//! Saving: everything that the roots reach, as of the moment at which they were noted.
//!
//! Invariants:
//! 1. Whatever a machine has no more of when its roots are noted, or gets later, is in no image: not what a sponsor is called that
//!    comes or goes, nor what time it is.
//! 2. The code that actors run may be taken over by a later version while they are written. All of an image has the one that was there
//!    at its end: name, hash and unit are read together.
use super::blocks::{BlockWriter, TakeBlock};
use super::record::Record;
use super::restore::fuel_of;
use super::tables::{too_many_atoms, ImageBehaviour, ImageIdentity, ImageTables, MOST_ATOMS};
use super::waits::{SavedEvent, WaitingTimer, Waits};
use super::walk::{HolderOf, ImageWalk, WriteForeign};
use crate::base::atom::Atom;
use crate::boundary::parcel::Parcel;
use crate::code::program::LoadedUnit;
use crate::heap::Heap;
use crate::look::holders::HeldIn;
use crate::look::survey::Survey;
use crate::threads::shared::Machine;
use crate::turns::marking::moment::MomentReader;
use crate::turns::queue::Event;
use crate::values::actor::SponsorId;
use crate::values::value::Value;
use rustc_hash::FxHashSet;
use std::fmt;

/// The reason why there is no image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotSaved {
    /// An address among the names is one of another machine.
    OtherMachine,
    /// The machine has no memory for the names.
    NoMemory,
    /// Nobody wanted any more of it.
    Refused,
    /// There are more cells than an image can have.
    TooLarge,
    /// There are so many atoms, which are more than an image can have.
    TooManyAtoms(usize),
    /// Keys of maps are so large, or so many of them are, that reading would not compare them all.
    HeavyKeys,
}

impl fmt::Display for NotSaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotSaved::OtherMachine => "an address among the names is one of another machine",
            NotSaved::NoMemory => "the machine has no memory for the names",
            NotSaved::Refused => "the file takes no more",
            NotSaved::TooLarge => "the machine has more than 4,294,967,295 cells, which is what an image can have",
            NotSaved::TooManyAtoms(atoms) => {
                return write!(
                    f,
                    "the machine and its code have {atoms} different atoms, and an image can have {MOST_ATOMS}"
                );
            }
            NotSaved::HeavyKeys => {
                "keys of maps are so large that whoever reads the image would take too long to compare them: keep \
                 such values under a number or a hash"
            }
        })
    }
}

/// The roots of an image, as they were at a moment.
pub struct ImageRoots {
    machine: Machine,
    /// True if turns run while it is written.
    beside: bool,
    names: Value,
    waits: Waits,
    /// The timers, when they are read.
    timers: Vec<WaitingTimer>,
    identity: Option<ImageIdentity>,
    /// The names of the sponsors, the first one first, and the time.
    sponsors: Vec<(SponsorId, Atom)>,
    now: u64,
}

impl Survey<'_> {
    /// Writes an image of the machine, block by block, while it stands still. `names` is a tuple of one value. With an identity, the
    /// keys that the outside has are written as well.
    pub fn save(
        &self,
        names: &Parcel,
        identity: Option<ImageIdentity>,
        write_foreign: WriteForeign<'_>,
        take: TakeBlock<'_>,
    ) -> Result<ImageTables, NotSaved> {
        let roots = self.noted(names, identity, false)?;
        roots.write(write_foreign, take)
    }

    /// Notes what an image is to be of, with the same `names` and keys. It is written while the machine stands still, or as
    /// [`Machine::at_moment`] allows for.
    pub fn image_roots(
        &self,
        names: &Parcel,
        identity: Option<ImageIdentity>,
    ) -> Result<ImageRoots, NotSaved> {
        self.noted(names, identity, self.lasts)
    }

    fn noted(
        &self,
        names: &Parcel,
        identity: Option<ImageIdentity>,
        beside: bool,
    ) -> Result<ImageRoots, NotSaved> {
        if !names.is_for(self.machine.handles()) {
            return Err(NotSaved::OtherMachine);
        }
        // Before what waits: processes go on, and one may put an address into a message and forget it. That comes too late to be
        // seen, but the key was there before.
        let keys = identity.is_some().then(|| self.machine.handles().keys());
        // What was accepted cannot be refused now. It is garbage as soon as it is written.
        let copied = self
            .machine
            .leases()
            .with_guest(|heap| heap.insist(|heap| (names.copy(heap), self.waits(heap, beside))));
        let (names, mut waits) = copied.ok_or(NotSaved::NoMemory)?;
        let Some([names]) = names.as_tuple() else {
            return Err(NotSaved::NoMemory);
        };
        waits.keys = keys.unwrap_or_default();
        let sponsors = self.machine.sponsors().all();
        Ok(ImageRoots {
            machine: self.machine.clone(),
            beside,
            names: *names,
            waits,
            timers: Vec::new(),
            identity,
            sponsors: sponsors.iter().map(|s| (s.id, s.name)).collect(),
            now: self.machine.clock().now(),
        })
    }
}

impl ImageRoots {
    /// Returns whether turns run while it is written.
    pub fn is_written_beside(&self) -> bool {
        self.beside
    }

    /// Writes the image, block by block.
    pub fn write(
        mut self,
        write_foreign: WriteForeign<'_>,
        take: TakeBlock<'_>,
    ) -> Result<ImageTables, NotSaved> {
        let machine = self.machine.clone();
        // A machine that ends beside it does not wait for all of it.
        let beside = self.beside;
        let mut take = |block| match beside && machine.is_stopping() {
            true => None,
            false => take(block),
        };
        let read =
            |heap: &mut Heap| heap.insist(|heap| self.waits.timers(&machine, self.now, heap));
        let timers = machine.leases().with_guest(read);
        self.timers = timers.ok_or(NotSaved::Refused)?;
        let program = machine.program();
        let work = &machine.gc().work;
        let moment = beside.then(|| MomentReader::new(program, work, machine.gc().begun()));
        let mut walk = ImageWalk::new(program, moment, BlockWriter::new(&mut take), write_foreign);
        for (number, timer) in self.timers.iter().enumerate() {
            let key = (timer.id.thread, timer.id.serial);
            walk.timers.insert(key, number as u32 + 1);
        }
        walk.behind(self.names);
        let mut events = 0;
        self.waits.each_event(|saved| {
            let holder = HolderOf::Target(Value::address(saved.event.target));
            walk.event_behind(saved.event, (holder, saved.held));
            events += 1;
        });
        for timer in &self.timers {
            walk.holder = (HolderOf::Target(timer.target), HeldIn::Timer);
            walk.behind(timer.target);
            walk.behind(timer.message);
        }
        let held = self.waits.keys.keys.iter();
        held.for_each(|(_, actor)| walk.behind(Value::address(*actor)));
        walk.write_actors();
        let mut kept = 0;
        while let Some(&(event, behaviour)) = walk.kept.get(kept) {
            walk.event_behind(event, (HolderOf::Known(behaviour), HeldIn::Message));
            walk.write_actors();
            kept += 1;
        }
        walk.out.byte(Record::End as u8);
        let roots = walk.out.len();
        self.write_roots(&mut walk);
        let events = (kept + events) as u64;
        self.finish(walk, roots, events)
    }

    fn write_roots(&self, walk: &mut ImageWalk<'_>) {
        walk.value(self.names);
        for (event, _) in walk.kept.clone() {
            write_event(walk, self.sponsors[0].0, event);
        }
        self.waits
            .each_event(|SavedEvent { sponsor, event, .. }| write_event(walk, sponsor, event));
        for timer in &self.timers {
            let sponsor = walk.sponsors.number(timer.sponsor);
            walk.out.varint(sponsor.into());
            walk.out.varint(timer.due);
            walk.value(timer.target);
            walk.value(timer.message);
            walk.out.settle();
        }
        if self.identity.is_some() {
            walk.out.varint(self.waits.keys.given);
        }
        for (key, actor) in &self.waits.keys.keys {
            walk.out.varint(key.slot.into());
            walk.out.word(key.serial as u64);
            walk.out.word((key.serial >> 64) as u64);
            walk.value(Value::address(*actor));
            walk.out.settle();
        }
    }

    fn finish(
        self,
        mut walk: ImageWalk<'_>,
        roots: u64,
        events: u64,
    ) -> Result<ImageTables, NotSaved> {
        let (cells, captures) = (walk.cells.into(), walk.captures.into());
        let (keys, timers) = (self.waits.keys.keys.len(), self.timers.len());
        let [actors, timers, keys] = [walk.actors.len(), timers, keys].map(|n| n as u64);
        let sponsors = walk.sponsors.all.iter();
        let program = self.machine.program();
        let populations = walk.behaviours.all.iter().zip(&walk.populations);
        let behaviours: Vec<ImageBehaviour> = populations
            .map(|(id, actors)| {
                let (name, hash) = program.version_of(*id);
                ImageBehaviour {
                    name,
                    hash,
                    actors: *actors,
                }
            })
            .collect();
        let tables = ImageTables {
            moment: self.now,
            counts: [cells, captures, actors, events, timers, keys],
            units: self.units(&behaviours, walk.functions),
            identity: self.identity,
            atoms: Vec::new(),
            sponsors: sponsors
                .map(|id| {
                    let found = self.sponsors.iter().find(|(of, _)| of == id);
                    found.unwrap_or(&self.sponsors[0]).1
                })
                .collect(),
            behaviours,
            lost: walk.lost.all,
            traces: walk.traces,
        };
        tables.name_all(&mut walk.atoms);
        if walk.is_too_large {
            return Err(NotSaved::TooLarge);
        }
        if let Some(atoms) = too_many_atoms(&walk.atoms.all, &tables.units) {
            return Err(NotSaved::TooManyAtoms(atoms));
        }
        if walk.work.price() > fuel_of(walk.out.len()) {
            return Err(NotSaved::HeavyKeys);
        }
        let begin = walk.out.len();
        tables.write(&mut walk.atoms, &mut walk.out);
        walk.out.word(roots);
        walk.out.word(begin);
        match walk.out.finish() {
            true => Ok(tables),
            false => Err(NotSaved::Refused),
        }
    }

    /// The code of these behaviours and functions, and what the machine would load today of everything else: they may call it.
    fn units(
        &self,
        behaviours: &[ImageBehaviour],
        functions: FxHashSet<(Atom, u64)>,
    ) -> Vec<LoadedUnit> {
        let program = self.machine.program();
        let mut used = functions;
        used.extend(behaviours.iter().map(|of| (of.name.module, of.hash)));
        let mut met = FxHashSet::default();
        let mut units = program.units();
        // Of one that was loaded several times, the last.
        units.reverse();
        units.retain(|unit| {
            let is_used = used.contains(&(unit.module, unit.hash));
            met.insert((unit.module, unit.hash))
                && (is_used || program.module(unit.module) == Some(unit.hash))
        });
        units.reverse();
        units
    }
}

fn write_event(walk: &mut ImageWalk<'_>, sponsor: SponsorId, event: Event) {
    let sponsor = walk.sponsors.number(sponsor);
    walk.out.varint(sponsor.into());
    walk.value(Value::address(event.target));
    walk.value(event.message);
    walk.out.settle();
}
