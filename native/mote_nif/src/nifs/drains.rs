//! Waiting until a machine has nothing to do.
use crate::enter::drain::{quiet, Drain};
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use mote_vm::machine::Ticket;
use rustler::{Atom, Encoder, Env, Term};

/// Waits in the calling process: `:ok` if it is quiet now, `:stopped`, or `{asker, ticket}`. Then it gets `{tag, :ok}`
/// as soon as the machine has nothing to do, or `{tag, :mote_failed, :machine_down}`, unless the asker cancels first;
/// then the ticket must be given back. `ignores`: turns that are away may go on.
#[rustler::nif]
fn drain<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    ignores: bool,
    tag: Term<'a>,
) -> Term<'a> {
    let quiet = quiet(ignores);
    let Some(running) = machine.running().cloned() else {
        return names::stopped().encode(env);
    };
    if running.is(quiet) {
        return names::ok().encode(env);
    }
    let (customer, asker) = Customer::new(env.pid(), tag, machine.clone());
    let told = ResourceArc::new(Drain { customer, machine });
    let Ticket(number) = running.when(quiet, Box::new(move || drop(told)));
    (ResourceArc::new(asker), number).encode(env)
}

/// Returns the ticket of a wait that was cancelled.
#[rustler::nif]
fn drain_forget(machine: &MachineResource, ticket: u64) -> Atom {
    if let Some(running) = machine.any() {
        running.forget(Ticket(ticket));
    }
    names::ok()
}
