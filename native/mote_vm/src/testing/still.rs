//! For tests: a machine that has nothing to do, and a thread of it that never runs.
use crate::base::atom::Atom;
use crate::base::clock::ClockKind;
use crate::boundary::room::Room;
use crate::machine::contract::{Config, Outside};
use crate::machine::Machine;
use crate::threads::fault::Fault;
use crate::threads::place::Place;
use crate::threads::seeded::Schedule;
use crate::threads::sponsor::{Sponsor, SponsorConfig};
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::turns::abort::Abort;
use crate::turns::interpreter::Interpreter;
use crate::values::actor::SponsorId;
use std::any::Any;
use std::sync::Arc;

struct NoOutside;

impl Outside for NoOutside {
    fn aborted(&self, _machine: &Machine, _abort: Abort<'_>) -> bool {
        false
    }
    fn fault(&self, _machine: &Machine, _fault: Fault) {}
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// See the head of this file. The machine's sponsor has a given number of threads, which are asleep, and so has the sponsor of
/// the thread that never runs.
pub(crate) struct Still {
    pub(crate) machine: Machine,
    pub(crate) thread: Dispatch,
}

impl Still {
    pub(crate) fn new(threads: usize) -> Still {
        let name = Atom::new("still");
        let config = Config {
            name: "still".to_string(),
            sponsors: vec![SponsorConfig::new(name, threads)],
            fuel: 1,
            memory: usize::MAX,
            gc: Default::default(),
            clock: ClockKind::Manual,
            schedule: Schedule::Threads,
            compiler: None,
        };
        let machine = Machine::start(config, Box::new(NoOutside)).expect("starts");
        let sponsors = machine.sponsors();
        let sleeps = |s: &Arc<Station>| s.counts().parks > 0 && s.presence.is_asleep();
        while !sponsors.first().stations.iter().all(sleeps) {
            std::thread::yield_now();
        }
        let room = Arc::new(Room::new(usize::MAX, false));
        let stations: Vec<_> = (0..threads)
            .map(|_| machine.stations().open().expect("a number"))
            .collect();
        stations.iter().for_each(|station| station.open(&room));
        let station = stations[0].clone();
        let sponsor = Sponsor::new(SponsorId(1), name, stations, room);
        let place = Place {
            machine: machine.clone(),
            sponsor: Arc::new(sponsor),
            station,
        };
        let heap = crate::heap::Heap::new(machine.shared_pool());
        let turn = place.turn(heap, 0);
        let thread = Dispatch::new(place, turn, Interpreter::new().expect("memory"));
        Still { machine, thread }
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        self.machine.stop();
        self.machine.join();
    }
}
