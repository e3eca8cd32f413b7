//! Standing in: a caller that waits for an answer runs the turns that lead to it, in place of the sleeping thread; and a
//! caller that reports the end of a turn that was away commits it.
//!
//! Waking a thread, and being woken by it, takes ten to a hundred times as long as the turn between the two. A caller
//! outside that has nothing else to do before it is answered saves both. If the thread that its message enters by is
//! asleep, the caller is that thread for a moment (presence.rs), with its queue, its heap and its counters. Anything that
//! is more than a moment's work stays with the thread, which is then woken for it.
//!
//! Invariants:
//! 1. The state of a sleeping thread is touched by one stand-in at a time, and by no collector meanwhile: a stand-in
//!    begins with a compare-and-swap on the presence, and a collector waits until the thread is asleep or arrives
//!    (safepoint.rs).
//! 2. A stand-in counts as an awake thread as long as it is there (quiescence.rs). When it has gone, it looks for what
//!    has come in meanwhile, as a thread that falls asleep does (inbox.rs, invariant 3). If it leaves something to do, it
//!    leaves its count as well, once, until the thread has woken (`is_wanted`).
//! 3. It neither stays long nor needs much of the caller's stack. Its turns have little fuel, of which each call of the
//!    language takes one unit, and a primitive that would take more than is left is not begun, or ends soon
//!    (base/work.rs). A turn that takes longer than its fuel suggests ends at its next look around, as do all turns after
//!    it (turn/fuel.rs). Calls of native code nest no deeper than there is stack for; nothing else takes stack in
//!    proportion to what a turn does. A turn that needs more of any of these leaves nothing behind and stays first in the
//!    queue. So a thread that wakes meanwhile waits no longer than for a turn of its own, or some small ones.
//! 4. It hands on whatever it takes in before it leaves, or the thread is woken for that. This includes what comes
//!    between two of its batches, and what is for others (`owes`).
//! 5. It forgets everything that it has unpacked and made if nothing can have kept it, so a question leaves no garbage.
//!    Roots are states of actors, queues, timers and what other threads were given (gc/roots.rs). When no turn has
//!    touched any of these, no event has gone to another thread, and nothing waits, nothing new can be reached. If one
//!    actor has become, once, only the new state of that actor can be reached (kept.rs).
//! 6. It never sleeps, never collects, and never runs what callers want done between turns. Anything else that takes long
//!    stays with the thread as well: unpacking many or large messages, and turning large messages into terms that leave
//!    the machine. A turn that sends such a message is rolled back, like one that needs more fuel.
//! 7. For a thread whose turns are away, a stand-in commits the turns that have ended, and sends out those that may begin
//!    then. It runs none itself. Turns that would have to run once more, that have done much, or that are given much are
//!    left to the thread.
//! 8. The caller's own message need not go by the inbox: the stand-in brings it to the queue, if the thread has taken in
//!    everything that entered before it, and there is room and memory for it. A handle that is followed during a stand-in needs
//!    no other root: no collection begins before the stand-in has gone (invariant 1).
//! 9. A caller that sends while a stand-in is there does not wake the thread, and may wait for an answer. If the stand-in
//!    takes that message in, and anybody waits when it leaves, the thread is woken to see to it, and sleeps only for a
//!    moment as long as that happens again.
mod ends;
mod kept;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(any(miri, loom))))]
mod tests;

