//! A moment that lasts: what was there then is walked through on a thread of its own while turns run.
//!
//! Invariants:
//! 1. A collection begins at the moment, and marks when the walk is over, however that ends (turns/marking/moment.rs).
//! 2. The walk counts as a lease: the machine's memory is there until it is over.
//! 3. A walk beside turns depends on no order of queues but that of their chunks. A seeded machine takes events out of the middle of its
//!    queues, so it stands still for the walk.
//! 4. Neither the walk nor the collection that waits for it changes anything that turns see (threads/journaling.rs, invariant 6). So a
//!    durable machine goes on, and its journal changes at the moment: what comes in afterwards is in the next one, which goes on from the
//!    one before until the image has its name. The first journal of a life goes on from none, so the machine stands still for that image,
//!    and lets nothing in before it has its name.
use crate::boundary::journal::Journal;
use crate::heap::Heap;
use crate::look::survey::Survey;
use crate::threads::inbox::Entry;
use crate::threads::shared::Machine;
use crate::threads::thread::{task, AtMoment, Dispatch};
use crate::turns::marking::phase::Phase;
use std::io;
use std::sync::mpsc::channel;

impl Machine {
    /// Calls `note` soon, on a dispatch thread, while everything stands still; drops it if the machine stops before. Then `walk` is
    /// given what that returns: beside turns, on a thread of its own, for which everything that [`Survey::image_roots`] has noted stays as it is.
    /// A machine that is seeded stands still for both, and so does one that runs its journal again, since nobody waits for its turns, and
    /// one whose first journal `begins` in `note`. Returns at once; an error if there is no thread.
    pub fn at_moment<R: Send + 'static>(
        &self,
        begins: bool,
        note: impl FnOnce(&mut Survey<'_>) -> R + Send + 'static,
        walk: impl FnOnce(R) + Send + 'static,
    ) -> io::Result<()> {
        let stands = self.journal().map_or(begins, Journal::is_mute);
        if stands || self.seeded().is_some() {
            self.survey(move |survey| walk(note(survey)));
            return Ok(());
        }
        let (begin, begun) = channel::<(R, LastingMoment)>();
        let walker = std::thread::Builder::new().name("mote-walk".into());
        walker.spawn(move || {
            // A machine that ends before drops what would begin it, and one that is about to end lends nothing.
            match begun.recv() {
                Ok((noted, lasting)) if lasting.lease.is_some() => walk(noted),
                _ => {}
            }
        })?;
        let moment: AtMoment = Box::new(move |machine, threads| {
            let mut survey = Survey {
                machine,
                threads: std::mem::take(threads),
                lasts: true,
            };
            let noted = note(&mut survey);
            *threads = survey.threads;
            let machine = machine.clone();
            Box::new(move || drop(begin.send((noted, LastingMoment::new(machine)))))
        });
        let ask = task(move |thread: &mut Dispatch| thread.duties.moments.push_back(moment));
        self.push(self.sponsors().first().lead(), Entry::Task(ask));
        Ok(())
    }
}

/// A moment that lasts until this is dropped.
struct LastingMoment {
    machine: Machine,
    /// The heap that counts as its lease; nothing is made in it.
    lease: Option<Heap>,
}

impl LastingMoment {
    /// A collection has begun, and does not end before: what is made in the heap counts as made since.
    fn new(machine: Machine) -> LastingMoment {
        let lease = machine.leases().lend_new();
        LastingMoment { machine, lease }
    }
}

impl Drop for LastingMoment {
    fn drop(&mut self) {
        let machine = &self.machine;
        let gc = machine.gc();
        gc.work.moment.end(&machine.pool().quota);
        // Before the collection may end, which sees to all heaps.
        if let Some(heap) = self.lease.take() {
            machine.take_back(heap);
        }
        gc.set_phase(Phase::Marking);
        machine.wake_sleepers();
    }
}
