//! A dispatch thread: takes events and runs turns, batch after batch. What comes in (thread/intake.rs), what it does
//! without events (thread/idle.rs) and how it ends (thread/ending.rs) are beside this.
//!
//! Invariants:
//! 1. Between turns nothing is staged (turn.rs), and only between turns does the thread drain, fire timers, run
//!    calls from outside and stop.
//! 2. A panic is caught at the turn boundary; the thread then reports the fault and ends without another turn.
//! 3. A thread falls asleep only with an empty queue and nothing to forward (`owes`); asleep, it touches no actor. If a
//!    stand-in (stand_in.rs) leaves anything in the queue, the thread is woken for it.
//! 4. A thread that ends gives its heap to the machine: others may hold what is in it (thread/ending.rs).
//! 5. While it stands still or sleeps, a thread does not touch its own state. The collector may touch it then and, while
//!    the thread sleeps, so may a stand-in (`stand_still`).
mod ending;
pub(crate) mod idle;
mod intake;
mod seen;
pub(crate) mod watched;

use crate::base::counters::Counts;
use crate::base::ids::ThreadNumber;
use crate::base::sync::Relaxed;
use crate::boundary::timers::Timer;
use crate::boundary::turn_away::TurnEnd;
use crate::code::program::BehaviourCode;
use crate::heap::pace::Stress;
use crate::platform::cores;
use crate::threads::away::Away;
use crate::threads::backlog::{Backlog, TurnBatch, LONG};
use crate::threads::fault::Fault;
use crate::threads::inbox::{Contents, Done, ThreadTask};
use crate::threads::net::own::Net;
use crate::threads::seeded::SeededThread;
use crate::threads::shared::Machine;
use crate::threads::stand_in::Lent;
use crate::threads::starved::Starved;
use crate::threads::station::Station;
use crate::threads::thread_context::ThreadContext;
use crate::turns::given_back::GivenBack;
use crate::turns::interpreter::Interpreter;
use crate::turns::marking::phase::Phase;
use crate::turns::queue::Event;
use crate::turns::taken_up::TakenUp;
use crate::turns::turn::Turn;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::watching::watch::Watch;
use idle::Idling;
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// Cost of the turns between two looks at inbox, timers, requests and the stop flag, in small turns.
pub(crate) const BATCH: u64 = 512;
/// Distances ahead at which the records of coming targets are fetched into the cache, and their captures. The last one is for
/// what lies behind the first words of a map. That is for an actor that has captured nothing else, as a directory's shard has.
const PREFETCH_ACTOR: usize = 32;
const PREFETCH_CAPTURES: usize = 16;
const PREFETCH_MAP: usize = 8;
/// The number of batches in which maps are fetched after an actor with such a map was seen: between the messages to shards come
/// those that the shards have passed on.
const BATCHES_WITH_MAPS: u32 = 64;

/// The state of one dispatch thread.
pub(crate) struct Dispatch {
    pub(crate) context: ThreadContext,
    pub(crate) turn: Turn,
    pub(crate) interpreter: Interpreter,
    /// The behaviour and the message of the turn that runs, if it is not native code alone that does: that cannot panic.
    pub(crate) running: Option<(*const BehaviourCode, Value)>,
    pub(crate) load: Load,
    pub(crate) duties: Duties,
    intake: Intake,
    pub(crate) idling: Idling,
    pub(crate) lent: Lent,
    pub(crate) seeded: SeededThread,
    /// Its counts when its journal began (journaling.rs).
    pub(crate) journaled: Counts,
    /// Turns at the last entry of its journal.
    pub(crate) entered_at: u64,
    /// The watches that count this thread's turns.
    pub(crate) watches: Vec<Watch>,
    /// The turns that are away, in a sponsor whose turns run outside (away.rs).
    pub(crate) away: Option<Box<Away>>,
    pub(crate) taken_up: TakenUp,
    pub(crate) given_back: GivenBack,
    pub(crate) starved: Starved,
    /// Its sockets, if it is of an I/O sponsor (net/).
    pub(crate) net: Option<Box<Net>>,
}

