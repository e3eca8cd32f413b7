//! An actor taken over from a thread that sleeps and has nothing to do.
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::turn::Turn;
use crate::values::actor::{Actor, Header};
use std::sync::Arc;

/// The outcome of an attempt to take an actor over.
pub(super) enum Taken {
    Yes,
    /// Another thread owns the actor by now.
    Changed,
    /// Possible only after this thread has taken in what has come.
    Later,
    /// Its owner is awake, or has something to do.
    No,
}

impl ThreadContext {
    /// Takes an actor over from a thread that sleeps, for which nothing is on its way (giving.rs).
    pub(super) fn take_over(&self, turn: &mut Turn, actor: &Actor, header: Header) -> Taken {
        let owner = header.owner();
        if !self.sponsor.shares() && self.sponsor.station(owner).is_some() {
            // Of an I/O sponsor: a socket stays with its thread, and so does a session.
            return Taken::No;
        }
        self.at(owner, |owner| self.take_from(owner, turn, actor, header))
    }

    fn take_from(&self, owner: &Station, turn: &mut Turn, actor: &Actor, seen: Header) -> Taken {
        if !owner.presence.is_asleep() || turn.leaving.has_for(owner.number) {
            return Taken::No;
        }
        let Some(_visit) = owner.presence.visit() else {
            return Taken::No;
        };
        // SAFETY: its thread sleeps while it is visited, and nobody stands in for it.
        let is_done = Dispatch::shown_by(owner).is_none_or(|thread| unsafe { (*thread).is_done() });
        if !is_done {
            return Taken::No;
        }
        // The sleeper has handed over what its actors have sent: what is for here must not be overtaken by what they send from
        // here.
        if self.station.inbox.has_events() {
            return Taken::Later;
        }
        let stations = self.machine.stations();
        let taken = owner.inbox.let_take(|| {
            // Its own lists are as right as before: nothing in them is for that thread.
            if stations.count_move() == turn.leaving.seen {
                turn.leaving.seen += 1;
            }
            self.take(actor, seen)
        });
        match taken {
            None => Taken::No,
            Some(true) => Taken::Yes,
            Some(false) => Taken::Changed,
        }
    }
}

impl Dispatch {
    /// Makes this thread the owner of `actor` if it may be; otherwise says which thread is or should be.
    pub(crate) fn own_or_find_owner(&mut self, actor: &Actor) -> Option<Arc<Station>> {
        let Dispatch { context, turn, .. } = self;
        loop {
            let header = actor.header();
            let owner = header.owner();
            if owner == context.station.number {
                // What it brings with it is taken in before (giving.rs, step 4): whoever asks comes back behind that.
                return header.is_in_transit().then(|| context.station.clone());
            }
            let entrance = context.entrance_of(header);
            if let Some(entrance) = entrance {
                return Some(context.station_of(entrance));
            }
            if owner == 0 {
                context.take(actor, header);
                continue;
            }
            match context.take_over(turn, actor, header) {
                Taken::Yes | Taken::Changed => {}
                Taken::Later | Taken::No => return Some(context.station_of(owner)),
            }
        }
    }
}
