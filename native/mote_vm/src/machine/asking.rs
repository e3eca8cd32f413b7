//! Asking from outside: a message whose sender does nothing else before it has an answer.
use super::Machine;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::Refusal;
use crate::threads::sponsor::Sponsor;
use crate::threads::stand_in::WaitingCaller;
use crate::threads::station::Station;
use crate::values::actor::SponsorId;
use crate::values::handles::Key;
use std::sync::Arc;
use std::time::Duration;

impl Machine {
    /// Sends for a caller that does nothing else before there is an answer, on a thread that may run turns for some
    /// tens of microseconds: the caller stands in for the thread that the message enters by, if that sleeps. `answered` says whether the
    /// answer is there. Returns for how long the caller has run turns that were long: nothing if all were short.
    pub fn ask(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        message: Parcel,
        answered: &dyn Fn() -> bool,
    ) -> Result<Duration, Refusal> {
        self.ask_noted(target, sponsor, message, None, answered)
    }

    /// Asks as [`Machine::ask`] does, with the record of the message if the machine notes what comes in.
    pub fn ask_noted(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        mut message: Parcel,
        record: Option<&[u8]>,
        answered: &dyn Fn() -> bool,
    ) -> Result<Duration, Refusal> {
        let caller = WaitingCaller::here(answered).filter(|_| self.0.seeded.is_none());
        let Some(caller) = &caller else {
            self.noted(record, || self.send(target, sponsor, message))?;
            return Ok(Duration::ZERO);
        };
        if !message.is_for(&self.0.handles) {
            return Err(Refusal::Unknown);
        }
        // Until the thread's queue or the inbox keeps them.
        let _held = message.take_held();
        if let Err(message) = self.bring_to(target, sponsor, message, record, caller) {
            self.noted(record, || {
                self.send_with(None, target, sponsor, message, Some(caller))
            })?;
            if record.is_some() {
                // Not while it is noted: a stand-in takes what was (journaling.rs, invariant 7).
                self.stand_in(self.sponsors().first().lead(), caller);
            }
        }
        Ok(caller.ran())
    }

    /// Brings a message to the thread that it would enter by, if that sleeps (stand_in.rs, invariant 8); otherwise gives it
    /// back.
    fn bring_to(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        message: Parcel,
        record: Option<&[u8]>,
        caller: &WaitingCaller<'_>,
    ) -> Result<(), Parcel> {
        let named = target.pinned().or(sponsor);
        let named = named.and_then(|id| self.sponsors().other(id));
        let sponsor = named.as_ref().unwrap_or_else(|| self.sponsors().first());
        let station = match sponsor.keeps_apart() {
            // Without a look at the actor.
            false => Some(sponsor.lead()),
            true => self.thread_noted(sponsor, target),
        };
        match station {
            Some(station) => self.bring(station, target, message, record, caller),
            None => Err(message),
        }
    }

    /// Returns the thread by which messages to an actor enter, as was noted by whoever asked it before.
    fn thread_noted<'a>(&self, sponsor: &'a Sponsor, target: Key) -> Option<&'a Arc<Station>> {
        let handles = self.handles();
        let noted = handles.noted_thread(target);
        noted
            .and_then(|thread| sponsor.station(thread))
            .or_else(|| {
                // SAFETY: the handles keep it meanwhile.
                let way = |actor, _| unsafe { sponsor.entrance(actor) };
                let way = handles.visit(target, way)?;
                handles.note_thread(target, way.number);
                Some(way)
            })
    }
}
