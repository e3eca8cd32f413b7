//! Marking by several threads at once: whoever stands still for the collection helps.
//!
//! Each marker works on a stack of its own. While another one is hungry, it gives away half of what it has.
//!
//! Invariants:
//! 1. `busy` counts the markers that may still give something away. A marker is counted from before it takes a
//!    packet until its stack is empty.
//! 2. So when no packet is left and nobody is busy, everything is marked; this is the end, for all of them.
use crate::code::program::Program;
use crate::gc::mark::Marker;
use crate::sync::{AtomicBool, Relaxed};
use crate::value::Value;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// What is left to scan, less than which is not worth giving away.
const WORTH_GIVING: usize = 64;

#[derive(Default)]
struct State {
    packets: Vec<Vec<Value>>,
    busy: usize,
    /// Markers that have not returned yet, and what those that have did.
    inside: usize,
    over: bool,
    actors: u64,
}

/// See the head of this file.
pub(crate) struct Job {
    program: Arc<Program>,
    state: Mutex<State>,
    news: Condvar,
    hungry: AtomicBool,
}

impl Job {
    /// A job that starts with these values.
    pub(crate) fn new(program: Arc<Program>, roots: Vec<Value>) -> Job {
        let state = State {
            packets: vec![roots],
            ..State::default()
        };
        Job {
            program,
            state: Mutex::new(state),
            news: Condvar::new(),
            hungry: AtomicBool::new(false),
        }
    }

    /// Marks until everything is marked.
    pub(crate) fn help(&self) {
        let mut state = self.state.lock();
        if state.over {
            return;
        }
        state.inside += 1;
        let mut marker = Marker::new(&self.program);
        loop {
            if let Some(packet) = state.packets.pop() {
                state.busy += 1;
                self.hungry.store(
                    state.packets.is_empty() && state.inside > state.busy,
                    Relaxed,
                );
                drop(state);
                marker.take(packet);
                marker.finish(|stack| self.give(stack));
                state = self.state.lock();
                state.busy -= 1;
                continue;
            }
            if state.busy == 0 {
                break;
            }
            // Relaxed: a hint; what it leads to is handed over under the lock.
            self.hungry.store(true, Relaxed);
            self.news.wait(&mut state);
        }
        state.over = true;
        state.inside -= 1;
        state.actors += marker.actors();
        self.news.notify_all();
    }

    /// Waits until the last helper has returned; the actors found live.
    pub(crate) fn finish(&self) -> u64 {
        let mut state = self.state.lock();
        self.news.wait_while(&mut state, |state| state.inside > 0);
        state.actors
    }

    /// Gives half of a marker's stack away if somebody is hungry.
    #[inline(always)]
    fn give(&self, stack: &mut Vec<Value>) {
        if self.hungry.load(Relaxed) && stack.len() >= WORTH_GIVING {
            self.give_half(stack);
        }
    }

    #[cold]
    fn give_half(&self, stack: &mut Vec<Value>) {
        // The older half: what lies deep in the stack leads to more.
        let rest = stack.split_off(stack.len() / 2);
        let packet = std::mem::replace(stack, rest);
        let mut state = self.state.lock();
        state.packets.push(packet);
        self.hungry.store(false, Relaxed);
        self.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;
    use crate::heap::sweep::is_marked;
    use crate::heap::Heap;

    #[test]
    fn several_markers_mark_everything_once() {
        let (lists, length) = if cfg!(miri) { (4, 10) } else { (200, 1000) };
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut cells = Vec::new();
        let mut roots = Vec::new();
        for _ in 0..lists {
            let mut list = Value::EMPTY_LIST;
            for i in 0..length {
                let pair = heap.tuple(2, |_| Value::fixnum(i));
                list = heap.cons(pair, list);
                cells.push(list);
                cells.push(pair);
            }
            roots.push(list);
        }
        let garbage = heap.cons(Value::NIL, Value::NIL);
        let program = Arc::new(Program::new().unwrap());
        let job = Job::new(program, roots);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| job.help());
            }
            job.help();
        });
        assert_eq!(job.finish(), 0);
        let pointer = |v: Value| match v.is_cons() {
            true => v.cons_pointer().cast::<u8>(),
            false => v.boxed_pointer().cast::<u8>(),
        };
        assert!(cells.iter().all(|cell| is_marked(pointer(*cell))));
        assert!(!is_marked(pointer(garbage)));
    }
}
