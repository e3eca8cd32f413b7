//! The queue against a deque, its memory, and what a collection reads of it.
use super::chunk::SPARE;
use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

fn push(queue: &mut EventQueue, n: i64) {
    queue.push(std::ptr::null(), Value::fixnum(n));
}

fn pop(queue: &mut EventQueue) -> Option<i64> {
    queue.pop().map(|e| e.message.fixnum_value())
}

#[test]
fn first_in_first_out_across_chunks() {
    let mut queue = EventQueue::new(Arc::default());
    let n = 3 * EVENTS as i64 + 5;
    for i in 0..n {
        push(&mut queue, i);
    }
    for i in 0..n {
        assert_eq!(pop(&mut queue), Some(i));
    }
    assert_eq!(pop(&mut queue), None);
    assert!(queue.is_empty());
}

#[test]
fn agrees_with_a_deque_under_any_mix() {
    // A fixed walk that crosses chunk ends in both directions, with rewinds in between.
    let mut queue = EventQueue::new(Arc::default());
    let mut model = VecDeque::new();
    let mut n = 0;
    for step in 0..if cfg!(miri) { 200 } else { 20_000 } {
        let pushes = (step * 7919) % 13;
        for _ in 0..pushes {
            push(&mut queue, n);
            model.push_back(n);
            n += 1;
        }
        let popped = pop(&mut queue);
        assert_eq!(popped, model.pop_front());
        let position = queue.position();
        for _ in 0..(step * 31) % (2 * EVENTS + 3) {
            push(&mut queue, -1);
        }
        queue.rewind(position);
        for _ in 0..(step * 104_729) % 12 {
            assert_eq!(pop(&mut queue), model.pop_front());
        }
        assert_eq!(queue.is_empty(), model.is_empty());
        assert_eq!(queue.len(), model.len());
        let ahead = queue.ahead(0, 2).map(|(near, far)| {
            let number = |event: Event| event.message.fixnum_value();
            (number(near), number(far))
        });
        match ahead {
            Some(ahead) => assert_eq!(ahead, (model[0], model[2])),
            None => assert!(queue.in_sight() <= 2),
        }
        let position = queue.position();
        let pushes = (step * 17) % (EVENTS + 40);
        for i in 0..pushes {
            assert_eq!(queue.pushed_since(&position), i);
            push(&mut queue, -1);
        }
        assert_eq!(queue.pushed_since(&position), pushes);
        assert_eq!(queue.queued_before(&position), model.len());
        assert_eq!(queue.len(), model.len() + pushes);
        queue.rewind(position);
    }
}

/// Events with these numbers.
fn events(numbers: std::ops::Range<i64>) -> Vec<Event> {
    let mut queue = EventQueue::new(Arc::default());
    numbers.for_each(|n| push(&mut queue, n));
    let mut events = Vec::new();
    queue.each(|event| events.push(event));
    events
}

/// Events taken in the middle of a turn are put back, whatever room there is for them, also with others before them.
#[test]
fn what_was_taken_can_be_put_back_before_all_others() {
    let n = EVENTS as i64;
    for popped in [0, 1, n - 1, n, n + 1] {
        for more in [0, 1, n - 1, n, 3 * n] {
            for kept in [false, true] {
                let mut queue = EventQueue::new(Arc::default());
                (0..2 * n + 5).for_each(|i| push(&mut queue, i));
                if kept {
                    queue.keep();
                }
                (0..popped).for_each(|i| assert_eq!(pop(&mut queue), Some(i)));
                let position = queue.position();
                let staged = if queue.is_read() { 0 } else { 2 };
                (0..staged).for_each(|_| push(&mut queue, -1));
                let taken: Vec<Event> =
                    std::iter::from_fn(|| queue.take_before(&position)).collect();
                queue.prepend(&taken[1..]);
                queue.prepend(&events(popped - more..popped + 1));
                assert_eq!(queue.queued_before(&position), taken.len() + more as usize);
                let mut shown = 0;
                queue.each(|_| shown += 1);
                assert_eq!(shown, queue.len());
                assert_eq!(shown, queue.queued_before(&position) + staged);
                queue.rewind(position);
                let left: Vec<_> = std::iter::from_fn(|| pop(&mut queue)).collect();
                let expected: Vec<i64> = (popped - more..2 * n + 5).collect();
                assert_eq!(left, expected);
                assert!(queue.is_empty());
                queue.let_go();
            }
        }
    }
}