/// The amount of work that a thread has.
pub(crate) struct Load {
    /// [`BATCH`], or less while marking is late; one turn under stress, so that a collection can come between any two.
    pub(crate) batch: u64,
    pub(crate) backlog: Backlog,
    /// Growth of the queue in the last batch (backlog.rs).
    pub(crate) growth: i64,
    /// Number of further batches in which maps are fetched into the cache.
    with_maps: u32,
    /// The time up to which the counters include its time.
    pub(crate) awake_since: Instant,
}

/// Duties of a thread between two turns.
#[derive(Default)]
pub(crate) struct Duties {
    pub(crate) retiring: bool,
    tasks: Vec<ThreadTask>,
    /// Turns that were away, and have ended (away.rs).
    pub(crate) ended: VecDeque<TurnEnd>,
    /// The callers that asked for a collection: to be called when the collection of that number is over.
    pub(crate) collections: Vec<(u64, Done)>,
    /// Tasks that begin at the moment at which a collection does.
    pub(crate) moments: VecDeque<AtMoment>,
}

/// Looks at a machine that stands still, and its threads, before a collection begins. What it returns is called when the threads
/// go on, and sees to it that the collection does (`Phase::Saving`).
pub(crate) type AtMoment =
    Box<dyn for<'m> FnOnce(&'m Machine, &mut Vec<&'m mut Dispatch>) -> Box<dyn FnOnce()> + Send>;

/// Room that is used again each time something comes in; empty in between.
#[derive(Default)]
struct Intake {
    contents: Contents,
    scratch: Vec<Value>,
    /// Timers that fire.
    due: Vec<Timer>,
}

/// Makes a task that a thread does between two turns.
pub(crate) fn task(act: impl FnOnce(&mut Dispatch) + Send + 'static) -> ThreadTask {
    Box::new(|own| act(own.downcast_mut().expect("a thread's own side")))
}

// SAFETY: `running` is only set while the owning thread runs a turn.
unsafe impl Send for Dispatch {}

impl Dispatch {
    /// Returns the dispatcher of a station's thread; none before and after its life. Valid while the thread sleeps or stands still.
    pub(crate) fn shown_by(station: &Station) -> Option<*mut Dispatch> {
        station.own_side().map(|own| own.cast())
    }

    pub(crate) fn new(context: ThreadContext, turn: Turn, interpreter: Interpreter) -> Dispatch {
        let stress = context.machine.pool().pace.config.stress;
        let batch = if stress == Stress::Off { BATCH } else { 1 };
        let quota = &context.machine.pool().quota;
        let most_away = context.sponsor.most_away;
        let away = most_away.map(|most| Box::new(Away::new(most, quota.clone())));
        Dispatch {
            context,
            turn,
            interpreter,
            running: None,
            load: Load {
                batch,
                backlog: Backlog::new(),
                growth: 0,
                with_maps: 0,
                awake_since: Instant::now(),
            },
            duties: Duties::default(),
            intake: Intake::default(),
            idling: Idling::default(),
            lent: Lent::default(),
            seeded: SeededThread::default(),
            journaled: Counts::default(),
            entered_at: 0,
            watches: Vec::new(),
            away,
            taken_up: TakenUp::default(),
            given_back: GivenBack::default(),
            starved: Starved::default(),
            net: None,
        }
    }

