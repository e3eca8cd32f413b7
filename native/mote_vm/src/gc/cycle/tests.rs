//! Tests of what a collection that moves cells must not miss.
use super::*;
use crate::boundary::parcel::Builder;
use crate::gc::BATCH_WHEN_LATE;
use crate::machine::contract::BehaviourVersion;
use crate::machine::moving::{GoesOn, Hold};
use crate::testing::still::Still;
use crate::threads::inbox::Entry;
use crate::threads::thread::BATCH;
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::handles::Target;
use std::time::Duration;

fn garbage(thread: &mut Dispatch, extents: usize) {
    let mut before = thread.turn.heap.cell_extents().count();
    while before < extents {
        thread.turn.heap.tuple(100, |_| Value::NIL);
        let now = thread.turn.heap.cell_extents().count();
        if now > before {
            // One cell of each block lives.
            let kept = thread.turn.heap.tuple(3, |_| Value::NIL);
            let keeper = actor(thread, BehaviourId::SHARED, kept);
            thread.context.machine.handles().acquire(keeper, None);
            before = now;
        }
    }
}

/// Collections until one has begun that moves cells.
fn begins_to_move(machine: &Machine, thread: &mut Dispatch) {
    let gc = machine.gc();
    thread.duties.collections.push((gc.next(), Box::new(|| ())));
    while gc.phase() != Phase::Clearing {
        Stopped::new(machine, vec![&mut *thread], Instant::now()).collect();
    }
    while gc.phase() != Phase::None {
        thread.collect_a_little();
    }
    assert!(gc.compaction.is_planned());
    let mut stopped = Stopped::new(machine, vec![&mut *thread], Instant::now());
    let number = gc.next();
    let evacuation = stopped.evacuates(number).expect("begins");
    assert!(evacuation.is_some());
    stopped.begin(number, evacuation, false);
}

fn moves(machine: &Machine, thread: &mut Dispatch) {
    while machine.gc().phase() != Phase::Clearing {
        Stopped::new(machine, vec![&mut *thread], Instant::now()).collect();
    }
}

fn actor(thread: &mut Dispatch, id: BehaviourId, state: Value) -> *const Actor {
    let header = Header::new(id, None, thread.context.station.number);
    thread.turn.heap.actor(header, state).address_pointer()
}

/// A message that is nothing but a shared constant comes while a collection marks that moves cells.
#[test]
fn a_constant_that_comes_as_a_message_while_cells_are_to_move() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    garbage(thread, 3);
    let constant = thread.turn.heap.tuple(3, |i| Value::fixnum(i as i64));
    let shared = actor(thread, BehaviourId::SHARED, constant);
    let key = machine.handles().acquire_shared(shared);
    let sink = actor(thread, BehaviourId::SINK, Value::NONE);
    let _sink = machine.handles().acquire(sink, None);
    garbage(thread, 8);
    begins_to_move(&machine, thread);
    let mut message = Builder::new();
    message.constant(machine.hold_shared(key).expect("shared"));
    let entry = Entry::Message(Target(sink), message.finish());
    assert!(thread.context.station.inbox.push(entry).is_ok());
    // It does not run: its machine is paused, or its turns are away.
    thread.drain();
    moves(&machine, thread);
    // SAFETY: it has a handle.
    let now = unsafe { &*shared }.state();
    let event = thread.turn.queue.pop().expect("queued");
    assert_eq!(event.message, now, "the message is where the constant was");
}

/// An actor that was held goes on as what it was, with one capture.
#[test]
fn an_actor_that_goes_on_while_cells_are_to_move() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let program = thread.turn.around.program.clone();
    let (id, held) = (program.publish_capturing(1), program.publish_capturing(4));
    garbage(thread, 3);
    let value = thread.turn.heap.tuple(3, |i| Value::fixnum(i as i64));
    let was = thread.turn.heap.tuple(1, |_| value);
    let row = [
        was,
        Value::fixnum(id.0 as i64),
        Value::fixnum(1),
        Value::NIL,
    ];
    let state = thread.turn.heap.captures(4, |i| row[i]).expect("memory");
    let it = actor(thread, held, state);
    let _key = machine.handles().acquire(it, None);
    garbage(thread, 8);
    begins_to_move(&machine, thread);
    let hold = Hold {
        held: BehaviourVersion {
            id: held,
            program: program.clone(),
        },
        holder: 1,
    };
    // What `mark` does in slices between turns.
    while machine.gc().work.slice(1000, 0).any {}
    // SAFETY: it has a handle.
    assert!(thread.goes_on(unsafe { &*it }, &hold, GoesOn::Back).is_ok());
    moves(&machine, thread);
    // SAFETY: as above.
    let now = unsafe { &*it }.state();
    let elements = now.as_tuple().map(|all| all.to_vec());
    assert_eq!(
        elements,
        Some((0..3).map(Value::fixnum).collect::<Vec<_>>())
    );
}

