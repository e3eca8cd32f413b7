//! A dispatch thread as the others see it, and the machine's register of them.
//!
//! Numbers of ended threads are reused: the new thread then owns what the old one owned.
use crate::base::counters::{Counters, Counts};
use crate::base::ids::ThreadNumber;
use crate::base::quota::Quota;
use crate::base::sync::{AcqRel, Acquire, AtomicBool, AtomicU64, CachePadded, Relaxed, RwLock};
use crate::boundary::room::Room;
use crate::boundary::timers::Timers;
use crate::platform::cores::{self, NOWHERE};
use crate::threads::inbox::{Entry, Inbox, NotIn, Wakes};
use crate::threads::parker::{Parker, Waker};
use crate::threads::presence::Presence;
use crate::threads::quiescence::Quiescence;
use crate::threads::request::Request;
use crate::turns::queue::Event;
use crate::values::actor::SponsorId;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;

/// A thread's own side, for holders that never look into it: a `Dispatch` (thread.rs).
pub(crate) enum OwnSide {}

/// The public side of one thread. The parts that others write are on cache lines of their own.
#[repr(align(128))]
pub(crate) struct Station {
    pub(crate) number: ThreadNumber,
    /// The number of the thread's sponsor.
    sponsor: AtomicU16,
    pub(crate) presence: CachePadded<Presence>,
    pub(crate) inbox: Inbox,
    pub(crate) timers: Arc<Timers>,
    pub(crate) request: CachePadded<Request>,
    /// Work was given to this thread in its sleep, and it has not woken yet: a hint.
    pub(crate) waking: AtomicBool,
    /// The thread is to look around, and not only for what is in its inbox.
    pub(crate) summoned: AtomicBool,
    /// Estimated nanoseconds of queued work; written by the thread, a hint to others.
    pub(crate) backlog: AtomicU64,
    /// Events in the queue; as above.
    pub(crate) queued: AtomicU64,
    pub(crate) queue_bytes: AtomicUsize,
    /// Bytes that the thread's allocator has been given and not used yet, as of its last batch.
    pub(crate) room: AtomicUsize,
    /// Nanoseconds of turns so far, of a thread with siblings (backlog.rs).
    pub(crate) worked: AtomicU64,
    /// True if there were more of them after the last batch than before; as above.
    pub(crate) grows: AtomicBool,
    /// The core that runs the thread, as of its last batch: a hint.
    pub(crate) core: AtomicU32,
    /// Sockets that the thread has, or is about to have.
    pub(crate) sockets: AtomicUsize,
    pub(crate) counters: Counters,
    pub(crate) parker: Parker,
    /// The thread's own side, good for the collector while the thread stands still; null before and after its life.
    own: AtomicPtr<OwnSide>,
}

impl Station {
    fn new(number: ThreadNumber, quota: &Arc<Quota>, quiescence: &Arc<Quiescence>) -> Station {
        Station {
            number,
            sponsor: AtomicU16::new(0),
            presence: CachePadded(Presence::new()),
            inbox: Inbox::new(quota.clone(), quiescence.clone()),
            timers: Arc::new(Timers::new(number, quota.clone())),
            request: CachePadded(Request::new()),
            waking: AtomicBool::new(false),
            summoned: AtomicBool::new(false),
            backlog: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            queue_bytes: AtomicUsize::new(0),
            room: AtomicUsize::new(0),
            worked: AtomicU64::new(0),
            grows: AtomicBool::new(false),
            core: AtomicU32::new(NOWHERE),
            sockets: AtomicUsize::new(0),
            counters: Counters::default(),
            parker: Parker::new(),
            own: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Takes things in again, for a new thread of this number and of that sponsor.
    pub(crate) fn open(&self, sponsor: SponsorId, room: &Arc<Room>) {
        // Relaxed, as below: whoever finds the number in a record that the thread wrote finds this, and an older one is as good.
        self.sponsor.store(sponsor.0, Ordering::Relaxed);
        self.sockets.store(0, Ordering::Relaxed);
        self.inbox.open(room);
        self.timers.open();
    }

    /// Returns the sponsor of its thread, or of the last one that it had.
    pub(crate) fn sponsor(&self) -> SponsorId {
        SponsorId(self.sponsor.load(Ordering::Relaxed))
    }

    /// Shows the thread's own side to the collector: before each stop anew, for the thread's own use of it in between
    /// makes older pointers bad. Null hides it. Called on the thread while it is awake.
    pub(crate) fn show(&self, own: *mut OwnSide) {
        // Released: a thread that has only begun shows itself before it says for the first time that it is awake or
        // asleep, so nothing else orders what it is made of before the collector's look at it.
        self.own.store(own, std::sync::atomic::Ordering::Release);
    }

    /// The thread's own side.
    pub(crate) fn own_side(&self) -> Option<*mut OwnSide> {
        // Acquired: see `show`.
        let own = self.own.load(std::sync::atomic::Ordering::Acquire);
        (!own.is_null()).then_some(own)
    }

    /// Returns the counts of what its thread has done, and of what waits here.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            timers: self.timers.len(),
            ..self.counters.read()
        }
    }