#[test]
fn what_comes_first_in_an_empty_queue_is_as_if_pushed() {
    let mut queue = EventQueue::new(Arc::default());
    queue.prepend(&events(0..3));
    queue.prepend(&[]);
    let left: Vec<_> = std::iter::from_fn(|| pop(&mut queue)).collect();
    assert_eq!(left, [0, 1, 2]);
    assert!(queue.is_empty());
}

#[test]
fn any_event_in_sight_can_be_brought_forward() {
    let mut queue = EventQueue::new(Arc::default());
    let n = 2 * EVENTS as i64;
    for i in 0..n {
        push(&mut queue, i);
    }
    let mut seen: Vec<i64> = (0..n as usize)
        .map(|i| {
            queue.bring_forward((i * 31) % queue.in_sight().max(1));
            // Beyond what is in sight nothing happens.
            queue.bring_forward(queue.in_sight());
            pop(&mut queue).unwrap()
        })
        .collect();
    assert_ne!(seen, (0..n).collect::<Vec<_>>());
    seen.sort_unstable();
    assert_eq!(seen, (0..n).collect::<Vec<_>>());
    assert_eq!((queue.in_sight(), queue.len()), (0, 0));
    (0..5).for_each(|i| push(&mut queue, i));
    queue.bring_forward(3);
    let left: Vec<_> = std::iter::from_fn(|| pop(&mut queue)).collect();
    assert_eq!(left, [3, 0, 1, 2, 4]);
}

#[test]
fn taking_before_a_position_leaves_staged_events_alone() {
    for committed in [1, EVENTS - 1, EVENTS, EVENTS + 1] {
        let mut queue = EventQueue::new(Arc::default());
        for i in 0..committed as i64 {
            push(&mut queue, i);
        }
        let position = queue.position();
        for _ in 0..EVENTS + 3 {
            push(&mut queue, -1);
        }
        for i in 0..committed as i64 {
            let taken = queue.take_before(&position).unwrap();
            assert_eq!(taken.message.fixnum_value(), i);
        }
        assert!(queue.take_before(&position).is_none());
        assert_eq!(queue.len(), EVENTS + 3);
        queue.rewind(position);
        assert_eq!((pop(&mut queue), queue.len()), (None, 0));
        push(&mut queue, 7);
        assert_eq!(pop(&mut queue), Some(7));
    }
}

#[test]
fn a_drained_queue_gives_its_chunks_back() {
    let mut queue = EventQueue::new(Arc::default());
    for i in 0..(100 * EVENTS as i64) {
        push(&mut queue, i);
    }
    while pop(&mut queue).is_some() {}
    assert!(queue.supply.held() <= SPARE + 1);
}

#[test]
fn a_long_queue_lives_in_blocks_and_gives_them_back() {
    let pool = Arc::new(BlockPool::default());
    let mut queue = EventQueue::new(pool.clone());
    let n = (3 * crate::heap::block::BLOCK / size_of::<Event>()) as i64;
    for i in 0..n {
        push(&mut queue, i);
    }
    let long = pool.quota.held();
    assert!(long >= n as usize * size_of::<Event>() * 15 / 16 && !queue.is_starved());
    assert_eq!(pool.bytes().1, 0, "they are no heap's");
    for i in 0..n {
        assert_eq!(pop(&mut queue), Some(i));
    }
    queue.rest();
    assert_eq!((pool.quota.held(), queue.supply.held()), (0, 1));
    push(&mut queue, 1);
    assert_eq!(pop(&mut queue), Some(1));
    drop(queue);
    assert_eq!(pool.quota.held(), 0);
}

