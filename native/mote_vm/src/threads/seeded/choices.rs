//! Pseudo-random choices, counted: they are made up to a given number, and after that the first alternative is always taken. Or an
//! order of events that somebody has found before (prove/).
use crate::terms::prim::random::Random;
use parking_lot::Mutex;

/// The fate of an event that an order names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventFate {
    /// It has its turn.
    Runs,
    /// It gets lost.
    Lost,
    /// It has its turn, and comes once more.
    Twice,
    /// Its turn is aborted, whatever it does.
    Aborted,
    /// It is no event yet but an armed timer, which fires. The place is that among those that are armed.
    Fires,
}

/// The bits of a step of an order that are the event's place. Those above are its fate.
const PLACE: u32 = (1 << 28) - 1;

impl EventFate {
    /// All of them, by their numbers.
    pub(crate) const ALL: [EventFate; 5] = [
        EventFate::Runs,
        EventFate::Lost,
        EventFate::Twice,
        EventFate::Aborted,
        EventFate::Fires,
    ];

    /// A step of an order.
    pub(crate) fn step(self, place: u32) -> u32 {
        (self as u32) << 28 | place & PLACE
    }
}

struct Sequence {
    random: Random,
    left: u64,
    made: u64,
    /// The next events by their places in the queue, and their fates; the next one last.
    order: Vec<u32>,
}

/// The choices of one seeded machine.
pub(crate) struct Choices(Mutex<Sequence>);

impl Choices {
    pub(crate) fn new(seed: u64, most: u64) -> Choices {
        Choices(Mutex::new(Sequence {
            random: Random::from_seed(seed),
            left: most,
            made: 0,
            order: Vec::new(),
        }))
    }

    /// Events by their places in the queue; after these, first in, first out.
    pub(crate) fn in_order(order: &[u32]) -> Choices {
        let mut choices = Choices::new(0, 0);
        choices.0.get_mut().order = order.iter().rev().copied().collect();
        choices
    }

    /// The place of the next event in the queue, and its fate, if an order says so.
    pub(crate) fn place(&self) -> Option<(usize, EventFate)> {
        let mut state = self.0.lock();
        let step = state.order.pop()?;
        state.made += 1;
        let fate = EventFate::ALL[(step >> 28) as usize % EventFate::ALL.len()];
        Some(((step & PLACE) as usize, fate))
    }

    /// Chooses one of `n` alternatives. With only one, no choice is made.
    pub(crate) fn choose(&self, n: usize) -> usize {
        let mut state = self.0.lock();
        if n < 2 || state.left == 0 {
            return 0;
        }
        state.left -= 1;
        state.made += 1;
        state.random.below(n as u64) as usize
    }

    /// Returns the number of choices made.
    pub(crate) fn made(&self) -> u64 {
        self.0.lock().made
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_followed_to_its_end() {
        let choices = Choices::in_order(&[EventFate::Runs.step(2), EventFate::Aborted.step(0)]);
        let first = Some((2, EventFate::Runs));
        assert_eq!((choices.choose(9), choices.place()), (0, first));
        let second = Some((0, EventFate::Aborted));
        assert_eq!((choices.place(), choices.place()), (second, None));
        assert_eq!((choices.choose(9), choices.made()), (0, 2));
    }

    #[test]
    fn the_same_seed_chooses_the_same_until_no_choice_is_left() {
        let made = |seed, most| {
            let choices = Choices::new(seed, most);
            let made: Vec<usize> = (0..50).map(|n| choices.choose(2 + n % 7)).collect();
            (made, choices.made())
        };
        assert_eq!(made(1, u64::MAX), made(1, u64::MAX));
        assert_ne!(made(1, u64::MAX).0, made(2, u64::MAX).0);
        let (few, count) = made(1, 10);
        assert_eq!((&few[..10], count), (&made(1, u64::MAX).0[..10], 10));
        assert!(few[10..].iter().all(|choice| *choice == 0));
    }
}
