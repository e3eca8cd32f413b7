//! The roots: everything that keeps an actor alive, in one place.
//!
//! | root | where | what a pause does with it |
//! |---|---|---|
//! | addresses held by the outside | handles | begins a walk |
//! | timers | the wheels of each station | begins a walk |
//! | events of turns outside, and in their lines | each thread's lines | begins a walk |
//! | sockets with something to do, and who waits for them | each thread's sockets | begins a walk |
//! | events queued | each thread's queue | keeps its chunks, and copies the events of the last one |
//! | messages, events and looks that wait | each inbox | looks whether there are some; at its end, at some 100 KB of them |
//! | events leaving, held, wanted elsewhere | each thread's lists | copies them: what a batch of turns has put there |
//! | actors whose turns are counted | each thread's watches | copies them: some thousand for each watch |
//! | messages that wait | each dispatcher of a seeded machine | walks through them |
//!
//! Invariants:
//! 1. Nothing else: a collection begins between turns, when nothing is staged and no register means anything. Values
//!    on their way out are messages of a commit, which is part of a turn. An actor that the outside is about to
//!    create is in a heap that the collection waits for, or in one in which everything is live for it (gc/mod.rs). A parcel
//!    that is still being written holds its contents (parcel.rs, invariant 2).
//! 2. No pause takes longer where more waits. Where any number may wait, it is walked through beside turns (walk.rs), is kept
//!    as it is, or is left to whoever takes it out. Seeded machines alone are marked as a whole in one pause.
use crate::threads::inbox::{Entry, Inbox, InboxItem};
use crate::threads::shared::Machine;
use crate::threads::thread::Dispatch;
use crate::turns::marking::visitor::Visitor;
use crate::values::value::Value;
use crate::values::walk::{Swept, Walkable};
use std::sync::Arc;

/// Handles each root.
pub(crate) trait RootVisitor: Visitor {
    fn inbox(&mut self, inbox: &Inbox) {
        inbox.each(|waiting| self.waiting(waiting));
    }

    fn table(&mut self, table: Arc<dyn Walkable>) {
        table.each(&mut |value| self.value(value));
    }

    /// Shows what waits in an inbox.
    fn waiting(&mut self, waiting: InboxItem<'_>) {
        match waiting {
            InboxItem::Event(event) => self.event(event),
            InboxItem::Entry(Entry::Given(events)) => {
                events.iter().for_each(|event| self.event(*event));
            }
            InboxItem::Entry(Entry::Message(target, parcel)) => {
                self.actor(target.0);
                parcel.each_address(|value| self.value(value));
            }
            InboxItem::Entry(Entry::Batch(batch)) => {
                batch.each_target(|target| self.actor(target.0));
                batch.each_address(|value| self.value(value));
            }
            InboxItem::Entry(Entry::Inspect(target, _)) => self.actor(target.0),
            InboxItem::Entry(
                Entry::Migrate(..)
                | Entry::Task(_)
                // What it refers to it holds.
                | Entry::Ended(_)
                | Entry::Collect(_)
                | Entry::Alarm
                | Entry::Retire,
            ) => {}
        }
    }
}

impl RootVisitor for Vec<Value> {}

/// The tables of a machine whose threads stand still.
pub(crate) fn tables(machine: &Machine, threads: &[&mut Dispatch]) -> Vec<Arc<dyn Walkable>> {
    let mut tables: Vec<Arc<dyn Walkable>> = vec![machine.handles().clone()];
    for station in machine.stations().all() {
        tables.push(station.timers.clone());
    }
    for away in threads.iter().filter_map(|thread| thread.away.as_ref()) {
        tables.push(away.lines.clone());
    }
    for net in threads.iter().filter_map(|thread| thread.net.as_ref()) {
        tables.push(net.sockets.clone());
    }
    tables
}

/// The tables of what goes with actors that a collection does not meet.
pub(crate) fn swept(threads: &[&mut Dispatch]) -> Vec<Arc<dyn Swept>> {
    let nets = threads.iter().filter_map(|thread| thread.net.as_ref());
    nets.map(|net| net.sockets.clone() as Arc<dyn Swept>)
        .collect()
}