#[test]
fn what_there_is_no_memory_for_can_be_taken_back_with_its_memory() {
    let block = crate::heap::block::BLOCK;
    let pool = BlockPool::new(3 * block, crate::heap::pace::Pace::default());
    let pool = Arc::new(pool);
    let mut queue = EventQueue::new(pool.clone());
    let mut n = 0;
    let mut position = queue.position();
    while !queue.is_starved() {
        position = queue.position();
        push(&mut queue, n);
        n += 1;
    }
    assert_eq!(
        pool.quota.held(),
        3 * block,
        "two within, and one that it was given anyway"
    );
    queue.rewind(position);
    assert!(!queue.is_starved());
    assert_eq!(pool.quota.held(), 2 * block);
    // The next one finds as little; an accepted event stays.
    push(&mut queue, n - 1);
    assert!(queue.is_starved());
    queue.forgive();
    for i in 0..n {
        assert_eq!(pop(&mut queue), Some(i));
    }
    queue.rest();
    assert_eq!(pool.quota.held(), 0);
}

#[test]
fn a_collection_reads_what_was_queued_though_it_is_taken_and_more_comes() {
    for count in [0, 1, EVENTS, EVENTS + 1, 4 * EVENTS + 2] {
        let mut queue = EventQueue::new(Arc::default());
        for i in 0..count as i64 + 3 {
            push(&mut queue, i);
        }
        for _ in 0..3 {
            pop(&mut queue);
        }
        let mut seen = Vec::new();
        let mut kept = queue.snapshot(|event| seen.push(event));
        let mut first = Vec::new();
        queue.keep();
        for i in 0..2 * count as i64 {
            push(&mut queue, -i);
            pop(&mut queue);
            pop(&mut queue);
        }
        while let Some(true) = kept.as_mut().map(|kept| kept.take(10, |e| first.push(e))) {}
        first.extend(seen);
        let seen = first;
        let seen: Vec<i64> = seen.iter().map(|e| e.message.fixnum_value()).collect();
        assert_eq!(seen, (3..count as i64 + 3).collect::<Vec<_>>());
        queue.let_go();
        for i in 0..9 * EVENTS as i64 {
            push(&mut queue, i);
            assert_eq!(pop(&mut queue), Some(i));
        }
        assert!(queue.supply.held() <= SPARE + 1);
    }
}

/// A step of a thread with its queue.
#[derive(Clone, Debug)]
enum Step {
    /// Events come in, this many, behind all others or before them.
    Come(usize),
    Precede(usize),
    /// A turn: the number of events that it stages, the number that it gives away if it looks through the queue, and its end.
    Turn(usize, Option<usize>, TurnEnding),
    Keep,
    Walk(usize),
    LetGo,
    Recycle(usize),
}

#[derive(Clone, Copy, Debug)]
enum TurnEnding {
    Commit,
    Abort,
    /// The turn is to run once more.
    Again,
}

fn some() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..4usize, 1 => EVENTS - 2..EVENTS + 3]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use TurnEnding::{Abort, Again, Commit};
    let ending = prop_oneof![2 => Just(Commit), 1 => Just(Abort), 2 => Just(Again)];
    let turn = (some(), proptest::option::of(some()), ending);
    let step = prop_oneof![
        3 => some().prop_map(Step::Come),
        3 => some().prop_map(Step::Precede),
        9 => turn.prop_map(|(staged, gives, ending)| Step::Turn(staged, gives, ending)),
        2 => Just(Step::Keep),
        1 => some().prop_map(Step::Walk),
        1 => Just(Step::LetGo),
        1 => some().prop_map(Step::Recycle),
    ];
    proptest::collection::vec(step, 0..if cfg!(miri) { 12 } else { 60 })
}

