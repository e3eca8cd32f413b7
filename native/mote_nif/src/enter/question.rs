//! Asking: the customer goes with the request, and its other side to the process that asks.
use crate::codec::budget::{self, WriteMode};
use crate::codec::encode::Writer;
use crate::deliver::at_once;
use crate::enter::noted;
use crate::enter::target::Addressee;
use crate::held::foreign::Awaiting;
use crate::held::lives::present;
use crate::held::machine::MachineResource;
use crate::held::question::{Asker, Customer};
use crate::term::atoms::names;
use crate::term::resource::{self, LentResource, ResourceArc};
use mote_vm::boundary::parcel::Parcel;
use mote_vm::values::handles::Key;
use rustler::{Atom, Encoder, Env, LocalPid, Term};
use std::sync::Arc;
use std::time::Duration;

/// Asks for a process that waits at once, and runs the turns meanwhile. Returns the answer, or why there is none, if that
/// is known by then; otherwise the asker's side, with which the process is to wait (`wait_within`).
pub fn call_within<'a>(
    env: Env<'a>,
    target: (Term<'a>, Term<'a>, Term<'a>),
    request: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    match call(env, target, request, mode) {
        Ok(term) => term,
        Err(word) => word.encode(env),
    }
}

fn call<'a>(
    env: Env<'a>,
    (machine, key, sponsor): (Term<'a>, Term<'a>, Term<'a>),
    request: Term<'a>,
    mode: WriteMode<'a>,
) -> Result<Term<'a>, Atom> {
    let machine = present(machine);
    let target = Addressee::find((machine, key, sponsor))?;
    // SAFETY: `Calling` drops the customer, or has it keep the machine, before this call ends.
    let machine = unsafe { LentResource::of(machine) }.ok_or_else(names::unknown)?;
    let customer = Customer::calling(env.pid(), machine, target.key);
    let calling = Calling(Arc::new(Awaiting::calling(customer)));
    let waiting = &calling.0;
    let question = &waiting.customer().question;
    let answered = || !question.is_open();
    let (put, returned) = at_once::during(env, question, || -> Result<Duration, Atom> {
        let mut writer = Writer::new(target.resource, target.machine, mode);
        writer.request_of(waiting.clone());
        writer.term(request)?;
        writer.count_spent(env);
        let record = noted::message(target.machine, target.key, true, request)?;
        target.ask(writer.builder.finish(), record.as_deref(), &answered)
    });
    match put {
        Ok(ran) => budget::ran(env, ran),
        Err(word) => {
            // By the asker's side, before the customer's goes.
            question.close();
            return Err(word);
        }
    }
    // The asker's side is made where somebody is to wait.
    let asker = || ResourceArc::new(Asker::of(waiting.customer()));
    Ok(returned.unwrap_or_else(|| asker().encode(env)))
}

/// The customer of a call, as long as that lasts.
struct Calling(Arc<Awaiting>);

impl Drop for Calling {
    fn drop(&mut self) {
        // If this is the last one there can be no other any more.
        if Arc::strong_count(&self.0) > 1 {
            self.0.customer().machine.keep();
        }
    }
}

/// Makes the process that has asked wait for a message with that tag. Returns its side of the question, or an answer that has come
/// meanwhile.
pub fn wait_within<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    asker: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let machine: Option<&MachineResource> = resource::get(present(machine));
    match resource::get::<Asker>(asker).zip(machine) {
        Some((side, machine)) => {
            Customer::wait(side.question(), env, machine, tag).unwrap_or(asker)
        }
        None => names::unknown().encode(env),
    }
}

/// Asks for a process that does something else meanwhile.
pub fn ask_within<'a>(
    env: Env<'a>,
    target: (Term<'a>, Term<'a>, Term<'a>),
    request: (Term<'a>, Term<'a>),
    mode: WriteMode<'a>,
) -> Term<'a> {
    ask_by(env, target, request, mode, Addressee::send)
}

/// Asks on behalf of Mote itself. The request enters whether the sponsor has room or not.
pub fn request_within<'a>(
    env: Env<'a>,
    (machine, key): (Term<'a>, Term<'a>),
    request: (Term<'a>, Term<'a>),
    mode: WriteMode<'a>,
) -> Term<'a> {
    let target = (machine, key, names::nil().to_term(env));
    ask_by(env, target, request, mode, Addressee::send_own)
}

fn ask_by<'a>(
    env: Env<'a>,
    (machine, key, sponsor): (Term<'a>, Term<'a>, Term<'a>),
    (request, tag): (Term<'a>, Term<'a>),
    mode: WriteMode<'a>,
    send: impl FnOnce(&Addressee<'a>, Parcel) -> Result<(), Atom>,
) -> Term<'a> {
    let target = match Addressee::find((machine, key, sponsor)) {
        Ok(target) => target,
        Err(word) => return word.encode(env),
    };
    question(env, machine, tag, target.key, |customer| {
        let mut writer = Writer::new(target.resource, target.machine, mode);
        writer.request_of(Arc::new(Awaiting::Known(customer.clone())));
        writer.term(request)?;
        writer.count_spent(env);
        let record = noted::message(target.machine, target.key, true, request)?;
        target
            .machine
            .noted(record.as_deref(), || send(&target, writer.builder.finish()))
    })
}

/// The asker's side of a question by the calling process, or why it could not be asked; nothing is sent to the process
/// then.
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

/// Asks a question that the machine itself answers, or another question does.
pub fn inquiry<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    ask: impl FnOnce(&ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    put(env, machine, tag, Customer::inquiring, ask)
}

/// Asks such a question about an actor, which `ask` is given.
pub fn inquiry_about<'a>(
    env: Env<'a>,
    (machine, key): (Term<'a>, Term<'a>),
    tag: Term<'a>,
    ask: impl FnOnce(Addressee<'_>, ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    match Addressee::look_at(machine, key) {
        Ok(target) => inquiry(env, machine, tag, |customer| ask(target, customer.clone())),
        Err(word) => word.encode(env),
    }
}

type Sides = (ResourceArc<Customer>, Asker);

fn put<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    sides: impl FnOnce(LocalPid, Term<'a>, ResourceArc<MachineResource>) -> Sides,
    ask: impl FnOnce(&ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    let Ok(machine) = present(machine).decode() else {
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

pub fn answer_within<'a>(
    env: Env<'a>,
    customer: Term<'a>,
    value: Term<'a>,
    may_take_long: bool,
) -> Atom {
    match resource::get::<Customer>(customer) {
        None => names::unknown(),
        Some(customer) if customer.is_future() && !may_take_long => names::big(),
        Some(customer) if !customer.claim() => names::closed(),
        Some(customer) => match customer.give_in(env, value) {
            true => names::ok(),
            false => names::closed(),
        },
    }
}
