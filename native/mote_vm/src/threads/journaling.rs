//! The thread of a durable or recorded machine. It writes down everything that comes in before it lets it in.
//! journaling/again.rs runs the journal again.
//!
//! The effects of a turn follow from the entries, from their places between the turns, from the time, and from random
//! numbers. The time stands still between two entries of the journal, and random numbers follow from the seed in its
//! header.
//!
//! Invariants:
//! 1. Nothing that is noted runs before the disk has it, and the copy if the machine waits for one. The clock shows the
//!    time of the last entry. So everything that a turn tells the outside follows from the contents of the disk.
//! 2. Due timers come before the messages of the same entry.
//! 3. Nothing happens that depends on anything else: a turn for which there is no memory ends the machine, a turn that
//!    monitors a process is aborted, and nobody stands in.
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
pub(crate) mod again;
mod told;

use super::shared::Machine;
use super::thread::Dispatch;
use crate::base::atom::Atom;
use crate::base::checksum::checksum;
use crate::base::counters::Counts;
use crate::boundary::journal::file::{JournalHeader, JournalPlace};
use crate::boundary::journal::Journal;
use crate::terms::prim::random::Random;
use crate::turns::turn::at_commit::{Due, TimerStep};
use crate::values::value::Value;

/// The longest that the clock shows the same time while turns run, in milliseconds.
const STANDS_STILL: u64 = 100;

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
        let noted = journal.take(|released| {
            self.context.station.inbox.drain(&mut contents);
            machine.handles().forget(released);
        });
        let now = machine.clock().passed();
        let is_due = self.context.station.timers.next() <= now;
        if !noted.records.is_empty() || self.is_entry_due() {
            let place = self.journal_place(journal);
            let written = journal.append(place, now, &noted.records, noted.waiters.len());
            if let Err(error) = written {
                // In this order: whoever waits hears that the machine has ended.
                machine.stop();
                drop(noted.waiters);
                panic!("{error}");
            }
            while journal.copy.is_behind() {
                if machine.is_stopping() {
                    // What was taken is lost with the machine, unless its journal is run again: whoever waits hears that it has ended.
                    return;
                }
            }
            machine.clock().hold(now);
            self.entered_at = self.turn.counts.turns;
        }
        journal.give_back(noted.records);
        noted.waiters.into_iter().for_each(|waiter| waiter());
        if is_due {
            self.fire();
        }
        let lost = self.turn.counts.aborts_no_memory;
        self.take_in(contents);
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
        let JournalHeader { told, named, .. } = journal.header();
        let mut trail = [told, named].map(u64::to_le_bytes).concat();
        for (now, then) in others.iter().zip(others_then) {
            trail.extend_from_slice(&now.wrapping_sub(then).to_le_bytes());
        }
        JournalPlace {
            position: turns.wrapping_sub(turns_then),
            trail: checksum(0, &trail),
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
