//! The postman's side of mail.
use crate::deliver::mail::{ROUND, ROUND_PERCENT};
use crate::held::machine::MachineResource;
use crate::term::atoms::names;
use rustler::{schedule, Atom, Env};

/// The calling process sends mail from now on: the message `:mote_mail` says that some waits.
#[rustler::nif]
fn machine_postman(env: Env<'_>, machine: &MachineResource) -> Atom {
    // The first one stays.
    let _ = machine.mail.postman.set(env.pid());
    names::ok()
}

/// Sends some mail; whether there may be more. If there is none, the message comes again when there is.
#[rustler::nif]
fn machine_deliver(env: Env<'_>, machine: &MachineResource) -> bool {
    let Some(running) = machine.any() else {
        return false;
    };
    schedule::consume_timeslice(env, ROUND_PERCENT);
    machine.mail.deliver(env, running, ROUND)
}
