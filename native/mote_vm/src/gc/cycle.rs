//! One collection, while everything stands still: its beginning, its end, or both.
use super::roots::{self, RootVisitor};
use super::{compact, PAUSE, STRESS_PAUSE};
use crate::heap::evacuation::Evacuation;
use crate::heap::marks::{following, is_young, order};
use crate::heap::pace::Stress;
use crate::heap::residents::Residents;
use crate::heap::young::{bytes_of_old, Changed};
use crate::heap::Heap;
use crate::threads::inbox::Inbox;
use crate::threads::shared::Machine;
use crate::threads::thread::Dispatch;
use crate::turns::marking::compaction::Moving;
use crate::turns::marking::packets::{Effort, Packet};
use crate::turns::marking::phase::Phase;
use crate::turns::marking::span::Span;
use crate::turns::marking::state::Gc;
use crate::turns::marking::visitor::Visitor;
use crate::turns::queue::EventQueue;
use crate::values::value::Value;
use crate::values::walk::Walkable;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More bytes than that in inboxes are left to those who drain them: to look at what refers to nothing takes time, too.
const UNSEEN: usize = 512 << 10;

/// Bytes that looking at a value costs as much as, if it leads to what is marked already.
const OF_EACH: usize = 32;
/// Under stress one collection in this many is whole, so that what is old has time to change.
const WHOLE_UNDER_STRESS: u64 = 5;

/// The threads of a machine that stand still.
pub(crate) struct Stopped<'m> {
    pub(super) machine: &'m Machine,
    pub(super) gc: &'m Gc,
    pub(super) threads: Vec<&'m mut Dispatch>,
    pub(super) start: Instant,
    pub(super) stress: Stress,
    /// Marks and moves everything now, however long it takes.
    pub(super) urgent: bool,
    /// Memory is short: turns wait.
    short: bool,
}

