//! A number that follows from all that lives in a machine, and from nothing else: not from where it is, nor from what is garbage.
//!
//! Invariants:
//! 1. Two machines that have done the same have the same one: actors count by the order in which they are met, from what waits and from
//!    the keys that the outside has; a value that is shared counts as much as one that is there twice; of the outside's values only their
//!    kind counts, unless they say the same everywhere.
//! 2. It reads only, and does not recurse: nesting takes memory, never native stack.
use super::walk::{WriteForeign, WrittenForeign};
use crate::base::checksum::checksum;
use crate::base::ids::TimerId;
use crate::code::program::Program;
use crate::heap::Heap;
use crate::look::survey::Survey;
use crate::terms::view::View;
use crate::values::actor::Actor;
use crate::values::term::Term;
use crate::values::value::Value;
use crate::watching::reach::captures;
use rustc_hash::FxHashMap;

/// The state of a fingerprint so far.
struct Fingerprint<'f> {
    program: &'f Program,
    write_foreign: WriteForeign<'f>,
    /// The digest of each cell, by its word.
    cells: FxHashMap<u64, u64>,
    /// The numbers of actors, and these in their order.
    numbers: FxHashMap<*const Actor, u64>,
    met: Vec<*const Actor>,
    timers: FxHashMap<(u16, u64), u64>,
    sum: u64,
}

/// A step of the walk through a value: to look at it, or to sum up what it has, which is summed up before.
enum SumStep {
    Look(Value),
    SumUp(Value, u64, Vec<Value>),
}

fn mix(sum: u64, word: u64) -> u64 {
    let mixed = (sum.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}

fn text(kind: u64, bytes: &[u8]) -> u64 {
    checksum(kind, bytes)
}

impl Survey<'_> {
    /// Returns the number; none if there is no memory for it.
    pub fn fingerprint(&self, write_foreign: WriteForeign<'_>) -> Option<u64> {
        let sum = |heap: &mut Heap| {
            let position = heap.position();
            // As when an image is saved.
            let mut keys = self.machine.handles().keys();
            keys.keys.sort_by_key(|(key, _)| key.serial);
            let (waits, timers) = heap.insist(|heap| {
                let waits = self.waits(heap, false);
                let now = self.machine.clock().now();
                let timers = waits.timers(self.machine, now, heap);
                (waits, timers)
            });
            let number = |timer: &TimerId| (timer.thread, timer.serial);
            let numbers = timers.iter().map(|timer| number(&timer.id));
            let mut all = Fingerprint {
                program: self.machine.program(),
                write_foreign,
                cells: FxHashMap::default(),
                numbers: FxHashMap::default(),
                met: Vec::new(),
                timers: numbers.zip(1..).collect(),
                sum: 0,
            };
            waits.each_event(|saved| {
                all.add(Value::address(saved.event.target));
                all.add(saved.event.message);
            });
            for timer in &timers {
                all.sum = mix(all.sum, timer.due);
                all.add(timer.target);
                all.add(timer.message);
            }
            for (key, actor) in &keys.keys {
                all.sum = mix(all.sum, key.serial as u64);
                all.add(Value::address(*actor));
            }
            all.add_actors();
            heap.rewind(&position);
            all.sum
        };
        self.machine.leases().with_guest(sum)
    }
}

