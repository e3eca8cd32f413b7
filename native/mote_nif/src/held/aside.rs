//! Errands: work that takes long, such as dropping a large term or notifying many processes, and that comes up on a thread of the
//! BEAM which must not be held up. A separate thread does it.
//!
//! Destructors and monitors are called on normal schedulers, wherever the resource was used. So they leave large work here.
//!
//! Invariants:
//! 1. Errands are run one after the other, in the order in which they came, by that thread; or, where the system refuses a
//!    thread, by the caller that brings them. None is forgotten: the thread ends only when it finds none, under the lock, and
//!    says so there.
//! 2. The library is not unloaded under the thread: from the first errand on, it holds a resource of its own forever.
use crate::term::resource::{Resource, ResourceArc};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Up to this number of parts take a tenth of a millisecond or less, and are dropped where they are.
pub const FEW: usize = 1_000;

/// How long the thread waits for another errand.
const IDLE_AT_MOST: Duration = Duration::from_secs(10);

type Errand = Box<dyn FnOnce() + Send>;

struct Errands {
    waiting: VecDeque<Errand>,
    /// The thread is there, and looks again before it goes.
    attended: bool,
}

static ERRANDS: Mutex<Errands> = Mutex::new(Errands {
    waiting: VecDeque::new(),
    attended: false,
});

static CALLED: Condvar = Condvar::new();

/// Keeps the library loaded.
struct Pin;

impl Resource for Pin {}

resource_type!(Pin);

/// Has it run soon, without waiting.
pub fn aside(errand: impl FnOnce() + Send + 'static) {
    static PIN: OnceLock<ResourceArc<Pin>> = OnceLock::new();
    PIN.get_or_init(|| ResourceArc::new(Pin));
    let mut errands = ERRANDS.lock();
    errands.waiting.push_back(Box::new(errand));
    let attended = std::mem::replace(&mut errands.attended, true);
    drop(errands);
    if attended {
        CALLED.notify_one();
        return;
    }
    let builder = thread::Builder::new().name("mote-aside".into());
    if builder.spawn(attend).is_err() {
        while let Some(errand) = next(false) {
            run(errand);
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
    while let Some(errand) = next(true) {
        run(errand);
    }
}

fn run(errand: Errand) {
    // If one fails, the others still run; there is no one to report the failure to.
    let _ = catch_unwind(AssertUnwindSafe(errand));
}

/// The next errand; if there is none, nobody attends any more.
fn next(patient: bool) -> Option<Errand> {
    let mut errands = ERRANDS.lock();
    if patient && errands.waiting.is_empty() {
        CALLED.wait_for(&mut errands, IDLE_AT_MOST);
    }
    let errand = errands.waiting.pop_front();
    errands.attended = errand.is_some();
    errand
}
