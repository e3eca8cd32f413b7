//! Slow tasks: work that takes long, such as dropping a large term or notifying many processes, and that comes up on a thread of the
//! BEAM which must not be held up. A separate thread does it.
//!
//! Destructors and monitors are called on normal schedulers, wherever the resource was used. So they leave large work here.
//!
//! Invariants:
//! 1. Slow tasks are run serially, in the order in which they came, by that thread; or, where the system refuses a
//!    thread, by the caller that brings them. None is forgotten: the thread ends only when it finds none, under the lock, and
//!    says so there.
//! 2. The library is not unloaded under the thread: from the first task on, it holds a resource of its own forever.
use crate::term::resource::{Resource, ResourceArc};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Number of parts that take a tenth of a millisecond or less to drop, so that they are dropped where they are.
pub const FEW: usize = 1_000;

/// Longest time that the thread waits for another task.
const IDLE_AT_MOST: Duration = Duration::from_secs(10);

type SlowTask = Box<dyn FnOnce() + Send>;

struct SlowTasks {
    waiting: VecDeque<SlowTask>,
    /// The thread is there, and looks again before it goes.
    attended: bool,
}

static SLOW_TASKS: Mutex<SlowTasks> = Mutex::new(SlowTasks {
    waiting: VecDeque::new(),
    attended: false,
});

static CALLED: Condvar = Condvar::new();

/// Keeps the library loaded.
struct Pin;

impl Resource for Pin {}

resource_type!(Pin);

/// Runs a task soon on another thread, without waiting.
pub fn aside(task: impl FnOnce() + Send + 'static) {
    static PIN: OnceLock<ResourceArc<Pin>> = OnceLock::new();
    PIN.get_or_init(|| ResourceArc::new(Pin));
    let mut tasks = SLOW_TASKS.lock();
    tasks.waiting.push_back(Box::new(task));
    let attended = std::mem::replace(&mut tasks.attended, true);
    drop(tasks);
    if attended {
        CALLED.notify_one();
        return;
    }
    let builder = thread::Builder::new().name("mote-aside".into());
    if builder.spawn(attend).is_err() {
        while let Some(task) = next(false) {
            run(task);
        }
    }
}

/// Drops it, aside if it has many parts.
pub fn let_go<T: Send + 'static>(it: T, parts: usize) {
    match parts > FEW {
        true => aside(move || drop(it)),
        false => drop(it),
    }
}

fn attend() {
    while let Some(task) = next(true) {
        run(task);
    }
}

fn run(task: SlowTask) {
    // If one fails, the others still run; there is no one to report the failure to.
    let _ = catch_unwind(AssertUnwindSafe(task));
}

/// The next task; if there is none, nobody attends any more.
fn next(patient: bool) -> Option<SlowTask> {
    let mut tasks = SLOW_TASKS.lock();
    if patient && tasks.waiting.is_empty() {
        CALLED.wait_for(&mut tasks, IDLE_AT_MOST);
    }
    let task = tasks.waiting.pop_front();
    tasks.attended = task.is_some();
    task
}
