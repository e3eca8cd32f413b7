//! Things an away turn has created that the machine has not created yet, under the names that the terms of its effects use.
use crate::term::atoms::{self, names};
use crate::term::read;
use mote_vm::base::atom::Atom as VmAtom;
use rustler::Term;

/// A turn's number has its thread's number in the lowest `THREAD_BITS` bits, and a count above. What stands for an actor has
/// that count modulo `TURNS + 1` (`Mote.Machine.Worker`).
const THREAD_BITS: u32 = 16;
const TURNS: u64 = (1 << 28) - 1;

/// The actors and timers that a turn has made, as its effects name them, with their places among everything it made.
#[derive(Default)]
pub struct Made<'a> {
    pub number: u64,
    pub actors: Vec<usize>,
    pub timers: Vec<(Term<'a>, usize)>,
}

impl<'a> Made<'a> {
    /// The actor that such a term stands for.
    pub fn actor(&self, map: Term<'a>) -> Option<usize> {
        if self.actors.is_empty() || !read::is_struct(map, names::reference_address()) {
            return None;
        }
        let id: u64 = read::get(map, names::id())?.decode().ok()?;
        let place = self
            .actors
            .get((id & u64::from(u32::MAX)) as usize)
            .copied();
        place.filter(|_| id >> 32 == self.number >> THREAD_BITS & TURNS)
    }

    /// The sponsor and the actor of such a reference.
    pub fn on(&self, map: Term<'a>) -> Option<(VmAtom, Term<'a>)> {
        if self.actors.is_empty() || !read::is_struct(map, names::reference_on()) {
            return None;
        }
        let sponsor = read::get(map, names::sponsor())?;
        let sponsor = sponsor.is_atom().then(|| atoms::number(sponsor))?;
        Some((sponsor, read::get(map, names::address_key())?))
    }

    /// The timer that such a reference stands for.
    pub fn timer(&self, reference: Term<'a>) -> Option<usize> {
        let mut timers = self.timers.iter();
        timers
            .find(|(timer, _)| *timer == reference)
            .map(|(_, place)| *place)
    }
}
