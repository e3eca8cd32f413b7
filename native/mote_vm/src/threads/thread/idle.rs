//! A dispatch thread without events: it collects, asks its siblings for work, looks around, sleeps (thread.rs,
//! invariant 3).
#[cfg(all(test, not(miri), not(loom)))]
mod tests;

use super::Dispatch;
use crate::base::sync::Relaxed;
use crate::boundary::journal::Journal;
use crate::boundary::trickle::Trickle;
use crate::heap::pace::FIRST_PATIENCE;
use crate::threads::core_balance::CoreBalance;
use crate::threads::journaling::WRITTEN_WITHIN;
use crate::threads::long_rest::LongRest;
use crate::threads::sharing::WORTH_ASKING;
use crate::threads::station::Station;
use crate::threads::thread_context::ThreadContext;
use crate::turns::marking::phase::{Phase, NAP};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which a machine has nothing to do before it counts as resting: more may come at once.
pub(crate) const REST: Duration = Duration::from_millis(1);

/// Time for which an idle thread looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(20);
/// Time for which it looks for work if it has just had a share of its siblings' work.
const LONG_SPIN: Duration = Duration::from_micros(200);
/// Time for which it asks a sibling that may have nothing; and for which it then watches one that has something for the share
/// to come.
const BEFORE_ANOTHER: Duration = Duration::from_micros(20);
const GLANCE: Duration = Duration::from_micros(2);
/// Time for which it keeps its core to itself meanwhile.
const ALONE_AT_FIRST: Duration = Duration::from_micros(1);
/// Number of times in succession that nothing but questions comes in before it sleeps at once: the next caller that asks stands in.
const ENOUGH_ASKED: u32 = 8;
/// Time for which an idle thread waits for the answer to a request for work; and for the share, once it is answered.
const FOR_AN_ANSWER: Duration = Duration::from_micros(200);
const ON_ITS_WAY: Duration = Duration::from_micros(50);

/// The memory of a thread from one time without work to the next.
#[derive(Default)]
pub(crate) struct Idling {
    /// Events have come in from a sibling, or while it has siblings, since it last looked for more in vain.
    pub(super) shared: bool,
    /// A sibling has woken it for work.
    called: bool,
    /// True if it has slept for a while, and nothing has come yet.
    pub(crate) rests: bool,
    /// True if it has ever fallen asleep, and so begun.
    pub(crate) has_slept: bool,
    /// Number of times in succession that nothing has come in but messages whose senders would have stood in.
    pub(super) claimed_only: u32,
    pub(super) trickle: Trickle,
    /// Number of times in succession that it has handed all its work over to a thread that is awake on the same core.
    pub(crate) crowded: u32,
    pub(super) core: CoreBalance,
    pub(crate) long_rest: LongRest,
}

impl Dispatch {
    /// Passes the time when nothing is queued: asks siblings for work, spins briefly, then sleeps until something comes or a
    /// timer is due.
    pub(super) fn idle(&mut self) {
        if self.collect_a_little() {
            return;
        }
        if self.owes() {
            // Another thread is about to let it in, or to give it what it waits for.
            return std::thread::yield_now();
        }
        if self.passes_time() {
            return;
        }
        if self.net.is_some() {
            // It waits in the event queue: looking around would miss what comes there.
            if !self.has_more_at_sockets() {
                self.rest_in(self.may_sleep());
            }
            return;
        }
        let journal = self.context.machine.journal();
        if journal.is_some_and(Journal::is_waited_for) {
            // What comes waits for the disk in any case, and a thread that looks around is not woken as soon when the disk has it.
            return self.rest_in(self.may_sleep());
        }
        self.idling.trickle.wait();
        if self.look_for_work(self.patience()) {
            return;
        }
        // More of the same may come soon: waking costs more than a moment's patience.
        let shared =
            std::mem::take(&mut self.idling.shared) && !self.context.sponsor.worth_sharing.pauses();
        if shared && self.look_for_work(LONG_SPIN) {
            return;
        }
        self.rest_in(self.may_sleep());
    }

    /// Sleeps for that time at most, unless there is something to do.
    fn rest_in(&mut self, at_most: Option<Duration>) {
        if at_most != Some(Duration::ZERO) {
            let worked = self.load.backlog.take_worked();
            if self.idling.called {
                self.context.sponsor.worth_waking.came_to(worked);
            }
            self.sleep(at_most);
        }
    }

    /// Returns the time for which it looks for work at first.
    fn patience(&self) -> Duration {
        // It does not wait for a caller that would stand in, where one may.
        let stood_in_for = !self.context.machine.is_waited_for();
        let stood_in_for = stood_in_for && self.idling.claimed_only >= ENOUGH_ASKED;
        if stood_in_for || self.context.gathers() {
            return Duration::ZERO;
        }
        // Woken by a sender, with the lead, which has still to come.
        match self.idling.called && self.context.sponsor.lead().inbox.is_pending() {
            true => LONG_SPIN,
            false => SPIN,
        }
    }

    /// Returns the time for which there is nothing to do if nothing comes.
    pub(crate) fn may_sleep(&self) -> Option<Duration> {
        let context = &self.context;
        // In a machine that runs its journal again, timers fire where they did.
        let fires = context.machine.journal().is_none_or(Journal::notes);
        let due = Some(context.station.timers.next()).filter(|due| fires && *due < u64::MAX);
        let due = due.and_then(|due| context.machine.clock().until(due));
        // Another thread may end the collection that a caller waits for at this very moment, and this thread tells the
        // asker.
        let phase = context.machine.gc().phase();
        let collects = phase != Phase::None || self.waits_for_collection();
        let nap = collects.then_some(NAP);
        // While an image is written no collection begins, however long one is due.
        let may_begin = phase != Phase::Saving;
        let long = self.until_long_rest().filter(|_| may_begin);
        let look = self.until_look().filter(|_| may_begin);
        let nap = nap.or_else(|| self.would_collect().then_some(REST));
        let waits = due.into_iter().chain(look).chain(nap);
        let watches = self.lent.watches.then_some(FIRST_PATIENCE);
        let writes = self.lent.writes.then_some(WRITTEN_WITHIN);
        let waits = waits.chain(watches).chain(writes);
        waits.chain(long).chain(self.until_unsent()).min()
    }

