//! The journal of a durable or recorded machine: all that comes in is written down before it runs, so that the same turns can be run
//! again.
//!
//! Callers outside put what they bring into an inbox and note it down under one lock, the door. The thread takes both under the same
//! lock, writes what was noted ([`file`]), waits for the disk, and only then lets it in (threads/journaling.rs).
//!
//! Invariants:
//! 1. What was noted and not taken is exactly what the inbox has, in the same order.
//! 2. Nothing enters a durable machine that was not noted: doors refuse it ([`Journal::admits`]).
//! 3. Whoever waits is called after the disk has all that was noted before, and is dropped if that is not to be. Nobody waits for the
//!    disk in a machine that is recorded: there an entry is added in order before what is in it runs, and written later.
//! 4. A machine that runs its journal again is mute: it notes nothing, lets in what was noted and nothing else, tells nobody anything,
//!    and gives the same keys to the same actors, since they follow from the secret and from how many were given before.
pub(crate) mod copies;
mod door;
pub mod file;

use crate::values::handles::Key;
use copies::JournalCopy;
pub use copies::JournalEnd;
pub(crate) use door::TakenNotes;
pub use door::{begin_record, end_record, Notes, MOST_RECORD};
use door::{DurableWaiter, JournalDoor};
pub use file::{said, JournalEntry, JournalError, JournalFile, JournalHeader};
use file::{JournalPlace, JournalWriter};
use parking_lot::Mutex;
use std::cell::Cell;
#[allow(deprecated)] // Its algorithm is specified, which that of the default hasher is not.
use std::hash::{Hasher, SipHasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The mode in which a journal waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum JournalSync {
    /// After each batch; what comes at the same time is gathered for a moment.
    #[default]
    Batch,
    /// After each batch, which is what is there.
    Always,
    /// Never: the system writes when it likes.
    System,
    /// Never, and nobody waits until the system has it: the journal of a machine that is recorded.
    Unacknowledged,
}

/// The configuration of a journal.
#[derive(Clone, Copy, Default, Debug)]
pub struct JournalConfig {
    /// The mode in which it waits for the disk.
    pub sync: JournalSync,
    /// Messages to processes have numbers.
    pub numbered: bool,
}

/// The state of a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JournalInfo {
    /// The number of the image that it goes on from.
    pub number: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// The number of messages told to processes in all lives, and of the addresses given out by that.
    pub told: u64,
    /// See `told`.
    pub named: u64,
    /// Batches that were written in this life, each an entry, and how long writing and syncing them took.
    pub batches: u64,
    /// See `batches`.
    pub took: Duration,
}

/// The part that only the thread of the machine touches, and whoever begins the next journal while that stands still.
struct JournalBook {
    header: JournalHeader,
    writer: Option<JournalWriter>,
    batches: u64,
    took: Duration,
    /// The place and the time at which the thread has ended.
    end: Option<(JournalPlace, u64)>,
    /// The duration of the last batch, the time at which it was over, and the number of callers that waited for it.
    last: (Duration, Instant, usize),
}

/// The journal of a machine.
pub(crate) struct Journal {
    door: Mutex<JournalDoor>,
    kept: Mutex<JournalBook>,
    pub(crate) copy: JournalCopy,
    pub(crate) config: JournalConfig,
    told: AtomicU64,
    named: AtomicU64,
    mute: bool,
    /// It is the one of a replay, which has begun.
    is_replay: AtomicBool,
}

thread_local! {
    /// The calling thread is about to note what it lets in, or lets in what was noted.
    static NOTES: Cell<bool> = const { Cell::new(false) };
}

/// While it is there, the calling thread may let something in.
struct MayEnter;

impl MayEnter {
    fn begin() -> MayEnter {
        NOTES.set(true);
        MayEnter
    }
}

impl Drop for MayEnter {
    fn drop(&mut self) {
        NOTES.set(false);
    }
}

impl Journal {
    /// A journal that is written to the file of that name.
    pub(crate) fn create(
        path: &Path,
        header: JournalHeader,
        config: JournalConfig,
    ) -> io::Result<Journal> {
        let writer = JournalWriter::create(path, header)?;
        let end = (header.number, writer.bytes);
        let journal = Journal::with(header, Some(writer), config);
        journal.copy.written(end);
        Ok(journal)
    }

    /// The journal of a machine that runs one again, which begins with that.
    pub(crate) fn mute(header: JournalHeader) -> Journal {
        Journal::with(header, None, JournalConfig::default())
    }

