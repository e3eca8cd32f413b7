//! Where everything from elsewhere enters a dispatch thread: many senders, one thread that drains in batches.
//!
//! Invariants:
//! 1. What is pushed is in the inbox until the drain that returns it; entries of one sender keep their order.
//! 2. `pending` is set after a push and cleared before the contents are taken, so what a drain misses has
//!    `pending` set.
//! 3. A thread that is about to park says so in its presence first and looks at `pending` then; a sender sets
//!    `pending` first and looks at the presence then. Each has a sequentially consistent fence between its two
//!    steps, so one of the two sees the other: no wake-up is lost.
//! 4. A closed inbox takes nothing more; the sender gets its things back and finds another.
//! 5. What waits is charged to the machine's quota: messages from outside and from other machines only if there is room
//!    in it, all else in any case.
//! 6. Everything in it has a place in the sponsor's room (room.rs), which is looked up under the lock: so a thread
//!    that serves another sponsor than the one before it never gets that one's.
//! 7. What was there when a collection began is `unseen` until it is shown to it: by whoever takes it out, or by the
//!    collection itself at its end.
//! 8. While anything is in it, it counts as one thing to do (quiescence.rs): from before the first thing is in it until
//!    whoever has taken out everything says that it is done.
//! 9. `version` changes under the lock before an actor that the thread owns is given away or taken from it, and again
//!    afterwards: in between it is odd. An event for an actor that the thread owned when somebody read an even version
//!    enters only as long as that still holds; whoever is refused asks the record anew (giving.rs).
//!
//! Places and bytes are taken some messages ahead, and what is left of them goes back with the next drain: so a message
//! that follows others touches no count that is shared with the thread, whose cache line would have to come over.
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::base::ids::ThreadNumber;
use crate::base::quota::Quota;
use crate::base::sync::{
    fence, AcqRel, Acquire, Apart, AtomicBool, AtomicU64, Mutex, Release, SeqCst,
};
use crate::boundary::batch::Batch;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::{Refusal, Refused};
use crate::boundary::room::{Permit, Room};
use crate::threads::quiescence::Quiescence;
use crate::turns::queue::Event;
use crate::values::handles::Target;
use std::any::Any;
use std::mem::take;
use std::sync::Arc;

/// What enters besides the events of other threads.
pub(crate) enum Entry {
    /// A message from outside for an actor.
    Message(Target, Parcel),
    /// Many of them.
    Batch(Box<Batch>),
    /// A look at an actor between two of its turns.
    Inspect(Target, Call),
    /// The clock was moved by hand: fire what is due.
    Alarm,
    /// Something to do between two turns.
    Call(Call),
    /// Collect, whether it is due or not, then call.
    Collect(Done),
    /// The thread of that number wants to run the event, which is among the others, for an actor that this one owns.
    Migrate(Event, u16),
    /// What is queued for actors that were given to this thread: they are in transit until it takes this in.
    Given(Vec<Event>),
    /// The sponsor is removed: hand everything over and end.
    Retire,
}

/// How many places for messages from outside are taken at a time, and bytes.
const PLACES_AHEAD: usize = 16;
const BYTES_AHEAD: usize = 4 << 10;

/// What an entry is charged with: twice its size, for the room that the list of entries grows by.
const ENTRY_BYTES: usize = 2 * size_of::<Entry>();

impl Entry {
    /// What it is charged with, its parcel included.
    fn bytes(&self) -> usize {
        let parcel = match self {
            Entry::Message(_, parcel) => parcel.bytes(),
            Entry::Batch(batch) => batch.bytes(),
            Entry::Given(events) => size_of_val(events.as_slice()),
            _ => 0,
        };
        ENTRY_BYTES + parcel
    }

    /// What foreign values keep is of that, which takes no time to unpack.
    fn outside(&self) -> usize {
        match self {
            Entry::Message(_, parcel) => parcel.outside(),
            Entry::Batch(batch) => batch.outside(),
            _ => 0,
        }
    }
}

/// Something that a dispatch thread does for a caller outside, between two turns, with its own side: thread.rs makes it.
pub(crate) type Call = Box<dyn FnOnce(&mut dyn Any) + Send>;

/// Called when what was asked for is done.
pub(crate) type Done = Box<dyn FnOnce() + Send>;

/// Something in an inbox, shown to the collector.
pub(crate) enum Waiting<'a> {
    Event(Event),
    Entry(&'a Entry),
}

