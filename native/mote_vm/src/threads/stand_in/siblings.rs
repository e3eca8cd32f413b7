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
        // As long as the last long turn was, in the burst before.
        let each = self.turn.fuel.long_turn;
        let is_worth = each * self.turn.queue.len() as u64 >= WORTH_ASKING;
        self.lent.postponed && is_worth && self.context.give_half(&mut self.turn, to)
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::testing::still::Still;
    use crate::threads::worth_sharing::WorkDone;
    use crate::turns::queue::Event;
    use crate::values::actor::BehaviourId;
    use crate::values::value::Value;

    /// More messages than a stand-in takes in.
    const MANY: usize = 100;
    /// A turn so long that sharing two of them is worth it, and sharing one is not.
    const LONG: u64 = WORTH_ASKING / 2;

    /// A lead that sleeps, its sibling, which is awake, and small messages that have entered. None of them runs.
    fn woken_together(still: &Still, messages: usize) -> [Dispatch; 2] {
        let threads: Result<[Dispatch; 2], _> = still.threads().try_into();
        let [mut lead, sibling] = threads.ok().expect("two");
        lead.idling.has_slept = true;
        sibling.context.station.presence.wake();
        let created = lead.turn.create(BehaviourId::SINK, Value::NIL);
        let event = Event {
            target: created.address_pointer(),
            message: Value::NIL,
        };
        let inbox = &lead.context.station.inbox;
        assert!(inbox.push_events(&mut vec![event; messages], None).is_ok());
        [lead, sibling]
    }

    fn queue(lead: &mut Dispatch, events: usize) {
        let behaviour = lead.turn.around.program.publish_unsafe();
        for _ in 0..events {
            let created = lead.turn.create(behaviour, Value::NIL);
            lead.turn.queue.push(created.address_pointer(), Value::NIL);
        }
        lead.turn.savepoint.queue = lead.turn.queue.position();
    }

    /// Lets the sibling stand in. Returns the turns that have run in place of the lead, and whether anything has come to the sibling.
    fn stood_in([lead, sibling]: &mut [Dispatch; 2]) -> (u64, bool) {
        lead.show();
        let has_come = sibling.stand_in_for_lead();
        assert_eq!(sibling.context.station.inbox.is_pending(), has_come);
        assert_eq!(sibling.turn.counts.shares_taken, has_come as u64);
        (lead.context.station.counters.read().turns, has_come)
    }

    #[test]
    fn who_is_awake_before_the_lead_runs_what_is_small() {
        let still = Still::new(2);
        let mut threads = woken_together(&still, 3);
        assert_eq!(stood_in(&mut threads), (3, false));
        let lead = &threads[0].context.station;
        assert!(lead.presence.is_asleep() && !lead.inbox.is_pending());
    }

    #[test]
    fn a_lead_that_is_awake_runs_it_itself() {
        let still = Still::new(2);
        let mut threads = woken_together(&still, 3);
        threads[0].context.station.presence.wake();
        assert_eq!(stood_in(&mut threads), (0, false));
        assert!(threads[0].context.station.inbox.is_pending());
    }

    /// What a stand-in postpones, since it is too much to take in or to run, as turns of that length are queued: how many of these
    /// the lead keeps.
    fn kept(queued: usize, long_turn: u64) -> usize {
        let still = Still::new(2);
        let mut threads = woken_together(&still, MANY);
        queue(&mut threads[0], queued);
        threads[0].turn.fuel.long_turn = long_turn;
        let (turns, has_come) = stood_in(&mut threads);
        let kept = threads[0].turn.queue.len();
        assert_eq!((turns, has_come), (0, kept < queued));
        kept
    }

    #[test]
    fn half_of_what_takes_long_goes_to_who_is_awake() {
        assert_eq!(kept(4, LONG), 2);
        assert_eq!(kept(2, LONG), 1);
    }

    #[test]
    fn what_is_not_worth_sharing_waits_for_the_lead() {
        assert_eq!(kept(1, LONG), 1);
        assert_eq!(kept(4, LONG / 4), 4);
    }

    #[test]
    fn while_sharing_pauses_everything_waits_for_the_lead() {
        let still = Still::new(2);
        let mut threads = woken_together(&still, 3);
        let lost = || WorkDone {
            forwarded: 1_000_000,
            ..WorkDone::default()
        };
        let sponsor = &threads[0].context.sponsor;
        assert!(sponsor.worth_sharing.look(0, lost));
        assert_eq!(stood_in(&mut threads), (0, false));
        assert!(threads[0].context.station.inbox.is_pending());
    }
}
