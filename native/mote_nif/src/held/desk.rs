//! The queue in which turns that run outside of the machine wait for workers, which are processes of the BEAM. Each
//! sponsor of such turns has one. [`Places`] decides which worker takes which turn; this file has its lock, clocks and
//! messages.
//!
//! Invariants:
//! 1. Nothing is sent, and nothing that was held is released, while the lock is held.
//! 2. Waiting turns are charged to the machine's memory.
//! 3. A worker that takes a turn that may call any Elixir takes no other: so the process of such a turn is always clean.
use crate::held::handle::Handle;
use crate::held::machine::MachineResource;
use crate::held::question::Outside;
use crate::term::atoms::names;
use crate::term::own_term::{Nursery, OwnTerm};
use crate::term::resource::{Resource, ResourceArc};
use crate::term::send::send_as_nobody;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::boundary::outbox::{Charge, Letters};
use mote_vm::boundary::places::{Found, Places, Summons, TakenTurn};
use mote_vm::values::foreign::ForeignRef;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use rustler::types::atom::Atom;
use rustler::LocalPid;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The behaviour that a turn belongs to.
#[derive(Clone, Copy)]
pub struct About {
    pub module: VmAtom,
    pub name: VmAtom,
    pub captures: usize,
    /// True if it may call any Elixir.
    pub free: bool,
}

/// The captures of a turn and its message.
pub enum TurnInput {
    /// A letter for each, in that order.
    Letters(Letters<KeptPart>),
    /// `{captures, message}`
    Term(OwnTerm),
}

/// A part of a letter that keeps something alive.
pub enum KeptPart {
    Foreign(ForeignRef),
    /// The address of an actor, and the sponsor that it carries.
    Address(Box<Handle>, Option<VmAtom>),
}

/// A turn that waits for a worker.
pub struct Waiting {
    pub number: u64,
    pub about: About,
    pub version: u64,
    pub actor: Handle,
    pub since: Instant,
    pub given: TurnInput,
    /// The process that waits for what it does, if its message says so.
    pub asker: Option<LocalPid>,
    /// The question in its message, if there is one.
    pub question: Option<Outside>,
    pub _charge: Charge,
}

/// The actor of a turn, which gets a resource only when Elixir sees it: few turns look who they are.
enum Whose {
    Unseen(Handle),
    Seen(ResourceArc<Handle>),
}

/// A turn that a worker runs.
pub struct Running {
    pub about: About,
    /// The actor whose turn it is; nothing only while it is moved.
    whose: Option<Whose>,
    /// The question, which is outside until the machine has been told how the turn has ended.
    question: Option<Outside>,
    since: Instant,
}

impl Running {
    /// The actor, for Elixir.
    fn actor(&mut self) -> Option<ResourceArc<Handle>> {
        let actor = match self.whose.take()? {
            Whose::Unseen(handle) => ResourceArc::new(handle),
            Whose::Seen(actor) => actor,
        };
        self.whose = Some(Whose::Seen(actor.clone()));
        Some(actor)
    }

    /// Returns whether the question in its message is still open.
    pub fn is_awaited(&self) -> bool {
        self.question.as_ref().is_some_and(Outside::is_open)
    }

    /// Returns how long it has run.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

/// Totals for the turns of one behaviour since they were last read.
#[derive(Clone, Copy, Default)]
pub struct Figures {
    pub turns: u64,
    pub waited: Duration,
    pub ran: Duration,
    pub longest: Duration,
}

#[derive(Default)]
struct State {
    places: Places<LocalPid, Waiting, Running>,
    manager: Option<LocalPid>,
    /// Longest time that a turn may take; `None` for no limit.
    timeout: Option<Duration>,
    /// Workers whose turns nobody wants any more since it is closed.
    left: Vec<LocalPid>,
    /// Number of turns that had not ended when it was closed.
    cut_off: usize,
    figures: FxHashMap<(VmAtom, VmAtom), Figures>,
}

/// A turn that a worker has fetched.
pub struct Fetched {
    pub number: u64,
    pub about: About,
    pub version: u64,
    pub asker: Option<LocalPid>,
    pub given: TurnInput,
}

/// One sponsor's desk: its places, with their lock, clocks and messages.
pub struct Desk {
    state: Mutex<State>,
    /// Environments for turns that are not letters. Workers fetch turns in order, so neighbours are freed together.
    pub nursery: Nursery,
}

/// The number of turns that are written next to each other: more would take longer to free than to write.
const NEIGHBOURS: usize = 16;

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            state: Mutex::default(),
            nursery: Nursery::new(NEIGHBOURS),
        }
    }
}