    /// Watches until `until` after `start`, the moment at which the thread ran out of work. Returns whether something has
    /// come in, or `seen`.
    fn look_around(&self, start: Instant, until: Duration, seen: impl Fn() -> bool) -> bool {
        let context = &self.context;
        loop {
            if context.station.inbox.is_pending() || context.machine.is_stopping() || seen() {
                return true;
            }
            // Its siblings have fallen asleep meanwhile.
            if self.may_pass_until().is_some() {
                return true;
            }
            let elapsed = start.elapsed();
            if elapsed >= until {
                return false;
            }
            // A thread that wants this core has something to do: it may be a scheduler of the BEAM that the next message
            // will come from. Kept out, it would wait for the end of a time slice. What comes at once is from another
            // core.
            match elapsed < ALONE_AT_FIRST {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
        }
    }

    /// Asks for work for that long. Returns whether something has come in, or a sibling has given something.
    fn look_for_work(&mut self, duration: Duration) -> bool {
        let start = Instant::now();
        loop {
            let came = match self.whom_to_ask() {
                Some(asked) => self.ask_for_work(&asked, start, duration),
                None => self.look_around(start, duration, || false),
            };
            if came || start.elapsed() >= duration {
                return came;
            }
        }
    }

    /// The sibling with the largest backlog.
    fn whom_to_ask(&self) -> Option<Arc<Station>> {
        let context = &self.context;
        let others = context.sponsor.stations.iter();
        let others = others.filter(|s| s.number != context.station.number);
        others.max_by_key(|s| s.backlog.load(Relaxed)).cloned()
    }

    /// Asks a sibling until `duration` after `start`, and for as long as that has something worth asking for. Returns
    /// whether something has come in. The request stands before the sibling has anything, so what it gets it gives at
    /// once.
    fn ask_for_work(&mut self, asked: &Station, start: Instant, duration: Duration) -> bool {
        let me = self.context.station.number;
        let has_some = || asked.has_at_least(WORTH_ASKING);
        if duration.is_zero() && !has_some() {
            return self.look_around(start, duration, || false);
        }
        let since = start.elapsed();
        if !asked.request.ask(me) {
            return self.look_around(start, since + GLANCE, || false);
        }
        // Then perhaps another one has more.
        let limit = duration.min(since + BEFORE_ANOTHER);
        let answered = || !asked.request.is_by(me);
        let mut came = self.look_around(start, limit, answered);
        while !came && has_some() && start.elapsed() < since + FOR_AN_ANSWER {
            came = self.look_around(start, start.elapsed() + GLANCE, answered);
        }
        // If it cannot withdraw, it was answered: the share is on its way, or there was nothing that could go.
        let answered = !asked.request.withdraw(me);
        if answered {
            let on_its_way = start.elapsed() + ON_ITS_WAY;
            came = self.look_around(start, on_its_way, || false);
        }
        self.turn.counts.shares_taken += (came && answered) as u64;
        came
    }

    pub(super) fn sleep(&mut self, at_most: Option<Duration>) {
        let has_nothing_to_run = self.turn.queue.is_empty() || self.is_full_away();
        debug_assert!(has_nothing_to_run && !self.owes());
        self.idling.has_slept = true;
        self.idling.crowded = 0;
        self.turn.counts.parks += 1;
        self.turn.queue.rest();
        self.publish();
        self.tell_of_work();
        self.idling.core.leave();
        let stand_ins = self.turn.counts.stand_ins;
        self.idling.called = self.stand_still(|context| {
            context
                .sponsor
                .asleep
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // What was given while this thread was awake has come in, or is still to wake it (sharing.rs,
            // invariant 3).
            context.station.waking.store(false, Relaxed);
            context.station.presence.sleep();
            context.machine.quiescence().done(1);
            if !context.station.inbox.is_pending() && !context.machine.is_stopping() {
                context.station.parker.park(at_most);
            }
            context
                .sponsor
                .asleep
                .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
            let called = context.station.waking.load(Relaxed);
            wake(context);
            called
        });
        let now = Instant::now();
        let slept = now - self.load.awake_since;
        // What a stand-in has done is as new as what the thread does itself, and may go on.
        let was_alone = self.turn.counts.stand_ins == stand_ins;
        self.idling.rests = slept >= REST && was_alone && !self.context.station.inbox.is_pending();
        self.load.awake_since = now;
        if std::mem::take(&mut self.lent.is_wanted) {
            self.context.machine.quiescence().done(1);
        }
        // stand_in.rs, invariant 9.
        self.lent.watches = std::mem::take(&mut self.lent.took_in);
        self.lent.writes = self.lent.unwritten > 0;
    }
}

/// Begins, or comes back from sleep.
pub(in crate::threads) fn wake(context: &ThreadContext) {
    // Counted before it drains: quiescence.rs, invariant 1.
    context.machine.quiescence().add(1);
    context.station.presence.wake();
    context.station.waking.store(false, Relaxed);
    context.station.heed_summons();
    context.machine.safepoint().check_in(&context.station);
}
