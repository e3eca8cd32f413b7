//! Giving work away: private queues, shared on request and when it pays (Acar, Charguéraud, Rainey: private
//! deques, PPoPP 2013).
//!
//! A busy thread looks at its request word between batches of turns, and inside a long turn where fuel is checked. It
//! gives away the actors of half of its queue with all events for them, so that no thread has to claim anything
//! (giving.rs says how). It also wakes a sleeping sibling when its queue will take longer than the waking
//! (wake_threshold.rs). It gives the sibling nothing before that asks: by then there may be nothing left, and events given too
//! early would have to wait.
//!
//! Invariants:
//! 1. Only an actor's owner gives it away, and never the one whose turn is running.
//! 2. An event is given, or goes back to where this thread will find it again; none is lost.
//! 3. `waking` is set before the thread is woken, and cleared whenever the thread wakes and
//!    before it sleeps: it never stays set on a thread that sleeps on.
#[cfg(all(test, loom))]
mod models;

use crate::base::sync::Relaxed;
use crate::threads::parker::Waker;
use crate::threads::sponsor::wake_one_of;
use crate::threads::station::Station;
use crate::threads::thread_context::ThreadContext;
use crate::threads::worth_sharing::WorkDone;
use crate::turns::queue::Event;
use crate::turns::turn::Turn;
use crate::values::actor::Actor;
use std::sync::Arc;
use std::time::Instant;

/// Work that is worth asking for, by a thread that is awake, in nanoseconds of estimated time.
pub(crate) const WORTH_ASKING: u64 = 50_000;
/// A thread with more events in its queue gives nothing: it would take a millisecond to look through them.
const MOST: usize = 1 << 18;
/// Number of neighbours in the queue that go together: their actors often share cache lines.
const STRIPE: usize = 32;
/// Events that are looked at to find crowded actors, and how many of them make a crowd.
const SAMPLE: usize = 64;
const CROWD: usize = 4;
/// Nanoseconds after which a turn ends a pause of sharing.
const HOLDS_UP: u64 = 1_000_000;
/// Number of batches for which a thread shares nothing after most of what it looked at had to stay.
const RELUCTANCE: u32 = 256;

impl ThreadContext {
    /// Answers a request for work, and wakes a sleeper if the backlog is worth it. Called between turns and, by
    /// `refuel`, within one.
    pub(crate) fn share_some(&self, turn: &mut Turn, backlog: u64) {
        if !self.sponsor.shares() {
            return;
        }
        let station = &self.station;
        if turn.leaving.reluctance > 0 && turn.actor.is_null() {
            // Asked for or not: what would have to stay is not moved about again so soon.
            turn.leaving.reluctance -= 1;
            station.backlog.store(0, Relaxed);
            return;
        }
        let worth_sharing = &self.sponsor.worth_sharing;
        if worth_sharing.pauses() && !(turn.is_long() && worth_sharing.resume()) {
            station.backlog.store(0, Relaxed);
            return;
        }
        // Relaxed, also below: hints, ordered by the announcement (invariant 3).
        station.backlog.store(backlog, Relaxed);
        // For less they wait.
        if backlog >= WORTH_ASKING && self.may_look_through(turn) {
            if let Some(asker) = station.request.answer() {
                let asker = self.machine.stations().get(asker);
                return self.give_half(turn, &asker);
            }
        }
        let sponsor = &self.sponsor;
        if sponsor.asleep.load(Relaxed) > 0 && sponsor.worth_waking.pays(backlog) {
            wake_one_of(&sponsor.stations, Waker::GoesOn);
        }
    }

    /// Looks, now and then, at what sharing has come to (worth_sharing.rs).
    #[inline]
    pub(crate) fn learn_about_sharing(&self, turn: &mut Turn, end: Instant) {
        let sponsor = &self.sponsor;
        if !sponsor.shares() {
            return;
        }
        let now = (end - sponsor.started).as_nanos() as u64;
        if sponsor.worth_sharing.is_due(now) && sponsor.worth_sharing.look(now, || self.done()) {
            turn.counts.sharing_paused += 1;
        }
    }

    /// Sums up the work that the threads of the sponsor have done.
    #[cold]
    fn done(&self) -> WorkDone {
        let done = |station: &Arc<Station>| {
            let counts = station.counters.read();
            WorkDone {
                turns: counts.turns,
                awake: counts.busy_ns,
                worked: station.worked.load(Relaxed),
                forwarded: counts.forwarded,
                shares: counts.shares_given,
            }
        };
        let all = self.sponsor.stations.iter().map(done);
        all.fold(WorkDone::default(), |all, one| all.and(&one))
    }

