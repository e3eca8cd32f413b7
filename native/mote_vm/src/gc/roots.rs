//! The roots: everything that keeps an actor alive, in one place.
//!
//! | root | where |
//! |---|---|
//! | events queued, forwarded, wanted elsewhere and received | each thread's queue and lists, each inbox |
//! | messages and looks from outside that wait | each inbox, and each dispatcher of a seeded machine |
//! | timers | each station |
//! | actors whose turns are counted | each thread's watches |
//! | addresses held by the outside | handles |
//!
//! Nothing else: a collection begins between turns, when nothing is staged and no register means anything. Values
//! on their way out are messages of a commit, which is part of a turn. An actor that the outside is about to
//! create is in a heap that the collection waits for, or in one in which everything is live for it (gc/mod.rs). What
//! is in a parcel that is still being written is held by it (parcel.rs, invariant 2).
use crate::actor::Actor;
use crate::handles::Handles;
use crate::inbox::{Entry, Inbox, Waiting};
use crate::machine::Machine;
use crate::queue::{Event, EventQueue};
use crate::thread::Dispatch;
use crate::value::Value;
use std::sync::Arc;

/// What is done with each root.
pub(crate) trait Visitor {
    fn value(&mut self, value: Value);

    fn actor(&mut self, actor: *const Actor) {
        self.value(Value::address(actor));
    }

    fn event(&mut self, event: Event) {
        self.actor(event.target);
        self.value(event.message);
    }

    fn queue(&mut self, queue: &EventQueue) {
        queue.each(|event| self.event(event));
    }

    fn inbox(&mut self, inbox: &Inbox) {
        inbox.each(|waiting| self.waiting(waiting));
    }

    fn handles(&mut self, handles: &Arc<Handles>) {
        handles.each_actor(|actor| self.actor(actor));
    }

    /// What waits in an inbox.
    fn waiting(&mut self, waiting: Waiting<'_>) {
        match waiting {
            Waiting::Event(event) => self.event(event),
            Waiting::Entry(Entry::Migrate(event, _)) => self.event(*event),
            Waiting::Entry(Entry::Message(target, parcel)) => {
                self.actor(target.0);
                parcel.each_address(|value| self.value(value));
            }
            Waiting::Entry(Entry::Batch(batch)) => {
                batch.each_target(|target| self.actor(target.0));
                batch.each_address(|value| self.value(value));
            }
            Waiting::Entry(Entry::Inspect(target, _)) => self.actor(target.0),
            Waiting::Entry(Entry::Call(_) | Entry::Collect(_) | Entry::Alarm | Entry::Retire) => {}
        }
    }
}

/// Shows all roots of a machine whose threads stand still. Handles first, and inboxes after them: what somebody outside
/// sends and then lets go of is seen in the one place or the other.
pub(crate) fn mark(machine: &Machine, threads: &[&mut Dispatch], visitor: &mut impl Visitor) {
    visitor.handles(machine.handles());
    for station in machine.stations().all() {
        station.timers.each(|value| visitor.value(value));
        visitor.inbox(&station.inbox);
    }
    for thread in threads {
        visitor.queue(&thread.turn.queue);
        for event in thread.forwards.iter().flatten() {
            visitor.event(*event);
        }
        for (event, _) in &thread.wanted {
            visitor.event(*event);
        }
        for (target, parcel) in &thread.arrivals {
            visitor.actor(target.0);
            parcel.each_address(|value| visitor.value(value));
        }
        for watch in &thread.watches {
            watch.each_actor(|actor| visitor.actor(actor));
        }
    }
}