impl<'m> Stopped<'m> {
    pub(crate) fn new(
        machine: &'m Machine,
        threads: Vec<&'m mut Dispatch>,
        start: Instant,
    ) -> Stopped<'m> {
        let stress = machine.pool().pace.config.stress;
        // Dispatchers of a seeded machine take events out of the middle of their queues.
        let seeded = threads.iter().any(|thread| thread.seeded.choices.is_some());
        let hard = threads.iter().any(|t| t.starved.is_hard());
        let starved = threads.iter().any(|t| t.starved.awaits_collection());
        let short = starved || machine.pool().is_short();
        Stopped {
            machine,
            gc: machine.gc(),
            threads,
            start,
            stress,
            urgent: matches!(stress, Stress::Standing | Stress::Moving) || seeded || hard,
            short,
        }
    }

    /// Goes as far as it gets in a short time; to the end if that is urgent. Returns what is to be called when threads go on: a thread that
    /// it wakes might take the core of the one that they all wait for.
    pub(crate) fn collect(&mut self) -> Option<Box<dyn FnOnce()>> {
        let mut walk = None;
        let begins = self.gc.phase() == Phase::None;
        if self.short && !self.urgent {
            self.gc.hold_turns();
        }
        if begins {
            let young = self.may_be_young();
            let number = following(self.gc.begun(), young);
            walk = self.note_moment();
            let evacuation = match walk {
                // Turns run before it marks, so cells would stay where they are.
                Some(_) => Ok(None),
                None => self.evacuates(number),
            };
            match evacuation {
                Ok(evacuation) => self.begin(number, evacuation, walk.is_some()),
                Err(()) => {
                    self.gc.finish(self.gc.begun());
                    return None;
                }
            }
        }
        match self.gc.phase() {
            Phase::Marking => {
                // Under stress others are to have turns in between.
                let in_between = begins && self.stress == Stress::Running && !self.urgent;
                if !in_between && self.mark() {
                    self.end();
                }
            }
            Phase::Moving => self.compact(),
            // Another thread was faster.
            Phase::None | Phase::Clearing => return None,
            // It goes on when the image is written.
            Phase::Saving => {}
        }
        let pause = self.start.elapsed().as_nanos() as u64;
        let mut info = self.gc.info();
        info.last_pause_ns = if begins {
            pause
        } else {
            pause.max(info.last_pause_ns)
        };
        info.longest_pause_ns = info.longest_pause_ns.max(pause);
        info.paused_ns += pause;
        info.pauses.count(pause);
        walk
    }

    /// Returns whether the collection that begins may leave old garbage. It is whole where somebody waits for what it finds or frees.
    fn may_be_young(&self) -> bool {
        let pool = self.machine.pool();
        let newest = self.machine.embedder().newest_question();
        let calls_for_all = |thread: &&mut Dispatch| {
            thread.collection_was_asked()
                || thread.has_rested_long()
                || !thread.duties.moments.is_empty()
        };
        pool.watches()
            && (self.stress != Stress::Off || !self.urgent && pool.pace.may_be_young())
            && !self.short
            && !self.gc.compaction.is_planned()
            && !self.threads.iter().any(calls_for_all)
            && pool.pace.until_look(newest) != Some(Duration::ZERO)
    }

    /// Returns how many bytes of those that were found live were made since the collection before.
    fn survived(&self, found: usize, number: u64) -> usize {
        if is_young(number) || !self.machine.pool().pace.is_much(found) {
            return found;
        }
        let heaps = self.threads.iter().map(|thread| &thread.turn.heap);
        found.saturating_sub(bytes_of_old(heaps, number))
    }

    /// Has becomes noted from now on, if the next collection may be a young one because of that. So much lives: as much must be left for
    /// garbage that is old, and for what is made until that is looked for.
    fn watch(&mut self, live: usize) {
        let pool = self.machine.pool();
        pool.set_watches(match self.stress {
            Stress::Off => pool.pace.may_be_young() && pool.left_beside(live).0 >= live,
            Stress::Moving => false,
            Stress::Standing | Stress::Running => {
                !order(self.gc.next()).is_multiple_of(WHOLE_UNDER_STRESS)
            }
        });
        for thread in &mut self.threads {
            thread.turn.heap.join_collection();
        }
    }

    /// Notes what an image is to be of, if somebody wants one of this moment: before anything that callers make counts as made since.
    fn note_moment(&mut self) -> Option<Box<dyn FnOnce()>> {
        if self.gc.compaction.is_planned() {
            return None;
        }
        let mut all = self.threads.iter_mut();
        let note = all.find_map(|thread| thread.duties.moments.pop_front())?;
        Some(note(self.machine, &mut self.threads))
    }

    /// Takes the roots as they are now.
    fn begin(&mut self, number: u64, mut evacuation: Option<Evacuation>, saves: bool) {
        let pool = self.machine.pool();
        let threads = &mut self.threads;
        self.machine.leases().while_all_rest(|resting| {
            if let Some(evacuation) = &mut evacuation {
                compact::vacate(evacuation, threads, resting);
                let stands = compact::standing(threads, resting);
                self.gc.compaction.begins(stands);
            }
            // From here on, what callers make is live, and the actors that they let go of are noted down.
            pool.begins(number);
            let tables = roots::tables(self.machine, threads);
            tables.iter().for_each(|table| table.begin());
            for heap in resting {
                heap.start_marking(number);
            }
        });
        for thread in &mut self.threads {
            thread.turn.heap.start_marking(number);
        }
        let queued = self.threads.iter().map(|t| t.turn.queue.len() as u64);
        pool.pace.begun(queued.sum());
        pool.pace.has_left(pool.left_beside(pool.pace.expects()).0);
        self.gc.begin(number);
        self.gc.work.begin(number, evacuation);
        let mut snapshot = Snapshot::default();
        roots::mark(self.machine, &self.threads, &mut snapshot);
        for thread in &mut self.threads {
            thread.turn.queue.keep();
        }
        if !is_young(number) {
            pool.pace.begun_whole();
        } else {
            let changed = Changed::new(self.gc.residents(), number);
            snapshot.packets.push(Packet::Span(Span::Changed(changed)));
        }
        snapshot.packets.push(Packet::Values(snapshot.values));
        self.gc.work.add(snapshot.packets);
        if saves {
            self.gc.work.moment.begin(&pool.quota);
            self.gc.set_phase(Phase::Saving);
        } else {
            self.gc.set_phase(Phase::Marking);
        }
    }

    /// Marks what is left. Returns whether everything is marked.
    fn mark(&mut self) -> bool {
        loop {
            for thread in &mut self.threads {
                self.gc.work.flush(&mut thread.turn.log);
            }
            if !self.help() || !self.see_inboxes() {
                return false;
            }
            if self.gc.work.is_done() {
                return true;
            }
        }
    }

    /// All threads that stand still mark. Returns whether nothing is left.
    fn help(&self) -> bool {
        let effort = match self.stress {
            _ if self.urgent => Effort::ALL,
            Stress::Running => Effort {
                cells: STRESS_PAUSE,
                until: None,
            },
            _ => Effort {
                cells: usize::MAX,
                until: Some(self.start.max(Instant::now() - PAUSE) + PAUSE),
            },
        };
        let work = &self.gc.work;
        work.call();
        self.machine.safepoint().call_for_help(work, effort);
        work.help(effort);
        work.finish()
    }

    /// Adds what no thread has drained since the beginning; `false` if that is so much that they had better do it.
    fn see_inboxes(&self) -> bool {
        let stations = self.machine.stations().all();
        let unseen: usize = stations.iter().map(|s| s.inbox.unseen()).sum();
        if unseen == 0 {
            return true;
        }
        if unseen > UNSEEN && !self.urgent {
            return false;
        }
        let mut values: Vec<Value> = Vec::new();
        for station in &stations {
            station.inbox.show_unseen(|waiting| values.waiting(waiting));
        }
        self.gc.work.add([Packet::Values(values)]);
        true
    }

    /// Lets go of the rest when everything is marked.
    fn end(&mut self) {
        let number = self.gc.begun();
        if self.stress != Stress::Off {
            compact::check(self.machine, &self.threads, number);
        }
        let (found, spent) = self.gc.work.result();
        let survived = self.survived(found.bytes, number);
        let evacuation = self.gc.work.take_evacuation();
        let compaction = &self.gc.compaction;
        let moves = evacuation.is_some();
        let moves_for_rest = evacuation.is_some() && compaction.gives_back();
        let pool = self.machine.pool();
        let before = pool.bytes().1;
        let rested = self.threads.iter().any(|thread| thread.has_rested_long());
        let asked = self
            .threads
            .iter()
            .any(|thread| thread.collection_was_asked());
        let rested = rested || moves_for_rest;
        let peak = match is_young(number) {
            // Nothing is forgotten: these come often.
            true => pool.take_peak().max(pool.reserve.lately()),
            false => pool.take_peak(),
        };
        pool.reserve.collected(peak, asked || rested);
        let garbage = &self.gc.garbage;
        garbage.begin(roots::swept(&self.threads), is_young(number));
        let mut unused = 0;
        let mut sweep = |heap: &mut Heap| {
            unused += heap.room();
            garbage.foreigns(heap.sweep());
            if self.stress != Stress::Off {
                heap.spoil();
            }
        };
        let threads = &mut self.threads;
        self.machine.leases().while_all_rest(|resting| {
            let stands = compact::standing(threads, resting);
            pool.ends(number);
            resting.iter_mut().for_each(|heap| sweep(heap));
            // One is enough for whoever comes next; where many stay, each keeps blocks of its own.
            let all = std::mem::take(resting).into_iter().map(|heap| *heap);
            resting.extend(all.reduce(Heap::join).map(Box::new));
            for thread in threads.iter_mut() {
                sweep(&mut thread.turn.heap);
                thread.turn.queue.let_go();
            }
            let heaps = threads.iter().map(|thread| &thread.turn.heap);
            let heaps = heaps.chain(resting.iter().map(|heap| &**heap));
            self.gc.leaves(Residents::of(number, heaps));
            let is_still = compaction.take_stood() == Some(stands);
            let stands = compact::standing(threads, resting);
            match evacuation {
                Some(evacuation) => compaction.moves(Moving {
                    evacuation,
                    stood: is_still.then_some(stands),
                }),
                None if self.stress == Stress::Off && (asked || rested || pool.is_short()) => {
                    let survey = compact::survey(pool, threads, resting, number);
                    compaction.look(survey, stands, asked || rested);
                }
                None => {}
            }
        });
        let reclaimed = before.saturating_sub(pool.bytes().1);
        let cost = spent.max(self.start.elapsed()).as_nanos() as u64;
        let newest = self.machine.embedder().newest_question();
        let mut actors = found.actors;
        let live = match is_young(number) {
            true => {
                actors += self.gc.info().live_actors;
                let looked = found.bytes.max(found.scanned * OF_EACH);
                pool.pace.renewed(found.bytes, looked, unused, cost)
            }
            false => {
                pool.pace.has_survived(survived);
                // What was made meanwhile is live as well.
                let live = found.bytes + pool.pace.since_begun();
                pool.pace.collected(found.bytes, cost, newest);
                live
            }
        };
        pool.collected(live);
        pool.pace.settles(rested);
        self.watch(live);
        let mut info = self.gc.info();
        info.collections += 1;
        info.live_bytes = live;
        info.live_actors = actors;
        info.reclaimed_bytes += reclaimed as u64;
        drop(info);
        self.gc.set_phase(Phase::Moving);
        if self.urgent || !moves {
            self.compact();
        }
    }
}

/// The roots as they are at the beginning: copied, but for what will stay as it is.
#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) packets: Vec<Packet>,
    pub(super) values: Vec<Value>,
}

impl Visitor for Snapshot {
    fn value(&mut self, value: Value) {
        self.values.value(value);
    }

    fn queue(&mut self, queue: &EventQueue) {
        let kept = queue.snapshot(|event| self.values.event(event));
        let span = kept.map(|kept| Packet::Span(Span::Events(kept)));
        self.packets.extend(span);
    }
}

impl RootVisitor for Snapshot {
    fn inbox(&mut self, inbox: &Inbox) {
        inbox.begin_collection();
    }

    fn table(&mut self, table: Arc<dyn Walkable>) {
        self.packets.push(Packet::Span(Span::Table(table)));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod young_tests;
