//! How a dispatch thread ends: what it has to do moves to the first sponsor when its own is removed; its heap goes to the
//! machine, for others may hold what is in it.
use super::Dispatch;
use crate::threads::inbox::{Contents, Entry};
use crate::threads::parker::Waker;
use crate::turns::marking::phase::Phase;
use crate::turns::queue::EventQueue;

impl Dispatch {
    /// The sponsor is removed: everything queued, waiting and armed goes to the first sponsor.
    pub(crate) fn retire(&mut self) {
        self.migrate();
        let place = self.place.clone();
        let mut contents = Contents::default();
        place.station.inbox.close(&mut contents);
        self.show_unseen(&mut contents);
        let outstanding = contents.outstanding();
        while let Some(event) = self.turn.queue.pop() {
            contents.events.push(event);
        }
        let heir = place.machine.sponsors().first();
        let heir = heir.lead();
        self.place
            .hand_over(heir, &mut contents.events, Waker::GoesOn);
        for entry in contents.entries.drain(..) {
            place.machine.push(heir, entry);
        }
        for (target, parcel) in self.arrivals.drain(..) {
            place.machine.push(heir, Entry::Message(target, parcel));
        }
        let serials = self.turn.timer_serial;
        heir.timers
            .adopt(&place.station.timers, place.station.number, serials);
        // It may sleep for longer than that.
        heir.wake();
        place.machine.quiescence().done(outstanding);
        self.flush();
    }

    /// The end: nothing of it runs any more.
    pub(crate) fn leave(mut self) {
        self.publish();
        let place = self.place.clone();
        // Still awake: a collector waits for this thread, and finds the heap in one place or the other.
        place.station.show(std::ptr::null_mut());
        let gc = place.machine.gc();
        // The queue's memory goes before the heap does: afterwards the machine may unmap it.
        let nothing = EventQueue::new(place.machine.shared_pool());
        let queue = std::mem::replace(&mut self.turn.queue, nothing);
        if gc.phase() == Phase::Marking {
            gc.work.flush(&mut self.turn.log);
            gc.garbage.queue(queue);
        } else {
            drop(queue);
        }
        place.machine.take_back(self.turn.heap);
        place.station.parker.close();
        place.station.presence.sleep();
    }
}