impl Desk {
    /// A turn waits.
    pub fn put(&self, turn: Waiting) {
        let mut state = self.state.lock();
        let put = state.places.put(turn);
        self.tell(state, put.as_ref().copied().unwrap_or(Summons::Nobody));
    }

    /// Tells a worker or the manager, whoever is called, without the lock.
    fn tell(&self, state: MutexGuard<'_, State>, called: Summons<LocalPid>) {
        let manager = state.manager;
        drop(state);
        match (called, manager) {
            // If it has died, the manager hears of that.
            (Summons::Worker(worker), _) => tell(&worker, names::comes()),
            (Summons::Manager, Some(manager)) => tell(&manager, names::workers()),
            (Summons::Manager, None) | (Summons::Nobody, _) => false,
        };
    }

    /// The process that starts workers, and sees to turns that take longer than `timeout`.
    pub fn managed_by(&self, manager: LocalPid, timeout: Option<Duration>) {
        let mut state = self.state.lock();
        state.manager = Some(manager);
        state.timeout = timeout;
        if state.places.asked() > 0 {
            self.tell(state, Summons::Manager);
        }
    }

    /// Returns the number of workers that the manager must start.
    pub fn take_asked(&self) -> usize {
        self.state.lock().places.take_asked()
    }

    /// The next turn for a worker, which waits otherwise; `comes`: it was woken, or has begun.
    pub fn next(&self, worker: LocalPid, comes: bool) -> Found<Fetched> {
        let mut guard = self.state.lock();
        let State {
            places, figures, ..
        } = &mut *guard;
        let mut charge = None;
        let found = places.next(worker, comes, |turn| {
            let now = Instant::now();
            let Waiting {
                number,
                about,
                version,
                actor,
                since,
                given,
                asker,
                question,
                _charge,
            } = turn;
            charge = Some(_charge);
            let key = (about.module, about.name);
            figures.entry(key).or_default().waited += now - since;
            TakenTurn {
                number,
                last: about.free,
                running: Running {
                    about,
                    whose: Some(Whose::Unseen(actor)),
                    question,
                    since: now,
                },
                fetched: Fetched {
                    number,
                    about,
                    version,
                    asker,
                    given,
                },
            }
        });
        drop(guard);
        drop(charge);
        found
    }

    /// Lets a waiting worker end, if it may. Returns whether it may; otherwise it has been woken.
    pub fn leave(&self, worker: LocalPid) -> bool {
        self.state.lock().places.leave(worker)
    }

    /// Ends a turn. Returns what was kept of it, if that is the first end of it. To be dropped when the machine has been told.
    pub fn end(&self, number: u64) -> Option<Running> {
        let mut state = self.state.lock();
        let running = state.places.end(number)?;
        let ran = running.age();
        let key = (running.about.module, running.about.name);
        let figures = state.figures.entry(key).or_default();
        figures.turns += 1;
        figures.ran += ran;
        figures.longest = figures.longest.max(ran);
        // Without the lock: the last to hold an actor may have something to do.
        Some(running)
    }

    /// Returns whether a turn is running.
    pub fn is_running(&self, number: u64) -> bool {
        self.state.lock().places.is_running(number)
    }

    /// The actor of a turn that runs.
    pub fn actor(&self, number: u64) -> Option<ResourceArc<Handle>> {
        self.state.lock().places.running_turn(number)?.actor()
    }