use crate::base::sync::{fence_behind_step, Relaxed};
use crate::boundary::parcel::Parcel;
use crate::heap::HeapPosition;
use crate::native::{LARGEST_BEHAVIOUR_FRAME, LARGEST_FRAME};
use crate::platform::stack;
use crate::terms::view::View;
use crate::threads::backlog::LONG;
use crate::threads::fault::Fault;
use crate::threads::presence::StandIn;
use crate::threads::shared::Machine;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::turns::marking::phase::Phase;
use crate::turns::queue::Event;
use crate::values::foreign::Class;
use crate::values::handles::{Key, Target};
use crate::values::term::Term;
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// The most fuel of a turn: some tens of microseconds, which is what waking the thread takes.
const MOST_FUEL: u64 = 16_384;
/// The least depth for which it is worth trying.
const LEAST_DEPTH: usize = 64;
/// Number of times that it takes in what has come whoever waits, and of small turns each time.
const ROUNDS: usize = 4;
const BATCH: u64 = 32;
/// Parts of terms that a turn may send to the outside, and bytes that count as one.
pub(crate) const MOST_SENT: usize = 256;
const BYTES_A_PART: usize = 64;
/// Bytes that a message may have to be brought: they are unpacked in some microseconds.
const MOST_BROUGHT: usize = 16 << 10;
/// One stand-in out of this many is measured, and its time counts for all of them: a look at the clock takes as long as a
/// small turn.
const MEASURED: u64 = 8;
/// Stack for everything that is not nested calls of the language.
const OTHER_FRAMES: usize = 256 << 10;
const _: () = assert!(LARGEST_BEHAVIOUR_FRAME <= OTHER_FRAMES / 2);

/// A caller that stands in, or would.
pub(crate) struct WaitingCaller<'a> {
    /// Depth to which calls may nest on its stack.
    depth: usize,
    /// Tells whether it has what it waits for.
    answered: &'a dyn Fn() -> bool,
    /// Time for which it has run long turns.
    ran: Cell<Duration>,
}

impl<'a> WaitingCaller<'a> {
    /// The calling thread; none if its stack is too small, or not known.
    pub(crate) fn here(answered: &'a dyn Fn() -> bool) -> Option<WaitingCaller<'a>> {
        let room = stack::left()?.checked_sub(OTHER_FRAMES)?;
        let depth = room / (LARGEST_FRAME + 16);
        (depth >= LEAST_DEPTH).then(|| WaitingCaller {
            depth,
            answered,
            ran: Cell::default(),
        })
    }

    /// Returns the time for which it has run long turns: nothing if all were short.
    pub(crate) fn ran(&self) -> Duration {
        self.ran.get()
    }
}

/// A message that a stand-in brings, and whom it is for. It stays where it is, for it is large. Where what comes in is noted, its record.
type Brought<'a> = (Target, &'a mut Option<Parcel>, Option<&'a [u8]>);

/// A thread's record of its stand-ins.
#[derive(Default)]
pub(crate) struct Lent {
    /// True while a stand-in runs this; true if it leaves something to do; and true if one that has gone has done so.
    pub(crate) stands_in: bool,
    pub(crate) postponed: bool,
    pub(crate) is_wanted: bool,
    /// True if stand-ins have taken in what others have sent, while somebody waits; and true if the thread sleeps no longer than it takes
    /// to look whether anybody still does (invariant 9).
    pub(crate) took_in: bool,
    pub(crate) watches: bool,
    /// Bytes of a journal that stand-ins have added and the thread has to write; and true if it sleeps no longer than these may wait
    /// (journaling.rs, invariant 7).
    pub(crate) unwritten: usize,
    pub(crate) writes: bool,
}

impl Machine {
    /// Stands in after a message for which the caller waits has entered there. If the thread sleeps, the caller runs the
    /// turns; otherwise the thread is awake or is woken.
    pub(crate) fn stand_in(&self, station: &Station, caller: &WaitingCaller<'_>) {
        let begin = |dispatch: &Dispatch| {
            let may = dispatch.away.is_none() && dispatch.net.is_none();
            // journaling.rs, invariant 7.
            let is_at_place = self.journal().is_none() || dispatch.turn.queue.is_empty();
            (may && is_at_place).then_some(())
        };
        let stand_in = station.presence.stand_in();
        let stood_in = self.stood_in(station, stand_in, begin, |dispatch, ()| {
            dispatch.stand_in(caller, None)
        });
        wake_if_needed(station, stood_in.unwrap_or(true));
    }

