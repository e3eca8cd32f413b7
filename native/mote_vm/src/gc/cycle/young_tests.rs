//! Tests of collections that mark what is young.
use super::*;
use crate::heap::marks::is_marked;
use crate::testing::still::Still;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId, Header};

fn begins(machine: &Machine, thread: &mut Dispatch, young: bool) {
    let number = following(machine.gc().begun(), young);
    assert_eq!(is_young(number), young);
    Stopped::new(machine, vec![&mut *thread], Instant::now()).begin(number, None, false);
}

fn ends(machine: &Machine, thread: &mut Dispatch) {
    while machine.gc().phase() != Phase::Clearing {
        Stopped::new(machine, vec![&mut *thread], Instant::now()).collect();
    }
    // Nothing that lives is overwritten.
    thread.turn.heap.spoil();
    while machine.gc().phase() != Phase::None {
        thread.collect_a_little();
    }
    // As if the next one could pay.
    machine.pool().set_watches(true);
    thread.turn.heap.join_collection();
}

fn collects(machine: &Machine, thread: &mut Dispatch, young: bool) {
    begins(machine, thread, young);
    ends(machine, thread);
}

fn actor<'a>(thread: &mut Dispatch, id: BehaviourId) -> &'a Actor {
    let header = Header::new(id, None, thread.context.station.number);
    let made = thread.turn.heap.actor(header, Value::NIL);
    let it = made.address_pointer();
    thread.context.machine.handles().acquire(it, None);
    // SAFETY: it has a handle until the machine ends.
    unsafe { &*it }
}

fn tuple(thread: &mut Dispatch, n: i64) -> Value {
    thread.turn.heap.tuple(3, |i| Value::fixnum(n + i as i64))
}

fn is_tuple(value: Value, n: i64) -> bool {
    let parts = value.as_tuple().unwrap_or(&[]);
    parts == [n, n + 1, n + 2].map(Value::fixnum)
}

/// A turn in which it becomes the same with another state.
fn becomes(thread: &mut Dispatch, it: &Actor, state: Value) {
    let id = it.header().behaviour();
    thread.turn.begin(Event {
        target: it,
        message: Value::NIL,
    });
    thread.turn.become_next(id, state);
    thread.turn.commit();
    thread.turn.tidy_up();
}

#[test]
fn what_old_actors_have_become_lives_and_they_are_counted_once() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let id = thread.turn.around.program.publish_capturing(1);
    let mut all: Vec<_> = (0..10).map(|_| actor(thread, id)).collect();
    collects(&machine, thread, false);
    for round in 0..4 {
        for (n, it) in all.iter().enumerate().skip(round) {
            let state = tuple(thread, (10 * round + n) as i64);
            becomes(thread, it, state);
        }
        all.push(actor(thread, id));
        collects(&machine, thread, true);
        assert_eq!(machine.gc().info().live_actors, all.len() as u64);
        for (n, it) in all.iter().enumerate().take(10) {
            let last = 10 * round.min(n) + n;
            assert!(is_tuple(it.state(), last as i64), "{n} after {round}");
        }
    }
}

/// Its state is sent on and given up while the collection marks, before anybody has come to the actor.
#[test]
fn what_an_old_actor_has_become_lives_if_it_is_passed_on_while_a_collection_marks() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let id = thread.turn.around.program.publish_capturing(1);
    let it = actor(thread, id);
    collects(&machine, thread, false);
    let state = tuple(thread, 5);
    becomes(thread, it, state);
    begins(&machine, thread, true);
    thread.turn.queue.push(it, state);
    becomes(thread, it, Value::NIL);
    ends(&machine, thread);
    let event = thread.turn.queue.pop().expect("queued");
    assert!(is_tuple(event.message, 5));
}

#[test]
fn old_garbage_stays_until_a_whole_collection() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let id = thread.turn.around.program.publish_capturing(1);
    let it = actor(thread, id);
    let state = tuple(thread, 5);
    becomes(thread, it, state);
    collects(&machine, thread, false);
    becomes(thread, it, Value::NIL);
    let cell = crate::heap::cell::cell_of(state);
    for young in [true, true, false] {
        collects(&machine, thread, young);
        assert_eq!(is_marked(cell, machine.gc().begun()), young);
    }
}

/// Also if a young one would do otherwise.
#[test]
fn a_collection_that_somebody_waits_for_is_whole() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let pace = &machine.pool().pace;
    let young = |thread: &mut Dispatch| {
        Stopped::new(&machine, vec![&mut *thread], Instant::now()).may_be_young()
    };
    assert!(!young(thread));
    let whole = |thread: &mut Dispatch, meanwhile: &dyn Fn()| {
        pace.allocated(1_000);
        pace.begun(0);
        pace.begun_whole();
        meanwhile();
        pace.collected(1 << 30, 0, None);
        Stopped::new(&machine, vec![&mut *thread], Instant::now()).watch(1 << 30);
    };
    whole(thread, &|| ());
    assert!(young(thread));
    let next = machine.gc().next();
    thread.duties.collections.push((next, Box::new(|| ())));
    assert!(!young(thread));
    thread.duties.collections.clear();
    assert!(young(thread));
    thread
        .duties
        .moments
        .push_back(Box::new(|_, _| Box::new(|| ())));
    assert!(!young(thread));
    thread.duties.moments.clear();
    assert!(young(thread));
    pace.awaited();
    assert!(!young(thread));
    // It may be garbage only since that one has begun.
    whole(thread, &|| pace.awaited());
    assert!(!young(thread));
    whole(thread, &|| ());
    assert!(young(thread));
}
