//! Where turns that run outside of the machine wait for workers, processes of the BEAM; one for each sponsor whose turns do.
//!
//! Invariants:
//! 1. A turn is waiting or running, until it has ended once: whoever takes it out of `running` tells the machine how.
//! 2. While turns wait, as many workers are `coming` to look: woken, or asked of the manager. One that dies on its way is made
//!    up for (`lost`).
use crate::held::machine::MachineResource;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::send::send_as_nobody;
use mote_vm::base::atom::Atom;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::types::atom::Atom as BeamAtom;
use rustler::{LocalPid, Resource, ResourceArc};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A turn that waits for a worker.
pub struct Waiting {
    pub number: u64,
    pub module: Atom,
    pub name: Atom,
    /// Whether it may call any Elixir.
    pub free: bool,
    pub since: Instant,
    /// What the worker gets.
    pub term: OwnTerm,
}

/// A turn that a worker runs.
pub struct Running {
    pub worker: LocalPid,
    pub module: Atom,
    pub name: Atom,
    pub free: bool,
    pub since: Instant,
}

/// What turns of one behaviour have taken since it was last asked.
#[derive(Clone, Copy, Default)]
pub struct Figures {
    pub turns: u64,
    pub waited: Duration,
    pub ran: Duration,
    pub longest: Duration,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    idle: Vec<LocalPid>,
    running: FxHashMap<u64, Running>,
    manager: Option<LocalPid>,
    /// Workers that were woken or asked for and have not looked yet; and those that the manager has not heard of.
    coming: usize,
    asked: usize,
    closed: bool,
    figures: FxHashMap<(Atom, Atom), Figures>,
}

/// Who is to be told that a worker is needed.
enum Told {
    Nobody,
    Worker(LocalPid),
    Manager(LocalPid),
}

/// What a worker finds.
pub enum Found {
    Turn(OwnTerm),
    Nothing,
    Closed,
}

/// See the head of this file.
#[derive(Default)]
pub struct Desk(Mutex<State>);

impl State {
    /// One worker more, if one is needed.
    fn call(&mut self) -> Told {
        if self.waiting.len() <= self.coming {
            return Told::Nobody;
        }
        self.coming += 1;
        if let Some(worker) = self.idle.pop() {
            return Told::Worker(worker);
        }
        self.asked += 1;
        match self.manager {
            Some(manager) if self.asked == 1 => Told::Manager(manager),
            _ => Told::Nobody,
        }
    }
}

impl Desk {
    /// A turn waits.
    pub fn put(&self, turn: Waiting) {
        let mut state = self.0.lock();
        if state.closed {
            return;
        }
        state.waiting.push_back(turn);
        let told = state.call();
        drop(state);
        self.tell(told);
    }

    fn tell(&self, mut told: Told) {
        loop {
            match told {
                Told::Nobody => return,
                Told::Manager(manager) => {
                    tell(&manager, names::workers());
                    return;
                }
                Told::Worker(worker) => {
                    if tell(&worker, names::comes()) {
                        return;
                    }
                    // It has died.
                    let mut state = self.0.lock();
                    state.coming -= 1;
                    told = state.call();
                }
            }
        }
    }

    /// The process that starts workers.
    pub fn managed_by(&self, manager: LocalPid) {
        let mut state = self.0.lock();
        state.manager = Some(manager);
        if state.asked > 0 {
            drop(state);
            self.tell(Told::Manager(manager));
        }
    }

    /// How many workers the manager is to start.
    pub fn take_asked(&self) -> usize {
        std::mem::take(&mut self.0.lock().asked)
    }

    /// The next turn for a worker, which waits otherwise; `comes`: it was woken, or has begun.
    pub fn next(&self, worker: LocalPid, comes: bool) -> Found {
        let mut state = self.0.lock();
        if comes {
            state.coming = state.coming.saturating_sub(1);
        }
        if state.closed {
            return Found::Closed;
        }
        let Some(turn) = state.waiting.pop_front() else {
            state.idle.push(worker);
            return Found::Nothing;
        };
        let now = Instant::now();
        let Waiting {
            number,
            module,
            name,
            free,
            since,
            term,
        } = turn;
        state.figures.entry((module, name)).or_default().waited += now - since;
        let running = Running {
            worker,
            module,
            name,
            free,
            since: now,
        };
        state.running.insert(number, running);
        Found::Turn(term)
    }