    /// Returns whether sharing pauses, and this thread is to leave everything to the lead.
    #[inline]
    pub(crate) fn gathers(&self) -> bool {
        self.sponsor.worth_sharing.pauses() && self.sponsor.lead().number != self.station.number
    }

    /// Gives everything queued to the lead, with the actors that it is for. The lead takes over the other actors of this
    /// thread while it sleeps.
    #[cold]
    pub(crate) fn gather(&self, turn: &mut Turn) {
        if !turn.queue.is_empty() && self.may_look_through(turn) {
            self.give(turn, self.sponsor.lead(), |_, _| |_, _| true);
        }
    }

    /// Returns whether there is time and memory to look through the queue.
    fn may_look_through(&self, turn: &Turn) -> bool {
        let queued = turn.queue.queued_before(&turn.savepoint.queue);
        queued <= MOST && self.machine.pool().quota.has(queued * size_of::<Event>())
    }

    /// Gives the actors of half of the queue to another thread of the sponsor.
    fn give_half(&self, turn: &mut Turn, to: &Station) {
        let queued = turn.queue.queued_before(&turn.savepoint.queue);
        let between_turns = turn.actor.is_null();
        let given = self.give(turn, to, |turn, queued| {
            let stripe = if between_turns {
                turn.stripe(queued.len())
            } else {
                1
            };
            let stay = match between_turns {
                true => turn.crowded(queued),
                false => vec![turn.bound_to_turn()],
            };
            // Behind a long turn the first ones go: they have waited for long enough.
            let odd = usize::from(between_turns);
            move |i, event: Event| (i / stripe) % 2 == odd && !stay.contains(&event.target)
        });
        turn.counts.shares_given += given.is_some_and(|given| given > 0) as u64;
        if given.is_some_and(|given| given < queued / 16) {
            turn.leaving.reluctance = RELUCTANCE;
        }
    }
}

impl Turn {
    /// Returns whether a turn runs that should not hold up whatever the others would leave to this thread.
    fn is_long(&self) -> bool {
        !self.actor.is_null() && self.running() >= HOLDS_UP
    }

    /// The running actor, unless others may run it at the same time.
    fn bound_to_turn(&self) -> *const Actor {
        // SAFETY: the running actor is live: its event was queued.
        let behaviour = unsafe { (*self.actor).header() }.behaviour();
        match self.around.program.behaviour(behaviour).safe {
            true => std::ptr::null(),
            false => self.actor,
        }
    }

    /// Returns the number of neighbours in the queue that stay together when it is divided. Half of what is queued first
    /// goes, and half of what is queued last, since more follows from the first. Long turns go one at a time: what they
    /// report is queued behind those that wait, however few of them are left. A queue that goes round is cut once: across the
    /// cut, actors will talk from one thread to the other.
    fn stripe(&self, queued: usize) -> usize {
        match self.fuel.long_turn {
            0 if self.leaving.goes_round => queued.div_ceil(2),
            0 => (queued / 4).clamp(1, STRIPE),
            _ => 1,
        }
    }

    /// Actors that many of these events are for, but for every second one: given away, they would leave events
    /// behind that have to follow them one by one, and soon come back the same way. When several are crowded, half
    /// of them go all the same: there is work for two.
    fn crowded(&mut self, events: &[Event]) -> Vec<*const Actor> {
        if events.len() < CROWD {
            return Vec::new();
        }
        // Each event once at most: a few events seen again and again would look like a crowd.
        let step = events.len().div_ceil(SAMPLE);
        let start = self.random.below(step as u64) as usize;
        let sampled = events[start..].iter().step_by(step);
        let mut sample: Vec<*const Actor> = sampled.map(|event| event.target).collect();
        sample.sort_unstable();
        let crowds = sample.chunk_by(|a, b| a == b).filter(|c| c.len() >= CROWD);
        crowds.map(|crowd| crowd[0]).step_by(2).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::still::Still;
    use crate::threads::thread::Dispatch;
    use crate::values::value::Value;

    /// A thread of two, with events for as many actors of its own queued; its sibling is asleep.
    fn busy_with(events: usize) -> (Still, Vec<*const Actor>) {
        let mut still = Still::new(2);
        let turn = &mut still.thread.turn;
        let behaviour = turn.around.program.publish_unsafe();
        let actors: Vec<_> = (0..events)
            .map(|_| turn.create(behaviour, Value::NIL).address_pointer())
            .collect();
        for actor in &actors {
            turn.queue.push(*actor, Value::NIL);
        }
        turn.savepoint.queue = turn.queue.position();
        (still, actors)
    }

    /// Returns the actors that stayed with the thread when its sibling asked, and are next in its queue.
    fn kept(still: &mut Still, actors: &[*const Actor], backlog: u64) -> Vec<usize> {
        let Dispatch { turn, context, .. } = &mut still.thread;
        let (me, sibling) = {
            let stations = &context.sponsor.stations;
            (stations[0].number, stations[1].number)
        };
        assert!(context.station.request.ask(sibling));
        context.share_some(turn, backlog);
        // SAFETY: as they were made; nobody has collected them.
        let owner = |at: usize| unsafe { (*actors[at]).header() }.owner();
        let mut kept = Vec::new();
        while let Some(event) = turn.queue.take_before(&turn.savepoint.queue) {
            kept.extend(actors.iter().position(|actor| *actor == event.target));
        }
        for at in 0..actors.len() {
            let stays = kept.contains(&at);
            assert_eq!(owner(at), if stays { me } else { sibling });
        }
        kept
    }

    #[test]
    fn of_small_turns_stripes_go_and_of_long_ones_every_second() {
        let (mut still, actors) = busy_with(16);
        let stripes = kept(&mut still, &actors, WORTH_ASKING);
        assert_eq!(stripes, [0, 1, 2, 3, 8, 9, 10, 11]);
        let (mut still, actors) = busy_with(5);
        still.thread.turn.fuel.long_turn = 10_000;
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [0, 2, 4]);
    }