    /// Adds an entry and wakes the thread if it sleeps.
    pub(crate) fn push(&self, entry: Entry) -> Result<(), Entry> {
        let wakes = self.inbox.push(entry)?;
        self.pushed(wakes);
        Ok(())
    }

    /// Wakes the thread after a push, if it is to be woken (inbox.rs).
    pub(crate) fn pushed(&self, wakes: Wakes) {
        if wakes {
            self.unpark_if_asleep();
        }
    }

    /// Moves events in (inbox.rs) and wakes the thread if it sleeps.
    pub(crate) fn push_events(
        &self,
        events: &mut Vec<Event>,
        version: Option<u64>,
        waker: Waker,
    ) -> Result<(), NotIn> {
        if self.inbox.push_events(events, version)? {
            self.unpark_by(waker);
        }
        Ok(())
    }

    /// Makes the thread look around.
    pub(crate) fn wake(&self) {
        self.wake_by(Waker::GoesOn);
    }

    pub(crate) fn wake_by(&self, waker: Waker) {
        // Release: whoever clears it sees what the thread is summoned for. A swap, so that it and the clearing have one
        // order for everybody.
        self.summoned.swap(true, AcqRel);
        self.inbox.announce();
        self.unpark_by(waker);
    }

    pub(crate) fn unpark_if_asleep(&self) {
        self.unpark_by(Waker::GoesOn);
    }

    fn unpark_by(&self, waker: Waker) {
        // inbox.rs, invariant 3.
        if self.presence.is_asleep() {
            self.parker.unpark(waker);
        }
    }

    /// Returns whether its thread is awake and runs on the calling thread's core: a hint. False if the system does not say.
    pub(crate) fn is_here(&self) -> bool {
        let core = self.core.load(Ordering::Relaxed);
        !self.presence.is_asleep() && core != NOWHERE && core == cores::here()
    }

    /// The thread has woken and will look around.
    pub(crate) fn heed_summons(&self) {
        // AcqRel, a swap: no look from after it is made before it.
        self.summoned.swap(false, AcqRel);
    }

    /// Returns whether it seems worth asking for work.
    pub(crate) fn has_at_least(&self, nanoseconds: u64) -> bool {
        self.backlog.load(Relaxed) >= nanoseconds
    }
}

/// All threads of a machine by number.
pub(crate) struct Stations {
    quota: Arc<Quota>,
    quiescence: Arc<Quiescence>,
    /// Number of times that actors have changed hands (giving.rs).
    moves: CachePadded<AtomicU64>,
    all: RwLock<Vec<Arc<Station>>>,
    free: Mutex<Vec<ThreadNumber>>,
}

impl Stations {
    pub(crate) fn new(quota: Arc<Quota>, quiescence: Arc<Quiescence>) -> Stations {
        Stations {
            quota,
            quiescence,
            moves: CachePadded(AtomicU64::new(0)),
            all: RwLock::default(),
            free: Mutex::default(),
        }
    }

    /// Returns the number of times that actors had changed hands. Read after an actor's record, it has grown if the actor is
    /// another thread's by now.
    #[inline]
    pub(crate) fn moves(&self) -> u64 {
        // Acquire: a record that is read afterwards is no older.
        self.moves.load(Acquire)
    }

    /// Actors are about to change hands: before their records say so.
    /// Returns how often they had before.
    pub(crate) fn count_move(&self) -> u64 {
        // AcqRel: the records, which are released, are written behind it.
        self.moves.fetch_add(1, AcqRel)
    }

    /// A station for a new thread; `None` when all numbers are in use. The inbox of one that had another thread
    /// before is still closed: a sender that knew that one must not leave things here unless a thread comes for certain.
    pub(crate) fn open(&self) -> Option<Arc<Station>> {
        if let Some(number) = self.free.lock().pop() {
            return Some(self.get(number));
        }
        let mut all = self.all.write();
        let number = ThreadNumber::try_from(all.len() + 1).ok()?;
        let station = Arc::new(Station::new(number, &self.quota, &self.quiescence));
        all.push(station.clone());
        Some(station)
    }

    /// The number may be given again: its thread has ended and its inbox is closed.
    pub(crate) fn close(&self, number: ThreadNumber) {
        self.free.lock().push(number);
    }

    /// The station of a number that may never have been given.
    pub(crate) fn find(&self, number: ThreadNumber) -> Option<Arc<Station>> {
        let at = (number as usize).checked_sub(1)?;
        self.all.read().get(at).cloned()
    }

    /// The station of a number that was given.
    pub(crate) fn get(&self, number: ThreadNumber) -> Arc<Station> {
        self.all.read()[number as usize - 1].clone()
    }

    /// Returns the time when the next timer of any thread may be due: a hint, as [`Timers::next`] is.
    pub(crate) fn next_due(&self) -> Option<u64> {
        let all = self.all.read();
        all.iter().map(|station| station.timers.next()).min()
    }

    /// The stations whose threads may have a timer due by then.
    pub(crate) fn due_by(&self, moment: u64) -> Vec<Arc<Station>> {
        let all = self.all.read();
        let due = all.iter().filter(|s| s.timers.next() <= moment);
        due.cloned().collect()
    }

    /// Every station that was ever opened.
    pub(crate) fn all(&self) -> Vec<Arc<Station>> {
        self.all.read().clone()
    }
}
