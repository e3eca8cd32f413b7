//! For tests: a machine that has nothing to do, and a thread of it that never runs.
use crate::base::atom::Atom;
use crate::base::clock::ClockKind;
use crate::boundary::room::Room;
use crate::machine::{Config, Embedder, Machine};
use crate::threads::fault::Fault;
use crate::threads::seeded::Schedule;
use crate::threads::sponsor::{Sponsor, SponsorConfig};
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::abort::Abort;
use crate::turns::interpreter::Interpreter;
use crate::values::actor::SponsorId;
use std::sync::Arc;

struct Deaf;

impl Embedder for Deaf {
    fn aborted(&self, _machine: &Machine, _abort: Abort<'_>) -> bool {
        false
    }
    fn fault(&self, _machine: &Machine, _fault: Fault) {}
}

/// A machine at rest, with a thread of its own making. The machine's sponsor has a given number of threads, which are asleep, and so has the sponsor of
/// the thread that never runs.
pub(crate) struct Still {
    pub(crate) machine: Machine,
    pub(crate) thread: Dispatch,
}

impl Still {
    pub(crate) fn new(threads: usize) -> Still {
        Still::within(threads, usize::MAX)
    }

    /// Creates the same as [`Still::new`], with `memory` bytes.
    pub(crate) fn within(threads: usize, memory: usize) -> Still {
        let name = Atom::new("still");
        let config = Config {
            name: "still".to_string(),
            sponsors: vec![SponsorConfig::new(name, threads)],
            fuel: 1,
            memory,
            gc: Default::default(),
            clock: ClockKind::Manual,
            schedule: Schedule::Threads,
            compiler: None,
        };
        let machine = Machine::start(config, Box::new(Deaf)).expect("starts");
        let sponsors = machine.sponsors();
        let sleeps = |s: &Arc<Station>| s.counts().parks > 0 && s.presence.is_asleep();
        while !sponsors.first().stations.iter().all(sleeps) {
            std::thread::yield_now();
        }
        let room = Arc::new(Room::new(usize::MAX, false));
        let stations: Vec<_> = (0..threads)
            .map(|_| machine.stations().open().expect("a number"))
            .collect();
        stations
            .iter()
            .for_each(|station| station.open(SponsorId(1), &room));
        let station = stations[0].clone();
        let sponsor = Sponsor::new(SponsorId(1), name, stations, room);
        let context = ThreadContext {
            machine: machine.clone(),
            sponsor: Arc::new(sponsor),
            station,
        };
        let thread = dispatch(context);
        Still { machine, thread }
    }

    /// Lets the thread that never runs be awake, for a test that keeps house with it as it would: other threads that collect wait
    /// for it. Asleep, it would be taken for one that stands still.
    pub(crate) fn wakes(&self) {
        self.thread.context.station.presence.wake();
    }

    /// A thread for each station of the sponsor of the one that never runs.
    pub(crate) fn threads(&self) -> Vec<Dispatch> {
        let first = &self.thread.context;
        let stations = first.sponsor.stations.iter().cloned();
        let of = |station| ThreadContext {
            station,
            ..first.clone()
        };
        stations.map(of).map(dispatch).collect()
    }
}

fn dispatch(context: ThreadContext) -> Dispatch {
    let heap = crate::heap::Heap::new(context.machine.shared_pool());
    let turn = context.turn(heap, 0);
    Dispatch::new(context, turn, Interpreter::new().expect("memory"))
}

impl Drop for Still {
    fn drop(&mut self) {
        // No thread waits for it at a collection.
        self.thread.context.station.presence.sleep();
        self.machine.stop();
        self.machine.join();
    }
}
