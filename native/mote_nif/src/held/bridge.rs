//! The way from a running machine to its resource. deliver/bridge.rs has what comes by it.
use crate::held::machine::{MachineResource, Reports};
use crate::held::mailbox::Mail;
use crate::held::question::Questions;
use mote_vm::values::foreign::Carrier;
use parking_lot::RwLock;
use rustler::ResourceArc;
use std::sync::Arc;

/// The embedder's side of a running machine.
pub struct Bridge {
    pub questions: Arc<Questions>,
    pin: RwLock<Option<ResourceArc<MachineResource>>>,
    pub reports: Arc<Reports>,
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
pub fn pin(machine: &dyn Carrier) -> Option<ResourceArc<MachineResource>> {
    let bridge = machine.embedder().downcast_ref::<Bridge>()?;
    bridge.pin.read().clone()
}

/// Lets go of the resource; only after a join.
pub fn unpin(machine: &dyn Carrier) {
    if let Some(bridge) = machine.embedder().downcast_ref::<Bridge>() {
        let pin = bridge.pin.write().take();
        // Outside of the lock: this may be the last reference.
        drop(pin);
    }
}