    /// Workers are gone: the turns that they were running, which have not ended.
    pub fn lost(&self, workers: &[LocalPid]) -> Vec<(LocalPid, u64)> {
        let mut running = Vec::new();
        let mut called = Vec::new();
        let mut state = self.state.lock();
        for worker in workers {
            let (number, summons) = state.places.lost(*worker);
            running.extend(number.map(|number| (*worker, number)));
            if !matches!(summons, Summons::Nobody) {
                called.push(summons);
            }
        }
        drop(state);
        for summons in called {
            self.tell(self.state.lock(), summons);
        }
        running
    }

    /// Returns the longest time that a turn may take; `None` if there is no limit.
    pub fn timeout(&self) -> Option<Duration> {
        self.state.lock().timeout
    }

    /// The turns that have taken too long, and the time after which there may be others.
    pub fn overdue(&self) -> (Vec<(u64, LocalPid)>, Duration) {
        let state = self.state.lock();
        let timeout = state.timeout.unwrap_or(Duration::MAX);
        let now = Instant::now();
        let mut next = timeout;
        let mut over = Vec::new();
        for (number, worker, running) in state.places.running() {
            match timeout.checked_sub(now - running.since) {
                None | Some(Duration::ZERO) => over.push((number, worker)),
                Some(left) => next = next.min(left),
            }
        }
        (over, next)
    }

    /// Returns the numbers of turns that run and that wait for a worker, and the turn that has run longest.
    pub fn look(&self) -> (usize, usize, Option<(VmAtom, VmAtom, Duration)>) {
        let state = self.state.lock();
        let running = state.places.running();
        let count = running.len();
        let longest = running.map(|(_, _, running)| running);
        let longest = longest.min_by_key(|running| running.since);
        let longest = longest.map(|r| (r.about.module, r.about.name, r.age()));
        (count, state.places.count_waiting(), longest)
    }

    /// Returns the number of turns that wait for a worker or run, including those that did so when it was closed.
    pub fn unfinished(&self) -> usize {
        let (running, waiting, _longest) = self.look();
        running + waiting + self.state.lock().cut_off
    }

    /// Returns whether a process runs one of the turns.
    pub fn is_worker(&self, process: &LocalPid) -> bool {
        let state = self.state.lock();
        let mut running = state.places.running();
        running.any(|(_, worker, _)| worker == *process)
    }

    /// Shows every turn that runs, and its actor.
    pub fn each(&self, mut show: impl FnMut(&Running, ResourceArc<Handle>)) {
        let mut state = self.state.lock();
        for running in state.places.running_turns() {
            if let Some(actor) = running.actor() {
                show(running, actor);
            }
        }
    }

    /// Takes the totals collected since the last call, by behaviour.
    pub fn take_figures(&self) -> Vec<((VmAtom, VmAtom), Figures)> {
        self.state.lock().figures.drain().collect()
    }

    /// Closes the desk. No turn will be heard any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        let rest = state.places.close();
        let left = rest.running.iter().map(|(worker, _)| *worker);
        state.left.extend(left);
        state.cut_off += rest.running.len() + rest.waiting.len();
        let manager = state.manager;
        drop(state);
        for pid in rest.idle.iter().copied().chain(manager) {
            tell(&pid, names::closed());
        }
    }

    /// The workers whose turns nobody has wanted any more since this is closed.
    pub fn take_left(&self) -> Vec<LocalPid> {
        std::mem::take(&mut self.state.lock().left)
    }
}

/// A desk, as its manager and its workers have it.
pub struct DeskResource {
    pub desk: Arc<Desk>,
    pub machine: ResourceArc<MachineResource>,
}

impl Resource for DeskResource {}

resource_type!(DeskResource);

/// Sends a word. Returns whether the receiver is there.
fn tell(pid: &LocalPid, word: Atom) -> bool {
    // SAFETY: atoms belong to no environment, so they are alive in any.
    unsafe { send_as_nobody(pid, None, word.as_c_arg()) }
}