/// Things for which a list that has become empty keeps room.
const ROOM_KEPT: usize = 4096;

/// See `drain_little`.
const LITTLE: usize = 64;
const LITTLE_BYTES: usize = 64 << 10;

/// What a drain takes.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) events: Vec<Event>,
    pub(crate) entries: Vec<Entry>,
    /// Messages in batches, beyond one for each batch.
    pub(crate) more: usize,
    /// Messages whose senders would stand in (stand_in.rs).
    pub(crate) asked: usize,
    /// Invariant 7.
    pub(crate) unseen: bool,
    /// Places taken ahead, and not used.
    pub(crate) places: usize,
    /// What it is charged with, and how much of that was taken ahead and is not used.
    charged: usize,
    spare: usize,
}

impl Entry {
    /// How many things it counts as.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Entry::Batch(batch) => batch.len(),
            Entry::Given(events) => events.len(),
            _ => 1,
        }
    }
}

impl Contents {
    fn add(&mut self, entry: Entry) {
        self.more += entry.weight() - 1;
        self.entries.push(entry);
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.entries.len() + self.more
    }

    /// Shows everything.
    pub(crate) fn each(&self, mut show: impl FnMut(Waiting<'_>)) {
        for event in &self.events {
            show(Waiting::Event(*event));
        }
        for entry in &self.entries {
            show(Waiting::Entry(entry));
        }
    }

    /// Shows the first things, until they count as `n`; as how many they count, and all.
    fn first(&self, n: usize, mut show: impl FnMut(Waiting<'_>)) -> (usize, usize) {
        let events = self.events.iter().take(n);
        events.for_each(|event| show(Waiting::Event(*event)));
        let mut shown = self.events.len().min(n);
        for entry in &self.entries {
            let weight = entry.weight();
            if shown + weight > n {
                break;
            }
            show(Waiting::Entry(entry));
            shown += weight;
        }
        (shown, self.len())
    }

    /// Empty again: keeps no more room than is often needed.
    pub(crate) fn reset(&mut self) {
        let (mut events, mut entries) = (take(&mut self.events), take(&mut self.entries));
        events.clear();
        entries.clear();
        events.shrink_to(ROOM_KEPT);
        entries.shrink_to(ROOM_KEPT);
        *self = Contents {
            events,
            entries,
            ..Contents::default()
        };
    }

    /// How many messages from outside that nobody waits for, if these are few and there is nothing else.
    pub(crate) fn only_sent(&self) -> usize {
        let sent = |entry: &Entry| matches!(entry, Entry::Message(..));
        let few = self.asked == 0 && self.events.is_empty() && self.entries.len() <= LITTLE;
        match few && self.entries.iter().all(sent) {
            true => self.entries.len(),
            false => 0,
        }
    }

    /// How many things to do it counts as (invariant 8).
    pub(crate) fn outstanding(&self) -> usize {
        usize::from(self.len() > 0)
    }

    /// What it is charged with for what is in it.
    fn bytes(&self) -> usize {
        self.charged - self.spare
    }

    /// See `drain_little`. What foreign values keep is looked at only when it seems to be much.
    fn is_little(&self) -> bool {
        let outside = || self.entries.iter().map(Entry::outside).sum::<usize>();
        let few = self.len() <= LITTLE;
        few && (self.bytes() <= LITTLE_BYTES || self.bytes() - outside() <= LITTLE_BYTES)
    }
}

#[derive(Default)]
struct Inner {
    contents: Contents,
    room: Arc<Room>,
    closed: bool,
}

impl Inner {
    /// Takes a place for a message from outside, if there is one.
    fn enter(&mut self) -> bool {
        let places = &mut self.contents.places;
        if *places > 0 && self.room.enter_by_place(*places) {
            *places -= 1;
            return true;
        }
        match self.room.enter_ahead(PLACES_AHEAD) {
            0 => false,
            taken => {
                *places += taken - 1;
                true
            }
        }
    }

    /// Takes up to `n`; how many.
    fn enter_some(&mut self, n: usize) -> usize {
        let mut entered = 0;
        while entered < n && self.contents.places > 0 && self.enter() {
            entered += 1;
        }
        match n - entered {
            0 => n,
            others => entered + self.room.enter_some(others),
        }
    }
}

/// What a sender outside does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sender {
    /// Something else.
    GoesOn,
    /// It waits for what comes of the message, and would stand in for the thread (stand_in.rs).
    Waits,
}

/// Why events were not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotIn {
    /// The thread has ended.
    Closed,
    /// It may not own their actors any more.
    Moved,
}

