//! Asking from outside: a message whose sender does nothing else before it has an answer.
use super::Machine;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::Refusal;
use crate::threads::stand_in::WaitingCaller;
use crate::values::actor::SponsorId;
use crate::values::handles::Key;
use std::time::Duration;

impl Machine {
    /// Sends for a caller that does nothing else before there is an answer, on a thread that may run turns for some
    /// tens of microseconds: the caller stands in for the thread that the message enters by, if that sleeps. `answered` says whether the
    /// answer is there. Returns for how long the caller has run turns that were long: nothing if all were short.
    pub fn ask(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        mut message: Parcel,
        answered: &dyn Fn() -> bool,
    ) -> Result<Duration, Refusal> {
        let caller = WaitingCaller::here(answered).filter(|_| self.0.seeded.is_none());
        let Some(caller) = &caller else {
            return self.send(target, sponsor, message).map(|()| Duration::ZERO);
        };
        if !message.is_for(&self.0.handles) {
            return Err(Refusal::Unknown);
        }
        // Until the thread's queue or the inbox keeps them.
        let _held = message.take_held();
        if let Err(message) = self.bring_to(target, sponsor, message, caller) {
            self.send_with(None, target, sponsor, message, Some(caller))?;
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
        caller: &WaitingCaller<'_>,
    ) -> Result<(), Parcel> {
        let named = target.pinned().or(sponsor);
        let named = named.and_then(|id| self.sponsors().other(id));
        let sponsor = named.as_ref().unwrap_or_else(|| self.sponsors().first());
        let station = match sponsor.keeps_apart() {
            // SAFETY: the handles keep it meanwhile.
            true => self
                .handles()
                .visit(target, |actor, _| unsafe { sponsor.entrance(actor) }),
            // Without a look at the actor.
            false => Some(sponsor.lead()),
        };
        match station {
            Some(station) => self.bring(station, target, message, caller),
            None => Err(message),
        }
    }
}