/// A queue, and the numbers that are in it.
struct Modelled {
    queue: EventQueue,
    model: VecDeque<i64>,
    next: i64,
    walk: Option<ModelledWalk>,
}

/// The events still to be walked through, those seen, those that the last chunk had, and all of them.
type ModelledWalk = (Option<KeptEvents>, Vec<i64>, Vec<i64>, Vec<i64>);

impl Modelled {
    fn numbers(&mut self, n: usize) -> std::ops::Range<i64> {
        self.next += n as i64;
        self.next - n as i64..self.next
    }

    fn turn(&mut self, staged: usize, gives: Option<usize>, ending: TurnEnding) {
        let staged = self.numbers(staged);
        let Modelled { queue, model, .. } = self;
        let Some(event) = queue.pop() else {
            return assert_eq!(model.pop_front(), None);
        };
        assert_eq!(Some(event.message.fixnum_value()), model.pop_front());
        let position = queue.position();
        staged.clone().for_each(|n| push(queue, n));
        if let Some(gives) = gives.filter(|_| !queue.is_read()) {
            let taken: Vec<Event> = std::iter::from_fn(|| queue.take_before(&position)).collect();
            let gives = gives.min(taken.len());
            queue.prepend(&taken[gives..]);
            model.drain(..gives);
        }
        match ending {
            TurnEnding::Commit => model.extend(staged),
            TurnEnding::Abort => queue.rewind(position),
            TurnEnding::Again => {
                queue.rewind(position);
                queue.prepend(&[event]);
                model.push_front(event.message.fixnum_value());
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Come(n) => {
                let numbers = self.numbers(n);
                numbers.clone().for_each(|n| push(&mut self.queue, n));
                self.model.extend(numbers);
            }
            Step::Precede(n) => {
                let numbers = self.numbers(n);
                self.queue.prepend(&events(numbers.clone()));
                numbers.rev().for_each(|n| self.model.push_front(n));
            }
            Step::Turn(staged, gives, ending) => self.turn(staged, gives, ending),
            Step::Keep if self.walk.is_none() => {
                let mut last = Vec::new();
                let number = |event: Event| event.message.fixnum_value();
                let kept = self.queue.snapshot(|event| last.push(number(event)));
                self.queue.keep();
                let all = self.model.iter().copied().collect();
                self.walk = Some((kept, Vec::new(), last, all));
            }
            Step::Keep => {}
            Step::Walk(n) => drop(self.walk(n)),
            Step::LetGo => self.let_go(),
            Step::Recycle(n) => drop(self.queue.recycle_emptied(n)),
        }
        assert_eq!(self.queue.len(), self.model.len());
    }

    /// A collection walks through what was queued when it began. Returns whether there is more.
    fn walk(&mut self, n: usize) -> bool {
        let Some((kept, seen, ..)) = &mut self.walk else {
            return false;
        };
        let is_more = kept
            .as_mut()
            .is_some_and(|kept| kept.take(n, |event| seen.push(event.message.fixnum_value())));
        if !is_more {
            *kept = None;
        }
        is_more
    }

    /// The collection has marked, and has met everything that was queued when it began.
    fn let_go(&mut self) {
        while self.walk(3 * EVENTS) {}
        self.queue.let_go();
        if let Some((_, mut seen, last, all)) = self.walk.take() {
            seen.extend(last);
            assert_eq!(seen, all);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 400 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn it_is_a_deque_whatever_turns_do(steps in steps()) {
        let (queue, model) = (EventQueue::new(Arc::default()), VecDeque::new());
        let mut modelled = Modelled { queue, model, next: 0, walk: None };
        steps.into_iter().for_each(|step| modelled.step(step));
        modelled.let_go();
        let Modelled { mut queue, model, .. } = modelled;
        let left: Vec<i64> = std::iter::from_fn(|| pop(&mut queue)).collect();
        prop_assert_eq!(left, model.into_iter().collect::<Vec<_>>());
    }
}