    fn with(
        header: JournalHeader,
        writer: Option<JournalWriter>,
        config: JournalConfig,
    ) -> Journal {
        Journal {
            door: Mutex::default(),
            mute: writer.is_none(),
            kept: Mutex::new(JournalBook {
                header,
                writer,
                batches: 0,
                took: Duration::ZERO,
                end: None,
                last: (Duration::ZERO, Instant::now(), 0),
            }),
            copy: JournalCopy::default(),
            config,
            told: AtomicU64::new(header.told),
            named: AtomicU64::new(header.named),
            is_replay: AtomicBool::new(false),
        }
    }

    /// Goes on with the next file, and notes in the one before that it ends there.
    pub(crate) fn begin(
        &self,
        path: &Path,
        mut header: JournalHeader,
        place: JournalPlace,
    ) -> io::Result<()> {
        let mut kept = self.kept.lock();
        if let Some(writer) = kept.writer.as_mut() {
            writer.add(place, header.moment, &[]);
            writer.write(true)?;
            header.before = writer.entries;
        }
        let writer = JournalWriter::create(path, header)?;
        let end = (header.number, writer.bytes);
        kept.writer = Some(writer);
        kept.header = header;
        drop(kept);
        self.copy.written(end);
        Ok(())
    }

    /// Goes on with what was in the next file.
    pub(crate) fn begin_mute(&self, header: JournalHeader) {
        self.kept.lock().header = header;
    }

    /// Returns whether what comes in is noted.
    pub(crate) fn notes(&self) -> bool {
        !self.mute
    }

    /// Returns whether the machine runs a journal again.
    pub(crate) fn is_mute(&self) -> bool {
        self.mute
    }

