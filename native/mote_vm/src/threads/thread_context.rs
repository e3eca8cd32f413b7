//! The context of a thread, and what its turns may ask of it.
use crate::base::atom::Atom;
use crate::base::sync::Relaxed;
use crate::boundary::timers::TIMER_BYTES;
use crate::heap::Heap;
use crate::threads::shared::Machine;
use crate::threads::sponsor::Sponsor;
use crate::threads::station::Station;
use crate::turns::overseer::{Overseer, Surroundings};
use crate::turns::turn::Turn;
use crate::values::actor::{BehaviourId, Header, SponsorId};
use crate::values::term::Term;
use crate::values::value::Value;
use std::sync::Arc;

/// The surroundings of a thread: its machine, its sponsor, its own public side.
#[derive(Clone)]
pub(crate) struct ThreadContext {
    pub(crate) machine: Machine,
    pub(crate) sponsor: Arc<Sponsor>,
    pub(crate) station: Arc<Station>,
}

impl ThreadContext {
    /// Creates the state in which the turns of a thread here run.
    pub(crate) fn turn(&self, mut heap: Heap, seed: u64) -> Turn {
        let machine = &self.machine;
        // Turns are to end: the machine stops, the sponsor is removed.
        for ends in [machine.stopping(), self.sponsor.removed.clone()] {
            heap.work.end_with(ends);
        }
        let around = Surroundings {
            overseer: Arc::new(self.clone()),
            thread: self.station.number,
            sponsor: self.sponsor.id,
            pool: machine.shared_pool(),
            program: machine.program().clone(),
            clock: machine.clock().clone(),
            work: machine.gc().work.clone(),
            fuel: machine.fuel(),
            timer_bytes: TIMER_BYTES,
        };
        let mut turn = Turn::new(around, heap, seed, self.station.timers.last_serial());
        if self.sponsor.most_away.is_some() {
            // away/home.rs: what a beam turn makes, and pins nowhere, is nobody's until a native thread runs it.
            turn.birth = Header::new(BehaviourId::SINK, None, 0);
        }
        turn
    }

    /// Puts right how many places the turn's queue takes: `queued` events, and `left` others have gone.
    pub(crate) fn recount_places(&self, turn: &mut Turn, queued: usize, left: usize) {
        turn.placed = self.sponsor.room.recount(turn.placed, queued, left);
    }
}

impl Overseer for ThreadContext {
    fn may_go_on(&self, message: Value) -> Result<(), Atom> {
        if self.machine.is_stopping() {
            return Err(Atom::STOPPED);
        }
        // The sponsor is removed: where its events go the turn runs once more.
        if self.sponsor.removed.load(Relaxed) {
            return Err(Atom::MOVED);
        }
        // The message of an event that is not over is kept by whoever collects.
        match self.machine.embedder().is_killed(Term::new(message)) {
            true => Err(Atom::KILLED),
            false => Ok(()),
        }
    }

    fn share(&self, turn: &mut Turn, backlog: u64) {
        self.share_some(turn, backlog);
    }

    fn pin(&self, sponsor: Atom) -> Option<SponsorId> {
        let sponsors = self.machine.sponsors();
        sponsors.pin(|pinned| pinned.name == sponsor)
    }

    fn runs_away(&self, sponsor: SponsorId) -> bool {
        let sponsors = self.machine.sponsors();
        sponsors.by_id(sponsor).most_away.is_some()
    }
}