    #[test]
    fn a_queue_that_goes_round_is_cut_once() {
        let (mut still, actors) = busy_with(7);
        still.thread.turn.leaving.goes_round = true;
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [0, 1, 2, 3]);
    }

    #[test]
    fn behind_a_long_turn_every_second_goes_from_the_first_on() {
        let (mut still, actors) = busy_with(5);
        still.thread.turn.actor = actors[2];
        // The one whose turn it is stays.
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [1, 2, 3]);
        let (mut still, actors) = busy_with(1);
        let (_other, running) = busy_with(1);
        still.thread.turn.actor = running[0];
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [0; 0]);
    }

    #[test]
    fn what_is_for_actors_of_the_asker_goes() {
        let (mut still, actors) = busy_with(16);
        let sibling = still.thread.context.sponsor.stations[1].clone();
        // Otherwise they could be taken over.
        sibling.presence.wake();
        let sibling = sibling.number;
        for at in [1, 3, 9] {
            // SAFETY: as it was made; nobody has collected it.
            unsafe { (*actors[at]).give(sibling, None) };
        }
        let stripes = kept(&mut still, &actors, WORTH_ASKING);
        assert_eq!(stripes, [0, 2, 8, 10, 11]);
    }

    /// Sharing pauses: too many events were forwarded.
    fn pause(still: &Still) {
        let lost = || WorkDone {
            forwarded: 1_000_000,
            ..WorkDone::default()
        };
        assert!(still.thread.context.sponsor.worth_sharing.look(0, lost));
    }

    #[test]
    fn while_sharing_pauses_nothing_goes_until_a_turn_is_long() {
        let (mut still, actors) = busy_with(16);
        pause(&still);
        let all: Vec<usize> = (0..16).collect();
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), all);
        let (mut still, actors) = busy_with(5);
        pause(&still);
        let turn = &mut still.thread.turn;
        turn.run_for(HOLDS_UP);
        turn.actor = actors[2];
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [1, 2, 3]);
        assert!(!still.thread.context.sponsor.worth_sharing.pauses());
    }

    #[test]
    fn while_sharing_pauses_siblings_leave_all_to_the_lead() {
        let (mut still, actors) = busy_with(16);
        let context = still.thread.context.clone();
        let stations = &context.sponsor.stations;
        let (lead, sibling) = (stations[0].clone(), stations[1].clone());
        for actor in &actors {
            // SAFETY: as they were made; nobody has collected them.
            let actor = unsafe { &**actor };
            actor.give(sibling.number, None);
            actor.take_in();
        }
        let sibling = ThreadContext {
            station: sibling,
            ..context.clone()
        };
        assert!(!sibling.gathers());
        pause(&still);
        assert!(sibling.gathers() && !context.gathers());
        sibling.gather(&mut still.thread.turn);
        assert!(still.thread.turn.queue.is_empty() && lead.inbox.is_pending());
        // SAFETY: as above.
        let owner = |actor: &*const Actor| unsafe { (**actor).header() }.owner();
        assert!(actors.iter().all(|actor| owner(actor) == lead.number));
    }

    #[test]
    fn what_is_nearly_done_stays_and_whoever_asks_sees_it() {
        let (mut still, actors) = busy_with(4);
        let all = kept(&mut still, &actors, WORTH_ASKING - 1);
        assert_eq!(all, [0, 1, 2, 3]);
        let context = &still.thread.context;
        let sibling = context.sponsor.stations[1].number;
        assert!(!context.station.has_at_least(WORTH_ASKING));
        assert!(context.station.request.withdraw(sibling));
    }
}
