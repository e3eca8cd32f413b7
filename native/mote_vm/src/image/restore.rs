//! Going on from an image: its cells and actors are made in a machine that has done nothing yet, then its events are let go.
//!
//! Invariants:
//! 1. Nothing that is written is believed: each number is compared with what was made so far. So what is made is what a program
//!    could have made, whoever wrote the image.
//! 2. A cell refers to cells that were made before it. The state of an actor has as many captures as its behaviour, which is
//!    installed code.
//! 3. Until all is good, nobody knows any of it: the heap forgets it otherwise. Then timers are armed and events enter, while no
//!    turn runs: so none is overtaken by what a turn sends.
//! 4. The keys of a map are compared for as long as that can take for entries of reasonable keys, and no longer.
mod cells;
pub mod migration;

use super::file::{in_file, ImageFile};
use super::record::{Record, OWN_BEHAVIOURS};
use super::{held_by_a_move, wrong, ImageError};
use crate::base::lent::Lender;
use crate::boundary::parcel::Parcel;
use crate::code::reader::Reader;
use crate::heap::Heap;
use crate::terms::written::exceeds;
use crate::threads::shared::Machine;
use crate::threads::sponsor::Sponsor;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::foreign::{Class, ForeignRef};
use crate::values::handles::{bytes_of, KeptKeys, Key, MOST_GIVEN};
use crate::values::term::Term;
use crate::values::value::Value;
use migration::Migration;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Makes a value of the outside from what was written of it, or one that takes the place of a value that was not written.
pub type ForeignMaker<'f> = &'f dyn Fn(Class, Option<&[u8]>) -> Option<ForeignRef>;

/// Fuel that all maps of an image may spend on comparing their keys, and more of it for each byte: some tenths of a second, and some
/// ten times of what reading takes.
const FUEL: u64 = 1 << 26;
const FUEL_PER_BYTE: u64 = 64;

/// Returns the fuel that reading an image of that many bytes may spend. Whoever saves it counts the same (walk.rs).
pub(crate) fn fuel_of(bytes: u64) -> u64 {
    FUEL + FUEL_PER_BYTE * bytes
}

/// The values that cells and roots refer to by number.
struct Restorer<'r> {
    image: &'r ImageFile,
    reader: Reader<'r>,
    heap: &'r mut Heap,
    foreign: ForeignMaker<'r>,
    behaviours: Vec<BehaviourId>,
    sponsors: Vec<Arc<Sponsor>>,
    cells: Vec<Value>,
    /// The states of actors with several captures, each with how many it has.
    captures: Vec<(Value, u16)>,
    actors: Vec<*const Actor>,
    /// The references of timers, by the numbers of these.
    references: Vec<(usize, Value)>,
    /// Replacements of values that were not written, by their numbers.
    resolved: FxHashMap<u32, Value>,
    scratch: Vec<Value>,
}

struct RestoredTimer {
    sponsor: usize,
    due: u64,
    target: Value,
    message: Value,
}

/// Everything that the roots of an image are.
struct Roots {
    names: Value,
    /// The waiting events, by sponsor.
    events: Vec<Vec<Event>>,
    timers: Vec<RestoredTimer>,
    keys: KeptKeys,
}

