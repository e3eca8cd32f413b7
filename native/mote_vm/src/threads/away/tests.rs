use super::*;
use crate::base::atom::Atom;
use crate::boundary::parcel::{Builder, Parcel};
use crate::boundary::turn_away::{Effect, Effects, Outcome, TurnEnd};
use crate::heap::block::BLOCK;
use crate::testing::still::Still;
use crate::values::actor::BehaviourId;
use crate::values::value::Value;

/// A thread that never runs, and may have `most` turns away at once.
fn still(most: usize) -> Still {
    still_within(most, usize::MAX)
}

fn still_within(most: usize, memory: usize) -> Still {
    let mut still = Still::within(1, memory);
    let quota = still.machine.pool().quota.clone();
    still.thread.away = Some(Box::new(Away::new(most, quota)));
    still
}

fn actors<const N: usize>(thread: &mut Dispatch) -> [*const Actor; N] {
    let turn = &mut thread.turn;
    let made = [(); N].map(|()| turn.create(BehaviourId::SINK, Value::NIL));
    turn.tidy_up();
    made.map(|actor| actor.address_pointer())
}

fn event(target: *const Actor) -> Event {
    Event {
        target,
        message: Value::NIL,
    }
}

/// A turn that sends so often, to nobody.
fn sends(count: usize) -> Effects {
    let mut values = Builder::new();
    values.tuple(2 * count);
    (0..2 * count).for_each(|_| values.atom(Atom::NIL));
    Effects {
        steps: (0..count).map(|_| Effect::Send).collect(),
        values: Some(values.finish()),
    }
}

#[test]
fn what_is_in_line_is_charged_until_it_is_not() {
    let mut still = still(1);
    let quota = still.machine.pool().quota.clone();
    let [one, other] = actors(&mut still.thread);
    let before = quota.held();
    let away = still.thread.away.as_mut().expect("a thread of those");
    away.leaves(1, event(one));
    assert!(!away.line_up(event(other)) && !away.precede(&[event(other)]));
    assert_eq!(quota.held(), before);
    (0..5).for_each(|_| assert!(away.line_up(event(one))));
    assert!(away.precede(&[event(one); 2]));
    assert_eq!(quota.held(), before + 7 * size_of::<Event>());
    assert!(away.lines.next_for(one).is_some());
    assert_eq!(quota.held(), before + 6 * size_of::<Event>());
    assert_eq!(away.lines.take_line(one).len(), 6);
    assert_eq!((quota.held(), away.waiting()), (before, 0));
    assert!(!away.line_up(event(one)), "it is back");
}

#[test]
fn an_actor_is_back_when_nothing_is_left_in_its_line() {
    let mut still = still(1);
    let [one] = actors(&mut still.thread);
    let away = still.thread.away.as_mut().expect("a thread of those");
    away.leaves(1, event(one));
    assert!(away.line_up(event(one)));
    assert!(away.lines.next_for(one).is_some() && away.line_up(event(one)));
    assert!(away.lines.next_for(one).is_some() && away.lines.next_for(one).is_none());
    assert!(!away.line_up(event(one)));
}

#[test]
fn what_comes_back_to_a_paused_thread_takes_the_senders_of_nobody_else() {
    let mut still = still(2);
    let thread = &mut still.thread;
    let [away, target, one, other] = actors(thread);
    // There is room before the two that are queued, in their chunk: only what is there is in sight.
    (0..2).for_each(|_| thread.turn.queue.push(target, Value::NIL));
    for sender in [one, other] {
        thread
            .seeded
            .senders
            .keep_up(thread.turn.queue.len(), std::ptr::null());
        thread.turn.queue.push(target, Value::NIL);
        thread
            .seeded
            .senders
            .keep_up(thread.turn.queue.len(), sender);
    }
    for _ in 0..2 {
        assert!(thread.turn.queue.pop().is_some());
        thread.seeded.senders.take(0);
    }
    thread.context.machine.quiescence().goes_away();
    let away_turns = thread.away.as_mut().expect("a thread of those");
    away_turns.leaves(1, event(away));
    (0..2).for_each(|_| assert!(away_turns.line_up(event(away))));
    thread.context.machine.pause();
    thread.turn_ended(1, Outcome::Ignored);
    let queued = thread.turn.queue.len();
    thread.seeded.senders.keep_up(queued, std::ptr::null());
    // Of the two that waited in line the second may not overtake the first. Those of the two senders may overtake each other.
    let may_be_next = thread.seeded.senders.may_be_next(&thread.turn.queue);
    assert_eq!((queued, may_be_next), (4, vec![0, 2, 3]));
    while thread.turn.queue.pop().is_some() {}
}

