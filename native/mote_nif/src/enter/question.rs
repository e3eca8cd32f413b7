//! Asking: the customer goes with the request, its other side to the process that asks.
use crate::codec::budget::Means;
use crate::codec::encode::Encoder as Writer;
use crate::enter::target::Target;
use crate::held::machine::MachineResource;
use crate::held::question::{Asker, Customer};
use crate::term::atoms::names;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::values::handles::Key;
use rustler::{Atom, Encoder, Env, LocalPid, ResourceArc, Term};

type Sent = Result<(), Atom>;

/// Sends, and runs turns meanwhile.
pub fn stand_in(target: &Target<'_>, customer: &ResourceArc<Customer>, parcel: Parcel) -> Sent {
    target.ask(parcel, &|| !customer.is_open())
}

pub fn going_on(target: &Target<'_>, _: &ResourceArc<Customer>, parcel: Parcel) -> Sent {
    target.send(parcel)
}

pub fn ask_within<'a>(
    env: Env<'a>,
    (machine, key, sponsor): (Term<'a>, Term<'a>, Term<'a>),
    request: Term<'a>,
    tag: Term<'a>,
    means: Means<'a>,
    send: impl FnOnce(&Target<'_>, &ResourceArc<Customer>, Parcel) -> Sent,
) -> Term<'a> {
    let target = match Target::find((machine, key, sponsor)) {
        Ok(target) => target,
        Err(word) => return word.encode(env),
    };
    question(env, machine, tag, target.key, |customer| {
        let mut writer = Writer::new(target.resource, target.machine, means);
        writer.request_of(customer);
        writer.term(request)?;
        writer.count_spent(env);
        let parcel = writer.builder.finish();
        send(&target, customer, parcel)
    })
}

/// The asker's side of a question by the calling process, or why it could not be asked; nothing is sent to the process then.
pub fn question<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    asked: Key,
    ask: impl FnOnce(&ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    let sides = |pid, tag, machine| Customer::asking(pid, tag, machine, asked);
    put(env, machine, tag, sides, ask)
}

/// The same for what the machine answers itself, or another question does.
pub fn inquiry<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    ask: impl FnOnce(&ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    put(env, machine, tag, Customer::inquiring, ask)
}

type Sides = (ResourceArc<Customer>, Asker);

fn put<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    sides: impl FnOnce(LocalPid, Term<'a>, ResourceArc<MachineResource>) -> Sides,
    ask: impl FnOnce(&ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    let Ok(machine) = machine.decode() else {
        return names::unknown().encode(env);
    };
    let (customer, asker) = sides(env.pid(), tag, machine);
    match ask(&customer) {
        Ok(()) => ResourceArc::new(asker).encode(env),
        Err(word) => {
            asker.close();
            word.encode(env)
        }
    }
}

pub fn answer_to<'a>(env: Env<'a>, customer: Option<&Customer>, value: Term<'a>) -> Atom {
    match customer {
        None => names::unknown(),
        Some(customer) if !customer.claim() => names::closed(),
        Some(customer) => match customer.give_in(env, value) {
            true => names::ok(),
            false => names::closed(),
        },
    }
}