impl Machine {
    /// Goes on from an image, in a machine that has all of its code and has done nothing yet. `names` is shown what was named, and
    /// has to hold the actors in it. `keep` says whether the keys in it are keys of this machine. `resolved` is what takes the place of
    /// values that were not written: their numbers, and a tuple of as many values. `migration` lets actors become others. If the
    /// machine does not go on, it is good for nothing more, and may be paused.
    pub fn restore<R>(
        &self,
        image: &ImageFile,
        keep: bool,
        resolved: (&[u32], Parcel),
        foreign: ForeignMaker<'_>,
        migration: Option<Migration<'_>>,
        names: impl FnOnce(Term<'_>) -> R,
    ) -> Result<R, ImageError> {
        let behaviours = self.behaviours_in(image)?;
        let sponsors = self.sponsors_of(image)?;
        if !resolved.1.is_for(self.handles()) {
            let problem = "what takes the place of lost values has actors of another machine";
            return Err(ImageError::Lacks(problem.to_string()));
        }
        let restore = |heap: &mut Heap| {
            let position = heap.position();
            let (numbers, values) = &resolved;
            let values = heap.insist(|heap| values.copy(heap));
            let Some(values) = values.as_tuple().filter(|all| all.len() == numbers.len()) else {
                return Err(ImageError::NoMemory);
            };
            let resolved = numbers.iter().copied().zip(values.iter().copied());
            heap.work.allow(fuel_of(image.contents.len() as u64));
            heap.may_go_to_the_end(true);
            let mut restorer = Restorer {
                image,
                reader: Reader::new(&image.contents),
                heap,
                foreign,
                behaviours,
                sponsors,
                cells: Vec::new(),
                captures: Vec::new(),
                actors: Vec::new(),
                references: Vec::new(),
                resolved: resolved.collect(),
                scratch: Vec::new(),
            };
            let made = restorer.restore(self).and_then(|mut roots| {
                if !keep {
                    roots.keys = KeptKeys::default();
                }
                let waiting = roots.events.iter().map(Vec::len).sum::<usize>();
                let bytes = waiting * size_of::<Event>() + bytes_of(roots.keys.keys.len());
                if !self.pool().quota.fits_in_the_end(bytes) {
                    return Err(ImageError::NoMemory);
                }
                if exceeds(
                    roots.names,
                    || self.pool().quota.held() / size_of::<Value>(),
                    || Some(self.shared_pool() as Arc<dyn Lender>),
                ) {
                    let problem =
                        "what is named is larger, written out, than all that the machine holds";
                    return Err(ImageError::Lacks(problem.to_string()));
                }
                Ok(roots)
            });
            let shown = match made {
                Ok(roots) => restorer.go_on(self, roots, migration, names),
                Err(error) => {
                    restorer.heap.rewind(&position);
                    Err(error)
                }
            };
            heap.may_go_to_the_end(false);
            heap.work.allow(u64::MAX);
            shown.map_err(in_file)
        };
        let restored = self.leases().with_guest(restore);
        restored.unwrap_or(Err(ImageError::NoMemory))
    }

    fn behaviours_in(&self, image: &ImageFile) -> Result<Vec<BehaviourId>, ImageError> {
        let own = (0..OWN_BEHAVIOURS as u32).map(|id| Ok(BehaviourId(id)));
        let others = image.tables.behaviours.iter().map(|behaviour| {
            let name = behaviour.name;
            let (module, what) = (name.module.name(), name.name.name());
            if name == held_by_a_move() {
                let problem = "an actor is held by a move, and no image has such actors";
                return Err(ImageError::Lacks(problem.to_string()));
            }
            let version = self.program().version(name, behaviour.hash);
            version.ok_or_else(|| {
                let captures = name.captures;
                ImageError::Lacks(format!(
                    "its behaviour {module}.{what}/{captures} of the version {:016x} is not loaded",
                    behaviour.hash
                ))
            })
        });
        own.chain(others).collect()
    }

    fn sponsors_of(&self, image: &ImageFile) -> Result<Vec<Arc<Sponsor>>, ImageError> {
        let named = |name| self.sponsors().by_name(name).ok_or(name);
        let found = image.tables.sponsors.iter().map(|name| named(*name));
        let (found, missing): (Vec<_>, Vec<_>) = found.partition(Result::is_ok);
        let missing: Vec<_> = missing.into_iter().filter_map(Result::err).collect();
        if missing.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        let names: Vec<_> = missing
            .iter()
            .map(|name| format!(":{}", name.name()))
            .collect();
        Err(ImageError::Lacks(format!(
            "it needs sponsors that the machine does not have: {}",
            names.join(", ")
        )))
    }
}

impl Restorer<'_> {
    fn restore(&mut self, machine: &Machine) -> Result<Roots, ImageError> {
        let [_, _, actors, ..] = self.image.tables.counts;
        for _ in 0..actors {
            let header = Header::new(BehaviourId::SINK, None, 0);
            let actor = self.heap.actor(header, Value::NONE);
            self.actors.push(made(actor)?.address_pointer());
        }
        let mut written = 0;
        loop {
            let at = self.reader.offset();
            let record = Record::from_number(self.reader.u8()?);
            match record {
                Some(Record::End) => break,
                Some(Record::Actor) => {
                    self.actor(machine, written)?;
                    written += 1;
                }
                Some(Record::Captures) => self.captures()?,
                Some(Record::List) => self.list()?,
                Some(record) => {
                    let cell = self.cell(machine, record)?;
                    self.add(cell)?;
                }
                None => return wrong(at, "there is no such kind of record"),
            }
        }
        let at = self.reader.offset();
        let [cells, captures, actors, ..] = self.image.tables.counts;
        let made = [self.cells.len(), self.captures.len(), written].map(|n| n as u64);
        if at != self.image.roots || made != [cells, captures, actors] {
            return wrong(at, "the cells and actors are not as many as the tables say");
        }
        self.roots()
    }

    fn roots(&mut self) -> Result<Roots, ImageError> {
        let [.., events, timers, keys] = self.image.tables.counts;
        let mut roots = Roots {
            names: self.value()?,
            events: self.sponsors.iter().map(|_| Vec::new()).collect(),
            timers: Vec::new(),
            keys: KeptKeys::default(),
        };
        for _ in 0..events {
            let sponsor = self.sponsor()?;
            let (at, target) = (self.reader.offset(), self.value()?);
            if !target.is_address() {
                return wrong(at, "an event is for something else than an actor");
            }
            roots.events[sponsor].push(Event {
                target: target.address_pointer(),
                message: self.value()?,
            });
        }
        for _ in 0..timers {
            roots.timers.push(RestoredTimer {
                sponsor: self.sponsor()?,
                due: self.reader.varint()?,
                target: self.value()?,
                message: self.value()?,
            });
        }
        if self.image.tables.identity.is_some() {
            roots.keys.given = self.reader.at_most("number of keys given", MOST_GIVEN)?;
            for _ in 0..keys {
                let key = self.key()?;
                roots.keys.keys.push(key);
            }
        }
        match self.reader.offset() == self.image.tables_at {
            true => Ok(roots),
            false => wrong(
                self.reader.offset(),
                "the roots are not as many as the tables say",
            ),
        }
    }

