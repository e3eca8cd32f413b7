//! The records of an image: cells, the captures of actors, and actors, each compared with what was made before it (restore.rs,
//! invariants 1 and 2).
use super::super::record::{
    unzigzag, Record, ACTOR, ATOM, CELL, MOST_ELEMENTS, OTHER, OTHERS, SMALL, VALUE_BITS,
};
use super::super::{wrong, ImageError};
use super::{index, made, Restorer};
use crate::base::ids::TimerId;
use crate::code::functions::KnownFunction;
use crate::code::ir::MAX_ARITY;
use crate::code::reader::Reader;
use crate::terms::map;
use crate::terms::prim::weight::place;
use crate::threads::shared::Machine;
use crate::values::actor::{Actor, Header, SponsorId};
use crate::values::big::MOST_LIMBS;
use crate::values::foreign::Class;
use crate::values::value::Value;

impl Restorer<'_> {
    pub(super) fn add(&mut self, cell: Value) -> Result<(), ImageError> {
        self.cells.push(made(cell)?);
        Ok(())
    }

    /// The record of the actor of that number, which nobody has seen yet.
    pub(super) fn actor(&mut self, machine: &Machine, number: usize) -> Result<(), ImageError> {
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

    pub(super) fn captures(&mut self) -> Result<(), ImageError> {
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
    pub(super) fn list(&mut self) -> Result<(), ImageError> {
        let n = self.count(1)?;
        let mut list = self.value()?;
        self.read_values(n)?;
        for at in (0..n).rev() {
            list = self.heap.cons(self.scratch[at], list);
            self.add(list)?;
        }
        Ok(())
    }

    pub(super) fn cell(&mut self, machine: &Machine, record: Record) -> Result<Value, ImageError> {
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
            Record::Foreign => self.foreign(),
            Record::Lost => self.lost(at),
            Record::On => {
                let (sponsor, address) = (self.value()?, self.value()?);
                if sponsor.as_atom().is_none() || !address.is_address() {
                    return wrong(at, "a reference with a sponsor has an atom and an address");
                }
                Ok(self.heap.on(sponsor, address))
            }
            Record::Timer => self.timer(at),
            Record::Bitstring => self.bitstring(at),
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
        let made = map::from_pairs(self.heap, pairs);
        match map::Node::of(made) {
            Some(map) if map.size < n => {
                let by = match self.resolved.is_empty() {
                    true => "",
                    false => ": what takes the place of lost values has made them so",
                };
                wrong(at, format!("of the {n} keys of a map, some are equal{by}"))
            }
            _ => Ok(made),
        }
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

    fn foreign(&mut self) -> Result<Value, ImageError> {
        let at = self.reader.offset();
        let class = u8::try_from(self.reader.varint()?)
            .ok()
            .and_then(Class::from_number);
        let bytes = Some(self.reader.bytes()?);
        match class.and_then(|class| (self.foreign)(class, bytes)) {
            Some(value) => Ok(self.heap.foreign(value)),
            None => wrong(at, "a value of the outside cannot be read"),
        }
    }

    /// Returns the replacement of a value that was not written.
    fn lost(&mut self, at: usize) -> Result<Value, ImageError> {
        let tables = &self.image.tables;
        let number = self.reader.varint()?;
        let trace = tables.traces.get(index(number));
        let class = trace.map(|(lost, _)| tables.lost[*lost as usize].class);
        let resolved = self.resolved.get(&(number as u32));
        match (class, resolved) {
            (Some(_), Some(value)) => Ok(*value),
            (Some(class), None) => match (self.foreign)(class, None) {
                Some(value) => Ok(self.heap.foreign(value)),
                None => wrong(at, "a value of the outside cannot be made"),
            },
            (None, _) => wrong(at, "a value was lost that the tables do not have"),
        }
    }

    fn timer(&mut self, at: usize) -> Result<Value, ImageError> {
        let number = self.reader.varint()?;
        let [.., timers, _] = self.image.tables.counts;
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

    fn bitstring(&mut self, at: usize) -> Result<Value, ImageError> {
        let (before, behind) = (self.reader.varint()?, self.reader.varint()?);
        let binary = self.value()?;
        let length = binary.as_binary().map_or(0, <[u8]>::len) as u64;
        let is_one = before < 8 && behind < 8 && length > 0;
        match is_one && before + behind < 8 * length && (before + behind) % 8 > 0 {
            true => Ok(self
                .heap
                .bitstring(binary, before as usize, behind as usize)),
            false => wrong(at, "a bitstring has bits of a binary, and not whole bytes"),
        }
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

    pub(super) fn value(&mut self) -> Result<Value, ImageError> {
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
}

/// Returns the value that was made `n` before the last.
fn before<T>(made: &[T], n: u64) -> Option<&T> {
    made.len()
        .checked_sub(index(n).checked_add(1)?)
        .map(|at| &made[at])
}
