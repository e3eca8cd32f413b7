//! Standing in for a thread whose turns are away: whoever tells of the end of one commits it while the thread sleeps (stand_in.rs,
//! invariant 7).
use super::{wake_if_needed, BATCH, MOST_BROUGHT, OTHER_FRAMES, ROUNDS};
use crate::platform::stack;
use crate::threads::shared::Machine;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use std::time::Instant;

/// Number of times that it begins anew for ends that have come while it was leaving.
const TIMES: usize = 4;

impl Machine {
    /// The ends of turns that were away have entered there. If the thread sleeps, the caller commits them, and sends out the
    /// turns that may begin now; otherwise the thread is awake or is woken.
    pub(crate) fn end_in_place(&self, station: &Station) {
        let begin = |dispatch: &Dispatch| dispatch.away.is_some().then_some(());
        let may = self.0.seeded.is_none() && stack::left() >= Some(OTHER_FRAMES);
        let times = if may { TIMES } else { 0 };
        for _ in 0..times {
            let stand_in = station.presence.stand_in();
            match self.stood_in(station, stand_in, begin, |dispatch, ()| {
                dispatch.stand_in_for_ends()
            }) {
                // From others that ended while it was leaving.
                Some(false) if station.inbox.is_pending() => {}
                Some(is_needed) => return wake_if_needed(station, is_needed),
                None => break,
            }
        }
        station.unpark_if_asleep();
    }
}

impl Dispatch {
    /// Ends turns that were away, and sends out those that may begin now. Whether that has left more to do.
    fn stand_in_for_ends(&mut self) -> bool {
        self.load.awake_since = Instant::now();
        self.lent.stands_in = true;
        self.lent.postponed = false;
        let next_timer = self.context.station.timers.next();
        let batch = std::mem::replace(&mut self.load.batch, BATCH);
        for _ in 0..ROUNDS {
            if self.context.station.inbox.is_pending() && !self.drain_little() {
                self.lent.postponed = true;
            }
            self.turn.savepoint.queue = self.turn.queue.position();
            self.end_turns(|thread, ended| {
                let is_little = ended.bytes() <= MOST_BROUGHT && ended.is_committed_as_is();
                is_little && thread.is_followed_by_little(ended)
            });
            let over = self.lent.postponed || self.has_other_duties();
            if !over {
                self.run_batch();
            }
            self.hand_over_all();
            self.turn.savepoint.queue = self.turn.queue.position();
            if over || !self.context.station.inbox.is_pending() {
                break;
            }
        }
        self.publish_at(Instant::now(), 0);
        self.load.batch = batch;
        self.lent.postponed |= self.context.station.timers.next() < next_timer;
        let is_needed = self.is_needed();
        self.lent.stands_in = false;
        is_needed
    }
}
