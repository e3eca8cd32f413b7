//! The sockets of one thread of an I/O sponsor: a record for each, by number.
//!
//! A socket is an actor of 16 bytes whose one capture is a number. The record that this leads to has the socket itself, and
//! buffers only while something waits. It belongs to the thread that owns the actor, from the beginning to the end: both are
//! pinned, and threads of I/O sponsors share no work.
//!
//! Invariants:
//! 1. Only the thread that owns the table puts records in and takes them out, and does anything with their sockets. A collector
//!    walks through them meanwhile, under the lock.
//! 2. A record with something to do is a root, with its actor and with all who wait for it: a read that waits, bytes to be
//!    written, a connection that is being made, and a listener as long as it is open. Any other record keeps nothing alive.
//! 3. The record of an actor that a collection has not met is found by `sweep`, which nobody else then uses, and closed by its
//!    thread, unless that has closed it by then: so it bears a mark. Records that were made since that collection began are left to
//!    the next one.
//! 4. A closed socket has no record. Its number goes to other sockets, and those of a thread that has ended to other threads: so an
//!    actor leads to a record only if that is its own.
//! 5. What records and buffers take is charged to the machine's quota.
pub(crate) mod buffer;
pub(crate) mod counts;
pub(crate) mod datagrams;
pub mod place;
pub(crate) mod reading;
pub(crate) mod record;
pub mod seal;
pub(crate) mod transfer;

use crate::base::quota::Quota;
use crate::heap::marks::order;
use crate::platform::poller::Poller;
use crate::platform::slab::Slab;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::values::walk::{Missed, Swept, Walkable};
use counts::SocketCounts;
use parking_lot::Mutex;
use record::SocketRecord;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

#[derive(Default)]
struct SocketTable {
    records: Slab<SocketRecord>,
    missed: Missed,
    /// The number of walks that have begun.
    walks: u32,
    /// The numbers of those whose actors nobody holds any more, and where the sweep goes on.
    dead: Vec<u32>,
    swept: u32,
    charged: usize,
}

/// Dead sockets that are closed before anything else is looked at.
const DEAD_AT_ONCE: usize = 256;

/// The table of one thread.
pub(crate) struct Sockets {
    state: Mutex<SocketTable>,
    has_dead: AtomicBool,
    pub(crate) poller: Arc<Poller>,
    pub(crate) quota: Arc<Quota>,
    pub(crate) counts: Arc<SocketCounts>,
}

impl Sockets {
    /// The most sockets of a thread: more than a process may have files.
    pub(crate) const LIMIT: usize = 1 << 22;

    pub(crate) fn new(
        poller: Arc<Poller>,
        quota: Arc<Quota>,
        counts: Arc<SocketCounts>,
    ) -> Sockets {
        let table = SocketTable {
            missed: Missed::new(&quota),
            ..SocketTable::default()
        };
        Sockets {
            state: Mutex::new(table),
            has_dead: AtomicBool::new(false),
            poller,
            quota,
            counts,
        }
    }

    /// Puts a record in. Returns its number, and the state of its actor.
    pub(crate) fn add(&self, record: SocketRecord) -> (u32, Value) {
        let mut state = self.state.lock();
        let (number, _) = state.records.insert(record);
        if let Some(record) = state.records.get_mut(number) {
            record.number = number;
        }
        self.charge(&mut state);
        (number, Value::fixnum(number.into()))
    }

    /// The number of an actor's record, if that is here.
    pub(crate) fn find(&self, actor: *const Actor, state: Value) -> Option<u32> {
        let number = state.as_fixnum().and_then(|n| u32::try_from(n).ok())?;
        let table = self.state.lock();
        let record = table.records.get(number)?;
        std::ptr::eq(record.actor, actor).then_some(number)
    }

    /// Applies `act` to a record. What it takes out of it is noted down for a collection that has still to come to it.
    pub(crate) fn with<R>(
        &self,
        number: u32,
        act: impl FnOnce(&mut SocketRecord) -> R,
    ) -> Option<R> {
        let state = &mut *self.state.lock();
        let is_ahead = state.records.is_ahead(number);
        let record = state.records.get_mut(number)?;
        // Once is enough: what comes in later is live anyway.
        if is_ahead && std::mem::replace(&mut record.noted_in, state.walks) != state.walks {
            record.show(|value| state.missed.note(value));
        }
        Some(act(record))
    }