/// While turns are held nothing is drained, and more waits than a pause looks at.
#[test]
fn what_waits_in_an_inbox_is_seen_while_turns_are_held() {
    let mut still = Still::new(1);
    still.wakes();
    let (machine, gc) = (still.machine.clone(), still.machine.gc());
    let thread = &mut still.thread;
    let station = thread.context.station.clone();
    let sink = actor(thread, BehaviourId::SINK, Value::NONE);
    let key = machine.handles().acquire(sink, None);
    let held = machine.hold(key).expect("held");
    for _ in 0..=UNSEEN / 100 {
        let mut message = Builder::new();
        message.bytes(&[7; 100]);
        let entry = Entry::Message(Target(sink), message.finish());
        assert!(station.inbox.push(entry).is_ok());
    }
    // It takes memory beyond the quota at first.
    assert!(thread.tries_again() && thread.tries_again());
    let begun = Instant::now();
    loop {
        // How much it does at once depends on the clock.
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert!(thread.starved.awaits_collection());
        thread.keep_house();
        if gc.phase() == Phase::None {
            break;
        }
        assert!(gc.holds_turns() && thread.run_batch().turns == 0);
    }
    assert!(!gc.holds_turns() && !thread.starved.awaits_collection());
    thread.drain();
    while thread.turn.queue.pop().is_some() {}
    thread.turn.queue.rest();
    drop(held);
}

/// Much waits, in blocks that are sparse: it does not move. A turn waits for a collection.
#[test]
#[cfg_attr(miri, ignore)] // Miri takes long.
fn collections_come_to_an_end_where_what_waits_does_not_move() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let sink = actor(thread, BehaviourId::SINK, Value::NONE);
    let _sink = machine.handles().acquire(sink, None);
    for _ in 0..24_000 {
        let message = thread.turn.heap.tuple(400, |_| Value::NIL);
        thread.turn.queue.push(sink, message);
        thread.turn.heap.tuple(600, |_| Value::NIL);
    }
    assert!(thread.tries_again() && thread.tries_again());
    assert!(thread.starved.awaits_collection());
    let gc = machine.gc();
    let before = gc.begun();
    while thread.starved.awaits_collection() {
        match gc.phase() {
            Phase::Clearing => drop(thread.collect_a_little()),
            _ => drop(Stopped::new(&machine, vec![&mut *thread], Instant::now()).collect()),
        }
        thread.look_for_memory();
        if gc.begun() >= before + 12 {
            while thread.turn.queue.pop().is_some() {}
            thread.turn.queue.rest();
            panic!("it waits for ever");
        }
    }
    while thread.turn.queue.pop().is_some() {}
    thread.turn.queue.rest();
}

/// Whoever makes something outside during each collection keeps cells from moving in all of them.
#[test]
fn a_turn_is_given_up_though_cells_have_to_stay_each_time() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    // It takes memory beyond the quota at first.
    assert!(thread.tries_again() && !thread.starved.awaits_collection());
    let mut collections = 0;
    while thread.tries_again() {
        collections += 1;
        assert!(collections <= 4, "it is tried for ever");
        while thread.starved.awaits_collection() {
            thread.keep_house();
        }
        machine.gc().compaction.breaks_off();
    }
    // One that goes on beside others, and one that is not to be disturbed.
    assert!(collections >= 2);
}

