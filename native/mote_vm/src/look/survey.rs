//! A look at the whole machine while all of its threads stand still between two turns.
//!
//! Invariants:
//! 1. It reads only, but for code that takes over actors of an older version. Callers outside go on meanwhile: what they create and send from here on is not seen, and what
//!    is reached from the roots as they were cannot go away, for nothing is freed without a collection.
use super::census::Census;
use super::graph::Graph;
use super::{waiting, BehaviourName, Figure};
use crate::base::atom::Atom;
use crate::boundary::journal::Journal;
use crate::code::program::{StayingBehaviour, TakeOver};
use crate::gc::roots;
use crate::threads::inbox::Entry;
use crate::threads::shared::Machine;
use crate::threads::station::OwnSide;
use crate::threads::thread::{self, Dispatch};
use crate::values::actor::Actor;
use crate::values::handles::Key;
use crate::values::term::ActorRef;
use crate::values::value::Value;
use rustc_hash::FxHashMap;

/// The machine and all of its threads, standing still.
pub struct Survey<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) threads: Vec<&'m mut Dispatch>,
    /// True if what is there stays as it is when turns run again, until an image is written (image/moment.rs).
    pub(crate) lasts: bool,
}

/// A callback that receives a survey.
type SurveyLook = Box<dyn FnOnce(&mut Survey<'_>) + Send>;

impl Machine {
    /// Calls `look` soon, on a dispatch thread, while everything stands still; drops it if the machine stops before.
    /// Returns at once.
    pub fn survey(&self, look: impl FnOnce(&mut Survey<'_>) + Send + 'static) {
        let look: SurveyLook = Box::new(look);
        let call = Entry::Task(thread::task(|thread| thread.survey(look)));
        self.push(self.sponsors().first().lead(), call);
    }
}

impl Dispatch {
    fn survey(&mut self, look: SurveyLook) {
        let machine = self.context.machine.clone();
        let mut look = Some(look);
        while look.is_some() {
            // In vain if another thread collects at this moment: then it is waited for.
            self.stand_still(|context| {
                let safepoint = machine.safepoint();
                safepoint.stop_the_others(&context.station, machine.stations(), |stopped| {
                    if let Some(look) = look.take() {
                        look(&mut Survey::of(&machine, stopped));
                    }
                })
            });
        }
    }
}

impl<'m> Survey<'m> {
    fn of(machine: &'m Machine, stopped: &[*mut OwnSide]) -> Survey<'m> {
        Survey {
            machine,
            // SAFETY: `stopped` are the threads of this machine, the caller's own among them; all of them stand still
            // and have left their state to this one (thread.rs, invariant 5).
            threads: stopped
                .iter()
                .map(|&own| unsafe { &mut *own.cast::<Dispatch>() })
                .collect(),
            lasts: false,
        }
    }
}

impl Survey<'_> {
    /// Lets the current version of a module take over the actors of all versions before it. Returns the behaviours of those that
    /// are alive and go on as they are.
    pub fn succeed(&self, module: Atom) -> Vec<StayingBehaviour> {
        let program = self.machine.program();
        let how = match self.machine.journal().is_some_and(Journal::notes) {
            true => TakeOver::Never,
            false => TakeOver::StandingStill,
        };
        let mut staying = program.succeed(module, how);
        if !staying.is_empty() {
            let alive = Census::of(self, 0, |_, _| None).populations;
            let older = alive.iter().filter(|population| population.is_older);
            let older: Vec<BehaviourName> = older.map(|of| of.behaviour).collect();
            staying.retain(|staying| older.contains(&program.name(staying.id)));
        }
        staying
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        self.machine
    }

    /// The `n` actors that most events wait for, with how many: in queues, on their way between threads, and in
    /// inboxes.
    pub fn most_awaited(&self, n: usize) -> Vec<Figure<'_>> {
        let found = waiting::of_all(self.machine, &self.threads);
        let found = super::greatest(found.into_iter().collect(), n, |(_, count)| *count);
        let figures = found.into_iter();
        figures
            .map(|(actor, count)| self.figure(actor, count))
            .collect()
    }

    /// Counts everything by behaviour, and finds the `n` actors that hold most, by their bytes. See [`Census`].
    pub fn census(&self, n: usize) -> Census<'_> {
        Census::of(self, n, |_, bytes| Some(bytes))
    }

    /// The `n` sockets by which most bytes have come, or have gone if it is `out` that counts.
    pub fn busiest_sockets(&self, n: usize, out: bool) -> Vec<Figure<'_>> {
        let mut moved = FxHashMap::default();
        for net in self.threads.iter().filter_map(|thread| thread.net.as_ref()) {
            net.sockets.each_moved(|actor, bytes_in, bytes_out| {
                moved.insert(actor, if out { bytes_out } else { bytes_in });
            });
        }
        // Some that nobody holds any more are still open: only what can be reached is shown.
        let of = |actor, _| moved.get(&actor).copied().filter(|bytes| *bytes > 0);
        Census::of(self, n, of).greatest
    }

    /// Returns the actors that can be reached from an actor within `depth` steps, at most `limit` of them. `None` if the
    /// handle belongs to another machine.
    pub fn graph(&self, from: Key, depth: usize, limit: usize) -> Option<Graph<'_>> {
        let held = self.machine.handles().hold(from)?;
        Some(Graph::of(self, held.actor, depth, limit))
    }

    /// The roots of the collector.
    pub(super) fn roots(&self) -> Vec<Value> {
        let mut roots = Vec::new();
        roots::mark(self.machine, &self.threads, &mut roots);
        roots
    }

    pub(super) fn figure(&self, actor: *const Actor, figure: u64) -> Figure<'_> {
        Figure {
            actor: ActorRef::new(actor),
            behaviour: self.behaviour(actor),
            figure,
        }
    }

    pub(super) fn behaviour(&self, actor: *const Actor) -> BehaviourName {
        // SAFETY: whoever found the actor found it among what is reachable.
        let header = unsafe { (*actor).header() };
        self.machine.program().name(header.behaviour())
    }
}
