//! Collection: unreachable actors and everything they hold, cycles included.
//!
//! Mark-region over the blocks of the heaps, with the mark bits beside them; first version: every thread of the
//! machine stands still between two turns (safepoint.rs), they mark together from the roots (roots.rs, mark.rs,
//! job.rs), one of them sweeps (heap/sweep.rs). Nothing moves. Native frames never need scanning, because no turn is running.
pub(crate) mod job;
pub(crate) mod mark;
pub(crate) mod roots;
pub(crate) mod safepoint;

use crate::heap::Heap;
use crate::machine::Machine;
use crate::thread::Dispatch;
use job::Job;
use std::sync::Arc;
use std::time::Instant;

/// What collections have done so far.
#[derive(Clone, Copy, Default, Debug)]
pub struct GcInfo {
    /// How many there were.
    pub collections: u64,
    /// Nanoseconds for which the threads stood still the last time.
    pub last_pause_ns: u64,
    /// The longest of these.
    pub longest_pause_ns: u64,
    /// Bytes that were live at the last one.
    pub live_bytes: usize,
    /// Actors that were live at the last one.
    pub live_actors: u64,
    /// Bytes of blocks that all of them together found free.
    pub reclaimed_bytes: u64,
}

impl Dispatch {
    /// Collects, unless another thread does at this moment; then helps by standing still. Only between turns.
    pub(crate) fn collect(&mut self) {
        let machine = self.turn.place.machine.clone();
        let start = Instant::now();
        let collected = self.stand_still(|place| {
            let safepoint = machine.safepoint();
            safepoint.stop_the_others(&place.station, machine.stations(), |stopped| {
                let before = machine.pool().bytes().1;
                let (live_bytes, live_actors) = run(&machine, stopped);
                let after = machine.pool().bytes().1;
                let pause = start.elapsed().as_nanos() as u64;
                let newest = machine.outside().newest_question();
                machine.pool().pace.collected(live_bytes, pause, newest);
                let mut info = machine.gc_info();
                info.collections += 1;
                info.last_pause_ns = pause;
                info.longest_pause_ns = info.longest_pause_ns.max(pause);
                info.live_bytes = live_bytes;
                info.live_actors = live_actors;
                info.reclaimed_bytes += before.saturating_sub(after) as u64;
            })
        });
        if collected {
            // The threads run again; the system takes its time over pages.
            machine.pool().trim();
        }
    }
}

/// One collection, while everything stands still; live bytes and actors.
fn run(machine: &Machine, stopped: &[*mut Dispatch]) -> (usize, u64) {
    let mut resting = machine.rest_for_collection();
    // SAFETY: `stopped` are the threads of this machine, the caller's own among them; all of them stand still and
    // have left their state to this one (thread.rs, invariant 5).
    let mut threads: Vec<&mut Dispatch> = stopped.iter().map(|d| unsafe { &mut **d }).collect();
    for heap in threads
        .iter_mut()
        .map(|d| &mut d.turn.heap)
        .chain(&mut resting)
    {
        heap.clear_marks();
    }
    let mut roots = Vec::new();
    roots::mark(machine, &threads, &mut roots);
    // Callers outside go on meanwhile: what they bring from here on is none of this collection's roots.
    let checked = machine.pool().pace.config.stress.then(|| roots.clone());
    let job = Arc::new(Job::new(machine.program().clone(), roots));
    machine.safepoint().call_for_help(&job);
    job.help();
    let live_actors = job.finish();
    if let Some(roots) = checked {
        mark::Checker::new(machine.program(), roots).finish();
    }
    let mut live = 0;
    for heap in threads
        .iter_mut()
        .map(|d| &mut d.turn.heap)
        .chain(&mut resting)
    {
        live += heap.sweep();
    }
    // One is enough for whoever comes next; where many stay, each keeps blocks of its own.
    let resting = resting.into_iter().reduce(Heap::join);
    machine.end_of_collection(resting);
    (live, live_actors)
}
