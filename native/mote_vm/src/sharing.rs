//! Giving work away: private queues, shared on request and when it pays (Acar, Charguéraud, Rainey: private
//! deques, PPoPP 2013).
//!
//! A busy thread looks at its request word between batches of turns, and inside a long turn where fuel is checked. It
//! gives away half of its queue, with the actors that the events are for: they change owner with the events, so nobody
//! claims anything. Events for actors of the asker all go, and those for others' actors it routes just as well
//! (route.rs). It also wakes a sleeping sibling when what is queued will take longer than the waking (worth.rs), and
//! gives it nothing before it asks: by then there may be nothing left, and what was given too early would wait for it.
//!
//! Invariants:
//! 1. Only an actor's owner gives it away, and never the one whose turn is running.
//! 2. An event is given, or goes back to where this thread will find it again; none is lost.
//! 3. `waking` is set before the thread is woken, and cleared whenever the thread wakes and
//!    before it sleeps: it never stays set on a thread that sleeps on.
//! 4. A request is either answered or withdrawn: whoever cannot withdraw it any more was answered, and only they. It is
//!    answered by who has something to give, and stands until then; who has asked in vain withdraws it.
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

    /// Whether it still asks: a hint.
    pub(crate) fn is_by(&self, me: ThreadNumber) -> bool {
        self.0.load(Relaxed) == me
    }

    /// Asks no longer; `false` when it was answered.
    pub(crate) fn withdraw(&self, me: ThreadNumber) -> bool {
        self.0.compare_exchange(me, 0, AcqRel, Relaxed).is_ok()
    }

    /// Who asks, if anybody: to be given something.
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
            station.backlog.store(0, Relaxed);
            return;
        }
        // Relaxed, also below: hints, ordered by the announcement (invariant 3).
        station.backlog.store(backlog, Relaxed);
        // For less they wait.
        if backlog >= WORTH_ASKING {
            if let Some(asker) = station.request.answer() {
                let asker = self.place.machine.stations().get(asker);
                return self.give_half(&asker);
            }
        }
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
        let between_turns = self.actor.is_null();
        // Within a turn what is to stay can be put back into the last chunk only (queue.rs, invariant 4): what lies in
        // more than one is divided where the half of it ends.
        let divided = between_turns || self.queue.is_in_one_chunk();
        let mut left = match divided {
            true => committed.min(2 * MOST),
            false => committed.div_ceil(2).min(MOST),
        };
        let looked_at = left;
        let section = left.min(SECTION);
        let mut crowded = None;
        let (mut given, mut kept) = (Vec::with_capacity(section), Vec::with_capacity(left));
        let mut taken = Vec::with_capacity(section);
        while left > 0 {
            let section = left.min(SECTION);
            taken.extend((0..section).map_while(|_| self.queue.take_before(&self.savepoint.queue)));
            left -= section;
            if between_turns {
                let crowded = &*crowded.get_or_insert_with(|| self.crowded(&taken));
                let stripe = self.stripe(taken.len());
                let stays = |i: usize, e: Event| {
                    (i / stripe).is_multiple_of(2) || crowded.contains(&e.target)
                };
                self.divide(&taken, to, stays, &mut given, &mut kept);
            } else {
                let bound = self.bound_to_turn();
                let stays = |i, e: Event| divided && i % 2 == 1 || e.target == bound;
                self.divide(&taken, to, stays, &mut given, &mut kept);
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
        } else if divided {
            self.queue.put_back_all(&kept);
        } else {
            let own = self.place.station.clone();
            self.hand_over(&own, &mut kept, Waker::GoesOn);
        }
        // What left has a place there by now.
        let queued = self.queue.mark_len(&self.savepoint.queue);
        self.settle(queued, 0);
    }

    /// How many neighbours in the queue stay together when it is divided: half of what is queued first goes, and half of
    /// what is queued last, for there is more to come of the first. Of long turns one at a time: what they report is
    /// queued behind those that wait, however few of them are left.
    fn stripe(&self, queued: usize) -> usize {
        match self.long_turn {
            0 => (queued / 4).clamp(1, STRIPE),
            _ => 1,
        }
    }

    /// The running actor, unless others may run it at the same time.
    fn bound_to_turn(&self) -> *const Actor {
        // SAFETY: the running actor is live: its event was queued.
        let behaviour = unsafe { (*self.actor).header() }.behaviour();
        match self.program.behaviour(behaviour).safe {
            true => std::ptr::null(),
            false => self.actor,
        }
    }

    /// What stays is kept, the others are to be given, with their actors. What is for actors of the other thread goes in any
    /// case: it would have to follow one by one.
    fn divide(
        &self,
        taken: &[Event],
        to: &Station,
        stays: impl Fn(usize, Event) -> bool,
        given: &mut Vec<Event>,
        kept: &mut Vec<Event>,
    ) {
        for (i, &event) in taken.iter().enumerate() {
            fetch(taken, i + AHEAD);
            // SAFETY: targets of queued events are live.
            let actor = unsafe { &*event.target };
            let owner = actor.header().owner();
            if owner != to.number && stays(i, event) {
                kept.push(event);
                continue;
            }
            // The actor goes with the event, unless it is not this thread's, or its turn is running.
            if owner == self.place.station.number && event.target != self.actor {
                actor.give(to.number);
            }
            given.push(event);
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::actor::BehaviourId;
    use crate::still::Still;
    use crate::value::Value;

    /// A thread of two, with events for as many actors of its own queued; its sibling is asleep.
    fn busy_with(events: usize) -> (Still, Vec<*const Actor>) {
        let mut still = Still::new(2);
        let turn = &mut still.thread.turn;
        let actors: Vec<_> = (0..events)
            .map(|_| turn.create(BehaviourId::SINK, Value::NIL).address_pointer())
            .collect();
        for actor in &actors {
            turn.queue.push(*actor, Value::NIL);
        }
        turn.savepoint.queue = turn.queue.mark();
        (still, actors)
    }

    /// Which of the actors stayed with the thread when its sibling asked, and are next in its queue.
    fn kept(still: &mut Still, actors: &[*const Actor], backlog: u64) -> Vec<usize> {
        let turn = &mut still.thread.turn;
        let (me, sibling) = {
            let stations = &turn.place.sponsor.stations;
            (stations[0].number, stations[1].number)
        };
        assert!(turn.place.station.request.ask(sibling));
        turn.share(backlog);
        // SAFETY: as they were made; nobody has collected them.
        let owner = |at: usize| unsafe { (*actors[at]).header() }.owner();
        let mut kept = Vec::new();
        while let Some(event) = turn.queue.take_before(&turn.savepoint.queue) {
            kept.extend(actors.iter().position(|actor| *actor == event.target));
        }
        // The running one has a safe behaviour: its event may go, while it stays.
        let stays = |at: usize| kept.contains(&at) || actors[at] == turn.actor;
        for at in 0..actors.len() {
            assert_eq!(owner(at), if stays(at) { me } else { sibling });
        }
        kept
    }

    #[test]
    fn of_small_turns_stripes_go_and_of_long_ones_every_second() {
        let (mut still, actors) = busy_with(16);
        let stripes = kept(&mut still, &actors, WORTH_ASKING);
        assert_eq!(stripes, [0, 1, 2, 3, 8, 9, 10, 11]);
        let (mut still, actors) = busy_with(5);
        still.thread.turn.long_turn = 10_000;
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [0, 2, 4]);
    }

    #[test]
    fn behind_a_long_turn_every_second_goes_from_the_first_on() {
        let (mut still, actors) = busy_with(5);
        still.thread.turn.actor = actors[2];
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [1, 3]);
        let (mut still, actors) = busy_with(1);
        let (_other, running) = busy_with(1);
        still.thread.turn.actor = running[0];
        assert_eq!(kept(&mut still, &actors, WORTH_ASKING), [0; 0]);
    }

    #[test]
    fn what_is_for_actors_of_the_asker_goes() {
        let (mut still, actors) = busy_with(16);
        let sibling = still.thread.turn.place.sponsor.stations[1].number;
        for at in [1, 3, 9] {
            // SAFETY: as it was made; nobody has collected it.
            unsafe { (*actors[at]).give(sibling) };
        }
        let stripes = kept(&mut still, &actors, WORTH_ASKING);
        assert_eq!(stripes, [0, 2, 8, 10, 11]);
    }

    #[test]
    fn what_is_nearly_done_stays_and_whoever_asks_sees_it() {
        let (mut still, actors) = busy_with(4);
        let all = kept(&mut still, &actors, WORTH_ASKING - 1);
        assert_eq!(all, [0, 1, 2, 3]);
        let place = &still.thread.turn.place;
        let sibling = place.sponsor.stations[1].number;
        assert!(!place.station.has_at_least(WORTH_ASKING));
        assert!(place.station.request.withdraw(sibling));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::inbox::{Contents, Inbox};
    use crate::presence::Presence;
    use crate::quiescence::Quiescence;
    use crate::sync::{AtomicBool, AtomicUsize, SeqCst};
    use crate::value::Value;
    use loom::thread;

    fn event() -> Event {
        numbered(0)
    }

    fn numbered(n: i64) -> Event {
        Event {
            target: std::ptr::null(),
            message: Value::fixnum(n),
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

    /// An asker, what it and its giver have done of two things, and how often each was done.
    struct Scene {
        request: Request,
        inbox: Inbox,
        presence: Presence,
        quiescence: std::sync::Arc<Quiescence>,
        done: [AtomicUsize; 2],
        stopping: AtomicBool,
    }

    impl Scene {
        fn run(&self, event: Event) {
            let n = event.message.as_fixnum().unwrap() as usize;
            self.done[n].fetch_add(1, Relaxed);
        }

        fn is_done(&self) -> bool {
            self.done.iter().all(|times| times.load(Relaxed) == 1)
        }

        /// As an idle thread does: asks, in vain or not, takes in what has come, and sleeps; until the end.
        fn ask_and_sleep(&self) {
            while !self.stopping.load(SeqCst) {
                self.presence.wake();
                if self.request.ask(1) {
                    self.request.withdraw(1);
                }
                let mut contents = Contents::default();
                self.inbox.drain(&mut contents);
                contents.events.iter().for_each(|event| self.run(*event));
                self.quiescence.done(contents.outstanding());
                self.presence.sleep();
                self.quiescence.done(1);
                if !self.inbox.is_pending() && !self.stopping.load(SeqCst) {
                    thread::park();
                }
                self.quiescence.add(1);
            }
            self.quiescence.done(1);
        }
    }

    /// A thread asks before there is anything to be had; another one gets two things to do, gives one of them if it is asked
    /// by then, does what it keeps and sleeps. Each is done once, and it is quiet when both are, not before, whether the
    /// asker waits for its share, has withdrawn or sleeps.
    #[test]
    fn it_is_quiet_when_what_was_shared_is_done() {
        loom::model(|| {
            let quiescence = std::sync::Arc::<Quiescence>::default();
            let scene = loom::sync::Arc::new(Scene {
                request: Request::new(),
                inbox: Inbox::new(std::sync::Arc::default(), quiescence.clone()),
                presence: Presence::new(),
                quiescence: quiescence.clone(),
                done: Default::default(),
                stopping: AtomicBool::new(false),
            });
            quiescence.add(2); // both are awake
            let s = scene.clone();
            let asker = thread::spawn(move || s.ask_and_sleep());
            let (s, sleeping) = (scene.clone(), asker.thread().clone());
            quiescence.wait(Box::new(move || {
                assert!(s.is_done());
                s.stopping.store(true, SeqCst);
                s.inbox.announce();
                if s.presence.is_asleep() {
                    sleeping.unpark();
                }
            }));
            let mut queue = vec![numbered(0), numbered(1)];
            if scene.request.answer().is_some() {
                let wakes = scene.inbox.push_events(&mut queue.split_off(1));
                if wakes.expect("open") && scene.presence.is_asleep() {
                    asker.thread().unpark();
                }
            }
            queue.into_iter().for_each(|event| scene.run(event));
            quiescence.done(1);
            asker.join().unwrap();
            assert!(scene.is_done() && quiescence.is_quiet());
            assert_eq!(scene.request.answer(), None);
        });
    }
}
