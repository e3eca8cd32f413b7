//! The dining philosophers: the arbiter's tuple of forks, which is copied for each fork that is taken or put back, and messages.
//!
//! How often a philosopher asks depends on the order of messages. So these are here, in one queue, first in first out, as a
//! machine with one thread has them; without actors that they are addressed to. Of the tuples only the last one is needed: the
//! memory of the others is used again after a while, as a machine that collects does it.
use crate::cells::{Heap, Int, Tuple};
use crate::queue::Queue;

const PHILOSOPHERS: usize = 20;
const TAKEN: Int = Int::ZERO;
const FREE: Int = Int::ONE;

/// Messages after which memory is used again. This much memory has room in a cache of the second level.
const MESSAGES: u32 = 1_024;

/// A message that is on its way, with the number of the philosopher.
#[derive(Clone, Copy)]
enum Message {
    /// Messages to the arbiter.
    Hungry(usize),
    Eaten(usize),
    /// Messages to the philosopher. The first one starts it.
    Wait(usize),
    Eat(usize),
}

struct Table {
    queue: Queue<Message>,
    /// Meals left for each philosopher.
    left: Vec<Int>,
    meals: Int,
}

/// Returns the number of meals eaten with forks that did not lie on the table; or -1 if not all forks lie there in the end.
pub(crate) fn run(heap: &mut Heap, n: u32) -> f64 {
    let mut table = Table {
        queue: Queue::new(),
        left: vec![Int::new(n.into()); PHILOSOPHERS],
        meals: Int::ZERO,
    };
    for number in 0..PHILOSOPHERS {
        table.queue.push(Message::Wait(number));
    }
    let mut forks = [FREE; PHILOSOPHERS];
    let mut more = true;
    while more {
        heap.empty();
        let mut free = heap.tuple(&forks);
        for _ in 0..MESSAGES {
            match table.queue.pop() {
                Some(message) => free = table.receive(heap, free, message),
                None => more = false,
            }
        }
        forks.copy_from_slice(free.0);
    }
    if forks == [FREE; PHILOSOPHERS] {
        table.meals.get() as f64
    } else {
        -1.0
    }
}

impl Table {
    /// The forks after that message.
    #[inline(always)]
    fn receive<'h>(&mut self, heap: &'h Heap, free: Tuple<'h>, message: Message) -> Tuple<'h> {
        match message {
            Message::Hungry(left) => {
                let right = (left + 1) % free.0.len();
                if free.0[left] == FREE && free.0[right] == FREE {
                    self.queue.push(Message::Eat(left));
                    return heap.put_elem(heap.put_elem(free, left, TAKEN), right, TAKEN);
                }
                self.queue.push(Message::Wait(left));
            }
            Message::Eaten(left) => {
                let right = (left + 1) % free.0.len();
                if free.0[left] == TAKEN && free.0[right] == TAKEN {
                    self.meals = self.meals + Int::ONE;
                }
                return heap.put_elem(heap.put_elem(free, left, FREE), right, FREE);
            }
            Message::Wait(number) => self.queue.push(Message::Hungry(number)),
            Message::Eat(number) => {
                self.queue.push(Message::Eaten(number));
                self.left[number] = self.left[number] - Int::ONE;
                if self.left[number] > Int::ZERO {
                    self.queue.push(Message::Hungry(number));
                }
            }
        }
        free
    }
}
