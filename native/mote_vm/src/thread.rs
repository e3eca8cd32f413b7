//! A dispatch thread: takes events, runs turns, shares, sleeps.
//!
//! Invariants:
//! 1. Between turns nothing is staged (turn.rs), and only between turns does the thread drain, fire timers, run
//!    calls from outside and stop.
//! 2. A panic is caught at the turn boundary; the thread then reports the fault and ends without another turn.
//! 3. A thread falls asleep only with an empty queue and nothing to forward; asleep, it touches no actor. What a stand-in
//!    (stand_in.rs) leaves in the queue it is woken for.
//! 4. A thread that ends gives its heap to the machine: others may hold what is in it.
//! 5. While it stands still or sleeps, a thread does not touch its own state: the collector may, and in its sleep a
//!    stand-in (`stand_still`).
use crate::actor::Actor;
use crate::backlog::{Backlog, Batch, LONG};
use crate::code::program::BehaviourCode;
use crate::cores;
use crate::fault::Fault;
use crate::gc::{Phase, Stress, NAP};
use crate::inbox::{Contents, Done, Entry, Target};
use crate::interpreter::Interpreter;
use crate::look::watch::Watch;
use crate::look::Call;
use crate::parcel::Parcel;
use crate::parker::Waker;
use crate::queue::{Event, EventQueue};
use crate::seeded::Choices;
use crate::sharing::WORTH_ASKING;
use crate::spot::Spot;
use crate::station::{Station, ThreadNumber};
use crate::sync::Relaxed;
use crate::timers::{Message, Timer};
use crate::trickle::Trickle;
use crate::turn::{Place, Turn};
use crate::value::Value;
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Cost of the turns between two looks at inbox, timers, requests and the stop flag, in small turns.
const BATCH: u64 = 512;
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
/// How far ahead the records of coming targets are fetched into the cache, and their captures.
const PREFETCH_ACTOR: usize = 12;
const PREFETCH_CAPTURES: usize = 6;

/// The state of one dispatch thread.
pub(crate) struct Dispatch {
    pub(crate) turn: Turn,
    pub(crate) interpreter: Interpreter,
    /// The behaviour and the message of the turn that runs, if it is not native code alone that does: that cannot panic.
    pub(crate) running: Option<(*const BehaviourCode, Value)>,
    /// Events on their way to other threads, by number, and for which there are any.
    pub(crate) forwards: Vec<Vec<Event>>,
    pub(crate) addressed: Vec<ThreadNumber>,
    /// The actor that an event was last forwarded for in this batch, and to whom. Others for it follow without a look
    /// at its record: each look would take the cache line away from the owner, who writes to it turn by turn.
    pub(crate) elsewhere: (*const Actor, ThreadNumber),
    /// The stations of other threads, by number, as far as this one has met them; and those of its sponsor.
    pub(crate) peers: Vec<Option<Arc<Station>>>,
    pub(crate) siblings: Vec<Option<Arc<Station>>>,
    /// Events whose actors other sponsors' threads want, until this one has run its batch: what it asked for itself
    /// it uses before it gives it on, or two sponsors would only pass an actor to and fro.
    pub(crate) wanted: Vec<(Event, ThreadNumber)>,
    contents: Contents,
    scratch: Vec<Value>,
    /// Timers that fire; empty in between.
    due: Vec<Timer>,
    /// Until when its time is in the counters.
    pub(crate) awake_since: Instant,
    pub(crate) retiring: bool,
    /// Who asked for a collection, to be called when that of this number is over.
    pub(crate) collection_asked: Vec<(u64, Done)>,
    /// What callers want done between two turns.
    calls: Vec<Call>,
    /// Of a seeded machine: what is left open is chosen, and messages from outside wait until they are admitted.
    pub(crate) choices: Option<Arc<Choices>>,
    /// Any event that waits may be the next.
    pub(crate) shuffled: bool,
    pub(crate) arrivals: VecDeque<(Target, Parcel)>,
    /// Who counts this thread's turns.
    pub(crate) watches: Vec<Watch>,
    /// [`BATCH`]; one turn under stress, so that a collection can come between any two.
    pub(crate) batch: u64,
    /// Events have come in from a sibling, or while there are any, since it last looked for more in vain.
    shared: bool,
    pub(crate) backlog: Backlog,
    /// How much the queue grew in the last batch (backlog.rs).
    pub(crate) growth: i64,
    /// A sibling has woken it for work.
    called: bool,
    /// Whether it has ever fallen asleep, and so begun.
    pub(crate) has_slept: bool,
    /// Whether a stand-in (stand_in.rs) runs this, and leaves something to do; and whether one has that has gone.
    pub(crate) stands_in: bool,
    pub(crate) postponed: bool,
    pub(crate) is_wanted: bool,
    /// How often in a row nothing has come in but messages whose senders would have stood in.
    asked_only: u32,
    trickle: Trickle,
    /// How often in a row it has handed all its work over to a thread that is awake on the same core.
    pub(crate) crowded: u32,
    spot: Spot,
}