#[test]
fn what_waits_for_an_actor_does_not_overtake_its_turn_that_is_to_run_again() {
    let mut still = still(1);
    let thread = &mut still.thread;
    let [one] = actors(thread);
    let numbered = |n| Event {
        target: one,
        message: Value::fixnum(n),
    };
    thread.context.machine.quiescence().goes_away();
    let away = thread.away.as_mut().expect("a thread of those");
    away.leaves(1, numbered(1));
    (2..4).for_each(|n| assert!(away.line_up(numbered(n))));
    // Its sponsor is removed, and so a turn that finds its actor moved has to begin again.
    thread.context.sponsor.removed.store(true, Relaxed);
    thread.context.machine.pause();
    thread.turn_ended(1, Outcome::Aborted(Parcel::atom(Atom::MOVED)));
    let queued = std::iter::from_fn(|| thread.turn.queue.pop());
    let order: Vec<Value> = queued.map(|event| event.message).collect();
    assert_eq!(order, [1, 2, 3].map(Value::fixnum));
}

#[test]
fn effects_that_find_no_memory_abort_their_turn() {
    let memory = 32 * BLOCK;
    let mut still = still_within(1, memory);
    let quota = still.machine.pool().quota.clone();
    let thread = &mut still.thread;
    let [one] = actors(thread);
    // More than what is left of the block that the heap has at present.
    let effects = sends(BLOCK / 2);
    thread.context.machine.quiescence().goes_away();
    let away = thread.away.as_mut().expect("a thread of those");
    away.leaves(1, event(one));
    quota.take_anyway(memory);
    thread.turn_ended(1, Outcome::Done(effects));
    quota.give(memory);
    let counts = &thread.turn.counts;
    assert_eq!((counts.aborts_no_memory, counts.sends), (1, 0));
    assert!(!thread.is_anybody_away() && thread.turn.queue.is_empty());
}

/// Another thread has used up the memory, and what lives takes longer to mark than a pause.
#[test]
#[cfg_attr(miri, ignore)] // Miri takes long.
fn effects_wait_for_the_collection_that_finds_memory_for_them() {
    let memory = 32 * BLOCK;
    let mut still = still_within(1, memory);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let [one] = actors(thread);
    let heap = &mut thread.turn.heap;
    let list = (0..1_500_000).fold(Value::EMPTY_LIST, |list, _| heap.cons(Value::NIL, list));
    let keeper = thread.turn.create(BehaviourId::SHARED, list);
    machine.handles().acquire(keeper.address_pointer(), None);
    machine.handles().acquire(one, None);
    thread.turn.tidy_up();
    while !thread.turn.heap.exhausted() {
        thread.turn.heap.tuple(99, |_| Value::NIL);
    }
    thread.turn.heap.forgive();
    machine.quiescence().goes_away();
    let away = thread.away.as_mut().expect("a thread of those");
    away.leaves(1, event(one));
    let outcome = Outcome::Done(sends(2_000));
    thread
        .duties
        .ended
        .push_back(TurnEnd { number: 1, outcome });
    thread.attend();
    assert!(!thread.is_anybody_away());
    assert_eq!(thread.turn.counts.aborts_no_memory, 0);
}
