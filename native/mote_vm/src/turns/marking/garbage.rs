//! Garbage that a collection has found and that is cleared away afterwards, between turns, a little at a time: foreign values,
//! queues of threads that have ended, pages.
//!
//! Invariants:
//! 1. Foreign cells made since the last collection are their heap's, all others are here. Each is in one place, and charged
//!    as long as it is in one (heap/foreigns.rs).
//! 2. Which of them live is read from the marks of the last collection: so the next one begins only when this is done.
use crate::heap::block::BlockPool;
use crate::heap::marks::is_marked;
use crate::heap::ForeignCell;
use crate::turns::queue::EventQueue;
use crate::values::actor::Actor;
use crate::values::walk::Swept;
use parking_lot::Mutex;
use std::sync::Arc;

/// Foreign cells that are looked at in one step.
const FOREIGNS: usize = 256;

#[derive(Default)]
struct Heaps {
    /// Still to be looked at, and those found live.
    unseen: Vec<Vec<ForeignCell>>,
    live: Vec<ForeignCell>,
    queues: Vec<EventQueue>,
    /// Tables in which there may be what belongs to actors that are dead.
    tables: Vec<Arc<dyn Swept>>,
    trimmed: bool,
}

/// The garbage of one machine that is still to be cleared away.
#[derive(Default)]
pub(crate) struct Garbage(Mutex<Heaps>);

impl Garbage {
    /// Foreign cells of a heap that was swept.
    pub(crate) fn foreigns(&self, cells: Vec<ForeignCell>) {
        if !cells.is_empty() {
            self.0.lock().unseen.push(cells);
        }
    }

    /// The queue of a thread that has ended while a collection may read it.
    pub(crate) fn queue(&self, queue: EventQueue) {
        self.0.lock().queues.push(queue);
    }

    /// A collection is over: what was there before is looked at again.
    /// After a young one only what was made since: the rest lives.
    pub(crate) fn begin(&self, tables: Vec<Arc<dyn Swept>>, young: bool) {
        let mut heaps = self.0.lock();
        heaps.tables = tables;
        if !young {
            let live = std::mem::take(&mut heaps.live);
            heaps.unseen.push(live);
        }
        heaps.trimmed = false;
    }

    /// Less is to be kept than after the last collection.
    pub(crate) fn trim_again(&self) {
        self.0.lock().trimmed = false;
    }

    /// Clears a little away after collection `last`; `false` when nothing is left, or somebody else is at it.
    pub(crate) fn clear_some(&self, pool: &BlockPool, last: u64) -> Cleared {
        let Some(mut heaps) = self.0.try_lock() else {
            return Cleared::Elsewhere;
        };
        if let Some(mut cells) = heaps.unseen.pop() {
            let rest = cells.len().saturating_sub(FOREIGNS);
            let (live, dead): (Vec<_>, Vec<_>) =
                cells.drain(rest..).partition(|cell| cell.is_live(last));
            heaps.live.extend(live);
            if rest > 0 {
                heaps.unseen.push(cells);
            }
            drop(heaps);
            // Without the lock: what a foreign value does when it goes is its own business.
            let dropped = dead.into_iter().map(|cell| {
                // SAFETY: it was in the list once, and what is dead is not read any more.
                unsafe { cell.drop(pool) }
            });
            pool.let_go(dropped.sum());
            return Cleared::Some;
        }
        if let Some(table) = heaps.tables.last().cloned() {
            // Before pages go back: blocks in which nothing lives are looked at.
            let is_live = |actor: *const Actor| is_marked(actor.cast(), last);
            if !table.sweep(last, FOREIGNS, &is_live) {
                heaps.tables.pop();
            }
            return Cleared::Some;
        }
        if heaps.queues.pop().is_some() {
            return Cleared::Some;
        }
        if !heaps.trimmed {
            heaps.trimmed = !pool.trim();
            return Cleared::Some;
        }
        Cleared::All
    }

    /// The machine has ended, and nothing reads values any more.
    pub(crate) fn drop_all(&self, pool: &BlockPool) {
        let heaps = std::mem::take(&mut *self.0.lock());
        drop((heaps.queues, heaps.tables));
        let cells = heaps.unseen.into_iter().flatten().chain(heaps.live);
        let dropped = cells.map(|cell| {
            // SAFETY: as above; nothing reads values any more.
            unsafe { cell.drop(pool) }
        });
        pool.let_go(dropped.sum());
    }
}

/// The progress of clearing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cleared {
    All,
    Some,
    Elsewhere,
}
