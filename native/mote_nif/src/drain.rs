//! Waiting until a machine has nothing to do.
//!
//! The machine tells it on whatever thread is the last one busy, or stops it: that can be a thread of its own as well
//! as a scheduler, and whoever forgets it must be told as well; so what is told is the dropping of a resource.
use crate::atoms::names;
use crate::message::send_in;
use crate::question::Customer;
use crate::resources::MachineResource;
use mote_vm::machine::Ticket;
use rustler::{Atom, Encoder, Env, Resource, ResourceArc, Term};

/// Somebody who waits; told when nobody holds it any more.
struct Drain {
    customer: ResourceArc<Customer>,
    machine: ResourceArc<MachineResource>,
}

#[rustler::resource_impl]
impl Resource for Drain {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

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

/// Waits in the calling process: `:ok` if it is quiet now, `:stopped`, or `{asker, ticket}`. Then it gets `{tag, :ok}`
/// as soon as the machine has nothing to do, or `{tag, :mote_failed, :machine_down}`, unless the asker cancels first;
/// then the ticket must be given back.
#[rustler::nif]
fn drain<'a>(env: Env<'a>, machine: ResourceArc<MachineResource>, tag: Term<'a>) -> Term<'a> {
    let Some(running) = machine.running().cloned() else {
        return names::stopped().encode(env);
    };
    if running.is_quiet() {
        return names::ok().encode(env);
    }
    let (customer, asker) = Customer::new(env.pid(), tag, machine.clone());
    let told = ResourceArc::new(Drain { customer, machine });
    let Ticket(number) = running.when_quiet(Box::new(move || drop(told)));
    (ResourceArc::new(asker), number).encode(env)
}

/// Gives back the ticket of a wait that was cancelled.
#[rustler::nif]
fn drain_forget(machine: &MachineResource, ticket: u64) -> Atom {
    if let Some(running) = machine.any() {
        running.forget(Ticket(ticket));
    }
    names::ok()
}
