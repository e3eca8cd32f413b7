//! Saving: everything that the roots reach, while all threads stand still.
//!
//! Events are written in an order in which none overtakes another one of the same sender to the same actor: those of actors on
//! their way between threads first, then those that are held for them, then what is queued, what has come in, and what is to leave.
//! An event whose turn is away comes before all that wait for its actor: its turn has changed nothing, and begins again.
//!
//! Invariants:
//! 1. What is shown here is what roots.rs marks, but for what only the outside could use: looks and tasks that wait, what is counted,
//!    and actors that it holds addresses of, unless the machine has an identity.
use super::blocks::{BlockWriter, TakeBlock};
use super::record::Record;
use super::restore::fuel_of;
use super::tables::{too_many_atoms, ImageBehaviour, ImageIdentity, ImageTables, MOST_ATOMS};
use super::walk::{ImageWalk, WriteForeign};
use crate::base::atom::Atom;
use crate::base::ids::TimerId;
use crate::boundary::parcel::Parcel;
use crate::boundary::timers::{Message, NEVER};
use crate::code::program::LoadedUnit;
use crate::heap::Heap;
use crate::look::holders::HeldIn;
use crate::look::survey::Survey;
use crate::threads::inbox::{Entry, InboxItem};
use crate::threads::station::Station;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId, SponsorId};
use crate::values::handles::KeptKeys;
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

/// An event, and the sponsor where it waits.
pub(super) struct SavedEvent {
    sponsor: SponsorId,
    pub(super) event: Event,
    held: HeldIn,
}

pub(super) struct SavedTimer {
    sponsor: SponsorId,
    pub(super) due: u64,
    pub(super) id: TimerId,
    pub(super) target: Value,
    pub(super) message: Value,
}

/// What waits, as values, and what the outside has keys of.
#[derive(Default)]
pub(super) struct Waits {
    pub(super) events: Vec<SavedEvent>,
    pub(super) timers: Vec<SavedTimer>,
    pub(super) keys: KeptKeys,
}

