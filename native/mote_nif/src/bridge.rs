//! What a machine tells the process that answers for it.
use crate::atoms::{self, names};
use crate::foreign;
use crate::mail::Mail;
use crate::message::post;
use crate::question::{Customer, Questions};
use crate::resources::{MachineResource, Reports};
use mote_vm::machine::{Abort, Fault, Machine, Outside};
use mote_vm::Term as Value;
use parking_lot::RwLock;
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, ResourceArc};
use std::any::Any;
use std::sync::Arc;

/// The embedder's side of a running machine.
pub struct Bridge {
    questions: Arc<Questions>,
    pin: RwLock<Option<ResourceArc<MachineResource>>>,
    reports: Arc<Reports>,
    /// What waits to be sent to processes.
    pub mail: Arc<Mail>,
}

impl Bridge {
    /// The bridge of a machine that is about to run.
    pub fn new(resource: ResourceArc<MachineResource>) -> Bridge {
        Bridge {
            questions: resource.questions.clone(),
            reports: resource.reports.clone(),
            mail: resource.mail.clone(),
            pin: RwLock::new(Some(resource)),
        }
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
    fn aborted(&self, machine: &Machine, abort: Abort<'_>) -> bool {
        if let Some(customer) = foreign::customer_of(abort.message) {
            customer.aborted(machine, &abort);
        }
        if !self.reports.take() {
            return false;
        }
        let Some(resource) = pin(machine) else {
            return false;
        };
        post(&resource.owner, |env, decoder| {
            let reason = decoder.glance(env, machine, abort.reason);
            let message = decoder.glance(env, machine, abort.message);
            let [sponsor, module, behaviour] = [abort.sponsor, abort.module, abort.behaviour]
                .map(|atom| atoms::to_term(env, atom));
            let about = [sponsor, module, behaviour, reason, message];
            (names::aborted(), make_tuple(env, &about)).encode(env)
        })
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

    fn is_killed(&self, message: Value<'_>) -> bool {
        foreign::customer_of(message).is_some_and(Customer::is_killed)
    }

    fn newest_question(&self) -> Option<u64> {
        self.questions.newest()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
