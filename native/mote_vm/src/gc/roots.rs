//! The roots: everything that keeps an actor alive, in one place.
//!
//! | root | where |
//! |---|---|
//! | events queued, forwarded, wanted elsewhere and received | each thread's queue and lists, each inbox |
//! | messages from outside that wait | each inbox |
//! | timers | each station |
//! | actors whose turns are counted | each thread's watches |
//! | addresses held by the outside | handles |
//!
//! Nothing else: a collection happens between turns, when nothing is staged and no register means anything. Values
//! on their way out are messages of a commit, which is part of a turn. An actor that the outside is about to
//! create is in a heap that the collection waits for, or in one that it does not sweep (machine/leases.rs).
use crate::actor::Actor;
use crate::inbox::{Entry, Waiting};
use crate::machine::Machine;
use crate::queue::Event;
use crate::thread::Dispatch;
use crate::value::Value;

/// What is done with each root.
pub(crate) trait Visitor {
    fn value(&mut self, value: Value);

    fn actor(&mut self, actor: *const Actor) {
        self.value(Value::address(actor));
    }
}

/// Shows all roots of a machine whose threads stand still.
pub(crate) fn mark(machine: &Machine, threads: &[&mut Dispatch], visitor: &mut impl Visitor) {
    machine.handles().each_actor(|actor| visitor.actor(actor));
    for station in machine.stations().all() {
        station.timers.each(|value| visitor.value(value));
        station.inbox.each(|waiting| match waiting {
            Waiting::Event(event) => show(event, visitor),
            Waiting::Entry(Entry::Migrate(event, _)) => show(*event, visitor),
            Waiting::Entry(Entry::Message(target, parcel)) => {
                visitor.actor(target.0);
                parcel.each_address(|value| visitor.value(value));
            }
            Waiting::Entry(Entry::Batch(batch)) => {
                batch.each_target(|target| visitor.actor(target.0));
                batch.each_address(|value| visitor.value(value));
            }
            Waiting::Entry(Entry::Inspect(target, _)) => visitor.actor(target.0),
            Waiting::Entry(Entry::Call(_) | Entry::Collect(_) | Entry::Alarm | Entry::Retire) => {}
        });
    }
    for thread in threads {
        thread.turn.queue.each(|event| show(event, visitor));
        for event in thread.forwards.iter().flatten() {
            show(*event, visitor);
        }
        for (event, _) in &thread.wanted {
            show(*event, visitor);
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

fn show(event: Event, visitor: &mut impl Visitor) {
    visitor.actor(event.target);
    visitor.value(event.message);
}
