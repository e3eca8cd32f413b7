//! Collection: unreachable actors and everything they hold, cycles included.
//!
//! Mark-region over the blocks of the heaps, with the mark bits beside them. A collection begins while every thread of
//! the machine stands still between two turns (threads/safepoint.rs): the roots (roots.rs) are taken as they are at that moment,
//! and what is reached from them is marked (turns/marking/). If that takes longer than [`PAUSE`], the threads go on
//! and mark in slices between their turns; a thread that has nothing else to do marks all the time. When nothing is left they
//! stand still once more, for the end. Native frames never need scanning, because no turn runs when it
//! begins.
//!
//! Actors never move. Cells move after a collection that follows another at once, out of blocks that the first has found mostly empty
//! (compact.rs, heap/evacuation/).
//!
//! So everything that was reachable at the beginning, or made since, is live:
//! 1. Everything in a heap is immutable except an actor's two words; what these held at the beginning is read before the first
//!    become changes them (turns/marking/barrier.rs).
//! 2. Whatever is made while a collection marks counts as live, because the hole or block that it is in was marked in advance
//!    (heap/mod.rs, invariant 5).
//! 3. Everything that waits is shown as it was at the beginning, though it changes. Chunks of queues are kept until they
//!    are marked (queue.rs). Handles, timers and events that wait for turns outside are in tables that marking walks
//!    through, and entries that are taken out before that are noted down (walk.rs). Inboxes are shown by the thread that
//!    drains them (inbox.rs).
//! 4. Callers outside never stop. They have no heap at the moment at which a collection begins or ends (`Leases`), and
//!    handles hold the messages that they are about to send.
//!
//! Dead cells are cleared away afterwards, also between turns (turns/marking/garbage.rs); then the next collection may begin.
pub(crate) mod check;
mod compact;
pub(crate) mod cycle;
pub(crate) mod roots;

use crate::heap::pace::Stress;
use crate::platform::malloc;
use crate::threads::thread::{Dispatch, BATCH};
use crate::turns::marking::garbage::Cleared;
use crate::turns::marking::packets::Slice;
pub use crate::turns::marking::pauses::Pauses;
use crate::turns::marking::phase::Phase;
pub use crate::turns::marking::state::GcInfo;
use std::time::{Duration, Instant};

/// Time that the threads stand still for marking, at the beginning and at the end.
const PAUSE: Duration = Duration::from_millis(1);
/// Cells that a thread marks after a batch of turns, and when it has no turns to run.
const SLICE: usize = 1024;
const IDLE_SLICE: usize = 8 * 1024;
/// The cost of the turns between two slices, instead of [`BATCH`], while marking is late: what they make counts as live.
const BATCH_WHEN_LATE: u64 = BATCH / 8;
/// Steps of clearing away at a time (turns/marking/garbage.rs).
const CLEARINGS: usize = 8;
/// Chunks of the queue that marking kept, and that are freed at a time.
const RECYCLED: usize = 64;
/// Cells marked after a turn, and in a pause, where marking beside turns is what is tested.
const STRESS_SLICE: usize = 4;
const STRESS_PAUSE: usize = 16;