    fn key(&mut self) -> Result<(Key, *const Actor), ImageError> {
        let slot = self.reader.at_most("position of a key", u32::MAX)?;
        let (low, high) = (self.reader.u64()?, self.reader.u64()?);
        let serial = u128::from(high) << 64 | u128::from(low);
        let (at, actor) = (self.reader.offset(), self.value()?);
        match actor.is_address() {
            true => Ok((Key { slot, serial }, actor.address_pointer())),
            false => wrong(at, "a key is of something else than an actor"),
        }
    }

    fn sponsor(&mut self) -> Result<usize, ImageError> {
        let at = self.reader.offset();
        let number = index(self.reader.varint()?);
        match number < self.sponsors.len() {
            true => Ok(number),
            false => wrong(
                at,
                "something waits in a sponsor that the tables do not have",
            ),
        }
    }

    /// Arms the timers, lets actors become others, shows what was named, and lets the events go, while no turn runs. Of what is armed
    /// or kept the heap forgets nothing, also where there is no memory for more. If that fails the machine stays paused: whoever was asked what
    /// actors become may have sent them something.
    fn go_on<R>(
        &mut self,
        machine: &Machine,
        mut roots: Roots,
        migration: Option<Migration<'_>>,
        names: impl FnOnce(Term<'_>) -> R,
    ) -> Result<R, ImageError> {
        // A durable machine runs nothing before its journal has begun.
        let was_paused = machine.is_paused();
        machine.pause();
        machine.clock().go_on_from(self.image.tables.moment);
        self.arm(&roots.timers)?;
        // Before anybody is shown an actor: one that has a key gets no other.
        keep(machine, &roots.keys)?;
        if let Some(migration) = migration {
            self.migrate(machine, migration, &mut roots)?;
        }
        let shown = names(Term::new(roots.names));
        self.let_go(roots.events);
        if !was_paused {
            machine.resume();
        }
        // There may be timers that are due earlier than anything that a thread knew of.
        self.sponsors
            .iter()
            .for_each(|sponsor| sponsor.lead().wake());
        Ok(shown)
    }

    /// Arms the timers, and lets their references know where they are.
    fn arm(&self, timers: &[RestoredTimer]) -> Result<(), ImageError> {
        let mut armed = Vec::with_capacity(timers.len());
        for timer in timers {
            let lead = self.sponsors[timer.sponsor].lead();
            let RestoredTimer {
                due,
                target,
                message,
                ..
            } = *timer;
            let id = lead.timers.arm_again(due, target, message);
            armed.push(id.ok_or(ImageError::NoMemory)?);
        }
        for (number, reference) in &self.references {
            // SAFETY: made by this restorer, and shown to nobody yet.
            unsafe { reference.fill_timer(armed[*number]) };
        }
        Ok(())
    }

    /// Lets the events enter, all of them before the first turn.
    fn let_go(&self, events: Vec<Vec<Event>>) {
        for (sponsor, mut events) in self.sponsors.iter().zip(events) {
            for station in &sponsor.stations {
                // As what comes from outside later: so it comes later.
                // SAFETY: made by this restorer, in a heap that forgets nothing any more.
                let enters = |event: &mut Event| unsafe { sponsor.entrance(event.target) };
                let enters = |event: &mut Event| enters(event).number == station.number;
                let mut some: Vec<Event> = events.extract_if(.., enters).collect();
                if !some.is_empty() {
                    // A machine that is being stopped takes no more, and needs none.
                    let wakes = station.inbox.push_events(&mut some, None);
                    sponsor.entered(station, wakes.unwrap_or(false));
                }
            }
        }
    }
}

/// Holds the actors that somebody has keys of from an earlier life.
fn keep(machine: &Machine, keys: &KeptKeys) -> Result<(), ImageError> {
    // SAFETY: made by the restorer, in a heap that forgets nothing any more.
    let pinned = |actor: *const Actor| unsafe { (*actor).header().pinned() };
    match machine.handles().keep(keys, pinned) {
        true => {
            // What the outside has is divided again among threads that keep their actors. All others go where they are sent to first.
            for (_, actor) in &keys.keys {
                // SAFETY: as above.
                let actor = unsafe { &**actor };
                let header = actor.header();
                let pinned = header.pinned();
                let sponsor = pinned.and_then(|id| machine.sponsors().other(id));
                let sponsor = sponsor
                    .as_ref()
                    .unwrap_or_else(|| machine.sponsors().first());
                actor.take(header, sponsor.begins_on(), None);
            }
            Ok(())
        }
        false => Err(ImageError::Lacks(
            "two of the keys in it are the same, or of the same actor".to_string(),
        )),
    }
}

/// A value, unless there was no memory for it.
fn made(value: Value) -> Result<Value, ImageError> {
    match value.is_none() {
        true => Err(ImageError::NoMemory),
        false => Ok(value),
    }
}

fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
