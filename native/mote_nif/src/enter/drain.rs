//! Waiting until a machine has nothing to do.
//!
//! The notification comes from the thread that is busy last, or that stops the machine: one of the machine's own, or a scheduler.
//! A waiter that is forgotten must be notified as well. So dropping a resource is the notification.
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::term::atoms::names;
use crate::term::resource::{Resource, ResourceArc};
use crate::term::send::send_in;
use mote_vm::machine::Quiet;
use rustler::Env;

/// Returns the kind of quiet to wait for: without turns that are away, if the caller ignores these.
pub fn quiet(ignores: bool) -> Quiet {
    match ignores {
        true => Quiet::Native,
        false => Quiet::Whole,
    }
}

/// A waiter, notified when nobody holds it any more.
pub struct Drain {
    pub customer: ResourceArc<Customer>,
    pub machine: ResourceArc<MachineResource>,
}

impl Resource for Drain {
    fn destructor(self, env: Env<'_>) {
        if self.customer.claim() {
            let message = match self.machine.running() {
                Some(_) => self.customer.tagged(env, names::ok().to_term(env)),
                None => self
                    .customer
                    .failed(env, names::machine_down().to_term(env)),
            };
            send_in(env, self.customer.pid(), message);
        }
    }
}

resource_type!(Drain);