/// Of many blocks that are nearly empty, one has a cell that very many places refer to. A turn waits for a collection.
#[test]
#[cfg_attr(miri, ignore)] // As above.
fn blocks_are_cleared_out_for_a_turn_however_many_places_refer_to_what_is_in_them() {
    use crate::heap::block::BLOCK;
    use crate::heap::evacuation::MOST_IN_GROUP;
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    garbage(thread, 3);
    let popular = thread.turn.heap.tuple(3, |_| Value::NIL);
    garbage(thread, 20);
    let referrers = thread.turn.heap.tuple(MOST_IN_GROUP + 1, |_| popular);
    let keeper = actor(thread, BehaviourId::SHARED, referrers);
    machine.handles().acquire(keeper, None);
    let used = machine.pool().used();
    assert!(thread.tries_again() && thread.tries_again());
    while thread.starved.awaits_collection() {
        thread.keep_house();
    }
    assert!(machine.pool().used() + 15 * BLOCK < used);
}

/// Turns make more than markers can keep up with, of whom each slice takes a limited time.
#[test]
fn while_marking_is_late_batches_of_turns_are_short() {
    let mut still = Still::new(1);
    still.wakes();
    let machine = still.machine.clone();
    let thread = &mut still.thread;
    let heap = &mut thread.turn.heap;
    let list = (0..4_000_000).fold(Value::EMPTY_LIST, |list, _| heap.cons(Value::NIL, list));
    let keeper = actor(thread, BehaviourId::SHARED, list);
    let _keeper = machine.handles().acquire(keeper, None);
    Stopped::new(&machine, vec![&mut *thread], Instant::now()).collect();
    assert_eq!(machine.gc().phase(), Phase::Marking);
    thread.collect_a_little();
    assert_eq!(thread.load.batch, BATCH);
    machine.pool().pace.allocated(1 << 30);
    thread.collect_a_little();
    assert_eq!(thread.load.batch, BATCH_WHEN_LATE);
    while machine.gc().phase() != Phase::None {
        match machine.gc().phase() {
            Phase::Marking if machine.gc().work.is_done() => {
                Stopped::new(&machine, vec![&mut *thread], Instant::now()).collect();
            }
            _ => drop(thread.collect_a_little()),
        }
    }
    thread.collect_a_little();
    assert_eq!(thread.load.batch, BATCH);
}

/// Turns that make seven granules of garbage and a small message that waits (it and its event count).
#[test]
#[cfg_attr(miri, ignore)] // As above.
fn overdraft_has_an_end() {
    use crate::heap::block::{BlockPool, BLOCK};
    use crate::heap::marks::mark;
    let pool = Arc::new(BlockPool::new(
        16 * BLOCK,
        crate::heap::pace::Pace::default(),
    ));
    let mut heap = Heap::new(pool.clone());
    let (limit, mut kept, mut number) = (pool.left_beside(0).1, Vec::new(), 0);
    loop {
        let garbage = heap.tuple(13, |_| Value::NIL);
        let message = heap.cons(Value::NIL, Value::NIL);
        if !garbage.is_none() && !message.is_none() {
            kept.push(message);
            continue;
        }
        heap.forgive();
        number += 1;
        heap.start_marking(number);
        kept.iter().for_each(|m: &Value| {
            let _ = mark(m.cons_pointer().cast(), 1, number);
        });
        drop(heap.sweep());
        let overdraft = pool.overdraft(kept.len() * 32);
        heap.may_overdraw(overdraft);
        if overdraft == 0 {
            break;
        }
        assert!(number < 10_000);
    }
    assert!(
        pool.used() <= limit + limit / 4 + BLOCK,
        "far beyond the quota"
    );
}

/// Each of many threads is told that it may take memory beyond the quota before any of them does.
#[test]
fn threads_that_overdraw_at_once_take_a_quarter_in_all() {
    use crate::heap::block::{BlockPool, BLOCK};
    let pace = crate::heap::pace::Pace::default();
    let pool = Arc::new(BlockPool::new(128 * BLOCK, pace));
    let limit = pool.left_beside(0).1;
    let fills_a_block = |heap: &mut Heap| {
        let made = heap.tuple(BLOCK / 8 * 7 / 8, |_| Value::NIL);
        heap.forgive();
        !made.is_none()
    };
    let mut heaps: Vec<_> = (0..64).map(|_| Heap::new(pool.clone())).collect();
    while heaps.iter_mut().any(&fills_a_block) {}
    // Nearly all of it is garbage.
    pool.pace.collected(0, 0, None);
    heaps
        .iter_mut()
        .for_each(|heap| heap.may_overdraw(pool.overdraft(BLOCK)));
    for _ in 0..4 {
        for heap in &mut heaps {
            fills_a_block(heap);
        }
    }
    let beyond = pool.used().saturating_sub(limit);
    assert!(
        beyond > 0 && beyond <= limit / 4 + BLOCK,
        "{beyond} of {limit}"
    );
}

