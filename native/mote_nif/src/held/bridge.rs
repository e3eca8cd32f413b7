//! The way from a running machine to its resource. deliver/bridge.rs has the reports that use it.
use crate::held::desk::Desk;
use crate::held::machine::{LostMessages, MachineResource, Reports};
use crate::held::mailbox::Mail;
use crate::held::question::Questions;
use crate::held::watches::Watches;
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::values::foreign::Carrier;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The embedder's side of a running machine.
pub struct Bridge {
    pub questions: Arc<Questions>,
    pin: RwLock<Option<ResourceArc<MachineResource>>>,
    pub reports: Arc<Reports>,
    /// Messages that wait to be sent to processes.
    pub mail: Arc<Mail>,
    /// Timers that fire when processes end.
    pub watches: Arc<Watches>,
    pub lost: Arc<LostMessages>,
    desks: Mutex<FxHashMap<VmAtom, Arc<Desk>>>,
}

impl Bridge {
    /// The bridge of a machine that is about to run.
    pub fn new(resource: ResourceArc<MachineResource>) -> Bridge {
        Bridge {
            questions: resource.questions.clone(),
            reports: resource.reports.clone(),
            mail: resource.mail.clone(),
            watches: resource.watches.clone(),
            lost: resource.lost.clone(),
            desks: Mutex::default(),
            pin: RwLock::new(Some(resource)),
        }
    }

    /// The desk of a sponsor whose turns run outside.
    pub fn desk(&self, sponsor: VmAtom) -> Arc<Desk> {
        self.desks.lock().entry(sponsor).or_default().clone()
    }

    /// Returns the desk of a sponsor, if anybody has asked for it.
    pub fn known_desk(&self, sponsor: VmAtom) -> Option<Arc<Desk>> {
        self.desks.lock().get(&sponsor).cloned()
    }

    /// Returns all desks that anybody has asked for.
    pub fn known_desks(&self) -> Vec<(VmAtom, Arc<Desk>)> {
        let desks = self.desks.lock();
        desks
            .iter()
            .map(|(sponsor, desk)| (*sponsor, desk.clone()))
            .collect()
    }

    /// The sponsor is gone.
    pub fn close_desk(&self, sponsor: VmAtom) {
        let desk = self.desks.lock().remove(&sponsor);
        if let Some(desk) = desk {
            desk.close();
        }
    }
}

// Here, since desks refer to machines.
impl MachineResource {
    fn bridge(&self) -> Option<&Bridge> {
        self.machine.get()?.embedder().as_any().downcast_ref()
    }

    /// The desk of a sponsor whose turns run outside, if there is a sponsor of that name.
    pub fn desk(&self, sponsor: VmAtom) -> Option<Arc<Desk>> {
        let machine = self.running()?;
        let bridge = self.bridge()?;
        let desk = bridge.desk(sponsor);
        // In this order: who removes the sponsor from now on closes the desk after that.
        if machine.sponsor(sponsor).is_none() {
            bridge.close_desk(sponsor);
            return None;
        }
        Some(desk)
    }

    /// Returns the desk of a sponsor, if anybody has asked for it.
    pub fn known_desk(&self, sponsor: VmAtom) -> Option<Arc<Desk>> {
        self.bridge()?.known_desk(sponsor)
    }

    /// Returns all desks that anybody has asked for.
    pub fn known_desks(&self) -> Vec<(VmAtom, Arc<Desk>)> {
        self.bridge().map(Bridge::known_desks).unwrap_or_default()
    }
}

/// The resource of a machine, while it runs.
pub fn pin(machine: &dyn Carrier) -> Option<ResourceArc<MachineResource>> {
    let bridge = machine.embedder().downcast_ref::<Bridge>()?;
    bridge.pin.read().clone()
}

/// Lets go of the resource; only after a join. Turns that were outside then refer to it as well, by the addresses of their
/// actors, and nobody hears of them any more.
pub fn unpin(machine: &dyn Carrier) {
    if let Some(bridge) = machine.embedder().downcast_ref::<Bridge>() {
        let desks = std::mem::take(&mut *bridge.desks.lock());
        desks.into_values().for_each(|desk| desk.close());
        let pin = bridge.pin.write().take();
        // Outside of the lock: this may be the last reference.
        drop(pin);
    }
}