/// Shows all roots of a machine whose threads stand still. Tables first, with the handles, and inboxes after them: what somebody
/// outside sends and then lets go of is seen in the one place or the other.
pub(crate) fn mark(machine: &Machine, threads: &[&mut Dispatch], visitor: &mut impl RootVisitor) {
    for table in tables(machine, threads) {
        visitor.table(table);
    }
    for station in machine.stations().all() {
        visitor.inbox(&station.inbox);
    }
    for thread in threads {
        visitor.queue(&thread.turn.queue);
        thread.turn.leaving.each(|event| visitor.event(event));
        for (target, parcel) in &thread.seeded.arrivals {
            visitor.actor(target.0);
            parcel.each_address(|value| visitor.value(value));
        }
        for watch in &thread.watches {
            watch.each_actor(|actor| visitor.actor(actor));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! One test for each kind of root: forgotten in `mark`, it is missing here.
    use super::*;
    use crate::boundary::batch::BatchLetters;
    use crate::boundary::parcel::{Builder, Parcel};
    use crate::boundary::sockets::record::{SocketKind, SocketRecord};
    use crate::boundary::sockets::transfer::write_later;
    use crate::boundary::sockets::Sockets;
    use crate::gc::cycle::Snapshot;
    use crate::testing::still::Still;
    use crate::threads::away::Away;
    use crate::threads::net::own::Net;
    use crate::turns::leaving::ListKind;
    use crate::turns::queue::{Event, EVENTS};
    use crate::values::actor::Actor;
    use crate::values::handles::Target;
    use crate::watching::watch::{Watch, Watched};

    /// No actor: an address that nobody looks behind.
    fn actor(n: usize) -> *const Actor {
        (n * 16) as *const Actor
    }

    fn event(target: usize, message: usize) -> Event {
        Event {
            target: actor(target),
            message: Value::address(actor(message)),
        }
    }

    impl Still {
        fn push(&self, entry: Entry) {
            assert!(self.thread.context.station.inbox.push(entry).is_ok());
        }

        /// A parcel with that address in it, which it does not hold any more.
        fn parcel(&self, n: usize) -> Parcel {
            let key = self.machine.handles().acquire(actor(n), None);
            let mut builder = Builder::new();
            builder.tuple(2);
            builder.bytes(b"other words");
            builder.address(self.machine.hold(key).expect("held"));
            self.machine.release(key);
            let mut parcel = builder.finish();
            drop(parcel.take_held());
            parcel
        }

        /// The actors that `mark` shows, sorted, each once.
        fn roots(&mut self) -> Vec<usize> {
            let mut shown: Vec<Value> = Vec::new();
            mark(&self.machine, &[&mut self.thread], &mut shown);
            let number = |value: &Value| value.address_pointer() as usize / 16;
            let mut found: Vec<usize> = shown.iter().map(number).collect();
            found.sort_unstable();
            found.dedup();
            found
        }
    }

    /// Invariant 2.
    #[test]
    fn a_pause_does_no_more_where_more_waits() {
        let taken = [1, 300].map(|many| {
            let mut still = Still::new(1);
            let quota = still.machine.pool().quota.clone();
            let station = still.thread.context.station.clone();
            let mut away = Away::new(1, quota);
            away.leaves(1, event(1, 2));
            for n in 0..many * EVENTS {
                still.thread.turn.queue.push(actor(n), Value::NIL);
                assert!(away.line_up(event(1, n)));
                let value = Value::address(actor(n));
                station.timers.arm(1 << 40, 2, value, value);
                still.machine.handles().acquire(actor(n), None);
                still.push(Entry::Inspect(Target(actor(n)), Box::new(|_| ())));
            }
            still.thread.away = Some(Box::new(away));
            let mut snapshot = Snapshot::default();
            mark(&still.machine, &[&mut still.thread], &mut snapshot);
            let queue = &mut still.thread.turn.queue;
            while queue.pop().is_some() {}
            queue.rest();
            (snapshot.values.len(), snapshot.packets.len())
        });
        let [few, many] = taken;
        assert!(few.0 <= 2 * EVENTS && few.1 >= 3, "{few:?}");
        assert!(many.0 <= 2 * EVENTS && many.1 <= few.1 + 1, "{many:?}");
    }

    #[test]
    fn nothing_is_a_root_of_a_machine_that_has_nothing() {
        assert!(Still::new(1).roots().is_empty());
    }

    #[test]
    fn turns_outside_and_what_waits_for_their_actors_are_roots() {
        let mut still = Still::new(1);
        let mut away = Away::new(1, still.machine.pool().quota.clone());
        away.leaves(1, event(1, 2));
        assert!(away.line_up(event(1, 3)) && !away.line_up(event(4, 5)));
        still.thread.away = Some(Box::new(away));
        assert_eq!(still.roots(), [1, 2, 3]);
    }

    #[test]
    fn addresses_held_by_the_outside_are_roots() {
        let mut still = Still::new(1);
        let keys = [7, 8].map(|n| still.machine.handles().acquire(actor(n), None));
        assert_eq!(still.roots(), [7, 8]);
        still.machine.release(keys[0]);
        assert_eq!(still.roots(), [8]);
    }

    #[test]
    fn queued_events_are_roots_with_target_and_message() {
        let mut still = Still::new(1);
        for n in [1, 3] {
            let Event { target, message } = event(n, n + 1);
            still.thread.turn.queue.push(target, message);
        }
        assert_eq!(still.roots(), [1, 2, 3, 4]);
    }

    #[test]
    fn forwarded_events_are_roots() {
        let mut still = Still::new(1);
        let leaving = &mut still.thread.turn.leaving;
        leaving.add(1, ListKind::Owner, event(1, 2));
        leaving.add(2, ListKind::Entrance, event(3, 4));
        assert_eq!(still.roots(), [1, 2, 3, 4]);
    }

    #[test]
    fn events_that_are_held_are_roots() {
        let mut still = Still::new(1);
        still.thread.turn.leaving.held.push(event(1, 2));
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    fn events_of_actors_that_were_given_are_roots() {
        let mut still = Still::new(1);
        still.push(Entry::Given(vec![event(1, 2), event(3, 4)]));
        assert_eq!(still.roots(), [1, 2, 3, 4]);
    }

    #[test]
    fn events_wanted_elsewhere_are_roots() {
        let mut still = Still::new(1);
        still.thread.turn.leaving.wanted.push(event(1, 2));
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    fn timers_are_roots_from_a_turn_and_from_outside() {
        let mut still = Still::new(1);
        let station = still.thread.context.station.clone();
        let value = |n| Value::address(actor(n));
        station.timers.arm(1 << 40, 2, value(1), value(2));
        let armed = station
            .timers
            .arm_from_outside(1 << 40, value(3), still.parcel(4));
        assert!(armed.is_ok());
        assert_eq!(still.roots(), [1, 2, 3, 4]);
    }

    #[test]
    fn events_that_have_come_from_other_threads_are_roots() {
        let mut still = Still::new(1);
        let station = still.thread.context.station.clone();
        assert!(station
            .inbox
            .push_events(&mut vec![event(1, 2)], None)
            .is_ok());
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    fn events_that_another_sponsor_wants_to_run_are_roots() {
        let mut still = Still::new(1);
        let inbox = &still.thread.context.station.inbox;
        assert!(inbox.push_wanted(event(1, 2), 7, inbox.version()).is_ok());
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    fn messages_that_wait_to_enter_are_roots() {
        let mut still = Still::new(1);
        let parcel = still.parcel(2);
        still.push(Entry::Message(Target(actor(1)), parcel));
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    fn batches_that_wait_to_enter_are_roots() {
        let mut still = Still::new(1);
        let keys = [1, 2].map(|n| still.machine.handles().acquire(actor(n), None));
        let [target, inside] = keys.map(|key| still.machine.hold(key).expect("held"));
        let (mut letters, mut builder) = (BatchLetters::default(), Builder::new());
        letters.address(target);
        builder.address(inside);
        letters.end(&builder);
        let mut batch = letters.seal(builder);
        drop(batch.take_held());
        for key in keys {
            still.machine.release(key);
        }
        still.push(Entry::Batch(batch));
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    fn actors_to_be_looked_at_are_roots() {
        let mut still = Still::new(1);
        still.push(Entry::Inspect(Target(actor(1)), Box::new(|_| ())));
        assert_eq!(still.roots(), [1]);
    }

    #[test]
    fn messages_that_a_seeded_machine_has_not_admitted_are_roots() {
        let mut still = Still::new(1);
        let parcel = still.parcel(2);
        still
            .thread
            .seeded
            .arrivals
            .push_back((Target(actor(1)), parcel));
        assert_eq!(still.roots(), [1, 2]);
    }

    #[test]
    #[cfg(not(miri))]
    fn sockets_with_something_to_do_are_roots_and_those_who_wait_for_them() {
        let mut still = Still::new(1);
        let sockets = Arc::new(Sockets::for_tests());
        let mut idle = SocketRecord::for_tests(actor(1));
        let mut read = SocketRecord::for_tests(actor(2));
        let mut written = SocketRecord::for_tests(actor(4));
        let mut listener = SocketRecord::for_tests(actor(6));
        idle.bytes_in = 1;
        read.reader = Value::address(actor(3));
        let writer = (Value::address(actor(5)), 0);
        assert!(write_later(&mut written, writer, |_| (), &sockets.quota));
        listener.kind = SocketKind::Listener;
        for record in [idle, read, written, listener] {
            sockets.add(record);
        }
        still.thread.net = Some(Box::new(Net::new(sockets)));
        assert_eq!(still.roots(), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn watched_actors_are_roots() {
        let mut still = Still::new(1);
        let mut watch = Watch::new(Watched::for_tests());
        watch.count(actor(1), crate::values::actor::BehaviourId::SINK);
        still.thread.watches.push(watch);
        assert_eq!(still.roots(), [1]);
    }
}
