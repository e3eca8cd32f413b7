//! Questions: whoever asks waits for one message, and gets no other, however late an answer comes.
use crate::actor::Target;
use crate::atoms::{self, names};
use crate::encode::{Encoder as Writer, Means};
use crate::mail::tell;
use crate::message::post;
use crate::question::{Asker, Closed, Customer};
use crate::resources::MachineResource;
use crate::terms;
use mote_vm::base::atom::Atom as Name;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::machine::{Inspection, Machine};
use mote_vm::values::handles::Key;
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, LocalPid, ResourceArc, Term};

/// Sends `{customer, request}`; answers with what can cancel it, or why not: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`.
/// The calling process gets one message, `{tag, answer}` or `{tag, :mote_failed, reason}`, unless it cancels first; the
/// reason is `{:aborted, module, behaviour, reason}` if the turn was aborted that was given the question. It waits for that at
/// once: so it runs the turns itself while the machine's thread sleeps, for some microseconds.
#[rustler::nif]
fn ask<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let to = (machine, key, sponsor);
    ask_within(env, to, request, tag, Means::first(), stand_in)
}

#[rustler::nif(name = "ask")]
fn ask_again<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let (to, means) = ((machine, key, sponsor), Means::again(kept));
    ask_within(env, to, request, tag, means, stand_in)
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
    let to = (machine, key, sponsor);
    ask_within(env, to, request, tag, Means::first(), going_on)
}

#[rustler::nif(name = "ask_async")]
fn ask_async_again<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let to = (machine, key, sponsor);
    ask_within(env, to, request, tag, Means::again(kept), going_on)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn ask_big<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    request: Term<'a>,
    tag: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let to = (machine, key, sponsor);
    ask_within(env, to, request, tag, Means::dirty(kept), going_on)
}

type Sent = Result<(), Atom>;

/// Sends, and runs turns meanwhile.
fn stand_in(target: &Target<'_>, customer: &ResourceArc<Customer>, parcel: Parcel) -> Sent {
    target.ask(parcel, &|| !customer.is_open())
}

fn going_on(target: &Target<'_>, _: &ResourceArc<Customer>, parcel: Parcel) -> Sent {
    target.send(parcel)
}

fn ask_within<'a>(
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
fn question<'a>(
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
/// that is no customer, `:big` when the answer is to be kept, for that copies it, whatever its size.
#[rustler::nif]
fn answer<'a>(env: Env<'a>, customer: Term<'a>, value: Term<'a>) -> Atom {
    match customer.try_get_resource::<Customer>() {
        Some(customer) if customer.is_future() => names::big(),
        customer => answer_to(env, customer, value),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn answer_big<'a>(env: Env<'a>, customer: Term<'a>, value: Term<'a>) -> Atom {
    answer_to(env, customer.try_get_resource(), value)
}

fn answer_to<'a>(env: Env<'a>, customer: Option<&Customer>, value: Term<'a>) -> Atom {
    match customer {
        None => names::unknown(),
        Some(customer) if !customer.claim() => names::closed(),
        Some(customer) => match customer.give_in(env, value) {
            true => names::ok(),
            false => names::closed(),
        },
    }
}

/// Asks the machine what an actor is: the answer is `{behaviour, sponsor, pinned, {queued, bytes, complete}}`.
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
        decoder.look();
        let captures: Vec<_> = seen
            .captures
            .iter()
            .map(|capture| decoder.term(env, machine, *capture))
            .collect();
        let behaviour = terms::behaviour(env, machine, seen.behaviour, make_tuple(env, &captures));
        let sponsor = atoms::to_term(env, seen.sponsor);
        let pinned = atoms::to_term(env, seen.pinned.unwrap_or(Name::NIL));
        let figures = (seen.queued, seen.bytes, seen.complete);
        customer.tagged(env, (behaviour, sponsor, pinned, figures).encode(env))
    });
}
