//! The end of a dispatch thread. When its sponsor is removed, its work moves to the first sponsor. Its heap goes to the machine,
//! since others may hold what is in it.
use super::Dispatch;
use crate::threads::inbox::{Contents, Entry};
use crate::threads::station::Station;
use crate::turns::leaving::ListKind;
use crate::turns::marking::packets::Packet;
use crate::turns::marking::span::Span;
use crate::turns::queue::EventQueue;

impl Dispatch {
    /// The sponsor is removed: everything queued, waiting and armed goes to the first sponsor, with the actors that it is
    /// for.
    pub(crate) fn retire(&mut self) {
        self.close_sockets();
        self.migrate();
        let context = self.context.clone();
        let mut contents = Contents::default();
        context.station.inbox.close(&mut contents);
        self.show_drained(&mut contents);
        let outstanding = contents.outstanding();
        let heir = context.machine.sponsors().first();
        let heir = heir.lead();
        let wanted = std::mem::take(&mut self.turn.leaving.wanted);
        self.turn.queue.prepend(&wanted);
        self.turn.leaving.claims.clear();
        self.accept_first(&mut contents);
        for event in contents.events.drain(..) {
            self.turn.queue.push(event.target, event.message);
        }
        for entry in contents.entries.drain(..) {
            match entry {
                Entry::Given(events) => self.welcome(&events),
                // Its event goes where all others go.
                Entry::Migrate(..) => {}
                entry => context.machine.push(heir, entry),
            }
        }
        for (target, parcel) in self.seeded.arrivals.drain(..) {
            context.machine.push(heir, Entry::Message(target, parcel));
        }
        self.call_off();
        self.give_all(heir);
        let serials = self.turn.timer_serial;
        heir.timers.adopt(&context.station.timers, serials);
        let gc = context.machine.gc();
        if gc.has_to_mark() {
            // Its walk may have been over before (timers/mod.rs, invariant 5).
            gc.work
                .add([Packet::Span(Span::Table(heir.timers.clone()))]);
        }
        // It may sleep for longer than that.
        heir.wake();
        context.machine.quiescence().done(outstanding);
    }

    /// Gives everything that is queued to the heir. Events for other threads' actors go by way of the heir as well: those
    /// threads may be ending, too, and this way none of them waits for another.
    fn give_all(&mut self, heir: &Station) {
        while !self.is_done() && !self.context.machine.is_stopping() {
            self.flush();
            self.take_up_held();
            let mut own = Vec::new();
            while let Some(event) = self.turn.queue.pop() {
                match event.header().owner() == self.context.station.number {
                    true => own.push(event),
                    false => self
                        .turn
                        .leaving
                        .add(heir.number, ListKind::Entrance, event),
                }
            }
            self.turn.queue.prepend(&own);
            self.flush();
            self.context.give(&mut self.turn, heir, |_, _| |_, _| true);
            std::thread::yield_now();
        }
    }

    /// The end: nothing of it runs any more.
    pub(crate) fn leave(mut self) {
        self.drop_sockets();
        self.publish();
        let context = self.context.clone();
        // Still awake: a collector waits for this thread, and finds the heap in one place or the other.
        context.station.show(std::ptr::null_mut());
        let gc = context.machine.gc();
        // The queue's memory goes before the heap does: afterwards the machine may unmap it.
        let nothing = EventQueue::new(context.machine.shared_pool());
        let queue = std::mem::replace(&mut self.turn.queue, nothing);
        if gc.has_to_mark() {
            gc.work.flush(&mut self.turn.log);
            gc.garbage.queue(queue);
        } else {
            drop(queue);
        }
        context.machine.take_back(self.turn.heap);
        context.station.parker.close();
        context.station.presence.sleep();
    }
}