    /// Stands in for a message of the caller that has not entered and does not: the caller brings it to the thread's queue
    /// (invariant 8). Returns the message if it has to enter.
    pub(crate) fn bring(
        &self,
        station: &Station,
        target: Key,
        message: Parcel,
        record: Option<&[u8]>,
        caller: &WaitingCaller<'_>,
    ) -> Result<(), Parcel> {
        let bytes = message.bytes();
        let mut message = Some(message);
        let begin = |dispatch: &Dispatch| {
            let is_next = !station.inbox.is_pending() && dispatch.turn.queue.is_empty();
            if dispatch.away.is_some()
                || dispatch.net.is_some()
                || !is_next
                || record.is_some() != self.journal().is_some()
                || bytes > MOST_BROUGHT
                || !self.pool().quota.fits(bytes)
            {
                return None;
            }
            let sponsor = &dispatch.context.sponsor;
            if sponsor.removed.load(Relaxed) {
                // What the caller has sent before may have been turned away (inbox.rs, invariant 10).
                return None;
            }
            let actor = self.handles().follow(target)?;
            // SAFETY: invariant 8.
            let (pinned, way) = unsafe { ((*actor).header().pinned(), sponsor.entrance(actor)) };
            if way.number != station.number {
                // It has gone since that was noted.
                self.handles().note_thread(target, way.number);
                return None;
            }
            // A key that is kept from an earlier life (handles/kept.rs) may say another sponsor than the actor's.
            let target = (pinned == target.pinned()).then_some(Target(actor))?;
            sponsor.room.has_room().then_some(target)
        };
        let stand_in = station.presence.stand_in();
        let stood_in = self.stood_in(station, stand_in, begin, |dispatch, target| {
            dispatch.stand_in(caller, Some((target, &mut message, record)))
        });
        // Also where it has only been there: others that came meanwhile took it for the thread.
        wake_if_needed(station, stood_in.unwrap_or(false));
        message.map_or(Ok(()), Err)
    }

    /// Stands in, by `stand_in`. Returns whether there is more to do, as `act` says when it has done what there was to do. Returns nothing
    /// if it cannot stand in, or does not, as `begin` says.
    pub(crate) fn stood_in<B>(
        &self,
        station: &Station,
        stand_in: Option<StandIn<'_>>,
        begin: impl FnOnce(&Dispatch) -> Option<B>,
        act: impl FnOnce(&mut Dispatch, B) -> bool,
    ) -> Option<bool> {
        let stand_in = stand_in?;
        // As a thread that has just woken: safepoint.rs, invariant 2. The step is the one that stands in.
        fence_behind_step();
        if self.safepoint().is_wanted() || self.is_stopping() {
            return None;
        }
        // SAFETY: the thread is asleep in `stand_still`, and this is the only one who stands in for it (invariant 1).
        let dispatch = unsafe { &mut *Dispatch::shown_by(station)? };
        if !dispatch.may_be_stood_in_for() {
            return None;
        }
        let begun = begin(dispatch)?;
        let stay = self.quiescence().stand_in(station.number);
        let outcome = catch_unwind(AssertUnwindSafe(|| act(dispatch, begun)));
        let is_needed = *outcome.as_ref().unwrap_or(&true);
        let was_wanted = dispatch.lent.is_wanted;
        dispatch.lent.is_wanted |= is_needed;
        let fault = outcome.as_ref().err().map(|payload| {
            // As in thread.rs: before others can take over the actor.
            self.stop();
            let sponsor = dispatch.context.sponsor.name;
            Fault::of(&**payload, sponsor, dispatch.running_turn())
        });
        drop(stand_in);
        if let Some(fault) = fault {
            self.fault(fault);
        }
        let leaves = is_needed && !was_wanted;
        self.quiescence().stood_in(stay, leaves);
        Some(is_needed)
    }
}

/// Wakes the thread if it is needed. Whatever was announced a stand-in has taken, what is meant for the thread alone as well.
pub(crate) fn wake_if_needed(station: &Station, is_needed: bool) {
    if is_needed || station.inbox.is_pending() || station.summoned.load(Relaxed) {
        station.unpark_if_asleep();
    }
}

impl Dispatch {
    /// Returns whether there is nothing but turns to run.
    fn may_be_stood_in_for(&self) -> bool {
        let collects = self.context.machine.gc().phase() != Phase::None;
        self.idling.has_slept
            && !collects
            && !self.is_watched()
            && !self.context.machine.is_waited_for()
    }

