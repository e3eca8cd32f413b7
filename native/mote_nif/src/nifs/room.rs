//! Waiting for room in a sponsor.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::noted;
use crate::enter::room::{Admission, PlaceInLine, RoomWaiter};
use crate::enter::target::Addressee;
use crate::held::lives::present;
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use parking_lot::Mutex;
use rustler::{Atom, Encoder, Env, Term};

/// Waits in the calling process for room where such a message enters: `{asker, place}`, or why not: `:stopped`, `:stopping`,
/// `:unknown`, `:no_sponsor`, or `:overloaded`, for a process that runs a turn of that very sponsor: there would be room only after
/// the turn. Then it gets `{tag, admission}`, unless the asker cancels first or the place is dropped.
#[rustler::nif]
fn wait_for_room<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let target = match Addressee::find((machine, key, sponsor)) {
        Ok(target) => target,
        Err(word) => return word.encode(env),
    };
    let Ok(resource) = present(machine).decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    if target.is_entered_by_turns_of(&env.pid()) {
        return names::overloaded().encode(env);
    }
    let (customer, asker) = Customer::of_machine(env.pid(), tag, resource);
    let waiter = ResourceArc::new(RoomWaiter {
        customer,
        permit: Mutex::new(None),
    });
    let told = move |permit| {
        *waiter.permit.lock() = Some(permit);
        drop(waiter);
    };
    match target
        .machine
        .wait_for_room(target.key, target.sponsor, told)
    {
        Some(in_line) => {
            let place = ResourceArc::new(PlaceInLine(Mutex::new(Some(in_line))));
            (ResourceArc::new(asker), place).encode(env)
        }
        None => names::unknown().encode(env),
    }
}

/// Leaves the line.
#[rustler::nif]
fn leave_line(place: &PlaceInLine) -> Atom {
    let in_line = place.0.lock().take();
    // Without the lock: the waiter may be dropped with it.
    drop(in_line);
    names::ok()
}

/// Sends as `send_big`, after waiting for room.
#[rustler::nif(schedule = "DirtyCpu")]
fn send_permitted<'a>(
    env: Env<'a>,
    permit: &Admission,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let sent = Addressee::find((machine, key, sponsor)).and_then(|target| {
        let mut writer = Writer::new(target.resource, target.machine, WriteMode::dirty(kept));
        writer.term(message)?;
        let parcel = writer.builder.finish();
        let record = noted::message(target.machine, target.key, false, message)?;
        let answer = noted::answer(target.machine, &record, target.reference);
        target
            .machine
            .noted(record.as_deref(), || permit.send(&target, parcel))?;
        Ok(answer)
    });
    sent.unwrap_or_else(|word: Atom| word.to_term(env))
}