/// What lives and waits leaves much, but lies in every block; the holes are too short for what turns make. Two turns have taken a block
/// beyond the quota each. Whatever the next one needs a block's bytes for, it gets them.
#[test]
fn what_is_left_is_there_for_all_that_turns_make() {
    use crate::heap::block::BLOCK;
    use crate::turns::queue::Event;
    use crate::values::foreign::LongBytes;
    let mut still = Still::within(1, 40 << 20);
    still.wakes();
    let machine = still.machine.clone();
    let pool = machine.pool();
    let thread = &mut still.thread;
    let sink = actor(thread, BehaviourId::SINK, Value::NONE);
    let _sink = machine.handles().acquire(sink, None);
    let mut waiting = Vec::new();
    while !thread.turn.heap.exhausted() {
        let message = thread.turn.heap.tuple(7, |_| Value::NIL);
        thread.turn.heap.tuple(99, |_| Value::NIL);
        waiting.push(message);
    }
    thread.turn.heap.forgive();
    waiting.retain(|message| !message.is_none());
    waiting
        .iter()
        .for_each(|message| thread.turn.queue.push(sink, *message));
    let begin = |thread: &mut Dispatch| {
        thread.turn.counts.turns += 1;
        thread.turn.begin(Event {
            target: sink,
            message: Value::NIL,
        });
    };
    let collects = |thread: &mut Dispatch| {
        let number = machine.gc().next();
        thread.duties.collections.push((number, Box::new(|| ())));
        while !machine.gc().is_over(number) {
            match machine.gc().phase() {
                Phase::Clearing => drop(thread.collect_a_little()),
                _ => drop(Stopped::new(&machine, vec![&mut *thread], Instant::now()).collect()),
            }
        }
        thread.duties.collections.clear();
    };
    for _ in 0..2 {
        collects(thread);
        begin(thread);
        while !thread.turn.heap.exhausted() {
            thread.turn.heap.tuple(399, |_| Value::NIL);
        }
        assert!(thread.tries_again() && !thread.starved.awaits_collection());
        thread.turn.undo();
        begin(thread);
        // Some of it is kept.
        let kept = thread.turn.heap.tuple(399, |_| Value::NIL);
        assert!(!kept.is_none());
        thread.turn.queue.push(sink, kept);
        thread.turn.commit();
        thread.turn.heap.may_overdraw(0);
        while !thread.turn.heap.exhausted() {
            thread.turn.heap.tuple(399, |_| Value::NIL);
        }
        thread.turn.heap.forgive();
    }
    collects(thread);
    let left = pool.overdraft(machine.gc().info().live_bytes);
    assert!(left >= BLOCK, "there is room, as the rule says");
    let mut lacks = Vec::new();
    for what in ["cells", "timer", "long binary", "primitive", "events"] {
        begin(thread);
        thread
            .turn
            .heap
            .may_overdraw(pool.overdraft(machine.gc().info().live_bytes));
        let turn = &mut thread.turn;
        let is_made = match what {
            "cells" => !turn.heap.tuple(399, |_| Value::NIL).is_none(),
            "timer" => {
                turn.send_after(Value::fixnum(1000), Value::address(sink), Value::NIL);
                !turn.lacks_memory()
            }
            "long binary" => !turn
                .heap
                .foreign(Arc::new(LongBytes(vec![7; 300].into())))
                .is_none(),
            "primitive" => turn.heap.beside(8_192, |_| Some(())).is_some(),
            _ => {
                (0..80_000).for_each(|_| turn.queue.push(sink, Value::NIL));
                !turn.lacks_memory()
            }
        };
        if !is_made {
            lacks.push(what);
        }
        turn.undo();
        turn.tidy_up();
    }
    while thread.turn.queue.pop().is_some() {}
    thread.turn.queue.rest();
    assert!(
        lacks.is_empty(),
        "no memory for {lacks:?}; {} of {:?} used",
        pool.used(),
        pool.left_beside(0)
    );
}
