//! The postman's side of mail.
use crate::deliver::mail::{MailLeft, ROUND, ROUND_PERCENT};
use crate::held::machine::MachineResource;
use crate::term::atoms::names;
use rustler::{schedule, Atom, Encoder, Env, Term};

/// The calling process sends mail from now on: the message `:mote_mail` says that some waits.
#[rustler::nif]
fn machine_postman(env: Env<'_>, machine: &MachineResource) -> Atom {
    // The first one stays.
    let _ = machine.mail.postman.set(env.pid());
    if let Some(running) = machine.any() {
        let _ = machine.mail.outbound.account.set(running.account());
    }
    names::ok()
}

in_normal_and_dirty_form! {
    /// Sends some mail. Returns whether there may be more, or `:big` when the next message takes long to make. If there is none, the
    /// message comes again when there is.
    machine_deliver, machine_deliver_big (machine: &MachineResource) |env, may_take_long| {
        let Some(running) = machine.any() else {
            return false.encode(env);
        };
        schedule::consume_timeslice(env, ROUND_PERCENT);
        match machine.mail.deliver(env, running, ROUND, may_take_long) {
            MailLeft::Nothing => false.encode(env),
            MailLeft::Some => true.encode(env),
            MailLeft::Large => names::big().encode(env),
        }
    }
}

/// Takes some of what is for other nodes: a list of `{target, messages}`, and whether there may be more. If there is none, the
/// message `:mote_abroad` comes again when there is.
#[rustler::nif]
fn machine_outbound<'a>(env: Env<'a>, machine: &MachineResource) -> Term<'a> {
    match machine.any() {
        Some(running) => machine.mail.outbound.take_some(env, running, &env.pid()),
        None => (Vec::<Term<'a>>::new(), false).encode(env),
    }
}