impl Dispatch {
    /// Does what collections need between two batches of turns. Returns whether there was anything to do.
    pub(crate) fn collect_a_little(&mut self) -> bool {
        let machine = self.context.machine.clone();
        let gc = machine.gc();
        let stress = machine.pool().pace.config.stress;
        if stress == Stress::Off {
            self.load.batch = BATCH;
        }
        match gc.phase() {
            Phase::None => {
                if !self.is_collection_due() {
                    return self.has_rested_long() && self.let_go_of_reserve();
                }
                self.stop_and_collect();
                // What little there is to clear away after a small one is cleared away at once.
                if gc.phase() == Phase::Clearing {
                    self.collect_a_little();
                }
                true
            }
            Phase::Saving => {
                gc.work.moment.charge(&machine.pool().quota);
                // What is kept for the image is kept until it is written: then nothing is made that needs more.
                if machine.pool().is_short() || self.starved.awaits_collection() {
                    gc.hold_turns();
                }
                self.turn.heap.look_ahead();
                false
            }
            Phase::Marking => {
                if machine.pool().is_short() || self.starved.awaits_collection() {
                    gc.hold_turns();
                }
                let by_now = match gc.holds_turns() {
                    true => usize::MAX,
                    false => machine.pool().pace.marked_by_now(),
                };
                if gc.holds_turns() {
                    self.show_inbox();
                }
                gc.work.flush(&mut self.turn.log);
                let cells = match (stress, self.turn.queue.is_empty()) {
                    (Stress::Running, _) => STRESS_SLICE,
                    (_, true) => IDLE_SLICE,
                    (_, false) => SLICE,
                };
                let slice = match self.starved.is_hard() {
                    true => Slice::default(),
                    false => gc.work.slice(cells, by_now),
                };
                if slice.is_late && stress == Stress::Off {
                    self.load.batch = BATCH_WHEN_LATE;
                }
                self.turn.heap.look_ahead();
                let done = gc.work.is_done();
                if done || self.starved.is_hard() {
                    self.stop_and_collect();
                }
                slice.any || done
            }
            Phase::Moving => {
                self.stop_and_collect();
                true
            }
            Phase::Clearing => {
                self.turn.queue.recycle_emptied(RECYCLED);
                let number = gc.begun();
                let all = stress != Stress::Off || self.starved.is_hard();
                for _ in 0..if all { usize::MAX } else { CLEARINGS } {
                    match gc.garbage.clear_some(machine.pool(), number) {
                        Cleared::Some => {}
                        Cleared::Elsewhere => return false,
                        Cleared::All if gc.compaction.plan_some() => {}
                        Cleared::All => {
                            if machine.pool().reserve.lately() == 0 && stress == Stress::Off {
                                malloc::give_back();
                            }
                            gc.finish(number);
                            break;
                        }
                    }
                }
                true
            }
        }
    }

    /// Returns to the system what a machine that has done nothing for a while has kept. Returns whether there was any.
    fn let_go_of_reserve(&mut self) -> bool {
        let machine = self.context.machine.clone();
        if !machine.pool().reserve.forget() {
            return false;
        }
        let gc = machine.gc();
        gc.garbage.trim_again();
        // As after a collection. None begins meanwhile: this thread does not stand still.
        gc.set_phase(Phase::Clearing);
        true
    }

    /// Keeps what a drain takes out of an inbox in view of a collection that has not seen it.
    pub(crate) fn show_drained(&mut self, contents: &mut crate::threads::inbox::Contents) {
        use roots::RootVisitor;
        if std::mem::take(&mut contents.unseen) && self.turn.heap.marking() != 0 {
            let values = &mut self.turn.log.values;
            contents.each(|waiting| values.waiting(waiting));
        }
    }

    /// Shows what has waited in the inbox since before the collection began: while turns are held nothing is drained.
    fn show_inbox(&mut self) {
        use roots::RootVisitor;
        let values = &mut self.turn.log.values;
        let inbox = &self.context.station.inbox;
        inbox.show_unseen(|waiting| values.waiting(waiting));
    }

    /// Stands still with all others for the beginning of a collection, or for its end, or both; or for another thread
    /// that does.
    fn stop_and_collect(&mut self) {
        let machine = self.context.machine.clone();
        let start = Instant::now();
        let mut walk = None;
        self.stand_still(|context| {
            let safepoint = machine.safepoint();
            safepoint.stop_the_others(&context.station, machine.stations(), |stopped| {
                // SAFETY: `stopped` are the threads of this machine, the caller's own among them; all of them stand
                // still and have left their state to this one (thread.rs, invariant 5).
                let threads = stopped
                    .iter()
                    .map(|&own| unsafe { &mut *own.cast::<Dispatch>() })
                    .collect();
                walk = cycle::Stopped::new(&machine, threads, start).collect();
            })
        });
        if let Some(walk) = walk {
            walk();
        }
        if machine.gc().phase() == Phase::Marking {
            machine.wake_sleepers();
        }
    }
}
