//! Questions: whoever asks waits for one message, and gets no other, however late an answer comes.
use crate::actor::Target;
use crate::atoms::{self, names};
use crate::encode::{Encoder as Writer, NORMAL, NO_LIMIT};
use crate::mail::tell;
use crate::message::{post, posting};
use crate::question::{Asker, Closed, Customer};
use crate::resources::MachineResource;
use crate::terms;
use mote_vm::atom::Atom as Name;
use mote_vm::machine::{Inspection, Machine};
use mote_vm::parcel::Parcel;
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, LocalPid, ResourceArc, Term};

/// Sends `{customer, request}`; answers with what can cancel it, or why not: `:big`, `:stopped`, `:unknown`, `:no_sponsor`.
/// The calling process gets one message, `{tag, answer}` or `{tag, :mote_failed, reason}`, unless it cancels first. It
/// waits for that at once: so it runs the turns itself while the machine's thread sleeps, for some microseconds.
#[rustler::nif]
fn ask<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let send = |target: &Target<'_>, customer: &ResourceArc<Customer>, parcel| {
        posting(env, || target.ask(parcel, &|| !customer.is_open()))
    };
    ask_within(env, (machine, key, sponsor), request, tag, NORMAL, send)
}

/// The same for a process that does something else meanwhile.
#[rustler::nif]
fn ask_async<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let send = |target: &Target<'_>, _: &_, parcel| target.send(parcel);
    ask_within(env, (machine, key, sponsor), request, tag, NORMAL, send)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn ask_big<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let send = |target: &Target<'_>, _: &_, parcel| target.send(parcel);
    ask_within(env, (machine, key, sponsor), request, tag, NO_LIMIT, send)
}

fn ask_within<'a>(
    env: Env<'a>,
    (machine, key, sponsor): (Term<'a>, Term<'a>, Term<'a>),
    request: Term<'a>,
    tag: Term<'a>,
    budget: usize,
    send: impl FnOnce(&Target<'_>, &ResourceArc<Customer>, Parcel) -> Result<(), Atom>,
) -> Term<'a> {
    let target = match Target::find((machine, key, sponsor)) {
        Ok(target) => target,
        Err(word) => return word.encode(env),
    };
    question(env, machine, tag, |customer| {
        let mut writer = Writer::new(target.resource, target.machine, budget);
        writer.request_of(customer);
        writer.term(request)?;
        let parcel = writer.builder.finish();
        send(&target, customer, parcel)
    })
}

/// The asker's side of a question by the calling process, or why it could not be asked; nothing is sent to the process then.
fn question<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    tag: Term<'a>,
    ask: impl FnOnce(&ResourceArc<Customer>) -> Result<(), Atom>,
) -> Term<'a> {
    put(env, machine, tag, Customer::new, ask)
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
    sides: fn(LocalPid, Term<'a>, ResourceArc<MachineResource>) -> Sides,
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

/// Ends a question: `true` when there will be no message, `false` when the one message has been sent or is on its way,
/// `:closed` when it had been ended before.
#[rustler::nif]
fn cancel<'a>(env: Env<'a>, asker: &Asker) -> Term<'a> {
    match asker.close() {
        Closed::Now => true.encode(env),
        Closed::Answered => false.encode(env),
        Closed::Before => names::closed().encode(env),
    }
}

/// Whether the question was ended by `cancel`.
#[rustler::nif]
fn cancelled(asker: &Asker) -> bool {
    asker.is_closed()
}

/// Answers from a process: `:ok`, `:closed` when there was an answer before or nobody waits any more, `:unknown` when
/// that is no customer.
#[rustler::nif]
fn answer<'a>(env: Env<'a>, customer: Term<'a>, value: Term<'a>) -> Atom {
    match customer.try_get_resource::<Customer>() {
        None => names::unknown(),
        Some(customer) if !customer.claim() => names::closed(),
        Some(customer) => match customer.give_in(env, value) {
            true => names::ok(),
            false => names::closed(),
        },
    }
}

/// Asks the machine what an actor is: the answer is `{behaviour, sponsor, pinned, {queued, bytes}}`.
#[rustler::nif]
fn actor_info<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>, tag: Term<'a>) -> Term<'a> {
    let target = match Target::find((machine, key, names::nil().to_term(env))) {
        Ok(target) => target,
        Err(word) => return word.encode(env),
    };
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        target.inspect(Box::new(move |machine, seen| {
            show(&customer, machine, seen)
        }))
    })
}

/// Collects: the answer, when it is done, is `:ok`. Otherwise as `actor_info`.
#[rustler::nif]
fn machine_collect<'a>(env: Env<'a>, machine: Term<'a>, tag: Term<'a>) -> Term<'a> {
    let running = machine
        .try_get_resource::<MachineResource>()
        .and_then(MachineResource::running);
    let Some(running) = running else {
        return names::stopped().encode(env);
    };
    inquiry(env, machine, tag, |customer| {
        let customer = customer.clone();
        running.collect(move || {
            if customer.claim() {
                post(customer.pid(), |env, _| {
                    customer.tagged(env, names::ok().encode(env))
                });
            }
        });
        Ok(())
    })
}

fn show(customer: &Customer, machine: &Machine, seen: Inspection<'_>) {
    if !customer.claim() {
        return;
    }
    tell(machine, customer.pid(), |env, decoder| {
        let captures: Vec<_> = seen
            .captures
            .iter()
            .map(|capture| decoder.term(env, machine, *capture))
            .collect();
        let behaviour = terms::behaviour(env, machine, seen.behaviour, make_tuple(env, &captures));
        let sponsor = atoms::to_term(env, seen.sponsor);
        let pinned = atoms::to_term(env, seen.pinned.unwrap_or(Name::NIL));
        let figures = (seen.queued, seen.bytes);
        customer.tagged(env, (behaviour, sponsor, pinned, figures).encode(env))
    });
}
