//! Standing in for the lead, by a sibling that was woken together with it and is awake first (stand_in.rs).
//!
//! The lead is woken on another core than that of the sender (parker.rs), which takes tens of microseconds longer than waking the
//! sibling on the sender's own core. Meanwhile the sibling takes in what has come, runs what is small, and takes half of what
//! takes long. The lead finds the other half.
use super::{wake_if_needed, LEAST_FUEL};
use crate::threads::sharing::WORTH_ASKING;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;

impl Dispatch {
    /// Stands in for the lead, if that still sleeps. Returns whether something has come to this thread.
    pub(crate) fn stand_in_for_lead(&mut self) -> bool {
        let context = &self.context;
        let (me, lead) = (&context.station, context.sponsor.lead());
        if context.sponsor.worth_sharing.pauses() {
            return false;
        }
        let (any, mut given) = (|_: &Dispatch| Some(()), false);
        let stood_in = context.machine.stood_in(lead, &|| true, any, |lead, ()| {
            // What needs more fuel is no small turn.
            lead.stand_in(LEAST_FUEL, None);
            given = lead.gives_long_ones(me);
        });
        wake_if_needed(lead, stood_in.unwrap_or(false));
        self.turn.counts.shares_taken += given as u64;
        given
    }

    /// Gives half of what is queued, if the first of it is too long for a stand-in and all of it is worth sharing. Returns whether
    /// anything was given.
    fn gives_long_ones(&mut self, to: &Station) -> bool {
        let each = self.turn.fuel.long_turn;
        let is_worth = each * self.turn.queue.len() as u64 >= WORTH_ASKING;
        self.lent.postponed && is_worth && self.context.give_half(&mut self.turn, to)
    }
}