    /// Runs turns as the stand-in. Returns whether there is more to do.
    fn stand_in(&mut self, caller: &WaitingCaller<'_>, brought: Option<Brought<'_>>) -> bool {
        self.turn.counts.stand_ins += 1;
        let is_measured = self.turn.counts.stand_ins.is_multiple_of(MEASURED);
        let begin = is_measured.then(Instant::now);
        self.turn.lend(MOST_FUEL, caller.depth);
        self.lent.stands_in = true;
        let before = (
            self.turn.heap.position(),
            self.footprints(),
            self.turn.counts.becomes,
        );
        let batch = std::mem::replace(&mut self.load.batch, BATCH);
        self.lent.postponed = false;
        let next_timer = self.context.station.timers.next();
        if let Some((target, message, record)) = brought {
            if record.is_none() {
                self.take_brought(target, message);
            } else if self.drain_noted_little(record) {
                self.surely(|thread| thread.take_brought(target, message));
            } else {
                self.lent.postponed = true;
            }
        }
        let mut round = 0;
        let mut since = None;
        while round < ROUNDS || self.stays_on(caller, &mut since) {
            round += 1;
            if self.context.station.inbox.is_pending() && !self.drain_little() {
                self.lent.postponed = true;
            }
            let over = self.turn.queue.is_empty() || self.lent.postponed || self.has_other_duties();
            if !over {
                self.run_batch();
            }
            self.hand_over_all();
            self.turn.savepoint.queue = self.turn.queue.position();
            if over {
                break;
            }
        }
        self.forget(&before);
        if let Some(begin) = begin {
            self.turn.counts.busy_ns += MEASURED * begin.elapsed().as_nanos() as u64;
        }
        self.publish_all_but_time(0);
        self.tell_of_work();
        self.load.batch = batch;
        let longer = since.map_or(Duration::ZERO, |since| since.elapsed());
        caller.ran.set(self.turn.take_back().max(longer));
        // The thread sleeps until the timer that was the next one.
        self.lent.postponed |= self.context.station.timers.next() < next_timer;
        let is_needed = self.is_needed() || !(caller.answered)();
        self.lent.stands_in = false;
        is_needed
    }