impl Fingerprint<'_> {
    /// Adds the actors that were met, and those that they lead to.
    fn add_actors(&mut self) {
        let mut at = 0;
        while let Some(&actor) = self.met.get(at) {
            at += 1;
            // SAFETY: it was reached from the roots while everything stands still.
            let actor = unsafe { &*actor };
            let name = self.program.name(actor.header().behaviour());
            for atom in [name.module, name.name] {
                self.sum = mix(self.sum, text(1, atom.name().as_bytes()));
            }
            let pinned = actor.header().pinned().map_or(0, |id| u64::from(id.0) + 1);
            self.sum = mix(self.sum, pinned);
            let captured: Vec<Value> = captures(self.program, actor).collect();
            captured.into_iter().for_each(|value| self.add(value));
        }
    }

    /// Adds a value.
    fn add(&mut self, value: Value) {
        let mut steps = vec![SumStep::Look(value)];
        while let Some(step) = steps.pop() {
            match step {
                SumStep::Look(value) if self.known(value).is_some() => {}
                SumStep::Look(value) => {
                    let (kind, parts) = self.parts(value);
                    let looks: Vec<_> = parts
                        .iter()
                        .rev()
                        .map(|part| SumStep::Look(*part))
                        .collect();
                    steps.push(SumStep::SumUp(value, kind, parts));
                    steps.extend(looks);
                }
                SumStep::SumUp(value, kind, parts) => {
                    let mut parts = parts.into_iter();
                    let sum = parts.try_fold(kind, |sum, part| Some(mix(sum, self.known(part)?)));
                    self.cells.insert(value.word(), sum.unwrap_or(kind));
                }
            }
        }
        let counted = self.known(value).unwrap_or_default();
        self.sum = mix(self.sum, counted);
    }

    /// Returns the digest of a value, if all cells behind it have been visited.
    fn known(&mut self, value: Value) -> Option<u64> {
        if value.is_none() {
            return Some(0);
        }
        if value.is_address() {
            let actor = value.address_pointer();
            let next = self.met.len() as u64;
            let number = *self.numbers.entry(actor).or_insert(next);
            if number == next {
                self.met.push(actor);
            }
            return Some(mix(2, number));
        }
        match value.as_atom() {
            Some(atom) => Some(text(3, atom.name().as_bytes())),
            None if value.is_immediate() => Some(mix(4, value.word())),
            None => self.cells.get(&value.word()).copied(),
        }
    }

    /// Returns the digest of a cell by itself, and its parts.
    fn parts(&self, value: Value) -> (u64, Vec<Value>) {
        let terms = |terms: &mut dyn Iterator<Item = Term<'_>>| -> Vec<Value> {
            terms.map(|term| term.value()).collect()
        };
        match Term::new(value).view() {
            View::Cons(head, tail) => (5, vec![head.value(), tail.value()]),
            View::Tuple(tuple) => (mix(6, tuple.len() as u64), terms(&mut tuple.iter())),
            View::Map(map) => {
                let entries = map.iter().flat_map(|(key, item)| [key, item]);
                (mix(7, map.len() as u64), terms(&mut entries.into_iter()))
            }
            View::Function(function) => {
                let name = text(8, function.name.name().as_bytes());
                (name, terms(&mut function.captures.iter()))
            }
            View::On(sponsor, address) => (9, vec![sponsor.value(), address.value()]),
            View::Float(float) => (mix(10, float.to_bits()), Vec::new()),
            View::Bytes(bytes) => (text(11, bytes), Vec::new()),
            View::Bits(bits) => (
                mix(text(17, &bits.padded()), bits.unused() as u64),
                Vec::new(),
            ),
            View::Big(big) => {
                let sign = mix(12, u64::from(big.is_negative()));
                (
                    big.limbs().iter().fold(sign, |sum, limb| mix(sum, *limb)),
                    Vec::new(),
                )
            }
            View::Timer(timer) => {
                let number = self.timers.get(&(timer.thread, timer.serial));
                (mix(13, number.copied().unwrap_or_default()), Vec::new())
            }
            View::Foreign(foreign) => {
                let sum = foreign.bytes().map(|bytes| text(11, bytes));
                let sum = sum.unwrap_or_else(|| match (self.write_foreign)(foreign) {
                    WrittenForeign::Whole(bytes) => text(14, &bytes),
                    WrittenForeign::Trace(_) => mix(15, foreign.class() as u64),
                });
                (sum, Vec::new())
            }
            // Immediate, or an address.
            _ => (16, Vec::new()),
        }
    }
}
