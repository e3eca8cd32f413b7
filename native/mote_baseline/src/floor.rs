//! The floor below the fork bomb: the least that its actors can cost as records of 16 bytes with a queue of events.
//!
//! The same records, the same events in the same order and the same chunks as in the machine; one native function for
//! each behaviour, called through the record. What makes it a machine is missing: type tests, staged effects,
//! counters, fuel, owners, other threads, a collector, captures that are never written again. Nothing is prefetched,
//! since that was tried and makes no difference here: the records are visited in the order in which they were made.
use crate::queue::Queue;
use crate::region::Region;
use crate::watch::Watch;
use crate::Run;
use std::ptr::NonNull;

/// An actor.
#[derive(Clone, Copy)]
struct Record {
    behaviour: Behaviour,
    /// The parent, or where the captures are.
    state: *mut (),
}

const _: () = assert!(size_of::<Record>() == 16);

/// A message on its way to an actor.
#[derive(Clone, Copy)]
struct Event {
    target: NonNull<Record>,
    message: u64,
}

type Behaviour = fn(&mut Floor, NonNull<Record>, u64);

/// The captures of a collector.
#[derive(Clone, Copy)]
struct Captures {
    parent: NonNull<Record>,
    waits_for: u64,
}

const DONE: u64 = u64::MAX;

struct Floor {
    queue: Queue<Event>,
    region: Region,
}

impl Floor {
    #[inline(always)]
    fn send(&mut self, target: NonNull<Record>, message: u64) {
        self.queue.push(Event { target, message });
    }

    #[inline(always)]
    fn create(&mut self, behaviour: Behaviour, state: *mut ()) -> NonNull<Record> {
        // SAFETY: `run` asked for as many granules as the tree needs.
        unsafe {
            let record = self.region.granule();
            record.write(Record { behaviour, state });
            record
        }
    }
}

fn node(floor: &mut Floor, me: NonNull<Record>, depth: u64) {
    // SAFETY: a node's state is its parent; addresses are of records that stay until the end.
    unsafe {
        let parent = NonNull::new_unchecked((*me.as_ptr()).state.cast::<Record>());
        if depth == 0 {
            floor.send(parent, DONE);
            return;
        }
        let left = floor.create(node, me.as_ptr().cast());
        let right = floor.create(node, me.as_ptr().cast());
        floor.send(left, depth - 1);
        floor.send(right, depth - 1);
        let captures = floor.region.granule::<Captures>();
        let waits_for = 2;
        captures.write(Captures { parent, waits_for });
        let state = captures.as_ptr().cast();
        let behaviour: Behaviour = collect;
        me.write(Record { behaviour, state });
    }
}

fn collect(floor: &mut Floor, me: NonNull<Record>, message: u64) {
    if message != DONE {
        return;
    }
    // SAFETY: a collector's state is its captures, which stay until the end.
    unsafe {
        let captures = (*me.as_ptr()).state.cast::<Captures>();
        if (*captures).waits_for > 1 {
            (*captures).waits_for -= 1;
        } else {
            floor.send((*captures).parent, DONE);
        }
    }
}

/// The outside, which the root reports to.
fn outside(_: &mut Floor, me: NonNull<Record>, message: u64) {
    // SAFETY: as above; nobody else reads the state of this one before the end.
    unsafe { (*me.as_ptr()).state = (message == DONE) as usize as *mut () };
}

/// Makes one run, whose result is the number of actors. The memory is new, like that of a new machine. Mapping it is part of the time,
/// giving it back is not.
pub fn run(depth: u32) -> Run {
    let actors = (2usize << depth) - 1;
    let watch = Watch::start();
    let mut floor = Floor {
        queue: Queue::new(),
        // The actors, one granule of captures for every inner node, and the outside.
        region: Region::new((actors + actors / 2 + 1) * size_of::<Record>()),
    };
    let parent = floor.create(outside, std::ptr::null_mut());
    let root = floor.create(node, parent.as_ptr().cast());
    floor.send(root, depth.into());
    let mut turns = 0usize;
    while let Some(event) = floor.queue.pop() {
        // SAFETY: targets are records.
        let behaviour = unsafe { (*event.target.as_ptr()).behaviour };
        behaviour(&mut floor, event.target, event.message);
        turns += 1;
    }
    let (time, cpu) = watch.passed();
    // Each inner node gets its depth and two reports, each leaf its depth, and the outside one report.
    // SAFETY: a record.
    let done = unsafe { !(*parent.as_ptr()).state.is_null() };
    let right = done && turns == actors + 2 * (actors / 2) + 1;
    let result = if right { actors as f64 } else { 0.0 };
    Run { time, cpu, result }
}
