//! The sleeping barber: its idle loops, and the waiting room.
//!
//! How often guests are turned away and come again depends on the order of messages. So these are here, in one queue, first in
//! first out, as a machine with one thread has them; without actors that they are addressed to. The waiting room is two lists,
//! of which the one for arriving guests is turned around when the other one is empty.
use crate::cells::{Heap, Int, List};
use crate::queue::Queue;
use crate::savina::dice::idle;

const SEATS: Int = Int::new(1_000);

/// A message that is on its way.
#[derive(Clone, Copy)]
enum Message {
    /// The next guest: from the street to itself.
    Next,
    /// A guest enters: from the street to the room.
    Enter(Int),
    /// There is no seat: from the room to the guest, and from the guest to the street.
    Full(Int),
    Again(Int),
    /// A haircut: from the room to the barber, from the barber to the guest, and from the guest to the street.
    Cut,
    Done,
    Gone,
    /// The barber is free: from the barber to the room.
    Free,
}

struct Shop<'h> {
    heap: &'h Heap,
    queue: Queue<Message>,
    /// Guests that have not come yet, and those that have not been served.
    left: Int,
    uncut: Int,
    street_dice: Int,
    barber_dice: Int,
    /// The guests that wait: those who came last, the last one first, and those who are served before them.
    last: List<'h>,
    first: List<'h>,
    /// Seats that nobody waits on.
    seats: Int,
    asleep: bool,
}

/// Returns the number of guests served, when nobody waits any more.
pub(crate) fn run(heap: &Heap, n: u32) -> f64 {
    let guests = Int::new(n.into());
    let mut shop = Shop {
        heap,
        queue: Queue::new(),
        left: guests,
        uncut: guests,
        street_dice: Int::ONE,
        barber_dice: Int::new(2),
        last: List::EMPTY,
        first: List::EMPTY,
        seats: SEATS,
        asleep: true,
    };
    shop.queue.push(Message::Next);
    while let Some(message) = shop.queue.pop() {
        shop.receive(message);
    }
    (guests - shop.uncut).get() as f64
}

impl Shop<'_> {
    #[inline(always)]
    fn receive(&mut self, message: Message) {
        match message {
            Message::Next => self.next_guest(),
            Message::Enter(guest) => self.enter(guest),
            Message::Full(guest) => self.queue.push(Message::Again(guest)),
            Message::Again(guest) => self.queue.push(Message::Enter(guest)),
            Message::Cut => {
                self.barber_dice = idle(self.barber_dice, rounds(self.barber_dice));
                self.queue.push(Message::Done);
                self.queue.push(Message::Free);
            }
            Message::Done => self.queue.push(Message::Gone),
            Message::Gone => self.uncut = self.uncut - Int::ONE,
            Message::Free => self.free(),
        }
    }

    fn next_guest(&mut self) {
        self.street_dice = idle(self.street_dice, rounds(self.street_dice));
        self.queue.push(Message::Enter(self.left));
        if self.left > Int::ONE {
            self.queue.push(Message::Next);
        }
        self.left = self.left - Int::ONE;
    }

    fn enter(&mut self, guest: Int) {
        if self.asleep {
            self.queue.push(Message::Cut);
            self.asleep = false;
        } else if self.seats > Int::new(0) {
            self.last = self.heap.cons(guest, self.last);
            self.seats = self.seats - Int::ONE;
        } else {
            self.queue.push(Message::Full(guest));
        }
    }

    fn free(&mut self) {
        if self.first.split().is_none() {
            self.first = self.heap.reverse(self.last, List::EMPTY);
            self.last = List::EMPTY;
        }
        match self.first.next() {
            Some(_) => {
                self.seats = self.seats + Int::ONE;
                self.queue.push(Message::Cut);
            }
            None => self.asleep = true,
        }
    }
}

fn rounds(dice: Int) -> Int {
    Int::new(10) + dice % 1_000
}