// SAFETY: `running` is only set while the owning thread runs a turn.
unsafe impl Send for Dispatch {}

impl Dispatch {
    pub(crate) fn new(turn: Turn, interpreter: Interpreter) -> Dispatch {
        let stress = turn.place.machine.pool().pace.config.stress;
        let batch = if stress == Stress::Off { BATCH } else { 1 };
        let mut siblings = Vec::new();
        for station in &turn.place.sponsor.stations {
            let at = station.number as usize;
            siblings.resize(siblings.len().max(at + 1), None);
            siblings[at] = Some(station.clone());
        }
        Dispatch {
            turn,
            interpreter,
            due: Vec::new(),
            running: None,
            forwards: Vec::new(),
            addressed: Vec::new(),
            peers: Vec::new(),
            siblings,
            wanted: Vec::new(),
            elsewhere: (std::ptr::null(), 0),
            contents: Contents::default(),
            scratch: Vec::new(),
            awake_since: Instant::now(),
            retiring: false,
            collection_asked: Vec::new(),
            calls: Vec::new(),
            choices: None,
            shuffled: false,
            arrivals: VecDeque::new(),
            watches: Vec::new(),
            batch,
            shared: false,
            backlog: Backlog::new(),
            growth: 0,
            called: false,
            has_slept: false,
            stands_in: false,
            postponed: false,
            is_wanted: false,
            asked_only: 0,
            trickle: Trickle::default(),
            crowded: 0,
            spot: Spot::default(),
        }
    }