    /// Takes a record out.
    pub(crate) fn remove(&self, number: u32) -> Option<SocketRecord> {
        let mut state = self.state.lock();
        let is_ahead = state.records.is_ahead(number);
        let record = state.records.remove(number)?;
        if is_ahead {
            record.show(|value| state.missed.note(value));
        }
        self.charge(&mut state);
        Some(record)
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().records.len()
    }

    /// The numbers of all records.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut numbers = Vec::new();
        let state = self.state.lock();
        state.records.each(|record| numbers.push(record.number));
        numbers
    }

    /// Shows everybody who waits for a socket, with its actor.
    pub(crate) fn each_waiting(&self, mut show: impl FnMut(*const Actor, Value)) {
        let state = self.state.lock();
        state
            .records
            .each(|record| record.each_waiting(|value| show(record.actor, value)));
    }

    /// Shows each socket's actor, and the bytes that have come and have gone by it.
    pub(crate) fn each_moved(&self, mut show: impl FnMut(*const Actor, u64, u64)) {
        let state = self.state.lock();
        state
            .records
            .each(|record| show(record.actor, record.bytes_in, record.bytes_out));
    }

    /// Returns whether there are records whose actors nobody holds any more.
    pub(crate) fn has_dead(&self) -> bool {
        // Relaxed: whoever finds it set takes the lock.
        self.has_dead.load(Relaxed)
    }

    /// The numbers of some of these, each once.
    pub(crate) fn take_dead(&self) -> Vec<u32> {
        if !self.has_dead() {
            return Vec::new();
        }
        let SocketTable { records, dead, .. } = &mut *self.state.lock();
        let rest = dead.len().saturating_sub(DEAD_AT_ONCE);
        let mut taken = dead.split_off(rest);
        self.has_dead.store(rest > 0, Relaxed);
        // The number of one that was closed meanwhile may be that of another.
        taken.retain(|number| records.get(*number).is_some_and(|r| r.is_doomed.get()));
        taken
    }

    /// Charges what the records take. They were accepted before.
    fn charge(&self, state: &mut SocketTable) {
        let all = Slab::<SocketRecord>::PLACE * state.records.len();
        let charge = all.max(state.records.bytes());
        self.quota.charge(&mut state.charged, charge);
    }
}

impl Walkable for Sockets {
    fn begin(&self) {
        let mut state = self.state.lock();
        state.records.begin_walk();
        state.walks = state.walks.wrapping_add(1);
        state.missed.begin();
    }

    fn walk(&self, most: usize, show: &mut dyn FnMut(Value)) -> bool {
        let mut state = self.state.lock();
        state.missed.walk(most, &mut *show)
            || state.records.walk(most, |record| record.show(&mut *show))
    }

    fn each(&self, show: &mut dyn FnMut(Value)) {
        let state = self.state.lock();
        state.records.each(|record| record.show(&mut *show));
    }
}

impl Swept for Sockets {
    fn sweep(&self, collection: u64, most: usize, is_live: &dyn Fn(*const Actor) -> bool) -> bool {
        let mut state = self.state.lock();
        let SocketTable {
            records,
            dead,
            swept,
            ..
        } = &mut *state;
        let next = records.part(*swept, most, |record| {
            if u64::from(record.born) >= order(collection) {
                return;
            }
            let session = record.session.get();
            if !session.is_null() && !is_live(session) {
                // Its place may be another actor's soon.
                record.session.set(std::ptr::null());
            }
            if !record.is_root() && !is_live(record.actor) && !record.is_doomed.replace(true) {
                dead.push(record.number);
            }
        });
        *swept = next.unwrap_or(0);
        let is_over = next.is_none();
        if is_over && !dead.is_empty() {
            // Relaxed: see `has_dead`.
            self.has_dead.store(true, Relaxed);
            self.poller.wake();
        }
        !is_over
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.quota.give(self.state.get_mut().charged);
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests;
#[cfg(all(test, not(any(miri, loom))))]
mod unsent_tests;
