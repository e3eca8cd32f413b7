//! Giving work away: private queues, shared on request and when it pays (Acar, Charguéraud, Rainey: private
//! deques, PPoPP 2013).
//!
//! A busy thread looks at its request word between batches of turns, and inside a long turn where fuel is checked.
//! It gives away half of its queue, with the actors that the events are for: they change owner with the events, so
//! nobody claims anything. Events for actors that are not its own the other one routes just as well (route.rs). It also
//! wakes a sleeping sibling when what is queued will take longer than the waking (worth.rs), and gives it nothing before
//! it asks: by then there may be nothing left, and what was given too early would wait for it.
//!
//! Invariants:
//! 1. Only an actor's owner gives it away, and never the one whose turn is running.
//! 2. An event is given, or goes back to where this thread will find it again; none is lost.
//! 3. `waking` is set before the thread is woken, and cleared whenever the thread wakes and
//!    before it sleeps: it never stays set on a thread that sleeps on.
//! 4. A request is either answered or withdrawn: whoever cannot withdraw it any more was answered, and only they.
use crate::actor::Actor;
use crate::parker::Waker;
use crate::queue::Event;
use crate::station::{Station, ThreadNumber};
use crate::sync::{AcqRel, AtomicU16, Relaxed};
use crate::turn::Turn;
use std::sync::Arc;

/// Work that is worth asking for, by a thread that is awake, in nanoseconds of estimated time.
pub(crate) const WORTH_ASKING: u64 = 50_000;
/// The most events given at once: touching their actors must not hold up the giver for long.
const MOST: usize = 16 * 1024;
/// How many neighbours in the queue go together: their actors often share cache lines.
const STRIPE: usize = 32;
/// Events that are looked at to find crowded actors, and how many of them make a crowd.
const SAMPLE: usize = 64;
const CROWD: usize = 4;
/// For how many batches a thread shares nothing after most of what it looked at had to stay.
const RELUCTANCE: u32 = 256;
/// How many are looked at before those of them that go are handed over.
const SECTION: usize = 1024;
/// How far ahead the actors of events to be given are fetched into the cache.
const AHEAD: usize = 16;

/// The number of a thread without work that asks this one for some; 0 if none does.
pub(crate) struct Request(AtomicU16);

impl Request {
    pub(crate) fn new() -> Request {
        Request(AtomicU16::new(0))
    }

    /// Asks; `false` when somebody else asks already.
    pub(crate) fn ask(&self, me: ThreadNumber) -> bool {
        // AcqRel, also below: each step sees the last one whole (invariant 4).
        self.0.compare_exchange(0, me, AcqRel, Relaxed).is_ok()
    }

    /// Asks no longer; `false` when it was answered.
    pub(crate) fn withdraw(&self, me: ThreadNumber) -> bool {
        self.0.compare_exchange(me, 0, AcqRel, Relaxed).is_ok()
    }

    /// Who asks, if anybody: to be answered, if only with nothing.
    #[inline(always)]
    pub(crate) fn answer(&self) -> Option<ThreadNumber> {
        // Relaxed: a hint that saves the swap; the swap decides.
        if self.0.load(Relaxed) == 0 {
            return None;
        }
        Some(self.0.swap(0, AcqRel)).filter(|asker| *asker != 0)
    }
}

impl Turn {
    /// Answers a request for work, and wakes a sleeper if the backlog is worth it. Called between turns and, by
    /// `refuel`, within one.
    pub(crate) fn share(&mut self, backlog: u64) {
        if self.place.sponsor.stations.len() == 1 {
            return;
        }
        let station = &self.place.station;
        if self.reluctance > 0 && self.actor.is_null() {
            // Asked for or not: what would have to stay is not moved about again so soon.
            self.reluctance -= 1;
            station.request.answer();
            return;
        }
        if let Some(asker) = station.request.answer() {
            // It saw what was so a batch ago; what is nearly done by now stays.
            if backlog >= WORTH_ASKING {
                let asker = self.place.machine.stations().get(asker);
                self.give_half(&asker);
            }
            return;
        }
        // Relaxed, also below: hints, ordered by the announcement (invariant 3).
        station.backlog.store(backlog, Relaxed);
        let sponsor = &self.place.sponsor;
        if sponsor.asleep.load(Relaxed) > 0 && sponsor.worth_waking.pays(backlog) {
            let mut stations = sponsor.stations.iter();
            let asleep = |s: &&Arc<Station>| s.presence.is_asleep() && !s.waking.load(Relaxed);
            if let Some(sleeper) = stations.find(asleep) {
                sleeper.waking.store(true, Relaxed);
                sleeper.wake();
            }
        }
    }

    /// Gives half of the committed events to another thread of the sponsor, which begins with the first of them while
    /// the others are looked at.
    fn give_half(&mut self, to: &Station) {
        let committed = self.queue.mark_len(&self.savepoint.queue);
        // Behind a long turn nothing stays that can go: it would wait for the end of it.
        let between_turns = self.actor.is_null();
        let mut left = match between_turns {
            true => committed.min(2 * MOST),
            false => committed.div_ceil(2).min(MOST),
        };
        let looked_at = left;
        let mut crowded = None;
        let (mut given, mut kept) = (Vec::with_capacity(SECTION), Vec::with_capacity(left));
        let mut taken = Vec::with_capacity(SECTION);
        while left > 0 {
            let section = left.min(SECTION);
            taken.extend((0..section).map_while(|_| self.queue.take_before(&self.savepoint.queue)));
            left -= section;
            if between_turns {
                let crowded = crowded.get_or_insert_with(|| self.crowded(&taken));
                self.divide(&taken, to, crowded, &mut given, &mut kept);
            } else {
                self.empty_out(&taken, to, &mut given, &mut kept);
            }
            taken.clear();
            self.hand_over(to, &mut given, Waker::GoesOn);
        }
        let gone = looked_at - kept.len();
        if gone < looked_at / 16 {
            self.reluctance = RELUCTANCE;
        }
        self.counts.shares_given += (gone > 0) as u64;
        if between_turns {
            for event in kept {
                self.queue.push(event.target, event.message);
            }
            self.savepoint.queue = self.queue.mark();
        } else {
            let own = self.place.station.clone();
            self.hand_over(&own, &mut kept, Waker::GoesOn);
        }
        // What left has a place there by now.
        let queued = self.queue.mark_len(&self.savepoint.queue);
        self.settle(queued, 0);
    }