    /// Runs until the machine stops, the sponsor is removed or a turn panics; `bound`: to a core.
    pub(crate) fn run(mut self, bound: bool) {
        let place = self.turn.place.clone();
        place.station.parker.open(bound);
        self.stand_still(wake);
        self.turn.heap.join_collection();
        self.join_watches();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch()));
        let fault = outcome.err().map(|payload| {
            // Before others can take over an actor whose turn is neither done nor undone.
            place.machine.stop();
            Fault::of(&*payload, place.sponsor.name, self.running_turn())
        });
        self.leave();
        if let Some(fault) = fault {
            place.machine.fault(fault);
        }
        place.machine.quiescence().done(1);
    }

    /// The end: nothing of it runs any more.
    pub(crate) fn leave(mut self) {
        self.publish(0);
        let place = self.turn.place.clone();
        // Still awake: a collector waits for this thread, and finds the heap in one place or the other.
        place.station.show(std::ptr::null_mut());
        let gc = place.machine.gc();
        // The queue's memory goes before the heap does: afterwards the machine may unmap it.
        let nothing = EventQueue::new(place.machine.shared_pool());
        let queue = std::mem::replace(&mut self.turn.queue, nothing);
        if gc.phase() == Phase::Marking {
            gc.work.flush(&mut self.turn.log);
            gc.refuse.queue(queue);
        } else {
            drop(queue);
        }
        place.machine.take_back(self.turn.heap);
        place.station.parker.close();
        place.station.presence.sleep();
    }

    fn dispatch(&mut self) {
        while !self.turn.place.machine.is_stopping() {
            if self.turn.place.station.inbox.is_pending() {
                self.drain();
            }
            if self.retiring {
                self.answer_calls();
                return self.retire();
            }
            self.look_at_the_clock();
            let backlog = self.run_batch();
            self.hand_over_all();
            self.publish(backlog);
            self.look_where();
            let mark = self.turn.queue.mark();
            self.turn.savepoint.queue = mark;
            self.turn.share(backlog);
            self.keep_house();
            self.answer_calls();
            if self.turn.queue.is_empty() {
                self.idle();
            } else if self.is_paused() {
                self.stay();
            }
        }
    }

    /// Stands still for a collection, or makes one if it is due.
    pub(crate) fn keep_house(&mut self) {
        if self.turn.place.machine.safepoint().is_wanted() {
            self.stand_still(|place| place.machine.safepoint().arrive(&place.station));
        }
        self.collect_a_little();
        let gc = self.turn.place.machine.gc();
        let over = |asked: &mut (u64, Done)| gc.is_over(asked.0);
        let told: Vec<_> = self.collection_asked.extract_if(.., over).collect();
        told.into_iter().for_each(|(_, done)| done());
    }

    /// What others want, and what is theirs.
    pub(crate) fn hand_over_all(&mut self) {
        self.migrate();
        self.flush();
    }

    /// Whether something is wanted of it between two turns.
    pub(crate) fn has_other_duties(&self) -> bool {
        self.retiring || !self.calls.is_empty() || !self.collection_asked.is_empty()
    }

    /// Does what callers want done between two turns.
    pub(crate) fn answer_calls(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            call(self);
        }
    }

    /// Runs turns for a batch; estimates the nanoseconds that the rest of the queue will take.
    pub(crate) fn run_batch(&mut self) -> u64 {
        if self.is_watched() {
            return self.run_watched_batch();
        }
        let estimate = self.turn.place.sponsor.stations.len() > 1;
        let start = estimate.then(Instant::now);
        let me = self.turn.place.station.number;
        self.elsewhere = (std::ptr::null(), 0);
        let before = self.turn.queue.len();
        // What came in between was accepted before.
        self.turn.queue.forgive();
        // Apart, so that they stay in registers.
        let (mut turns, mut units, mut last) = (0, 0, 0);
        while units < self.batch && last < LONG {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            self.prefetch();
            // SAFETY: targets of queued events are live actors.
            let mine = || unsafe { (*event.target).header().owner() } == me;
            last = match event.target != self.elsewhere.0 && mine() || self.comes_here(event) {
                true => self.turn_of(event),
                false => 1,
            };
            units += last;
            turns += 1;
        }
        let batch = Batch {
            turns,
            units,
            last,
            queued: before,
        };
        self.turn.actor = std::ptr::null();
        let queued = self.turn.queue.len();
        self.growth = batch.growth(queued);
        let Some(start) = start else { return 0 };
        let took = start.elapsed().as_nanos() as u64;
        self.backlog.after(&batch, took, queued)
    }

    /// An event whose actor is not this thread's, as far as its record says: whether it runs here all the same.
    #[cold]
    #[inline(never)]
    fn comes_here(&mut self, event: Event) -> bool {
        self.turn.actor = std::ptr::null();
        if event.target == self.elsewhere.0 {
            self.forward_again(event);
            return false;
        }
        self.route(event)
    }

    #[inline(always)]
    fn prefetch(&mut self) {
        let ahead = self.turn.queue.ahead(PREFETCH_CAPTURES, PREFETCH_ACTOR);
        let Some((near, far)) = ahead else { return };
        if far.target != self.elsewhere.0 {
            crate::dispatch::prefetch(far.target.cast());
        }
        if near.target != self.elsewhere.0 {
            // SAFETY: targets of queued events are live. Whatever the state is, a prefetch of it cannot fault.
            let state = unsafe { (*near.target).state() };
            crate::dispatch::prefetch(state.word() as *const u8);
        }
    }

    /// Takes what has come from elsewhere.
    pub(crate) fn drain(&mut self) {
        let mut contents = std::mem::take(&mut self.contents);
        self.turn.place.station.inbox.drain(&mut contents);
        self.take_in(contents);
    }

    /// The same if it is little; whether it was.
    pub(crate) fn drain_little(&mut self) -> bool {
        let mut contents = std::mem::take(&mut self.contents);
        let little = self.turn.place.station.inbox.drain_little(&mut contents);
        self.take_in(contents);
        little
    }

    fn take_in(&mut self, mut contents: Contents) {
        self.show_unseen(&mut contents);
        let taken = contents.len();
        let outstanding = contents.outstanding();
        if taken > 0 {
            self.asked_only = if contents.asked == taken {
                self.asked_only + 1
            } else {
                0
            };
        }
        self.trickle.took(contents.only_sent());
        let siblings = self.turn.place.sponsor.stations.len() > 1;
        self.shared |= siblings && !contents.events.is_empty();
        for event in contents.events.drain(..) {
            self.turn.queue.push(event.target, event.message);
        }
        for entry in contents.entries.drain(..) {
            match entry {
                Entry::Inspect(target, look) => self.inspect(target, look),
                Entry::Alarm => self.fire(),
                Entry::Call(call) => self.calls.push(call),
                Entry::Collect(done) => {
                    let next = self.turn.place.machine.gc().next();
                    self.collection_asked.push((next, done));
                }
                Entry::Migrate(event, to) => self.wanted.push((event, to)),
                Entry::Retire => self.retiring = true,
                Entry::Batch(batch) if self.choices.is_some() => {
                    self.arrivals.extend(batch.split());
                }
                Entry::Batch(batch) => {
                    let turn = &mut self.turn;
                    let (counts, queue) = (&mut turn.counts, &mut turn.queue);
                    let scratch = &mut self.scratch;
                    // As in `unpack`.
                    let paper = turn.heap.insist(|heap| {
                        batch.unpack(heap, scratch, |target, message| {
                            counts.foreign_in += 1;
                            match message {
                                Some(message) => queue.push(target.0, message),
                                None => counts.aborts_no_memory += 1,
                            }
                        })
                    });
                    turn.place.machine.papers().give(paper);
                }
                Entry::Message(target, parcel) if self.choices.is_some() => {
                    self.arrivals.push_back((target, parcel));
                }
                Entry::Message(target, parcel) => self.accept(target, parcel),
            }
        }
        let left = taken + contents.places;
        contents.reset();
        self.contents = contents;
        let queued = self.turn.queue.len() + self.arrivals.len();
        self.turn.settle(queued, left);
        self.turn.place.machine.quiescence().done(outstanding);
    }

    /// Queues a message from outside.
    fn accept(&mut self, target: Target, parcel: Parcel) {
        self.turn.counts.foreign_in += 1;
        if let Some(message) = self.unpack(parcel) {
            self.turn.queue.push(target.0, message);
        }
    }

    /// Queues the next message from outside that waits for it; whether there was one.
    pub(crate) fn admit(&mut self) -> bool {
        let Some((target, parcel)) = self.arrivals.pop_front() else {
            return false;
        };
        self.accept(target, parcel);
        self.publish(0);
        true
    }

    /// The value of a parcel, in this thread's heap; given up when the memory is exhausted.
    fn unpack(&mut self, parcel: Parcel) -> Option<Value> {
        let mark = self.turn.heap.mark();
        let scratch = &mut self.scratch;
        // It was accepted, and charged for: nothing but the system can refuse it now.
        let value = self.turn.heap.insist(|heap| parcel.unpack(heap, scratch));
        if value.is_none() {
            self.turn.heap.rewind(mark);
            self.turn.counts.aborts_no_memory += 1;
            return None;
        }
        Some(value)
    }

    /// Fires what is due, if time passes by itself; otherwise whoever lets it pass rings.
    pub(crate) fn look_at_the_clock(&mut self) {
        let place = &self.turn.place;
        let (next, clock) = (place.station.timers.next(), place.machine.clock());
        if next < u64::MAX && clock.passes() && next <= clock.now() {
            self.fire();
        }
    }

    /// Turns due timers into events.
    fn fire(&mut self) {
        let place = &self.turn.place;
        let now = place.machine.clock().now();
        let mut due = std::mem::take(&mut self.due);
        place.station.timers.fire(now, &mut due);
        let before = self.turn.queue.mark();
        for timer in due.drain(..) {
            let message = match timer.message {
                Message::Value(message) => Some(message),
                Message::Parcel(parcel) => self.unpack(*parcel),
            };
            if let Some(message) = message {
                self.turn.send(timer.target, message);
            }
        }
        self.due = due;
        self.turn.counts.sends += self.turn.queue.pushed_since(&before) as u64;
        self.turn.count_staged();
        self.turn.tidy_up();
        if !self.turn.outside.is_empty() {
            self.commit_outside();
        }
    }

    /// Publishes what the thread has done.
    pub(crate) fn publish_counters(&mut self) {
        let turn = &mut self.turn;
        let queued = turn.queue.len() as u64;
        turn.counts.queue_high_water = turn.counts.queue_high_water.max(queued);
        turn.place.station.counters.publish(&turn.counts);
    }

    /// Publishes counters and what others may want to know before they ask for work.
    pub(crate) fn publish(&mut self, backlog: u64) {
        let now = Instant::now();
        self.turn.counts.busy_ns += (now - self.awake_since).as_nanos() as u64;
        self.awake_since = now;
        self.publish_counters();
        let turn = &mut self.turn;
        let queued = (turn.queue.len() + self.arrivals.len()) as u64;
        let station = &turn.place.station;
        station.queued.store(queued, Relaxed);
        station.backlog.store(backlog, Relaxed);
        station.grows.store(self.growth > 0, Relaxed);
        let core = cores::here();
        station
            .core
            .store(core, std::sync::atomic::Ordering::Relaxed);
        station
            .queue_bytes
            .store(turn.queue.bytes(), std::sync::atomic::Ordering::Relaxed);
        turn.settle(queued as usize, 0);
    }

    /// Goes to another core if it shares the one that it runs on for no reason.
    fn look_where(&mut self) {
        let station = &self.turn.place.station;
        let core = station.core.load(std::sync::atomic::Ordering::Relaxed);
        if self.spot.seen(core, self.awake_since) {
            station.parker.step_aside();
        }
    }

    /// Nothing is queued: asks siblings for work, spins briefly, then sleeps until something comes or a timer is
    /// due.
    fn idle(&mut self) {
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
        let nap = (place.machine.gc().phase() != Phase::None).then_some(NAP);
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

    fn sleep(&mut self, at_most: Option<Duration>) {
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

    /// Leaves this thread's own state to the collector while `stand` runs, in which the thread stands still, sleeps
    /// or collects itself. The pointer that the collector gets comes from this very borrow, and nothing else is used
    /// of it until `stand` has returned (invariant 5).
    pub(crate) fn stand_still<R>(&mut self, stand: impl FnOnce(&Place) -> R) -> R {
        let place = self.turn.place.clone();
        place.station.show(self);
        stand(&place)
    }

    /// The sponsor is removed: everything queued, waiting and armed goes to the first sponsor.
    pub(crate) fn retire(&mut self) {
        self.migrate();
        let place = self.turn.place.clone();
        let mut contents = Contents::default();
        place.station.inbox.close(&mut contents);
        self.show_unseen(&mut contents);
        let outstanding = contents.outstanding();
        while let Some(event) = self.turn.queue.pop() {
            contents.events.push(event);
        }
        let heir = place.machine.sponsors().first();
        let heir = heir.lead();
        self.turn
            .hand_over(heir, &mut contents.events, Waker::GoesOn);
        for entry in contents.entries.drain(..) {
            place.machine.push(heir, entry);
        }
        for (target, parcel) in self.arrivals.drain(..) {
            place.machine.push(heir, Entry::Message(target, parcel));
        }
        let serials = self.turn.timer_serial;
        heir.timers
            .adopt(&place.station.timers, place.station.number, serials);
        // It may sleep for longer than that.
        heir.wake();
        place.machine.quiescence().done(outstanding);
        self.flush();
    }
}

/// Begins, or comes back from sleep.
fn wake(place: &Place) {
    // Counted before it drains: quiescence.rs, invariant 1.
    place.machine.quiescence().add(1);
    place.station.presence.wake();
    place.station.waking.store(false, Relaxed);
    place.station.heed_summons();
    place.machine.safepoint().check_in(&place.station);
}

#[cfg(all(test, target_os = "linux", not(miri), not(loom)))]
mod tests {
    use super::*;
    use crate::inbox::Entry;
    use crate::spot::Cores;
    use crate::still::Still;

    #[test]
    fn a_thread_that_is_awake_is_counted_on_a_core() {
        let mut still = Still::new(1);
        let cores = Cores::of_a_test();
        still.thread.spot = Spot::among(cores);
        still.thread.stand_still(wake);
        let station = still.thread.turn.place.station.clone();
        let end = Entry::Call(Box::new(|thread| thread.turn.place.machine.stop()));
        assert!(station.push(end).is_ok());
        still.thread.dispatch();
        assert_eq!(cores.all_awake(), 1);
        still.thread.sleep(Some(Duration::ZERO));
        assert_eq!(cores.all_awake(), 0);
        still.machine.quiescence().done(1);
    }
}
