//! A walk through all that can be reached, cell by cell, while everything stands still. Reads only: the marks are the collector's.
//!
//! Invariants:
//! 1. A cell or an actor is met once: one that is reached from several sides belongs to the first.
use crate::code::program::Program;
use crate::heap::block::{Block, BLOCK, GRANULE};
use crate::values::actor::Actor;
use crate::values::value::Value;
use rustc_hash::FxHashMap;

/// Bits for the granules of a block.
type BlockBits = Box<[u64; BLOCK / GRANULE / 64]>;

/// The cells that have been reached, a bit for each.
pub(crate) struct Reach<'p> {
    program: &'p Program,
    seen: FxHashMap<usize, BlockBits>,
    cells: Vec<Value>,
    /// Actors that were met and not yet taken.
    actors: Vec<*const Actor>,
    /// Cells that were scanned, and how many may be.
    pub(crate) scanned: usize,
    limit: usize,
}

impl<'p> Reach<'p> {
    pub(crate) fn new(program: &'p Program) -> Reach<'p> {
        Reach {
            program,
            seen: FxHashMap::default(),
            cells: Vec::new(),
            actors: Vec::new(),
            scanned: 0,
            limit: usize::MAX,
        }
    }

    /// Creates a reach of at most `limit` cells.
    pub(crate) fn limited(program: &'p Program, limit: usize) -> Reach<'p> {
        Reach {
            limit,
            ..Reach::new(program)
        }
    }

    /// Returns whether there may be more than was looked at.
    pub(crate) fn is_full(&self) -> bool {
        self.scanned >= self.limit
    }

    /// Meets an actor. Returns whether it was new.
    pub(crate) fn meet(&mut self, actor: *const Actor) -> bool {
        let new = self.first_time(actor.cast());
        if new {
            self.actors.push(actor);
        }
        new
    }

    /// Returns whether an actor was met.
    pub(crate) fn knows(&self, actor: *const Actor) -> bool {
        let granule = Block::granule_of(actor.cast());
        let bits = self.seen.get(&(actor.addr() & !(BLOCK - 1)));
        bits.is_some_and(|bits| bits[granule / 64] & 1 << (granule % 64) != 0)
    }

    /// The next actor that was met and not yet taken.
    pub(crate) fn next_actor(&mut self) -> Option<*const Actor> {
        self.actors.pop()
    }

    /// Scans an actor's record and captures; the bytes that are its own. See [`Reach::scan`].
    pub(crate) fn scan_actor(&mut self, actor: &Actor, mut met: impl FnMut(*const Actor)) -> u64 {
        let bytes = record_bytes(self.program, actor);
        captures(self.program, actor).fold(bytes, |sum, value| sum + self.scan(value, &mut met))
    }

    /// Scans everything behind `value` up to the next actors, all of which are shown; the bytes of the cells that
    /// were met for the first time, what foreign values keep outside included.
    pub(crate) fn scan(&mut self, value: Value, met: &mut impl FnMut(*const Actor)) -> u64 {
        let mut bytes = 0;
        let mut next = Some(value);
        while let Some(value) = next {
            bytes += self.one(value, met);
            next = self.cells.pop();
        }
        bytes
    }

    fn one(&mut self, value: Value, met: &mut impl FnMut(*const Actor)) -> u64 {
        if value.is_immediate() || value.is_none() {
            return 0;
        }
        if value.is_address() {
            met(value.address_pointer());
            self.meet(value.address_pointer());
            return 0;
        }
        if self.is_full() {
            return 0;
        }
        if let Some((head, tail)) = value.as_cons() {
            if !self.first_time(value.cons_pointer().cast()) {
                return 0;
            }
            self.scanned += 1;
            self.cells.extend([tail, head]);
            return cell_bytes(value);
        }
        if !self.first_time(value.boxed_pointer().cast()) {
            return 0;
        }
        self.scanned += 1;
        self.cells.extend(value.boxed_parts());
        cell_bytes(value)
    }

    /// Returns whether a list's cell or a boxed one is met for the first time, which counts as scanned.
    pub(crate) fn first_look(&mut self, value: Value) -> bool {
        let new = self.first_time(match value.is_cons() {
            true => value.cons_pointer().cast(),
            false => value.boxed_pointer().cast(),
        });
        self.scanned += usize::from(new);
        new
    }

    fn first_time(&mut self, cell: *const u8) -> bool {
        let granule = Block::granule_of(cell);
        let block = cell.addr() & !(BLOCK - 1);
        let bits = self
            .seen
            .entry(block)
            .or_insert_with(|| Box::new([0; BLOCK / GRANULE / 64]));
        let (word, bit) = (granule / 64, 1 << (granule % 64));
        let new = bits[word] & bit == 0;
        bits[word] |= bit;
        new
    }
}

/// Bytes of an actor's record, and of the cell of its captures.
pub(crate) fn record_bytes(program: &Program, actor: &Actor) -> u64 {
    let n = program.behaviour(actor.header().behaviour()).captures as usize;
    let own = if n > 1 { n.div_ceil(2) } else { 0 };
    ((1 + own) * GRANULE) as u64
}

/// Bytes of a list's cell or a boxed one, what a foreign value keeps outside included.
pub(crate) fn cell_bytes(value: Value) -> u64 {
    if value.is_cons() {
        return GRANULE as u64;
    }
    let outside = value.as_foreign().map_or(0, |foreign| foreign.kept_bytes());
    (value.boxed_granules() * GRANULE + outside) as u64
}

/// Returns the captures of an actor. Only while no turn of it runs.
pub(crate) fn captures(program: &Program, actor: &Actor) -> impl Iterator<Item = Value> {
    let behaviour = program.behaviour(actor.header().behaviour());
    actor.captured(behaviour.captures as usize)
}