    /// Between turns every second stripe goes: what is queued first has more to come of it than what is queued last.
    fn divide(
        &mut self,
        taken: &[Event],
        to: &Station,
        crowded: &[*const Actor],
        given: &mut Vec<Event>,
        kept: &mut Vec<Event>,
    ) {
        let stripe = (taken.len() / 4).clamp(1, STRIPE);
        for (i, &event) in taken.iter().enumerate() {
            fetch(taken, i + AHEAD);
            if (i / stripe) % 2 == 1 || crowded.contains(&event.target) {
                kept.push(event);
            } else {
                self.give(event, to);
                given.push(event);
            }
        }
    }

    /// Within a turn all goes but what is for the running actor, which nobody else may run unless it is safe.
    fn empty_out(
        &mut self,
        taken: &[Event],
        to: &Station,
        given: &mut Vec<Event>,
        kept: &mut Vec<Event>,
    ) {
        let running = self.actor;
        // SAFETY: the running actor is live: its event was queued.
        let behaviour = unsafe { (*running).header() }.behaviour();
        let safe = self.program.behaviour(behaviour).safe;
        for (i, &event) in taken.iter().enumerate() {
            fetch(taken, i + AHEAD);
            if event.target == running && !safe {
                kept.push(event);
                continue;
            }
            if event.target != running {
                self.give(event, to);
            }
            given.push(event);
        }
    }

    /// The actor of an event changes owner with it, if it is this thread's.
    #[inline(always)]
    fn give(&self, event: Event, to: &Station) {
        // SAFETY: targets of queued events are live.
        let actor = unsafe { &*event.target };
        if actor.header().owner() == self.place.station.number {
            actor.give(to.number);
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

    /// Puts events into another thread's inbox, or into the first sponsor's if that thread has ended.
    pub(crate) fn hand_over(&self, to: &Station, events: &mut Vec<Event>, waker: Waker) {
        if events.is_empty() {
            return;
        }
        let machine = &self.place.machine;
        if !to.push_events(events, waker) {
            // The first sponsor's lead ends only with the machine, and then nothing is dispatched any more.
            let heir = machine.sponsors();
            let _ = heir.first().lead().push_events(events, waker);
        }
    }
}

/// Fetches the actor of an event to come into the cache.
#[inline(always)]
fn fetch(events: &[Event], at: usize) {
    if let Some(event) = events.get(at) {
        crate::dispatch::prefetch(event.target.cast());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::inbox::{Contents, Inbox};
    use crate::presence::Presence;
    use loom::thread;

    fn event() -> Event {
        let message = crate::value::Value::NIL;
        Event {
            target: std::ptr::null(),
            message,
        }
    }

    /// Two threads ask a third one: each is answered or withdraws, never both and never neither.
    #[test]
    fn a_request_is_answered_or_withdrawn() {
        loom::model(|| {
            let request = loom::sync::Arc::new(Request::new());
            let askers: Vec<_> = [1, 2]
                .into_iter()
                .map(|me| {
                    let request = request.clone();
                    thread::spawn(move || request.ask(me) && !request.withdraw(me))
                })
                .collect();
            let answers = [request.answer(), request.answer()];
            let answered = askers.into_iter().map(|a| a.join().unwrap());
            for (me, answered) in [1, 2].into_iter().zip(answered) {
                let times = answers.iter().filter(|a| **a == Some(me)).count();
                assert_eq!(times, answered as usize);
            }
            assert_eq!(request.answer(), None);
        });
    }

    /// The asker may have given up and gone to sleep: what it is given wakes it, or it does not park; somebody may have
    /// woken it before. And `waking` never stays set on it.
    #[test]
    fn a_share_arrives_though_the_asker_gave_up() {
        loom::model(|| {
            let shared = loom::sync::Arc::new((
                Request::new(),
                Inbox::default(),
                Presence::new(),
                crate::sync::AtomicBool::new(false),
            ));
            let s = shared.clone();
            let asker = thread::spawn(move || {
                let (request, inbox, presence, waking) = &*s;
                presence.wake();
                if request.ask(1) {
                    request.withdraw(1);
                }
                let mut contents = Contents::default();
                // Still awake, as between two batches.
                inbox.drain(&mut contents);
                waking.store(false, Relaxed);
                presence.sleep();
                while contents.len() == 0 {
                    if !inbox.is_pending() {
                        thread::park();
                    }
                    presence.wake();
                    waking.store(false, Relaxed);
                    inbox.drain(&mut contents);
                    waking.store(false, Relaxed);
                    presence.sleep();
                }
                assert_eq!(contents.len(), 1);
            });
            let (request, inbox, presence, waking) = &*shared;
            if presence.is_asleep() {
                waking.store(true, Relaxed);
                inbox.announce();
                asker.thread().unpark();
            }
            let _ = request.answer();
            let wakes = inbox.push_events(&mut vec![event()]).expect("open");
            if wakes && presence.is_asleep() {
                asker.thread().unpark();
            }
            asker.join().unwrap();
            assert!(!waking.load(Relaxed));
            assert_eq!(request.answer(), None);
        });
    }
}
