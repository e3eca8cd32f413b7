//! Giving work away: private queues, shared on request and when it pays (Acar, Charguéraud, Rainey: private
//! deques, PPoPP 2013).
//!
//! A busy thread looks at its request word between batches of turns, and inside a long turn where fuel is checked.
//! It gives away the older half of its queue, with the actors that the events are for: they change owner with the
//! events, so nobody claims anything. Events for actors that are not its own the other one routes just as well
//! (route.rs). It also wakes a sleeping sibling when what is queued will take much longer than the waking.
//!
//! Invariants:
//! 1. Only an actor's owner gives it away, and never the one whose turn is running.
//! 2. An event is given, or goes back to where this thread will find it again; none is lost.
//! 3. `waking` is set before an entry that wakes the thread is pushed, and cleared whenever the thread wakes and
//!    before it sleeps: it never stays set on a thread that sleeps on.
use crate::actor::Actor;
use crate::queue::Event;
use crate::station::Station;
use crate::sync::{AcqRel, Relaxed};
use crate::turn::Turn;
use std::sync::Arc;

/// Work that is worth waking a thread for, in nanoseconds of estimated time: twenty times what waking costs the
/// thread that wakes.
pub(crate) const WORTH_WAKING: u64 = 100_000;
/// Work that is worth asking for.
pub(crate) const WORTH_ASKING: u64 = 10_000;
/// The most events given at once: touching their actors must not hold up the giver for long.
const MOST: usize = 16 * 1024;
/// How far ahead the actors of events to be given are fetched into the cache.
const AHEAD: usize = 16;

impl Turn {
    /// Answers a request for work, and wakes a sleeper if the backlog is worth it. Called between turns and, by
    /// `refuel`, within one.
    pub(crate) fn share(&mut self, backlog: u64) {
        if self.place.sponsor.stations.len() == 1 {
            return;
        }
        let station = &self.place.station;
        // Relaxed: a hint; the swap below decides.
        if station.request.load(Relaxed) != 0 {
            // AcqRel: pairs with the asker's withdrawal.
            let asker = station.request.swap(0, AcqRel);
            if asker != 0 {
                let asker = self.place.machine.stations().get(asker);
                self.give_half(&asker);
            }
        } else if backlog >= WORTH_WAKING && self.place.sponsor.asleep.load(Relaxed) > 0 {
            let mut stations = self.place.sponsor.stations.iter();
            let asleep = |s: &&Arc<Station>| s.presence.is_asleep() && !s.waking.load(Relaxed);
            if let Some(sleeper) = stations.find(asleep).cloned() {
                self.give_half(&sleeper);
            }
        }
    }

    /// Gives the older half of the committed events to another thread of the sponsor.
    fn give_half(&mut self, to: &Station) {
        let committed = self.queue.mark_len(&self.savepoint.queue);
        let running = self.actor;
        // SAFETY: the running actor is live: its event was queued.
        let header = unsafe { running.as_ref() }.map(Actor::header);
        let safe = header.is_some_and(|header| self.program.behaviour(header.behaviour()).safe);
        let me = self.place.station.number;
        let (mut given, mut kept) = (Vec::new(), Vec::new());
        for _ in 0..committed.div_ceil(2).min(MOST) {
            if let Some(ahead) = self.queue.peek(AHEAD) {
                crate::dispatch::prefetch(ahead.target.cast());
            }
            let Some(event) = self.queue.take_before(&mut self.savepoint.queue) else {
                break;
            };
            if event.target == running && !safe {
                kept.push(event);
                continue;
            }
            // SAFETY: targets of queued events are live.
            let actor = unsafe { &*event.target };
            if event.target != running && actor.header().owner() == me {
                actor.give(to.number);
            }
            given.push(event);
        }
        if !given.is_empty() {
            self.counts.shares_given += 1;
            // Relaxed: a hint, ordered by the lock of the inbox (invariant 3).
            to.waking.store(true, Relaxed);
            self.hand_over(to, &mut given);
        }
        let own = self.place.station.clone();
        self.hand_over(&own, &mut kept);
    }

    /// Puts events into another thread's inbox, or into the first sponsor's if that thread has ended.
    pub(crate) fn hand_over(&self, to: &Station, events: &mut Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let machine = &self.place.machine;
        machine.quiescence().add(events.len());
        if !to.push_events(events) {
            // The first sponsor's lead ends only with the machine, and then nothing is dispatched any more.
            let _ = machine.sponsors().first().lead().push_events(events);
        }
    }
}
