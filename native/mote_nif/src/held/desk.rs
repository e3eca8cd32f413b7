//! Where turns that run outside of the machine wait for workers, processes of the BEAM; one for each sponsor whose turns do.
//!
//! Invariants:
//! 1. A turn is waiting or running, until it has ended once: whoever takes it out of `running` tells the machine how.
//! 2. While turns wait, as many workers are `coming` to look: woken, or asked of the manager. `coming` is never more than there
//!    are. One that dies on its way, or had died before it was woken, is made up for when the manager hears of it (`lost`), and
//!    nowhere else: otherwise it would count twice.
//! 3. What waits is charged to the machine's memory.
use crate::held::handle::Handle;
use crate::held::machine::MachineResource;
use crate::term::atoms::names;
use crate::term::own_term::{Nursery, OwnTerm};
use crate::term::send::send_as_nobody;
use mote_vm::base::atom::Atom;
use mote_vm::boundary::outbox::Charge;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::types::atom::Atom as BeamAtom;
use rustler::{LocalPid, Resource, ResourceArc};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a turn is one of.
#[derive(Clone, Copy)]
pub struct About {
    pub module: Atom,
    pub name: Atom,
    pub captures: usize,
    /// Whether it may call any Elixir.
    pub free: bool,
}

/// A turn that waits for a worker.
pub struct Waiting {
    pub number: u64,
    pub about: About,
    pub version: u64,
    pub actor: Handle,
    pub since: Instant,
    /// `{captures, message}`.
    pub values: OwnTerm,
    pub _charge: Charge,
}

/// A turn that a worker runs.
pub struct Running {
    worker: LocalPid,
    pub about: About,
    pub actor: ResourceArc<Handle>,
    since: Instant,
}

impl Running {
    /// For how long.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }
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

/// A turn that a worker has fetched.
pub struct Fetched {
    pub number: u64,
    pub about: About,
    pub version: u64,
    pub actor: ResourceArc<Handle>,
    pub values: OwnTerm,
}

/// What a worker finds.
pub enum Found {
    Turn(Fetched),
    Nothing,
    Closed,
}

/// See the head of this file.
pub struct Desk {
    state: Mutex<State>,
    /// Where turns are written. Workers fetch them in their order, so those that are neighbours go together.
    pub paper: Nursery,
}

/// The number of turns that are written next to each other: more would take longer to free than to write.
const NEIGHBOURS: usize = 16;

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            state: Mutex::default(),
            paper: Nursery::new(NEIGHBOURS),
        }
    }
}

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
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        state.waiting.push_back(turn);
        let told = state.call();
        drop(state);
        self.tell(told);
    }

    fn tell(&self, told: Told) {
        match told {
            Told::Nobody => false,
            Told::Manager(manager) => tell(&manager, names::workers()),
            // If it has died: invariant 2.
            Told::Worker(worker) => tell(&worker, names::comes()),
        };
    }

    /// The process that starts workers.
    pub fn managed_by(&self, manager: LocalPid) {
        let mut state = self.state.lock();
        state.manager = Some(manager);
        if state.asked > 0 {
            drop(state);
            self.tell(Told::Manager(manager));
        }
    }

    /// How many workers the manager is to start.
    pub fn take_asked(&self) -> usize {
        std::mem::take(&mut self.state.lock().asked)
    }

    /// The next turn for a worker, which waits otherwise; `comes`: it was woken, or has begun.
    pub fn next(&self, worker: LocalPid, comes: bool) -> Found {
        let mut state = self.state.lock();
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
        let key = (turn.about.module, turn.about.name);
        state.figures.entry(key).or_default().waited += now - turn.since;
        let Waiting {
            number,
            about,
            version,
            actor,
            values,
            ..
        } = turn;
        // By a scheduler, which is to free it: the threads of a machine have no memory of the BEAM's to themselves.
        let actor = ResourceArc::new(actor);
        let running = Running {
            worker,
            about,
            actor: actor.clone(),
            since: now,
        };
        state.running.insert(number, running);
        drop(state);
        Found::Turn(Fetched {
            number,
            about,
            version,
            actor,
            values,
        })
    }

    /// A worker that waits wants to end; whether it may: otherwise it has been woken.
    pub fn leave(&self, worker: LocalPid) -> bool {
        let mut state = self.state.lock();
        let at = state.idle.iter().position(|idle| *idle == worker);
        if let Some(at) = at {
            state.idle.remove(at);
        }
        at.is_some()
    }

    /// A turn has ended; whether that is the first end of it.
    pub fn end(&self, number: u64) -> bool {
        let mut state = self.state.lock();
        let Some(running) = state.running.remove(&number) else {
            return false;
        };
        let ran = running.age();
        let key = (running.about.module, running.about.name);
        let figures = state.figures.entry(key).or_default();
        figures.turns += 1;
        figures.ran += ran;
        figures.longest = figures.longest.max(ran);
        drop(state);
        // Without the lock: the last to hold an actor may have something to do.
        drop(running);
        true
    }

    /// Whether a turn is running.
    pub fn is_running(&self, number: u64) -> bool {
        self.state.lock().running.contains_key(&number)
    }

    /// A worker is gone: the turn that it was running, which has not ended.
    pub fn lost(&self, worker: LocalPid) -> Option<u64> {
        let mut state = self.state.lock();
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

    /// The turns that have run for at least `timeout`, and the time after which there may be others.
    pub fn overdue(&self, timeout: Duration) -> (Vec<(u64, LocalPid, bool)>, Duration) {
        let state = self.state.lock();
        let now = Instant::now();
        let mut next = timeout;
        let mut over = Vec::new();
        for (number, running) in &state.running {
            match timeout.checked_sub(now - running.since) {
                None | Some(Duration::ZERO) => {
                    over.push((*number, running.worker, running.about.free))
                }
                Some(left) => next = next.min(left),
            }
        }
        (over, next)
    }

    /// How many turns run, how many wait for a worker, and the one that has run longest.
    pub fn look(&self) -> (usize, usize, Option<(Atom, Atom, Duration)>) {
        let state = self.state.lock();
        let longest = state.running.values().min_by_key(|running| running.since);
        let longest = longest.map(|r| (r.about.module, r.about.name, r.age()));
        (state.running.len(), state.waiting.len(), longest)
    }

    /// Shows every turn that runs.
    pub fn each(&self, show: impl FnMut(&Running)) {
        self.state.lock().running.values().for_each(show);
    }

    /// What turns have taken since this was last asked, by behaviour.
    pub fn take_figures(&self) -> Vec<((Atom, Atom), Figures)> {
        self.state.lock().figures.drain().collect()
    }

    /// No turn will be heard any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        let running = std::mem::take(&mut state.running);
        let manager = state.manager;
        let told: Vec<LocalPid> = state.idle.drain(..).chain(manager).collect();
        drop(state);
        drop((waiting, running));
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
