//! Durable machines, as the embedder sees them: what comes in is noted, journals begin with images, and are run again.
//!
//! Invariants:
//! 1. A journal begins at the moment of the image with its number, while the machine stands still: so the two go together.
//! 2. What is noted is taken soon: whoever puts something into the inbox wakes the thread, or stands in for it; whoever waits for the
//!    disk wakes it ([`Machine::when_durable`]); and so does who notes something else in a machine where nobody waits.
use super::Machine;
pub use crate::boundary::journal::{
    begin_record, end_record, journal_path, said, JournalEnd, JournalError, JournalFile,
    JournalHeader, JournalInfo, JournalSync, MOST_RECORD,
};
use crate::boundary::journal::{Journal, JournalConfig, Notes};
use crate::boundary::parcel::Parcel;
use crate::look::survey::Survey;
use crate::machine::contract::{BehaviourVersion, CreateError};
use crate::threads::inbox::Entry;
use crate::threads::journaling::again::EnterAgain;
use crate::threads::thread::{task, Dispatch};
use crate::values::actor::SponsorId;
use crate::values::handles::{KeptKeys, Key};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

/// Told how running journals again has ended: what begins the next one, or which one is wrong and what is.
pub type RunAgain = Box<dyn FnOnce(Result<JournalHeader, (usize, JournalError)>) + Send>;

impl Machine {
    /// Lets `act` put something in. Where the machine is durable it is given what to note that with.
    pub fn noting<R>(&self, act: impl FnOnce(Option<&mut Notes<'_>>) -> R) -> R {
        let Some(journal) = self.journal().filter(|journal| journal.notes()) else {
            return act(None);
        };
        let lead = self.0.sponsors.first().lead();
        let (done, is_alone) = journal.note(|notes| {
            let done = act(Some(notes));
            // The inbox is drained under the same lock: what is announced there is still to be taken.
            (done, !notes.is_empty() && !lead.inbox.is_pending())
        });
        if is_alone && !journal.is_waited_for() {
            lead.wake();
        }
        done
    }

    /// Lets `act` put something in, and notes that it has, if there is a record of it.
    pub fn noted<R, E>(
        &self,
        record: Option<&[u8]>,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        let Some(record) = record else {
            return act();
        };
        self.noting(|notes| {
            let done = act()?;
            if let Some(notes) = notes {
                notes.record(&[record]);
            }
            Ok(done)
        })
    }

    /// Returns whether who brings something in waits until the system has it.
    pub fn is_waited_for(&self) -> bool {
        self.journal().is_some_and(Journal::is_waited_for)
    }

    /// Returns whether what comes in is noted.
    #[inline]
    pub fn is_durable(&self) -> bool {
        self.journal().is_some_and(Journal::notes)
    }

    /// Calls `waiter` when the disk has all that was noted before, or drops it if the machine ends. May be called on any thread.
    pub fn when_durable(&self, waiter: Box<dyn FnOnce() + Send>) {
        if let Some(journal) = self.journal() {
            journal.wait(waiter);
            self.0.sponsors.first().lead().wake();
            if self.0.leases.is_closed() {
                journal.end();
            }
        }
    }

    /// Calls `more` when its journal ends behind that place.
    pub fn when_journal_more(&self, place: JournalEnd, more: Box<dyn FnOnce() + Send>) {
        if let Some(journal) = self.journal() {
            journal.copy.when_more(place, more);
        }
    }

    /// Says where a copy of its journal ends, for which it is to wait, or that it is to wait for none.
    pub fn journal_copied(&self, end: Option<JournalEnd>) {
        if let Some(journal) = self.journal() {
            journal.copy.reached(end);
        }
    }

    /// The state of its journal.
    pub fn journal_info(&self) -> Option<JournalInfo> {
        self.journal().map(Journal::info)
    }

    /// Creates an actor under the key that it had in another life, and holds it for whoever has that. Nothing if there is one already.
    pub fn create_again(
        &self,
        behaviour: &BehaviourVersion,
        pinned: Option<SponsorId>,
        captures: Parcel,
        key: Key,
    ) -> Result<(), CreateError> {
        if self.0.handles.hold(key).is_some() {
            return Ok(());
        }
        let pinned = pinned.and_then(|id| self.0.sponsors.pin(|sponsor| sponsor.id == id));
        self.create_for(behaviour, pinned, captures, |actor| {
            let kept = KeptKeys {
                given: 0,
                keys: vec![(key, actor)],
            };
            self.0.handles.keep(&kept, |_| pinned);
        })
    }

    /// Returns whether it runs journals again.
    pub fn runs_again(&self) -> bool {
        self.journal().is_some_and(Journal::is_mute)
    }

    /// Returns whether the outside has that key of an actor.
    pub fn holds(&self, key: Key) -> bool {
        self.0.handles.visit(key, |_, _| ()).is_some()
    }

    /// Lets go of a key when the entry that says so has entered, in a machine that runs its journal again.
    pub fn release_again(&self, key: Key) {
        if let Some(journal) = self.journal() {
            journal.release_again(key);
        }
    }

    /// Makes it a machine that runs journals again, the first of which begins with that. Before it goes on from the image, and before
    /// anything has come in.
    pub fn prepare_to_run_again(&self, header: JournalHeader) {
        // The first one stays.
        let _ = self.0.journal.set(Journal::mute(header));
    }

    /// Runs journals again, one after the other, on the thread of the machine. After that it runs no more turns.
    pub fn run_again(&self, journals: Vec<JournalFile>, enter: EnterAgain, told: RunAgain) {
        let act = task(move |thread: &mut Dispatch| {
            let machine = thread.context.machine.clone();
            let Some(journal) = machine.journal() else {
                return;
            };
            let ran = thread.run_again(journal, &journals, &enter);
            told(ran.map(|()| journal.header()));
        });
        self.push(self.0.sponsors.first().lead(), Entry::Task(act));
    }
}

impl Survey<'_> {
    /// Begins the journal with that number, which goes on from the image that is saved in this very moment. The first one of a machine
    /// goes on from `before`.
    pub fn begin_journal(
        &mut self,
        path: &Path,
        number: u64,
        config: JournalConfig,
        before: JournalHeader,
    ) -> io::Result<()> {
        let secrets = RandomState::new();
        let machine = self.machine;
        // Timers that were due by the time that it shows have fired.
        let moment = match machine.journal() {
            Some(_) => machine.clock().now(),
            None => machine.clock().passed(),
        };
        let header = JournalHeader {
            number,
            seed: secrets.hash_one(0),
            secret: [secrets.hash_one(1), secrets.hash_one(2)],
            fuel: machine.fuel(),
            moment,
            continues: machine.journal().is_some(),
            ..machine.journal().map_or(before, Journal::header)
        };
        match machine.journal().zip(self.threads.first()) {
            Some((journal, thread)) => {
                journal.begin(path, header, thread.journal_place(journal))?;
            }
            None => {
                machine.handles().retain_all();
                // The first one stays.
                let _ = machine
                    .0
                    .journal
                    .set(Journal::create(path, header, config)?);
            }
        }
        for thread in &mut self.threads {
            thread.begin_journal(&header);
        }
        Ok(())
    }
}
