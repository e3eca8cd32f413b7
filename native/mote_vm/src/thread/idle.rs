//! What a dispatch thread does that has no events: it collects, asks its siblings for work, looks around, sleeps
//! (thread.rs, invariant 3).
use super::Dispatch;
use crate::gc::{Phase, NAP};
use crate::sharing::WORTH_ASKING;
use crate::sync::Relaxed;
use crate::turn::Place;
use std::time::{Duration, Instant};

/// How long an idle thread looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(20);
/// The same, for a thread that has just had a share of its siblings' work; and for how long it looks one way before
/// it looks the other.
const LONG_SPIN: Duration = Duration::from_micros(200);
const GLANCE: Duration = Duration::from_micros(2);
/// For how long it keeps its core to itself meanwhile.
const AT_ONCE: Duration = Duration::from_micros(1);
/// When nothing but questions has come in so many times in a row, it sleeps at once: the next one who asks stands in.
const ENOUGH_ASKED: u32 = 8;
/// How long an idle thread waits for the answer to a request for work.
const PATIENCE: Duration = Duration::from_micros(200);

impl Dispatch {
    /// Nothing is queued: asks siblings for work, spins briefly, then sleeps until something comes or a timer is
    /// due.
    pub(super) fn idle(&mut self) {
        if self.collect_a_little() {
            return;
        }
        self.trickle.wait();
        // Who would stand in is not waited for.
        let watches = self.asked_only < ENOUGH_ASKED;
        if self.ask_for_work() || watches && self.look_around(SPIN) {
            return;
        }
        // More of the same may come soon: waking costs more than a moment's patience.
        if std::mem::take(&mut self.shared) && self.look_for_work(LONG_SPIN) {
            return;
        }
        if self.has_become_due() {
            return;
        }
        let at_most = self.may_sleep();
        if at_most != Some(Duration::ZERO) {
            let worked = self.backlog.take_worked();
            if self.called {
                self.turn.place.sponsor.worth_waking.came_to(worked);
            }
            self.sleep(at_most);
        }
    }

    /// How long there is nothing to do if nothing comes.
    pub(crate) fn may_sleep(&self) -> Option<Duration> {
        let place = &self.turn.place;
        let due = Some(place.station.timers.next()).filter(|due| *due < u64::MAX);
        let due = due.and_then(|due| place.machine.clock().until(due));
        // Another thread may end the collection that somebody waits for at this very moment, and who asked is told here.
        let collects = place.machine.gc().phase() != Phase::None || self.waits_for_collection();
        let nap = collects.then_some(NAP);
        let stale = place.machine.pool().reserve.until_stale();
        let waits = due.into_iter().chain(self.until_look()).chain(nap);
        waits.chain(stale).min()
    }

    /// Whether something has come in, watching for that long.
    fn look_around(&self, duration: Duration) -> bool {
        let place = &self.turn.place;
        let start = Instant::now();
        loop {
            if place.station.inbox.is_pending() || place.machine.is_stopping() {
                return true;
            }
            let elapsed = start.elapsed();
            if elapsed >= duration {
                return false;
            }
            // Who wants this core has something to do: a scheduler of the BEAM, perhaps, that the next message will come
            // from. Not let in, it would wait for the end of a time slice. What comes at once is from another core.
            match elapsed < AT_ONCE {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
        }
    }

    /// Whether something has come in, or a sibling has given something, asking for that long.
    fn look_for_work(&mut self, duration: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < duration {
            if self.look_around(GLANCE) || self.ask_for_work() {
                return true;
            }
        }
        false
    }

    /// Asks the sibling with the largest backlog, if there is one worth asking.
    fn ask_for_work(&mut self) -> bool {
        let place = &self.turn.place;
        let me = place.station.number;
        let others = place.sponsor.stations.iter().filter(|s| s.number != me);
        let asked = others
            .filter(|s| s.has_at_least(WORTH_ASKING) && !s.presence.is_asleep())
            .max_by_key(|s| s.backlog.load(Relaxed));
        let Some(asked) = asked else { return false };
        let asked = asked.clone();
        if !asked.request.ask(me) {
            return false;
        }
        let came = self.look_around(PATIENCE);
        // If it is too late to withdraw, the answer is on its way or was empty-handed.
        let answered = !asked.request.withdraw(me);
        self.turn.counts.shares_taken += (came && answered) as u64;
        came
    }

    pub(super) fn sleep(&mut self, at_most: Option<Duration>) {
        self.has_slept = true;
        self.crowded = 0;
        self.turn.counts.parks += 1;
        self.turn.queue.rest();
        self.publish(0);
        self.spot.leave();
        self.called = self.stand_still(|place| {
            place
                .sponsor
                .asleep
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // What was given while this thread was awake has come in, or is still to wake it (sharing.rs,
            // invariant 3).
            place.station.waking.store(false, Relaxed);
            place.station.presence.sleep();
            place.machine.quiescence().done(1);
            if !place.station.inbox.is_pending() && !place.machine.is_stopping() {
                place.station.parker.park(at_most);
            }
            place
                .sponsor
                .asleep
                .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
            let called = place.station.waking.load(Relaxed);
            wake(place);
            called
        });
        self.awake_since = Instant::now();
        if std::mem::take(&mut self.is_wanted) {
            self.turn.place.machine.quiescence().done(1);
        }
    }
}

/// Begins, or comes back from sleep.
pub(super) fn wake(place: &Place) {
    // Counted before it drains: quiescence.rs, invariant 1.
    place.machine.quiescence().add(1);
    place.station.presence.wake();
    place.station.waking.store(false, Relaxed);
    place.station.heed_summons();
    place.machine.safepoint().check_in(&place.station);
}