/// What a thread that gives actors away has taken out of its inbox.
pub(crate) struct TakenOut {
    pub(crate) events: Vec<Event>,
    /// How many places in the room they had.
    pub(crate) places: usize,
    /// Whether nothing else was there.
    pub(crate) emptied: bool,
}

/// Whether whoever has put something in is to wake the thread if it sleeps: nobody has announced anything that is still to
/// be taken out.
pub(crate) type Wakes = bool;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Inbox {
    inner: Apart<Mutex<Inner>>,
    /// Looked at again and again by a thread that has nothing else to do.
    pending: Apart<AtomicBool>,
    /// Invariant 9.
    version: AtomicU64,
    quota: Arc<Quota>,
    quiescence: Arc<Quiescence>,
}

impl Inbox {
    pub(crate) fn new(quota: Arc<Quota>, quiescence: Arc<Quiescence>) -> Inbox {
        Inbox {
            quota,
            quiescence,
            ..Inbox::default()
        }
    }

    /// Adds an entry; gives it back when the inbox is closed.
    pub(crate) fn push(&self, entry: Entry) -> Result<Wakes, Entry> {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Err(entry);
        }
        self.add(&mut inner, entry);
        drop(inner);
        Ok(self.announce_pushed())
    }

    fn add(&self, inner: &mut Inner, entry: Entry) {
        inner.room.add(entry.weight());
        let bytes = entry.bytes();
        self.quota.take_anyway(bytes);
        inner.contents.charged += bytes;
        self.count(&inner.contents);
        inner.contents.add(entry);
    }

    /// Something is about to be put in (invariant 8).
    fn count(&self, contents: &Contents) {
        if contents.len() == 0 {
            self.quiescence.add(1);
        }
    }

    /// The same for a message from outside: only if there is room, unless the caller has waited for some. A permit that is
    /// left over is for the caller to drop, and so is what is given back.
    pub(crate) fn push_from_outside(
        &self,
        entry: Entry,
        permit: &mut Option<Permit>,
        sender: Sender,
    ) -> Result<Wakes, (Refused, Entry)> {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if inner.closed {
            return Err((Refused::Closed, entry));
        }
        let before = (inner.contents.charged, inner.contents.spare);
        if !self.charge(&mut inner.contents, entry.bytes()) {
            return Err((Refused::NoMemory, entry));
        }
        match permit.take() {
            Some(waited_for) => *permit = waited_for.use_in(&inner.room),
            None if inner.enter() => {}
            None => {
                // As if it had not come: there may be no drain to give anything back.
                self.quota.give(inner.contents.charged - before.0);
                (inner.contents.charged, inner.contents.spare) = before;
                let patient = inner.room.patient;
                drop(guard);
                return Err((Refused::Full { patient }, entry));
            }
        }
        self.count(&inner.contents);
        inner.contents.entries.push(entry);
        inner.contents.asked += (sender == Sender::Waits) as usize;
        drop(guard);
        Ok(self.announce_pushed())
    }

    /// The same for a message of another machine's turn: there need not be room for it, but memory.
    pub(crate) fn push_between(&self, entry: Entry) -> Result<Wakes, (Refused, Entry)> {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if inner.closed {
            return Err((Refused::Closed, entry));
        }
        if !self.charge(&mut inner.contents, entry.bytes()) {
            return Err((Refused::NoMemory, entry));
        }
        inner.room.add(1);
        self.count(&inner.contents);
        inner.contents.entries.push(entry);
        drop(guard);
        Ok(self.announce_pushed())
    }

    /// Charges the contents with so much more, if there is as much.
    fn charge(&self, contents: &mut Contents, bytes: usize) -> bool {
        if contents.spare < bytes {
            let ahead = bytes.max(BYTES_AHEAD);
            let taken = match self.quota.take(ahead) {
                true => ahead,
                false if self.quota.take(bytes) => bytes,
                false => return false,
            };
            contents.charged += taken;
            contents.spare += taken;
        }
        contents.spare -= bytes;
        true
    }

    /// The same for many: the first of them, as many as there is room for; how many, and why not the others. Gives them
    /// back when the inbox is closed.
    pub(crate) fn push_batch(
        &self,
        mut batch: Box<Batch>,
    ) -> Result<(usize, Option<Refusal>, Wakes), Box<Batch>> {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if inner.closed {
            return Err(batch);
        }
        let n = batch.len();
        let bytes = batch.bytes() + ENTRY_BYTES;
        if !self.quota.take(bytes) {
            return Ok((0, Some(Refusal::NoMemory), false));
        }
        let entered = inner.enter_some(n);
        let refused = (entered < n).then_some(Refusal::Full {
            patient: inner.room.patient,
        });
        if entered == 0 {
            self.quota.give(bytes);
            return Ok((0, refused, false));
        }
        batch.truncate(entered);
        let entry = Entry::Batch(batch);
        inner.contents.charged += entry.bytes();
        self.quota.give(bytes - entry.bytes());
        self.count(&inner.contents);
        inner.contents.add(entry);
        drop(guard);
        Ok((entered, refused, self.announce_pushed()))
    }

    /// Moves all of `events` in, of which there are some, if `version` still holds where one is given; otherwise leaves them.
    pub(crate) fn push_events(
        &self,
        events: &mut Vec<Event>,
        version: Option<u64>,
    ) -> Result<Wakes, NotIn> {
        let mut inner = self.inner.lock();
        self.admits(&inner, version)?;
        inner.room.add(events.len());
        let bytes = size_of_val(events.as_slice());
        self.quota.take_anyway(bytes);
        inner.contents.charged += bytes;
        self.count(&inner.contents);
        inner.contents.events.append(events);
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// Adds an event for an actor that another thread wants to run, if this one owned it at `version` and still does.
    pub(crate) fn push_wanted(
        &self,
        event: Event,
        by: ThreadNumber,
        version: u64,
    ) -> Result<Wakes, NotIn> {
        let mut inner = self.inner.lock();
        self.admits(&inner, Some(version))?;
        self.add(&mut inner, Entry::Migrate(event, by));
        inner.room.add(1);
        inner.contents.events.push(event);
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// Adds what is queued for actors that are given to this thread; `give` changes their records, under the lock: so
    /// whoever sees by the record that the thread owns an actor puts things in behind this.
    pub(crate) fn push_given(
        &self,
        events: Vec<Event>,
        give: impl FnOnce(&[Event]),
    ) -> Result<Wakes, Vec<Event>> {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Err(events);
        }
        give(&events);
        self.add(&mut inner, Entry::Given(events));
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// What its thread's actors were like at a moment (invariant 9).
    pub(crate) fn version(&self) -> u64 {
        // Acquire: what is read of a record afterwards is no older.
        self.version.load(Acquire)
    }

    fn admits(&self, inner: &Inner, version: Option<u64>) -> Result<(), NotIn> {
        let now = self.version();
        match version {
            _ if inner.closed => Err(NotIn::Closed),
            Some(version) if version != now || !now.is_multiple_of(2) => Err(NotIn::Moved),
            _ => Ok(()),
        }
    }

    /// Its thread begins to give actors away: the events for those, by `goes`, are taken out. Nothing if a collection has not seen them yet, or if one that somebody wants to run must wait.
    pub(crate) fn begin_giving(
        &self,
        goes: impl Fn(&Event) -> bool,
        must_wait: impl Fn(&Event) -> bool,
    ) -> Option<TakenOut> {
        let mut inner = self.inner.lock();
        let mut entries = inner.contents.entries.iter();
        let waits = |entry: &Entry| matches!(entry, Entry::Migrate(event, _) if must_wait(event));
        if inner.contents.unseen || entries.any(waits) {
            return None;
        }
        self.version.fetch_add(1, AcqRel);
        let was_empty = inner.contents.len() == 0;
        let contents = &mut inner.contents;
        let taken = contents.events.extract_if(.., |event| goes(event));
        let events: Vec<Event> = taken.collect();
        let stays = |entry: &Entry| !matches!(entry, Entry::Migrate(event, _) if goes(event));
        let asked = contents.entries.len();
        contents.entries.retain(stays);
        let asked = asked - contents.entries.len();
        let emptied = !was_empty && inner.contents.len() == 0;
        let places = events.len() + asked;
        Some(TakenOut {
            events,
            places,
            emptied,
        })
    }

    /// What was given is where it belongs, and so are those events that were taken out.
    pub(crate) fn end_giving(&self, taken: &TakenOut) {
        let inner = self.inner.lock();
        self.version.fetch_add(1, AcqRel);
        let room = inner.room.clone();
        drop(inner);
        room.leave(taken.places);
        if taken.emptied {
            self.quiescence.done(1);
        }
    }

    /// Lets `take` take an actor from its thread, which sleeps, unless something waits here.
    pub(crate) fn let_take(&self, take: impl FnOnce() -> bool) -> Option<bool> {
        let inner = self.inner.lock();
        if inner.contents.len() > 0 || !self.version().is_multiple_of(2) {
            return None;
        }
        self.version.fetch_add(1, AcqRel);
        let taken = take();
        self.version.fetch_add(1, AcqRel);
        Some(taken)
    }

    /// Makes the thread look for what was just pushed, unless that was seen to.
    fn announce_pushed(&self) -> Wakes {
        // Acquire: still set from before, it was not cleared since the push, for the lock orders a push and the clearing
        // before a drain that misses it. So the drain that takes what was pushed is still to come, and whoever set it
        // sees to the waking (invariant 3).
        let wakes = !self.pending.load(Acquire);
        if wakes {
            self.announce();
        }
        wakes
    }

    /// Makes the thread look, even if there is nothing.
    pub(crate) fn announce(&self) {
        // Release: whoever sees it set finds what was pushed.
        self.pending.store(true, Release);
        // The look at the presence that follows stays behind (invariant 3).
        fence(SeqCst);
    }

    /// Whether a drain may find something. Cheap enough to ask between turns.
    #[inline(always)]
    pub(crate) fn is_pending(&self) -> bool {
        // Acquire: pairs with the announcement. A stale `false` is corrected by a later look; the last look before
        // parking comes after a fence (invariant 3).
        self.pending.load(Acquire)
    }

    /// Whether events from other threads wait here; those of a thread that was seen asleep are among them.
    pub(crate) fn has_events(&self) -> bool {
        self.is_pending() && !self.inner.lock().contents.events.is_empty()
    }

    /// Swaps the contents with `into`, which is empty.
    pub(crate) fn drain(&self, into: &mut Contents) {
        // Cleared before the lock is taken: what is pushed after that sets it again (invariant 2). AcqRel on a swap,
        // so that the clearing cannot move behind the taking.
        self.pending.swap(false, AcqRel);
        std::mem::swap(&mut self.inner.lock().contents, into);
        self.taken(into);
    }

    fn taken(&self, contents: &mut Contents) {
        contents.spare = 0;
        self.quota.give(take(&mut contents.charged));
    }

    /// The same if it is little: what can be unpacked in some microseconds. Whether it was.
    pub(crate) fn drain_little(&self, into: &mut Contents) -> bool {
        let mut inner = self.inner.lock();
        if !inner.contents.is_little() {
            return false;
        }
        // As above: what is not taken here is pushed after the lock is free again, and sets it again.
        self.pending.swap(false, AcqRel);
        std::mem::swap(&mut inner.contents, into);
        drop(inner);
        self.taken(into);
        true
    }

    /// Lets nothing more in; what is there goes to `into`.
    pub(crate) fn close(&self, into: &mut Contents) {
        let mut inner = self.inner.lock();
        inner.closed = true;
        std::mem::swap(&mut inner.contents, into);
        self.taken(into);
    }

    /// Lets things in again, for the next thread of the same number.
    pub(crate) fn open(&self, room: &Arc<Room>) {
        let mut inner = self.inner.lock();
        inner.closed = false;
        inner.room = room.clone();
    }

    /// Shows everything that waits.
    pub(crate) fn each(&self, show: impl FnMut(Waiting<'_>)) {
        self.inner.lock().contents.each(show);
    }

    /// Shows the first things that wait, until they count as `n`; as how many they count, and all.
    pub(crate) fn first(&self, n: usize, show: impl FnMut(Waiting<'_>)) -> (usize, usize) {
        self.inner.lock().contents.first(n, show)
    }

    /// A collection begins (invariant 7).
    pub(crate) fn begin_collection(&self) {
        let mut inner = self.inner.lock();
        inner.contents.unseen = inner.contents.len() > 0;
    }

    /// How many things a collection has still to see here.
    pub(crate) fn unseen(&self) -> usize {
        let inner = self.inner.lock();
        if inner.contents.unseen {
            inner.contents.len()
        } else {
            0
        }
    }

    /// Shows what a collection has still to see.
    pub(crate) fn show_unseen(&self, show: impl FnMut(Waiting<'_>)) {
        let mut inner = self.inner.lock();
        if std::mem::take(&mut inner.contents.unseen) {
            inner.contents.each(show);
        }
    }

    /// How many things wait, and how many places are taken for more.
    pub(crate) fn figures(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.contents.len(), inner.contents.places)
    }
}
