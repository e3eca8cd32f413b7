//! The thread of a durable or recorded machine. It writes down everything that comes in before it lets it in.
//! journaling/again.rs runs the journal again.
//!
//! The effects of a turn follow from the entries, from their places between the turns, from the time, and from random
//! numbers. The time stands still between two entries of the journal, and random numbers follow from the seed in its
//! header.
//!
//! Invariants:
//! 1. Nothing that is noted runs before the disk has it, and the copy if the machine waits for one. The clock shows the
//!    time of the last entry. So everything that a turn tells the outside follows from the contents of the disk. In a machine
//!    that is recorded it runs when its entry was added, and that is written soon (invariant 7).
//! 2. Due timers come before the messages of the same entry.
//! 3. Nothing happens that depends on anything else: a turn for which there is no memory ends the machine, a turn that
//!    monitors a process is aborted. Nobody stands in where anybody waits for the disk: that would be a scheduler's wait.
//! 4. While turns run, there is an entry after so many of them at least. So a machine that runs its journal again, and as
//!    many turns after the last entry, has done everything that the outside has heard of. The turns are the same, since
//!    nothing else enters before.
//! 5. A released key ends with the entry that releases it, and finds nothing from there on, whoever has it: a machine
//!    that runs its journal again does not know who has. Notes that are taken while the door is closed are for existing
//!    keys (`noted`).
//! 6. Turns do not see what a collection does, nor when: keys are kept until they are released, no order follows from where
//!    cells lie, and the machine ends where a turn finds no memory. So a collection may wait for an image, as long as turns
//!    that find no memory meanwhile wait for the image, and then for a whole collection (threads/starved.rs, invariant 2).
//!    What has come in finds memory in any case.
//! 7. A caller that stands in for the thread of a recorded machine lets in what the thread would: what was noted with what is in
//!    the inbox, under the lock of the door, as an entry of the present place, and last what it brings itself. It begins with
//!    an empty queue, and runs few turns after its entry: so invariant 4 holds. It fires no timers, and leaves what comes to the
//!    thread where some are due, or where much has come. It never writes to the file: that might wait for the disk. The thread
//!    writes what stand-ins have added within `WRITTEN_WITHIN`, before whatever it adds itself, and at once if that is much.
pub(crate) mod again;
mod told;

use super::inbox::Contents;
use super::shared::Machine;
use super::thread::Dispatch;
use crate::base::atom::Atom;
use crate::base::checksum::checksum;
use crate::base::counters::Counts;
use crate::boundary::journal::file::{JournalHeader, JournalPlace};
use crate::boundary::journal::{Journal, TakenNotes};
use crate::terms::prim::random::Random;
use crate::turns::turn::at_commit::{Due, TimerStep};
use crate::values::value::Value;
use std::time::Duration;

/// The longest that the clock shows the same time while turns run, in milliseconds.
const STANDS_STILL: u64 = 100;

/// The longest time for which entries of stand-ins wait to be written, and the bytes after which stand-ins add no more.
pub(crate) const WRITTEN_WITHIN: Duration = Duration::from_millis(20);
const MOST_UNWRITTEN: usize = 1 << 20;
/// Bytes of records that a stand-in adds: what foreign values keep is in them, which takes no time to unpack.
const MOST_NOTED: usize = 64 << 10;

/// The most turns that run after an entry and before the next one, but for those of a batch.
const MOST_SINCE: u64 = 1 << 20;

/// The reason why a turn of a durable machine is aborted that watches a process.
pub(crate) fn not_durable() -> Value {
    Value::atom(Atom::new("not_durable"))
}

impl Machine {
    /// Its journal, if it is durable.
    #[inline(always)]
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.0.journal.get()
    }

    /// Returns whether the caller may let something in now: where there is a journal, only while it is noted.
    #[inline(always)]
    pub(crate) fn admits(&self) -> bool {
        self.journal().is_none_or(Journal::admits)
    }
}

impl Dispatch {
    /// Takes what has come from elsewhere, and lets it in when the disk has it.
    #[cold]
    pub(crate) fn drain_noted(&mut self) {
        let machine = self.context.machine.clone();
        let Some(journal) = machine.journal() else {
            return;
        };
        if !self.turn.queue.is_empty() && journal.rests() {
            return;
        }
        let gathers = journal.gathers();
        if !gathers.is_zero() && self.turn.queue.is_empty() {
            std::thread::sleep(gathers);
        }
        let mut contents = self.take_contents();
        let noted = journal.take(None, |released, _| {
            self.context.station.inbox.drain(&mut contents);
            machine.handles().forget(released);
            true
        });
        let mut noted = noted.unwrap_or_default();
        let now = machine.clock().passed();
        let is_due = self.context.station.timers.next() <= now;
        let is_entry = !noted.records.is_empty() || self.is_entry_due();
        if is_entry {
            self.add_entry(journal, now, &noted.records);
        }
        if self.lent.unwritten > 0 {
            if let Err(error) = journal.write(noted.waiters.len()) {
                // In this order: whoever waits hears that the machine has ended.
                machine.stop();
                drop(noted.waiters);
                panic!("{error}");
            }
            self.lent.unwritten = 0;
            while journal.copy.is_behind() {
                if machine.is_stopping() {
                    // What was taken is lost with the machine, unless its journal is run again: whoever waits hears that it has ended.
                    return;
                }
            }
        }
        self.let_noted_in(journal, &mut noted, is_due, Some(contents));
    }

