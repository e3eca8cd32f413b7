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
use super::file::{in_file, ImageFile};
use super::record::{
    unzigzag, Record, ACTOR, ATOM, CELL, MOST_ELEMENTS, OTHER, OTHERS, OWN_BEHAVIOURS, SMALL,
    VALUE_BITS,
};
use super::{held_by_a_move, wrong, ImageError};
use crate::base::ids::TimerId;
use crate::base::lent::Lender;
use crate::code::functions::KnownFunction;
use crate::code::ir::MAX_ARITY;
use crate::code::reader::Reader;
use crate::heap::Heap;
use crate::terms::map;
use crate::terms::prim::weight::place;
use crate::terms::written::exceeds;
use crate::threads::shared::Machine;
use crate::threads::sponsor::Sponsor;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId, Header, SponsorId};
use crate::values::big::MOST_LIMBS;
use crate::values::foreign::{Class, ForeignRef};
use crate::values::term::Term;
use crate::values::value::Value;
use std::sync::Arc;

/// Makes a value of the outside from what was written of it, or one that takes the place of a value that was not written.
pub type ForeignMaker<'f> = &'f dyn Fn(Class, Option<&[u8]>) -> Option<ForeignRef>;

/// Fuel that all maps of an image may spend on comparing their keys, and more of it for each byte: some tenths of a second, and some
/// ten times of what reading takes.
const FUEL: u64 = 1 << 26;
const FUEL_PER_BYTE: u64 = 64;

/// What cells and roots refer to by number.
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
    /// By sponsor.
    events: Vec<Vec<Event>>,
    timers: Vec<RestoredTimer>,
}