    /// Runs until the machine stops, the sponsor is removed or a turn panics; `bound`: to a core.
    pub(crate) fn run(mut self, bound: bool) {
        let context = self.context.clone();
        let poller = self.net.as_ref().map(|net| net.sockets.poller.clone());
        context.station.parker.open(bound, poller);
        self.stand_still(idle::wake);
        self.turn.heap.join_collection();
        self.join_watches();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.dispatch()));
        let fault = outcome.err().map(|payload| {
            // Before others can take over an actor whose turn is neither done nor undone.
            context.machine.stop();
            Fault::of(&*payload, context.sponsor.name, self.running_turn())
        });
        self.leave();
        if let Some(fault) = fault {
            context.machine.fault(fault);
        }
        context.machine.quiescence().done(1);
    }

    fn dispatch(&mut self) {
        // Whether it has worked since the last batch: looks at flags take no time, looks at the clock do.
        let mut has_worked = true;
        while !self.context.machine.is_stopping() {
            if self.context.machine.gc().holds_turns() {
                self.wait_for_memory();
                has_worked = true;
            }
            if self.context.station.inbox.is_pending() {
                self.drain();
                has_worked = true;
            }
            if self.duties.retiring {
                self.run_tasks();
                return self.retire();
            }
            self.look_at_the_clock();
            self.look_at_sockets();
            self.take_up_held();
            if self.context.gathers() {
                // Before they run: their actors would send from here.
                let position = self.turn.queue.position();
                self.turn.savepoint.queue = position;
                self.context.gather(&mut self.turn);
            }
            let begin = match has_worked && self.has_siblings() {
                true => Instant::now(),
                false => self.load.awake_since,
            };
            let batch = self.run_moments();
            self.flush_sockets();
            let end = Instant::now();
            self.idling.rests &= batch.turns == 0;
            let backlog = self.estimate(&batch, end - begin);
            has_worked = self.hand_over_all() || self.collects();
            self.publish_at(end, backlog);
            self.look_where();
            let position = self.turn.queue.position();
            self.turn.savepoint.queue = position;
            self.context.learn_about_sharing(&mut self.turn, end);
            self.context.share_some(&mut self.turn, backlog);
            self.attend();
            if self.turn.queue.is_empty() || self.is_full_away() {
                self.idle();
            } else if self.is_paused() {
                self.stay();
            }
        }
        self.end_journal();
    }

    /// Does what there is to do between two batches. What was outside is committed when turns run again: for want of memory it
    /// would be lost, as it cannot run twice.
    pub(crate) fn attend(&mut self) {
        self.keep_house();
        self.wait_for_memory();
        self.run_tasks();
    }

    /// Stands still for a collection, or makes one if it is due. Returns whether there was anything to do for one.
    pub(crate) fn keep_house(&mut self) -> bool {
        if self.context.machine.safepoint().is_wanted() {
            self.stand_still(|context| context.machine.safepoint().arrive(&context.station));
        }
        let collected = self.collect_a_little();
        self.look_for_memory();
        let gc = self.context.machine.gc();
        let over = |asked: &mut (u64, Done)| gc.is_over(asked.0);
        let told: Vec<_> = self.duties.collections.extract_if(.., over).collect();
        told.into_iter().for_each(|(_, done)| done());
        collected
    }

    fn has_siblings(&self) -> bool {
        self.context.sponsor.shares()
    }

    fn collects(&self) -> bool {
        self.context.machine.gc().phase() != Phase::None
    }

    /// Hands over what others want, and what is theirs. Returns whether there was anything.
    pub(crate) fn hand_over_all(&mut self) -> bool {
        self.owes() && {
            self.migrate();
            self.flush()
        }
    }

    /// Returns whether it has something that others want, or that is theirs.
    pub(crate) fn owes(&self) -> bool {
        !self.turn.leaving.is_empty()
    }

    /// Returns whether nothing is here that any of its actors has to do, or has sent.
    pub(crate) fn is_done(&self) -> bool {
        self.turn.queue.is_empty() && !self.owes() && !self.is_anybody_away()
    }

    /// Returns the number of events that wait here, or for an actor that is away.
    pub(crate) fn waiting(&self) -> usize {
        let away = self.away.as_ref().map_or(0, |away| away.waiting());
        self.turn.queue.len() + self.seeded.arrivals.len() + away
    }

    /// Returns whether it has duties between two turns.
    pub(crate) fn has_other_duties(&self) -> bool {
        let Duties {
            retiring,
            tasks,
            ended,
            collections,
            moments: _,
        } = &self.duties;
        *retiring || !tasks.is_empty() || !ended.is_empty() || !collections.is_empty()
    }

    /// Does what callers want done between two turns, and ends turns that were away.
    pub(crate) fn run_tasks(&mut self) {
        self.end_turns(|_, _| true);
        for task in std::mem::take(&mut self.duties.tasks) {
            task(self);
        }
    }

    /// Runs turns for a batch.
    pub(crate) fn run_batch(&mut self) -> TurnBatch {
        if self.starved.awaits_collection() || self.context.machine.gc().holds_turns() {
            return TurnBatch::default();
        }
        if self.away.is_some() {
            return self.run_batch_away();
        }
        if self.is_watched() {
            return self.run_watched_batch();
        }
        self.run_plain_batch()
    }

    /// Runs turns for a batch that nobody looks at.
    #[inline(always)]
    pub(crate) fn run_plain_batch(&mut self) -> TurnBatch {
        self.taken_up.begin();
        let me = self.context.station.number;
        self.turn.leaving.look_again();
        let before = self.turn.queue.len();
        self.look_for_maps(me);
        // What came in between was accepted before.
        self.turn.queue.forgive();
        // Local variables, so that they stay in registers.
        let maps = self.load.with_maps > 0;
        let (mut turns, mut units, mut last) = (0, 0, 0);
        while units < self.load.batch && last < LONG {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            self.prefetch();
            if maps {
                self.prefetch_map(me);
            }
            // SAFETY: targets of queued events are live actors.
            let mine = || unsafe { (*event.target).header() }.is_run_by(me);
            last = match event.target != self.turn.leaving.elsewhere.0 && mine()
                || self.comes_here(event)
            {
                true => self.turn_of(event),
                false => 1,
            };
            units += last;
            turns += 1;
        }
        self.turn.actor = std::ptr::null();
        self.taken_up.end();
        TurnBatch {
            turns,
            units,
            last,
            queued: before,
        }
    }

    /// The nanoseconds that the rest of the queue will take, after a batch that took that long; 0 where nobody could
    /// help.
    fn estimate(&mut self, batch: &TurnBatch, took: Duration) -> u64 {
        let queued = self.turn.queue.len();
        self.load.growth = batch.growth(queued);
        if !self.has_siblings() {
            return 0;
        }
        let backlog = self
            .load
            .backlog
            .after(batch, took.as_nanos() as u64, queued);
        self.turn.fuel.long_turn = self.load.backlog.long_turn();
        self.turn.leaving.goes_round = self.load.backlog.goes_round(queued);
        backlog
    }

    /// An event whose actor is not this thread's, as far as its record says: whether it runs here all the same.
    #[cold]
    #[inline(never)]
    pub(crate) fn comes_here(&mut self, event: Event) -> bool {
        self.turn.actor = std::ptr::null();
        if event.target == self.turn.leaving.elsewhere.0 {
            self.context.forward_again(&mut self.turn, event);
            return false;
        }
        self.context.route(&mut self.turn, event)
    }

    #[inline(always)]
    fn prefetch(&mut self) {
        let ahead = self.turn.queue.ahead(PREFETCH_CAPTURES, PREFETCH_ACTOR);
        let Some((near, far)) = ahead else { return };
        let elsewhere = self.turn.leaving.elsewhere.0;
        if far.target != elsewhere {
            crate::platform::prefetch::prefetch(far.target.cast());
        }
        if near.target != elsewhere {
            // SAFETY: targets of queued events are live.
            unsafe { prefetch_captures(near.target) };
        }
    }

    /// Looks whether maps are worth fetching: one event of a batch tells.
    fn look_for_maps(&mut self, me: ThreadNumber) {
        match self.map_ahead(me) {
            Some(_) => self.load.with_maps = BATCHES_WITH_MAPS,
            None => self.load.with_maps = self.load.with_maps.saturating_sub(1),
        }
    }

    /// Fetches all of a coming target's map, if it is a leaf: what is looked for is in its keys, and then in its items. Not in
    /// line: most batches have no such map, and their loop is to stay short.
    #[inline(never)]
    fn prefetch_map(&mut self, me: ThreadNumber) {
        let Some(map) = self.map_ahead(me) else {
            return;
        };
        for line in map.map_lines() {
            crate::platform::prefetch::prefetch(line);
        }
    }

    /// The one value that a coming target has captured, if that is a map without inner nodes.
    #[inline(always)]
    fn map_ahead(&mut self, me: ThreadNumber) -> Option<Value> {
        let (next, _) = self.turn.queue.ahead(PREFETCH_MAP, PREFETCH_ACTOR)?;
        if next.target == self.turn.leaving.elsewhere.0 {
            return None;
        }
        // SAFETY: targets of queued events are live.
        let actor = unsafe { &*next.target };
        let header = actor.header();
        // Nobody else changes it meanwhile.
        if !header.is_run_by(me) {
            return None;
        }
        let state = actor.state();
        if !state.is_boxed() || state.word() == 0 {
            return None;
        }
        let captures = self
            .turn
            .around
            .program
            .behaviour(header.behaviour())
            .captures;
        // In this order: the state of an actor with more captures is the place of a row, and no value.
        (captures == 1 && state.is_map_leaf()).then_some(state)
    }

    /// Publishes what the thread has done.
    pub(crate) fn publish_counters(&mut self) {
        let turn = &mut self.turn;
        let queued = turn.queue.len() as u64;
        turn.counts.queue_high_water = turn.counts.queue_high_water.max(queued);
        self.context.station.counters.publish(&turn.counts);
    }

    /// Publishes counters, and that nobody need ask for work.
    pub(crate) fn publish(&mut self) {
        self.publish_at(Instant::now(), 0);
    }

    /// Publishes counters and what others may want to know before they ask for work, as of now.
    pub(crate) fn publish_at(&mut self, now: Instant, backlog: u64) {
        self.turn.counts.busy_ns += (now - self.load.awake_since).as_nanos() as u64;
        self.load.awake_since = now;
        self.publish_all_but_time(backlog);
    }

    /// Publishes the same as [`Dispatch::publish_at`], without a look at the clock.
    pub(crate) fn publish_all_but_time(&mut self, backlog: u64) {
        self.publish_counters();
        let queued = self.waiting() as u64;
        let turn = &mut self.turn;
        let station = &self.context.station;
        station.queued.store(queued, Relaxed);
        station.backlog.store(backlog, Relaxed);
        station.grows.store(self.load.growth > 0, Relaxed);
        station.worked.store(self.load.backlog.worked(), Relaxed);
        let core = cores::here();
        station
            .core
            .store(core, std::sync::atomic::Ordering::Relaxed);
        station
            .queue_bytes
            .store(turn.queue.bytes(), std::sync::atomic::Ordering::Relaxed);
        station
            .room
            .store(turn.heap.room(), std::sync::atomic::Ordering::Relaxed);
        self.context.recount_places(turn, queued as usize, 0);
    }

    /// Goes to another core if it shares the one that it runs on for no reason.
    fn look_where(&mut self) {
        let station = &self.context.station;
        let core = station.core.load(std::sync::atomic::Ordering::Relaxed);
        if self.idling.core.seen(core, self.load.awake_since) {
            station.parker.step_aside();
        }
    }

    /// Leaves this thread's own state to the collector while `stand` runs, in which the thread stands still, sleeps
    /// or collects itself. The pointer that the collector gets comes from this very borrow, and nothing else is used
    /// of it until `stand` has returned (invariant 5).
    pub(crate) fn stand_still<R>(&mut self, stand: impl FnOnce(&ThreadContext) -> R) -> R {
        let context = self.context.clone();
        self.show();
        stand(&context)
    }

    /// Shows this thread's own side to the collector: good until it is used again.
    pub(crate) fn show(&mut self) {
        let station = self.context.station.clone();
        station.show((self as *mut Dispatch).cast());
    }
}

/// Asks for what an actor has captured.
///
/// # Safety
/// The actor is live.
#[inline(always)]
unsafe fn prefetch_captures(actor: *const Actor) {
    // SAFETY: the caller's. Whatever the state is, a prefetch of it cannot fault.
    let state = unsafe { (*actor).state() };
    crate::platform::prefetch::prefetch(state.word() as *const u8);
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests;
