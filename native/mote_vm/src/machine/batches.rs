//! Many messages from outside at once.
use super::Machine;
use crate::boundary::batch::{Batch, BatchLetters};
use crate::boundary::parcel::Builder;
use crate::boundary::refusal::Refusal;
use crate::threads::inbox::Entry;
use crate::threads::sponsor::Sponsor;
use crate::threads::station::Station;
use crate::values::actor::SponsorId;
use crate::values::handles::{Held, Key, Target};
use std::ops::Range;
use std::sync::Arc;

/// A sponsor that messages enter by.
pub struct Entrance(Arc<Sponsor>);

impl Machine {
    /// Returns the entrance of messages to an actor, for [`Machine::send_batch`].
    pub fn entrance_to(&self, target: &Held, sponsor: Option<SponsorId>) -> Entrance {
        Entrance(self.entrance(target, sponsor))
    }

    /// Returns whether a message to the actor enters there.
    pub fn enters_by(
        &self,
        target: &Held,
        sponsor: Option<SponsorId>,
        entrance: &Entrance,
    ) -> bool {
        self.goes_by(target.pinned.or(sponsor), entrance)
    }

    /// Looks up the actors of some keys for `letters`. Returns where these have them: none of a key without an actor, nor of those
    /// behind it.
    pub fn look_up(&self, letters: &mut BatchLetters, keys: &[Key]) -> Range<usize> {
        letters.look_up(self.handles(), keys)
    }

    /// Addresses what is written from here on to an actor that `letters` have looked up, if messages to it enter there. Returns whether
    /// they do.
    pub fn address_at(
        &self,
        letters: &mut BatchLetters,
        at: usize,
        sponsor: Option<SponsorId>,
        entrance: &Entrance,
    ) -> bool {
        letters.address_at(at, |pinned| self.goes_by(pinned.or(sponsor), entrance))
    }

    fn goes_by(&self, sponsor: Option<SponsorId>, entrance: &Entrance) -> bool {
        match sponsor {
            None => Arc::ptr_eq(self.sponsors().first(), &entrance.0),
            Some(id) => Arc::ptr_eq(&self.sponsors().by_id(id), &entrance.0),
        }
    }

    /// Returns the letters to write messages on for [`Machine::send_batch`], and the builder to write them with.
    pub fn letters(&self) -> (BatchLetters, Builder) {
        BatchLetters::on(self.batch_buffers())
    }

    /// Sends many messages at once, for actors whose messages enter there. Accepts the first of them, as many as there is
    /// room for. Returns their number, and the reason for refusing the others. If there is not enough memory for all of them,
    /// none is accepted; sent one by one, some may be.
    pub fn send_batch(
        &self,
        entrance: &Entrance,
        mut batch: Box<Batch>,
    ) -> (usize, Option<Refusal>) {
        if batch.len() == 0 {
            return (0, None);
        }
        if !batch.is_for(self.handles()) {
            return (0, Some(Refusal::Unknown));
        }
        if !self.admits() {
            return (0, Some(Refusal::NotDurable));
        }
        let ([targets, others], ahead) = batch.take_held();
        let Entrance(sponsor) = entrance;
        // SAFETY: the batch's targets are held.
        let enters = |target: Target| unsafe { sponsor.entrance(target.0) };
        let (entered, refused) = match sponsor.keeps_apart() {
            true => self.push_divided(sponsor, *batch, enters),
            false => self.push_batch(sponsor, sponsor.lead(), batch),
        };
        // From here on the inbox keeps them.
        self.handles().release_all(targets);
        self.handles().release_all(others);
        drop(ahead);
        if refused == Some(Refusal::NoMemory) {
            // Not counted: it may be that only all of them at once are too much.
            self.fall_short();
        }
        (entered, refused)
    }

    /// Puts a batch into the inbox of a thread of the sponsor.
    fn push_batch(
        &self,
        sponsor: &Sponsor,
        station: &Station,
        batch: Box<Batch>,
    ) -> (usize, Option<Refusal>) {
        let n = batch.len();
        let (entered, refused) = match sponsor.push_batch(station, batch) {
            Ok(pushed) => pushed,
            Err(batch) => match self.push_late(batch) {
                true => (n, None),
                false => (0, Some(Refusal::Stopped)),
            },
        };
        if let Some(seeded) = self.seeded() {
            seeded.line.put(station.number, entered);
        }
        (entered, refused)
    }

    /// Lets a batch enter by the first sponsor, for the one that it was for was removed in this very moment (outside.rs, `enter`). Returns
    /// whether it has.
    fn push_late(&self, batch: Box<Batch>) -> bool {
        let lead = self.sponsors().first().lead();
        lead.push(Entry::Batch(batch)).is_ok()
    }

    /// Puts a batch into the inboxes of the threads that its messages enter by. Places are taken for all of them before, so the first ones
    /// enter as in one inbox.
    fn push_divided<'a>(
        &self,
        sponsor: &'a Sponsor,
        mut batch: Batch,
        enters: impl Fn(Target) -> &'a Arc<Station>,
    ) -> (usize, Option<Refusal>) {
        let patient = sponsor.room.patient;
        let n = batch.len();
        if !self.has_room(batch.bytes()) {
            return (0, Some(Refusal::NoMemory));
        }
        let entered = sponsor.room.enter_some(n);
        let refused = (entered < n).then_some(Refusal::Full { patient });
        batch.truncate(entered);
        let parts = batch.divide(|target| enters(target).number);
        let mut stopped = false;
        for (number, part) in parts {
            let station = sponsor.station(number).unwrap_or_else(|| sponsor.lead());
            let places = part.len();
            match station.inbox.push_placed(part) {
                Ok(wakes) => sponsor.entered(station, wakes),
                Err(part) => {
                    sponsor.room.leave(places);
                    stopped |= !self.push_late(part);
                }
            }
        }
        match stopped {
            true => (0, Some(Refusal::Stopped)),
            false => (entered, refused),
        }
    }
}