impl Survey<'_> {
    /// Writes an image of the machine, block by block, with `names`, a tuple of one value. With an identity, the keys that the
    /// outside has are written as well.
    pub fn save(
        &self,
        names: &Parcel,
        identity: Option<ImageIdentity>,
        write_foreign: WriteForeign<'_>,
        take: TakeBlock<'_>,
    ) -> Result<ImageTables, NotSaved> {
        if !names.is_for(self.machine.handles()) {
            return Err(NotSaved::OtherMachine);
        }
        let save = |heap: &mut Heap| {
            let position = heap.position();
            // Before what waits: processes go on, and one may put an address into a message and forget it. That comes too late to be
            // seen, but the key was there before.
            let keys = identity.is_some().then(|| self.machine.handles().keys());
            // What was accepted cannot be refused now. It is garbage as soon as it is written.
            let (names, mut waits) = heap.insist(|heap| (names.copy(heap), self.waits(heap)));
            waits.keys = keys.unwrap_or_default();
            let saved = match names.as_tuple() {
                Some([names]) => self.write(*names, &waits, identity, write_foreign, take),
                _ => Err(NotSaved::NoMemory),
            };
            heap.rewind(&position);
            saved
        };
        let saved = self.machine.leases().with_guest(save);
        saved.unwrap_or(Err(NotSaved::NoMemory))
    }

    fn write(
        &self,
        names: Value,
        waits: &Waits,
        identity: Option<ImageIdentity>,
        write_foreign: WriteForeign<'_>,
        take: TakeBlock<'_>,
    ) -> Result<ImageTables, NotSaved> {
        let program = self.machine.program();
        let mut walk = ImageWalk::new(program, BlockWriter::new(take), write_foreign);
        for (number, timer) in waits.timers.iter().enumerate() {
            let key = (timer.id.thread, timer.id.serial);
            walk.timers.insert(key, number as u32 + 1);
        }
        walk.behind(names);
        for SavedEvent { event, held, .. } in &waits.events {
            self.event_behind(&mut walk, *event, *held);
        }
        for timer in &waits.timers {
            walk.holder = (self.behaviour_of(timer.target), HeldIn::Timer);
            walk.behind(timer.target);
            walk.behind(timer.message);
        }
        let held = waits.keys.keys.iter();
        held.for_each(|(_, actor)| walk.behind(Value::address(*actor)));
        walk.write_actors();
        let mut kept = 0;
        while let Some(&event) = walk.kept.get(kept) {
            self.event_behind(&mut walk, event, HeldIn::Message);
            walk.write_actors();
            kept += 1;
        }
        walk.out.byte(Record::End as u8);
        let roots = walk.out.len();
        walk.value(names);
        for event in walk.kept.clone() {
            self.write_event(&mut walk, self.machine.sponsors().first().id, event);
        }
        for SavedEvent { sponsor, event, .. } in &waits.events {
            self.write_event(&mut walk, *sponsor, *event);
        }
        for timer in &waits.timers {
            let sponsor = walk.sponsors.number(timer.sponsor);
            walk.out.varint(sponsor.into());
            walk.out.varint(timer.due);
            walk.value(timer.target);
            walk.value(timer.message);
            walk.out.settle();
        }
        if identity.is_some() {
            walk.out.varint(waits.keys.given);
        }
        for (key, actor) in &waits.keys.keys {
            walk.out.varint(key.slot.into());
            walk.out.word(key.serial as u64);
            walk.out.word((key.serial >> 64) as u64);
            walk.value(Value::address(*actor));
            walk.out.settle();
        }
        self.finish(walk, roots, waits, identity)
    }

    fn finish(
        &self,
        mut walk: ImageWalk<'_>,
        roots: u64,
        waits: &Waits,
        identity: Option<ImageIdentity>,
    ) -> Result<ImageTables, NotSaved> {
        let events = walk.kept.len() + waits.events.len();
        let (cells, captures) = (walk.cells.into(), walk.captures.into());
        let keys = waits.keys.keys.len();
        let others = [walk.actors.len(), events, waits.timers.len(), keys].map(|n| n as u64);
        let [actors, events, timers, keys] = others;
        let sponsors = walk.sponsors.all.iter();
        let program = self.machine.program();
        let populations = walk.behaviours.all.iter().zip(&walk.populations);
        let tables = ImageTables {
            moment: self.machine.clock().now(),
            counts: [cells, captures, actors, events, timers, keys],
            identity,
            atoms: Vec::new(),
            sponsors: sponsors
                .map(|id| self.machine.sponsors().by_id(*id).name)
                .collect(),
            units: self.units(&walk.behaviours.all, walk.functions),
            behaviours: populations
                .map(|(id, actors)| ImageBehaviour {
                    name: program.name(*id),
                    hash: program.behaviour(*id).hash,
                    actors: *actors,
                })
                .collect(),
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
        behaviours: &[BehaviourId],
        functions: FxHashSet<(Atom, u64)>,
    ) -> Vec<LoadedUnit> {
        let program = self.machine.program();
        let code = behaviours.iter().map(|id| program.behaviour(*id));
        let mut used = functions;
        used.extend(code.map(|code| (code.module, code.hash)));
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

    fn event_behind(&self, walk: &mut ImageWalk<'_>, event: Event, held: HeldIn) {
        let target = Value::address(event.target);
        walk.holder = (self.behaviour_of(target), held);
        walk.behind(target);
        walk.behind(event.message);
    }

    fn write_event(&self, walk: &mut ImageWalk<'_>, sponsor: SponsorId, event: Event) {
        let sponsor = walk.sponsors.number(sponsor);
        walk.out.varint(sponsor.into());
        walk.value(Value::address(event.target));
        walk.value(event.message);
        walk.out.settle();
    }

    fn behaviour_of(&self, target: Value) -> Option<BehaviourId> {
        let address = target.is_address().then(|| target.address_pointer());
        // SAFETY: the target of an event or a timer is live.
        address.map(|actor| unsafe { (*actor).header().behaviour() })
    }

    /// Everything that waits, in the order that the head of this file says.
    pub(super) fn waits(&self, heap: &mut Heap) -> Waits {
        let mut waits = Waits::default();
        let mut put = |sponsor, event, held| {
            waits.events.push(SavedEvent {
                sponsor,
                event,
                held,
            });
        };
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            if let Some(away) = &thread.away {
                away.each_turn(|event| put(sponsor, event, HeldIn::Turn));
                away.each_waiting(|event| put(sponsor, event, HeldIn::Message));
            }
        }
        let stations = self.machine.stations().all();
        let mut put = |sponsor, event| put(sponsor, event, HeldIn::Message);
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            thread.each_told_closed(heap, |event| put(sponsor, event));
        }
        for station in &stations {
            let sponsor = self.sponsor_of(station);
            station.inbox.each(|item| {
                if let InboxItem::Entry(Entry::Given(events)) = item {
                    events.iter().for_each(|event| put(sponsor, *event));
                }
            });
        }
        for thread in &self.threads {
            let (sponsor, leaving) = (thread.context.sponsor.id, &thread.turn.leaving);
            let stay = leaving.held.iter().chain(&leaving.wanted);
            stay.for_each(|event| put(sponsor, *event));
        }
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            thread.turn.queue.each(|event| put(sponsor, event));
        }
        for station in &stations {
            let sponsor = self.sponsor_of(station);
            station.inbox.each(|item| match item {
                // What has been noted there is still to be written into the journal that begins here.
                InboxItem::Entry(_) if self.machine.journal().is_some() => {}
                item => entered(item, heap, |event| put(sponsor, event)),
            });
        }
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            for (target, parcel) in &thread.seeded.arrivals {
                put(sponsor, message(target.0, parcel.copy(heap)));
            }
            thread.turn.leaving.each_listed(|to, event| {
                let station = stations.iter().find(|station| station.number == to);
                put(
                    station.map_or(sponsor, |station| self.sponsor_of(station)),
                    event,
                );
            });
        }
        // What there was no memory for is lost, as when it enters.
        waits.events.retain(|saved| !saved.event.message.is_none());
        for station in &stations {
            self.timers(station, heap, &mut waits.timers);
        }
        // Those that were armed again came first.
        waits
            .timers
            .sort_by_key(|timer| (timer.due, timer.id.in_order()));
        waits
    }

    fn timers(&self, station: &Station, heap: &mut Heap, timers: &mut Vec<SavedTimer>) {
        let (sponsor, now) = (self.sponsor_of(station), self.machine.clock().now());
        station.timers.each_armed(station.number, |due, id, timer| {
            // One that waits for the end of a process fires at once in another machine, for which no process lives on.
            let due = if due - now.min(due) >= NEVER / 2 {
                now
            } else {
                due
            };
            timers.push(SavedTimer {
                sponsor,
                due,
                id,
                target: timer.target,
                message: match &timer.message {
                    Message::Value(message) => *message,
                    Message::Parcel(parcel) => parcel.copy(heap),
                },
            });
        });
        timers.retain(|timer| !timer.message.is_none());
    }

    /// The sponsor of a thread; the first one, if that has ended.
    fn sponsor_of(&self, station: &Station) -> SponsorId {
        let sponsors = self.machine.sponsors().all();
        let of = sponsors
            .iter()
            .find(|s| s.station(station.number).is_some());
        of.unwrap_or(&sponsors[0]).id
    }
}

fn message(target: *const Actor, message: Value) -> Event {
    Event { target, message }
}

/// Shows what has come into an inbox: what was sent to actors that stay.
fn entered(item: InboxItem<'_>, heap: &mut Heap, mut put: impl FnMut(Event)) {
    match item {
        InboxItem::Event(event) => put(event),
        InboxItem::Entry(Entry::Message(target, parcel)) => {
            put(message(target.0, parcel.copy(heap)));
        }
        InboxItem::Entry(Entry::Batch(batch)) => {
            batch.copy(heap, |target, value| put(message(target.0, value)));
        }
        InboxItem::Entry(_) => {}
    }
}