impl Machine {
    /// Goes on from an image, in a machine that has all of its code and has done nothing yet. `names` is shown what was named, and
    /// has to hold the actors in it. If the machine does not go on, it is good for nothing more.
    pub fn restore<R>(
        &self,
        image: &ImageFile,
        foreign: ForeignMaker<'_>,
        names: impl FnOnce(Term<'_>) -> R,
    ) -> Result<R, ImageError> {
        let behaviours = self.behaviours_in(image)?;
        let sponsors = self.sponsors_of(image)?;
        let restore = |heap: &mut Heap| {
            let position = heap.position();
            heap.work
                .allow(FUEL + FUEL_PER_BYTE * image.contents.len() as u64);
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
                scratch: Vec::new(),
            };
            let made = restorer.restore(self).and_then(|roots| {
                let waiting = roots.events.iter().map(Vec::len).sum::<usize>();
                if !self.pool().fits(waiting * size_of::<Event>()) {
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
                Ok(roots) => restorer.go_on(self, roots, names),
                Err(error) => {
                    restorer.heap.rewind(position);
                    Err(error)
                }
            };
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

    fn add(&mut self, cell: Value) -> Result<(), ImageError> {
        self.cells.push(made(cell)?);
        Ok(())
    }

    /// The record of the actor of that number, which nobody has seen yet.
    fn actor(&mut self, machine: &Machine, number: usize) -> Result<(), ImageError> {
        let at = self.reader.offset();
        let behaviour = self.reader.varint()?;
        let pinned = self.reader.varint()?;
        let Some(&actor) = self.actors.get(number) else {
            return wrong(at, "there are more actors than the tables say");
        };
        let Some(&id) = self
            .behaviours
            .get(usize::try_from(behaviour).unwrap_or(usize::MAX))
        else {
            return wrong(at, "an actor has a behaviour that the tables do not have");
        };
        let pinned = self.pinned(machine, at, pinned)?;
        let code = machine.program().behaviour(id);
        let runs_away = |id| machine.sponsors().by_id(id).most_away.is_some();
        if code.away_only && !pinned.is_some_and(runs_away) {
            return wrong(
                at,
                "an actor of a beam behaviour is pinned to no beam sponsor",
            );
        }
        let state = match code.captures {
            0 => Value::NONE,
            1 => self.value()?,
            n => self.state(n)?,
        };
        let header = Header::new(id, pinned, 0);
        // SAFETY: made by this restorer in its heap, and shown to nobody yet.
        unsafe { actor.cast_mut().write(Actor::new(header, state)) };
        Ok(())
    }

    fn pinned(
        &self,
        machine: &Machine,
        at: usize,
        pinned: u64,
    ) -> Result<Option<SponsorId>, ImageError> {
        let Some(number) = pinned.checked_sub(1) else {
            return Ok(None);
        };
        let sponsor = self
            .sponsors
            .get(usize::try_from(number).unwrap_or(usize::MAX));
        match sponsor.map(|sponsor| machine.sponsors().pin(|other| other.id == sponsor.id)) {
            Some(Some(id)) => Ok(Some(id)),
            _ => wrong(
                at,
                "an actor is pinned to a sponsor that the tables do not have",
            ),
        }
    }

    /// The state of an actor with `n` captures, which are there.
    fn state(&mut self, n: u16) -> Result<Value, ImageError> {
        let at = self.reader.offset();
        match before(&self.captures, self.reader.varint()?) {
            Some((state, captures)) if *captures == n => Ok(*state),
            Some(_) => {
                let problem = format!("an actor has other captures than the {n} of its behaviour");
                wrong(at, problem)
            }
            None => wrong(at, "an actor has captures that are not there"),
        }
    }

    fn captures(&mut self) -> Result<(), ImageError> {
        let at = self.reader.offset();
        let n = self.values(1)?;
        if !(2..=255).contains(&n) {
            return wrong(at, format!("there are no {n} captures that actors share"));
        }
        let values = &self.scratch;
        let state = self
            .heap
            .captures(n, |i| values[i])
            .ok_or(ImageError::NoMemory)?;
        self.captures.push((state, n as u16));
        Ok(())
    }

    /// A list: its cells from the last one on.
    fn list(&mut self) -> Result<(), ImageError> {
        let n = self.count(1)?;
        let mut list = self.value()?;
        self.read_values(n)?;
        for at in (0..n).rev() {
            list = self.heap.cons(self.scratch[at], list);
            self.add(list)?;
        }
        Ok(())
    }

    fn cell(&mut self, machine: &Machine, record: Record) -> Result<Value, ImageError> {
        let at = self.reader.offset();
        match record {
            Record::Tuple => {
                let n = self.values(1)?;
                if n as u64 > MOST_ELEMENTS {
                    return wrong(at, format!("a tuple cannot have {n} elements"));
                }
                let elements = &self.scratch;
                Ok(self.heap.table(n, |i| elements[i]))
            }
            Record::Map => self.map(at),
            Record::Float => self.float(),
            Record::Bytes => Ok(self.heap.bytes(self.reader.bytes()?)),
            Record::Integer => self.integer(at),
            Record::Foreign | Record::Lost => self.foreign(record),
            Record::On => {
                let (sponsor, address) = (self.value()?, self.value()?);
                if sponsor.as_atom().is_none() || !address.is_address() {
                    return wrong(at, "a reference with a sponsor has an atom and an address");
                }
                Ok(self.heap.on(sponsor, address))
            }
            Record::Timer => self.timer(at),
            Record::Function => self.function(machine, at),
            _ => self.slice(at),
        }
    }

    /// A function of the machine's code.
    fn function(&mut self, machine: &Machine, at: usize) -> Result<Value, ImageError> {
        let n = self.count(1)?;
        let (module, name) = (self.value()?.as_atom(), self.value()?.as_atom());
        let arity = self
            .reader
            .at_most("number of arguments", u64::from(MAX_ARITY))? as u32;
        let hash = self.reader.u64()?;
        self.read_values(n)?;
        let Some((module, name)) = module.zip(name) else {
            return wrong(at, "a function has the names of its module and its own");
        };
        match machine.program().function((module, name, arity), hash, n) {
            Some(KnownFunction(what)) => {
                let captures = &self.scratch;
                let part = |i| if i == 0 { what } else { captures[i - 1] };
                Ok(self.heap.function(1 + n, part))
            }
            None => Err(ImageError::Lacks(format!(
                "its function {}.{}/{arity} of the version {hash:016x} is not loaded",
                module.name(),
                name.name()
            ))),
        }
    }

    fn map(&mut self, at: usize) -> Result<Value, ImageError> {
        let n = self.values(2)?;
        let pairs = self.scratch[..2 * n].chunks_exact(2);
        let pairs: Vec<_> = pairs.map(|pair| (pair[0], pair[1])).collect();
        let work = &mut self.heap.work;
        // As in a turn: the price of a key is counted before it is compared with others.
        if pairs.iter().any(|(key, _)| place(*key, work).is_err()) {
            return match work.take_lack() {
                true => Err(ImageError::NoMemory),
                false => wrong(at, "the keys of a map take too long to be compared"),
            };
        }
        Ok(map::from_pairs(self.heap, pairs))
    }

    fn float(&mut self) -> Result<Value, ImageError> {
        let at = self.reader.offset();
        let f = f64::from_bits(self.reader.u64()?);
        match f.is_finite() {
            true => Ok(self.heap.float(f)),
            false => wrong(at, "a float is not a finite number"),
        }
    }

    fn integer(&mut self, at: usize) -> Result<Value, ImageError> {
        let negative = self.reader.at_most("sign", 1u64)? == 1;
        let limbs = self.reader.sequence("limbs", MOST_LIMBS, 8, Reader::u64)?;
        match limbs.last() {
            None | Some(0) => wrong(at, "a large integer has no highest digit"),
            _ => Ok(self.heap.integer(negative, &limbs)),
        }
    }

    fn foreign(&mut self, record: Record) -> Result<Value, ImageError> {
        let at = self.reader.offset();
        let class = u8::try_from(self.reader.varint()?)
            .ok()
            .and_then(Class::from_number);
        let bytes = match record {
            Record::Foreign => Some(self.reader.bytes()?),
            _ => None,
        };
        let made = class.and_then(|class| (self.foreign)(class, bytes));
        match made {
            Some(value) => Ok(self.heap.foreign(value)),
            None => wrong(at, "a value of the outside cannot be read"),
        }
    }

    fn timer(&mut self, at: usize) -> Result<Value, ImageError> {
        let number = self.reader.varint()?;
        let [.., timers] = self.image.tables.counts;
        if number > timers {
            return wrong(at, "a reference is to a timer that the tables do not have");
        }
        let nowhere = TimerId {
            serial: 0,
            thread: 0,
            place: 0,
        };
        let reference = made(self.heap.timer(nowhere))?;
        if let Some(number) = number.checked_sub(1) {
            self.references.push((number as usize, reference));
        }
        Ok(reference)
    }

    fn slice(&mut self, at: usize) -> Result<Value, ImageError> {
        let whole = self.value()?;
        let (from, length) = (self.reader.varint()?, self.reader.varint()?);
        let Some(all) = whole.as_binary() else {
            return wrong(at, "a part is of something else than a binary");
        };
        let end = from
            .checked_add(length)
            .filter(|end| *end <= all.len() as u64);
        match end {
            Some(end) => Ok(self.heap.slice(whole, all, from as usize..end as usize)),
            None => wrong(at, "a part of a binary goes beyond its end"),
        }
    }

    /// Reads a number of things of `each` values, and these. Returns the number.
    fn values(&mut self, each: usize) -> Result<usize, ImageError> {
        let n = self.count(each)?;
        self.read_values(n * each)?;
        Ok(n)
    }

    /// Reads a number of things of `each` values, each of which takes a byte at least.
    fn count(&mut self, each: usize) -> Result<usize, ImageError> {
        let most = self.reader.remaining() / each;
        Ok(self.reader.at_most("number of values", most as u64)? as usize)
    }

    fn read_values(&mut self, n: usize) -> Result<(), ImageError> {
        self.scratch.clear();
        for _ in 0..n {
            let value = self.value()?;
            self.scratch.push(value);
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Value, ImageError> {
        let at = self.reader.offset();
        let word = self.reader.varint()?;
        let n = word >> VALUE_BITS;
        let found = match word & ((1 << VALUE_BITS) - 1) {
            SMALL => Value::integer(unzigzag(n)),
            ATOM => self
                .image
                .tables
                .atoms
                .get(index(n))
                .copied()
                .map(Value::atom),
            CELL => before(&self.cells, n).copied(),
            ACTOR => self
                .actors
                .get(index(n))
                .map(|actor| Value::address(*actor)),
            OTHER if n == OTHERS[0] => Some(Value::EMPTY_LIST),
            OTHER if n == OTHERS[1] => Value::integer(self.reader.u64()? as i64),
            OTHER if n == OTHERS[2] => return self.float().and_then(made),
            _ => None,
        };
        match found {
            Some(value) => Ok(value),
            None => wrong(at, "a value refers to something that is not there"),
        }
    }

    fn roots(&mut self) -> Result<Roots, ImageError> {
        let [.., events, timers] = self.image.tables.counts;
        let mut roots = Roots {
            names: self.value()?,
            events: self.sponsors.iter().map(|_| Vec::new()).collect(),
            timers: Vec::new(),
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
        match self.reader.offset() == self.image.tables_at {
            true => Ok(roots),
            false => wrong(
                self.reader.offset(),
                "the roots are not as many as the tables say",
            ),
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

    /// Arms the timers, shows what was named, and lets the events go, while no turn runs. Of what is armed the heap forgets nothing,
    /// also where there is no memory for more.
    fn go_on<R>(
        &self,
        machine: &Machine,
        roots: Roots,
        names: impl FnOnce(Term<'_>) -> R,
    ) -> Result<R, ImageError> {
        machine.pause();
        machine.clock().go_on_from(self.image.tables.moment);
        let shown = self.arm(&roots.timers).map(|()| {
            let shown = names(Term::new(roots.names));
            self.let_go(roots.events);
            shown
        });
        machine.resume();
        // There may be timers that are due earlier than anything that a thread knew of.
        self.sponsors
            .iter()
            .for_each(|sponsor| sponsor.lead().wake());
        shown
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
            let id = lead.timers.arm_again(lead.number, due, target, message);
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
            if !events.is_empty() {
                // A machine that is being stopped takes no more, and needs none.
                let wakes = sponsor.lead().inbox.push_events(&mut events, None);
                sponsor.entered(wakes.unwrap_or(false));
            }
        }
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

/// What was made `n` before the last.
fn before<T>(made: &[T], n: u64) -> Option<&T> {
    made.len()
        .checked_sub(index(n).checked_add(1)?)
        .map(|at| &made[at])
}
