//! The home of activity that comes from a beam turn. Beam turns are slow and few at once: an actor that can run natively must not
//! be drawn into their sponsor by an answer.
//!
//! | the actor is | what a beam turn sends to it, or has armed for it, runs |
//! |---|---|
//! | pinned | in the sponsor that it is pinned to, as everywhere |
//! | not pinned | in its **home**: the native sponsor that ran its last native turn, or else the machine's first native one |
//! | not pinned, in a machine without native sponsors | here |
//!
//! Invariants:
//! 1. Only what names this sponsor (`sendx`, an `on` reference, a message or a timer from outside) brings an actor here that
//!    is not pinned. Its record keeps its home as long as a thread of a beam sponsor owns it (actor.rs).
//! 2. What goes home enters by the lead of that sponsor, as messages from outside do. So what one actor sends to another keeps
//!    its order for as long as the receiver's home is the same.
//! 3. What goes home leaves when the turn commits, and never waits behind turns that are still to begin here.
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::leaving::ListKind;
use crate::turns::overseer::Overseer;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, Header, SponsorId};

impl ThreadContext {
    /// Takes the actor for this thread if its record is still as it was seen.
    pub(crate) fn take(&self, actor: &Actor, seen: Header) -> bool {
        let away = self.sponsor.most_away.is_some();
        let home = if away { self.home(seen) } else { None };
        actor.take(seen, self.station.number, home)
    }

    /// Returns the native sponsor that ran the actor's last native turn, as its record says.
    pub(crate) fn home(&self, header: Header) -> Option<SponsorId> {
        let owner = header.owner();
        if owner == 0 {
            return None;
        }
        let sponsor = self.station_of(owner).sponsor();
        match self.runs_away(sponsor) {
            true => header.home(),
            false => Some(sponsor),
        }
    }

    /// A thread that had this number may have owned the actor for a beam sponsor: its home is here now.
    pub(crate) fn settle(&self, actor: &Actor) {
        if self.sponsor.most_away.is_none() && actor.header().home().is_some() {
            actor.forget_home();
        }
    }
}

impl Dispatch {
    /// Sends home what the turn that was just committed has queued for actors that do not belong here.
    pub(crate) fn send_home(&mut self) {
        let begin = self.turn.savepoint.queue;
        if self.turn.queue.pushed_since(&begin) == 0 {
            return;
        }
        let mut sent = Vec::new();
        self.turn.queue.each_since(&begin, |event| sent.push(event));
        self.turn.queue.rewind(begin);
        for event in sent {
            self.send_from_away(event);
        }
        // The turn is committed: what it sent stays.
        self.turn.queue.forgive();
    }

    /// Queues an event that a beam turn has caused, or sends it where its actor belongs. Returns whether it was queued.
    pub(crate) fn send_from_away(&mut self, event: Event) -> bool {
        let Dispatch { context, turn, .. } = self;
        let header = event.header();
        let sponsors = context.machine.sponsors();
        let stays = match header.pinned() {
            Some(pinned) if sponsors.by_id(pinned).id == context.sponsor.id => true,
            Some(_) => context.route(turn, event),
            None => match sponsors.native(context.home(header)) {
                Some(home) => {
                    turn.counts.sendx += 1;
                    let lead = home.lead().number;
                    turn.leaving.add(lead, ListKind::Entrance, event);
                    false
                }
                None => true,
            },
        };
        if stays {
            turn.queue.push(event.target, event.message);
        }
        stays
    }
}