    /// The same for a stand-in, which may bring a message with that record (invariant 7). Returns whether it has let in what there was.
    pub(crate) fn drain_noted_little(&mut self, brings: Option<&[u8]>) -> bool {
        let machine = self.context.machine.clone();
        let Some(journal) = machine.journal() else {
            return false;
        };
        let station = self.context.station.clone();
        let now = machine.clock().passed();
        if station.timers.next() <= now || self.lent.unwritten >= MOST_UNWRITTEN {
            return false;
        }
        let mut contents = None;
        let noted = journal.take(brings, |released, bytes| {
            if bytes > MOST_NOTED {
                return false;
            }
            if station.inbox.is_pending() {
                self.lent.took_in = true;
                let contents = contents.insert(self.take_contents());
                if !station.inbox.drain_little(contents) {
                    return false;
                }
            }
            machine.handles().forget(released);
            true
        });
        let is_little = noted.is_some();
        let mut noted = noted.unwrap_or_default();
        if !noted.records.is_empty() {
            self.add_entry(journal, now, &noted.records);
        }
        self.let_noted_in(journal, &mut noted, false, contents);
        is_little
    }

    /// Adds an entry of this moment, which the clock shows from now on.
    fn add_entry(&mut self, journal: &Journal, now: u64, records: &[u8]) {
        self.lent.unwritten = journal.add(self.journal_place(journal), now, records);
        self.context.machine.clock().hold(now);
        self.entered_at = self.turn.counts.turns;
    }

    /// Lets in what was noted, and fires timers if some are due.
    fn let_noted_in(
        &mut self,
        journal: &Journal,
        noted: &mut TakenNotes,
        is_due: bool,
        contents: Option<Contents>,
    ) {
        journal.give_back(std::mem::take(&mut noted.records));
        noted.waiters.drain(..).for_each(|waiter| waiter());
        if is_due {
            self.fire();
        }
        if let Some(contents) = contents {
            self.surely(|thread| thread.take_in(contents));
        }
    }

    /// Lets something in, which has to find memory (invariant 6).
    pub(crate) fn surely(&mut self, take_in: impl FnOnce(&mut Dispatch)) {
        let lost = self.turn.counts.aborts_no_memory;
        take_in(self);
        if self.turn.counts.aborts_no_memory > lost {
            panic!("a durable machine found no memory for what has come in: give it more, or let it hold less");
        }
    }

    /// Returns whether an entry is due although nothing has come.
    pub(crate) fn is_entry_due(&self) -> bool {
        let clock = self.context.machine.clock();
        let now = clock.passed();
        let since = self.turn.counts.turns - self.entered_at;
        let is_late = clock.now() + STANDS_STILL <= now || since >= MOST_SINCE;
        self.context.station.timers.next() <= now || is_late && !self.turn.queue.is_empty()
    }

    /// Returns the present place between its turns.
    pub(crate) fn journal_place(&self, journal: &Journal) -> JournalPlace {
        let [turns, others @ ..] = figures(&self.turn.counts);
        let [turns_then, others_then @ ..] = figures(&self.journaled);
        let mut trail = [[0; 8]; 5];
        let done = others.iter().zip(others_then);
        let done = done.map(|(now, then)| now.wrapping_sub(then));
        for (bytes, figure) in trail
            .iter_mut()
            .zip(journal.numbers().into_iter().chain(done))
        {
            *bytes = figure.to_le_bytes();
        }
        JournalPlace {
            position: turns.wrapping_sub(turns_then),
            trail: checksum(0, trail.as_flattened()),
        }
    }

    /// A journal begins here.
    pub(crate) fn begin_journal(&mut self, header: &JournalHeader) {
        self.journaled = self.turn.counts;
        self.entered_at = self.turn.counts.turns;
        // It waits for the disk, and is to run wherever there is a core when the disk has written: so no waker bars it from its own.
        self.context.station.parker.open(true, None);
        self.turn.random = Random::from_seed(header.seed);
        self.context.machine.clock().hold(header.moment);
    }

    /// The machine ends in order. Where nobody waits for the disk, what comes in until it has ended is written behind the last turn.
    pub(crate) fn end_journal(&self) {
        let machine = &self.context.machine;
        if let Some(journal) = machine.journal().filter(|journal| !journal.is_waited_for()) {
            journal.ends_at(self.journal_place(journal), machine.clock().now());
        }
    }

    /// Returns whether a turn of a durable machine has staged what cannot be noted.
    pub(crate) fn has_staged_unnoted(&self) -> bool {
        let watches = |step: &TimerStep| {
            matches!(
                step,
                TimerStep::Arm {
                    due: Due::End(_),
                    ..
                }
            )
        };
        self.context.machine.journal().is_some() && self.turn.at_commit.timers.iter().any(watches)
    }
}

/// Returns the counts of a thread that follow from its turns: first the number of turns.
fn figures(counts: &Counts) -> [u64; 4] {
    [counts.turns, counts.sends, counts.creates, counts.becomes]
}