    /// A worker that waits wants to end; whether it may: otherwise it has been woken.
    pub fn leave(&self, worker: LocalPid) -> bool {
        let mut state = self.0.lock();
        let at = state.idle.iter().position(|idle| *idle == worker);
        if let Some(at) = at {
            state.idle.remove(at);
        }
        at.is_some()
    }

    /// A turn has ended; whether that is the first end of it.
    pub fn end(&self, number: u64) -> bool {
        let mut state = self.0.lock();
        let Some(running) = state.running.remove(&number) else {
            return false;
        };
        let ran = running.since.elapsed();
        let key = (running.module, running.name);
        let figures = state.figures.entry(key).or_default();
        figures.turns += 1;
        figures.ran += ran;
        figures.longest = figures.longest.max(ran);
        true
    }

    /// Whether a turn is running.
    pub fn is_running(&self, number: u64) -> bool {
        self.0.lock().running.contains_key(&number)
    }

    /// A worker is gone: the turn that it was running, which has not ended.
    pub fn lost(&self, worker: LocalPid) -> Option<u64> {
        let mut state = self.0.lock();
        let running = state.running.iter();
        let mut mine = running.filter(|(_, running)| running.worker == worker);
        let number = mine.next().map(|(number, _)| *number);
        let idle = state.idle.iter().position(|idle| *idle == worker);
        match (number, idle) {
            (Some(_), _) => {}
            (None, Some(at)) => drop(state.idle.remove(at)),
            // Invariant 2: on its way, or between two turns, and then one more may come than is needed.
            (None, None) => state.coming = state.coming.saturating_sub(1),
        }
        let told = state.call();
        drop(state);
        self.tell(told);
        number
    }

    /// The turns that have run for so long, and in how long there may be others.
    pub fn overdue(&self, timeout: Duration) -> (Vec<(u64, LocalPid, bool)>, Duration) {
        let state = self.0.lock();
        let now = Instant::now();
        let mut next = timeout;
        let mut over = Vec::new();
        for (number, running) in &state.running {
            match timeout.checked_sub(now - running.since) {
                None | Some(Duration::ZERO) => over.push((*number, running.worker, running.free)),
                Some(left) => next = next.min(left),
            }
        }
        (over, next)
    }

    /// How many turns run, how many wait for a worker, and the one that has run longest.
    pub fn look(&self) -> (usize, usize, Option<(Atom, Atom, Duration)>) {
        let state = self.0.lock();
        let longest = state.running.values().min_by_key(|running| running.since);
        let longest = longest.map(|r| (r.module, r.name, r.since.elapsed()));
        (state.running.len(), state.waiting.len(), longest)
    }

    /// What turns have taken since this was last asked, by behaviour.
    pub fn take_figures(&self) -> Vec<((Atom, Atom), Figures)> {
        self.0.lock().figures.drain().collect()
    }

    /// No turn will be heard any more.
    pub fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.waiting.clear();
        state.running.clear();
        let manager = state.manager;
        let told: Vec<LocalPid> = state.idle.drain(..).chain(manager).collect();
        drop(state);
        for pid in told {
            tell(&pid, names::closed());
        }
    }
}

/// A desk, as its manager and its workers have it.
pub struct DeskResource {
    pub desk: Arc<Desk>,
    pub machine: ResourceArc<MachineResource>,
}

#[rustler::resource_impl]
impl Resource for DeskResource {}

/// Sends a word. Whether the receiver is there.
fn tell(pid: &LocalPid, word: BeamAtom) -> bool {
    // SAFETY: atoms belong to no environment, so they are alive in any.
    unsafe { send_as_nobody(pid, None, word.as_c_arg()) }
}