    /// Returns whether to run more turns than a stand-in always may: while waking the thread would take longer, since `since`, as
    /// long as the caller has to wait, and neither the thread nor a collector does.
    fn stays_on(&self, caller: &WaitingCaller<'_>, since: &mut Option<Instant>) -> bool {
        let station = &self.context.station;
        let waited_for = station.presence.is_waited_for();
        if waited_for || self.context.machine.safepoint().is_wanted() || (caller.answered)() {
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() < station.parker.waking.expected()
    }

    /// Forgets what was made since that position, where the thread had these footprints and becomes, if that can be (invariant 5).
    fn forget(&mut self, (position, footprints, becomes): &(HeapPosition, u64, u64)) {
        if self.footprints() != *footprints || !self.holds_nothing() {
            return;
        }
        let turn = &mut self.turn;
        match turn.counts.becomes - becomes {
            0 => turn.heap.rewind(position),
            1 => {
                // SAFETY: it has run a turn, and no collection has begun since.
                let actor = unsafe { &*turn.became };
                let behaviour = turn.around.program.behaviour(actor.header().behaviour());
                // Any thread may run turns of a safe one, and read what it holds.
                if !behaviour.safe {
                    let captures = behaviour.captures as usize;
                    kept::forget_all_but(&mut turn.heap, position, actor, captures);
                }
            }
            _ => {}
        }
    }

    /// Returns a sum that changes when a turn leaves something where a collection would find it, or hands it to another
    /// thread. What an actor becomes does not count. An actor that was created is known to others if it is to be of any use.
    /// The parts only grow, so their sum says whether one has changed.
    fn footprints(&self) -> u64 {
        self.turn.counts.creates + self.turn.timer_serial + self.turn.leaving.gone
    }

    /// Returns whether nothing waits here for a turn, or for anything between two turns.
    fn holds_nothing(&self) -> bool {
        self.is_done()
            && !self.lent.postponed
            && self.seeded.arrivals.is_empty()
            && !self.has_other_duties()
    }

    /// Returns whether what a turn of a stand-in sends to the outside is more than a moment's work.
    pub(crate) fn sends_too_much(&self) -> bool {
        let outgoing = self.turn.at_commit.outgoing.iter();
        !is_little(outgoing.map(|sent| Term::new(sent.message)))
    }

    /// Returns whether a stand-in has met work that takes longer than it may.
    pub(crate) fn leaves_to_thread(&self) -> bool {
        self.lent.stands_in && self.lent.postponed
    }

    /// A turn is to run from its beginning, when others see to the queue.
    pub(crate) fn postpone(&mut self, event: Event) -> u64 {
        self.turn.undo();
        let away = self.away.as_mut();
        // What waits for its actor is not to overtake it.
        if !away.is_some_and(|away| away.precede(&[event])) {
            // If the turn has given something, or tried to, the place that the event had is gone.
            self.turn.queue.prepend(&[event]);
            self.seeded.senders.precede(1);
        }
        self.lent.postponed = true;
        LONG
    }

    /// Returns whether the thread has to wake to see whether somebody waits in vain (invariant 9).
    fn has_to_watch(&mut self) -> bool {
        self.lent.took_in = self.lent.took_in && self.until_look().is_some();
        self.lent.took_in && !self.lent.watches
    }

    /// Returns whether the thread has to wake for what its stand-in leaves.
    fn is_needed(&mut self) -> bool {
        self.has_to_watch()
            || self.lent.unwritten > 0 && !self.lent.writes
            || self.lent.is_wanted
            || self.lent.postponed
            || !(self.turn.queue.is_empty() || self.is_full_away())
            || self.owes()
            || self.has_other_duties()
            // The thread has set a time for a long rest.
            || self.is_collection_wanted()
            // It sleeps without a thought of a collection that this may have made worth while.
            || self.away.is_some() && self.is_done() && self.would_collect()
            || self.forgot_long_rest()
    }
}

/// Returns whether it is a moment's work to write all of them for the outside.
pub(crate) fn is_little<'m>(mut terms: impl Iterator<Item = Term<'m>>) -> bool {
    let mut left = MOST_SENT;
    terms.all(|term| is_small(term, &mut left))
}

/// Returns whether a term has no more parts than are left, and takes them off. A term that cannot be looked into may be of
/// any size.
pub(crate) fn is_small(term: Term<'_>, left: &mut usize) -> bool {
    let (mut next, mut terms) = (Some(term), Vec::new());
    while let Some(term) = next {
        let parts = match term.view() {
            View::Cons(head, tail) => {
                terms.extend([head, tail]);
                1
            }
            View::Tuple(elements) if elements.len() <= *left => {
                terms.extend(elements.iter());
                1
            }
            View::Map(map) if map.len() <= *left => {
                terms.extend(map.iter().flat_map(|(key, value)| [key, value]));
                1
            }
            View::Function(function) if function.captures.len() <= *left => {
                terms.extend(function.captures.iter());
                1
            }
            View::Bytes(bytes) => 1 + bytes.len() / BYTES_A_PART,
            View::Bits(bits) => 1 + bits.bytes() / BYTES_A_PART,
            View::Big(big) => 1 + size_of_val(big.limbs()) / BYTES_A_PART,
            View::Tuple(_) | View::Function(_) | View::Map(_) => return false,
            View::Foreign(foreign) => match foreign.class() {
                Class::Reference | Class::Timer | Class::Port | Class::Address | Class::Pid => 1,
                _ => return false,
            },
            _ => 1,
        };
        if parts > *left {
            return false;
        }
        *left -= parts;
        next = terms.pop();
    }
    true
}
