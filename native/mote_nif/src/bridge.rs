//! What a machine tells the process that answers for it.
use crate::atoms::{self, names};
use crate::message::post;
use crate::resources::{MachineResource, Questions};
use mote_vm::machine::{Abort, Fault, Machine, Outside};
use parking_lot::{Mutex, RwLock};
use rustler::{Encoder, ResourceArc};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Aborts that are reported one by one; the counters count them all.
const REPORTS: u32 = 10;
/// … in this time.
const PERIOD: Duration = Duration::from_secs(1);

/// The embedder's side of a running machine.
pub struct Bridge {
    questions: Arc<Questions>,
    pin: RwLock<Option<ResourceArc<MachineResource>>>,
    /// Since when reports are counted, and how many there were.
    reports: Mutex<(Instant, u32)>,
}

impl Bridge {
    /// The bridge of a machine that is about to run.
    pub fn new(resource: ResourceArc<MachineResource>) -> Bridge {
        Bridge {
            questions: resource.questions.clone(),
            pin: RwLock::new(Some(resource)),
            reports: Mutex::new((Instant::now(), 0)),
        }
    }

    /// Whether one more report is welcome.
    fn welcome(&self) -> bool {
        let mut reports = self.reports.lock();
        if reports.0.elapsed() > PERIOD {
            *reports = (Instant::now(), 0);
        }
        reports.1 += 1;
        reports.1 <= REPORTS
    }
}

/// The resource of a machine, while it runs.
pub fn pin(machine: &Machine) -> Option<ResourceArc<MachineResource>> {
    let bridge = machine.outside().as_any().downcast_ref::<Bridge>()?;
    bridge.pin.read().clone()
}

/// Lets go of the resource; only after a join.
pub fn unpin(machine: &Machine) {
    if let Some(bridge) = machine.outside().as_any().downcast_ref::<Bridge>() {
        let pin = bridge.pin.write().take();
        // Outside of the lock: this may be the last reference.
        drop(pin);
    }
}

impl Outside for Bridge {
    fn aborted(&self, machine: &Machine, abort: Abort<'_>) {
        if !self.welcome() {
            return;
        }
        let Some(resource) = pin(machine) else {
            return;
        };
        post(&resource.owner, |env, decoder| {
            let reason = decoder.glance(env, machine, abort.reason);
            let message = decoder.glance(env, machine, abort.message);
            let module = atoms::to_term(env, abort.module);
            let behaviour = atoms::to_term(env, abort.behaviour);
            (names::aborted(), module, behaviour, reason, message).encode(env)
        });
    }

    fn fault(&self, machine: &Machine, fault: Fault) {
        let Some(resource) = pin(machine) else {
            return;
        };
        post(&resource.owner, |env, _| {
            let behaviour = fault
                .behaviour
                .map(|(module, name)| (atoms::to_term(env, module), atoms::to_term(env, name)));
            let sponsor = atoms::to_term(env, fault.sponsor);
            (
                names::fault(),
                sponsor,
                behaviour,
                fault.message_kind,
                fault.text,
            )
                .encode(env)
        });
    }

    fn newest_question(&self) -> Option<u64> {
        self.questions.newest()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