    /// Returns whether those who bring something wait until the system has it.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.config.sync != JournalSync::Unacknowledged
    }

    /// Returns whether the calling thread may let something in now (invariant 2).
    pub(crate) fn admits(&self) -> bool {
        NOTES.get()
    }

    /// Lets `act` put in again what was noted.
    pub(crate) fn enter_again<R>(&self, act: impl FnOnce() -> R) -> R {
        let _until_done = MayEnter::begin();
        act()
    }

    /// Begins a replay.
    pub(crate) fn begin_replay(&self, header: JournalHeader) {
        self.begin_mute(header);
        // Relaxed: it guards nothing.
        self.is_replay.store(true, Relaxed);
    }

    /// Returns whether it is the journal of a replay that has begun.
    pub(crate) fn is_replay(&self) -> bool {
        // Relaxed: as above.
        self.is_replay.load(Relaxed)
    }

    /// Goes on from a place where so much was told before.
    pub(crate) fn go_on_from(&self, told: u64, named: u64) {
        // Relaxed: as in `tell`.
        self.told.store(told, Relaxed);
        self.named.store(named, Relaxed);
    }

    /// Lets `act` put something in, and note it down (invariant 1).
    pub(crate) fn note<R>(&self, act: impl FnOnce(&mut Notes<'_>) -> R) -> R {
        let mut door = self.door.lock();
        let _until_done = MayEnter::begin();
        act(&mut door.notes())
    }

    /// Calls `waiter` when the disk has what was noted so far (invariant 3). The thread must be woken.
    pub(crate) fn wait(&self, waiter: DurableWaiter) {
        self.door.lock().waiters.push(waiter);
    }

    /// Notes in a machine that runs its journal again that a key was let go of.
    pub(crate) fn release_again(&self, key: Key) {
        self.door.lock().released.push(key);
    }

    /// Takes what was noted, and the record of what the caller `brings` itself, if `take` takes what has come into the inbox, and lets
    /// go of keys. It is given these, and the bytes of all records.
    pub(crate) fn take(
        &self,
        brings: Option<&[u8]>,
        take: impl FnOnce(&[Key], usize) -> bool,
    ) -> Option<TakenNotes> {
        self.door.lock().take(brings, take)
    }

    /// Gives back the room of what was written.
    pub(crate) fn give_back(&self, mut records: Vec<u8>) {
        records.clear();
        let mut door = self.door.lock();
        if door.records.capacity() == 0 && records.capacity() <= KEPT_ROOM {
            door.records = records;
        }
    }

    /// Notes where the thread has ended: what it has not taken follows there.
    pub(crate) fn ends_at(&self, place: JournalPlace, moment: u64) {
        self.kept.lock().end = Some((place, moment));
    }

    /// Drops all waiters, and writes what was added, or noted by those who wait for nothing: the machine has ended.
    pub(crate) fn end(&self) {
        let door = std::mem::take(&mut *self.door.lock());
        drop(door.waiters);
        let end = self.kept.lock().end.filter(|_| !door.records.is_empty());
        if let Some((place, moment)) = end {
            self.add(place, moment, &door.records);
        }
        if let Some(writer) = self.kept.lock().writer.as_mut() {
            // Whoever reads the file sees where it was cut off.
            let _ = writer.write(false);
        }
    }

    /// Adds an entry, which is not written yet. Returns the number of bytes that wait to be written.
    pub(crate) fn add(&self, place: JournalPlace, moment: u64, records: &[u8]) -> usize {
        let mut kept = self.kept.lock();
        kept.batches += 1;
        kept.writer.as_mut().map_or(0, |writer| {
            writer.add(place, moment, records);
            writer.unwritten()
        })
    }

    /// Writes what was added, and waits for the disk if it is to. `waiting` callers wait for it.
    pub(crate) fn write(&self, waiting: usize) -> io::Result<()> {
        let begun = Instant::now();
        let mut kept = self.kept.lock();
        let sync = matches!(self.config.sync, JournalSync::Batch | JournalSync::Always);
        let mut bytes = 0;
        if let Some(writer) = kept.writer.as_mut() {
            let written = writer.write(sync);
            written.map_err(|error| {
                let path = writer.path().display();
                io::Error::other(format!(
                    "the journal {path} takes no more: {}",
                    said(&error)
                ))
            })?;
            bytes = writer.bytes;
        }
        let took = begun.elapsed();
        kept.took += took;
        kept.last = (took, Instant::now(), waiting);
        let end = (kept.header.number, bytes);
        drop(kept);
        self.copy.written(end);
        Ok(())
    }

    /// Returns how long to gather what comes before the next batch. Where several callers waited for the last one, the others of them
    /// are about to come back.
    pub(crate) fn gathers(&self) -> Duration {
        let last = self.kept.lock().last;
        match self.config.sync {
            JournalSync::Batch if last.2 > 1 => last.0.min(MOST_GATHERED) / 4,
            _ => Duration::ZERO,
        }
    }

    /// Returns whether turns that wait come before the next batch: for as long as the last one has taken, they have had nothing.
    pub(crate) fn rests(&self) -> bool {
        let (took, over, _) = self.kept.lock().last;
        over.elapsed() < took
    }

    /// The number of the next message to a process.
    pub(crate) fn tell(&self) -> u64 {
        // Relaxed: only the thread adds.
        self.told.fetch_add(1, Relaxed) + 1
    }

    /// The serial number of the next address that a turn gives out (invariant 4), but for where its actor is pinned.
    #[allow(deprecated)]
    pub(crate) fn name(&self) -> u128 {
        // Relaxed: as above.
        let number = self.named.fetch_add(1, Relaxed) + 1;
        let [low, high] = self.kept.lock().header.secret;
        let mut hasher = SipHasher::new_with_keys(low, high);
        hasher.write_u64(number);
        u128::from(hasher.finish()) << 64 | u128::from(NAMED | number)
    }

    /// Returns the numbers of messages that were told, and of addresses that were named.
    pub(crate) fn numbers(&self) -> [u64; 2] {
        // Relaxed: as in `tell`.
        [self.told.load(Relaxed), self.named.load(Relaxed)]
    }

    /// Returns what the next journal begins with, but for its number, its seed and its secret.
    pub(crate) fn header(&self) -> JournalHeader {
        let [told, named] = self.numbers();
        let header = self.kept.lock().header;
        JournalHeader {
            told,
            named,
            ..header
        }
    }

    /// Its state.
    pub(crate) fn info(&self) -> JournalInfo {
        let [told, named] = self.numbers();
        let kept = self.kept.lock();
        JournalInfo {
            number: kept.header.number,
            bytes: kept.writer.as_ref().map_or(0, |writer| writer.bytes),
            told,
            named,
            batches: kept.batches,
            took: kept.took,
        }
    }
}

/// The room of records that is kept for the next ones.
const KEPT_ROOM: usize = 1 << 20;

/// The longest time for which a batch gathers, four times.
const MOST_GATHERED: Duration = Duration::from_millis(4);

/// A bit of serial numbers that were not counted up by the table of handles (values/handles.rs).
const NAMED: u64 = 1 << 51;

/// The file of the journal with that number.
pub fn journal_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.journal"))
}
